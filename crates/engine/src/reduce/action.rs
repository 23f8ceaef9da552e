//! Room `engine/reduce`: two actions after one another as one.
//!
//! # Idea
//!
//! An assumption is an assignment without targets, with a constraint; `havoc` is an assignment of choices. Of two
//! assignments, where the second reads a variable that the first one writes, the value that is written is put in its place.
//! In a constraint the new value can be named instead (`Next`), if the second does not overwrite it.
//!
//! A value with a choice may be written down once only: it is chosen once.

use super::draft::{Draft, Made};
use postbop_ir::{Action, Expr, Op, Program, Type, Value, VarId};
use smallvec::{SmallVec, smallvec};

/// A composed action has at most so many operators ...
const MOST_OPERATORS: usize = 64;
/// ... and chooses at most so many bits, unless one of its parts did.
const MOST_CHOSEN: usize = 8;

/// Whether an action does nothing.
pub fn is_skip(action: &Action) -> bool {
    matches!(action, Action::Assume(Expr { code }) if matches!(**code, [Op::Const(_, value)] if value.is_true()))
}

/// Whether no run gets past an action.
pub fn blocks(action: &Action) -> bool {
    matches!(action, Action::Assume(Expr { code }) if matches!(**code, [Op::Const(_, Value::FALSE)]))
}

/// The number of operators of an action.
pub fn size(action: &Action) -> usize {
    match action {
        Action::Havoc(vars) => vars.len(),
        _ => action.exprs().map(|expr| expr.code.len()).sum(),
    }
}

/// An expression, and for each of its choices the number among those of its run.
#[derive(Clone, Copy)]
struct Fragment<'a> {
    code: &'a [Op],
    origins: &'a [u32],
}

/// An action as a parallel assignment.
struct Block<'a> {
    targets: &'a [VarId],
    values: SmallVec<[Fragment<'a>; 4]>,
    constraint: Option<Fragment<'a>>,
}

/// The numbers of choices, where each choice is itself.
const SAME: &[u32] = &{
    let mut numbers = [0; 256];
    let mut at = 0;
    while at < 256 {
        numbers[at] = at as u32;
        at += 1;
    }
    numbers
};

const CHOSEN_BOOL: &[Op] = &[Op::Choice(Type::Bool)];

impl<'a> Block<'a> {
    /// The action of an arc as an assignment; none if it is a call or a return.
    fn new(draft: &'a Draft, arc: u32) -> Option<Self> {
        let action = draft.action(arc);
        let mut origins = draft.origins(arc).unwrap_or(SAME);
        let mut fragment = |code: &'a [Op]| {
            let count = code.iter().filter(|op| matches!(op, Op::Choice(_))).count();
            let (own, rest) = origins.split_at_checked(count)?;
            origins = rest;
            Some(Fragment { code, origins: own })
        };
        let (targets, values, constraint): (&[VarId], _, _) = match action {
            Action::Assume(condition) => (&[], SmallVec::new(), Some(fragment(&condition.code)?)),
            Action::Assign { targets, values, constraint } => {
                let values: Option<_> = values.iter().map(|value| fragment(&value.code)).collect();
                let constraint = match constraint {
                    Some(constraint) => Some(fragment(&constraint.code)?),
                    None => None,
                };
                (targets, values?, constraint)
            }
            Action::Havoc(vars) => {
                let is_bool = |var: &VarId| draft.task.program.vars()[*var].ty == Type::Bool;
                let values: Option<_> =
                    vars.iter().map(|var| fragment(CHOSEN_BOOL).filter(|_| is_bool(var))).collect();
                (vars, values?, None)
            }
            Action::Call { .. } | Action::Return(_) => return None,
        };
        Some(Block { targets, values, constraint })
    }

    fn value(&self, var: VarId) -> Option<(usize, Fragment<'a>)> {
        let at = self.targets.iter().position(|&target| target == var)?;
        Some((at, self.values[at]))
    }
}

/// Writes the expressions of a composed action.
struct Writer {
    code: SmallVec<[Op; 32]>,
    origins: Vec<u32>,
    written: usize,
    /// How often each value of the first action is computed.
    uses: SmallVec<[u32; 8]>,
}

/// Which of the two actions an expression belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    Second,
}

impl Writer {
    /// Writes down an expression of one of the actions, in terms of the composed one. `shift` is added to the numbers of
    /// its choices. `constrains` says that new values can be named.
    fn write(&mut self, a: &Block, b: &Block, fragment: Fragment, turn: Turn, shift: u32, constrains: bool) {
        let mut origins = fragment.origins.iter();
        for &op in fragment.code {
            let stored = match (op, turn) {
                (Op::Var(var), Turn::Second) | (Op::Next(var), Turn::First) => {
                    a.value(var).map(|found| (var, found))
                }
                _ => None,
            };
            match (op, stored) {
                (_, Some((var, (at, value)))) => {
                    let simple = value.code.len() == 1 && value.origins.is_empty();
                    if constrains && !simple && !b.targets.contains(&var) {
                        self.code.push(Op::Next(var));
                    } else {
                        self.uses[at] += 1;
                        self.code.extend_from_slice(value.code);
                        self.origins.extend_from_slice(value.origins);
                    }
                }
                (Op::Choice(_), None) => {
                    self.origins.push(origins.next().expect("each choice has its number") + shift);
                    self.code.push(op);
                }
                _ => self.code.push(op),
            }
        }
    }

    fn take(&mut self) -> Expr {
        self.written += self.code.len();
        let expr = Expr::new(self.code.as_slice());
        self.code.clear();
        expr
    }
}

/// The actions of two arcs, one after the other, as one action, if there is one.
pub fn compose(draft: &Draft, first: u32, second: u32) -> Option<Made> {
    let (a, b) = (Block::new(draft, first)?, Block::new(draft, second)?);
    if size(draft.action(first)) + size(draft.action(second)) > MOST_OPERATORS {
        return None;
    }
    let shift = draft.choices(first);
    let count = a.targets.len() + b.targets.len();
    let (mut targets, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut writer = Writer {
        code: SmallVec::new(),
        origins: Vec::new(),
        written: 0,
        uses: smallvec![0; a.targets.len()],
    };
    for (at, (&var, &value)) in a.targets.iter().zip(&a.values).enumerate() {
        if !b.targets.contains(&var) {
            writer.uses[at] += 1;
            writer.code.extend_from_slice(value.code);
            writer.origins.extend_from_slice(value.origins);
            targets.push(var);
            values.push(writer.take());
        }
    }
    for (&var, &value) in b.targets.iter().zip(&b.values) {
        writer.write(&a, &b, value, Turn::Second, shift, false);
        targets.push(var);
        values.push(writer.take());
        if writer.written > MOST_OPERATORS {
            return None;
        }
    }
    if let Some(constraint) = a.constraint {
        writer.write(&a, &b, constraint, Turn::First, 0, true);
    }
    if let Some(constraint) = b.constraint {
        writer.write(&a, &b, constraint, Turn::Second, shift, true);
        writer.code.extend(a.constraint.map(|_| Op::And));
    }
    let constraint = (!writer.code.is_empty()).then(|| writer.take());
    let once = a.values.iter().zip(&writer.uses).all(|(value, &uses)| uses <= 1 || value.origins.is_empty());
    let chosen = |action: &Action| bits(draft.task.program, action);
    let action = match targets.is_empty() {
        true => Action::Assume(constraint.unwrap_or_else(|| Expr::bool(true))),
        false => Action::Assign { targets, values, constraint },
    };
    let few = writer.origins.is_empty()
        || chosen(&action) <= MOST_CHOSEN.max(chosen(draft.action(first))).max(chosen(draft.action(second)));
    let made = Made { action, origins: writer.origins.into(), choices: shift + draft.choices(second) };
    (once && few && writer.written <= MOST_OPERATORS).then_some(made)
}

/// How many bits an action chooses.
fn bits(program: &Program, action: &Action) -> usize {
    let width = |ty: Type| ty.bits().map_or(64, usize::from);
    match action {
        Action::Havoc(vars) => vars.iter().map(|&var| width(program.vars()[var].ty)).sum(),
        _ => action.exprs().flat_map(Expr::choices).map(width).sum(),
    }
}
