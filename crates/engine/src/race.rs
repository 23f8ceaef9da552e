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
//! The first runner has a lead: the others start one after the other, each when the first has done so much work and is not done. Its lead before the second one does
//! not count when work is compared.
//!
//! # Cost
//!
//! The lead, and the work of the winner, once for each engine, on the cores that there are; and as much waiting as the units are unequal.
//!
//! Where there are fewer cores than runners, as with three engines on two cores, the first and the last runner share a core for as long as all
//! run ([`has_turn`]). In the first second the last one waits if the first is favoured; otherwise they take turns, of which the last one's are longer. After it nobody knows who is closer to an
//! answer: the first one does not pause any more, and the last one does for some of the time. So the first one, if it is favoured, takes as long as alone, the last one hardly more than one and
//! a half times as long, and the runners in between hardly more than alone in the first second, and a third more after it.

use crate::budget::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::Duration;

/// How often an engine that waits checks whether it still has to.
const PAUSE: Duration = Duration::from_millis(5);

/// The least work that the others may do while a runner that is done defers to them: some milliseconds.
const LITTLE: u64 = 1 << 20;

/// What became of a runner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It starts when the lead of the first one is over.
    Waiting,
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
    /// For each of the others after how much work of the first one it starts, in rising order.
    leads: Vec<u64>,
    /// The least of these that is not reached.
    next: AtomicU64,
    /// When all had started.
    opened: OnceLock<Duration>,
    /// Whether answers without a run are the same from every runner.
    alike: AtomicBool,
    crowd: Option<Favoured>,
}

/// Who is favoured, where there are more runners than cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Favoured {
    /// The first runner.
    First,
    /// The last one.
    Last,
}

/// So long one of them is favoured, and they take turns.
const TURNS: Duration = Duration::from_secs(1);
/// Turns come again after so many milliseconds. All of them are the first runner's if it is favoured, and so many if it is not; the rest are the
/// last one's.
const CYCLE: u128 = 10;
const FEW: u128 = 3;
/// No runner pauses longer than this without a look at its limits.
const LONGEST: Duration = Duration::from_millis(10);

impl Race {
    /// One runner is at the start. After how much work of it each of the others starts, in rising order; and if there are more runners than cores, who is favoured.
    pub fn new(leads: &[u64], crowd: Option<Favoured>) -> Self {
        let mut states = vec![State::Waiting; leads.len() + 1];
        states[0] = State::Running;
        Race {
            work: states.iter().map(|_| AtomicU64::new(0)).collect(),
            states: Mutex::new(states),
            changed: Condvar::new(),
            claimed: AtomicBool::new(false),
            leads: leads.to_vec(),
            next: AtomicU64::new(leads[0]),
            opened: OnceLock::new(),
            alike: AtomicBool::new(false),
            crowd,
        }
    }

    /// Waits until a runner that is not the first may start. Returns whether it can still win.
    pub fn starts(&self, runner: usize) -> bool {
        let waits = |states: &mut Vec<State>| states[runner] == State::Waiting;
        drop(self.changed.wait_while(self.states(), waits));
        !self.claimed.load(Ordering::Relaxed)
    }

    /// From now on answers without a run are the same from every runner.
    pub fn are_alike(&self) {
        self.alike.store(true, Ordering::Relaxed);
    }

    /// Whether the lead of a runner ends when it has done so much work: it should tell what it has found, since another one starts then.
    pub fn ends_lead(&self, runner: usize, work: u64) -> bool {
        runner == 0 && work >= self.leads[0] && self.next.load(Ordering::Relaxed) == self.leads[0]
    }

    /// The first runner has done so much work: those whose time has come start.
    fn open(&self, work: u64, states: &mut [State]) {
        for (state, lead) in states[1..].iter_mut().zip(&self.leads) {
            if *state == State::Waiting && *lead <= work {
                *state = State::Running;
            }
        }
        let next = self.leads.iter().copied().find(|lead| *lead > work);
        self.next.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
        if next.is_none() {
            self.opened.get_or_init(clock);
        }
        self.changed.notify_all();
    }

    /// Work that a runner has done, as far as it counts.
    fn counted(&self, runner: usize, work: u64) -> u64 {
        if runner == 0 { work.saturating_sub(self.leads[0]) } else { work }
    }

    fn states(&self) -> std::sync::MutexGuard<'_, Vec<State>> {
        self.states.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A runner has done so much work. Returns whether it can still win.
    pub fn goes_on(&self, runner: usize, work: u64) -> bool {
        if runner == 0 && work >= self.next.load(Ordering::Relaxed) {
            self.open(work, &mut self.states());
        }
        let work = self.counted(runner, work);
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
        let Some(start) = self.opened.get() else { return };
        let end = clock() + LONGEST;
        while clock() < end && self.should_wait(runner, clock() - *start) {
            drop(self.changed.wait_timeout(self.states(), Duration::from_millis(1)));
        }
    }

    /// Whether a runner should leave the cores to the others, so long after the lead was over.
    fn should_wait(&self, runner: usize, since: Duration) -> bool {
        let which = match runner {
            0 => Favoured::First,
            runner if runner == self.work.len() - 1 => Favoured::Last,
            _ => return false,
        };
        let is_over = || self.claimed.load(Ordering::Relaxed);
        let all_run = || self.states().iter().all(|state| *state == State::Running);
        self.crowd.is_some_and(|favoured| !has_turn(which, favoured, since)) && !is_over() && all_run()
    }

    /// A runner is done after so much work, and has found a run to show or not: waits until the winner is known, or `patient` says no
    /// more. Returns whether this runner has won.
    pub fn wins(&self, runner: usize, work: u64, found: bool, mut patient: impl FnMut() -> bool) -> bool {
        let mut states = self.states();
        let work = self.counted(runner, work);
        states[runner] = State::Done(work);
        self.changed.notify_all();
        loop {
            if !found && self.alike.load(Ordering::Relaxed) {
                return true;
            }
            let others = (0..states.len()).filter(|&other| other != runner);
            let beaten = |other: usize| match states[other] {
                State::Waiting | State::Out => true,
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

    /// A runner is done after so much work, but its answer lacks something that another runner might have, such as a proof: waits until another one is done, or each
    /// has given up or done twice as much work (at least [`LITTLE`]), or `patient` says no more. Returns whether another one is done: that one should tell then.
    pub fn defers(&self, runner: usize, work: u64, mut patient: impl FnMut() -> bool) -> bool {
        let most = LITTLE.max(self.counted(runner, work).saturating_mul(2));
        let mut states = self.states();
        loop {
            let others = (0..states.len()).filter(|&other| other != runner);
            let is_done = |other: usize| matches!(states[other], State::Done(_));
            let may_be = |other: usize| match states[other] {
                State::Waiting => true,
                State::Running => self.work[other].load(Ordering::Relaxed) < most,
                State::Done(_) | State::Out => false,
            };
            if others.clone().any(is_done) {
                return true;
            }
            if !others.clone().any(may_be) || !patient() {
                return false;
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
        if runner == 0 {
            self.open(u64::MAX, &mut states);
        }
        self.changed.notify_all();
    }
}

/// Whether it is the turn of the first or the last runner, so long after the lead was over.
fn has_turn(which: Favoured, favoured: Favoured, since: Duration) -> bool {
    let at = since.as_millis() % CYCLE;
    let firsts = if favoured == Favoured::First { CYCLE } else { FEW };
    match (which, since < TURNS) {
        (Favoured::First, true) => at < firsts,
        (Favoured::Last, true) => at >= firsts,
        (Favoured::First, false) => true,
        (Favoured::Last, false) => at >= FEW,
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

    /// A race of so many in which nobody leads.
    fn open(runners: usize) -> Race {
        let race = Race::new(&vec![0; runners - 1], None);
        race.goes_on(0, 0);
        race
    }

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
            let race = open(2);
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
            let race = open(3);
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
        let race = open(2);
        race.gives_up(0);
        assert!(race.wins(1, 1_000, true, || true));
        let race = open(3);
        assert!(race.wins(1, 1_000, true, || false), "no more patience");
    }

    #[test]
    fn without_a_run_to_show_the_first_wins_at_once() {
        let race = open(2);
        race.are_alike();
        assert!(race.wins(1, 1_000, false, || panic!("it need not wait")) && race.claims());
        assert!(!race.goes_on(0, 1), "it is over");
        // Where answers differ, the other one is waited for.
        let race = open(2);
        race.goes_on(0, 1);
        let mut asked = 0;
        race.wins(1, 1_000, false, || {
            asked += 1;
            asked < 3
        });
        assert_eq!(asked, 3);
    }

    #[test]
    fn others_may_have_more_to_tell() {
        let race = open(3);
        let mut asked = 0;
        let mut patient = || {
            asked += 1;
            asked < 100
        };
        race.goes_on(0, LITTLE);
        race.goes_on(1, LITTLE - 1);
        std::thread::scope(|scope| {
            scope.spawn(|| race.goes_on(1, LITTLE));
            assert!(!race.defers(2, 1, &mut patient));
        });
        assert!(asked < 100, "each has done enough");
        race.goes_on(0, 10);
        race.gives_up(1);
        std::thread::scope(|scope| {
            scope.spawn(|| race.wins(0, 20, true, || false));
            assert!(race.defers(2, 1, || true), "the first one is done");
        });
        let race = open(2);
        assert!(!race.defers(1, 1, || false));
    }

    #[test]
    fn the_first_one_leads() {
        let race = Race::new(&[100], None);
        assert!(race.wins(0, 90, true, || panic!("the other has not started")));
        let race = Race::new(&[100], None);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| race.starts(1) && race.wins(1, 15, true, || true));
            assert!(race.goes_on(0, 99) && !race.ends_lead(0, 99) && race.ends_lead(0, 110));
            assert!(race.goes_on(0, 110), "that is ten units after its lead");
            assert!(!race.wins(0, 120, true, || true), "twenty are more than fifteen");
            assert!(other.join().unwrap());
        });
        // Who gives up in its lead lets the others start, and who has told the answer does not.
        let race = Race::new(&[100], None);
        race.gives_up(0);
        assert!(race.starts(1));
        let race = Race::new(&[100], None);
        assert!(race.wins(0, 1, true, || true) && race.claims());
        race.gives_up(0);
        assert!(!race.starts(1));
    }

    #[test]
    fn the_others_start_one_after_the_other() {
        let race = Race::new(&[100, 300], None);
        let started = || [1, 2].map(|runner| race.states()[runner] != State::Waiting);
        assert!(race.goes_on(0, 99) && started() == [false, false]);
        assert!(race.ends_lead(0, 120) && race.goes_on(0, 120) && started() == [true, false]);
        assert!(!race.ends_lead(0, 300), "what was found is told once");
        assert!(race.opened.get().is_none() && race.goes_on(0, 310) && started() == [true, true]);
        assert!(race.opened.get().is_some(), "all run");
        assert_eq!(race.counted(0, 310), 210);
    }

    #[test]
    fn in_a_crowd_one_is_favoured_and_then_none() {
        use Favoured::{First, Last};
        let shares = |favoured, from: u64| {
            let times = (from..from + 10).map(Duration::from_millis);
            [First, Last].map(|which| times.clone().filter(|at| has_turn(which, favoured, *at)).count())
        };
        assert_eq!([shares(First, 400), shares(Last, 400)], [[10, 0], [3, 7]]);
        assert_eq!([shares(First, 5_000), shares(Last, 5_000)], [[10, 7]; 2]);
    }

    #[test]
    fn in_a_crowd_a_runner_waits_while_all_others_run() {
        let race = Race::new(&[0, 0], Some(Favoured::Last));
        let waits = |runner| race.should_wait(runner, Duration::from_millis(5));
        assert!(!waits(0), "the others have not started");
        race.goes_on(0, 0);
        assert_eq!([0, 1, 2].map(waits), [true, false, false]);
        race.gives_up(1);
        assert!(!waits(0), "there is a core for each");
    }
}
