//! Room `cli`: work on a deep stack.
//!
//! Decision diagrams are walked as deep as they have levels. The stack of the main thread is good for some thousands of
//! these; a thread of our own is good for as many as engines and formulas may have.

const DEPTH: usize = 256 << 20;

/// Does the work on a deep stack.
pub fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(DEPTH).spawn_scoped(scope, work);
        match worker.map(|worker| worker.join()) {
            Ok(Ok(done)) => done,
            _ => panic!("no thread for the work"),
        }
    })
}
