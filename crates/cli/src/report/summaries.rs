//! Room `cli/report`: what procedures do, as tables: when one is entered with this, it returns with that.
//!
//! The tables are those of `postbop summary`, for as many procedures as can be told with little work. They are about every input, also
//! those with which no run calls the procedure. How much work that may be is counted in steps of the algorithm, so that a page is the same
//! on every machine.

use super::constraints::{case, member};
use postbop_engine::Budget;
use postbop_engine::weighted::{Constraint, Described, Extent, Summary, summary};
use postbop_ir::Program;
use serde_json::{Value, json};

/// The most procedures that are told of, and the most rows of one.
const MOST: usize = 60;
const ROWS: usize = 40;
/// The most work for one of them.
const WORK: u64 = 3_000_000;

/// The tables of a program's procedures, as data, and why one is missing.
pub fn tables(program: &Program, budget: &Budget) -> Vec<Value> {
    if !program.is_sequential() {
        return Vec::new();
    }
    let table = |(id, proc): (postbop_ir::ProcId, &postbop_ir::Proc)| {
        let found = summary(program, id, &budget.alone().with_effort(WORK));
        let told = match &found {
            Ok(Summary { extent: Extent::AtLeast(_), .. }) | Err(_) => None,
            Ok(found) => Some(rows(found)),
        };
        match (&found, told) {
            (Ok(found), Some(rows)) => json!({
                "name": proc.name,
                "inputs": found.inputs,
                "outputs": found.outputs,
                "exact": found.extent == Extent::Exact,
                "rows": rows.iter().take(ROWS).collect::<Vec<_>>(),
                "more": rows.len().saturating_sub(ROWS),
            }),
            _ => json!({ "name": proc.name, "rows": null }),
        }
    };
    program.procs().pairs().take(MOST).map(table).collect()
}

/// For each case: what is said of the inputs, and what of the outputs.
fn rows(found: &Summary) -> Vec<(String, String)> {
    let all = match found.outputs.is_empty() {
        true => &found.returns,
        false => &found.relation,
    };
    match &all.cases {
        Some(cases) => cases.iter().map(|list| row(list, all, found.inputs.len())).collect(),
        None => all.members.iter().map(|one| (member(one, &all.names), "for example".to_owned())).collect(),
    }
}

fn row(list: &[Constraint], all: &Described, inputs: usize) -> (String, String) {
    let of_inputs = |one: &&Constraint| one.terms.iter().all(|&(_, at)| (at as usize) < inputs);
    let (when, with): (Vec<&Constraint>, Vec<&Constraint>) = list.iter().partition(of_inputs);
    let told = |list: Vec<&Constraint>| case(&list.into_iter().cloned().collect::<Vec<_>>(), &all.names);
    (told(when), told(with))
}
