//! Room `engine/weighted`: from a location that was reached back to the start.
//!
//! # Idea
//!
//! Every increase of a weight remembers the transition and the rule that it came from, and how many increments that transition had then. A
//! *point* is one member of an increment: values at the start of the activation, and values now. Some member of one of the earlier
//! increments leads to it by the rule; conjoined with the rule's relation and the values of the point, such an increment is not
//! empty, and one of its members is the point before. So the run is walked back, each point coming from an increment that is older. Completed
//! calls become segments, and equal ones are walked once.
//!
//! Only values that something depends on are settled; to these belongs every variable that an edge reads, since replay wants to know it.

use super::formula::Refused;
use super::registers::{Register, Time, column, from_bits, shown};
use super::sets::{Fixed, Sets};
use super::system::{Model, Move, Open};
use super::weight::{Relations, Weight};
use crate::budget::Budget;
use crate::verdict::Why;
use postbop_ir::trace::Known;
use postbop_ir::{Action, Edge, ProcId, Segment, SegmentId, Step, Table, Trace, Type, Value, VarId};
use postbop_kit::ndd::{Interrupted, Member};
use postbop_kit::pushdown::{Cause, Saturation};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// Settled numbers by slot; a bit is −1 or 0.
pub(super) type Settled = BTreeMap<u32, i64>;

/// A member of an increment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Point {
    transition: u32,
    increment: u32,
    /// At the start of the activation.
    start: Settled,
    /// Now.
    now: Settled,
}

/// Why no trace was found.
pub(super) enum Lost {
    Interrupted,
    /// A number of the run does not fit 64 bits.
    TooLarge,
    /// No earlier increment leads to a point, which cannot be.
    Nowhere,
}

impl From<Interrupted> for Lost {
    fn from(_: Interrupted) -> Self {
        Lost::Interrupted
    }
}

impl From<Refused> for Lost {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Interrupted => Lost::Interrupted,
            Refused::TooLarge => Lost::TooLarge,
        }
    }
}

/// A run to the target of a transition that was reached.
pub fn trace<S: Sets>(
    model: &Model<S>,
    relations: &Relations<S>,
    saturation: &Saturation<Weight<S::Set>>,
    transition: u32,
    budget: &Budget,
    why: impl Fn() -> Why,
) -> Result<Trace, Why> {
    let walker = Walker {
        model,
        relations,
        saturation,
        budget,
        opened: HashMap::default(),
        known: HashMap::default(),
        segments: Table::new(),
    };
    walker.walk(transition).map_err(|lost| match lost {
        Lost::Interrupted => why(),
        Lost::TooLarge => {
            Why::Unsupported("a run whose numbers or rounds are too many to be written down".into())
        }
        Lost::Nowhere => Why::EngineBug("a point that was reached has no point before".into()),
    })
}

/// A run that is being walked back: of a completed call, or of the whole.
struct Run {
    /// For a completed call: the point at its return, by which it is known.
    segment: Option<Point>,
    at: Point,
    /// The steps, the last one first.
    steps: Vec<Step>,
    /// What variables hold at the start of the activation.
    entry: Known,
    proc: ProcId,
    /// The call that was just passed, as a completed one.
    came_back: Option<SegmentId>,
}

pub(super) struct Walker<'w, S: Sets> {
    pub(super) model: &'w Model<'w, S>,
    pub(super) relations: &'w Relations<'w, S>,
    pub(super) saturation: &'w Saturation<Weight<S::Set>>,
    budget: &'w Budget,
    opened: HashMap<u32, Open<S::Set>>,
    /// Completed calls by the point at their return, with what is settled at their start.
    known: HashMap<Point, (SegmentId, Settled)>,
    segments: Table<SegmentId, Segment>,
}

impl<S: Sets> Walker<'_, S> {
    fn walk(mut self, transition: u32) -> Result<Trace, Lost> {
        let first = &self.saturation.increments[transition as usize][0].difference;
        let member = self.model.store().member(&first.set).ok_or(Lost::Nowhere)?;
        let (start, now) = self.values(first, &member)?;
        let at = Point { transition, increment: 0, start, now };
        let mut runs = vec![self.run(at, None)];
        loop {
            if self.budget.check_writing().is_err() {
                return Err(Lost::Interrupted);
            }
            let run = runs.last_mut().expect("there is the whole run");
            let increment =
                &self.saturation.increments[run.at.transition as usize][run.at.increment as usize];
            match increment.cause {
                Cause::Rule { rule, source } => self.step_back(run, rule, source)?,
                Cause::Returned { frame, popped } => {
                    let (caller, callee) = self.call(&run.at, frame, popped)?;
                    match self.known.get(&callee) {
                        Some((segment, start)) => {
                            run.came_back = Some(*segment);
                            run.at = self.with(caller, start);
                        }
                        None => {
                            let run = self.run(callee.clone(), Some(callee));
                            runs.push(run);
                        }
                    }
                }
                Cause::Entered { rule, source } if run.segment.is_none() => {
                    self.step_out(run, rule, source)?;
                }
                Cause::Entered { .. } | Cause::Initial => {
                    let mut run = runs.pop().expect("it is there");
                    run.steps.reverse();
                    match run.segment {
                        None => return Ok(Trace::sequential(self.segments, run.entry, run.steps)),
                        Some(point) => {
                            let segment = self.segments.push(Segment::new(run.proc, run.entry, run.steps));
                            self.known.insert(point, (segment, run.at.start));
                        }
                    }
                }
            }
        }
    }

    fn run(&self, at: Point, segment: Option<Point>) -> Run {
        let proc = self.model.program.main();
        Run { segment, at, steps: Vec::new(), entry: Known::new(), proc, came_back: None }
    }

    /// The point with more values settled, on which nothing depends there.
    fn with(&self, mut point: Point, more: &Settled) -> Point {
        let weight =
            &self.saturation.increments[point.transition as usize][point.increment as usize].difference;
        for (&slot, &number) in more {
            let value = *point.now.entry(slot).or_insert(number);
            if weight.present(self.model.registers.owner(slot)) == Time::Old {
                point.start.insert(slot, value);
            }
        }
        point
    }

    /// The values of a member of a relation: at the start, and now.
    fn values(&self, weight: &Weight<S::Set>, member: &Member) -> Result<(Settled, Settled), Lost> {
        let (mut start, mut now) = (Settled::new(), Settled::new());
        for (at, number) in member.numbers() {
            let (slot, time) = shown(at);
            if slot >= self.model.registers.slots() || time == Time::Later {
                continue;
            }
            let register = self.model.registers.owner(slot);
            let number = i64::try_from(number).map_err(|_| Lost::TooLarge)?;
            let number = self.settled(register, number);
            if time == Time::Old {
                start.insert(slot, number);
            }
            if time == weight.present(register) {
                now.insert(slot, number);
            }
        }
        Ok((self.whole(start), self.whole(now)))
    }

    fn settled(&self, register: Register, number: i64) -> i64 {
        match self.model.registers.ty(register).bits() {
            Some(_) => -i64::from(number < 0),
            None => number,
        }
    }

    /// Settles all bits of a register of which one is settled.
    fn whole(&self, mut settled: Settled) -> Settled {
        let slots: Vec<u32> = settled.keys().copied().collect();
        for slot in slots {
            for &other in self.model.registers.slots_of(self.model.registers.owner(slot)) {
                settled.entry(other).or_default();
            }
        }
        settled
    }

    /// That slots have these values at a time that depends on the register.
    pub(super) fn fix(&self, fixed: &mut Fixed, settled: &Settled, time: impl Fn(Register) -> Time) {
        for (&slot, &number) in settled {
            let register = self.model.registers.owner(slot);
            let at = column(slot, time(register));
            match self.model.registers.ty(register).bits() {
                None => fixed.numbers.push((at, number)),
                Some(_) => fixed.bits.push((at, number < 0)),
            }
        }
    }

    /// The last of some increments that leads to a point by a relation, and the member that does. What was handed on together with it, and no
    /// increment before that, leads to what was new then.
    fn before(
        &self,
        source: (u32, u32),
        then: &Weight<S::Set>,
        start: &Settled,
        now: &Settled,
        enters: bool,
    ) -> Result<(u32, Member), Lost> {
        // A register that is forgotten shows what it was at the start of the activation.
        let forgotten = |slot: &u32| then.forgets(self.model.registers.owner(*slot));
        let now: Settled =
            now.iter().filter(|(slot, _)| !forgotten(slot)).map(|(&slot, &number)| (slot, number)).collect();
        for number in (0..source.1).rev() {
            let first = &self.saturation.increments[source.0 as usize][number as usize].difference;
            let set = self.relations.moved(first, &then.set)?;
            let time = |register| match (then.writes(register), first.writes(register)) {
                (true, true) => Time::Later,
                (false, false) => Time::Old,
                _ => Time::New,
            };
            let mut fixed = Fixed::default();
            self.fix(&mut fixed, &now, time);
            if !enters {
                self.fix(&mut fixed, start, |_| Time::Old);
            }
            if let Some(member) = self.model.store().common(&[&first.set, &set], &fixed)? {
                return Ok((number, member));
            }
        }
        Err(Lost::Nowhere)
    }

    /// The relation of a rule, choices included.
    fn opened(&mut self, rule: u32) -> Result<(), Lost> {
        if !self.opened.contains_key(&rule) {
            self.opened.insert(rule, self.model.open(self.model.moves[rule as usize])?);
        }
        Ok(())
    }

    /// One rule back within an activation.
    fn step_back(&mut self, run: &mut Run, rule: u32, source: (u32, u32)) -> Result<(), Lost> {
        self.opened(rule)?;
        let open = &self.opened[&rule];
        run.at
            .now
            .retain(|&slot, _| open.arbitrary.binary_search(&self.model.registers.owner(slot)).is_err());
        let (number, member) = self.before(source, &open.weight, &run.at.start, &run.at.now, false)?;
        let before = self.point(source.0, number, &member, self.model.moves[rule as usize])?;
        let after = std::mem::replace(&mut run.at, before);
        match self.model.moves[rule as usize] {
            Move::Back(_) => {}
            Move::Enter(proc) => {
                run.proc = proc;
                run.entry = self.known_of(&after.now);
            }
            Move::Rounds(edge) => {
                let first = &self.saturation.increments[source.0 as usize][number as usize].difference;
                let count = self.rounds(edge, first, &member).ok_or(Lost::TooLarge)?;
                run.steps.extend((0..count).map(|_| Step::new(edge, Vec::new())));
            }
            Move::Edge(edge) => {
                let first = &self.saturation.increments[source.0 as usize][number as usize].difference;
                let choices = self.choices(edge, open, first, &member, &after.now)?;
                let step = Step::new(edge, choices);
                run.steps.push(match run.came_back.take() {
                    Some(segment) => step.back(segment),
                    None => step,
                });
            }
        }
        Ok(())
    }

    /// From the start of an activation that has not ended to its caller.
    fn step_out(&mut self, run: &mut Run, rule: u32, source: (u32, u32)) -> Result<(), Lost> {
        self.opened(rule)?;
        let open = &self.opened[&rule];
        let (number, member) = self.before(source, &open.weight, &Settled::new(), &run.at.start, true)?;
        let step = self.model.moves[rule as usize];
        run.at = self.point(source.0, number, &member, step)?;
        let Move::Edge(edge) = step else { unreachable!("calls are edges") };
        let params = self.model.program.procs()[run.proc].params();
        let is_local = |var| !self.model.program.is_global(var) && !params.contains(&var);
        let locals = run.entry.iter().copied().filter(|&(var, _)| is_local(var)).collect();
        let first = &self.saturation.increments[source.0 as usize][number as usize].difference;
        let choices = self.choices(edge, open, first, &member, &run.at.now)?;
        run.steps.push(Step::new(edge, choices).entering(locals));
        Ok(())
    }

    /// The point before, with every variable settled that a rule reads.
    fn point(&self, transition: u32, increment: u32, member: &Member, step: Move) -> Result<Point, Lost> {
        let weight = &self.saturation.increments[transition as usize][increment as usize].difference;
        let (mut start, mut now) = self.values(weight, member)?;
        if let Move::Edge(edge) | Move::Rounds(edge) = step {
            let Edge { from, action, .. } = &self.model.program.edges()[edge];
            let reads = action.exprs().flat_map(|expr| expr.reads());
            // What is not live here only goes to where it does not matter.
            for var in reads.filter(|&var| self.model.is_live(var, *from)) {
                for &slot in self.model.registers.slots_of(var.0) {
                    let value = *now.entry(slot).or_default();
                    if weight.present(var.0) == Time::Old {
                        start.insert(slot, value);
                    }
                }
            }
        }
        Ok(Point { transition, increment, start, now })
    }

    /// The caller's point before a completed call, and the callee's point at its return.
    fn call(&self, at: &Point, frame: (u32, u32), popped: (u32, u32)) -> Result<(Point, Point), Lost> {
        for increment in (0..popped.1).rev() {
            let callee = &self.saturation.increments[popped.0 as usize][increment as usize].difference;
            let written = |slot: u32| callee.writes(self.model.registers.owner(slot));
            let left: Settled = at
                .now
                .iter()
                .filter(|(slot, _)| written(**slot))
                .map(|(&slot, &number)| (slot, number))
                .collect();
            // Most calls ended otherwise; that is soon seen.
            let mut fixed = Fixed::default();
            self.fix(&mut fixed, &left, |_| Time::New);
            if self.model.store().common(&[&callee.set], &fixed)?.is_none() {
                continue;
            }
            let (number, member) = match self.before(frame, callee, &at.start, &at.now, false) {
                Ok(found) => found,
                Err(Lost::Nowhere) => continue,
                Err(lost) => return Err(lost),
            };
            let caller = &self.saturation.increments[frame.0 as usize][number as usize].difference;
            let (start, mut now) = self.values(caller, &member)?;
            // What the callee started with is what its caller had then; what it wrote is what the caller has afterwards.
            let mut inside = (Settled::new(), Settled::new());
            for at in self.model.store().support(&callee.set) {
                let (slot, time) = shown(at);
                let register = self.model.registers.owner(slot);
                let seen = if caller.writes(register) { at + 1 } else { at };
                let number = member.number(seen).unwrap_or(0);
                let number = i64::try_from(number).map_err(|_| Lost::TooLarge)?;
                let number = self.settled(register, number);
                if time == Time::Old {
                    inside.0.insert(slot, number);
                    now.insert(slot, number);
                }
                if time == callee.present(register) {
                    inside.1.insert(slot, number);
                }
            }
            let (globals, args) = self.passed(frame.0);
            for (&slot, &number) in &now {
                let register = self.model.registers.owner(slot);
                if globals.iter().any(|global| global.0 == register) || args.contains(&register) {
                    inside.0.entry(slot).or_insert(number);
                    if callee.present(register) == Time::Old {
                        inside.1.entry(slot).or_insert(number);
                    }
                }
            }
            for (&slot, &number) in &left {
                inside.1.entry(slot).or_insert(number);
            }
            let (began, ended) = (self.whole(inside.0), self.whole(inside.1));
            let callee = Point { transition: popped.0, increment, start: began, now: ended };
            let now = self.whole(now);
            return Ok((Point { transition: frame.0, increment: number, start, now }, callee));
        }
        Err(Lost::Nowhere)
    }

    /// The globals that the procedure which returns to a frame can touch, and its arguments.
    fn passed(&self, frame: u32) -> (&[VarId], &[Register]) {
        let callee = self.callee(frame);
        (self.model.scopes.globals(callee), self.model.registers.args(callee))
    }

    /// The procedure that returns to a frame.
    fn callee(&self, frame: u32) -> ProcId {
        let Cause::Rule { rule, .. } = self.saturation.increments[frame as usize][0].cause else {
            unreachable!("calls make frames")
        };
        match self.model.moves[rule as usize] {
            Move::Edge(edge) => match self.model.program.edges()[edge].action {
                Action::Call { callee, .. } => callee,
                _ => unreachable!("calls make frames"),
            },
            _ => unreachable!("calls are edges"),
        }
    }

    /// The value of a register, if it is settled.
    pub(super) fn value(&self, settled: &Settled, register: Register) -> Option<Value> {
        let slots = self.model.registers.slots_of(register);
        let first = *settled.get(&slots[0])?;
        Some(match self.model.registers.ty(register) {
            Type::Integer => Value::new(first),
            ty => from_bits(ty, slots.iter().map(|slot| settled.get(slot).is_some_and(|&bit| bit < 0))),
        })
    }

    /// The variables that are settled.
    fn known_of(&self, settled: &Settled) -> Known {
        let mut known = Known::new();
        for &slot in settled.keys() {
            let register = self.model.registers.owner(slot);
            let Some(var) = self.model.registers.var(self.model.program, register) else { continue };
            if known.iter().all(|&(other, _)| other != var) {
                known.extend(self.value(settled, register).map(|value| (var, value)));
            }
        }
        known.sort_unstable();
        known
    }
}
