//! Room `validate`: Boolean functions, and numbers as lists of them.
//!
//! A function is a gate or its negation. Each gate is made once: what can be seen to be constant, or equal to something that is there, is not
//! made at all. There are two kinds, conjunctions of many and choices between two, because these are what sets are made of.

use hashbrown::HashTable;
use postbop_ir::{Op, Type, Value};
#[cfg(test)]
use std::collections::HashMap;
use std::hash::Hasher;
use std::ops::Not;
use std::rc::Rc;

/// A gate, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lit(u32);

impl Lit {
    /// What is always true.
    pub const TRUE: Lit = Lit(0);
    /// What is never true.
    pub const FALSE: Lit = Lit(1);

    /// The gate of this number.
    pub fn of(number: usize) -> Lit {
        Lit((number as u32) << 1)
    }

    /// A number that tells it from all others.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The number of the gate.
    pub fn gate(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether it is the negation of its gate.
    pub fn is_negated(self) -> bool {
        self.0 & 1 != 0
    }

    /// The negation if `flip`.
    pub fn flip(self, flip: bool) -> Lit {
        Lit(self.0 ^ flip as u32)
    }
}

impl Not for Lit {
    type Output = Lit;
    fn not(self) -> Lit {
        self.flip(true)
    }
}

/// What a gate computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate<'g> {
    /// Nothing: it may be true or false. The number is its rank ([`crate::diagrams`]).
    Input(u32),
    /// Whether all are true.
    And(&'g [Lit]),
    /// The second where the first is true, else the third.
    Ite([Lit; 3]),
}

/// The same, with what it computes with kept elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Input(u32),
    And,
    Ite,
}

/// The bits of a value, the least significant first; numbers are two's complement.
pub type Bits = Rc<[Lit]>;

/// All gates.
pub struct Gates {
    kinds: Vec<Kind>,
    /// What gates compute with, one gate after the other, and where the part of each ends.
    below: Vec<Lit>,
    ends: Vec<usize>,
    known: HashTable<u32>,
}

impl Gates {
    /// No gates but the constant.
    pub fn new() -> Self {
        // Gate 0 is the constant; nobody asks what it computes.
        Gates { kinds: vec![Kind::Input(0)], below: Vec::new(), ends: vec![0], known: HashTable::new() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// What a gate computes.
    pub fn gate(&self, number: usize) -> Gate<'_> {
        match (self.kinds[number], self.below(number)) {
            (Kind::Input(rank), _) => Gate::Input(rank),
            (Kind::Ite, &[c, a, b]) => Gate::Ite([c, a, b]),
            (_, all) => Gate::And(all),
        }
    }

    /// The gates that a gate computes with.
    pub fn below(&self, number: usize) -> &[Lit] {
        let from = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.below[from..self.ends[number]]
    }

    /// A new input of this rank.
    pub fn input(&mut self, rank: u32) -> Lit {
        self.push(Kind::Input(rank), &[])
    }

    fn push(&mut self, kind: Kind, below: &[Lit]) -> Lit {
        self.kinds.push(kind);
        self.below.extend(below);
        self.ends.push(self.below.len());
        Lit::of(self.len() - 1)
    }

    fn make(&mut self, kind: Kind, below: &[Lit]) -> Lit {
        let hash = hash_of(kind, below);
        let same = |&number: &u32| {
            let number = number as usize;
            self.kinds[number] == kind && self.below(number) == below
        };
        if let Some(&known) = self.known.find(hash, same) {
            return Lit::of(known as usize);
        }
        let own = self.push(kind, below);
        let Gates { kinds, below, ends, known } = self;
        let again = |&number: &u32| {
            let number = number as usize;
            hash_of(kinds[number], &below[ends[number - 1]..ends[number]])
        };
        known.insert_unique(hash, own.gate() as u32, again);
        own
    }

    /// Whether all are true.
    pub fn and(&mut self, mut all: Vec<Lit>) -> Lit {
        all.retain(|&lit| lit != Lit::TRUE);
        all.sort_unstable();
        all.dedup();
        // A gate and its negation are neighbours.
        if all.contains(&Lit::FALSE) || all.windows(2).any(|pair| pair[0] == !pair[1]) {
            return Lit::FALSE;
        }
        match all[..] {
            [] => Lit::TRUE,
            [only] => only,
            _ => self.make(Kind::And, &all),
        }
    }

    /// Whether both are true.
    fn both(&mut self, a: Lit, b: Lit) -> Lit {
        match (a.min(b), a.max(b)) {
            (Lit::TRUE, b) => b,
            (Lit::FALSE, _) => Lit::FALSE,
            (a, b) if a == b => a,
            (a, b) if a == !b => Lit::FALSE,
            (a, b) => self.make(Kind::And, &[a, b]),
        }
    }

    fn either(&mut self, a: Lit, b: Lit) -> Lit {
        !self.both(!a, !b)
    }

    /// `a` where the condition is true, else `b`.
    pub fn ite(&mut self, mut condition: Lit, mut a: Lit, mut b: Lit) -> Lit {
        if condition.is_negated() {
            (condition, a, b) = (!condition, b, a);
        }
        if a.gate() == condition.gate() {
            a = Lit::TRUE.flip(a.is_negated());
        }
        if b.gate() == condition.gate() {
            b = Lit::FALSE.flip(b.is_negated());
        }
        self.ite_plain(condition, a, b)
    }

    /// The same for a condition that is no negation.
    fn ite_plain(&mut self, condition: Lit, a: Lit, b: Lit) -> Lit {
        match (a, b) {
            _ if a == b => a,
            _ if condition == Lit::TRUE => a,
            (Lit::TRUE, _) => self.either(condition, b),
            (Lit::FALSE, _) => self.both(!condition, b),
            (_, Lit::TRUE) => self.either(!condition, a),
            (_, Lit::FALSE) => self.both(condition, a),
            _ => {
                let flip = a.is_negated();
                self.make(Kind::Ite, &[condition, a.flip(flip), b.flip(flip)]).flip(flip)
            }
        }
    }

    fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let flip = a.is_negated() ^ b.is_negated();
        let (a, b) = (a.flip(a.is_negated()), b.flip(b.is_negated()));
        let (a, b) = (a.min(b), a.max(b));
        self.ite(a, !b, b).flip(flip)
    }

    /// Whether two values are the same.
    pub fn same(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let all = a.iter().zip(b).map(|(&a, &b)| !self.xor(a, b)).collect();
        self.and(all)
    }

    /// The sum of two numbers and a carry, without what goes beyond their bits.
    fn add(&mut self, a: &[Lit], b: &[Lit], mut carry: Lit) -> Vec<Lit> {
        let mut sum = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let half = self.xor(a, b);
            sum.push(self.xor(half, carry));
            carry = self.ite(half, carry, a);
        }
        sum
    }

    fn multiply(&mut self, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        let mut sum = vec![Lit::FALSE; a.len()];
        for (shift, &digit) in b.iter().enumerate() {
            let mut row = vec![Lit::FALSE; shift];
            row.extend(a[..a.len() - shift].iter().map(|&a| self.both(a, digit)));
            sum = self.add(&sum, &row, Lit::FALSE);
        }
        sum
    }

    /// Whether one number is less than another.
    fn less(&mut self, a: &[Lit], b: &[Lit], signed: bool) -> Lit {
        let mut less = Lit::FALSE;
        let top = a.len() - 1;
        for (at, (&a, &b)) in a.iter().zip(b).enumerate() {
            // The first bit of a signed number counts the other way round.
            let (a, b) = if signed && at == top { (b, a) } else { (a, b) };
            let differ = self.xor(a, b);
            less = self.ite(differ, b, less);
        }
        less
    }

    /// The value of an operator that has operands, and its type.
    pub fn apply(&mut self, op: Op, operands: &[(Type, Bits)]) -> (Type, Bits) {
        let bool = |lit: Lit| (Type::Bool, Bits::from([lit]));
        let signed = matches!(operands[0].0, Type::Int(_));
        match (op, operands) {
            (Op::Not, [(_, a)]) => bool(!a[0]),
            (Op::And, [(_, a), (_, b)]) => bool(self.both(a[0], b[0])),
            (Op::Or, [(_, a), (_, b)]) => bool(self.either(a[0], b[0])),
            (Op::Xor, [(_, a), (_, b)]) => bool(self.xor(a[0], b[0])),
            (Op::Eq, [(_, a), (_, b)]) => bool(self.same(a, b)),
            (Op::Lt, [(_, a), (_, b)]) => bool(self.less(a, b, signed)),
            (Op::Le, [(_, a), (_, b)]) => bool(!self.less(b, a, signed)),
            (Op::Neg(ty), [(_, a)]) => {
                let (zero, minus) = (vec![Lit::FALSE; a.len()], negated(a));
                (ty, self.add(&zero, &minus, Lit::TRUE).into())
            }
            (Op::Add(ty), [(_, a), (_, b)]) => (ty, self.add(a, b, Lit::FALSE).into()),
            (Op::Sub(ty), [(_, a), (_, b)]) => (ty, self.add(a, &negated(b), Lit::TRUE).into()),
            (Op::Mul(ty), [(_, a), (_, b)]) => (ty, self.multiply(a, b).into()),
            (Op::Ite, [(_, c), (ty, a), (_, b)]) => {
                let bits = a.iter().zip(b.iter()).map(|(&a, &b)| self.ite(c[0], a, b));
                (*ty, bits.collect())
            }
            _ => unreachable!("a program is well formed"),
        }
    }
}

fn negated(bits: &[Lit]) -> Vec<Lit> {
    bits.iter().map(|&bit| !bit).collect()
}

/// The bits of a number.
pub fn constant(width: u8, value: Value) -> Bits {
    (0..width).map(|bit| Lit::FALSE.flip(value.get() >> bit & 1 != 0)).collect()
}

fn hash_of(kind: Kind, below: &[Lit]) -> u64 {
    let mut hash = Mix::default();
    hash.write_u64((kind == Kind::Ite).into());
    for pair in below.chunks(2) {
        let second = pair.get(1).map_or(0, |lit| u64::from(lit.number()));
        hash.write_u64(u64::from(pair[0].number()) | second << 32);
    }
    hash.finish()
}

/// A quick hash of small numbers.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.chunks(8).for_each(|chunk| {
            let word = chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            self.write_u64(word);
        });
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
impl Gates {
    /// The value of a gate under values of the inputs.
    pub fn value(&self, inputs: &HashMap<usize, bool>, lit: Lit) -> bool {
        let mut values = vec![true];
        for at in 1..self.len() {
            let of = |lit: &Lit| values[lit.gate()] != lit.is_negated();
            values.push(match self.gate(at) {
                Gate::Input(_) => inputs[&at],
                Gate::And(all) => all.iter().all(of),
                Gate::Ite([c, a, b]) => of(if of(&c) { &a } else { &b }),
            });
        }
        values[lit.gate()] != lit.is_negated()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::eval::{Cell, Env, eval};
    use postbop_ir::{Expr, VarId};

    struct Nothing;
    impl Env for Nothing {
        fn current(&self, _: VarId) -> Cell {
            Cell::Any
        }
        fn next(&self, _: VarId) -> Cell {
            Cell::Any
        }
    }

    #[test]
    fn operators_do_what_the_program_means() {
        for ty in [Type::Int(1), Type::Uint(1), Type::Int(3), Type::Uint(3)] {
            let ops = [Op::Eq, Op::Lt, Op::Le, Op::Neg(ty), Op::Add(ty), Op::Sub(ty), Op::Mul(ty)];
            let width = ty.bits().unwrap();
            for op in ops {
                let mut gates = Gates::new();
                let mut input = || -> Bits { (0..width).map(|_| gates.input(0)).collect() };
                let (a, b) = (input(), input());
                let operands = [(ty, a.clone()), (ty, b.clone())];
                let (of, bits) = gates.apply(op, &operands[..op.arity()]);
                for (x, y) in ty.values().flat_map(|x| ty.values().map(move |y| (x, y))) {
                    let mut inputs = HashMap::new();
                    for (bits, value) in [(&a, x), (&b, y)] {
                        let pairs = bits.iter().enumerate();
                        inputs.extend(pairs.map(|(at, bit)| (bit.gate(), value.get() >> at & 1 != 0)));
                    }
                    let mut code = vec![Op::Const(ty, x), Op::Const(ty, y)];
                    code.truncate(op.arity());
                    code.push(op);
                    let expected = eval(&Expr::new(code), &Nothing, &mut std::iter::empty());
                    let expected = expected.unwrap().known().unwrap();
                    let found = bits.iter().map(|&bit| gates.value(&inputs, bit));
                    let expected: Vec<bool> =
                        (0..of.bits().unwrap()).map(|bit| expected.get() >> bit & 1 != 0).collect();
                    assert_eq!(found.collect::<Vec<_>>(), expected, "{op:?} {ty} {x} {y}");
                }
            }
        }
    }

    #[test]
    fn choices_are_made_simple_and_mean_the_same() {
        let mut gates = Gates::new();
        let inputs = [gates.input(0), gates.input(0), gates.input(0)];
        let all: Vec<Lit> =
            inputs.iter().flat_map(|&lit| [lit, !lit]).chain([Lit::TRUE, Lit::FALSE]).collect();
        for (&c, &a, &b) in all
            .iter()
            .flat_map(|c| all.iter().map(move |a| (c, a)))
            .flat_map(|(c, a)| all.iter().map(move |b| (c, a, b)))
        {
            let made = gates.ite(c, a, b);
            for row in 0..8 {
                let values: HashMap<usize, bool> =
                    inputs.iter().enumerate().map(|(at, lit)| (lit.gate(), row >> at & 1 != 0)).collect();
                let of = |lit: Lit| gates.value(&values, lit);
                let expected = if of(c) { of(a) } else { of(b) };
                assert_eq!(of(made), expected, "{c:?} {a:?} {b:?}");
            }
        }
    }
}
