//! Traces with one thing changed.

use postbop_ir::{EdgeId, Frame, Id, ProcId, Program, SegmentId, Step, Table, Trace};

/// A changed trace.
pub struct Mutant {
    /// What was changed, as in `segment 2 step 0: drop`.
    pub what: String,
    /// The result.
    pub trace: Trace,
    /// Whether no run can have it, whatever the values are.
    pub fatal: bool,
}

/// A place in a trace where a frame is.
#[derive(Clone, Copy)]
enum Place {
    Frame(usize),
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
    let frames = (0..trace.frames.len()).map(Place::Frame);
    let segments = trace.segments.ids().map(Place::Segment);
    for place in frames.chain(segments) {
        maker.frame(place);
        for at in 0..maker.at(place).steps.len() {
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
fn others(value: i64) -> [(i64, bool); 3] {
    [(value ^ 1, false), (value.wrapping_add(2), false), (i64::MIN, true)]
}

impl Maker<'_> {
    fn at(&self, place: Place) -> &Frame {
        match place {
            Place::Frame(at) => &self.trace.frames[at],
            Place::Segment(id) => &self.trace.segments[id].frame,
        }
    }

    fn make(&mut self, what: String, fatal: bool, change: impl FnOnce(&mut Trace)) {
        let mut trace = self.trace.clone();
        change(&mut trace);
        if trace != *self.trace {
            self.made.push(Mutant { what, trace, fatal });
        }
    }

    fn change(&mut self, place: Place, what: &str, fatal: bool, change: impl FnOnce(&mut Frame)) {
        let name = match place {
            Place::Frame(at) => format!("frame {at}: {what}"),
            Place::Segment(id) => format!("segment {id}: {what}"),
        };
        self.make(name, fatal, |trace| match place {
            Place::Frame(at) => change(&mut trace.frames[at]),
            Place::Segment(id) => change(&mut trace.segments[id].frame),
        });
    }

    fn frame(&mut self, place: Place) {
        self.change(place, "another procedure", true, |frame| frame.proc = ProcId(frame.proc.0 ^ 1));
        self.change(place, "no procedure", true, |frame| frame.proc = ProcId(u32::MAX));
        self.change(place, "half of it", false, |frame| frame.steps.truncate(frame.steps.len() / 2));
        self.change(place, "no steps", false, |frame| frame.steps.clear());
        for at in 0..self.at(place).entry.len() {
            for (value, fatal) in others(self.at(place).entry[at].1) {
                self.change(place, &format!("entry {at} = {value}"), fatal, |frame| {
                    frame.entry[at].1 = value
                });
            }
            self.change(place, &format!("entry {at} dropped"), false, |frame| {
                frame.entry.remove(at);
            });
            self.change(place, &format!("entry {at} twice"), true, |frame| {
                frame.entry.insert(at, frame.entry[at])
            });
        }
    }

    /// Steps in another order or number.
    fn order(&mut self, place: Place, at: usize) {
        self.change(place, &format!("step {at} dropped"), false, |frame| drop(frame.steps.remove(at)));
        self.change(place, &format!("step {at} twice"), false, |frame| {
            frame.steps.insert(at, frame.steps[at].clone());
        });
        if at + 1 < self.at(place).steps.len() {
            self.change(place, &format!("steps {at} and the next swapped"), false, |frame| {
                frame.steps.swap(at, at + 1)
            });
        }
    }

    fn edit(&mut self, place: Place, at: usize, what: &str, fatal: bool, edit: impl FnOnce(&mut Step)) {
        self.change(place, &format!("step {at}: {what}"), fatal, |frame| edit(&mut frame.steps[at]));
    }

    fn step(&mut self, place: Place, at: usize) {
        let Step { edge, choices, call } = self.at(place).steps[at].clone();
        let program = self.program;
        for other in [EdgeId(edge.0.wrapping_sub(1)), EdgeId(edge.0 + 1), EdgeId(u32::MAX)] {
            let elsewhere = program.edges.get(other).is_none_or(|o| o.from != program.edges[edge].from);
            self.edit(place, at, &format!("edge {other}"), elsewhere, |step| step.edge = other);
        }
        for &other in program.leaving(program.edges[edge].from) {
            self.edit(place, at, &format!("sibling {other}"), false, |step| step.edge = other);
        }
        for (number, choice) in choices.iter().enumerate() {
            for (value, fatal) in others(choice.unwrap_or(0)) {
                let what = format!("choice {number} = {value}");
                self.edit(place, at, &what, fatal, |step| step.choices[number] = Some(value));
            }
            self.edit(place, at, &format!("choice {number} open"), false, |step| step.choices[number] = None);
        }
        self.edit(place, at, "one more choice", true, |step| step.choices.push(None));
        self.edit(place, at, "one choice fewer", true, |step| {
            step.choices.pop();
        });
        let is_call = matches!(program.edges[edge].action, postbop_ir::Action::Call { .. });
        for segment in self.trace.segments.ids() {
            self.edit(place, at, &format!("call {segment}"), !is_call, |step| step.call = Some(segment));
        }
        self.edit(place, at, "call of nothing", true, |step| step.call = Some(SegmentId(u32::MAX)));
        if call.is_some() {
            self.edit(place, at, "call left open", true, |step| step.call = None);
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
            for (value, _) in others(result.unwrap_or(0)) {
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
        let (frames, segments) = (self.trace.frames.len(), self.trace.segments.len());
        self.make("no frames".into(), true, |trace| trace.frames.clear());
        self.make("no innermost frame".into(), true, |trace| drop(trace.frames.pop()));
        self.make("innermost frame twice".into(), true, |trace| {
            trace.frames.push(trace.frames[frames - 1].clone())
        });
        if frames > 1 {
            self.make("no outermost frame".into(), true, |trace| drop(trace.frames.remove(0)));
            self.make("frames swapped".into(), false, |trace| trace.frames.swap(0, 1));
        }
        for dropped in 0..segments {
            self.make(format!("segment {dropped} dropped"), false, |trace| {
                let kept = trace.segments.pairs().filter(|(id, _)| id.index() != dropped);
                trace.segments = kept.map(|(_, segment)| segment.clone()).collect::<Table<_, _>>();
            });
        }
    }
}
