//! Room `cli`: which properties are checked.

use crate::input::Input;
use postbop_front::{properties, property};
use postbop_ir::Query;
use std::collections::HashMap;

/// The properties that the user names, or else those that are checked by default. `Err` says what is wrong with a name.
pub fn queries(input: &Input, named: &[String]) -> Result<Vec<Query>, String> {
    if named.is_empty() {
        return Ok(properties(&input.program, input.text()));
    }
    if let [name] = named {
        return Ok(vec![property(&input.program, input.text(), name)?]);
    }
    let usual = properties(&input.program, input.text()).into_iter();
    let usual: HashMap<String, Query> = usual.map(|query| (query.name.clone(), query)).collect();
    let query = |name: &String| match usual.get(name) {
        Some(query) => Ok(query.clone()),
        None => property(&input.program, input.text(), name),
    };
    named.iter().map(query).collect()
}
