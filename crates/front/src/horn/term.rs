//! Room `front/horn`: terms, each made once.
//!
//! Equal terms have one number, so what a source shares by `let`, by definitions or by repeating itself is shared here, and no chain of
//! definitions makes terms exponentially large. Comparisons of all kinds become equality, less and less or equal; signed numbers are shifted by
//! half their range first, so that all vectors are unsigned.

use postbop_ir::Type;
use rustc_hash::FxHashMap;

/// The number of a term.
pub type TermId = u32;
/// The number of a variable of a clause.
pub type VarNo = u32;
/// The number of a relation.
pub type RelId = u32;

/// A function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fun {
    /// Boolean functions.
    Not,
    /// Of any number of operands.
    And,
    /// Of any number of operands.
    Or,
    /// Of two.
    Xor,
    /// Equality.
    Eq,
    /// Less, of integers or unsigned vectors.
    Lt,
    /// Less or equal.
    Le,
    /// The second or the third.
    Ite,
    /// Arithmetic, which wraps in vectors.
    Neg,
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Division by a positive constant, rounded down.
    Div,
    /// The remainder of that.
    Mod,
    /// Bitwise conjunction.
    BitAnd,
    /// Bitwise disjunction.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// The first operand above the second one.
    Concat,
    /// The bits from the first number down to the second.
    Extract(u8, u8),
    /// More bits above: zeros.
    ZeroExtend,
    /// More bits above: the sign.
    SignExtend,
    /// Moved up by so many bits.
    Shl(u8),
    /// Moved down by so many bits, zeros above.
    Lshr(u8),
    /// Moved down by so many bits, the sign above.
    Ashr(u8),
}

/// A term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Term {
    /// A constant: of an integer its value, of a vector the unsigned number.
    Const(Type, i64),
    /// A variable.
    Var(VarNo),
    /// A function of operands.
    Apply(Fun, Box<[TermId]>),
    /// A relation of arguments.
    Rel(RelId, Box<[TermId]>),
    /// A formula whose variables of this list are quantified; universally, if that is true.
    Quantified(bool, TermId),
}

/// How a term is rewritten, given its operands, rewritten, and its type.
pub type Change<'c> = dyn FnMut(&mut Terms, &Term, Vec<TermId>, Type) -> Option<TermId> + 'c;

/// All terms.
#[derive(Default)]
pub struct Terms {
    terms: Vec<Term>,
    types: Vec<Type>,
    /// Whether a relation or a quantifier is in it.
    logical: Vec<bool>,
    known: FxHashMap<Term, TermId>,
    /// The names and the types of all variables.
    pub vars: Vec<(String, Type)>,
}

impl Terms {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// A term.
    pub fn get(&self, id: TermId) -> &Term {
        &self.terms[id as usize]
    }

    /// Its type.
    pub fn ty(&self, id: TermId) -> Type {
        self.types[id as usize]
    }

    /// Whether a relation or a quantifier is in it.
    pub fn is_logical(&self, id: TermId) -> bool {
        self.logical[id as usize]
    }

    /// The terms it is made of.
    pub fn operands(&self, id: TermId) -> &[TermId] {
        match self.get(id) {
            Term::Const(..) | Term::Var(_) => &[],
            Term::Apply(_, operands) | Term::Rel(_, operands) => operands,
            Term::Quantified(_, body) => std::slice::from_ref(body),
        }
    }

    /// The number, if it is a constant.
    pub fn constant(&self, id: TermId) -> Option<i64> {
        match self.get(id) {
            Term::Const(_, number) => Some(*number),
            _ => None,
        }
    }

    fn make(&mut self, term: Term, ty: Type) -> TermId {
        if let Some(&known) = self.known.get(&term) {
            return known;
        }
        let logical = match &term {
            Term::Rel(..) | Term::Quantified(..) => true,
            Term::Apply(_, operands) => operands.iter().any(|&operand| self.is_logical(operand)),
            Term::Const(..) | Term::Var(_) => false,
        };
        let id = self.terms.len() as TermId;
        self.terms.push(term.clone());
        self.types.push(ty);
        self.logical.push(logical);
        self.known.insert(term, id);
        id
    }

    /// A constant, which its type holds.
    pub fn number(&mut self, ty: Type, number: i64) -> TermId {
        self.make(Term::Const(ty, number), ty)
    }

    /// A truth value.
    pub fn truth(&mut self, truth: bool) -> TermId {
        self.number(Type::Bool, truth.into())
    }

    /// A new variable.
    pub fn fresh(&mut self, name: &str, ty: Type) -> TermId {
        let number = self.vars.len() as VarNo;
        self.vars.push((name.to_owned(), ty));
        self.make(Term::Var(number), ty)
    }

    /// A relation of arguments.
    pub fn relation(&mut self, relation: RelId, arguments: Vec<TermId>) -> TermId {
        self.make(Term::Rel(relation, arguments.into()), Type::Bool)
    }

    /// A quantified formula.
    pub fn quantified(&mut self, universal: bool, body: TermId) -> TermId {
        self.make(Term::Quantified(universal, body), Type::Bool)
    }

    /// A function of operands, whose types are right; the type is that of its value.
    pub fn apply(&mut self, fun: Fun, operands: Vec<TermId>, ty: Type) -> TermId {
        if let Some(short) = self.shorter(fun, &operands, ty) {
            return short;
        }
        self.make(Term::Apply(fun, operands.into()), ty)
    }

    /// The negation of a formula.
    pub fn not(&mut self, formula: TermId) -> TermId {
        self.apply(Fun::Not, vec![formula], Type::Bool)
    }

    /// The same as a term that is there already, or a constant.
    fn shorter(&mut self, fun: Fun, operands: &[TermId], ty: Type) -> Option<TermId> {
        let numbers: Option<Vec<i64>> = operands.iter().map(|&operand| self.constant(operand)).collect();
        match (fun, operands) {
            (Fun::And | Fun::Or, [only]) => return Some(*only),
            (Fun::And | Fun::Or, []) => return Some(self.truth(fun == Fun::And)),
            (Fun::Not, [operand]) => {
                if let Term::Apply(Fun::Not, inner) = self.get(*operand) {
                    return Some(inner[0]);
                }
            }
            (Fun::Eq, [one, other]) if one == other => return Some(self.truth(true)),
            (Fun::Ite, [condition, then, other]) => {
                if let Some(truth) = self.constant(*condition) {
                    return Some(if truth != 0 { *then } else { *other });
                }
            }
            _ => {}
        }
        let numbers = numbers?;
        let wide = |at: usize| i128::from(numbers[at]);
        let value = match fun {
            Fun::Not => i128::from(numbers[0] == 0),
            Fun::And => i128::from(numbers.iter().all(|&truth| truth != 0)),
            Fun::Or => i128::from(numbers.iter().any(|&truth| truth != 0)),
            Fun::Xor => i128::from(numbers[0] != numbers[1]),
            Fun::Eq => i128::from(numbers[0] == numbers[1]),
            Fun::Lt => i128::from(numbers[0] < numbers[1]),
            Fun::Le => i128::from(numbers[0] <= numbers[1]),
            Fun::Neg => -wide(0),
            Fun::Add => wide(0) + wide(1),
            Fun::Sub => wide(0) - wide(1),
            Fun::Mul => wide(0) * wide(1),
            _ => return None,
        };
        // A sum of constants that is too large stays as it is.
        let value = ty.wrap(value)?;
        Some(self.number(ty, value.get()))
    }

    /// A term with other terms in place of variables. Nothing is made twice.
    pub fn substitute(&mut self, root: TermId, values: &FxHashMap<VarNo, TermId>) -> TermId {
        self.rewrite(root, &mut FxHashMap::default(), &mut |terms, term, operands, ty| match *term {
            Term::Var(var) => values.get(&var).copied(),
            Term::Apply(fun, _) => Some(terms.apply(fun, operands, ty)),
            _ => None,
        })
    }

    /// A term rewritten from its leaves to its root. The change is given a term, its operands, rewritten, and its type; if it has nothing to say, the
    /// term is put together again. `done` has the terms that were rewritten before.
    pub fn rewrite(
        &mut self,
        root: TermId,
        done: &mut FxHashMap<TermId, TermId>,
        change: &mut Change,
    ) -> TermId {
        let mut work = vec![root];
        while let Some(&id) = work.last() {
            if done.contains_key(&id) {
                work.pop();
                continue;
            }
            let open: Vec<TermId> =
                self.operands(id).iter().copied().filter(|operand| !done.contains_key(operand)).collect();
            if !open.is_empty() {
                work.extend(open);
                continue;
            }
            work.pop();
            let (term, ty) = (self.get(id).clone(), self.ty(id));
            let operands: Vec<TermId> = self.operands(id).iter().map(|operand| done[operand]).collect();
            let changed = change(self, &term, operands.clone(), ty);
            let made = changed.unwrap_or_else(|| match term {
                Term::Const(..) | Term::Var(_) => id,
                Term::Apply(fun, _) => self.apply(fun, operands, ty),
                Term::Rel(relation, _) => self.relation(relation, operands),
                Term::Quantified(universal, _) => self.quantified(universal, operands[0]),
            });
            done.insert(id, made);
        }
        done[&root]
    }
}
