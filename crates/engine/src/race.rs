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
//! An engine that has no run to show need not wait: that there is none is the same answer from each of them. Only the name of the engine
//! that was first depends on the machine then.
//!
//! # Cost
//!
//! The work of the winner, once for each engine, on the cores that there are; and as much waiting as the units are unequal. Where
//! there are fewer cores than runners, the last runner pauses for as long as it works, as long as all others run: so a third engine on
//! two cores slows down each of the others by a third at most.

use crate::budget::clock;
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
    /// Whether answers without a run are the same from every runner.
    alike: bool,
    /// Since when the last runner has worked without a pause, in microseconds; none if it needs no pauses.
    resumed: Option<AtomicU64>,
}

/// How long the last runner works at least before it pauses, and for how many eighths of that time it then does.
const STINT: Duration = Duration::from_millis(2);
const PAUSED: u32 = 9;
/// It never pauses longer than this.
const LONGEST: Duration = Duration::from_millis(50);

impl Race {
    /// So many runners are at the start. Whether answers without a run are the same from each, and whether there are more runners
    /// than cores.
    pub fn new(runners: usize, alike: bool, crowded: bool) -> Self {
        Race {
            work: (0..runners).map(|_| AtomicU64::new(0)).collect(),
            states: Mutex::new(vec![State::Running; runners]),
            changed: Condvar::new(),
            claimed: AtomicBool::new(false),
            alike,
            resumed: crowded.then(|| AtomicU64::new(now())),
        }
    }

    fn states(&self) -> std::sync::MutexGuard<'_, Vec<State>> {
        self.states.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A runner has done so much work. Returns whether it can still win.
    pub fn goes_on(&self, runner: usize, work: u64) -> bool {
        let before = self.work[runner].swap(work, Ordering::Relaxed);
        if runner + 1 == self.work.len() {
            self.pause(runner);
        }
        let mut can_win = !self.claimed.load(Ordering::Relaxed);
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

    /// Leaves the cores to the others for a while, if all of them run.
    fn pause(&self, last: usize) {
        let Some(resumed) = &self.resumed else { return };
        let worked = Duration::from_micros(now().saturating_sub(resumed.load(Ordering::Relaxed)));
        if worked < STINT {
            return;
        }
        let states = self.states();
        if let Some(pause) = pause_after(worked, &states[..last]) {
            drop(self.changed.wait_timeout(states, pause));
        }
        resumed.store(now(), Ordering::Relaxed);
    }

    /// A runner is done after so much work, and has found a run to show or not: waits until the winner is known, or `patient` says no
    /// more. Returns whether this runner has won.
    pub fn wins(&self, runner: usize, work: u64, found: bool, mut patient: impl FnMut() -> bool) -> bool {
        let mut states = self.states();
        states[runner] = State::Done(work);
        self.changed.notify_all();
        if self.alike && !found {
            return true;
        }
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

/// How long the last runner pauses after it has worked for some time, given the states of the others.
fn pause_after(worked: Duration, others: &[State]) -> Option<Duration> {
    let crowded = others.iter().all(|state| *state == State::Running);
    crowded.then(|| (worked * PAUSED / 8).min(LONGEST))
}

/// The time, in microseconds.
fn now() -> u64 {
    clock().as_micros() as u64
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
        race.wins(runner, due, true, || true)
    }

    #[test]
    fn less_work_wins_however_slow() {
        for (pauses, dues, winner) in
            [([5, 0], [10, 300], 0), ([0, 5], [300, 10], 1), ([0, 2], [20, 20], 0), ([2, 0], [20, 20], 0)]
        {
            let race = Race::new(2, false, false);
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
            let race = Race::new(3, false, false);
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
        let race = Race::new(2, false, false);
        race.gives_up(0);
        assert!(race.wins(1, 1_000, true, || true));
        let race = Race::new(3, false, false);
        assert!(race.wins(1, 1_000, true, || false), "no more patience");
    }

    #[test]
    fn without_a_run_to_show_the_first_wins_at_once() {
        let race = Race::new(2, true, false);
        assert!(race.wins(1, 1_000, false, || panic!("it need not wait")) && race.claims());
        assert!(!race.goes_on(0, 1), "it is over");
        // Where answers differ, the other one is waited for.
        let race = Race::new(2, false, false);
        race.goes_on(0, 1);
        let mut asked = 0;
        race.wins(1, 1_000, false, || {
            asked += 1;
            asked < 3
        });
        assert_eq!(asked, 3);
    }

    #[test]
    fn in_a_crowd_the_last_one_pauses_while_all_others_run() {
        let second = Duration::from_secs(1);
        assert_eq!(pause_after(STINT, &[State::Running; 2]), Some(STINT * PAUSED / 8));
        assert_eq!(pause_after(second, &[State::Running; 2]), Some(LONGEST));
        assert_eq!(pause_after(second, &[State::Running, State::Out]), None);
        let race = Race::new(3, false, true);
        std::thread::sleep(STINT);
        let start = clock();
        race.goes_on(2, 1);
        assert!(clock() - start >= STINT, "it has paused");
    }
}
