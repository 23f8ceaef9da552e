//! Room `front/fix`: types, and what a program supplies.

use postbop_kit::calculus::DomainId;
use rustc_hash::FxHashMap as HashMap;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Values without structure.
    Domain(DomainId),
    /// Numbers, from the first to the last.
    Range(i64, i64),
    /// Named fields.
    Record(Vec<(String, Sort)>),
    /// So many of one type.
    Array(Box<Sort>, usize),
}

impl Sort {
    /// One bit.
    pub const BIT: Sort = Sort::Range(0, 1);

    /// The number of leaves: domains and ranges in it.
    pub fn leaves(&self) -> usize {
        match self {
            Sort::Domain(_) | Sort::Range(..) => 1,
            Sort::Record(fields) => fields.iter().map(|(_, sort)| sort.leaves()).sum(),
            Sort::Array(sort, length) => sort.leaves() * length,
        }
    }

    /// The number of parts: leaves, and what they are parts of.
    pub fn parts(&self) -> usize {
        match self {
            Sort::Domain(_) | Sort::Range(..) => 1,
            Sort::Record(fields) => 1 + fields.iter().map(|(_, sort)| sort.parts()).sum::<usize>(),
            Sort::Array(sort, length) => 1 + sort.parts() * (*length).max(1),
        }
    }
}

/// Some bits of a domain's values that mean something by themselves, such as one variable of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The bits, the most significant first.
    pub bits: Vec<u32>,
    /// Whether the first bit counts negative.
    pub signed: bool,
}

impl Piece {
    /// Whether the bits of another piece mean the same numbers.
    pub fn like(&self, other: &Piece) -> bool {
        (self.bits.len(), self.signed) == (other.bits.len(), other.signed)
    }
}

/// What formulas can refer to without defining it.
#[derive(Clone, Default, Debug)]
pub struct Signature {
    /// The domains. Ranges get domains of their own, in front of these.
    pub domains: Vec<postbop_kit::calculus::Domain>,
    /// Named types.
    pub sorts: Vec<(String, Sort)>,
    /// Relations and the types of their arguments.
    pub relations: Vec<(String, Vec<Sort>)>,
    /// Named numbers.
    pub constants: Vec<(String, i64)>,
    /// The pieces of a domain by name; a name may have dots.
    pub pieces: HashMap<(DomainId, String), Piece>,
    /// Named values of a domain, which formulas write in quotes.
    pub names: HashMap<(DomainId, String), Vec<u64>>,
}
