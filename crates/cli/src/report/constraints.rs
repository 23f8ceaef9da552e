//! Room `cli/report`: linear constraints in words.

use postbop_engine::weighted::{Compare, Constraint};

/// A conjunction of constraints on numbers with these names.
pub fn case(list: &[Constraint], names: &[String]) -> String {
    let all: Vec<String> = list.iter().map(|one| constraint(one, names)).collect();
    all.join(", ")
}

/// One vector of numbers with these names.
pub fn member(values: &[(usize, i128)], names: &[String]) -> String {
    let all: Vec<String> = values.iter().map(|&(at, value)| format!("{} = {value}", names[at])).collect();
    if all.is_empty() { "any".to_owned() } else { all.join(", ") }
}

/// A factor and the place of a name.
type Term = (i128, usize);

/// Terms with positive factors stand on the left and the others on the right; an equation is solved for the last number that has a factor 1.
fn constraint(constraint: &Constraint, names: &[String]) -> String {
    let mut terms: Vec<Term> =
        constraint.terms.iter().map(|&(factor, at)| (factor.into(), at as usize)).collect();
    terms.sort_unstable_by_key(|&(_, at)| at);
    let negated = |terms: &[Term]| -> Vec<Term> { terms.iter().map(|&(factor, at)| (-factor, at)).collect() };
    match constraint.compare {
        Compare::Congruent(rest, modulus) => format!("{} = {rest} (mod {modulus})", sum(&terms, 0, names)),
        Compare::Equal(value) => {
            let mut value = i128::from(value);
            let solved = terms.iter().rposition(|(factor, _)| factor.abs() == 1);
            let of_sign = |terms: &[Term]| terms.iter().all(|&(factor, _)| factor < 0);
            let turned = match solved {
                Some(at) => terms[at].0 < 0,
                None => of_sign(&terms),
            };
            if turned {
                (terms, value) = (negated(&terms), -value);
            }
            let (left, right): (Vec<Term>, Vec<Term>) = match solved {
                Some(at) => (vec![terms.remove(at)], terms),
                None => terms.into_iter().partition(|&(factor, _)| factor > 0),
            };
            format!("{} = {}", sum(&left, 0, names), sum(&negated(&right), value, names))
        }
        Compare::AtMost(most) => {
            let most = i128::from(most);
            let (left, right): (Vec<Term>, Vec<Term>) =
                terms.into_iter().partition(|&(factor, _)| factor > 0);
            let right = negated(&right);
            match (left.is_empty(), right.is_empty()) {
                (true, _) => format!("{} >= {}", sum(&right, 0, names), -most),
                (false, false) if most == -1 => {
                    format!("{} < {}", sum(&left, 0, names), sum(&right, 0, names))
                }
                _ => format!("{} <= {}", sum(&left, 0, names), sum(&right, most, names)),
            }
        }
    }
}

/// A sum of terms and a constant.
fn sum(terms: &[Term], constant: i128, names: &[String]) -> String {
    let mut out = String::new();
    let mut add = |value: i128, text: String| {
        let sign = match (out.is_empty(), value < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        out.push_str(sign);
        out.push_str(&text);
    };
    for &(factor, at) in terms {
        let name = &names[at];
        add(factor, if factor.abs() == 1 { name.clone() } else { format!("{}*{name}", factor.abs()) });
    }
    if constant != 0 || terms.is_empty() {
        add(constant, constant.abs().to_string());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_read_as_people_write_them() {
        let names: Vec<String> = ["x", "y", "z"].map(String::from).to_vec();
        let say =
            |terms: &[(i64, u32)], compare| case(&[Constraint { terms: terms.to_vec(), compare }], &names);
        assert_eq!(say(&[(-7, 0), (1, 1)], Compare::Equal(3)), "y = 7*x + 3");
        assert_eq!(say(&[(7, 0), (-1, 1)], Compare::Equal(3)), "y = 7*x - 3");
        assert_eq!(say(&[(1, 0), (1, 1)], Compare::Equal(0)), "y = -x");
        assert_eq!(say(&[(2, 0), (-3, 1)], Compare::Equal(1)), "2*x = 3*y + 1");
        assert_eq!(say(&[(-1, 0)], Compare::AtMost(-3)), "x >= 3");
        assert_eq!(say(&[(1, 0)], Compare::AtMost(0)), "x <= 0");
        assert_eq!(say(&[(1, 0), (-1, 1)], Compare::AtMost(-1)), "x < y");
        assert_eq!(say(&[(1, 0), (-1, 1)], Compare::AtMost(2)), "x <= y + 2");
        assert_eq!(say(&[(-1, 0), (-1, 1)], Compare::AtMost(2)), "x + y >= -2");
        assert_eq!(say(&[(1, 0), (1, 1)], Compare::Congruent(1, 4)), "x + y = 1 (mod 4)");
    }
}
