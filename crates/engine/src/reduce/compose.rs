//! Room `engine/reduce`: consecutive edges become one.
//!
//! # Idea
//!
//! A location that only one edge enters, or only one edge leaves, can be removed: each edge that enters it is
//! composed with each edge that leaves it. There are never more edges than before, and a location less. The two
//! actions must become one action of the program graph ([`super::action`]); a call or a return is composed only
//! with an edge that does nothing.
//!
//! # Cost
//!
//! Each location once. An edge that is composed with several is written several times, so its size is limited; so is how
//! often edges are composed in all, since one that leads past many locations is composed again at each.

use super::action::{compose as both, size};
use super::draft::Draft;
use postbop_ir::LocId;
use smallvec::SmallVec;

/// An action is not copied if the copies have more operators than this.
const MOST_COPIED: usize = 48;

/// For each edge of the program as written, so often can edges be composed.
const MOST_JOINTS: usize = 8;

/// Composes wherever it makes the program smaller.
pub fn compose(draft: &mut Draft) {
    let most = MOST_JOINTS * draft.arcs.len();
    for loc in draft.task.program.locs().ids() {
        if draft.joints() > most {
            return;
        }
        pass_by(draft, loc);
    }
}

/// Removes a location, if its edges can be composed.
fn pass_by(draft: &mut Draft, loc: LocId) {
    let (entering, leaving) = draft.degrees(loc);
    if entering.min(leaving) != 1 || draft.fixed[loc.0 as usize] {
        return;
    }
    let single = if entering == 1 { draft.entering(loc).next() } else { draft.leaving(loc).next() };
    let single = single.expect("there is one");
    let others: SmallVec<[u32; 8]> = match entering == 1 {
        true => draft.leaving(loc).collect(),
        false => draft.entering(loc).collect(),
    };
    if others.contains(&single) || (others.len() - 1) * size(draft.action(single)) > MOST_COPIED {
        return;
    }
    let pair = |other| if entering == 1 { (single, other) } else { (other, single) };
    let mut composed: SmallVec<[_; 2]> = SmallVec::new();
    for &other in &others {
        let (first, second) = pair(other);
        let skips = draft.skips(first) || draft.skips(second);
        let made = if skips { None } else { both(draft, first, second) };
        if made.is_none() && !skips {
            return;
        }
        composed.push(made);
    }
    for (&other, made) in others.iter().zip(composed) {
        match made {
            Some(made) => draft.rewrite(other, made),
            None => {
                let (first, second) = pair(other);
                draft.adopt(other, first, second);
            }
        }
    }
    match entering == 1 {
        true => draft.pull(loc, single),
        false => draft.push(loc, single),
    }
}
