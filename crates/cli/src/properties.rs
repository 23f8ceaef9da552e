//! Room `cli`: which properties are checked.

use crate::input::Input;
use postbop_front::{Names, properties};
use postbop_ir::Query;
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
