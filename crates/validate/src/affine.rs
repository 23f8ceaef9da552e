//! Room `validate`: affine functions of integers that are not known.

/// An integer that is not known, by its number.
pub type Unknown = u32;

/// Unknowns with their factors, in the order of the unknowns.
pub type Terms = Vec<(Unknown, i128)>;

/// Unknowns, each times a factor, and a constant. Numbers that do not fit 128 bits, and the least one that does, are refused: then an operation has no value. So every number has a negative.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Affine {
    /// In the order of the unknowns, each once; no factor is zero.
    terms: Terms,
    constant: i128,
}

impl Affine {
    /// A constant.
    pub fn constant(constant: i128) -> Self {
        Affine { terms: Vec::new(), constant }
    }

    /// An unknown.
    pub fn unknown(unknown: Unknown) -> Self {
        Affine { terms: vec![(unknown, 1)], constant: 0 }
    }

    /// Unknowns with factors, in order, and a constant.
    pub fn new(terms: Terms, constant: i128) -> Self {
        Affine { terms, constant }
    }

    /// The unknowns with their factors, in order.
    pub fn terms(&self) -> &[(Unknown, i128)] {
        &self.terms
    }

    /// The constant part.
    pub fn rest(&self) -> i128 {
        self.constant
    }

    /// The factor of an unknown.
    pub fn factor(&self, unknown: Unknown) -> i128 {
        match self.terms.binary_search_by_key(&unknown, |(unknown, _)| *unknown) {
            Ok(at) => self.terms[at].1,
            Err(_) => 0,
        }
    }

    /// The greatest number that divides all factors; 0 if there are none.
    pub fn divisor(&self) -> i128 {
        self.terms.iter().fold(0, |divisor, &(_, factor)| greatest_divisor(divisor, factor))
    }

    /// The sum of this function and of another one times a factor.
    pub fn plus(&self, other: &Affine, factor: i128) -> Option<Affine> {
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut terms = Vec::with_capacity(left.len() + right.len());
        loop {
            let next = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(a), Some(b)) => a.0.min(b.0),
                (Some(one), None) | (None, Some(one)) => one.0,
            };
            let own = left.next_if(|term| term.0 == next).map_or(0, |term| term.1);
            let more = right.next_if(|term| term.0 == next).map_or(0, |term| term.1);
            let sum = sized(own.checked_add(more.checked_mul(factor)?)?)?;
            if sum != 0 {
                terms.push((next, sum));
            }
        }
        let constant = sized(self.constant.checked_add(other.constant.checked_mul(factor)?)?)?;
        Some(Affine { terms, constant })
    }

    /// This function times a factor.
    pub fn times(&self, factor: i128) -> Option<Affine> {
        Affine::default().plus(self, factor)
    }

    /// The same, and a constant more.
    pub fn more(&self, constant: i128) -> Option<Affine> {
        self.plus(&Affine::constant(constant), 1)
    }

    /// The function with another one in place of an unknown.
    pub fn with(&self, unknown: Unknown, value: &Affine) -> Option<Affine> {
        match self.factor(unknown) {
            0 => Some(self.clone()),
            factor => self.plus(&Affine::unknown(unknown), -factor)?.plus(value, factor),
        }
    }

    /// The value of the function, given those of its unknowns.
    pub fn value(&self, of: impl Fn(Unknown) -> i128) -> Option<i128> {
        let mut sum = self.constant;
        for &(unknown, factor) in &self.terms {
            sum = sum.checked_add(factor.checked_mul(of(unknown))?)?;
        }
        sized(sum)
    }
}

/// A number that has a negative.
fn sized(number: i128) -> Option<i128> {
    (number != i128::MIN).then_some(number)
}

fn greatest_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}
