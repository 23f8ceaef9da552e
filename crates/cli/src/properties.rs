//! Room `cli`: which properties are checked.

use crate::input::Input;
use postbop_front::{Names, properties};
use postbop_ir::{Ask, LocId, Query};
use std::collections::HashSet;

/// The properties that the user names, each once, or else those that are checked by default. `Err` says what is wrong with a name.
pub fn queries(input: &Input, named: &[String]) -> Result<Vec<Query>, String> {
    if named.is_empty() {
        return Ok(properties(&input.program, input.text()));
    }
    let names = Names::new(&input.program, input.text());
    let mut asked = HashSet::new();
    let once = named.iter().filter(|name| asked.insert(name.as_str()));
    once.map(|name| names.property(name)).collect()
}

/// The locations of all properties that the user names, or else of those that are checked by default. `Err` if one of them is not about what can be
/// reached.
pub fn targets(input: &Input, named: &[String]) -> Result<Vec<LocId>, String> {
    let mut targets = Vec::new();
    for query in queries(input, named)? {
        match query.ask {
            Ask::Reach(locs) => targets.extend(locs),
            Ask::Recur(_) => return Err(format!("{} is not about what can be reached", query.name)),
        }
    }
    Ok(targets)
}
