//! Room `kit`: strongly connected components.
//!
//! # Idea
//!
//! Path-based depth-first search, iterative: a stack of vertices not yet given to a component, and a stack of the
//! borders between components on the current path. An edge back to the path merges the components above its end.
//!
//! # Paper
//!
//! \[gabow-scc\]. # Cost: linear.

/// The components of a graph with vertices `0..len`, each after all components it leads to.
pub fn components<'a>(len: usize, successors: impl Fn(usize) -> &'a [u32]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    const DONE: u32 = u32::MAX - 1;
    // A vertex on the path knows its height in `open`.
    let mut height = vec![UNSEEN; len];
    let mut open: Vec<u32> = Vec::new();
    let mut borders: Vec<u32> = Vec::new();
    let mut path: Vec<(u32, usize)> = Vec::new();
    let mut found = Vec::new();
    for root in 0..len {
        if height[root] != UNSEEN {
            continue;
        }
        path.push((root as u32, 0));
        while let Some((vertex, next)) = path.last_mut() {
            let (at, vertex) = (*vertex as usize, *vertex);
            if height[at] == UNSEEN {
                height[at] = open.len() as u32;
                borders.push(open.len() as u32);
                open.push(vertex);
            }
            if let Some(&to) = successors(at).get(*next) {
                *next += 1;
                match height[to as usize] {
                    UNSEEN => path.push((to, 0)),
                    DONE => {}
                    low => {
                        while borders.last().is_some_and(|&border| border > low) {
                            borders.pop();
                        }
                    }
                }
                continue;
            }
            path.pop();
            if borders.last() == Some(&height[at]) {
                borders.pop();
                let component = open.split_off(height[at] as usize);
                component.iter().for_each(|&member| height[member as usize] = DONE);
                found.push(component);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(graph: &[&[u32]]) -> Vec<Vec<u32>> {
        let mut all = components(graph.len(), |v| graph[v]);
        all.iter_mut().for_each(|component| component.sort_unstable());
        all
    }

    #[test]
    fn components_come_after_what_they_lead_to() {
        assert_eq!(of(&[&[1], &[2], &[1, 3], &[]]), [vec![3], vec![1, 2], vec![0]]);
        assert_eq!(of(&[&[0], &[0]]), [vec![0], vec![1]]);
        assert_eq!(of(&[&[1], &[2], &[0], &[2]]), [vec![0, 1, 2], vec![3]]);
        assert_eq!(of(&[]), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn a_long_chain_and_a_long_cycle() {
        let n = 300_000u32;
        let chain: Vec<Vec<u32>> = (0..n).map(|v| if v + 1 < n { vec![v + 1] } else { vec![] }).collect();
        assert_eq!(components(n as usize, |v| &chain[v]).len(), n as usize);
        let cycle: Vec<Vec<u32>> = (0..n).map(|v| vec![(v + 1) % n]).collect();
        assert_eq!(components(n as usize, |v| &cycle[v]).len(), 1);
    }
}
