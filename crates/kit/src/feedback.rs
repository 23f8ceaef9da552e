//! Room `kit`: an order of a graph's vertices in which few edges go backwards.
//!
//! # Idea
//!
//! Vertices are taken away one after the other. One that leads to none of those that are left comes last of them, one that none of them leads to
//! comes first; neither has an edge backwards then. If there is no such vertex, the one that has most edges out and fewest in
//! comes first: only its edges in go backwards.
//!
//! # Paper
//!
//! \[feedback\], algorithm GR. # Cost: n log n in the edges. Edges from a vertex to itself do not count.

use std::collections::BTreeSet;

/// The vertices `0..len` of a graph, in an order in which few edges go backwards.
pub fn order<'a>(len: usize, successors: impl Fn(usize) -> &'a [u32]) -> Vec<u32> {
    let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); len];
    let others = |from: usize| successors(from).iter().copied().filter(move |&to| to as usize != from);
    for from in 0..len {
        others(from).for_each(|to| predecessors[to as usize].push(from as u32));
    }
    let mut left = Left {
        out: (0..len).map(|at| others(at).count() as i64).collect(),
        into: predecessors.iter().map(|all| all.len() as i64).collect(),
        taken: vec![false; len],
        ends: Vec::new(),
        starts: Vec::new(),
        others: BTreeSet::new(),
    };
    (0..len).for_each(|at| left.sort(at as u32));
    let (mut first, mut last) = (Vec::new(), Vec::new());
    while let Some((vertex, at_end)) = left.next() {
        if at_end { &mut last } else { &mut first }.push(vertex);
        for to in others(vertex as usize) {
            left.change(to, |left, to| left.into[to] -= 1);
        }
        for &from in &predecessors[vertex as usize] {
            left.change(from, |left, from| left.out[from] -= 1);
        }
    }
    last.reverse();
    first.extend(last);
    first
}

/// The vertices that were not taken away.
struct Left {
    /// How many edges each has out and in, among those that are left.
    out: Vec<i64>,
    into: Vec<i64>,
    taken: Vec<bool>,
    /// Those without an edge out, those without one in, and the others: those with most edges out and fewest in are first.
    ends: Vec<u32>,
    starts: Vec<u32>,
    others: BTreeSet<(i64, u32)>,
}

impl Left {
    fn key(&self, vertex: u32) -> (i64, u32) {
        (self.into[vertex as usize] - self.out[vertex as usize], vertex)
    }

    /// Puts a vertex where it belongs.
    fn sort(&mut self, vertex: u32) {
        if self.out[vertex as usize] == 0 {
            self.ends.push(vertex);
        } else if self.into[vertex as usize] == 0 {
            self.starts.push(vertex);
        } else {
            self.others.insert(self.key(vertex));
        }
    }

    /// Takes a vertex away; whether it comes last of those that are left.
    fn next(&mut self) -> Option<(u32, bool)> {
        loop {
            let (vertex, at_end) = if let Some(vertex) = self.ends.pop() {
                (vertex, true)
            } else if let Some(vertex) = self.starts.pop() {
                (vertex, false)
            } else {
                (self.others.pop_first()?.1, false)
            };
            // A vertex can be an end and a start, and is listed for both then.
            if !std::mem::replace(&mut self.taken[vertex as usize], true) {
                return Some((vertex, at_end));
            }
        }
    }

    fn change(&mut self, vertex: u32, change: impl FnOnce(&mut Self, usize)) {
        if self.taken[vertex as usize] {
            return;
        }
        let before = self.key(vertex);
        self.others.remove(&before);
        change(self, vertex as usize);
        self.sort(vertex);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backwards(edges: &[(u32, u32)], order: &[u32]) -> usize {
        let place = |vertex: u32| order.iter().position(|&other| other == vertex).unwrap();
        edges.iter().filter(|&&(from, to)| place(to) < place(from)).count()
    }

    fn ordered(len: usize, edges: &[(u32, u32)]) -> Vec<u32> {
        let of =
            |from: usize| edges.iter().filter(|edge| edge.0 as usize == from).map(|edge| edge.1).collect();
        let successors: Vec<Vec<u32>> = (0..len).map(of).collect();
        let order = order(len, |at| &successors[at]);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..len as u32).collect::<Vec<_>>(), "each vertex once");
        order
    }

    #[test]
    fn a_graph_without_cycles_has_no_edge_backwards() {
        let edges: Vec<(u32, u32)> = (0..40)
            .flat_map(|at| [(at, at * 7 % 41), (at, at * 5 % 37)])
            .filter(|(a, b)| a % 13 < b % 13)
            .collect();
        assert!(edges.len() > 20);
        assert_eq!(backwards(&edges, &ordered(41, &edges)), 0);
    }

    #[test]
    fn a_ring_has_one_and_a_chain_with_two_calls_back_has_two() {
        let ring: Vec<(u32, u32)> = (0..10).map(|at| (at, (at + 1) % 10)).collect();
        assert_eq!(backwards(&ring, &ordered(10, &ring)), 1);
        let ahead = |at: u32| (1..=6).map(move |by| (at, at + by)).filter(|edge| edge.1 < 50);
        let mut chain: Vec<(u32, u32)> = (0..50).flat_map(ahead).collect();
        chain.extend([(40, 3), (20, 15), (7, 7)]);
        assert_eq!(backwards(&chain, &ordered(50, &chain)), 2);
    }
}
