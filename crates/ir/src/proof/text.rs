//! Room `ir`: proofs as text.
//!
//! One item a line:
//!
//! ```text
//! postbop-proof 1
//! program 5a1fdc0912e7b344              the fingerprint of the program
//! property "assert:9"                   what is proved, as reports name it
//! bit entry v3 0                        node 1: the least significant bit of v3 at entry
//! bit now v3 0                          node 2
//! ite 1 2 !2                            node 3: 2 where 1 is true, else its complement
//! bit result 0 4                        node 4
//! and 3 !4                              node 5
//! bit exit v3 0                         node 6: of the value of v3 when its procedure returns
//! sum 2 now v4 -1 entry v5 <= 7         node 7: of unbounded integers, twice v4 less v5 at entry
//! sum 1 result 1 = 0                    node 8
//! sum 1 now v4 = 1 mod 3                node 9: v4 is 1, or differs from 1 by a multiple of 3
//! set l0 true
//! set l4 !5
//! ```
//!
//! Nodes are numbered in their order, from 1, and refer to earlier ones only: whatever a file says, what is read takes room in proportion to the file,
//! and is walked through without recursion. A location that is not named has no set.

use super::{Compare, Node, Place, Proof, Ref};
use crate::ids::{Id, LocId, Table};
use crate::program::Program;
use crate::text::{ParseError, Words, fingerprint, quoted};
use std::fmt::Write;

/// A proof with what it says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// The names of the properties that it proves.
    pub properties: Vec<String>,
    /// The proof.
    pub proof: Proof,
}

/// The textual form of a certificate.
pub fn print(program: &Program, certificate: &Certificate) -> String {
    let mut out = format!("postbop-proof 1\nprogram {}\n", fingerprint(program));
    // Writing to a string cannot fail.
    let _ = items(certificate, &mut out);
    out
}

fn items(certificate: &Certificate, out: &mut String) -> std::fmt::Result {
    for name in &certificate.properties {
        writeln!(out, "property {}", quoted(name))?;
    }
    let listed =
        |refs: &[Ref], out: &mut String| refs.iter().try_for_each(|&to| write!(out, " {}", name(to)));
    for node in certificate.proof.nodes() {
        match node {
            Node::Bit(place, bit) => write!(out, "bit {} {bit}", named(*place))?,
            Node::Sum(terms, compare) => {
                out.push_str("sum");
                terms.iter().try_for_each(|&(factor, place)| write!(out, " {factor} {}", named(place)))?;
                match compare {
                    Compare::AtMost(most) => write!(out, " <= {most}")?,
                    Compare::Equal(value) => write!(out, " = {value}")?,
                    Compare::Congruent(rest, modulus) => write!(out, " = {rest} mod {modulus}")?,
                }
            }
            Node::Ite(refs) => {
                out.push_str("ite");
                listed(refs, out)?;
            }
            Node::And(refs) => {
                out.push_str("and");
                listed(refs, out)?;
            }
        }
        out.push('\n');
    }
    let sets = certificate.proof.sets.pairs().filter_map(|(loc, set)| Some((loc, (*set)?)));
    sets.into_iter().try_for_each(|(loc, set)| writeln!(out, "set {loc} {}", name(set)))
}

fn named(place: Place) -> String {
    match place {
        Place::Entry(var) => format!("entry {var}"),
        Place::Now(var) => format!("now {var}"),
        Place::Exit(var) => format!("exit {var}"),
        Place::Result(at) => format!("result {at}"),
    }
}

fn name(to: Ref) -> String {
    match to {
        Ref::TRUE => "true".into(),
        Ref::FALSE => "false".into(),
        _ => format!("{}{}", if to.is_complement() { "!" } else { "" }, to.number()),
    }
}

/// Reads a certificate of proofs about a program.
pub fn parse(program: &Program, text: &str) -> Result<Certificate, ParseError> {
    let mut nodes = Vec::new();
    let mut sets = Table::filled(program.locs().len(), None);
    let mut properties = Vec::new();
    let mut lines = text.lines().enumerate();
    let fail = |at: usize, message: String| ParseError { line: at + 1, message };
    let Some((_, "postbop-proof 1")) = lines.next() else {
        return Err(fail(0, "expected `postbop-proof 1`".into()));
    };
    let expected = fingerprint(program);
    match lines.next().and_then(|(_, line)| line.strip_prefix("program ")) {
        Some(found) if found.trim() == expected => {}
        Some(_) => return Err(fail(1, "this is a proof about another program".into())),
        None => return Err(fail(1, "expected `program` and a fingerprint".into())),
    }
    for (at, line) in lines {
        let mut words = Words { rest: line };
        if words.peek().is_none() {
            continue;
        }
        item(&mut words, &mut nodes, &mut sets, &mut properties).map_err(|message| fail(at, message))?;
        if words.peek().is_some() {
            return Err(fail(at, "there is more on the line than belongs there".into()));
        }
    }
    Ok(Certificate { properties, proof: Proof { nodes, sets } })
}

fn item(
    words: &mut Words,
    nodes: &mut Vec<Node>,
    sets: &mut Table<LocId, Option<Ref>>,
    properties: &mut Vec<String>,
) -> Result<(), String> {
    match words.plain()? {
        "property" => properties.push(words.string()?),
        "bit" => {
            let place = place(words)?;
            let bit = words.number()?.try_into().map_err(|_| "no such bit")?;
            nodes.push(Node::Bit(place, bit));
        }
        "sum" => nodes.push(sum(words)?),
        "ite" => {
            let mut next = || reference(words, nodes.len());
            let refs = [next()?, next()?, next()?];
            nodes.push(Node::Ite(refs));
        }
        "and" => {
            let mut refs = Vec::new();
            while words.peek().is_some() {
                refs.push(reference(words, nodes.len())?);
            }
            nodes.push(Node::And(refs.into()));
        }
        "set" => {
            let loc: LocId = words.id("l")?;
            let set = reference(words, nodes.len())?;
            if loc.index() >= sets.len() {
                return Err(format!("the program has no location {loc}"));
            }
            if sets[loc].replace(set).is_some() {
                return Err(format!("{loc} has a set already"));
            }
        }
        other => return Err(format!("`{other}` is not an item")),
    }
    match nodes.len() < 1 << 31 {
        true => Ok(()),
        false => Err("there are too many nodes".into()),
    }
}

fn place(words: &mut Words) -> Result<Place, String> {
    Ok(match words.plain()? {
        "entry" => Place::Entry(words.id("v")?),
        "now" => Place::Now(words.id("v")?),
        "exit" => Place::Exit(words.id("v")?),
        "result" => Place::Result(words.number()?.try_into().map_err(|_| "no such result")?),
        other => return Err(format!("`{other}` is not a place")),
    })
}

/// Factors and places, then what their sum is compared with.
fn sum(words: &mut Words) -> Result<Node, String> {
    let number = |word: &str| word.parse::<i64>().map_err(|_| format!("`{word}` is not a number"));
    let mut terms = Vec::new();
    loop {
        let compare = match words.plain()? {
            "<=" => Compare::AtMost(number(words.plain()?)?),
            "=" => {
                let value = number(words.plain()?)?;
                match words.peek() {
                    None => Compare::Equal(value),
                    Some(_) => Compare::Congruent(value, number(words.after("mod")?.plain()?)?),
                }
            }
            factor => {
                terms.push((number(factor)?, place(words)?));
                continue;
            }
        };
        return Ok(Node::Sum(terms.into(), compare));
    }
}

/// A reference to one of so many nodes.
fn reference(words: &mut Words, nodes: usize) -> Result<Ref, String> {
    let word = words.plain()?;
    match word {
        "true" => return Ok(Ref::TRUE),
        "false" => return Ok(Ref::FALSE),
        _ => {}
    }
    let digits = word.strip_prefix('!').unwrap_or(word);
    let number: usize = digits.parse().map_err(|_| format!("`{word}` is not a node"))?;
    match number >= 1 && number <= nodes {
        true => Ok(Ref::node(number as u32).flip(digits.len() < word.len())),
        false => Err(format!("there is no node {number} before this line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::VarId;
    use crate::proof::Maker;
    use crate::types::Type;
    use crate::value::Value;

    const PROGRAM: &str = "postbop-ir 1\nproc p0 \"main\" params 0 results ( int<3> ) entry l0 exit l1 at 0..0\n\
                           var v0 global int<3> \"g\"\nloc l0 p0 at 0..0\nloc l1 p0 at 0..0\nloc l2 p0 at 0..0\n\
                           edge l0 l1 at 0..0 return v0\nmain p0\n";

    fn sample() -> (Program, Certificate) {
        let program = crate::text::parse(PROGRAM).unwrap();
        let mut maker = Maker::default();
        let g = VarId(0);
        let ty = Type::Int(3);
        let same = maker.same(Place::Entry(g), Place::Now(g), ty);
        let result = maker.equals(Place::Result(0), ty, Value::new(-2));
        let left = maker.same(Place::Exit(g), Place::Now(g), ty);
        // Whether a variable is an integer without bounds is for the checker to see.
        let sums = [Compare::AtMost(-7), Compare::Equal(i64::MIN), Compare::Congruent(1, 3)];
        let sums = sums.map(|compare| maker.sum([(2, Place::Now(g)), (-1, Place::Result(0))], compare));
        let all = [&[same, !result, !left][..], &sums].concat();
        let exit = maker.or(all);
        let sets = [Some(same), Some(exit), None].into_iter().collect();
        let properties = vec!["label \"a\"\nb".to_owned(), "assert:9".to_owned()];
        (program, Certificate { properties, proof: maker.finish(sets) })
    }

    #[test]
    fn what_is_written_is_read_back() {
        let (program, certificate) = sample();
        let text = print(&program, &certificate);
        assert_eq!(parse(&program, &text), Ok(certificate.clone()));
        assert_eq!(certificate.proof.flaw(&program), None);
        let (maker, sets) = Maker::of(certificate.proof.clone());
        assert_eq!(maker.finish(sets), certificate.proof);
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        let (program, certificate) = sample();
        let text = print(&program, &certificate);
        let wrong = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            parse(&program, &text.replacen(from, to, 1)).unwrap_err().line
        };
        assert_eq!(wrong("proof 1", "proof 2"), 1);
        assert_eq!(wrong("program ", "program 0"), 2);
        let first = text.lines().position(|line| line.starts_with("bit")).unwrap() + 1;
        assert_eq!(wrong("bit entry v0 0", "bit entry v0 999"), first);
        assert_eq!(wrong("bit entry v0 0", "bit entry l0 0"), first);
        assert_eq!(wrong("bit now v0 0", "and 2"), first + 1);
        assert_eq!(wrong("bit now v0 0", "and 99999999999999999999"), first + 1);
        assert_eq!(wrong("bit now v0 0", "ite 1 1"), first + 1);
        assert_eq!(wrong("bit now v0 0", "ite 1 1 1 1"), first + 1);
        let sums = text.lines().position(|line| line.starts_with("sum")).unwrap() + 1;
        assert_eq!(wrong("<= -7", "< -7"), sums);
        assert_eq!(wrong("<= -7", "<= -7 0"), sums);
        assert_eq!(wrong("<= -7", "<= 9223372036854775808"), sums);
        assert_eq!(wrong("sum 2 now v0", "sum 2 now"), sums);
        assert_eq!(wrong("mod 3", "mod"), sums + 2);
        let flaw = parse(&program, &text.replace("mod 3", "mod 0")).unwrap().proof.flaw(&program);
        assert!(flaw.is_some_and(|flaw| flaw.contains("modulus")));
        let sets = text.lines().position(|line| line.starts_with("set")).unwrap() + 1;
        assert_eq!(wrong("set l0", "set l7"), sets);
        assert_eq!(wrong("set l1", "set l0"), sets + 1);
        assert_eq!(wrong("set l1", "sex l1"), sets + 1);
    }
}
