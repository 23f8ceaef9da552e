//! Room `engine/weighted`: the constraints that all members of a set satisfy.
//!
//! # Idea
//!
//! Three kinds of constraints are read off a diagram, by members and projections: affine equalities; bounds on numbers, and on sums and differences
//! of two; and congruences of these.
//!
//! # Paper
//!
//! \[mine-octagons\] for sums and differences, \[karr\] for affine equalities.

use postbop_kit::ndd::{Column, Compare, Interrupted, Member, Ndd, Ndds, Term};

/// Sums of the same columns.
pub struct Forms {
    /// The columns.
    columns: Vec<Column>,
    /// The sums.
    pub sums: Vec<Vec<Term>>,
}

impl Forms {
    /// What a set says about these columns.
    pub fn shadow(&self, store: &Ndds, set: &Ndd) -> Result<Ndd, Interrupted> {
        store.project(set, |column| !self.columns.contains(&column))
    }
}

/// Each number, and the sum and the difference of each pair, unless there are more numbers than `most`.
pub fn forms(numbers: &[Column], most: usize) -> Vec<Forms> {
    let single = |&column: &Column| Forms { columns: vec![column], sums: vec![vec![(1, column)]] };
    let mut all: Vec<Forms> = numbers.iter().map(single).collect();
    if numbers.len() <= most {
        for (at, &one) in numbers.iter().enumerate() {
            for &other in &numbers[at + 1..] {
                let sums = [1, -1].map(|factor| vec![(1, one), (factor, other)]).into();
                all.push(Forms { columns: vec![one, other], sums });
            }
        }
    }
    all
}

/// The values that a sum has in a set that mentions nothing else, in a column of their own.
pub fn values(store: &Ndds, set: &Ndd, form: &[Term], value: Column) -> Result<Ndd, Interrupted> {
    let terms: Vec<Term> = form.iter().copied().chain([(-1, value)]).collect();
    let with = store.and(set, &store.linear(&terms, Compare::Equal(0))?)?;
    store.project(&with, |column| column != value)
}

/// The rest and the greatest modulus above 1 with which all numbers in the only column of a set are congruent, if there are several.
pub fn congruence(store: &Ndds, set: &Ndd, value: Column) -> Result<Option<(i64, i64)>, Interrupted> {
    let number = |set: &Ndd| set.member().map(|member| member.number(value).unwrap_or(0));
    let Some(first) = number(set).and_then(|first| i64::try_from(first).ok()) else { return Ok(None) };
    let mut modulus = 0;
    loop {
        let compare = if modulus == 0 { Compare::Equal(first) } else { Compare::Congruent(first, modulus) };
        let others = store.minus(set, &store.linear(&[(1, value)], compare)?)?;
        let Some(other) = number(&others) else { break };
        let Ok(distance) = i64::try_from(other - i128::from(first)) else { return Ok(None) };
        modulus = gcd(modulus.into(), distance.into()) as i64;
        if modulus == 1 {
            break;
        }
    }
    // Great moduli have great automata, and are an accident of few members.
    Ok((2..=1024).contains(&modulus).then(|| (first.rem_euclid(modulus), modulus)))
}

/// The affine equalities that all members of a set satisfy, as sums and their values. Each says what one of the numbers is, given some that stand before it in the list. Members are collected until the equalities of those that
/// were collected hold for all.
pub fn equalities(store: &Ndds, set: &Ndd, numbers: &[Column]) -> Result<Vec<(Vec<Term>, i64)>, Interrupted> {
    let vector = |member: Member| -> Option<Vec<i128>> {
        let all = numbers.iter().map(|&column| member.number(column).unwrap_or(0));
        all.map(|number| (number.unsigned_abs() < 1 << 40).then_some(number)).collect()
    };
    let Some(first) = set.member().and_then(vector) else { return Ok(Vec::new()) };
    let mut directions: Vec<Vec<i128>> = Vec::new();
    loop {
        let Some(found) = orthogonal(&directions, numbers.len()) else { return Ok(Vec::new()) };
        let mut sums = Vec::new();
        let mut all = store.constant(true);
        for factors in found {
            let value =
                factors.iter().zip(&first).map(|(factor, number)| *factor as i128 * number).sum::<i128>();
            let Ok(value) = i64::try_from(value) else { continue };
            let terms: Vec<Term> = factors.iter().copied().zip(numbers.iter().copied()).collect();
            all = store.and(&all, &store.linear(&terms, Compare::Equal(value))?)?;
            sums.push((terms, value));
        }
        let others = store.minus(set, &all)?;
        if others.is_empty() {
            return Ok(sums);
        }
        let Some(other) = others.member().and_then(vector) else { return Ok(Vec::new()) };
        directions.push(other.iter().zip(&first).map(|(one, other)| one - other).collect());
    }
}

/// A basis of the vectors that are orthogonal to some directions, with small numbers; none if numbers get too large.
fn orthogonal(directions: &[Vec<i128>], length: usize) -> Option<Vec<Vec<i64>>> {
    // Rows in echelon form, each with the place of its first number that is not zero.
    let mut rows: Vec<(usize, Vec<i128>)> = Vec::new();
    for direction in directions {
        let mut row = direction.clone();
        for (pivot, known) in &rows {
            row = eliminated(&row, known, *pivot)?;
        }
        let Some(pivot) = row.iter().position(|&number| number != 0) else { continue };
        for (other, known) in &mut rows {
            *known = eliminated(known, &row, pivot)?;
            debug_assert!(known[*other] != 0);
        }
        rows.push((pivot, row));
    }
    let is_free = |at: &usize| rows.iter().all(|(pivot, _)| pivot != at);
    let basis = (0..length).filter(is_free).map(|free| {
        // One at the free place; each pivot balances its row. Scaled so that all are whole.
        let scale =
            rows.iter().try_fold(1i128, |scale, (pivot, row)| scale.checked_mul(row[*pivot].abs()))?;
        let mut vector = vec![0i128; length];
        vector[free] = scale;
        for (pivot, row) in &rows {
            vector[*pivot] = -(scale.checked_mul(row[free])?) / row[*pivot];
        }
        let divisor = vector.iter().fold(0i128, |a, &b| gcd(a, b));
        vector
            .iter()
            .map(|number| i64::try_from(number / divisor).ok().filter(|n| n.abs() < 1 << 20))
            .collect()
    });
    basis.collect()
}

/// A row without its number at a pivot, divided by what all its numbers have in common.
fn eliminated(row: &[i128], by: &[i128], pivot: usize) -> Option<Vec<i128>> {
    let (own, other) = (row[pivot], by[pivot]);
    let both = row.iter().zip(by).map(|(a, b)| a.checked_mul(other)?.checked_sub(b.checked_mul(own)?));
    let row: Vec<i128> = both.collect::<Option<_>>()?;
    let divisor = row.iter().fold(0, |a, &b| gcd(a, b)).max(1);
    Some(row.iter().map(|number| number / divisor).collect())
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_orthogonal_to_directions() {
        assert_eq!(orthogonal(&[], 2), Some(vec![vec![1, 0], vec![0, 1]]));
        // (1, 3) and (2, 6) are one direction: 3x - y is the same for all.
        assert_eq!(orthogonal(&[vec![1, 3], vec![2, 6]], 2), Some(vec![vec![-3, 1]]));
        assert_eq!(orthogonal(&[vec![1, 0, 2], vec![0, 1, 1]], 3), Some(vec![vec![-2, -1, 1]]));
        assert_eq!(orthogonal(&[vec![1, 2], vec![2, 1]], 2), Some(Vec::new()));
    }

    #[test]
    fn equalities_and_congruences_are_read_off_members() {
        let store = Ndds::new(&|_| true);
        let linear = |terms: &[Term], compare| store.linear(terms, compare).unwrap();
        // y = 7x and x >= 3, x even.
        let line = linear(&[(7, 0), (-1, 1)], Compare::Equal(0));
        let above = linear(&[(-1, 0)], Compare::AtMost(-3));
        let even = linear(&[(1, 0)], Compare::Congruent(0, 2));
        let set = store.all([&line, &above, &even]).unwrap();
        assert_eq!(equalities(&store, &set, &[0, 1]).unwrap(), [(vec![(-7, 0), (1, 1)], 0)]);
        let of = |form: &[Term]| {
            let shadow = store.project(&set, |at| form.iter().all(|&(_, column)| column != at)).unwrap();
            values(&store, &shadow, form, 9).unwrap()
        };
        assert_eq!(of(&[(1, 0)]).extremes(), Some((Some(4), None)));
        assert_eq!(congruence(&store, &of(&[(1, 1)]), 9).unwrap(), Some((0, 14)));
        assert_eq!(congruence(&store, &of(&[(1, 0), (1, 1)]), 9).unwrap(), Some((0, 16)));
    }
}
