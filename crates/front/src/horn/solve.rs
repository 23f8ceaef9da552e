//! Room `front/horn`: variables that a constraint determines.
//!
//! An equation between a variable without a value and a term whose variables have values is not tested but used: the variable is that
//! term. So is `x + c = t`, and a Boolean variable that is assumed or denied.

use super::emit::{Bound, Scope};
use super::term::{Fun, Term, TermId, Terms, VarNo};
use postbop_ir::Type;

/// How often the constraint is gone through.
const PASSES: usize = 64;

/// Takes equations out of a constraint. Whether it can be true at all, as far as that is seen here.
pub fn solve(terms: &mut Terms, scope: &mut Scope, constraint: &mut Vec<TermId>) -> bool {
    if constraint.iter().any(|&formula| terms.constant(formula) == Some(0)) {
        return false;
    }
    for _ in 0..PASSES {
        let before = constraint.len();
        let mut left = Vec::with_capacity(before);
        for formula in std::mem::take(constraint) {
            match determined(terms, scope, formula) {
                Some((var, value)) => {
                    scope.vars.insert(var, Bound::Term(value));
                }
                None => left.push(formula),
            }
        }
        *constraint = left;
        if constraint.len() == before {
            break;
        }
    }
    true
}

/// A variable without a value that a formula determines, and its value.
fn determined(terms: &mut Terms, scope: &Scope, formula: TermId) -> Option<(VarNo, TermId)> {
    if let Some(var) = open(terms, scope, formula) {
        return Some((var, terms.truth(true)));
    }
    let Term::Apply(fun, operands) = terms.get(formula) else { return None };
    match (fun, &operands[..]) {
        (Fun::Not, &[operand]) => {
            let var = open(terms, scope, operand)?;
            Some((var, terms.truth(false)))
        }
        (Fun::Eq, &[one, other]) => side(terms, scope, one, other).or_else(|| side(terms, scope, other, one)),
        _ => None,
    }
}

/// The variable that a term is, if it has no value.
fn open(terms: &Terms, scope: &Scope, term: TermId) -> Option<VarNo> {
    match terms.get(term) {
        Term::Var(var) if !scope.vars.contains_key(var) => Some(*var),
        _ => None,
    }
}

/// A variable on the left of an equation, alone or in a sum with constants.
fn side(terms: &mut Terms, scope: &Scope, left: TermId, right: TermId) -> Option<(VarNo, TermId)> {
    let (mut left, mut right) = (left, right);
    let known = |terms: &Terms, term: TermId| scope.unknown(terms, &[term]).is_empty();
    if open(terms, scope, left).is_none() && !is_sum_with_constant(terms, left) || !known(terms, right) {
        return None;
    }
    loop {
        if let Some(var) = open(terms, scope, left) {
            return Some((var, right));
        }
        let (fun, operands, ty) = match terms.get(left) {
            Term::Apply(fun @ (Fun::Add | Fun::Sub), operands) => (*fun, operands.clone(), terms.ty(left)),
            _ => return None,
        };
        let constant = |at: usize| terms.constant(operands[at]).is_some();
        let (next, by, back) = match fun {
            Fun::Add if constant(1) => (operands[0], operands[1], Fun::Sub),
            Fun::Add if constant(0) => (operands[1], operands[0], Fun::Sub),
            Fun::Sub if constant(1) => (operands[0], operands[1], Fun::Add),
            _ => return None,
        };
        right = terms.apply(back, vec![right, by], ty);
        left = next;
        debug_assert!(ty != Type::Bool, "sums are numbers");
    }
}

fn is_sum_with_constant(terms: &Terms, term: TermId) -> bool {
    match terms.get(term) {
        Term::Apply(Fun::Add | Fun::Sub, operands) => {
            operands.iter().any(|&operand| terms.constant(operand).is_some())
        }
        _ => false,
    }
}
