//! Room `engine/encode`: what must have gone into an edge for a valuation to come out.
//!
//! # Idea
//!
//! A trace is written backwards: given a valuation that must come out, at least in part, which values must have gone
//! in? That is the evaluation of [`super::expand`] with a *goal*: new values must meet the goal's, and everything they and the
//! guard depend on must be settled, because a replay does not reason with ranges.
//!
//! # Cost
//!
//! The halvings of the expander, each an evaluation of the edge; then the edge once more, to say of the choices what was decided of holes
//! that are made of them.

use super::code::{Code, Formula, Ins};
use super::expand::{Expander, Goal, Next, Site};
use super::independent::parts;
use super::layout::Row;
use super::value::Val;
use crate::budget::Budget;
use crate::verdict::Why;
use postbop_ir::Value;
use smallvec::SmallVec;

/// The choices of an edge, and the valuation before it.
pub type Explanation = (Vec<Option<Value>>, Row);

/// How much work on one explanation is done between two looks at the budget.
const PATIENCE: u64 = 1 << 16;

impl Expander<'_, '_> {
    /// Finds what must have gone into an edge for the goal to come out: the choices, and the valuation before with
    /// every open field bound that matters. `None` if nothing can have.
    pub fn explain(&mut self, site: Site, goal: Goal, budget: &Budget) -> Result<Option<Explanation>, Why> {
        self.trail.truncate(0);
        self.trail.turn_to(0);
        self.bind_goal(site, goal);
        let floor = self.mark();
        loop {
            self.pause_at = self.work + PATIENCE;
            match self.search(site, floor, goal) {
                Next::Found => return Ok(Some(self.explanation(site))),
                Next::Nothing => return Ok(None),
                Next::Paused => budget.check_writing()?,
            }
        }
    }

    fn explanation(&mut self, site: Site) -> Explanation {
        let choices = self.chosen(site);
        let mut row = Row::from_slice(site.row);
        for (at, field) in site.fields.iter().enumerate().filter(|(_, field)| field.get(site.row).is_none()) {
            let value = self.hole(site, at as u32);
            if value.single() {
                field.set(&mut row, Some(value.lo));
            }
        }
        (choices, row)
    }

    /// What was decided of the choices.
    fn chosen(&mut self, site: Site) -> Vec<Option<Value>> {
        if site.edge.choices.is_empty() {
            return Vec::new();
        }
        let choice = |at: usize| {
            let value = self.hole(site, (site.fields.len() + at) as u32);
            value.single().then(|| Value::new(value.lo))
        };
        let mut choices: Vec<Option<Value>> = (0..site.edge.choices.len()).map(choice).collect();
        self.ran = 0;
        let formulas: Vec<&Formula> = match &site.edge.code {
            Code::Update { sets, guard } => sets.iter().map(|set| &set.value).chain(guard).collect(),
            Code::Call(call) => call.args.iter().map(|set| &set.value).collect(),
        };
        formulas.into_iter().for_each(|formula| self.settle(site, formula, &mut choices));
        choices
    }

    /// Says of the choices in a formula what was decided of the holes that are made of them.
    fn settle(&mut self, site: Site, formula: &Formula, choices: &mut [Option<Value>]) {
        let before = self.ran;
        // For each instruction the value, and where the code of its operands begins.
        let (mut values, mut starts): (Vec<Val>, Vec<usize>) = Default::default();
        self.stack.clear();
        for (at, &ins) in formula.iter().enumerate() {
            let value = self.result(site, ins);
            self.ran += 1;
            self.stack.push(value);
            values.push(value);
            let arity = if let Ins::Apply(op) = ins { op.arity() } else { 0 };
            starts.push((0..arity).fold(at, |end, _| starts[end - 1]));
        }
        let decided =
            |at: usize| self.trail.decided(Self::made(site, before + at)).map(|found| (at, found.lo));
        let mut due: Vec<(usize, i64)> = (0..formula.len()).filter_map(decided).collect();
        while let Some((at, value)) = due.pop() {
            match formula[at] {
                Ins::Choice(choice) => choices[choice as usize] = Some(Value::new(value)),
                Ins::Apply(op) => {
                    let mut roots: SmallVec<[usize; 3]> = SmallVec::new();
                    (0..op.arity()).fold(at, |end, _| {
                        roots.insert(0, end - 1);
                        starts[end - 1]
                    });
                    let operands: SmallVec<[Val; 3]> = roots.iter().map(|&root| values[root]).collect();
                    due.extend(parts(op, value, &operands).into_iter().map(|(at, value)| (roots[at], value)));
                }
                _ => unreachable!("what is free is made of choices"),
            }
        }
    }

    /// A field that goes through an edge unchanged must have been what the goal says it is.
    fn bind_goal(&mut self, site: Site, goal: Goal) {
        let open = |field: usize| site.fields[field].get(site.row).is_none();
        match (&site.edge.code, goal) {
            (Code::Update { sets, .. }, Goal::Row(goal)) => {
                for (at, field) in site.fields.iter().enumerate() {
                    if let (true, Some(value)) = (open(at), field.get(goal))
                        && !sets.iter().any(|set| set.field == at)
                    {
                        self.bind(at, value);
                    }
                }
            }
            (Code::Call(call), Goal::Call(entry, kept)) => {
                let there = &self.machine.layout(call.like).fields;
                let passed = call.globals().map(|(here, at, _)| (here, there[at].get(entry)));
                let waiting = call.kept.iter().map(|&here| (here, site.fields[here].get(kept)));
                for (field, value) in passed.chain(waiting) {
                    if let (true, Some(value)) = (open(field), value) {
                        self.bind(field, value);
                    }
                }
            }
            _ => {}
        }
    }
}
