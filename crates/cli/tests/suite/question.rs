//! What a case asks and what it expects, read from its header.
//!
//! `// expect: [LABEL | PROC:LABEL] holds|violated [in STEPS]`, one expectation a line. Without a label it is about
//! every check and the labels that are errors by custom. `in STEPS` is the length of a shortest trace. Of a program with
//! threads a case says `holds up to N switches` or `rounds`, and `violated with N switches` or `in N rounds`, where N is
//! the least number there is; `holds` alone is without any bound. Lines that begin with `error` or `warning` are about diagnostics:
//! such a file belongs to the front end's own test.

use postbop_ir::{LocId, Program, Query};

/// Within what a program with threads is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// So many context switches.
    Switches(u32),
    /// So many rounds.
    Rounds(u32),
}

/// What is expected of one question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// The label asked about; none asks for all that is an error by custom.
    pub label: Option<String>,
    /// Whether it is reached.
    pub violated: bool,
    /// The least number of steps, where the case says so.
    pub steps: Option<u64>,
    /// Of a program with threads: the bound within which it holds, or the least within which it is violated.
    pub bound: Option<Bound>,
}

/// What the header of a case says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Header {
    /// Verdicts; perhaps none.
    Verdicts(Vec<Expectation>),
    /// Diagnostics.
    Diagnostics,
}

/// What a line of a header expects; none if it is another line. A comment begins with `//`, in pushdown systems with `#`, in
/// clauses with `;`.
fn said(line: &str) -> Option<&str> {
    let line = line.trim();
    let comment = line.strip_prefix("//").or(line.strip_prefix('#')).or(line.strip_prefix(';'))?;
    comment.strip_prefix(" expect:").map(str::trim)
}

/// Reads the header of a case.
pub fn header(text: &str) -> Result<Header, String> {
    let mut found = Vec::new();
    for line in text.lines().filter_map(said) {
        if line.starts_with("error") || line.starts_with("warning") {
            return Ok(Header::Diagnostics);
        }
        found.push(expectation(line).ok_or(format!("cannot read the expectation `{line}`"))?);
    }
    Ok(Header::Verdicts(found))
}

fn expectation(line: &str) -> Option<Expectation> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let (mut steps, mut bound) = (None, None);
    if let [.., "in", number] = words[..] {
        steps = Some(number.parse().ok()?);
        words.truncate(words.len() - 2);
    } else if let [.., how, number, unit] = words[..] {
        bound = Some(match unit {
            "switch" | "switches" => Bound::Switches(number.parse().ok()?),
            "round" | "rounds" => Bound::Rounds(number.parse().ok()?),
            _ => return None,
        });
        words.truncate(words.len() - if how == "to" { 4 } else { 3 });
        let said = match bound {
            _ if how == "to" => words.last() == Some(&"holds") && line.contains(" up to "),
            Some(Bound::Rounds(_)) => words.last() == Some(&"violated") && how == "in",
            _ => words.last() == Some(&"violated") && how == "with",
        };
        if !said {
            return None;
        }
    }
    let (label, verdict) = match words[..] {
        [verdict] => (None, verdict),
        [label, verdict] => (Some(label.to_owned()), verdict),
        _ => return None,
    };
    let violated = match verdict {
        "holds" if steps.is_none() => false,
        "violated" => true,
        _ => return None,
    };
    Some(Expectation { label, violated, steps, bound })
}

/// What an expectation asks of the program.
pub fn queries(program: &Program, label: Option<&str>) -> Result<Vec<Query>, String> {
    let named = |name: &str| match name.strip_prefix("fair:") {
        Some(label) => Query::recur(name, labelled(program, label)),
        None if name == "terminates" => Query::recur(name, program.locs().ids().collect()),
        None => Query::reach(name, labelled(program, name)),
    };
    if let Some(name) = label {
        let query = named(name);
        return if query.locs().is_empty() { Err(format!("no label `{name}`")) } else { Ok(vec![query]) };
    }
    let check = |check: &postbop_ir::Check| Query::reach(format!("{:?}", check.kind), vec![check.loc]);
    let customary = ["ERROR", "SLIC_ERROR"].map(named).into_iter().filter(|query| !query.locs().is_empty());
    Ok(program.checks().iter().map(check).chain(customary).collect())
}

fn labelled(program: &Program, name: &str) -> Vec<LocId> {
    let (proc, name) = match name.split_once(':') {
        Some((proc, name)) => (Some(proc), name),
        None => (None, name),
    };
    // Of a pushdown system with variables, what stands before the colon is a control state, which is a label too.
    let has =
        |loc: LocId, name: &str| program.labels().iter().any(|label| label.loc == loc && label.name == name);
    let inside = |loc: LocId, proc: &str| program.procs()[program.locs()[loc].proc].name == proc;
    let here = |loc: LocId| proc.is_none_or(|proc| inside(loc, proc) || has(loc, proc));
    let labels = program.labels().iter().filter(|label| label.name == name && here(label.loc));
    labels.map(|label| label.loc).collect()
}

#[test]
fn headers_say_what_they_say() {
    let read = |text: &str| header(&format!("{text}\ndecl x;\n"));
    let one = |label: Option<&str>, violated, steps| {
        let label = label.map(str::to_owned);
        Ok(Header::Verdicts(vec![Expectation { label, violated, steps, bound: None }]))
    };
    let within = |violated, bound| {
        let label = Some("L".to_owned());
        Ok(Header::Verdicts(vec![Expectation { label, violated, steps: None, bound: Some(bound) }]))
    };
    assert_eq!(read("// expect: L holds up to 4 switches"), within(false, Bound::Switches(4)));
    assert_eq!(read("// expect: L holds up to 1 round"), within(false, Bound::Rounds(1)));
    assert_eq!(read("// expect: L violated with 1 switch"), within(true, Bound::Switches(1)));
    assert_eq!(read("// expect: L violated in 2 rounds"), within(true, Bound::Rounds(2)));
    assert_eq!(read("// expect: holds"), one(None, false, None));
    assert_eq!(read("// expect: violated in 7"), one(None, true, Some(7)));
    assert_eq!(read("// expect: f:L violated"), one(Some("f:L"), true, None));
    assert_eq!(read("# expect: holds"), one(None, false, None));
    assert_eq!(read("// expect: error E001"), Ok(Header::Diagnostics));
    assert_eq!(read("// nothing"), Ok(Header::Verdicts(Vec::new())));
    let bounds = [
        "holds with 3 switches",
        "violated up to 3 switches",
        "violated with 2 rounds",
        "holds up to x rounds",
    ];
    for wrong in ["hold", "L", "a b holds", "holds in 3", "violated in x", ""].into_iter().chain(bounds) {
        assert!(read(&format!("// expect: {wrong}")).is_err(), "{wrong}");
    }
}
