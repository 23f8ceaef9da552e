//! Room `xtask`: one run of the binary, with what it used.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// How much of standard error is kept.
const KEPT: u64 = 20_000;

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub status: ExitStatus,
    /// Whether it had to be ended.
    pub killed: bool,
    /// Time on the clock.
    pub wall: Duration,
    /// Time on a processor.
    pub cpu: Duration,
    /// The most memory that was resident, in bytes.
    pub memory: u64,
    /// The beginning of what it wrote to standard error.
    pub err: String,
}

/// Runs a command, and ends it after `patience`. Its standard error goes through a file, so that nobody has to read while
/// it runs; its standard output goes nowhere.
pub fn run(command: &mut Command, err: &Path, patience: Duration) -> Result<Ran, String> {
    let problem = |what: std::io::Error| format!("cannot run the binary: {what}");
    let errors = File::create(err).map_err(problem)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let start = Instant::now();
    let mut child = command.spawn().map_err(problem)?;
    let mut killed = false;
    let mut pause = Duration::from_micros(500);
    let used = loop {
        if let Some(used) = child.try_wait4().map_err(problem)? {
            break used;
        }
        if start.elapsed() > patience && !killed {
            child.kill().map_err(problem)?;
            killed = true;
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(10));
    };
    let wall = start.elapsed();
    let mut written = Vec::new();
    File::open(err).and_then(|file| file.take(KEPT).read_to_end(&mut written)).map_err(problem)?;
    Ok(Ran {
        status: used.status,
        killed,
        wall,
        cpu: used.rusage.utime + used.rusage.stime,
        memory: used.rusage.maxrss,
        err: String::from_utf8_lossy(&written).into_owned(),
    })
}
