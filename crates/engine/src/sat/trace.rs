//! Room `engine/sat`: a run that was found, as a trace.
//!
//! Facts name the facts that they rest on: those of completed calls become segments, and those of calls in tail position go on in the
//! same procedure.

use super::execute::number;
use super::knowledge::Fact;
use super::regions::Regions;
use postbop_ir::trace::Known;
use postbop_ir::{ProcId, Segment, SegmentId, Step, Table, Trace};
use rustc_hash::FxHashMap as HashMap;

/// The trace of a run of the whole program that fails.
pub fn trace(regions: &Regions, facts: &[Fact], failure: u32) -> Trace {
    let mut writer = Writer { regions, facts, segments: Table::new(), written: HashMap::default() };
    writer.write_calls(failure);
    let mut steps = Vec::new();
    let main = regions.program.main();
    let initial = writer.entry(main, failure);
    let mut next = Some(failure);
    while let Some(number) = next {
        let fact = &facts[number as usize];
        writer.steps(number, &mut steps);
        next = fact.next;
        // The last step enters a procedure, unless the run goes on in this one.
        let entered =
            fact.steps.last().filter(|step| step.2.is_none()).and_then(|step| writer.callee(step.0));
        if let (Some(proc), Some(inner)) = (entered, next) {
            let step = steps.pop().expect("the call");
            let own = &regions.program.procs()[proc].locals[regions.program.procs()[proc].params..];
            let known = writer.entry(proc, inner);
            let locals = known.into_iter().filter(|(var, _)| own.contains(var)).collect();
            steps.push(step.entering(locals));
        }
    }
    Trace::sequential(writer.segments, initial, steps)
}

struct Writer<'w, 'a> {
    regions: &'w Regions<'a>,
    facts: &'w [Fact],
    segments: Table<SegmentId, Segment>,
    written: HashMap<u32, SegmentId>,
}

impl Writer<'_, '_> {
    /// Writes the segments of all completed calls below a fact. A fact has a greater number than those it rests on.
    fn write_calls(&mut self, top: u32) {
        let mut needed = vec![false; top as usize + 1];
        let mut is_call = vec![false; top as usize + 1];
        needed[top as usize] = true;
        for at in (0..=top as usize).rev().filter(|&at| at <= top as usize) {
            if !needed[at] {
                continue;
            }
            let fact = &self.facts[at];
            for call in fact.steps.iter().filter_map(|step| step.2) {
                (needed[call as usize], is_call[call as usize]) = (true, true);
            }
            fact.next.into_iter().for_each(|next| needed[next as usize] = true);
        }
        for at in (0..=top).filter(|&at| is_call[at as usize]) {
            let proc = self.proc(at);
            let entry = self.entry(proc, at);
            let mut steps = Vec::new();
            let mut next = Some(at);
            while let Some(number) = next {
                self.steps(number, &mut steps);
                next = self.facts[number as usize].next;
            }
            let id = self.segments.push(Segment::new(proc, entry, steps));
            self.written.insert(at, id);
        }
    }

    fn steps(&self, fact: u32, steps: &mut Vec<Step>) {
        for (edge, choices, call) in &self.facts[fact as usize].steps {
            let step = Step::new(*edge, choices.clone());
            steps.push(match call {
                Some(call) => step.back(self.written[call]),
                None => step,
            });
        }
    }

    fn proc(&self, fact: u32) -> ProcId {
        self.regions.all[self.facts[fact as usize].region as usize].proc
    }

    fn callee(&self, edge: postbop_ir::EdgeId) -> Option<ProcId> {
        self.regions.program.edges()[edge].action.callee()
    }

    /// What a fact asks of the values with which its procedure is entered.
    fn entry(&self, proc: ProcId, fact: u32) -> Known {
        let region = &self.regions.all[self.regions.entry(proc) as usize];
        let fact = &self.facts[fact as usize];
        let layout = &self.regions.layouts[proc];
        let inputs = fact.inputs.iter().map(|bit| (region.inputs[bit.number()], bit.value()));
        let bits: Vec<(u32, bool)> =
            inputs.chain(region.free.iter().copied().zip(fact.free.iter().copied())).collect();
        let mut values: HashMap<usize, Vec<bool>> = HashMap::default();
        for (bit, value) in bits {
            values.entry(layout.field(bit).0).or_default().push(value);
        }
        let known = values.into_iter().filter_map(|(field, bits)| {
            let var = self.regions.var(proc, field)?;
            Some((var, number(layout.types[field], bits.into_iter())))
        });
        let mut known: Known = known.collect();
        known.sort_unstable();
        known
    }
}
