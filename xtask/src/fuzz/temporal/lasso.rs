//! Room `xtask`: a trace written out as positions.
//!
//! Completed calls are unfolded, values that the trace leaves open are the least ones of their types, and every step is taken on plain
//! numbers. What a formula says about the positions can then be evaluated without any automaton.
//!
//! A round that a run repeats need not end with the values with which it began: the head of the loop counts on few of them. So rounds are written
//! until one begins with the values of an earlier one; from there on the positions repeat.

use postbop_ir::eval::{Cell, Env, eval};
use postbop_ir::step::{Places, Valuation, resume};
use postbop_ir::{Action, EdgeId, Expr, LocId, Program, Step, Trace, Value, VarId};

/// The longest run that is written out.
const LONGEST: usize = 5_000;

/// A run, position by position.
pub struct Written {
    /// Locations with the values there; without a location after the end of the program.
    pub positions: Vec<(Option<LocId>, Valuation)>,
    /// The position with which the run goes on after the last one, if it goes on for ever.
    pub repeats: Option<usize>,
}

/// An activation that waits for a call along an edge.
struct Frame {
    edge: EdgeId,
    locals: Vec<Value>,
}

struct Writer<'a> {
    program: &'a Program,
    places: Places,
    loc: Option<LocId>,
    valuation: Valuation,
    frames: Vec<Frame>,
    positions: Vec<(Option<LocId>, Valuation)>,
}

struct Now<'a, 'b>(&'b Writer<'a>, &'b Valuation);

impl Env for Now<'_, '_> {
    fn current(&self, var: VarId) -> Cell {
        Cell::Known(self.0.places.read(self.0.program, &self.0.valuation, var))
    }
    fn next(&self, var: VarId) -> Cell {
        Cell::Known(self.0.places.read(self.0.program, self.1, var))
    }
}

/// The positions of a sequential run, if they are not too many; or what is wrong with it.
pub fn write(program: &Program, trace: &Trace) -> Result<Option<Written>, String> {
    let least = |vars: &[VarId]| vars.iter().map(|&var| program.vars()[var].ty.min()).collect();
    let globals: Vec<VarId> = program.globals().collect();
    let main = &program.procs()[program.main()];
    let valuation = Valuation { globals: least(&globals), locals: least(&main.locals) };
    let places = Places::new(program);
    let (frames, positions) = (Vec::new(), Vec::new());
    let mut writer = Writer { program, places, loc: Some(main.entry), valuation, frames, positions };
    writer.set(&trace.initial);
    let [context] = &trace.contexts[..] else { return Err("trace: several contexts".into()) };
    let head = trace.repeats.as_ref().map(|repeat| repeat.from.step as usize);
    // The values with which rounds began, and at which positions.
    let mut begun: Vec<(Valuation, usize)> = Vec::new();
    let mut repeats = None;
    // Rows of steps that are under way: those of the context, and of the completed calls within.
    let mut rows: Vec<(&[Step], usize)> = vec![(&context.steps, 0)];
    loop {
        let top = rows.len() == 1;
        let Some((steps, next)) = rows.last_mut() else { break };
        let Some(step) = steps.get(*next) else {
            match head.filter(|&head| top && head < steps.len()) {
                Some(head) => *next = head,
                None => drop(rows.pop()),
            }
            continue;
        };
        if top && head == Some(*next) {
            let known = begun.iter().find(|(valuation, _)| *valuation == writer.valuation);
            repeats = known.map(|&(_, position)| position);
            if repeats.is_some() {
                break;
            }
            begun.push((writer.valuation.clone(), writer.positions.len()));
        }
        *next += 1;
        writer.step(step)?;
        if let Some(call) = step.call {
            let segment = trace.segments.get(call).ok_or("trace: a segment is missing")?;
            writer.set(&segment.entry);
            rows.push((&segment.steps, 0));
        } else {
            writer.set(step.locals());
        }
        if writer.positions.len() > LONGEST {
            return Ok(None);
        }
    }
    if trace.repeats.is_none() {
        let end = (writer.loc, writer.valuation.clone());
        repeats = end.0.is_none().then_some(writer.positions.len());
        writer.positions.push(end);
    }
    Ok(Some(Written { positions: writer.positions, repeats }))
}

impl Writer<'_> {
    fn set(&mut self, known: &[(VarId, Value)]) {
        for &(var, value) in known {
            let mut valuation = self.valuation.clone();
            self.places.write(self.program, &mut valuation, var, value);
            self.valuation = valuation;
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let program = self.program;
        let edge = &program.edges()[step.edge];
        if self.loc != Some(edge.from) {
            return Err(format!("trace: a step from {}, but the run is at {:?}", edge.from, self.loc));
        }
        self.positions.push((self.loc, self.valuation.clone()));
        let types = program.choices(&edge.action);
        let chosen = types
            .enumerate()
            .map(|(at, ty)| step.choices().get(at).copied().flatten().unwrap_or_else(|| ty.min()));
        let chosen: Vec<Value> = chosen.collect();
        let mut choices = chosen.iter().map(|&value| Cell::Known(value));
        let mut new = self.valuation.clone();
        let mut value = |writer: &Self, expr: &Expr, new: &Valuation| {
            let cell = eval(expr, &Now(writer, new), &mut choices).ok().and_then(Cell::known);
            cell.ok_or_else(|| "trace: a value is not known".to_owned())
        };
        let mut passes = true;
        self.loc = Some(edge.to);
        match &edge.action {
            Action::Assume(condition) => passes = value(self, condition, &new)?.is_true(),
            Action::Assign { targets, values, constraint } => {
                for (&target, expr) in targets.iter().zip(values) {
                    let result = value(self, expr, &new)?;
                    self.places.write(program, &mut new, target, result);
                }
                if let Some(constraint) = constraint {
                    passes = value(self, constraint, &new)?.is_true();
                }
            }
            Action::Havoc(vars) => {
                for (&var, &chosen) in vars.iter().zip(&chosen) {
                    self.places.write(program, &mut new, var, chosen);
                }
            }
            Action::Call { callee, args, .. } => {
                let proc = &program.procs()[*callee];
                let rest = proc.locals[proc.params..].iter().map(|&var| Ok(program.vars()[var].ty.min()));
                let params = args.iter().map(|arg| value(self, arg, &new));
                let locals = params.chain(rest).collect::<Result<Vec<Value>, String>>()?;
                let locals = std::mem::replace(&mut new.locals, locals);
                self.frames.push(Frame { edge: step.edge, locals });
                self.loc = Some(proc.entry);
            }
            Action::Return(results) => {
                let results = results
                    .iter()
                    .map(|expr| value(self, expr, &new))
                    .collect::<Result<Vec<Value>, String>>()?;
                (self.loc, new) = self.returned(new.globals, &results);
            }
        }
        self.valuation = new;
        if passes { Ok(()) } else { Err(format!("trace: {:?} does not pass", step.edge)) }
    }

    /// Where a run goes on after a return.
    fn returned(&mut self, globals: Vec<Value>, results: &[Value]) -> (Option<LocId>, Valuation) {
        let Some(Frame { edge, locals }) = self.frames.pop() else {
            return (None, Valuation { globals, locals: Vec::new() });
        };
        let edge = &self.program.edges()[edge];
        let caller = Valuation { globals: globals.clone(), locals };
        let after = resume(self.program, &self.places, &edge.action, &caller, &globals, results);
        (Some(edge.to), after)
    }
}
