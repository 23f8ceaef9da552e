//! Room `engine/encode`: the successors of a valuation along one edge, one at a time.
//!
//! # Idea
//!
//! An edge is evaluated under a *trail* of decisions ([`super::trail`]), each of which narrows one hole: an open field or a choice. An
//! evaluation either blocks, or names a hole it cannot do without, or makes a successor. A hole that is needed is
//! halved and the edge evaluated again; after a success or a block the last decision moves on to its other half. So
//! the successors come one by one, the infeasible halves are never entered, and between two successors nothing is
//! remembered but the trail. An expression that is made of choices alone is a hole by itself ([`super::independent`]).
//!
//! A successor must be exact: the valuations it stands for are all reached, and no others. A field may stay open only
//! if nothing else depends on the same hole afterwards.

use super::code::{Call, Code, Compiled, Formula, Ins, Machine, Set};
use super::independent;
use super::layout::{Field, Row};
use super::trail::Trail;
use super::value::{NONE, Val, apply, binary, ite, unary};
use postbop_ir::{LocId, Op};

/// What came of looking for a successor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// There is one, in the expander's rows.
    Found,
    /// There is none left.
    Nothing,
    /// It takes long; ask again.
    Paused,
}

/// What came of an evaluation.
enum Evaluated {
    Success,
    Blocked,
    Needs(u32),
}

/// The edge that is looked at, and from where.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The edge.
    pub edge: &'a Compiled,
    /// Where it leads.
    pub to: LocId,
    /// The fields of the procedure.
    pub fields: &'a [Field],
    /// The valuation it starts from.
    pub row: &'a [u64],
}

/// What must come out of an edge.
#[derive(Clone, Copy)]
pub enum Goal<'a> {
    /// Anything.
    Any,
    /// After an update, this valuation.
    Row(&'a [u64]),
    /// After a call, this valuation at the callee's entry, and this one waiting here.
    Call(&'a [u64], &'a [u64]),
}

/// Enumerates successors. All its memory is reused from edge to edge.
pub struct Expander<'m, 'a> {
    pub(super) machine: &'m Machine<'a>,
    /// The decisions of all enumerations under way, those of the one at hand from `base` on.
    pub(super) trail: Trail,
    pub(super) stack: Vec<Val>,
    numbers: Vec<i64>,
    /// How many operators the formulas of the edge have that were run so far, and for each that made a hole, its range.
    pub(super) ran: usize,
    ranges: Vec<(i64, i64)>,
    values: Vec<Val>,
    /// The successor: after an update the valuation, after a call the one at the callee's entry.
    pub out: Row,
    /// After a call: the valuation that waits for its return.
    pub kept: Row,
    /// Whether the successor does not depend on the decisions: then it is the only one.
    only: bool,
    /// How many evaluations were made.
    pub evaluations: u64,
    /// How much work that was: operators run, and decisions looked at.
    pub work: u64,
    /// At how much work to pause.
    pub pause_at: u64,
}

impl<'m, 'a> Expander<'m, 'a> {
    /// An expander for the machine's edges.
    pub fn new(machine: &'m Machine<'a>) -> Self {
        let (stack, values, out, kept) = Default::default();
        Expander {
            machine,
            trail: Trail::default(),
            stack,
            numbers: Vec::new(),
            ran: 0,
            ranges: Vec::new(),
            values,
            out,
            kept,
            only: false,
            evaluations: 0,
            work: 0,
            pause_at: u64::MAX,
        }
    }

    /// The height of the trail. An enumeration that starts now owns what is above.
    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// The next successor of the enumeration whose trail begins at `mark`. `fresh` says that what is decided now was
    /// not evaluated yet: the enumeration starts, or was paused.
    pub fn next(&mut self, site: Site, mark: usize, fresh: bool) -> Next {
        self.trail.turn_to(mark);
        if !fresh && !self.trail.backtrack(mark) {
            return Next::Nothing;
        }
        let next = self.search(site, mark, Goal::Any);
        if next == Next::Found && self.only {
            self.trail.truncate(mark);
        }
        next
    }

    /// Evaluates until there is a successor or nothing is left to decide above `floor`.
    pub(super) fn search(&mut self, site: Site, floor: usize, goal: Goal) -> Next {
        while self.work < self.pause_at {
            self.evaluations += 1;
            self.work += 1;
            match self.evaluate(site, goal) {
                Evaluated::Success => return Next::Found,
                Evaluated::Needs(hole) => self.halve(site, hole),
                Evaluated::Blocked => {
                    if !self.trail.backtrack(floor) {
                        return Next::Nothing;
                    }
                }
            }
        }
        Next::Paused
    }

    fn halve(&mut self, site: Site, hole: u32) {
        let Val { lo, hi: last, .. } = self.hole(site, hole);
        debug_assert!(lo < last, "a hole that is needed has values to choose from");
        // The distance may not fit in 63 bits with a sign.
        let hi = lo + ((last as i128 - lo as i128) / 2) as i64;
        self.trail.push(hole, lo, hi, last);
    }

    /// Binds an open field before the enumeration starts.
    pub(super) fn bind(&mut self, field: usize, value: i64) {
        self.trail.push(field as u32, value, value, value);
    }

    /// All values of a hole. Holes are numbered: fields first, then choices, then operators.
    fn range(&self, site: Site, hole: u32) -> (i64, i64) {
        if let Some(field) = site.fields.get(hole as usize) {
            return field.range();
        }
        let at = hole as usize - site.fields.len();
        match site.edge.choices.get(at) {
            Some(ty) => (ty.min().get(), ty.max().get()),
            None => self.ranges[at - site.edge.choices.len()],
        }
    }

    pub(super) fn hole(&self, site: Site, hole: u32) -> Val {
        let narrowed = self.trail.decided(hole);
        let (lo, hi) = narrowed.map_or_else(|| self.range(site, hole), |decision| (decision.lo, decision.hi));
        if lo == hi { Val::known(lo) } else { Val { lo, hi, hole, whole: narrowed.is_none() } }
    }

    /// The value of a field, open or not.
    fn field(&self, site: Site, at: usize) -> Val {
        site.fields[at].get(site.row).map_or_else(|| self.hole(site, at as u32), Val::known)
    }

    fn run(&mut self, site: Site, formula: &Formula) -> Val {
        self.work += formula.len() as u64;
        if let Some(number) = self.number(site, formula) {
            self.ran += formula.len();
            return Val::known(number);
        }
        self.stack.clear();
        for &ins in formula {
            let value = self.result(site, ins);
            self.ran += 1;
            self.stack.push(value);
        }
        self.stack.pop().expect("a formula is not empty")
    }

    /// The value of a formula, if nothing in it is open or chosen. Most are so, and plain numbers take a third of the time.
    #[inline]
    fn number(&mut self, site: Site, formula: &Formula) -> Option<i64> {
        self.numbers.clear();
        for &ins in formula {
            let number = match ins {
                Ins::Const(_, value) => value,
                Ins::Field(at) => site.fields[at as usize].get(site.row)?,
                Ins::Next(at, _) => Some(self.values[at as usize]).filter(|value| value.settled())?.lo,
                Ins::Choice(_) => return None,
                Ins::Apply(op) => apply(op, &mut self.numbers),
            };
            self.numbers.push(number);
        }
        self.numbers.pop()
    }

    /// The value of an instruction, whose operands are taken from the stack.
    #[inline(always)]
    pub(super) fn result(&mut self, site: Site, ins: Ins) -> Val {
        match ins {
            Ins::Const(_, value) => Val::known(value),
            Ins::Field(at) => self.field(site, at as usize),
            // It may be mentioned several times, so that nothing that is made of it is free.
            Ins::Next(at, _) => Val { whole: false, ..self.values[at as usize] },
            Ins::Choice(at) => self.hole(site, site.fields.len() as u32 + at),
            Ins::Apply(op) => self.apply(site, op),
        }
    }

    /// The value of an operator on the operands on top of the stack. Most have no choice among them, and make no hole.
    #[inline(always)]
    fn apply(&mut self, site: Site, op: Op) -> Val {
        let fixed = |value: Val| !value.is_choice(site.fields.len());
        let (value, operands) = match (op, &self.stack[..]) {
            (Op::Not | Op::Neg(_), &[.., a]) if fixed(a) => (unary(op, a), 1),
            (Op::Not | Op::Neg(_) | Op::Ite, _) => (self.choose(site, op), op.arity()),
            (_, &[.., a, b]) if fixed(a) && fixed(b) => (binary(op, a, b), 2),
            _ => (self.choose(site, op), 2),
        };
        self.stack.truncate(self.stack.len() - operands);
        value
    }

    /// The value of an operator on operands that may be choices, and so make a hole.
    #[inline(never)]
    fn choose(&mut self, site: Site, op: Op) -> Val {
        let operands = &self.stack[self.stack.len() - op.arity()..];
        match (independent::hole(op, operands, |value| value.is_choice(site.fields.len())), operands) {
            (Some(range), _) => {
                if self.ranges.len() <= self.ran {
                    self.ranges.resize(self.ran + 1, (0, 0));
                }
                self.ranges[self.ran] = range;
                self.hole(site, Self::made(site, self.ran))
            }
            (None, &[a]) => unary(op, a),
            (None, &[a, b]) => binary(op, a, b),
            (None, &[c, a, b]) => ite(c, a, b),
            _ => unreachable!("operators have up to three operands"),
        }
    }

    /// The hole that an operator makes, by its number among all instructions of the edge.
    pub(super) fn made(site: Site, at: usize) -> u32 {
        (site.fields.len() + site.edge.choices.len() + at) as u32
    }

    fn evaluate(&mut self, site: Site, goal: Goal) -> Evaluated {
        self.ran = 0;
        let result = match &site.edge.code {
            Code::Update { sets, guard } => self.update(site, sets, guard.as_ref(), goal),
            Code::Call(call) => self.call(site, call, goal),
        };
        match result {
            Ok(()) => Evaluated::Success,
            Err(NONE) => Evaluated::Blocked,
            Err(hole) => Evaluated::Needs(hole),
        }
    }

    /// Computes the new values.
    fn compute(&mut self, site: Site, sets: &[Set]) {
        self.values.clear();
        for set in sets {
            let value = if set.value.is_empty() { Val::known(0) } else { self.run(site, &set.value) };
            self.values.push(value);
        }
    }

    /// `Err` names the hole that is needed, or [`NONE`] where the edge blocks.
    fn update(&mut self, site: Site, sets: &[Set], guard: Option<&Formula>, goal: Goal) -> Result<(), u32> {
        self.compute(site, sets);
        let strict = !matches!(goal, Goal::Any);
        if let Some(guard) = guard {
            let value = self.run(site, guard);
            if value.hi == 0 {
                return Err(NONE);
            }
            if value.lo == 0 || strict && !value.settled() {
                return Err(value.hole);
            }
        }
        if let Goal::Row(goal) = goal {
            return self.meets(sets, site.fields, goal);
        }
        self.out.clear();
        self.out.extend_from_slice(site.row);
        self.only = sets.iter().all(|set| !set.live);
        self.pass(site, sets)?;
        for (at, set) in sets.iter().enumerate().filter(|(_, set)| set.live) {
            let value = self.values[at];
            let free = |field: usize| {
                field == set.field
                    || !self.machine.is_live(site.to, field)
                    || sets.iter().any(|set| set.field == field)
            };
            let value = self.stored(site, sets, at, value, free)?;
            site.fields[set.field].set(&mut self.out, value);
        }
        self.machine.forget(site.to, &mut self.out);
        Ok(())
    }

    /// Carries the decisions on fields over to the successor, where the fields still matter: each must be one value.
    fn pass(&mut self, site: Site, sets: &[Set]) -> Result<(), u32> {
        for decision in self.trail.latest() {
            let at = decision.hole as usize;
            let Some(field) = site.fields.get(at).filter(|field| field.get(site.row).is_none()) else {
                continue;
            };
            if self.machine.is_live(site.to, at) && !sets.iter().any(|set| set.field == at) {
                if decision.lo < decision.hi {
                    return Err(decision.hole);
                }
                self.only = false;
                field.set(&mut self.out, Some(decision.lo));
            }
        }
        Ok(())
    }

    /// What to store for a computed value: a number, or nothing if it may stay open. `free` says which fields are not
    /// looked at by anything else afterwards.
    fn stored(
        &self,
        site: Site,
        sets: &[Set],
        at: usize,
        value: Val,
        free: impl Fn(usize) -> bool,
    ) -> Result<Option<i64>, u32> {
        if value.single() {
            return Ok(Some(value.lo));
        }
        let hole = value.hole as usize;
        let shared = || {
            let others = self.values.iter().zip(sets).enumerate();
            others
                .filter(|(other, (_, set))| *other != at && set.live)
                .any(|(_, (other, _))| other.hole == value.hole)
        };
        let alone = hole >= site.fields.len() || free(hole) && !shared();
        if value.whole && alone { Ok(None) } else { Err(value.hole) }
    }

    /// Whether the new values are those of the goal, where it has any.
    fn meets(&self, sets: &[Set], fields: &[Field], goal: &[u64]) -> Result<(), u32> {
        for (value, set) in self.values.iter().zip(sets) {
            let Some(due) = fields[set.field].get(goal) else { continue };
            if due < value.lo || value.hi < due {
                return Err(NONE);
            }
            if !value.settled() {
                return Err(value.hole);
            }
        }
        Ok(())
    }

    fn call(&mut self, site: Site, call: &Call, goal: Goal) -> Result<(), u32> {
        self.compute(site, &call.args);
        let layout = self.machine.layout(call.like);
        if let Goal::Call(entry, _) = goal {
            return self.meets(&call.args, &layout.fields, entry);
        }
        self.only = false;
        // The values that the caller keeps.
        self.out.clear();
        self.out.extend_from_slice(&self.machine.layout(self.machine.program.locs()[site.to].proc).open);
        for &field in &call.kept {
            let value = self.one(site, field)?;
            site.fields[field].set(&mut self.out, value);
        }
        std::mem::swap(&mut self.out, &mut self.kept);
        // The values that the callee gets.
        self.out.clear();
        self.out.extend_from_slice(&layout.open);
        for (here, there, _) in call.globals().filter(|(_, _, live)| *live) {
            let value = self.one(site, here)?;
            layout.fields[there].set(&mut self.out, value);
        }
        for (at, set) in call.args.iter().enumerate().filter(|(_, set)| set.live) {
            let value = self.values[at];
            let free = |field: usize| {
                let seen = call.globals().any(|(here, _, live)| here == field && live);
                !seen && call.kept.binary_search(&field).is_err()
            };
            let value = self.stored(site, &call.args, at, value, free)?;
            layout.fields[set.field].set(&mut self.out, value);
        }
        Ok(())
    }

    /// The value of a field that goes on: one number, or open if no decision narrowed it.
    fn one(&self, site: Site, field: usize) -> Result<Option<i64>, u32> {
        match self.field(site, field) {
            value if value.single() => Ok(Some(value.lo)),
            value if value.whole => Ok(None),
            value => Err(value.hole),
        }
    }
}
