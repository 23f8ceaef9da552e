//! Room `cli`: which locations must not be reached.

use crate::input::Input;
use postbop_front::{Property, properties, property};
use postbop_ir::{Program, Target};

/// The targets that the user names, or else those that are checked by default. `Err` says what is wrong with a name.
pub fn targets(input: &Input, program: &Program, named: &[String]) -> Result<Vec<Target>, String> {
    if named.is_empty() {
        return Ok(properties(program, &input.text).into_iter().map(target).collect());
    }
    named.iter().map(|name| property(program, &input.text, name).map(target)).collect()
}

fn target(Property { name, locs }: Property) -> Target {
    Target { name, locs }
}
