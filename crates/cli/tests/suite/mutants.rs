//! Traces with one thing changed.

use postbop_ir::{EdgeId, Id, ProcId, Program, SegmentId, Step, Table, ThreadId, Trace, Value};

/// A changed trace.
pub struct Mutant {
    /// What was changed, as in `segment 2 step 0: drop`.
    pub what: String,
    /// The result.
    pub trace: Trace,
    /// Whether no run can have it, whatever the values are.
    pub fatal: bool,
}

/// A place in a trace where steps are.
#[derive(Clone, Copy)]
enum Place {
    Context(usize),
    Segment(SegmentId),
}

struct Maker<'a> {
    program: &'a Program,
    trace: &'a Trace,
    made: Vec<Mutant>,
}

/// Every mutant of a trace.
pub fn mutants(program: &Program, trace: &Trace) -> Vec<Mutant> {
    let mut maker = Maker { program, trace, made: Vec::new() };
    let contexts = (0..trace.contexts.len()).map(Place::Context);
    let segments = trace.segments.ids().map(Place::Segment);
    for place in contexts.chain(segments) {
        maker.steps(place);
        for at in 0..maker.at(place).len() {
            maker.order(place, at);
            maker.step(place, at);
        }
    }
    for id in trace.segments.ids() {
        maker.ends(id);
    }
    maker.whole();
    maker.made
}

/// Another value: a neighbour, or none that any type has.
fn others(value: Value) -> [(Value, bool); 3] {
    let number = value.get();
    [(number ^ 1, false), (number.wrapping_add(2), false), (i64::MIN, true)]
        .map(|(other, fatal)| (Value::new(other), fatal))
}

impl Maker<'_> {
    fn at(&self, place: Place) -> &[Step] {
        match place {
            Place::Context(at) => &self.trace.contexts[at].steps,
            Place::Segment(id) => &self.trace.segments[id].steps,
        }
    }

    fn make(&mut self, what: String, fatal: bool, change: impl FnOnce(&mut Trace)) {
        let mut trace = self.trace.clone();
        change(&mut trace);
        if trace != *self.trace {
            self.made.push(Mutant { what, trace, fatal });
        }
    }

    fn change(&mut self, place: Place, what: &str, fatal: bool, change: impl FnOnce(&mut Vec<Step>)) {
        let name = match place {
            Place::Context(at) => format!("context {at}: {what}"),
            Place::Segment(id) => format!("segment {id}: {what}"),
        };
        self.make(name, fatal, |trace| match place {
            Place::Context(at) => change(&mut trace.contexts[at].steps),
            Place::Segment(id) => change(&mut trace.segments[id].steps),
        });
    }

    fn steps(&mut self, place: Place) {
        self.change(place, "half of it", false, |steps| steps.truncate(steps.len() / 2));
        self.change(place, "no steps", false, Vec::clear);
        let known = match place {
            Place::Context(_) => self.trace.initial.clone(),
            Place::Segment(id) => {
                let name = format!("segment {id}");
                self.make(format!("{name}: another procedure"), true, |trace| trace.segments[id].proc.0 ^= 1);
                self.make(format!("{name}: no procedure"), true, |trace| {
                    trace.segments[id].proc = ProcId(u32::MAX);
                });
                self.trace.segments[id].entry.clone()
            }
        };
        fn entry(trace: &mut Trace, place: Place) -> &mut Vec<(postbop_ir::VarId, Value)> {
            match place {
                Place::Context(_) => &mut trace.initial,
                Place::Segment(id) => &mut trace.segments[id].entry,
            }
        }
        for (at, (_, value)) in known.iter().enumerate() {
            for (value, fatal) in others(*value) {
                self.make(format!("entry {at} = {value}"), fatal, |trace| entry(trace, place)[at].1 = value);
            }
            self.make(format!("entry {at} dropped"), false, |trace| {
                entry(trace, place).remove(at);
            });
            self.make(format!("entry {at} twice"), true, |trace| {
                let entry = entry(trace, place);
                entry.insert(at, entry[at]);
            });
        }
    }

    /// Steps in another order or number.
    fn order(&mut self, place: Place, at: usize) {
        self.change(place, &format!("step {at} dropped"), false, |steps| drop(steps.remove(at)));
        self.change(place, &format!("step {at} twice"), false, |steps| steps.insert(at, steps[at].clone()));
        if at + 1 < self.at(place).len() {
            self.change(place, &format!("steps {at} and the next swapped"), false, |steps| {
                steps.swap(at, at + 1)
            });
        }
    }

    fn edit(&mut self, place: Place, at: usize, what: &str, fatal: bool, edit: impl FnOnce(&mut Step)) {
        self.change(place, &format!("step {at}: {what}"), fatal, |steps| edit(&mut steps[at]));
    }

    fn step(&mut self, place: Place, at: usize) {
        let old = self.at(place)[at].clone();
        let (edge, choices, call) = (old.edge, old.choices().to_vec(), old.call);
        let program = self.program;
        for other in [EdgeId(edge.0.wrapping_sub(1)), EdgeId(edge.0 + 1), EdgeId(u32::MAX)] {
            let elsewhere = program.edges().get(other).is_none_or(|o| o.from != program.edges()[edge].from);
            self.edit(place, at, &format!("edge {other}"), elsewhere, |step| step.edge = other);
        }
        for &other in program.leaving(program.edges()[edge].from) {
            self.edit(place, at, &format!("sibling {other}"), false, |step| step.edge = other);
        }
        for (number, choice) in choices.iter().enumerate() {
            for (value, fatal) in others(choice.unwrap_or(Value::ZERO)) {
                let what = format!("choice {number} = {value}");
                self.edit(place, at, &what, fatal, |step| {
                    choose(step, |choices| choices[number] = Some(value))
                });
            }
            let what = format!("choice {number} open");
            self.edit(place, at, &what, false, |step| choose(step, |choices| choices[number] = None));
        }
        self.edit(place, at, "one more choice", true, |step| choose(step, |choices| choices.push(None)));
        self.edit(place, at, "one choice fewer", true, |step| {
            choose(step, |choices| {
                choices.pop();
            })
        });
        for (number, &(_, value)) in old.locals().iter().enumerate() {
            for (value, fatal) in others(value) {
                let what = format!("local {number} = {value}");
                self.edit(place, at, &what, fatal, |step| {
                    let mut locals = step.locals().to_vec();
                    locals[number].1 = value;
                    *step = step.clone().entering(locals);
                });
            }
        }
        let is_call = matches!(program.edges()[edge].action, postbop_ir::Action::Call { .. });
        for segment in self.trace.segments.ids() {
            self.edit(place, at, &format!("call {segment}"), !is_call, |step| step.call = Some(segment));
        }
        self.edit(place, at, "call of nothing", true, |step| step.call = Some(SegmentId(u32::MAX)));
        if call.is_some() {
            self.edit(place, at, "call left open", false, |step| step.call = None);
        }
    }

    /// What a segment says of its end. Replay computes that: it has to be exactly so.
    fn ends(&mut self, id: SegmentId) {
        let segment = &self.trace.segments[id];
        let (exits, results) = (segment.exit.len(), segment.results.clone());
        for at in 0..exits {
            for (value, _) in others(self.trace.segments[id].exit[at].1) {
                let what = format!("segment {id}: exit {at} = {value}");
                self.make(what, true, |trace| trace.segments[id].exit[at].1 = value);
            }
            let what = format!("segment {id}: exit {at} dropped");
            self.make(what, true, |trace| {
                trace.segments[id].exit.remove(at);
            });
        }
        for (at, result) in results.iter().enumerate() {
            for (value, _) in others(result.unwrap_or(Value::ZERO)) {
                let what = format!("segment {id}: result {at} = {value}");
                self.make(what, true, |trace| trace.segments[id].results[at] = Some(value));
            }
            self.make(format!("segment {id}: result {at} open"), true, |trace| {
                trace.segments[id].results[at] = None
            });
        }
        self.make(format!("segment {id}: one more result"), true, |trace| {
            trace.segments[id].results.push(None)
        });
    }

    fn whole(&mut self) {
        let segments = self.trace.segments.len();
        self.make("no contexts".into(), true, |trace| trace.contexts.clear());
        self.make("the context twice".into(), true, |trace| {
            trace.contexts.push(trace.contexts[0].clone());
        });
        self.make("no thread".into(), true, |trace| trace.contexts[0].thread = None);
        self.make("another thread".into(), true, |trace| trace.contexts[0].thread = Some(ThreadId(1)));
        for dropped in 0..segments {
            self.make(format!("segment {dropped} dropped"), false, |trace| {
                let kept = trace.segments.pairs().filter(|(id, _)| id.index() != dropped);
                trace.segments = kept.map(|(_, segment)| segment.clone()).collect::<Table<_, _>>();
            });
        }
    }
}

/// Changes the choices of a step.
fn choose(step: &mut Step, change: impl FnOnce(&mut Vec<Option<Value>>)) {
    let mut choices = step.choices().to_vec();
    change(&mut choices);
    let mut changed = Step::new(step.edge, choices).entering(step.locals().to_vec());
    changed.call = step.call;
    *step = changed;
}
