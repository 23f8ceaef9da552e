//! Room `xtask`: the variables and signatures of a random program.

use super::Features;
use crate::rng::Rng;

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    Bool,
    Uint(u8),
    Int(u8),
    Integer,
}

impl Ty {
    /// How much of the room for variables, or for choices, a value takes. An unbounded integer is expected to have few values.
    pub(super) fn bits(self) -> usize {
        match self {
            Ty::Bool => 1,
            Ty::Integer => 2,
            Ty::Uint(k) | Ty::Int(k) => k.into(),
        }
    }

    /// The greatest value; of unbounded integers, the greatest constant.
    pub(super) fn max(self) -> usize {
        match self {
            Ty::Bool => 1,
            Ty::Integer => 2,
            Ty::Uint(k) => (1 << k) - 1,
            Ty::Int(k) => (1 << (k - 1)) - 1,
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Ty::Bool => "bool".to_owned(),
            Ty::Uint(k) => format!("uint<{k}>"),
            Ty::Int(k) => format!("int<{k}>"),
            Ty::Integer => "int".to_owned(),
        }
    }

    /// A type of at most `bits` bits, which is not 0.
    pub(super) fn random(rng: &mut Rng, features: Features, bits: usize) -> Ty {
        if features.unbounded && bits >= Ty::Integer.bits() && rng.chance(0.6) {
            return Ty::Integer;
        }
        if !features.integers || rng.chance(0.5) {
            return Ty::Bool;
        }
        let k = rng.range(1, bits.min(3)) as u8;
        if rng.chance(0.6) { Ty::Uint(k) } else { Ty::Int(k) }
    }
}

/// A variable in scope.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub(super) name: String,
    pub(super) ty: Ty,
    /// How many elements it has, if it is an array.
    pub(super) len: Option<usize>,
}

impl Var {
    pub(super) fn bits(&self) -> usize {
        self.ty.bits() * self.len.unwrap_or(1)
    }
}

/// A parameter.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) var: Var,
    pub(super) by_ref: bool,
}

/// What callers and the body of a procedure need to know of it.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) params: Vec<Param>,
    pub(super) results: Vec<Ty>,
    pub(super) locals: Vec<Var>,
}

/// Up to `count` variables of together at most `bits` bits, named after `prefix`.
pub(super) fn variables(
    rng: &mut Rng,
    features: Features,
    prefix: &str,
    count: usize,
    mut bits: usize,
) -> Vec<Var> {
    let mut vars = Vec::new();
    while vars.len() < count && bits > 0 {
        let array = features.arrays && features.integers && bits >= 2 && rng.chance(0.15);
        let len = array.then(|| rng.range(2, 3.min(bits)));
        let ty = Ty::random(rng, features, bits / len.unwrap_or(1));
        let var = Var { name: name(rng, features, prefix, vars.len()), ty, len };
        bits -= var.bits();
        vars.push(var);
    }
    vars
}

/// Predicate names contain what the predicates of C programs contain; the prefix keeps them distinct.
fn name(rng: &mut Rng, features: Features, prefix: &str, number: usize) -> String {
    if features.spelling && rng.chance(0.08) {
        let text = *rng.pick(&[" == 0", "->next != NULL", "[i] <= j + 1", " && !'x'", " // := ;"]);
        return format!("{{{prefix}{number}{text}}}");
    }
    format!("{prefix}{number}")
}

impl Signature {
    /// A procedure that other procedures call.
    pub(super) fn random(rng: &mut Rng, features: Features, number: usize) -> Signature {
        let size = features.size;
        let total = rng.range(0, size.locals);
        let mut params = Vec::new();
        let mut locals = Vec::new();
        for var in variables(rng, features, "l", total, size.local_bits) {
            if var.len.is_none() && rng.chance(0.6) {
                params.push(Param { by_ref: features.refs && rng.chance(0.3), var });
            } else {
                locals.push(var);
            }
        }
        let count = rng.weighted(&[4, 4, 2]);
        let results = (0..count).map(|_| Ty::random(rng, features, 2)).collect();
        Signature { name: format!("p{number}"), params, results, locals }
    }

    /// The procedure that the program starts in.
    pub(super) fn main(rng: &mut Rng, features: Features) -> Signature {
        let count = rng.range(0, features.size.locals);
        let locals = variables(rng, features, "m", count, features.size.local_bits);
        Signature { name: "main".to_owned(), params: Vec::new(), results: Vec::new(), locals }
    }

    /// The heading, up to `begin`.
    pub(super) fn heading(&self, rng: &mut Rng, features: Features) -> String {
        let types: Vec<String> = self.results.iter().map(|ty| ty.name()).collect();
        let all_bool = self.results.iter().all(|&ty| ty == Ty::Bool);
        let result = match &types[..] {
            [] if features.spelling && rng.chance(0.2) => String::new(),
            [] => "void ".to_owned(),
            [one] if rng.chance(0.8) => format!("{one} "),
            list if all_bool && rng.chance(0.7) => format!("bool<{}> ", list.len()),
            list => format!("({}) ", list.join(", ")),
        };
        let params: Vec<String> = self.params.iter().map(|param| param.text(rng, features)).collect();
        format!("{result}{}({})", self.name, params.join(", "))
    }
}

impl Param {
    fn text(&self, rng: &mut Rng, features: Features) -> String {
        let mut text = String::new();
        if self.var.ty != Ty::Bool || (features.spelling && rng.chance(0.3)) {
            text += &self.var.ty.name();
            text.push(' ');
        }
        if self.by_ref {
            text += "ref ";
        }
        text + &self.var.name
    }
}
