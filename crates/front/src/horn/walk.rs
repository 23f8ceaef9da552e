//! Room `front/horn`: which premise of a clause is walked along, and which procedures there are.
//!
//! # Idea
//! A procedure stands for one relation, its *root*, and returns the tuples of it that can be derived. It walks: at a location for a relation R it has a
//! tuple of R in its registers. A clause leads from a location to another one, along one of its premises; for the other premises it
//! calls procedures. A clause without premises, or of which none is walked along, begins at the entry. The program starts in the procedure of the query.
//!
//! # Why this is exact
//! Claim: a run of the procedure of Q can be at the location of R with a tuple t exactly if R(t) can be derived, so it can return t exactly if Q(t) can be, and
//! the program reaches `ERROR` exactly if false can be derived. *From runs to derivations*, by induction over the length of the run: the walked premise holds of the tuple before
//! the step, the tuples that calls returned have derivations since their runs are shorter, and the constraint was tested; so the clause derives the new tuple.
//! *From derivations to runs*, by induction over the size of the derivation of R(t): its last clause has a walked premise with a smaller derivation, so a run gets to
//! that location with that tuple, provided that it is in the procedure; then the calls can return the tuples of the other premises, and the step can be taken. The procedure of Q has the locations of Q, of the walked
//! premises of all clauses for Q, and so on. Nothing in this depends on which premise is walked along. A loop is better than recursion for engines, so a premise of
//! the relation that follows is walked along, if there is one such; otherwise the first, which by custom is the location before.
//!
//! # Parameters
//! An argument of the root is *rigid* if each walk hands it on: every relation on the way has one position for it, and each step has the same variable at the position before and after. Then the value
//! with which the root is returned is the one with which the walk began, and a caller that knows which value it wants says so before: the argument is a parameter, and clauses
//! at the entry test that they begin with it. That loses no walk that the caller could use, and adds none. So the entry values of a summary become
//! parameters again.
//!
//! # Cost
//! A relation has a location in the procedure of every root that it leads to. If that makes the program much larger than the clauses, nothing is walked along, every relation is
//! a procedure, and the program is as large as the clauses.

use super::clause::Clause;
use super::script::System;
use super::term::{RelId, Term, TermId, Terms};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// How many times larger than the clauses a program may be.
const GROWTH: usize = 8;

/// What a procedure is made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Root {
    /// To derive false.
    Query,
    /// To derive tuples of a relation.
    Relation(RelId),
}

/// A procedure.
pub struct Walk {
    /// What it is made for.
    pub root: Root,
    /// The relations that have locations in it.
    pub relations: Vec<RelId>,
    /// Its clauses.
    pub clauses: Vec<usize>,
    /// For each rigid argument of the root, its position in each relation.
    pub rigid: Vec<FxHashMap<RelId, usize>>,
}

/// The procedures of a system, that of the query first.
pub struct Walks {
    /// For each clause the premise that is walked along.
    pub along: Vec<Option<usize>>,
    /// The procedures.
    pub procs: Vec<Walk>,
    /// The procedure of each relation that is called.
    pub number: FxHashMap<RelId, usize>,
}

/// The procedures of a system.
pub fn walks(system: &System) -> Walks {
    let size = |clause: &Clause| {
        let atoms = clause.premises.iter().chain(&clause.head);
        atoms.map(|atom| atom.arguments.len() + 1).sum::<usize>() + clause.constraint.len() + 1
    };
    let sizes: Vec<usize> = system.clauses.iter().map(size).collect();
    let most = GROWTH * sizes.iter().sum::<usize>() + 10_000;
    let along = system.clauses.iter().map(choose).collect();
    if let Some(walks) = grow(system, along, &sizes, most) {
        return walks;
    }
    let none = vec![None; system.clauses.len()];
    grow(system, none, &sizes, usize::MAX).expect("there is no limit")
}

/// The premise of the same relation as the head, if there is one such; else the first.
fn choose(clause: &Clause) -> Option<usize> {
    let head = clause.head.as_ref().map(|head| head.relation);
    let mut same = (0..clause.premises.len()).filter(|&at| Some(clause.premises[at].relation) == head);
    match (same.next(), same.next()) {
        (Some(only), None) => Some(only),
        _ => (!clause.premises.is_empty()).then_some(0),
    }
}

fn is_var(terms: &Terms, term: TermId) -> bool {
    matches!(terms.get(term), Term::Var(_))
}

/// The procedures, if they are not too large together.
fn grow(system: &System, along: Vec<Option<usize>>, sizes: &[usize], most: usize) -> Option<Walks> {
    let mut by_head: Vec<Vec<usize>> = vec![Vec::new(); system.relations.len() + 1];
    for (at, clause) in system.clauses.iter().enumerate() {
        let head = clause.head.as_ref().map_or(system.relations.len(), |head| head.relation as usize);
        by_head[head].push(at);
    }
    let mut walks = Walks { along, procs: Vec::new(), number: FxHashMap::default() };
    let mut roots = vec![Root::Query];
    let mut total = 0;
    while let Some(root) = roots.pop() {
        let at = match root {
            Root::Query => system.relations.len(),
            Root::Relation(relation) => relation as usize,
        };
        let mut walk = Walk { root, relations: Vec::new(), clauses: Vec::new(), rigid: Vec::new() };
        let mut seen = FxHashSet::default();
        let mut work = vec![at];
        seen.insert(at);
        while let Some(next) = work.pop() {
            if next < system.relations.len() {
                walk.relations.push(next as RelId);
            }
            for &number in &by_head[next] {
                walk.clauses.push(number);
                total += sizes[number];
                for (at, premise) in system.clauses[number].premises.iter().enumerate() {
                    let relation = premise.relation as usize;
                    if walks.along[number] == Some(at) {
                        if seen.insert(relation) {
                            work.push(relation);
                        }
                    } else if let Entry::Vacant(new) = walks.number.entry(premise.relation) {
                        // Its number is known when it is there.
                        new.insert(usize::MAX);
                        roots.push(Root::Relation(premise.relation));
                    }
                }
            }
            if total > most {
                return None;
            }
        }
        walk.clauses.sort_unstable();
        if let Root::Relation(relation) = root {
            walks.number.insert(relation, walks.procs.len());
            walk.rigid = rigid(system, &walks.along, &by_head, relation);
        }
        walks.procs.push(walk);
    }
    Some(walks)
}

/// The rigid arguments of a relation.
fn rigid(
    system: &System,
    along: &[Option<usize>],
    by_head: &[Vec<usize>],
    root: RelId,
) -> Vec<FxHashMap<RelId, usize>> {
    let mut places: FxHashMap<usize, FxHashMap<TermId, usize>> = FxHashMap::default();
    let mut slot = |position: usize| -> Option<FxHashMap<RelId, usize>> {
        let mut at: FxHashMap<RelId, usize> = FxHashMap::default();
        at.insert(root, position);
        let mut work = vec![root];
        while let Some(relation) = work.pop() {
            for &number in &by_head[relation as usize] {
                let (clause, Some(premise)) = (&system.clauses[number], along[number]) else { continue };
                let premise = &clause.premises[premise];
                let value = clause.head.as_ref()?.arguments[at[&relation]];
                if !is_var(&system.terms, value) {
                    return None;
                }
                match at.get(&premise.relation) {
                    Some(&known) if premise.arguments[known] == value => {}
                    Some(_) => return None,
                    None => {
                        let first = places.entry(number).or_insert_with(|| {
                            let pairs = premise.arguments.iter().copied().enumerate().rev();
                            pairs.map(|(at, term)| (term, at)).collect()
                        });
                        at.insert(premise.relation, *first.get(&value)?);
                        work.push(premise.relation);
                    }
                }
            }
        }
        Some(at)
    };
    (0..system.relations[root as usize].types.len()).filter_map(&mut slot).collect()
}
