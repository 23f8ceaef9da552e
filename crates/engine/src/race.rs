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
//! The work of the winner, once for each engine, on the cores that there are; and as much waiting as the units are unequal.
//!
//! Where there are fewer cores than runners, as with three engines on two cores, the first and the last runner share a core, as long as all
//! run ([`has_turn`]). The first one may be given a lead of some work. Then they take turns, and those of the last one are twice as long and more. After a second nobody knows who is
//! closer to an answer; the last one, which has had more than its share, pauses for some of the time, and the first one does not pause any more. So
//! the last runner takes at most about twice the time that it would take alone, and those in between hardly more than alone in the first second, and a third more after it.

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
    /// For how much work the first runner leads, if there are more runners than cores, and when the race began.
    crowd: Option<(u64, Duration)>,
}

/// The first runner leads no longer than this.
const LONGEST_LEAD: Duration = Duration::from_millis(300);
/// So long the first and the last runner take turns.
const TURNS: Duration = Duration::from_secs(1);
/// Turns come again after so many milliseconds, of which in so many the last runner pauses; as long as they take turns, these are the first runner's.
const CYCLE: u128 = 10;
const FIRST: u128 = 3;
/// No runner pauses longer than this without a look at its limits.
const LONGEST: Duration = Duration::from_millis(10);

impl Race {
    /// So many runners are at the start. Whether answers without a run are the same from each; and if there are more runners
    /// than cores, for how much work the first one leads.
    pub fn new(runners: usize, alike: bool, crowd: Option<u64>) -> Self {
        Race {
            work: (0..runners).map(|_| AtomicU64::new(0)).collect(),
            states: Mutex::new(vec![State::Running; runners]),
            changed: Condvar::new(),
            claimed: AtomicBool::new(false),
            alike,
            crowd: crowd.map(|lead| (lead, clock())),
        }
    }

    fn states(&self) -> std::sync::MutexGuard<'_, Vec<State>> {
        self.states.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A runner has done so much work. Returns whether it can still win.
    pub fn goes_on(&self, runner: usize, work: u64) -> bool {
        let before = self.work[runner].swap(work, Ordering::Relaxed);
        self.pause(runner);
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

    /// Leaves the cores to the others until it is this runner's turn, or for a while.
    fn pause(&self, runner: usize) {
        let Some((lead, start)) = self.crowd else { return };
        let end = clock() + LONGEST;
        let last = self.work.len() - 1;
        let leads = || self.work[0].load(Ordering::Relaxed) < lead;
        while (runner == 0 || runner == last) && !has_turn(runner == 0, leads(), clock() - start) {
            let states = self.states();
            let crowded = states.iter().all(|state| *state == State::Running);
            if !crowded || clock() >= end || self.claimed.load(Ordering::Relaxed) {
                return;
            }
            drop(self.changed.wait_timeout(states, Duration::from_millis(1)));
        }
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

/// Whether it is the turn of the first runner, or else of the last one, so long after the start. Whether the first one still leads.
fn has_turn(first: bool, leads: bool, since: Duration) -> bool {
    let at = since.as_millis() % CYCLE;
    match (first, since < TURNS) {
        _ if leads && since < LONGEST_LEAD => first,
        (true, true) => at < FIRST,
        (false, true) => at >= FIRST,
        (true, false) => true,
        (false, false) => at >= FIRST,
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
        race.wins(runner, due, true, || true)
    }

    #[test]
    fn less_work_wins_however_slow() {
        for (pauses, dues, winner) in
            [([5, 0], [10, 300], 0), ([0, 5], [300, 10], 1), ([0, 2], [20, 20], 0), ([2, 0], [20, 20], 0)]
        {
            let race = Race::new(2, false, None);
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
            let race = Race::new(3, false, None);
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
        let race = Race::new(2, false, None);
        race.gives_up(0);
        assert!(race.wins(1, 1_000, true, || true));
        let race = Race::new(3, false, None);
        assert!(race.wins(1, 1_000, true, || false), "no more patience");
    }

    #[test]
    fn without_a_run_to_show_the_first_wins_at_once() {
        let race = Race::new(2, true, None);
        assert!(race.wins(1, 1_000, false, || panic!("it need not wait")) && race.claims());
        assert!(!race.goes_on(0, 1), "it is over");
        // Where answers differ, the other one is waited for.
        let race = Race::new(2, false, None);
        race.goes_on(0, 1);
        let mut asked = 0;
        race.wins(1, 1_000, false, || {
            asked += 1;
            asked < 3
        });
        assert_eq!(asked, 3);
    }

    #[test]
    fn in_a_crowd_the_first_leads_and_then_they_take_turns() {
        let ms = Duration::from_millis;
        let turns = |leads, since| [true, false].map(|first| has_turn(first, leads, since));
        assert_eq!(turns(true, ms(5)), [true, false]);
        assert_eq!(turns(false, ms(5)), [false, true], "it has had its lead");
        assert_eq!(turns(true, LONGEST_LEAD + ms(5)), [false, true], "its lead takes too long");
        let shares = |from: u64| {
            let cycle = (from..from + 10).map(|at| turns(false, ms(at)));
            cycle.fold([0, 0], |sum, turn| [sum[0] + turn[0] as u32, sum[1] + turn[1] as u32])
        };
        assert_eq!(shares(400), [3, 7]);
        assert_eq!(shares(5_000), [10, 7]);
    }

    #[test]
    fn in_a_crowd_the_last_one_pauses_while_all_others_run() {
        let race = Race::new(3, false, Some(1_000));
        let start = clock();
        race.goes_on(2, 1);
        assert!(clock() - start >= LONGEST, "it has paused");
        race.goes_on(1, 1);
        race.gives_up(1);
        let start = clock();
        race.goes_on(2, 2);
        assert!(clock() - start < LONGEST, "there is a core for each");
    }
}
