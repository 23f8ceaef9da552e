//! Room `validate`: the checker against brute force.
//!
//! The same conditions, decided by enumerating all valuations of a small program, at entry, now and at the end, with the concrete semantics of [`postbop_ir::step`]. The least closed
//! sets are a proof, and so are the greatest ones; changed in many ways each is one or is none, and the checker must say which.

mod integers;
mod runs;

use crate::together::divided;
use crate::{Answer, Checker, Stop, validate};
use postbop_ir::proof::{Maker, Node, Place, Proof, Ref};
use postbop_ir::step::{Places, Successor, Valuation, all_values, resume, successors};
use postbop_ir::{Action, Id, LocId, ProcId, Program, Table, Type, Value, VarId, text};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// `main` calls f until it says so; f calls itself once at most, writes g, never its parameter, and h not at all. l8 is not reached: g is 0 after a call of f.
const PROGRAM: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "f" params 1 results ( bool ) entry l2 exit l3 at 0..0
var v0 global bool "g"
var v1 global bool "h"
var v2 p0 bool "k"
var v3 p1 bool "a"
var v4 p1 bool "b"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p0 at 0..0
loc l6 p1 at 0..0
loc l7 p1 at 0..0
loc l8 p0 at 0..0
loc l9 p1 at 0..0
loc l10 p0 at 0..0
loc l11 p1 at 0..0
edge l0 l4 at 0..0 assign v0 v2 := true v1
edge l4 l5 at 0..0 call p1 true -> v2
edge l5 l4 at 0..0 assume (not v2)
edge l5 l8 at 0..0 assume v0
edge l5 l10 at 0..0 assume (xor v2 v1)
edge l5 l1 at 0..0 return
edge l2 l6 at 0..0 assume v3
edge l2 l7 at 0..0 assume (not v3)
edge l6 l9 at 0..0 assign v4 := (not v0)
edge l9 l7 at 0..0 call p1 v4 -> _
edge l9 l7 at 0..0 assume v4
edge l7 l11 at 0..0 assign v0 := false ; constrain (not 'v0)
edge l11 l3 at 0..0 return v1
main p0
"#;

/// A valuation at entry, one now, and how the activation ends: globals and results.
type Triple = (Valuation, Valuation, (Vec<Value>, Vec<Value>));

/// Triples by location.
type Sets = BTreeMap<LocId, BTreeSet<Triple>>;

/// A set, and the nodes that it is made of, by their numbers.
struct Cone {
    set: Ref,
    nodes: Vec<usize>,
}

impl Cone {
    fn new(proof: &Proof, set: Ref) -> Self {
        let mut nodes = BTreeSet::new();
        let mut work = vec![set];
        while let Some(to) = work.pop() {
            if to.number() > 0 && nodes.insert(to.number() as usize) {
                match &proof.nodes()[to.number() as usize - 1] {
                    Node::Bit(..) | Node::Sum(..) => {}
                    Node::Ite(below) => work.extend(below),
                    Node::And(below) => work.extend(below),
                }
            }
        }
        Cone { set, nodes: nodes.into_iter().collect() }
    }
}

struct Naive {
    program: Program,
    places: Places,
}

impl Naive {
    fn new() -> Self {
        let program = text::parse(PROGRAM).unwrap();
        Naive { places: Places::new(&program), program }
    }

    fn valuations(&self, proc: ProcId, globals: &[Value], params: &[Value]) -> Vec<Valuation> {
        let locals = self.places.all_locals(&self.program, proc, params);
        locals.into_iter().map(|locals| Valuation { globals: globals.to_vec(), locals }).collect()
    }

    /// Everything that a procedure may write, with what it calls: by hand.
    fn keeps(&self, proc: ProcId, var: VarId) -> bool {
        matches!((proc.0, var.0), (_, 1) | (1, 3))
    }

    /// How an activation of a procedure that was entered so can end, as far as nothing is said of it.
    fn ends(&self, proc: ProcId, e: &Valuation) -> Vec<(Vec<Value>, Vec<Value>)> {
        let fits = |globals: &Vec<Value>| {
            let pairs = globals.iter().zip(&e.globals).zip(self.program.globals());
            pairs.into_iter().all(|((x, e), var)| !self.keeps(proc, var) || x == e)
        };
        let results = all_values(&self.program.procs()[proc].results);
        let globals = self.places.all_globals(&self.program).into_iter().filter(fits);
        globals.flat_map(|x| results.iter().map(move |results| (x.clone(), results.clone()))).collect()
    }

    /// All triples at a location of which nothing is said.
    fn all(&self, loc: LocId) -> Vec<Triple> {
        let proc = self.program.locs()[loc].proc;
        let data = &self.program.procs()[proc];
        let every: Vec<Valuation> = (self.places.all_globals(&self.program).iter())
            .flat_map(|globals| self.valuations(proc, globals, &[]))
            .collect();
        let vars: Vec<VarId> = self.program.globals().chain(data.locals.iter().copied()).collect();
        let read = |valuation: &Valuation, var| self.places.read(&self.program, valuation, var);
        let fits = |e: &Valuation, c: &Valuation| {
            vars.iter().all(|&var| !self.keeps(proc, var) || read(e, var) == read(c, var))
        };
        let mut all = Vec::new();
        for e in &every {
            let ends = self.ends(proc, e);
            for c in every.iter().filter(|c| fits(e, c)) {
                let ends = ends.iter().filter(|(x, _)| data.exit != loc || *x == c.globals);
                all.extend(ends.map(|end| (e.clone(), c.clone(), end.clone())));
            }
        }
        all
    }

    /// Whether a triple is in a set; none if the set speaks of what is not there.
    fn is_in(&self, proof: &Proof, set: &Cone, proc: ProcId, (e, c, end): &Triple) -> Option<bool> {
        let x = Valuation { globals: end.0.clone(), locals: c.locals.clone() };
        let mut values = vec![true; proof.nodes().len() + 1];
        let mut sound = vec![true; proof.nodes().len() + 1];
        for &number in &set.nodes {
            let of = |to: &Ref| values[to.number() as usize] != to.is_complement();
            let known = |to: &Ref| sound[to.number() as usize];
            let scope = |var: &VarId| match self.program.is_global(*var) {
                true => true,
                false => self.program.procs()[proc].locals.contains(var),
            };
            let read = |valuation, var| self.places.read(&self.program, valuation, var).get() != 0;
            let (value, fine) = match &proof.nodes()[number - 1] {
                Node::Bit(Place::Entry(var), _) if scope(var) => (read(e, *var), true),
                Node::Bit(Place::Now(var), _) if scope(var) => (read(c, *var), true),
                Node::Bit(Place::Exit(var), _) if scope(var) => (read(&x, *var), true),
                Node::Bit(Place::Entry(_) | Place::Now(_) | Place::Exit(_), _) => (false, false),
                Node::Bit(Place::Result(at), _) => match end.1.get(*at as usize) {
                    Some(value) => (value.is_true(), true),
                    None => (false, false),
                },
                Node::Sum(..) => (false, false),
                Node::Ite([i, t, o]) => (if of(i) { of(t) } else { of(o) }, known(i) && known(t) && known(o)),
                Node::And(all) => (all.iter().all(of), all.iter().all(known)),
            };
            (values[number], sound[number]) = (value, fine);
        }
        let at = set.set.number() as usize;
        sound[at].then(|| values[at] != set.set.is_complement())
    }

    /// Where one triple leads, given what exits there are.
    fn next(&self, loc: LocId, (e, c, end): &Triple, exits: &Sets) -> Vec<(LocId, Triple)> {
        let mut found = Vec::new();
        for &id in self.program.leaving(loc) {
            let edge = &self.program.edges()[id];
            for successor in successors(&self.program, &self.places, &edge.action, c).unwrap() {
                match (successor, &edge.action) {
                    (Successor::Move(new), _) => found.push((edge.to, (e.clone(), new, end.clone()))),
                    // An activation that ends in another way is told of in another triple.
                    (Successor::Return(results), _) => {
                        if (&c.globals, &results) == (&end.0, &end.1) {
                            found.push((edge.to, (e.clone(), c.clone(), end.clone())));
                        }
                    }
                    (Successor::Call(args), Action::Call { callee, .. }) => {
                        let data = &self.program.procs()[*callee];
                        for a in self.valuations(*callee, &c.globals, &args) {
                            let ends = self.ends(*callee, &a).into_iter();
                            found.extend(ends.map(|end| (data.entry, (a.clone(), a.clone(), end))));
                        }
                        for (a, x, (_, results)) in exits.get(&data.exit).into_iter().flatten() {
                            if a.globals == c.globals && a.locals[..args.len()] == args[..] {
                                let back =
                                    resume(&self.program, &self.places, &edge.action, c, &x.globals, results);
                                found.push((edge.to, (e.clone(), back, end.clone())));
                            }
                        }
                    }
                    _ => unreachable!("only calls call"),
                }
            }
        }
        found
    }

    fn starts(&self) -> Vec<(LocId, Triple)> {
        let entry = self.program.procs()[self.program.main()].entry;
        let same = self.all(entry).into_iter().filter(|(e, c, _)| e == c);
        same.map(|triple| (entry, triple)).collect()
    }

    /// Adds what is led to, as far as it is wanted, until nothing is new. Returns everything that is led to.
    fn close(&self, sets: &mut Sets, wanted: impl Fn(LocId) -> bool) -> Vec<(LocId, Triple)> {
        loop {
            let mut led = self.starts();
            for (&loc, triples) in sets.iter() {
                led.extend(triples.iter().flat_map(|triple| self.next(loc, triple, sets)));
            }
            let mut grows = false;
            for (loc, triple) in led.iter().filter(|(loc, _)| wanted(*loc)) {
                grows |= sets.entry(*loc).or_default().insert(triple.clone());
            }
            if !grows {
                return led;
            }
        }
    }

    /// The least closed sets.
    fn least(&self) -> Sets {
        let mut sets = BTreeMap::new();
        self.close(&mut sets, |_| true);
        sets
    }

    /// The greatest closed sets that are empty at a target and have the least exits: what they have in them depends on how activations end.
    fn greatest(&self, target: LocId) -> Sets {
        let least = self.least();
        let is_exit = |loc: LocId| self.program.is_exit(loc);
        let all = |loc: LocId| match least.get(&loc) {
            _ if loc == target => BTreeSet::new(),
            Some(exits) if is_exit(loc) => exits.clone(),
            _ => self.all(loc).into_iter().collect(),
        };
        let mut sets: Sets = self.program.locs().ids().map(|loc| (loc, all(loc))).collect();
        loop {
            let leads_out = |loc: LocId, triple: &Triple| {
                let mut next = self.next(loc, triple, &least).into_iter();
                next.any(|(to, triple)| !sets[&to].contains(&triple))
            };
            let mut gone = Vec::new();
            for (&loc, triples) in sets.iter().filter(|(loc, _)| !is_exit(**loc)) {
                gone.extend(
                    triples.iter().filter(|triple| leads_out(loc, triple)).map(|it| (loc, it.clone())),
                );
            }
            if gone.is_empty() {
                return sets;
            }
            for (loc, triple) in gone {
                sets.get_mut(&loc).expect("it is there").remove(&triple);
            }
        }
    }

    /// Sets as a proof, member by member, or if there are more of those by what is missing.
    fn proof(&self, sets: &Sets) -> Proof {
        let mut maker = Maker::default();
        let mut proof: Table<LocId, Option<Ref>> = Table::filled(self.program.locs().len(), Some(Ref::FALSE));
        for (&loc, triples) in sets {
            let proc = self.program.locs()[loc].proc;
            let all = self.all(loc);
            let missing: BTreeSet<Triple> = all.into_iter().filter(|it| !triples.contains(it)).collect();
            let flip = missing.len() < triples.len();
            let listed = if flip { &missing } else { triples };
            let cubes = listed.iter().map(|triple| self.cube(proc, triple, &mut maker)).collect();
            proof[loc] = Some(maker.or(cubes).flip(flip));
        }
        maker.finish(proof)
    }

    fn cube(&self, proc: ProcId, (e, c, (x, results)): &Triple, maker: &mut Maker) -> Ref {
        let mut cube = Vec::new();
        for var in self.program.globals().chain(self.program.procs()[proc].locals.clone()) {
            let read = |valuation| self.places.read(&self.program, valuation, var);
            cube.push(maker.equals(Place::Entry(var), Type::Bool, read(e)));
            cube.push(maker.equals(Place::Now(var), Type::Bool, read(c)));
        }
        for (var, &value) in self.program.globals().zip(x) {
            cube.push(maker.equals(Place::Exit(var), Type::Bool, value));
        }
        for (at, &value) in results.iter().enumerate() {
            cube.push(maker.equals(Place::Result(at as u32), Type::Bool, value));
        }
        maker.and(cube)
    }

    /// Whether a proof is one.
    fn proves(&self, proof: &Proof, target: LocId) -> bool {
        let mut sets: Sets = BTreeMap::new();
        let mut given: Vec<Option<Ref>> = proof.sets.iter().copied().collect();
        for proc in self.program.procs().iter() {
            given[proc.entry.index()].get_or_insert(Ref::TRUE);
            given[proc.exit.index()].get_or_insert(Ref::TRUE);
        }
        given[target.index()].get_or_insert(Ref::FALSE);
        for (loc, data) in self.program.locs().pairs() {
            let Some(set) = given[loc.index()] else { continue };
            let set = Cone::new(proof, set);
            let mut members = BTreeSet::new();
            for triple in self.all(loc) {
                match self.is_in(proof, &set, data.proc, &triple) {
                    Some(true) => drop(members.insert(triple)),
                    Some(false) => {}
                    None => return false,
                }
            }
            sets.insert(loc, members);
        }
        if !sets[&target].is_empty() {
            return false;
        }
        let led = self.close(&mut sets, |loc| given[loc.index()].is_none());
        led.iter().all(|(loc, triple)| sets[loc].contains(triple))
    }
}

/// The proof with one node changed.
fn with_node(proof: &Proof, at: usize, node: Node) -> Proof {
    let mut nodes = proof.nodes().to_vec();
    nodes[at] = node;
    Proof::new(nodes, proof.sets.clone())
}

/// About so many nodes of a proof are changed.
const CHANGED: usize = 80;

/// Changed proofs, by the kind of change.
fn mutants(naive: &Naive, proof: &Proof) -> Vec<(&'static str, Proof)> {
    let mut found = Vec::new();
    for (at, node) in proof.nodes().iter().enumerate() {
        match node {
            Node::And(all) if at % proof.nodes().len().div_ceil(CHANGED) == 0 => {
                // Another one each time.
                let nth = at % all.len();
                let mut fewer = all.to_vec();
                fewer.remove(nth);
                found.push(("a dropped conjunct", with_node(proof, at, Node::And(fewer.into()))));
                let mut other = all.to_vec();
                other[nth] = !other[nth];
                found.push(("a flipped bit", with_node(proof, at, Node::And(other.into()))));
            }
            &Node::Bit(Place::Now(var), bit) => {
                found.push(("another place", with_node(proof, at, Node::Bit(Place::Entry(var), bit))));
                if naive.program.is_global(var) {
                    found.push(("another time", with_node(proof, at, Node::Bit(Place::Exit(var), bit))));
                }
            }
            _ => {}
        }
    }
    let with_set = |loc: LocId, set: Option<Ref>| {
        let mut changed = proof.clone();
        changed.sets[loc] = set;
        changed
    };
    for loc in proof.sets.ids() {
        found.push(("a missing location", with_set(loc, None)));
        found.push(("nothing", with_set(loc, Some(Ref::FALSE))));
        found.push(("everything", with_set(loc, Some(Ref::TRUE))));
        found.push(("a complement", with_set(loc, proof.sets[loc].map(|set| !set))));
        for other in proof.sets.ids().filter(|other| *other != loc) {
            let kind = match naive.program.locs()[loc].proc == naive.program.locs()[other].proc {
                true => "the set of another location",
                false => "the set of another procedure",
            };
            found.push((kind, with_set(loc, proof.sets[other])));
        }
    }
    found
}

#[test]
fn proofs_are_told_from_changed_ones_as_brute_force_does() {
    let naive = Naive::new();
    let target = LocId(8);
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for proof in [naive.least(), naive.greatest(target)].map(|sets| naive.proof(&sets)) {
        assert!(naive.proves(&proof, target));
        assert_eq!(validate(&naive.program, &proof, &[target], &|_| true, 1), Answer::Valid);
        for (kind, mutant) in mutants(&naive, &proof) {
            let is_proof = naive.proves(&mutant, target);
            let at = match validate(&naive.program, &mutant, &[target], &|_| true, 1) {
                Answer::Valid => {
                    assert!(is_proof, "{kind} is accepted: {mutant:?}");
                    0
                }
                Answer::Invalid(flaw) => {
                    assert!(!is_proof, "{kind} is rejected: {flaw}");
                    1
                }
                Answer::CannotTell(_) => 2,
            };
            kinds.entry(kind).or_default()[at] += 1;
        }
    }
    for (kind, [_, rejected, unknown]) in &kinds {
        let missing = *kind == "a missing location";
        assert!(*rejected > 0 || missing && *unknown > 0, "{kind}: {kinds:?}");
        let scope = kind.starts_with("the set of another");
        assert!(*unknown == 0 || missing || scope, "{kind}: {kinds:?}");
    }
}

#[test]
fn several_checkers_find_the_flaw_that_one_finds() {
    let naive = Naive::new();
    let (mut closed, mut flaws) = (0, 0);
    for (kind, mutant) in mutants(&naive, &naive.proof(&naive.least())) {
        let begin = || Checker::new(&naive.program, &mutant, &[], &|_| true);
        let [one, three] = [1, 3].map(|jobs| divided(&begin, jobs, 1));
        match (one, three) {
            (Ok(()), Ok(())) => closed += 1,
            (Err(Stop::Flaw(one)), Err(Stop::Flaw(three))) => {
                assert_eq!((one.from, one.to), (three.from, three.to), "{kind}");
                flaws += 1;
            }
            (Err(Stop::Unknown(_)), Err(_)) => {}
            different => panic!("{kind}: {different:?}"),
        }
    }
    assert!(closed > 10 && flaws > 10, "{closed} closed, {flaws} not");
}

#[test]
fn several_checkers_stop_when_the_work_is_called_off_or_breaks_down() {
    let naive = Naive::new();
    let proof = naive.proof(&naive.least());
    let check = |most: u64, panics: bool| {
        let asked = AtomicU64::new(0);
        let goes_on = |_| {
            let goes_on = asked.fetch_add(1, Relaxed) < most;
            assert!(goes_on || !panics, "a breakdown on purpose");
            goes_on
        };
        let stop = divided(&|| Checker::new(&naive.program, &proof, &[], &goes_on), 3, 1);
        (stop, asked.into_inner())
    };
    let (closed, asked) = check(u64::MAX, false);
    assert!(closed.is_ok() && asked > 10, "{closed:?}, asked {asked} times");
    for most in 0..asked / 2 {
        assert!(matches!(check(most, false).0, Err(Stop::Unknown(_))), "after {most}");
        assert!(std::panic::catch_unwind(|| check(most, true)).is_err(), "after {most}");
    }
}

#[test]
fn what_is_not_for_this_checker_is_refused_in_words() {
    let naive = Naive::new();
    let proof = naive.proof(&naive.least());
    let answer = validate(&naive.program, &proof, &[LocId(8)], &|_| false, 1);
    assert!(matches!(answer, Answer::CannotTell(_)), "{answer:?}");
    let unbounded =
        text::parse(&text::print(&naive.program).replace("var v1 global bool", "var v1 global int"));
    assert!(
        unbounded.is_err()
            || matches!(validate(&unbounded.unwrap(), &proof, &[], &|_| true, 1), Answer::CannotTell(_))
    );
    let short = Proof::new(Vec::new(), Table::new());
    assert!(matches!(validate(&naive.program, &short, &[], &|_| true, 1), Answer::CannotTell(_)));
    let loop_back = Proof::new(vec![Node::And([Ref::node(1)].into())], proof.sets.clone());
    assert!(matches!(validate(&naive.program, &loop_back, &[], &|_| true, 1), Answer::CannotTell(_)));
    // Only the entries have sets: the loop in main has none.
    let none = Proof::new(Vec::new(), Table::filled(naive.program.locs().len(), None));
    let answer = validate(&naive.program, &none, &[LocId(8)], &|_| true, 1);
    assert!(matches!(answer, Answer::CannotTell(_) | Answer::Invalid(_)), "{answer:?}");
    // Everything everywhere is closed, and excludes nothing.
    let trivial = Proof::trivial(&naive.program);
    assert_eq!(validate(&naive.program, &trivial, &[], &|_| true, 1), Answer::Valid);
    let answer = validate(&naive.program, &trivial, &[LocId(8)], &|_| true, 1);
    assert!(matches!(answer, Answer::Invalid(ref flaw) if flaw.from == LocId(8)), "{answer:?}");
}
