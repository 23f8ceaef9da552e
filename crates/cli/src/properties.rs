//! Room `cli`: which properties are checked.

use crate::input::Input;
use postbop_front::{properties, property};
use postbop_ir::Query;

/// The properties that the user names, or else those that are checked by default. `Err` says what is wrong with a name.
pub fn queries(input: &Input, named: &[String]) -> Result<Vec<Query>, String> {
    if named.is_empty() {
        return Ok(properties(&input.program, input.text()));
    }
    named.iter().map(|name| property(&input.program, input.text(), name)).collect()
}
