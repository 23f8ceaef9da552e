//! Room `front/horn`: formulas to clauses.
//!
//! # Idea
//! A formula that is asserted is a *goal*, with nothing to assume. A goal that is a disjunction assumes the negations of all its members but one; a
//! conjunction is several goals; a universal quantifier is dropped, since its variables have names of their own. When the goal is a relation
//! or false, what was assumed is taken apart in the same way: conjunctions are lists, existential quantifiers are dropped, a disjunction in which
//! there are relations makes several clauses. A relation that is negated among what is assumed is what follows, if nothing else does. What has no relation in it is a constraint.
//!
//! Quotients by constants become variables: x div c is the one q with c·q ≤ x < c·q + c.

use super::term::{Fun, RelId, Term, TermId, Terms};
use crate::diagnostic::{Code, Diagnostic};
use postbop_ir::{Span, Type};
use rustc_hash::FxHashMap;

/// The most clauses that one formula may make.
const MOST: usize = 10_000;

/// A relation with its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atom {
    /// The relation.
    pub relation: RelId,
    /// Its arguments.
    pub arguments: Vec<TermId>,
}

/// A clause: premises and constraint imply the head, or false if there is none.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The relations that are assumed.
    pub premises: Vec<Atom>,
    /// The formulas without relations that are assumed.
    pub constraint: Vec<TermId>,
    /// What follows.
    pub head: Option<Atom>,
    /// Where it stands.
    pub span: Span,
}

/// A clause that is not taken apart yet.
#[derive(Clone, Default)]
struct Draft {
    goal: Option<TermId>,
    assumed: Vec<TermId>,
    premises: Vec<Atom>,
    constraint: Vec<TermId>,
}

fn not_horn<T>(span: Span, message: &str) -> Result<T, Box<Diagnostic>> {
    Err(Box::new(Diagnostic::new(Code::NotHorn, span, message)))
}

/// The clauses of a formula.
pub fn clauses(
    terms: &mut Terms,
    root: TermId,
    span: Span,
    out: &mut Vec<Clause>,
) -> Result<(), Box<Diagnostic>> {
    let mut drafts = vec![Draft { goal: Some(root), ..Draft::default() }];
    let before = out.len();
    while let Some(mut draft) = drafts.pop() {
        if out.len() - before + drafts.len() > MOST {
            let message = format!("this is more than {MOST} clauses");
            return Err(Box::new(Diagnostic::new(Code::TooMany, span, message)));
        }
        let head = match draft.goal {
            None => None,
            Some(goal) => match aim(terms, goal, &mut draft, &mut drafts, span)? {
                Some(head) => head,
                None => continue,
            },
        };
        // From here on the goal is a relation or false; what was assumed may still split.
        draft.goal = head.map(|atom: Atom| terms.relation(atom.relation, atom.arguments));
        if assume(terms, &mut draft, &mut drafts, span)? {
            let Draft { goal, premises, constraint, .. } = draft;
            let head = goal.and_then(|goal| atom(terms, goal));
            let mut clause = Clause { premises, constraint, head, span };
            divide(terms, &mut clause);
            out.push(clause);
        }
    }
    Ok(())
}

/// The relation that a term applies, with its arguments.
fn atom(terms: &Terms, term: TermId) -> Option<Atom> {
    match terms.get(term) {
        Term::Rel(relation, arguments) => Some(Atom { relation: *relation, arguments: arguments.to_vec() }),
        _ => None,
    }
}

/// Takes a goal apart until it is a relation or false, which is returned; nothing, if there is nothing to show or other drafts took over.
fn aim(
    terms: &mut Terms,
    mut goal: TermId,
    draft: &mut Draft,
    drafts: &mut Vec<Draft>,
    span: Span,
) -> Result<Option<Option<Atom>>, Box<Diagnostic>> {
    loop {
        if !terms.is_logical(goal) {
            if terms.constant(goal) == Some(1) {
                return Ok(None);
            }
            let negated = terms.not(goal);
            draft.assumed.push(negated);
            return Ok(Some(None));
        }
        match terms.get(goal).clone() {
            Term::Rel(relation, arguments) => {
                return Ok(Some(Some(Atom { relation, arguments: arguments.into() })));
            }
            Term::Quantified(true, body) => goal = body,
            Term::Quantified(false, _) => return not_horn(span, "`exists` in what follows"),
            Term::Apply(Fun::Not, operands) => {
                draft.assumed.push(operands[0]);
                return Ok(Some(None));
            }
            Term::Apply(Fun::And, operands) => {
                for &operand in operands.iter().rev() {
                    drafts.push(Draft { goal: Some(operand), ..draft.clone() });
                    if drafts.len() > MOST {
                        return not_horn(span, "this is too many clauses");
                    }
                }
                return Ok(None);
            }
            Term::Apply(Fun::Or, operands) => {
                let mut positive = None;
                for &operand in &operands {
                    let negated = matches!(terms.get(operand), Term::Apply(Fun::Not, _));
                    if negated || !terms.is_logical(operand) {
                        let assumed = terms.not(operand);
                        draft.assumed.push(assumed);
                    } else if positive.replace(operand).is_some() {
                        return not_horn(span, "two relations follow from this, and one of them would do");
                    }
                }
                match positive {
                    Some(next) => goal = next,
                    None => return Ok(Some(None)),
                }
            }
            Term::Apply(Fun::Ite, operands) if !terms.is_logical(operands[0]) => {
                let otherwise = terms.not(operands[0]);
                for (condition, goal) in [(operands[0], operands[1]), (otherwise, operands[2])] {
                    let mut own = Draft { goal: Some(goal), ..draft.clone() };
                    own.assumed.push(condition);
                    drafts.push(own);
                }
                return Ok(None);
            }
            _ => return not_horn(span, "a relation inside a formula that is no implication"),
        }
    }
}

/// Takes apart what is assumed; whether that is done, and no other drafts took over.
fn assume(
    terms: &mut Terms,
    draft: &mut Draft,
    drafts: &mut Vec<Draft>,
    span: Span,
) -> Result<bool, Box<Diagnostic>> {
    while let Some(formula) = draft.assumed.pop() {
        let term = terms.get(formula).clone();
        if !terms.is_logical(formula) {
            match term {
                Term::Apply(Fun::And, operands) => draft.assumed.extend(operands.iter().rev()),
                Term::Const(_, 0) => return Ok(false),
                Term::Const(..) => {}
                _ => draft.constraint.push(formula),
            }
            continue;
        }
        match term {
            Term::Rel(relation, arguments) => {
                draft.premises.push(Atom { relation, arguments: arguments.into() });
            }
            Term::Quantified(false, body) => draft.assumed.push(body),
            Term::Quantified(true, _) => return not_horn(span, "`forall` in what is assumed"),
            Term::Apply(Fun::And, operands) => draft.assumed.extend(operands.iter().rev()),
            Term::Apply(Fun::Or, operands) => {
                for &operand in operands.iter().rev() {
                    let mut own = draft.clone();
                    own.assumed.push(operand);
                    drafts.push(own);
                    if drafts.len() > MOST {
                        return not_horn(span, "this is too many clauses");
                    }
                }
                return Ok(false);
            }
            Term::Apply(Fun::Not, operands) => match terms.get(operands[0]).clone() {
                Term::Apply(Fun::Or, inner) => {
                    for &operand in inner.iter().rev() {
                        let negated = terms.not(operand);
                        draft.assumed.push(negated);
                    }
                }
                Term::Quantified(true, body) => {
                    let negated = terms.not(body);
                    draft.assumed.push(negated);
                }
                Term::Apply(Fun::And, inner) => {
                    let any = inner.iter().map(|&operand| terms.not(operand)).collect();
                    draft.assumed.push(terms.apply(Fun::Or, any, Type::Bool));
                }
                Term::Rel(..) if draft.goal.is_none() => draft.goal = Some(operands[0]),
                _ => return not_horn(span, "a relation that is negated among what is assumed"),
            },
            _ => return not_horn(span, "a relation inside a formula that is no conjunction"),
        }
    }
    Ok(true)
}

/// Puts variables in place of quotients and remainders.
fn divide(terms: &mut Terms, clause: &mut Clause) {
    let mut side = Vec::new();
    let mut done = FxHashMap::default();
    let mut change = |terms: &mut Terms, term: &Term, operands: Vec<TermId>, ty: Type| {
        let Term::Apply(fun @ (Fun::Div | Fun::Mod), _) = *term else { return None };
        let (dividend, divisor) = (operands[0], operands[1]);
        let quotient = terms.fresh("%quotient", ty);
        let least = terms.apply(Fun::Mul, vec![divisor, quotient], ty);
        let beyond = terms.apply(Fun::Add, vec![least, divisor], ty);
        side.push(terms.apply(Fun::Le, vec![least, dividend], Type::Bool));
        side.push(terms.apply(Fun::Lt, vec![dividend, beyond], Type::Bool));
        Some(if fun == Fun::Div { quotient } else { terms.apply(Fun::Sub, vec![dividend, least], ty) })
    };
    let atoms = clause.premises.iter_mut().chain(&mut clause.head);
    let all = atoms.flat_map(|atom| atom.arguments.iter_mut()).chain(&mut clause.constraint);
    for term in all {
        *term = terms.rewrite(*term, &mut done, &mut change);
    }
    clause.constraint.extend(side);
}
