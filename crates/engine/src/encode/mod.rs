//! Room `engine/encode`: what engines know of a program before they start.

pub mod affinity;
pub mod blast;
pub mod chance;
pub mod columns;
pub mod hunt;
pub mod literals;
pub mod live;
pub mod machine;
pub mod scope;
pub mod wiring;

use crate::door::Unsupported;
use postbop_ir::{Op, Task, Type};

/// Refuses programs with threads, for engines that follow one stack.
pub fn sequential(task: &Task) -> Result<(), Unsupported> {
    match task.program.is_sequential() {
        true => Ok(()),
        false => Err(Unsupported("programs with threads".into())),
    }
}

/// Refuses programs with unbounded integers, for engines that enumerate or count bits.
pub fn bounded(task: &Task) -> Result<(), Unsupported> {
    let program = task.program;
    let unbounded = |ty: &Type| *ty == Type::Integer;
    let in_code = |op: &Op| matches!(op, Op::Const(Type::Integer, _) | Op::Choice(Type::Integer));
    let mut ops = program.edges.iter().flat_map(|edge| edge.action.exprs()).flat_map(|expr| expr.code.iter());
    if program.vars.iter().any(|var| unbounded(&var.ty))
        || program.procs.iter().any(|proc| proc.results.iter().any(unbounded))
        || ops.any(in_code)
    {
        return Err(Unsupported("unbounded integers; give them a width, as in `int<16>`".into()));
    }
    Ok(())
}
