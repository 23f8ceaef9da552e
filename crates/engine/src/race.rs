//! Room `engine`: several engines at once, and the same winner every time.
//!
//! # Idea
//!
//! Which of several engines is done first by the clock depends on the machine and its load, and so would the engine
//! that a report names and the trace that it shows. So the winner is the engine that needs less *work*, counted in
//! units that mean about the same for all. An engine that is done waits until each of the others is done too, or has
//! done as much work without being done; then the others are called off. Work does not depend on the clock,
//! so the winner does not either.
//!
//! # Cost
//!
//! The work of the winner, once for each engine, on the cores that there are; and as much waiting as the units are unequal.

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

/// Some runners, numbered from 0.
pub struct Race {
    work: Vec<AtomicU64>,
    states: Mutex<Vec<State>>,
    changed: Condvar,
    claimed: AtomicBool,
}

impl Race {
    /// So many runners are at the start.
    pub fn new(runners: usize) -> Self {
        Race {
            work: (0..runners).map(|_| AtomicU64::new(0)).collect(),
            states: Mutex::new(vec![State::Running; runners]),
            changed: Condvar::new(),
            claimed: AtomicBool::new(false),
        }
    }

    fn states(&self) -> std::sync::MutexGuard<'_, Vec<State>> {
        self.states.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A runner has done so much work. Returns whether it can still win.
    pub fn goes_on(&self, runner: usize, work: u64) -> bool {
        let before = self.work[runner].swap(work, Ordering::Relaxed);
        let mut can_win = true;
        for (other, state) in self.states().iter().enumerate().filter(|(other, _)| *other != runner) {
            if let State::Done(done) = *state {
                // That one may be waiting for this.
                if before <= done && work > done {
                    self.changed.notify_all();
                }
                can_win &= !beats((other, done), (runner, work));
            }
        }
        can_win
    }

    /// A runner is done after so much work: waits until the winner is known, or `patient` says no more. Returns whether
    /// this runner has won.
    pub fn wins(&self, runner: usize, work: u64, mut patient: impl FnMut() -> bool) -> bool {
        let mut states = self.states();
        states[runner] = State::Done(work);
        self.changed.notify_all();
        loop {
            let others = (0..states.len()).filter(|&other| other != runner);
            let beaten = |other: usize| match states[other] {
                State::Out => true,
                State::Done(done) => beats((runner, work), (other, done)),
                State::Running => beats((runner, work), (other, self.work[other].load(Ordering::Relaxed))),
            };
            let lost = |other: usize| matches!(states[other], State::Done(_)) && !beaten(other);
            if others.clone().any(lost) {
                return false;
            }
            if others.clone().all(beaten) || !patient() {
                return true;
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

/// Whether a runner that is done after so much work beats another one, which has worked as much as that or more. The
/// first one wins a tie.
fn beats((runner, work): (usize, u64), (other, done): (usize, u64)) -> bool {
    if runner < other { work <= done } else { work < done }
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
            let race = Race::new(2);
            let pause = |runner: usize| Duration::from_millis(pauses[runner]);
            let won = std::thread::scope(|scope| {
                let other = scope.spawn(|| run(&race, 1, dues[1], pause(1)));
                [run(&race, 0, dues[0], pause(0)), other.join().unwrap()]
            });
            assert_eq!(won, [winner == 0, winner == 1], "{pauses:?} {dues:?}");
        }
    }

    #[test]
    fn of_three_the_one_with_the_least_work_wins() {
        for (dues, winner) in [([30, 20, 10], 2), ([30, 10, 20], 1), ([10, 10, 10], 0), ([50, 10, 10], 1)] {
            let race = Race::new(3);
            let won = std::thread::scope(|scope| {
                let runners = [0, 1, 2].map(|runner| {
                    let race = &race;
                    scope.spawn(move || run(race, runner, dues[runner], Duration::from_millis(runner as u64)))
                });
                runners.map(|runner| runner.join().unwrap())
            });
            assert_eq!(won, [0, 1, 2].map(|runner| runner == winner), "{dues:?}");
        }
    }

    #[test]
    fn who_is_alone_wins() {
        let race = Race::new(2);
        race.gives_up(0);
        assert!(race.wins(1, 1_000, || true));
        let race = Race::new(3);
        assert!(race.wins(1, 1_000, || false), "no more patience");
    }
}
