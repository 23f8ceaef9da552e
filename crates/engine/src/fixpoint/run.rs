//! Room `engine/fixpoint`: formulas that users wrote, on their programs.
//!
//! No value is left out of a state here, live or not: a formula may ask about any of them.

use super::solve::{keep_to, tallies};
use super::template::Template;
use crate::budget::{Budget, clock};
use crate::encode::machine::code::Machine;
use crate::verdict::{Stats, Why};
use postbop_front::fix::read;
use postbop_front::{Code, Diagnostic};
use postbop_ir::{LocId, Program};
use postbop_kit::bdd::Bdd;
use postbop_kit::calculus::{Solver, Stop};

/// What came of formulas.
#[derive(Debug)]
pub struct Answers {
    /// For each query its name and whether it is true.
    pub queries: Vec<(String, Result<bool, Why>)>,
    /// What was counted.
    pub stats: Stats,
}

/// The text of a formula file, and what came of it, or what is wrong with it.
pub type Ran = (String, Result<Answers, Vec<Diagnostic>>);

/// Runs the formulas of a file on a program. `Target` holds of the targets. Calls `is_read` between reading, which does not ask the
/// budget, and running.
pub fn run(
    program: &Program,
    targets: Vec<LocId>,
    formulas: &[u8],
    budget: &Budget,
    is_read: impl FnOnce(),
) -> Ran {
    let machine = Machine::full(program);
    let template = Template::new(&machine, targets);
    let (text, formulas) = read(formulas, template.signature());
    let formulas = match formulas {
        Ok(formulas) => formulas,
        Err(flaws) => return (text, Err(flaws)),
    };
    is_read();
    let mut solver = Solver::new(&formulas.system, Bdd::new(keep_to(budget, &|_| ())), template, Vec::new());
    solver.clock = clock;
    let nodes: Vec<_> = formulas.queries.iter().map(|&(_, node)| node).collect();
    let recipes = solver.prepare(&nodes);
    solver.supply.bottom = solver.depth();
    let mut queries = Vec::new();
    for ((name, _), recipe) in formulas.queries.iter().zip(recipes) {
        let answer = match solver.decide(recipe) {
            Ok(truth) => Ok(truth),
            Err(Stop::Interrupted) => Err(budget.allows(0).err().unwrap_or(Why::Memory(budget.memory()))),
            Err(Stop::Unstable { relation, rounds, period }) => {
                let name = &formulas.system.relations[relation.0 as usize].name;
                let message = format!(
                    "the iteration of `{name}` does not settle: after {rounds} rounds it goes round in a circle of {period} values"
                );
                let hint = "a relation that depends on its own negation need not have a fixed point";
                let flaw = Diagnostic::new(Code::Unstable, formulas.spans[&relation], message).hint(hint);
                return (text, Err(vec![flaw]));
            }
        };
        queries.push((name.clone(), answer));
    }
    let stats = tallies(&mut solver, &formulas);
    (text, Ok(Answers { queries, stats }))
}
