//! Room `cli/report`: steps that repeat themselves.
//!
//! A loop that is run a million times is told once. Steps are alike if they take the same edges; what they change may
//! differ, and the last round is shown again after those that are left out.

use postbop_ir::Step;
use std::collections::BTreeMap;

/// The longest round that is looked for.
const LONGEST: usize = 40;
/// Rounds are left out if at least so many of them, and so many lines in all, would be.
const FEWEST: usize = 3;
const LINES: usize = 12;

/// Where steps are those before them once more: the first such step, with how many steps are in a round and how many
/// rounds can be left out, so that the last one is still shown. Calls that come back within a context are told as one
/// step and looked at as such only at their beginning, so where there are some nothing is left out.
pub fn repeats(steps: &[Step], returns: &BTreeMap<usize, usize>) -> BTreeMap<usize, (usize, usize)> {
    let mut found = BTreeMap::new();
    if !returns.is_empty() {
        return found;
    }
    let mut at = 0;
    while at < steps.len() {
        let Some((period, rounds)) = round(&steps[at..]) else {
            at += 1;
            continue;
        };
        // The first round and the last one are shown.
        found.insert(at + period, (period, rounds - 2));
        at += period * rounds;
    }
    found
}

/// The shortest round with which steps begin that is worth leaving out, and how often it comes.
fn round(steps: &[Step]) -> Option<(usize, usize)> {
    (1..=LONGEST.min(steps.len() / 2)).find_map(|period| {
        let same = |at: &usize| steps[*at].edge == steps[at - period].edge;
        // A round that does not come twice is seen at once.
        if !same(&period) {
            return None;
        }
        let alike = (period..steps.len()).take_while(same).count();
        let rounds = 1 + alike / period;
        (rounds >= FEWEST + 2 && (rounds - 2) * period >= LINES).then_some((period, rounds))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::EdgeId;

    fn steps(edges: &[u32]) -> Vec<Step> {
        edges.iter().map(|&edge| Step::new(EdgeId(edge), Vec::new())).collect()
    }

    #[test]
    fn the_rounds_of_a_loop_but_the_first_and_the_last() {
        let mut edges = vec![7, 8];
        (0..100).for_each(|_| edges.extend([1, 2, 3]));
        edges.push(9);
        let found = repeats(&steps(&edges), &BTreeMap::new());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(5, (3, 98))]);
    }

    #[test]
    fn what_hardly_repeats_is_shown() {
        assert!(repeats(&steps(&[1, 2, 1, 2, 1, 2, 1, 2]), &BTreeMap::new()).is_empty());
        assert!(repeats(&steps(&[1; 13]), &BTreeMap::new()).is_empty());
        assert_eq!(repeats(&steps(&[1; 14]), &BTreeMap::new())[&1], (1, 12));
    }
}
