//! Room `front/horn`: terms to expressions.
//!
//! A term is a graph, an expression is a tree. A part that is used several times and is not small is computed once, into a variable of its own; so is
//! what functions on single bits are applied to. Such a function becomes a sum, bit by bit: bit i of a vector x of k bits is whether x · 2^(k-1-i) is at least 2^(k-1).

use super::term::{Fun, Term, TermId, Terms, VarNo};
use postbop_ir::{Op, Type};
use rustc_hash::FxHashMap;

/// Larger terms that are used twice are computed once.
const SMALL: usize = 16;

/// What a variable of a clause is.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// The value of a variable of the program.
    Op(Op),
    /// The value of a term.
    Term(TermId),
}

/// What the variables of a clause are, and which terms have been computed.
#[derive(Default)]
pub struct Scope {
    /// The variables that are known.
    pub vars: FxHashMap<VarNo, Bound>,
    /// The terms that have variables.
    pub made: FxHashMap<TermId, Op>,
}

impl Scope {
    /// What a term is made of, with what its variables stand for.
    fn operands<'t>(&'t self, terms: &'t Terms, id: TermId) -> &'t [TermId] {
        if self.made.contains_key(&id) {
            return &[];
        }
        match terms.get(id) {
            Term::Var(var) => match self.vars.get(var) {
                Some(Bound::Term(term)) => std::slice::from_ref(term),
                _ => &[],
            },
            _ => terms.operands(id),
        }
    }

    /// The terms that these are made of, operands first, each once.
    fn order(&self, terms: &Terms, roots: &[TermId]) -> Vec<TermId> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut order = Vec::new();
        let mut work: Vec<(TermId, bool)> = roots.iter().rev().map(|&root| (root, false)).collect();
        while let Some((id, is_done)) = work.pop() {
            if is_done {
                order.push(id);
            } else if seen.insert(id) {
                work.push((id, true));
                work.extend(self.operands(terms, id).iter().map(|&operand| (operand, false)));
            }
        }
        order
    }

    /// The variables without a value in these terms, in order, each once. A variable that stands for a term has a value.
    pub fn unknown(&self, terms: &Terms, roots: &[TermId]) -> Vec<VarNo> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut vars = Vec::new();
        let mut work = roots.to_vec();
        while let Some(id) = work.pop() {
            if self.made.contains_key(&id) || !seen.insert(id) {
                continue;
            }
            match terms.get(id) {
                Term::Var(var) if !self.vars.contains_key(var) => vars.push(*var),
                _ => work.extend(terms.operands(id)),
            }
        }
        vars.sort_unstable();
        vars
    }

    /// The parts of these terms that are computed first, in their order.
    pub fn parts(&self, terms: &Terms, roots: &[TermId]) -> Vec<TermId> {
        let order = self.order(terms, roots);
        let mut uses: FxHashMap<TermId, usize> = FxHashMap::default();
        let mut wanted: rustc_hash::FxHashSet<TermId> = rustc_hash::FxHashSet::default();
        roots.iter().for_each(|&root| *uses.entry(root).or_default() += 1);
        for &id in &order {
            let on_bits = matches!(terms.get(id), Term::Apply(fun, _) if is_on_bits(*fun));
            for &operand in self.operands(terms, id) {
                *uses.entry(operand).or_default() += 1;
                if on_bits && !self.is_leaf(terms, operand) {
                    wanted.insert(operand);
                }
            }
        }
        let mut sizes: FxHashMap<TermId, usize> = FxHashMap::default();
        let mut parts = Vec::new();
        for id in order {
            let below: usize = self.operands(terms, id).iter().map(|operand| sizes[operand]).sum();
            let bits = match terms.get(id) {
                Term::Apply(fun, _) if is_on_bits(*fun) => 12 * usize::from(terms.ty(id).bits().unwrap_or(1)),
                _ => 0,
            };
            let mut size = below + bits + 1;
            let shared = uses[&id] > 1 && size > SMALL;
            if wanted.contains(&id) || shared && !matches!(terms.get(id), Term::Var(_)) {
                parts.push(id);
                size = 1;
            }
            sizes.insert(id, size);
        }
        parts
    }

    /// Whether a term is one operator.
    fn is_leaf(&self, terms: &Terms, id: TermId) -> bool {
        match terms.get(id) {
            Term::Const(..) => true,
            Term::Var(var) => !matches!(self.vars.get(var), Some(Bound::Term(_))),
            _ => self.made.contains_key(&id),
        }
    }

    /// The code of a term whose variables are all known, and whose parts are computed.
    pub fn code(&self, terms: &Terms, root: TermId, out: &mut Vec<Op>) {
        enum Task {
            Emit(TermId),
            Push(Op),
        }
        let mut tasks = vec![Task::Emit(root)];
        while let Some(task) = tasks.pop() {
            let id = match task {
                Task::Push(op) => {
                    out.push(op);
                    continue;
                }
                Task::Emit(id) => id,
            };
            if let Some(&made) = self.made.get(&id) {
                out.push(made);
                continue;
            }
            match terms.get(id) {
                Term::Const(ty, number) => out.push(Op::Const(*ty, (*number).into())),
                Term::Var(var) => match self.vars[var] {
                    Bound::Op(op) => out.push(op),
                    Bound::Term(term) => tasks.push(Task::Emit(term)),
                },
                Term::Apply(fun, operands) if is_on_bits(*fun) => {
                    let leaves: Vec<(Op, Type)> = operands
                        .iter()
                        .map(|&operand| {
                            let mut leaf = Vec::new();
                            self.leaf(terms, operand, &mut leaf);
                            (leaf[0], terms.ty(operand))
                        })
                        .collect();
                    on_bits(*fun, &leaves, terms.ty(id), out);
                }
                Term::Apply(fun, operands) => {
                    let op = operator(*fun, terms.ty(operands[0]));
                    let folded = matches!(fun, Fun::And | Fun::Or);
                    // After the second operand and each that follows, or after all.
                    for (at, &operand) in operands.iter().enumerate().rev() {
                        if folded && at > 0 || !folded && at + 1 == operands.len() {
                            tasks.push(Task::Push(op));
                        }
                        tasks.push(Task::Emit(operand));
                    }
                }
                Term::Rel(..) | Term::Quantified(..) => unreachable!("clauses have no relations in terms"),
            }
        }
    }

    /// The one operator of a leaf.
    fn leaf(&self, terms: &Terms, id: TermId, out: &mut Vec<Op>) {
        match (self.made.get(&id), terms.get(id)) {
            (Some(&made), _) => out.push(made),
            (None, Term::Const(ty, number)) => out.push(Op::Const(*ty, (*number).into())),
            (None, Term::Var(var)) => match self.vars[var] {
                Bound::Op(op) => out.push(op),
                Bound::Term(_) => unreachable!("operands of functions on bits are computed first"),
            },
            _ => unreachable!("operands of functions on bits are computed first"),
        }
    }
}

fn is_on_bits(fun: Fun) -> bool {
    !matches!(
        fun,
        Fun::Not
            | Fun::And
            | Fun::Or
            | Fun::Xor
            | Fun::Eq
            | Fun::Lt
            | Fun::Le
            | Fun::Ite
            | Fun::Neg
            | Fun::Add
            | Fun::Sub
            | Fun::Mul
            | Fun::Div
            | Fun::Mod
    )
}

fn operator(fun: Fun, ty: Type) -> Op {
    match fun {
        Fun::Not => Op::Not,
        Fun::And => Op::And,
        Fun::Or => Op::Or,
        Fun::Xor => Op::Xor,
        Fun::Eq => Op::Eq,
        Fun::Lt => Op::Lt,
        Fun::Le => Op::Le,
        Fun::Ite => Op::Ite,
        Fun::Neg => Op::Neg(ty),
        Fun::Add => Op::Add(ty),
        Fun::Sub => Op::Sub(ty),
        Fun::Mul => Op::Mul(ty),
        _ => unreachable!("quotients are variables, and functions on bits are sums"),
    }
}

/// A function on bits as a sum.
fn on_bits(fun: Fun, operands: &[(Op, Type)], ty: Type, out: &mut Vec<Op>) {
    let bits = ty.bits().unwrap_or(1);
    let width = |at: usize| operands[at].1.bits().unwrap_or(1);
    out.push(Op::Const(ty, 0u32.into()));
    for at in 0..bits {
        // Which bit of which operand it is, if it is one.
        let single = match fun {
            Fun::Extract(_, low) => Some((0, at + low)),
            Fun::Concat => Some(if at < width(1) { (1, at) } else { (0, at - width(1)) }),
            Fun::ZeroExtend => Some((0, at)).filter(|_| at < width(0)),
            Fun::SignExtend => Some((0, at.min(width(0) - 1))),
            Fun::Shl(by) => at.checked_sub(by).map(|from| (0, from)),
            Fun::Lshr(by) => Some((0, at.saturating_add(by))).filter(|(_, from)| *from < bits),
            Fun::Ashr(by) => Some((0, at.saturating_add(by).min(bits - 1))),
            _ => Some((0, at)),
        };
        let Some((operand, from)) = single else { continue };
        bit(operands[operand], from, out);
        let both = match fun {
            Fun::BitAnd => Some(Op::And),
            Fun::BitOr => Some(Op::Or),
            Fun::BitXor => Some(Op::Xor),
            _ => None,
        };
        if let Some(op) = both {
            bit(operands[1], at, out);
            out.push(op);
        }
        let one = Op::Const(ty, (1i64 << at).into());
        out.extend([one, Op::Const(ty, 0u32.into()), Op::Ite, Op::Add(ty)]);
    }
}

/// Whether a bit of a vector is set.
fn bit((leaf, ty): (Op, Type), at: u8, out: &mut Vec<Op>) {
    let bits = ty.bits().unwrap_or(1);
    out.extend([Op::Const(ty, (1i64 << (bits - 1)).into()), leaf]);
    if at + 1 < bits {
        out.extend([Op::Const(ty, (1i64 << (bits - 1 - at)).into()), Op::Mul(ty)]);
    }
    out.push(Op::Le);
}
