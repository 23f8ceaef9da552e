//! Room `engine/fixpoint`: threads within a schedule, by a formula.
//!
//! The formula says whether a target is reached, and if so, which threads run in which order and what the shared variables
//! are at each switch: a *script*. With a script in hand a run is soon found by other means.

use super::library::SWITCHES;
use super::solve::{ProgramSolver, keep_to, tallies};
use super::template::{GLOBAL, PC, TARGET, Template};
use crate::budget::{Budget, clock};
use crate::encode::prepared::Prepared;
use crate::engine::{Finding, Listener};
use crate::pulse::Pulse;
use crate::threads::script::Script;
use crate::verdict::{Stats, Why};
use postbop_front::fix::{Formulas, read};
use postbop_ir::{LocId, Schedule, Task, ThreadId};
use postbop_kit::bdd::{Bdd, Interrupted, Ref};
use postbop_kit::calculus::{RelationId, Solver, Stop};

/// Evaluates the formula for each target of a task.
pub fn check(
    task: &Task,
    prepared: &Prepared,
    schedule: Schedule,
    budget: &Budget,
    listener: &mut dyn Listener,
) -> Stats {
    let program = task.program;
    let threads = program.threads().len() as i64;
    let (switches, rounds) = match schedule {
        Schedule::Switches(most) => (most as i64, most as i64),
        Schedule::Rounds(most) => (most as i64 * threads - 1, most as i64 - 1),
    };
    let machine = prepared.threads();
    let mut template = Template::new(machine, Vec::new());
    template.name_constants(&[("K", switches), ("N", threads - 1), ("R", rounds)]);
    let (_, formulas) = read(SWITCHES.text.as_bytes(), template.signature());
    let formulas = formulas.unwrap_or_else(|flaws| panic!("switches.fix: {flaws:?}"));
    let relation = |name: &str| {
        let found = formulas.system.relations.iter().position(|relation| relation.name == name);
        RelationId(found.expect("the formula defines it") as u32)
    };
    let reach = relation("Reach");
    let pulse = Pulse::new(listener);
    let beat = |work| pulse.beat(work);
    let mut solver = Solver::new(&formulas.system, Bdd::new(keep_to(budget, &beat)), template, vec![reach]);
    solver.clock = clock;
    let query = solver.prepare(&[formulas.queries[0].1])[0];
    solver.supply.bottom = solver.depth();
    let mut search = Search { solver, formulas: &formulas, reach, query, budget };
    for (at, query) in task.queries.iter().enumerate() {
        let finding = search.ask(query.locs()).unwrap_or_else(Finding::Unknown);
        (&pulse).settle(at, finding);
    }
    tallies(&mut search.solver, &formulas)
}

struct Search<'s, 'w, 'm, 'a> {
    solver: ProgramSolver<'s, 'w, 'm, 'a>,
    formulas: &'s Formulas,
    reach: RelationId,
    query: usize,
    budget: &'w Budget,
}

impl Search<'_, '_, '_, '_> {
    fn ask(&mut self, locs: &[LocId]) -> Result<Finding, Why> {
        self.solver.supply.targets = locs.to_vec();
        self.solver.replace(TARGET);
        let found = self.solver.decide(self.query).map_err(|stop| match stop {
            Stop::Interrupted => self.why(),
            Stop::Unstable { .. } => Why::EngineBug("switches.fix does not settle".into()),
        });
        match found? {
            false => Ok(Finding::Holds { guarded: None }),
            true => self.script(locs).map(Finding::Scripted).map_err(|_| self.why()),
        }
    }

    fn why(&self) -> Why {
        self.budget.allows(0).err().unwrap_or(Why::Memory(self.budget.memory()))
    }

    /// Which thread runs when, in some run to these locations. An empty script stays in the prologue.
    fn script(&mut self, locs: &[LocId]) -> Result<Script, Interrupted> {
        // Once a target is reached, the formula ends by making the relation hold of everything.
        let all = self.solver.everything(self.reach)?;
        let journal = &self.solver.journal;
        let last =
            journal.iter().rev().find(|entry| entry.value != all).map_or(Ref::FALSE, |entry| entry.value);
        let pc = self.solver.levels(PC, 1);
        let mut found = Ref::FALSE;
        for &loc in locs {
            let here = self.solver.supply.pc_literals(loc, &pc);
            let here = self.solver.bdd.cube(&here)?;
            let here = self.solver.bdd.and(here, last)?;
            found = self.solver.bdd.or(found, here)?;
        }
        let Some(picked) = self.solver.bdd.pick(found) else { return Ok(Script::default()) };
        Ok(self.decode(&picked))
    }

    fn decode(&self, picked: &[(u32, bool)]) -> Script {
        let truth = |level: u32| picked.binary_search(&(level, true)).is_ok();
        let number =
            |levels: &[u32]| levels.iter().fold(0u32, |value, &level| value << 1 | truth(level) as u32);
        // The arguments are u, v: State, ecs, cs: Slot, g: Global[K], t: Thread[K + 1].
        let domains = &self.formulas.system.relations[self.reach.0 as usize].domains;
        let (slot, thread) = (domains[6], *domains.last().expect("threads come last"));
        // Slots and threads may be one domain; then slots come first.
        let first_thread = if slot == thread { 2 } else { 0 };
        let last = number(&self.solver.levels(slot, 1));
        let owner = |at: u32| ThreadId(number(&self.solver.levels(thread, first_thread + at)));
        let globals = |at: u32| {
            let levels = self.solver.levels(GLOBAL, 2 + at);
            self.solver.supply.global_values(&truth, &levels)
        };
        let begins = std::iter::once(Vec::new()).chain((0..last).map(globals)).collect();
        Script { owners: (0..=last).map(owner).collect(), begins }
    }
}
