//! Room `engine`: two engines at once, and the same winner every time.
//!
//! # Idea
//!
//! Which of two engines is done first by the clock depends on the machine and its load, and so would the engine
//! that a report names and the trace that it shows. So the winner is the engine that needs less *work*, counted in
//! units that mean about the same for both. An engine that is done waits until the other one is done too, or has
//! done as much work without being done; then the other one is called off. Work does not depend on the clock,
//! so the winner does not either.
//!
//! # Cost
//!
//! The work of the winner, twice, on two cores; and as much waiting as the units are unequal.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// How often an engine that waits checks whether it still has to.
const PAUSE: Duration = Duration::from_millis(5);

/// What became of a runner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Running,
    /// It is done, after so much work.
    Done(u64),
    /// It will never be done.
    Out,
}

/// Two runners, numbered 0 and 1.
pub struct Race {
    work: [AtomicU64; 2],
    states: Mutex<[State; 2]>,
    changed: Condvar,
    claimed: AtomicBool,
}

impl Race {
    /// Both are at the start.
    pub fn new() -> Self {
        Race {
            work: [AtomicU64::new(0), AtomicU64::new(0)],
            states: Mutex::new([State::Running; 2]),
            changed: Condvar::new(),
            claimed: AtomicBool::new(false),
        }
    }

    fn states(&self) -> std::sync::MutexGuard<'_, [State; 2]> {
        self.states.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A runner has done so much work; whether it can still win.
    pub fn goes_on(&self, runner: usize, work: u64) -> bool {
        let before = self.work[runner].swap(work, Ordering::Relaxed);
        // The other one may be waiting for this.
        match self.states()[1 - runner] {
            State::Done(other) => {
                if before <= other && work > other {
                    self.changed.notify_all();
                }
                !beats(1 - runner, other, work)
            }
            _ => true,
        }
    }

    /// A runner is done after so much work: waits until the winner is known, or `patient` says no more. Returns whether
    /// this runner has won.
    pub fn wins(&self, runner: usize, work: u64, mut patient: impl FnMut() -> bool) -> bool {
        let mut states = self.states();
        states[runner] = State::Done(work);
        self.changed.notify_all();
        loop {
            match states[1 - runner] {
                State::Out => return true,
                State::Done(other) => return beats(runner, work, other),
                State::Running => {
                    let other = self.work[1 - runner].load(Ordering::Relaxed);
                    if beats(runner, work, other) || !patient() {
                        return true;
                    }
                }
            }
            let waited = self.changed.wait_timeout(states, PAUSE);
            states = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    /// Whether this runner is the first that wants to tell its findings: the winner, or one whose time is up.
    pub fn claims(&self) -> bool {
        !self.claimed.swap(true, Ordering::Relaxed)
    }

    /// A runner will not be done.
    pub fn gives_up(&self, runner: usize) {
        let mut states = self.states();
        if states[runner] == State::Running {
            states[runner] = State::Out;
        }
        self.changed.notify_all();
    }
}

/// Whether a runner that is done after so much work beats the other one, which has worked as much as that or more. The
/// first one wins a tie.
fn beats(runner: usize, work: u64, other: u64) -> bool {
    if runner == 0 { work <= other } else { work < other }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A runner that is done after so much work, and takes so long for each unit.
    fn run(race: &Race, runner: usize, due: u64, pause: Duration) -> bool {
        for work in 0..due {
            std::thread::sleep(pause);
            if !race.goes_on(runner, work) {
                race.gives_up(runner);
                return false;
            }
        }
        race.wins(runner, due, || true)
    }

    #[test]
    fn less_work_wins_however_slow() {
        for (pauses, dues, winner) in
            [([5, 0], [10, 300], 0), ([0, 5], [300, 10], 1), ([0, 2], [20, 20], 0), ([2, 0], [20, 20], 0)]
        {
            let race = Race::new();
            let pause = |runner: usize| Duration::from_millis(pauses[runner]);
            let won = std::thread::scope(|scope| {
                let other = scope.spawn(|| run(&race, 1, dues[1], pause(1)));
                [run(&race, 0, dues[0], pause(0)), other.join().unwrap()]
            });
            assert_eq!(won, [winner == 0, winner == 1], "{pauses:?} {dues:?}");
        }
    }

    #[test]
    fn who_is_alone_wins() {
        let race = Race::new();
        race.gives_up(0);
        assert!(race.wins(1, 1_000, || true));
        let race = Race::new();
        assert!(race.wins(1, 1_000, || false), "no more patience");
    }
}
