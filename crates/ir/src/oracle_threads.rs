//! Room `ir`: the oracle for programs with threads.
//!
//! # Idea
//!
//! Runs the threads as they are, each with its whole call stack, one at a time, and switches from one to another
//! wherever that is allowed, within a *schedule*: so many context switches, beginning with any thread, or so many rounds
//! in which each thread in turn has one context, perhaps an empty one. The prologue comes before and costs nothing.
//! Everything that can be reached with few switches is found before anything that takes more, so each location gets the
//! least number there is.
//!
//! A thread's first locals are arbitrary and no other thread can see them, so they are chosen when it first runs.
//!
//! # Cost
//!
//! Exponential in everything, and endless where a recursion is. Configurations beyond a depth of the stack, or beyond a
//! number of them, are left out, and from then on no location is called unreachable.

use crate::bfs::{Configuration, Pending, next_configurations};
use crate::blocked::{can_move, ends};
use crate::ids::{Id, LocId, ProcId, Table, ThreadId, VarId};
use crate::program::{Edge, Program};
use crate::step::{Places, Valuation};
use crate::task::Schedule;
use crate::types::Type;
use crate::value::Value;
use std::collections::HashSet;

/// How far to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most configurations.
    pub configurations: usize,
    /// The most pending calls of one thread.
    pub depth: usize,
}

/// What is known of some locations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// One of them is reached with this many switches, or rounds, and not with fewer.
    Reached(u32),
    /// None is reached within the schedule.
    Never,
    /// The limits were too narrow to tell.
    Unknown,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The least number of switches, or rounds, with which each location was reached.
    least: Table<LocId, Option<u32>>,
    /// The least number with which no thread could move although one waited.
    deadlock: Option<u32>,
    /// The first number with which something was left out.
    cut: Option<u32>,
}

impl Found {
    /// What is known of these locations.
    pub fn at(&self, locs: &[LocId]) -> Answer {
        self.within(locs, u32::MAX)
    }

    /// What is known of these locations within a schedule of at most so many switches, or rounds.
    pub fn within(&self, locs: &[LocId], most: u32) -> Answer {
        self.answer(locs.iter().filter_map(|loc| self.least[*loc]).min(), most)
    }

    /// What is known of deadlocks within a schedule of at most so many switches, or rounds.
    pub fn deadlock_within(&self, most: u32) -> Answer {
        self.answer(self.deadlock, most)
    }

    fn answer(&self, least: Option<u32>, most: u32) -> Answer {
        match (least.filter(|least| *least <= most), self.cut.filter(|cut| *cut <= most)) {
            (Some(least), None) => Answer::Reached(least),
            (Some(least), Some(cut)) if least <= cut => Answer::Reached(least),
            (None, None) => Answer::Never,
            _ => Answer::Unknown,
        }
    }
}

/// The stack of a thread and where it is.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Stack {
    pending: Vec<Pending>,
    loc: LocId,
    locals: Vec<Value>,
}

/// All there is at one moment of a run.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Moment {
    globals: Vec<Value>,
    /// The stacks of the threads; none of one that has not run yet.
    stacks: Vec<Option<Stack>>,
    /// The thread that runs, and whether it has made a step in this context.
    running: usize,
    moved: bool,
}

/// Whether the ways to choose the globals, the locals of a procedure, or the outcome of an edge can be listed.
fn is_small(program: &Program, most: usize) -> bool {
    let fits = |types: &mut dyn Iterator<Item = Type>| {
        let bits: usize = types.map(|ty| ty.bits().map_or(64, usize::from)).sum();
        bits < 40 && 1usize << bits <= most
    };
    let of = |var: &VarId| program.vars()[*var].ty;
    let choices = |edge: &Edge| fits(&mut program.choices(&edge.action));
    fits(&mut program.globals().map(|var| of(&var)))
        && program.procs().iter().all(|proc| fits(&mut proc.locals.iter().map(of)))
        && program.edges().iter().all(choices)
}

/// Looks at all runs within a schedule, as far as the limits go.
pub fn interleave(program: &Program, schedule: Schedule, limits: Limits) -> Found {
    let mut search = Search {
        program,
        places: Places::new(program),
        limits,
        seen: HashSet::new(),
        found: Found { least: Table::filled(program.locs().len(), None), deadlock: None, cut: None },
        ends: ends(program),
        level: 0,
    };
    if !is_small(program, limits.configurations) {
        search.found.cut = Some(0);
        return search.found;
    }
    let threads = program.threads().len();
    let starts = search.prologue();
    match schedule {
        Schedule::Switches(most) => {
            let mut open: Vec<Moment> =
                starts.iter().flat_map(|start| (0..threads).flat_map(|t| search.enter(start, t))).collect();
            for level in 0..=most {
                search.level = level;
                let all = search.contexts(open);
                open = Vec::new();
                for moment in all.iter().filter(|moment| search.may_leave(moment)) {
                    let others = (0..threads).filter(|thread| *thread != moment.running);
                    open.extend(others.flat_map(|thread| search.enter(moment, thread)));
                }
            }
        }
        Schedule::Rounds(most) => {
            let mut before = starts;
            for turn in 0..most as usize * threads {
                search.level = (turn / threads) as u32 + 1;
                let open = before.iter().flat_map(|moment| search.enter(moment, turn % threads)).collect();
                let all = search.contexts(open);
                before = all.into_iter().filter(|moment| !moment.moved || search.may_leave(moment)).collect();
            }
        }
    }
    search.found
}

struct Search<'a> {
    program: &'a Program,
    places: Places,
    limits: Limits,
    seen: HashSet<Moment>,
    found: Found,
    ends: Table<LocId, bool>,
    /// The number of switches so far, or of the round.
    level: u32,
}

impl Search<'_> {
    fn cut(&mut self) {
        self.found.cut.get_or_insert(self.level);
    }

    fn reach(&mut self, loc: LocId) {
        self.found.least[loc].get_or_insert(self.level);
    }

    fn fits(&self, vars: impl Iterator<Item = crate::ids::VarId>) -> bool {
        let bits: u32 = vars.map(|var| self.program.vars()[var].ty.bits().map_or(64, u32::from)).sum();
        bits < 30 && 1 << bits <= self.limits.configurations
    }

    /// All moments at which no thread has run yet.
    fn prologue(&mut self) -> Vec<Moment> {
        let program = self.program;
        if !self.fits(program.globals()) {
            self.cut();
            return Vec::new();
        }
        let all = self.places.all_globals(program);
        let ends: Vec<Vec<Value>> = match program.prologue() {
            None => all,
            Some(prologue) => {
                let start = |globals| Moment { globals, stacks: vec![None], running: 0, moved: false };
                let starts: Vec<Moment> = all.into_iter().map(start).collect();
                let open = starts.iter().flat_map(|start| self.begin(start, 0, prologue)).collect();
                let exit = program.procs()[prologue].exit;
                let all = self.contexts(open);
                let ended =
                    |moment: &Moment| moment.stacks[0].as_ref().is_some_and(|stack| stack.loc == exit);
                all.into_iter().filter(ended).map(|moment| moment.globals).collect()
            }
        };
        self.seen.clear();
        let ends: HashSet<Vec<Value>> = ends.into_iter().collect();
        let none = vec![None; program.threads().len()];
        let first = |globals| Moment { globals, stacks: none.clone(), running: 0, moved: false };
        ends.into_iter().map(first).collect()
    }

    /// The moments at which a thread begins to run, in the place of the one that ran before.
    fn enter(&self, from: &Moment, thread: usize) -> Vec<Moment> {
        match from.stacks[thread] {
            Some(_) => vec![Moment { running: thread, moved: false, ..from.clone() }],
            None => self.begin(from, thread, self.program.threads()[ThreadId::new(thread)].main),
        }
    }

    /// The moments at which a thread is at the entry of its first procedure.
    fn begin(&self, from: &Moment, thread: usize, proc: ProcId) -> Vec<Moment> {
        let loc = self.program.procs()[proc].entry;
        let start = |locals| {
            let mut moment = Moment { running: thread, moved: false, ..from.clone() };
            moment.stacks[thread] = Some(Stack { pending: Vec::new(), loc, locals });
            moment
        };
        self.places.all_locals(self.program, proc, &[]).into_iter().map(start).collect()
    }

    /// Whether another thread may run next.
    fn may_leave(&self, moment: &Moment) -> bool {
        let program = self.program;
        let Some(stack) = &moment.stacks[moment.running] else { return true };
        let main = program.threads()[ThreadId::new(moment.running)].main;
        let ended = stack.pending.is_empty() && stack.loc == program.procs()[main].exit;
        let valuation = Valuation { globals: moment.globals.clone(), locals: Vec::new() };
        let atomic =
            program.atomic().is_some_and(|atomic| self.places.read(program, &valuation, atomic).is_true());
        ended || !program.locs()[stack.loc].inner && !atomic
    }

    /// Everything that the running threads can come to without a switch, and has not been seen before.
    fn contexts(&mut self, open: Vec<Moment>) -> Vec<Moment> {
        let mut all: Vec<Moment> =
            open.into_iter().filter(|moment| self.seen.insert(moment.clone())).collect();
        let mut at = 0;
        while at < all.len() {
            if self.seen.len() > self.limits.configurations {
                self.cut();
                break;
            }
            for next in self.steps(&all[at].clone()) {
                if self.seen.insert(next.clone()) {
                    all.push(next);
                }
            }
            at += 1;
        }
        all
    }

    /// Whether no thread can move although one waits. A thread that has not run yet can, by beginning. None if an integer is too large
    /// for us.
    fn is_deadlock(&self, moment: &Moment) -> Option<bool> {
        let program = self.program;
        let prologue = moment.stacks.len() != program.threads().len();
        let running = moment.stacks[moment.running].as_ref()?;
        if program.locs()[running.loc].inner {
            return Some(false);
        }
        // While the running thread cannot be left, the others do not matter.
        let alone = prologue || !self.may_leave(moment);
        let mut waits = false;
        for (at, stack) in moment.stacks.iter().enumerate().filter(|(at, _)| !alone || *at == moment.running)
        {
            let thread = (!prologue).then(|| &program.threads()[ThreadId::new(at)]);
            let is_later = thread.is_some_and(|thread| thread.later);
            let Some(Stack { pending, loc, locals }) = stack else {
                if is_later {
                    continue;
                }
                return Some(false);
            };
            let first = pending.is_empty();
            let is_there = !(first && is_later && *loc == program.procs()[thread?.main].entry);
            if first && program.is_exit(*loc) || !is_there {
                continue;
            }
            let valuation = Valuation { globals: moment.globals.clone(), locals: locals.clone() };
            if self.ends[*loc] || can_move(program, &self.places, *loc, &valuation)? {
                return Some(false);
            }
            waits = true;
        }
        Some(waits)
    }

    /// What one step of the running thread leads to.
    fn steps(&mut self, from: &Moment) -> Vec<Moment> {
        let Some(stack) = from.stacks[from.running].clone() else { return Vec::new() };
        self.reach(stack.loc);
        match self.is_deadlock(from) {
            Some(true) => drop(self.found.deadlock.get_or_insert(self.level)),
            Some(false) => {}
            None => self.cut(),
        }
        if stack.pending.len() > self.limits.depth {
            self.cut();
            return Vec::new();
        }
        let valuation = Valuation { globals: from.globals.clone(), locals: stack.locals };
        let here = Configuration { stack: stack.pending, loc: stack.loc, valuation };
        let Some(next) = next_configurations(self.program, &self.places, &here) else {
            self.cut();
            return Vec::new();
        };
        let moment = |Configuration { stack, loc, valuation }| {
            let mut moment = Moment { globals: valuation.globals, moved: true, ..from.clone() };
            moment.stacks[from.running] = Some(Stack { pending: stack, loc, locals: valuation.locals });
            moment
        };
        next.into_iter().map(moment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;

    /// Thread 0 sets x, then needs y to get to `R`. Thread 1 sets y where x is set, in two steps of which the first
    /// leads within the statement.
    const TWO: &str = r#"postbop-ir 1
proc p0 "init" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "a" params 0 results ( ) entry l2 exit l3 at 0..0
proc p2 "b" params 0 results ( ) entry l4 exit l5 at 0..0
var v0 global bool "x"
var v1 global bool "y"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p2 at 0..0
loc l5 p2 at 0..0
loc l6 p1 at 0..0
loc l7 p1 at 0..0
loc l8 p2 at 0..0 inner
loc l9 p2 at 0..0
edge l0 l0 at 0..0 assume false
edge l0 l1 at 0..0 return
edge l2 l6 at 0..0 assign v0 := true
edge l6 l7 at 0..0 assume v1
edge l7 l3 at 0..0 return
edge l4 l8 at 0..0 assume v0
edge l8 l9 at 0..0 assign v1 := true
edge l9 l5 at 0..0 return
prologue p0
thread t0 "a" p1
thread t1 "b" p2
"#;

    fn least(text: &str, loc: u32, schedule: Schedule) -> Answer {
        let limits = Limits { configurations: 10_000, depth: 3 };
        interleave(&parse(text).unwrap(), schedule, limits).at(&[LocId(loc)])
    }

    /// The same with x and y 0 at the start.
    fn cleared() -> String {
        TWO.replace(
            "edge l0 l1 at 0..0 return",
            "edge l0 l10 at 0..0 assign v0 v1 := false false\nedge l10 l1 at 0..0 return",
        )
        .replace("loc l9 p2 at 0..0\n", "loc l9 p2 at 0..0\nloc l10 p0 at 0..0\n")
    }

    #[test]
    fn the_least_number_of_switches() {
        let switches = |text: &str, loc| least(text, loc, Schedule::Switches(4));
        assert_eq!(switches(TWO, 7), Answer::Reached(0), "y may be 1 from the start");
        let text = cleared();
        assert_eq!(switches(&text, 10), Answer::Reached(0), "the prologue costs nothing");
        assert_eq!(switches(&text, 6), Answer::Reached(0));
        assert_eq!(switches(&text, 4), Answer::Reached(0), "any thread may be first");
        assert_eq!(switches(&text, 8), Answer::Reached(1));
        assert_eq!(switches(&text, 5), Answer::Reached(1));
        assert_eq!(switches(&text, 7), Answer::Reached(2), "a, b, a");
        assert_eq!(least(&text, 7, Schedule::Switches(1)), Answer::Never);
        let backwards = text.replace("edge l4 l8 at 0..0 assume v0", "edge l4 l8 at 0..0 assume v1");
        assert_eq!(switches(&backwards, 7), Answer::Never);
    }

    #[test]
    fn the_least_number_of_rounds() {
        let text = cleared();
        assert_eq!(least(&text, 5, Schedule::Rounds(3)), Answer::Reached(1));
        assert_eq!(least(&text, 7, Schedule::Rounds(3)), Answer::Reached(2));
        assert_eq!(least(&text, 7, Schedule::Rounds(1)), Answer::Never);
        let swapped =
            text.replace("thread t0 \"a\" p1\nthread t1 \"b\" p2", "thread t0 \"b\" p2\nthread t1 \"a\" p1");
        assert_eq!(least(&swapped, 5, Schedule::Rounds(3)), Answer::Reached(2), "b's first context is empty");
        assert_eq!(least(&swapped, 7, Schedule::Rounds(3)), Answer::Reached(2), "a, then b, a");
    }

    #[test]
    fn no_switch_within_a_statement_or_an_atomic_section() {
        // b sets y only after it set x back: if it could be left in between, a would see y.
        let text = cleared()
            .replace("edge l8 l9 at 0..0 assign v1 := true", "edge l8 l9 at 0..0 assign v1 := false")
            .replace("edge l4 l8 at 0..0 assume v0", "edge l4 l8 at 0..0 assign v1 := true");
        assert_eq!(least(&text, 7, Schedule::Switches(4)), Answer::Never);
        let open = text.replace(" inner", "");
        assert_eq!(least(&open, 7, Schedule::Switches(4)), Answer::Reached(1), "b, then a");
        let atomic = open.replace("prologue p0", "prologue p0\natomic v1");
        assert_eq!(least(&atomic, 7, Schedule::Switches(4)), Answer::Never);
        let ends = atomic.replace("edge l8 l9 at 0..0 assign v1 := false", "edge l8 l9 at 0..0 assume true");
        assert_eq!(least(&ends, 7, Schedule::Switches(4)), Answer::Reached(1), "b ends in its section");
    }

    #[test]
    fn what_is_cut_off_is_not_called_unreachable() {
        let deep = TWO
            .replace(
                "edge l7 l3 at 0..0 return",
                "edge l7 l7 at 0..0 assume false\nedge l6 l6 at 0..0 call p3 ->",
            )
            .replace("var v0", "proc p3 \"f\" params 0 results ( ) entry l10 exit l11 at 0..0\nvar v0")
            .replace(
                "loc l9 p2 at 0..0\n",
                "loc l9 p2 at 0..0\nloc l10 p3 at 0..0\nloc l11 p3 at 0..0\nloc l12 p3 at 0..0\n",
            )
            .replace("prologue", "edge l10 l12 at 0..0 call p3 ->\nprologue");
        assert_eq!(least(&deep, 12, Schedule::Switches(1)), Answer::Unknown);
        assert_eq!(least(&deep, 10, Schedule::Switches(1)), Answer::Reached(0));
        let few = Limits { configurations: 3, depth: 3 };
        let found = interleave(&parse(TWO).unwrap(), Schedule::Switches(0), few);
        assert_eq!(found.at(&[LocId(7)]), Answer::Unknown);
    }
}
