//! Proofs of engines that were changed, kind by kind, and programs that were changed under a proof.
//!
//! A changed proof may still be one. What the checker accepts says that no run comes to a location whose set is empty; so the oracle must say of each such
//! location that it is not reached. Of each kind of change most are rejected.

use crate::common::{all_good, bytes, cases, say};
use crate::proofs::{held, queries, sequential};
use postbop_ir::oracle::oracle;
use postbop_ir::proof::{Compare, Node, Place, Proof, Ref};
use postbop_ir::{Id, LocId, Program, Query, text};
use postbop_validate::{Answer, validate};
use std::collections::BTreeMap;

/// One engine of each form of proof: cubes, lemmas about what comes, diagrams, those of two other orders, and sets at heads of loops alone.
const ENGINES: [&str; 6] = ["explicit", "sat", "summary", "fixpoint", "sat:qbf", "weighted"];

/// So many nodes, and so many sets, of a proof are changed in each way.
const NODES: usize = 4;
const SETS: usize = 3;

/// So many facts the oracle may find.
const FACTS: usize = 20_000;

/// A proof with one node changed.
fn with_node(proof: &Proof, at: usize, node: Node) -> Proof {
    let mut nodes = proof.nodes().to_vec();
    nodes[at] = node;
    Proof::new(nodes, proof.sets.clone())
}

fn with_set(proof: &Proof, loc: LocId, set: Option<Ref>) -> Proof {
    let mut changed = proof.clone();
    changed.sets[loc] = set;
    changed
}

/// A node that was changed, by the kinds of change that there are for it.
fn changed(node: &Node, nth: usize) -> Vec<(&'static str, Node)> {
    match node {
        Node::Bit(place, bit) => {
            let other = match *place {
                Place::Entry(var) => Place::Now(var),
                Place::Now(var) => Place::Entry(var),
                Place::Exit(var) => Place::Now(var),
                Place::Result(at) => Place::Result(at),
            };
            vec![("another place", Node::Bit(other, *bit))]
        }
        Node::Sum(terms, compare) => {
            let nth = nth % terms.len();
            let (mut fewer, mut other) = (terms.to_vec(), terms.to_vec());
            fewer.remove(nth);
            other[nth].0 = -other[nth].0;
            let near = match *compare {
                Compare::AtMost(most) => Compare::AtMost(most - 1),
                Compare::Equal(value) => Compare::Equal(value + 1),
                Compare::Congruent(rest, modulus) => Compare::Congruent(rest + 1, modulus),
            };
            vec![
                ("a dropped term", Node::Sum(fewer.into(), *compare)),
                ("a negated factor", Node::Sum(other.into(), *compare)),
                ("another bound", Node::Sum(terms.clone(), near)),
            ]
        }
        Node::Ite([c, a, b]) => {
            vec![("a flipped bit", Node::Ite([!*c, *a, *b])), ("a dropped case", Node::Ite([*c, *a, *a]))]
        }
        Node::And(all) => {
            let nth = nth % all.len();
            let (mut fewer, mut other) = (all.to_vec(), all.to_vec());
            fewer.remove(nth);
            other[nth] = !other[nth];
            let kinds = [("a dropped conjunct", fewer), ("a flipped bit", other)];
            kinds.map(|(kind, all)| (kind, Node::And(all.into()))).into()
        }
    }
}

/// A proof that was changed in many ways, with the kind of each change.
pub fn mutants(program: &Program, proof: &Proof) -> Vec<(&'static str, Proof)> {
    let mut found = Vec::new();
    let stride = proof.nodes().len().div_ceil(NODES).max(1);
    for (at, node) in proof.nodes().iter().enumerate().skip(stride / 2).step_by(stride) {
        let all = changed(node, at).into_iter();
        found.extend(all.map(|(kind, node)| (kind, with_node(proof, at, node))));
    }
    let spoken: Vec<LocId> = proof.sets.ids().filter(|&loc| proof.sets[loc] != Some(Ref::FALSE)).collect();
    let stride = spoken.len().div_ceil(SETS).max(1);
    for &loc in spoken.iter().skip(stride / 2).step_by(stride) {
        found.push(("a missing location", with_set(proof, loc, None)));
        found.push(("nothing", with_set(proof, loc, Some(Ref::FALSE))));
        found.push(("a complement", with_set(proof, loc, proof.sets[loc].map(|set| !set))));
    }
    // The summary of each procedure, instead of that of the one before.
    let exits: Vec<LocId> = program.procs().iter().map(|proc| proc.exit).collect();
    for pair in exits.windows(2).filter(|pair| proof.sets[pair[0]] != proof.sets[pair[1]]) {
        found.push(("a summary of another procedure", with_set(proof, pair[0], proof.sets[pair[1]])));
    }
    found
}

/// Programs that differ from one by a condition that was negated or dropped.
fn changed_programs(program: &Program) -> Vec<Program> {
    let source = text::print(program);
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((edge, condition)) = line.split_once(" assume ") else { continue };
        for other in [format!("{edge} assume (not {condition})"), format!("{edge} assume true")] {
            let mut changed = lines.clone();
            changed[at] = &other;
            found.extend(text::parse(&(changed.join("\n") + "\n")));
        }
    }
    found
}

/// Rejected, accepted, and not told, by the kind of change.
type Tally = BTreeMap<&'static str, [usize; 3]>;

/// Puts a changed proof, or program, to the checker; what it accepts must be so.
fn put(
    kind: &'static str,
    program: &Program,
    proof: &Proof,
    query: &Query,
    reached: &dyn Fn(LocId) -> bool,
    tally: &mut Tally,
) -> Result<(), String> {
    let of_kind = tally.entry(kind).or_default();
    match validate(program, proof, query.locs(), &|_| true, 2) {
        Answer::Invalid(_) => of_kind[0] += 1,
        Answer::CannotTell(_) => of_kind[2] += 1,
        Answer::Valid => {
            of_kind[1] += 1;
            let empty = proof.sets.ids().filter(|&loc| proof.sets[loc] == Some(Ref::FALSE));
            if let Some(loc) = empty.chain(query.locs().iter().copied()).find(|&loc| reached(loc)) {
                return Err(format!("{kind} is accepted, and says that {loc} is not reached"));
            }
        }
    }
    Ok(())
}

/// For each location whether it is reached, by brute force; none if that is too much work.
fn reached(program: &Program) -> Option<Vec<bool>> {
    let locs: Vec<[LocId; 1]> = program.locs().ids().map(|loc| [loc]).collect();
    let locs: Vec<&[LocId]> = locs.iter().map(|loc| &loc[..]).collect();
    Some(oracle(program, &locs, FACTS).ok()?.iter().map(Option::is_some).collect())
}

#[test]
fn changed_proofs_of_every_kind_are_rejected() {
    let mut tally = Tally::new();
    let mut failures = Vec::new();
    for case in cases() {
        let Some(program) = sequential(&bytes(&case)) else { continue };
        let Some(truth) = reached(&program) else { continue };
        let asked = queries(&program);
        let others: Vec<(Program, Vec<bool>)> = changed_programs(&program)
            .into_iter()
            .filter_map(|other| reached(&other).map(|truth| (other, truth)))
            .collect();
        for engine in ENGINES {
            // One proof is for all properties that hold.
            let Some(first) = held(&program, &asked, engine).into_iter().next() else { continue };
            let Some(proof) = first.proof else { continue };
            let mut put = |kind, program: &Program, proof: &Proof, truth: &[bool]| {
                let reached = |loc: LocId| truth[loc.index()];
                let put = put(kind, program, proof, &first.query, &reached, &mut tally);
                failures.extend(put.err().map(|what| format!("{}, {engine}: {what}", case.display())));
            };
            for (kind, mutant) in mutants(&program, &proof) {
                put(kind, &program, &mutant, &truth);
            }
            for (other, truth) in &others {
                put("another program", other, &proof, truth);
            }
        }
    }
    say(&format!("changed proofs, rejected, accepted and not told: {tally:?}"));
    all_good(&failures);
    let rejected: usize = tally.values().map(|of_kind| of_kind[0]).sum();
    assert!(rejected > 1_000, "only {rejected}");
    assert!(tally.len() >= 9 && tally.values().all(|of_kind| of_kind[0] > 0), "{tally:?}");
}
