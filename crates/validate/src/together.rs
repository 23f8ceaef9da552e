//! Room `validate`: several checkers of one proof at once.
//!
//! # Idea
//!
//! Whether the runs from one location stay in sets does not depend on other locations. So the locations are divided into parts, and each of several checkers, on a thread of its own, takes
//! the next part when it is done with the last. Each makes gates and diagrams of its own: what two of them need is made twice.
//!
//! Parts are taken in their order, and a checker that finds a flaw lets the others finish what they have taken. So of several flaws the one in the first part is told, however many
//! checkers there are.

use crate::check::{Checker, Stop};
use crate::solver::GoesOn;
use postbop_ir::{LocId, Program, Proof};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many parts there are at least for each checker, and how many locations in a part at most: neighbours have most gates in common, but some locations take much longer than others.
const PARTS: usize = 16;
const LARGEST: usize = 8;

/// A proof of fewer nodes is checked sooner than another thread starts.
const FEW: usize = 1 << 11;

/// Whether the sets of a proof are closed, by so many checkers at most, and not more than there are cores. Sets that targets lack are empty.
pub fn closed(
    program: &Program,
    proof: &Proof,
    targets: &[LocId],
    goes_on: GoesOn,
    jobs: usize,
) -> Result<(), Stop> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let jobs = if proof.nodes().len() < FEW { 1 } else { jobs.clamp(1, cores) };
    let part = (program.locs().len() / (PARTS * jobs)).clamp(1, LARGEST);
    divided(&|| Checker::new(program, proof, targets, goes_on), jobs, part)
}

/// The same, with parts of this size. The first argument makes a checker.
pub(crate) fn divided<'a, 'g>(
    begin: &(dyn Fn() -> Result<Checker<'a, 'g>, String> + Sync),
    jobs: usize,
    part: usize,
) -> Result<(), Stop> {
    let mut checker = begin().map_err(Stop::Unknown)?;
    checker.begins()?;
    let starts = checker.starts();
    let parts: Vec<&[LocId]> = starts.chunks(part).collect();
    let next = AtomicUsize::new(0);
    let check = |mut checker: Checker| loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let part = parts.get(at)?;
        if let Err(stop) = part.iter().try_for_each(|&loc| checker.follow(loc)) {
            next.store(parts.len(), Ordering::Relaxed);
            return Some((at, stop));
        }
    };
    let stops = thread::scope(|scope| {
        let start = |_| scope.spawn(|| check(begin().ok()?));
        let others: Vec<_> = (1..jobs.min(parts.len())).map(start).collect();
        let own = check(checker);
        let join =
            |other: thread::ScopedJoinHandle<_>| other.join().unwrap_or_else(|panic| resume_unwind(panic));
        own.into_iter().chain(others.into_iter().filter_map(join)).collect::<Vec<_>>()
    });
    // What one checker was called off from, another may have found to be wrong.
    let first = stops.into_iter().min_by_key(|(at, stop)| (matches!(stop, Stop::Unknown(_)), *at));
    first.map_or(Ok(()), |(_, stop)| Err(stop))
}
