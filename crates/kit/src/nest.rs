//! Room `kit`: an order in which loops are nested.
//!
//! # Idea
//!
//! The vertices of a graph in a row, such that every edge that goes backwards goes to the *head* of a loop that its start is in. A loop
//! is a stretch of the row that begins with its head; loops are nested or disjoint. Each strongly connected component is a
//! loop: its head is the vertex that is reached first, and the rest, without the head, is put in order in the same way.
//!
//! # Paper
//!
//! \[bourdoncle\] section 3.1, weak topological order. # Cost: linear for each level of nesting.

use crate::scc;
use rustc_hash::FxHashMap as HashMap;

/// Vertices in a row, with their loops.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Nest {
    /// The vertices.
    pub row: Vec<u32>,
    /// For each place in the row: if a loop begins there, the place behind its end.
    pub end: Vec<Option<u32>>,
}

enum Task {
    /// These vertices are next, in some order.
    Sort(Vec<u32>),
    /// This one is next.
    Put(u32),
    /// The loop that begins at this place ends.
    Close(u32),
}

/// Puts the vertices in order that can be reached from the first one. `successors` is asked about them only. `goes_on` is asked for each part of the
/// graph, with its size; none if it says no.
pub fn nest<'a>(
    first: u32,
    successors: impl Fn(u32) -> &'a [u32],
    goes_on: impl Fn(usize) -> bool,
) -> Option<Nest> {
    let rank = ranks(first, &successors);
    let mut all: Vec<u32> = rank.keys().copied().collect();
    all.sort_unstable_by_key(|vertex| rank[vertex]);
    let mut nest = Nest::default();
    let mut tasks = vec![Task::Sort(all)];
    while let Some(task) = tasks.pop() {
        match task {
            Task::Put(vertex) => {
                nest.row.push(vertex);
                nest.end.push(None);
            }
            Task::Close(place) => nest.end[place as usize] = Some(nest.row.len() as u32),
            Task::Sort(members) if !goes_on(members.len()) => return None,
            Task::Sort(members) => match one_loop(&members, &rank, &successors) {
                Some(head) => {
                    tasks.push(Task::Close(nest.row.len() as u32));
                    tasks.push(Task::Sort(members.into_iter().filter(|&member| member != head).collect()));
                    tasks.push(Task::Put(head));
                }
                None => tasks.extend(apart(&members, &rank, &successors)),
            },
        }
    }
    Some(nest)
}

/// How soon each vertex is reached, depth first.
fn ranks<'a>(first: u32, successors: &impl Fn(u32) -> &'a [u32]) -> HashMap<u32, u32> {
    let mut rank = HashMap::from_iter([(first, 0)]);
    let mut path = vec![(first, 0)];
    while let Some((vertex, next)) = path.last_mut() {
        let Some(&to) = successors(*vertex).get(*next) else {
            path.pop();
            continue;
        };
        *next += 1;
        if !rank.contains_key(&to) {
            rank.insert(to, rank.len() as u32);
            path.push((to, 0));
        }
    }
    rank
}

/// The components of the graph that some vertices are, by their places.
fn components<'a>(members: &[u32], successors: &impl Fn(u32) -> &'a [u32]) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
    let place: HashMap<u32, u32> = members.iter().copied().zip(0..).collect();
    let inner: Vec<Vec<u32>> = members
        .iter()
        .map(|&member| successors(member).iter().filter_map(|to| place.get(to).copied()).collect())
        .collect();
    (scc::components(members.len(), |at| &inner[at]), inner)
}

/// The head, if all vertices are one loop.
fn one_loop<'a>(
    members: &[u32],
    rank: &HashMap<u32, u32>,
    successors: &impl Fn(u32) -> &'a [u32],
) -> Option<u32> {
    let (components, inner) = components(members, successors);
    let is_loop = components.len() == 1 && (members.len() > 1 || !inner[0].is_empty());
    members.iter().copied().min_by_key(|member| rank[member]).filter(|_| is_loop)
}

/// What is to be done for vertices that are not one loop, the last first.
fn apart<'a>(members: &[u32], rank: &HashMap<u32, u32>, successors: &impl Fn(u32) -> &'a [u32]) -> Vec<Task> {
    let (components, inner) = components(members, successors);
    let task = |component: Vec<u32>| {
        let is_loop = component.len() > 1 || inner[component[0] as usize].contains(&component[0]);
        let mut component: Vec<u32> = component.into_iter().map(|at| members[at as usize]).collect();
        component.sort_unstable_by_key(|member| rank[member]);
        if is_loop { Task::Sort(component) } else { Task::Put(component[0]) }
    };
    components.into_iter().map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aig::tests::next;

    fn of(graph: &[Vec<u32>]) -> Nest {
        nest(0, |vertex| &graph[vertex as usize], |_| true).expect("it goes on")
    }

    #[test]
    fn an_order_for_which_there_is_no_time_is_not_made() {
        // Each vertex leads to the next one and back to all before it: as many loops, each in the one before.
        let graph: Vec<Vec<u32>> = (0..100).map(|at| (0..(at + 2).min(100)).collect()).collect();
        let work = std::cell::Cell::new(0);
        let goes_on = |size: usize| {
            work.set(work.get() + size);
            work.get() < 1000
        };
        assert_eq!(nest(0, |vertex| &graph[vertex as usize], goes_on), None);
        assert!(work.get() < 1100);
    }

    #[test]
    fn loops_are_nested() {
        let graph = [vec![1], vec![2], vec![3], vec![2, 4], vec![1, 5], vec![]];
        let Nest { row, end } = of(&graph);
        assert_eq!(row, [0, 1, 2, 3, 4, 5]);
        assert_eq!(end, [None, Some(5), Some(4), None, None, None]);
        assert_eq!(of(&[vec![0]]).end, [Some(1)]);
        assert_eq!(of(&[vec![1], vec![], vec![0]]).row, [0, 1]);
    }

    #[test]
    fn edges_go_forward_or_to_the_head_of_a_loop_around_them() {
        for start in 0..500u64 {
            let seed = &mut (start * 131 + 1);
            let graph: Vec<Vec<u32>> =
                (0..12).map(|_| (0..next(seed) % 4).map(|_| (next(seed) % 12) as u32).collect()).collect();
            let Nest { row, end } = of(&graph);
            let place: HashMap<u32, usize> = row.iter().copied().zip(0..).collect();
            for (from, &vertex) in row.iter().enumerate() {
                for to in graph[vertex as usize].iter().map(|to| place[to]) {
                    assert!(from < to || end[to].is_some_and(|end| from < end as usize), "seed {start}");
                }
            }
            let loops: Vec<(usize, usize)> =
                (0..row.len()).filter_map(|at| Some((at, end[at]? as usize))).collect();
            for &(at, end) in &loops {
                assert!(loops.iter().all(|&(from, to)| to <= at
                    || end <= from
                    || from <= at && end <= to
                    || at <= from && to <= end));
            }
        }
    }

    #[test]
    fn a_long_row_and_deep_loops() {
        let n = 100_000u32;
        let chain: Vec<Vec<u32>> = (0..n).map(|v| if v + 1 < n { vec![v + 1] } else { vec![] }).collect();
        assert_eq!(of(&chain).row.len(), n as usize);
        let deep: Vec<Vec<u32>> = (0..500).map(|v| vec![(v + 1).min(499), 499 - v]).collect();
        assert_eq!(of(&deep).row.len(), 500);
    }
}
