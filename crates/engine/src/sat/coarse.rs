//! Room `engine/sat`: a coarse program, refined until it shows enough.
//!
//! # Idea
//!
//! Where hundreds of globals are noise, most of what a procedure does to them makes no difference to its callers. So let procedures hand over few of
//! them: in the *coarse program* ([`program`]) a call passes on only the globals that are *tracked* of its procedure. Of the others the procedure
//! starts with anything, and may leave anything behind. Within its own body a procedure is as it was. The coarse program has all runs of
//! the program and more, and its procedures have few variables, so that an engine which computes all summaries soon knows whether it fails.
//!
//! * *It does not*: neither does the program, and the proof of the one is a proof of the other.
//! * *It does, by a run that the program has too*: that is a violation.
//! * *It does, by any other run*: a formula says of the edges of that run which values they need ([`refute`]). It contradicts itself as soon as
//!   enough globals are handed over, and the solver's core says which. These are tracked from now on.
//!
//! At first nothing is tracked. The run of the coarse program is looked at section by section, completed calls first, the shortest ones before others, so what is
//! learnt is why a procedure cannot do what the run wants of it, from whatever valuation it starts.
//!
//! # Paper
//!
//! \[localization\] for programs of which some variables may have any value, and \[cegar\] for their refinement by runs that do not exist.
//! # Departures: variables are left out of the interfaces of procedures, not of the program; each procedure tracks its own.
//!
//! # Cost
//!
//! Each round reads the whole program, and analyses the coarse one. A round that refines it adds at least one pair of a procedure and a global that it touches; others end early, for
//! want of work, and the next one may do twice as much. Programs that depend on few of their variables need few.

mod program;
mod refute;

use super::knowledge::{ALL, Cube, Kind, Relation};
use super::pdr::{NODES, Search};
use crate::budget::Tick;
use crate::encode::prepared::Prepared;
use crate::engine::{Finding, Listener, for_summaries};
use crate::skeleton::{Bone, Skeleton};
use crate::verdict::Why;
use postbop_ir::{LocId, ProcId, Proof, Query, Step, Table, Task, Trace, VarId};
use program::CoarseProgram;
use refute::{Pair, Refuted};
use rustc_hash::FxHashSet as HashSet;
use std::collections::BTreeSet;

/// So much work is done before coarse programs are tried.
const START_COARSE: u64 = 1 << 13;

/// So many units of the engine that searches coarse programs count as one.
const PARTS: u64 = 20;

/// How many units that engine gets for the first coarse program; the next time it is twice as much, if that was not enough.
const FIRST: u64 = 1 << 17;

/// A program with so many units of work for it is given up.
const LAST: u64 = 1 << 30;

/// A global that more procedures track is tracked by all that mention it themselves: otherwise each round might add it to one more.
const FEW: usize = 8;

/// A run, or a completed call, of so many steps is unfolded at first, and at most.
const LONG: u64 = 1 << 16;
const LONGEST: u64 = 1 << 20;

/// For each procedure the globals that it is handed, and hands back.
pub type Tracked = Table<ProcId, BTreeSet<VarId>>;

/// What is known from coarse programs.
pub struct Coarse {
    tracked: Tracked,
    /// Completed calls that the program can make too, by a number that tells their edges.
    passed: HashSet<u64>,
    /// The longest run that is unfolded.
    longest: u64,
    /// How much work the next coarse program may take.
    effort: u64,
    /// Whether there is nothing more to be learnt from them.
    pub over: bool,
    /// Whether the program does not fail.
    pub holds: bool,
    /// Then a proof of it, if that is wanted.
    pub proof: Option<Proof>,
    /// How many coarse programs were searched.
    pub rounds: u64,
    /// How much work was done for it.
    pub work: u64,
}

impl Coarse {
    fn new(procs: usize) -> Self {
        let tracked = Table::filled(procs, BTreeSet::new());
        Coarse {
            tracked,
            passed: HashSet::default(),
            longest: LONG,
            effort: FIRST,
            over: false,
            holds: false,
            proof: None,
            rounds: 0,
            work: 0,
        }
    }

    /// These procedures track these globals too.
    fn track(&mut self, pairs: Vec<Pair>, narrow: &CoarseProgram) {
        for &(proc, var) in &pairs {
            self.tracked[proc].insert(var);
        }
        let vars: BTreeSet<VarId> = pairs.into_iter().map(|(_, var)| var).collect();
        for var in vars {
            if self.tracked.iter().filter(|tracked| tracked.contains(&var)).count() > FEW {
                for (proc, _) in narrow.mentioned.pairs().filter(|(_, mentioned)| mentioned.contains(&var)) {
                    self.tracked[proc].insert(var);
                }
            }
        }
    }

    /// How many pairs there are of a procedure and a global that it tracks.
    pub fn len(&self) -> usize {
        self.tracked.iter().map(BTreeSet::len).sum()
    }
}

/// A run that reaches a target.
pub enum Found {
    /// A fact: its number.
    Fact(u32),
    /// A run along these edges, to this target.
    Along(Skeleton, LocId),
}

/// What came of one coarse program.
pub enum Coarsened {
    /// It is not known yet whether the program fails.
    Open,
    /// It does not.
    Holds,
    /// It does, by a run along these edges to this target.
    Fails(Skeleton, LocId),
}

impl Search<'_, '_> {
    /// Whether it is the turn of coarse programs, which get a quarter of the work, and two thirds once something was learnt from them.
    pub(super) fn is_turn_of_coarse(&self) -> bool {
        let Some(coarse) = &self.coarse else { return self.coarse_first || self.meter.work() > START_COARSE };
        let others = if coarse.len() == 0 { 3 * coarse.work } else { coarse.work / 2 };
        let is_turn = self.meter.work() > (coarse.work + others).saturating_add(START_COARSE);
        !coarse.over && (is_turn || self.coarse_first)
    }

    /// Searches one more coarse program.
    pub fn coarsen(&mut self, main: u32) -> Result<Coarsened, Why> {
        let before = self.meter.work();
        let procs = self.regions.program.procs().len();
        let mut coarse = self.coarse.take().unwrap_or_else(|| Box::new(Coarse::new(procs)));
        let done = self.search_coarse(&mut coarse);
        coarse.work += (self.meter.work() - before).max(1);
        self.coarse = Some(coarse);
        if let Ok(Coarsened::Holds) = &done {
            self.known[Relation::new(main, Kind::Fail).index()].learn(Cube::new(), ALL);
        }
        done
    }

    fn search_coarse(&mut self, coarse: &mut Coarse) -> Result<Coarsened, Why> {
        let Search { regions, meter, .. } = *self;
        coarse.rounds += 1;
        meter.spend(regions.program.edges().len() as u64 / NODES);
        let targets: Vec<LocId> = regions.program.locs().ids().filter(|&loc| self.counts(loc)).collect();
        let narrow = CoarseProgram::new(regions, &coarse.tracked);
        let queries = [Query::reach("", targets)];
        let task = Task { proofs: self.proofs, ..Task::new(&narrow.program, &queries) };
        let budget = meter.inside(PARTS).with_effort(coarse.effort);
        let mut heard = Heard::default();
        let stats = for_summaries().check(&task, &Prepared::new(&narrow.program), &budget, &mut heard);
        meter.spend(stats.get("work").unwrap_or(0) / PARTS);
        meter.check()?;
        match heard.finding {
            Some(Finding::Holds { .. }) => {
                (coarse.over, coarse.holds) = (true, true);
                coarse.proof = heard.proof.map(|proof| narrow.prove(regions.program, &proof));
                Ok(Coarsened::Holds)
            }
            Some(Finding::Reached(trace)) => self.refine(coarse, &narrow, &trace),
            Some(Finding::Unknown(Why::Effort)) => {
                coarse.effort *= 2;
                coarse.over = coarse.effort > LAST;
                Ok(Coarsened::Open)
            }
            _ => {
                coarse.over = true;
                Ok(Coarsened::Open)
            }
        }
    }

    /// The coarse program has a run.
    fn refine(
        &mut self,
        coarse: &mut Coarse,
        narrow: &CoarseProgram,
        trace: &Trace,
    ) -> Result<Coarsened, Why> {
        let program = self.regions.program;
        match refute::refute(self, coarse, narrow, trace)? {
            Refuted::Real => {}
            Refuted::Needs(pairs) => {
                let before = coarse.len();
                coarse.track(pairs, narrow);
                coarse.over = coarse.len() == before;
                return Ok(Coarsened::Open);
            }
            Refuted::TooLong => {
                let budget = self.meter.inside(PARTS).with_effort(coarse.effort);
                if !skeleton(narrow, trace).has_run(program, &budget) {
                    coarse.longest *= 4;
                    coarse.over = coarse.longest > LONGEST;
                    return Ok(Coarsened::Open);
                }
            }
        }
        let run = skeleton(narrow, trace);
        let target = run.ends(program).into_iter().find(|&loc| self.counts(loc));
        coarse.over = target.is_none();
        Ok(target.map_or(Coarsened::Open, |target| Coarsened::Fails(run, target)))
    }
}

/// The edges of a run, as those of the program.
fn skeleton(narrow: &CoarseProgram, trace: &Trace) -> Skeleton {
    let bone = |step: &Step| Some(Bone { edge: narrow.edges[step.edge]?, call: step.call });
    let bones = |steps: &[Step]| steps.iter().filter_map(bone).collect();
    Skeleton {
        segments: trace.segments.iter().map(|segment| bones(&segment.steps)).collect(),
        steps: bones(&trace.contexts[0].steps),
    }
}

/// What an engine says of a coarse program.
#[derive(Default)]
struct Heard {
    finding: Option<Finding>,
    proof: Option<Proof>,
}

impl Listener for Heard {
    fn progress(&mut self, _: Tick) {}

    fn settle(&mut self, _: usize, finding: Finding) {
        self.finding = Some(finding);
    }

    fn guarded(&mut self, _: usize) {}

    fn proof(&mut self, proof: Proof) {
        self.proof = Some(proof);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pdr::Search;
    use super::super::regions::Regions;
    use super::*;
    use crate::budget::{Budget, Meter};
    use postbop_ir::{Ask, Proofs, replay};

    /// What coarse programs alone say of a program: whether it fails, and how much was tracked in the end. A run is replayed, a proof is checked.
    fn coarsened(source: &str) -> (bool, usize) {
        let reading = postbop_front::read(source.as_bytes(), Default::default());
        let program = reading.program.expect("a program");
        let queries = postbop_front::properties(&program, &reading.text);
        let targets: Vec<LocId> = queries.iter().flat_map(|query| query.locs()).copied().collect();
        let (budget, regions) = (Budget::unlimited(), Regions::new(&program));
        let meter = Meter::new(&budget, &|_| {});
        let mut search = Search::new(&regions, targets.iter().copied().collect(), &meter);
        search.proofs = Proofs::Kept;
        let main = regions.entry(program.main());
        loop {
            let found = search.coarsen(main).expect("there is no limit");
            let tracked = search.coarse.as_ref().map_or(0, |coarse| coarse.len());
            match found {
                Coarsened::Open => assert!(!search.coarse.as_ref().expect("it was made").over),
                Coarsened::Holds => {
                    let proof = search.proof().expect("the coarse program has one");
                    let answer = postbop_validate::validate(&program, &proof, &targets, &|_| true, 1);
                    assert!(matches!(answer, postbop_validate::Answer::Valid), "{answer:?}");
                    return (false, tracked);
                }
                Coarsened::Fails(run, target) => {
                    assert!(targets.contains(&target));
                    let mut trace = run.trace(&program, &budget).expect("there is a run");
                    replay::complete(&program, &mut trace, &Ask::Reach(targets), &mut || true)
                        .expect("it is a run");
                    return (true, tracked);
                }
            }
        }
    }

    #[test]
    fn nothing_is_tracked_that_makes_no_difference() {
        // Whatever f is given, it calls itself.
        let forever = "decl x; void main() begin f(); assert(0); end void f() begin if (x) then x := 0; f(); else f(); fi end";
        assert_eq!(coarsened(forever), (false, 0));
        // Only a matters, in both procedures that are not main.
        let noise = "decl a, b, c;
            void main() begin a := 0; f(); f(); assert(!a); end
            void f() begin b := b != c; a := !a; g(); end
            void g() begin a := !a; if (b) then c := !c; fi end";
        assert_eq!(coarsened(noise), (false, 2));
    }

    #[test]
    fn arguments_results_and_globals_are_handed_over() {
        let source = |last: &str| {
            format!(
                "decl uint<3> n; decl uint<3> m;
                void main() begin decl uint<3> r; n := 2; m := 5; r := f(n, 1); n := f(r, m); assert({last}); end
                uint<3> f(uint<3> a, uint<3> b) begin n := n + a; return n + b; end"
            )
        };
        // The first call leaves n = 4 and gives 5; the second one gives 4 + 5 + 5, which overwrites the 9 that it leaves in n.
        assert!(!coarsened(&source("n = 6")).0);
        assert!(coarsened(&source("n = 1")).0);
    }

    #[test]
    fn runs_end_in_calls_and_where_they_return() {
        let source = "decl a, b;
            void main() begin a := *; b := 1; f(); assert(!a); end
            void f() begin if (a & b) then g(); fi end
            void g() begin b := 0; ERROR: return; end";
        assert!(coarsened(source).0);
        assert!(!coarsened(&source.replace("a := *", "a := 0")).0);
        let exit = "decl a; void main() begin a := 1; f(); end
            void f() begin if (a) then goto ERROR; fi a := 0; ERROR: end";
        assert!(coarsened(exit).0);
    }

    #[test]
    fn a_run_that_is_too_long_to_unfold_is_followed() {
        // Each procedure calls the next one twice: the run has more than 2^40 steps.
        let mut source = String::from("decl g; void main() begin g := 0; f0(); assert(g); end\n");
        for n in 0..40 {
            source += &format!("void f{n}() begin f{0}(); f{0}(); end\n", n + 1);
        }
        source += "void f40() begin g := !g; end\n";
        assert!(coarsened(&source).0);
    }
}
