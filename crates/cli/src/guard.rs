//! Room `cli`: limits of time and memory where nobody asks a budget: while a source is read or shown, and while traces are replayed.
//!
//! Engines ask their budget in every loop. The front end has no budget: it is linear in its source, and knows neither
//! clocks nor memory; so are reading a report and replaying its traces. So a second thread looks on meanwhile. When a limit is
//! reached, everything that was found is written already, and what is being done has no result: that is told, as an unknown verdict
//! where one was asked for, and the process ends.

use crate::args::Cost;
use crate::{ALLOCATOR, Status};
use postbop_front::LARGEST;
use serde_json::json;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often the guard looks.
const PAUSE: Duration = Duration::from_millis(10);

/// How many times the size of a source its program takes, about: a larger source is not even begun.
const GROWTH: u64 = 40;

/// How a limit that was reached is told.
#[derive(Clone, Copy, Default)]
pub enum Telling {
    /// As an error: there is no verdict.
    #[default]
    Error,
    /// As a verdict, for people.
    Verdict,
    /// As a verdict in JSON.
    Json,
}

/// What a command may cost.
#[derive(Clone, Copy, Default)]
pub struct Limits {
    memory: Option<u64>,
    time: Option<(Instant, Duration)>,
    telling: Telling,
    /// The status of the files before this one, or of the traces.
    pub so_far: Status,
}

impl Limits {
    /// The limits that were asked for. The time is that since now.
    pub fn new(cost: &Cost, telling: Telling) -> Self {
        let time = cost.timeout.map(|limit| (Instant::now(), limit));
        Limits { memory: Some(cost.memory), time, telling, so_far: Status::Good }
    }

    /// The time is that since now again, for another file.
    pub fn restart(&mut self) {
        self.time = self.time.map(|(_, limit)| (Instant::now(), limit));
    }

    /// The largest file that is worth reading.
    pub fn largest(&self) -> usize {
        let affordable = self.memory.map_or(LARGEST as u64, |memory| memory / GROWTH);
        LARGEST.min(usize::try_from(affordable).unwrap_or(LARGEST))
    }

    /// The limit that is exceeded now, if one is.
    fn exceeded(&self) -> Option<String> {
        let memory = self.memory.filter(|memory| ALLOCATOR.allocated() as u64 > *memory);
        let time = self.time.filter(|(start, limit)| start.elapsed() > *limit);
        let memory = memory.map(|memory| format!("memory limit of {} MB", memory as f64 / 1e6));
        memory.or(time.map(|(_, limit)| format!("time limit of {} s", limit.as_secs_f64())))
    }

    fn tell(&self, why: &str) -> std::io::Result<()> {
        match self.telling {
            Telling::Error => writeln!(std::io::stderr(), "error: {why}"),
            Telling::Verdict => writeln!(std::io::stdout(), "VERDICT: unknown ({why})"),
            Telling::Json => {
                let report =
                    json!({ "schema": "postbop/1", "verdict": "unknown", "reason": why, "properties": [] });
                writeln!(std::io::stdout(), "{report}")
            }
        }
    }
}

/// A thread that ends the process when a limit is exceeded, as long as this lives.
pub struct Guard(Option<Sender<()>>);

impl Drop for Guard {
    fn drop(&mut self) {
        // The thread ends when its channel is closed.
        self.0 = None;
    }
}

impl Guard {
    /// Begins to look on, if there are limits.
    pub fn new(limits: Limits) -> Self {
        if limits.memory.is_none() && limits.time.is_none() {
            return Guard(None);
        }
        let (alive, dropped) = channel::<()>();
        let look = move || {
            while let Err(RecvTimeoutError::Timeout) = dropped.recv_timeout(PAUSE) {
                if let Some(why) = limits.exceeded() {
                    let _ = limits.tell(&why).and_then(|()| std::io::stdout().flush());
                    std::process::exit(limits.so_far.worst(Status::Unknown) as i32);
                }
            }
        };
        let started = std::thread::Builder::new().stack_size(64 << 10).spawn(look);
        Guard(started.is_ok().then_some(alive))
    }
}
