//! Room `engine`: what an engine is, and the list of them.

use crate::budget::{Budget, Tick};
use crate::encode::prepared::Prepared;
use crate::explicit::Explicit;
use crate::fixpoint::{Fixpoint, library};
use crate::sat::{Mode, SAT, Sat};
use crate::skeleton::Skeleton;
use crate::summary::Summary;
use crate::threads::script::Script;
use crate::verdict::{Stats, Why};
use crate::weighted::Weighted;
use postbop_ir::{Op, Program, Proof, Task, Trace, Type};

/// What an engine cannot do, in words a user understands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported(pub String);

/// What kind of program an engine is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wants {
    /// Whether it is given a smaller program with the same answers, or the one as written. In a smaller one it says which guards it reaches.
    pub reduced: bool,
    /// Whether it takes threads within a schedule as they are. Otherwise they are translated into a sequential program.
    pub threads: bool,
    /// Whether it takes unbounded integers.
    pub integers: bool,
    /// What it does with questions about runs that go on for ever.
    pub cycles: Cycles,
}

/// What an engine does with questions about runs that go on for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cycles {
    /// It answers them.
    Found,
    /// It may prove that there is none. What it leaves open is translated into a question about what is reached.
    RuledOut,
    /// It is given the translation alone.
    Translated,
}

/// What an engine found out about one query.
#[derive(Clone, Debug)]
pub enum Finding {
    /// No run within the bound of the task reaches the target, or goes on for ever through it if that is asked; and whether a run reaches the query's guard, if that is
    /// known.
    Holds {
        /// Whether a run does.
        guarded: Option<bool>,
    },
    /// This run does. How its segments end may be left out: replay completes them.
    Reached(Trace),
    /// A run along these edges does; the engine does not say with which values.
    Along(Skeleton),
    /// A run that follows this script does; the engine does not say which.
    Scripted(Script),
    /// It is not known, and this is why.
    Unknown(Why),
}

/// Hears what an engine finds out.
pub trait Listener {
    /// How far the search is. Called now and then; returns at once.
    fn progress(&mut self, tick: Tick);
    /// The answer to a query of the task. Said once of each, as soon as it is known.
    fn settle(&mut self, query: usize, finding: Finding);
    /// A run reaches the guard of a query, of which nothing else is known.
    fn guarded(&mut self, query: usize);
    /// A proof of all that the engine is going to say holds. Said once at most, before any
    /// such finding, and only if the task wants proofs.
    fn proof(&mut self, proof: Proof);
}

/// An algorithm that answers tasks.
pub trait Engine: Sync {
    /// What users call it.
    fn name(&self) -> &'static str;
    /// What kind of program it is given.
    fn wants(&self) -> Wants;
    /// Whether it can answer the task at all, apart from what it wants.
    fn supports(&self, task: &Task) -> Result<(), Unsupported>;
    /// Answers the task, with what is prepared from its program: settles each query once, unless another engine is at the same task and is the one to tell (see
    /// `may_tell`). Returns soon after the budget says so, with what it counted.
    fn check(&self, task: &Task, prepared: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats;
}

/// Whether an engine may tell what it found out when its search has ended after so much work, for this reason if not
/// because it was done: not if another engine was at the same task and is the one to tell. `found` is whether it has a run to show.
pub fn may_tell(stopped: Option<&Why>, found: bool, work: u64, budget: &Budget) -> bool {
    match stopped {
        None | Some(Why::First) => budget.wins(work, found),
        // The time is up for all of them: one tells what it has.
        Some(Why::Time(_) | Why::Cancelled) => budget.claims(),
        Some(_) => {
            budget.gives_up();
            !budget.is_raced()
        }
    }
}

/// All engines, each of another kind of algorithm, and the variants of `sat` and `fixpoint`.
pub fn engines() -> &'static [&'static dyn Engine] {
    &[
        &Explicit,
        &Summary,
        &SAT,
        &Sat("sat:qbf", Mode::Qbf),
        &Sat("sat:universal", Mode::Universal),
        &Weighted,
        &Fixpoint("fixpoint", library::DEFAULT),
        &Fixpoint("fixpoint:summary", library::SUMMARY),
        &Fixpoint("fixpoint:ef", library::EF),
        &Fixpoint("fixpoint:ef-split", library::EF_SPLIT),
    ]
}

/// The names of the engines that write a proof of whatever holds of a sequential program without unbounded integers. (`sat:qbf` and `sat:universal` write one where
/// that does not take too much.)
pub const PROVERS: [&str; 10] = [
    "explicit",
    "summary",
    "sat",
    "sat:qbf",
    "sat:universal",
    "weighted",
    "fixpoint",
    "fixpoint:summary",
    "fixpoint:ef",
    "fixpoint:ef-split",
];

/// The engine of this name.
pub fn engine(name: &str) -> Option<&'static dyn Engine> {
    let name = match name {
        "fixpoint:ef-opt" => "fixpoint",
        "sat:pdr" => "sat",
        name => name,
    };
    engines().iter().copied().find(|engine| engine.name() == name)
}

/// The first engine that takes threads as they are.
pub fn for_threads() -> &'static dyn Engine {
    engines().iter().copied().find(|engine| engine.wants().threads).expect("there is one")
}

/// The engine that computes summaries of all procedures, for engines that make programs with few variables.
pub fn for_summaries() -> &'static dyn Engine {
    &Summary
}

/// Whether an engine can answer a task, given whether its program has unbounded integers.
pub fn takes(engine: &dyn Engine, task: &Task, integers: bool) -> Result<(), Unsupported> {
    if !engine.wants().integers {
        finite(integers)?;
    }
    if engine.wants().cycles == Cycles::Translated {
        asks_to_reach(task)?;
    }
    engine.supports(task)
}

/// Refuses questions about runs that go on for ever.
pub fn asks_to_reach(task: &Task) -> Result<(), Unsupported> {
    match task.recurs() {
        true => Err(Unsupported(
            "whether a run visits a location again and again; `explicit` answers that".into(),
        )),
        false => Ok(()),
    }
}

/// Refuses a program if it has unbounded integers.
pub fn finite(integers: bool) -> Result<(), Unsupported> {
    match integers {
        true => Err(Unsupported("unbounded integers; give them a width, as in `int<16>`".into())),
        false => Ok(()),
    }
}

/// Whether a program computes with unbounded integers. To know that, all of it is looked at.
pub fn has_integers(program: &Program) -> bool {
    let unbounded = |ty: &Type| *ty == Type::Integer;
    let in_code = |op: &Op| matches!(op, Op::Const(Type::Integer, _) | Op::Choice(Type::Integer));
    let mut ops =
        program.edges().iter().flat_map(|edge| edge.action.exprs()).flat_map(|expr| expr.code.iter());
    program.vars().iter().any(|var| unbounded(&var.ty))
        || program.procs().iter().any(|proc| proc.results.iter().any(unbounded))
        || ops.any(in_code)
}
