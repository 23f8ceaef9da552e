//! Room `cli/report`: what people and programs get to see.

pub mod diagnostics;
pub mod json;
pub mod story;
pub mod text;
