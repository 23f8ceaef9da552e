//! Room `kit`: the calculus on small graphs, with answers worked out by hand.

use super::*;
use crate::bdd::{Bdd, Interrupted, Ref};

/// Numbers from 0 to 15, a graph on them, and a starting set.
struct Graph {
    edges: Vec<(u64, u64)>,
    start: Vec<u64>,
}

const EDGE: RelationId = RelationId(0);
const START: RelationId = RelationId(1);
const NUMBER: DomainId = DomainId(0);

fn cube(levels: &[u32], value: u64) -> Vec<(u32, bool)> {
    levels.iter().rev().enumerate().map(|(at, &level)| (level, value >> at & 1 != 0)).collect()
}

impl Supply for Graph {
    fn relation(
        &mut self,
        bdd: &mut Bdd,
        relation: RelationId,
        levels: &[Vec<u32>],
    ) -> Result<Ref, Interrupted> {
        let tuples: Vec<Vec<u64>> = match relation {
            EDGE => self.edges.iter().map(|&(a, b)| vec![a, b]).collect(),
            _ => self.start.iter().map(|&a| vec![a]).collect(),
        };
        let mut all = Ref::FALSE;
        for tuple in tuples {
            let literals: Vec<(u32, bool)> =
                tuple.iter().zip(levels).flat_map(|(&value, levels)| cube(levels, value)).collect();
            let one = bdd.cube(&literals)?;
            all = bdd.or(all, one)?;
        }
        Ok(all)
    }
}

/// A system over the graph with relations of one or two arguments to be defined.
fn system(size: u64, defined: &[(&str, usize, bool)]) -> System {
    let supply =
        |name: &str, arity| Relation { name: name.into(), domains: vec![NUMBER; arity], equation: None };
    let mut system = System {
        domains: vec![Domain { positions: vec![0, 1, 2, 3], size: Some(size) }],
        relations: vec![supply("Edge", 2), supply("Start", 1)],
        ..System::default()
    };
    for &(name, arity, greatest) in defined {
        let params = (0..arity).map(|_| system.var(NUMBER)).collect();
        let equation = Some(Equation { params, body: NodeId(0), greatest });
        system.relations.push(Relation { name: name.into(), domains: vec![NUMBER; arity], equation });
    }
    system
}

fn params(system: &System, relation: RelationId) -> Vec<VarId> {
    system.relation(relation).equation.as_ref().unwrap().params.clone()
}

fn define(system: &mut System, relation: RelationId, body: NodeId) {
    system.relations[relation.0 as usize].equation.as_mut().unwrap().body = body;
}

/// The members of a relation of one argument.
fn members(solver: &mut Solver<Graph>, relation: RelationId) -> Result<Vec<u64>, Stop> {
    let value = solver.evaluate(relation)?;
    let levels = solver.levels(NUMBER, 0);
    let mut found = Vec::new();
    for number in 0..16 {
        let one = solver.bdd.cube(&cube(&levels, number))?;
        if solver.bdd.and(one, value)? != Ref::FALSE {
            found.push(number);
        }
    }
    Ok(found)
}

fn solve(system: &System, graph: Graph, relation: RelationId) -> Result<Vec<u64>, Stop> {
    let mut solver = Solver::new(system, Bdd::new(|_| true), graph, Vec::new());
    members(&mut solver, relation)
}

const A: RelationId = RelationId(2);
const B: RelationId = RelationId(3);

/// `A(u) = Start(u) | exists x. A(x) & Edge(x, u)`
fn reach(system: &mut System) {
    let u = params(system, A)[0];
    let x = system.var(NUMBER);
    let start = system.node(Node::Apply(START, vec![u]));
    let (before, edge) = (system.node(Node::Apply(A, vec![x])), system.node(Node::Apply(EDGE, vec![x, u])));
    let both = system.node(Node::And(vec![before, edge]));
    let step = system.node(Node::Exists(vec![x], both));
    let body = system.node(Node::Or(vec![start, step]));
    define(system, A, body);
}

fn chain() -> Graph {
    Graph { edges: vec![(0, 1), (1, 2), (2, 0), (3, 4), (2, 5), (5, 5)], start: vec![0] }
}

#[test]
fn forward_reachability() {
    let mut system = system(16, &[("Reach", 1, false)]);
    reach(&mut system);
    assert_eq!(solve(&system, chain(), A), Ok(vec![0, 1, 2, 5]));
}

#[test]
fn negation_stays_within_the_domain() {
    let mut system = system(11, &[("Reach", 1, false), ("Rest", 1, false)]);
    reach(&mut system);
    let u = params(&system, B)[0];
    let inside = system.node(Node::Apply(A, vec![u]));
    let body = system.node(Node::Not(inside));
    define(&mut system, B, body);
    assert_eq!(solve(&system, chain(), B), Ok(vec![3, 4, 6, 7, 8, 9, 10]));
}

#[test]
fn greatest_fixed_points_start_full() {
    // Who can go on for ever: `nu A(u) = exists x. Edge(u, x) & A(x)`.
    let mut system = system(16, &[("Forever", 1, true)]);
    let u = params(&system, A)[0];
    let x = system.var(NUMBER);
    let (edge, after) = (system.node(Node::Apply(EDGE, vec![u, x])), system.node(Node::Apply(A, vec![x])));
    let both = system.node(Node::And(vec![edge, after]));
    let body = system.node(Node::Exists(vec![x], both));
    define(&mut system, A, body);
    assert_eq!(solve(&system, chain(), A), Ok(vec![0, 1, 2, 5]));
}

#[test]
fn inner_relations_start_afresh_in_every_round() {
    // `A(u) = Start(u) | B(u)` with `B(u) = exists x. A(x) & Edge(x, u)`: B is computed again for each value of A.
    let mut system = system(16, &[("A", 1, false), ("B", 1, false)]);
    let (u, v) = (params(&system, A)[0], params(&system, B)[0]);
    let x = system.var(NUMBER);
    let (start, more) = (system.node(Node::Apply(START, vec![u])), system.node(Node::Apply(B, vec![u])));
    let body = system.node(Node::Or(vec![start, more]));
    define(&mut system, A, body);
    let (before, edge) = (system.node(Node::Apply(A, vec![x])), system.node(Node::Apply(EDGE, vec![x, v])));
    let both = system.node(Node::And(vec![before, edge]));
    let body = system.node(Node::Exists(vec![x], both));
    define(&mut system, B, body);
    assert_eq!(solve(&system, chain(), A), Ok(vec![0, 1, 2, 5]));
    assert_eq!(solve(&system, chain(), B), Ok(vec![0, 1, 2, 5]));
}

#[test]
fn circles_are_reported() {
    // `A(u) = !A(u)` is everything and nothing in turn.
    let mut system = system(16, &[("A", 1, false)]);
    let u = params(&system, A)[0];
    let same = system.node(Node::Apply(A, vec![u]));
    let body = system.node(Node::Not(same));
    define(&mut system, A, body);
    let stop = solve(&system, chain(), A);
    assert!(matches!(stop, Err(Stop::Unstable { relation: A, period: 2, .. })), "{stop:?}");
}

#[test]
fn pairs_and_their_reverse() {
    // The transitive closure, backwards: `A(u, v) = Edge(u, v) | exists x. Edge(u, x) & A(x, v)`, asked for A(x, x).
    let mut system = system(16, &[("Closure", 2, false), ("Cyclic", 1, false)]);
    let ends = params(&system, A);
    let x = system.var(NUMBER);
    let edge = system.node(Node::Apply(EDGE, ends.clone()));
    let first = system.node(Node::Apply(EDGE, vec![ends[0], x]));
    let rest = system.node(Node::Apply(A, vec![x, ends[1]]));
    let both = system.node(Node::And(vec![first, rest]));
    let step = system.node(Node::Exists(vec![x], both));
    let body = system.node(Node::Or(vec![edge, step]));
    define(&mut system, A, body);
    let u = params(&system, B)[0];
    let v = system.var(NUMBER);
    let path = system.node(Node::Apply(A, vec![u, v]));
    let (a, b) = (system.whole(u), system.whole(v));
    let same = system.node(Node::Equal(a, b));
    let both = system.node(Node::And(vec![path, same]));
    let body = system.node(Node::Exists(vec![v], both));
    define(&mut system, B, body);
    assert_eq!(solve(&system, chain(), B), Ok(vec![0, 1, 2, 5]));
}

#[test]
fn the_journal_tells_when() {
    let mut system = system(16, &[("Reach", 1, false)]);
    reach(&mut system);
    let mut solver = Solver::new(&system, Bdd::new(|_| true), chain(), vec![A]);
    assert_eq!(members(&mut solver, A), Ok(vec![0, 1, 2, 5]));
    // {0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 5}
    assert_eq!(solver.journal.len(), 4);
    assert_eq!(solver.tallies[A.0 as usize].rounds, 5);
}

#[test]
fn what_was_interrupted_is_no_answer_and_nor_is_what_follows() {
    let mut system = system(16, &[("Reach", 1, false)]);
    reach(&mut system);
    let relation = RelationId(2);
    let whole = solve(&system, chain(), relation).unwrap();
    // The callback says no once, each time at another call, and yes ever after.
    for denied in 0.. {
        let turns = std::cell::Cell::new(0);
        let bdd = Bdd::new(|_| turns.replace(turns.get() + 1) != denied);
        let mut solver = Solver::new(&system, bdd, chain(), Vec::new());
        if let Ok(found) = members(&mut solver, relation) {
            assert_eq!(found, whole);
            assert!(denied > 3, "he was asked several times");
            break;
        }
        for _ in 0..2 {
            assert!(matches!(members(&mut solver, relation), Err(Stop::Interrupted)), "turn {denied}");
        }
    }
}
