//! Room `xtask`: families in which values only move: from arguments to parameters, through calls, and back as results.
//!
//! Each is what abstraction tools write, and each is easy if variables that hold the same value stand side by side in
//! the order of a decision diagram. In any other order the diagrams are exponential in K. The variants with a bug
//! spoil one value, so that the same diagrams are made and a trace has to be found.

use super::{list, names};
use crate::rng::Rng;

/// `if (c0 | c1 | …) then ERR: skip; fi`.
fn error_if(conditions: impl Iterator<Item = String>) -> String {
    format!("  if ({}) then\n    ERR: skip;\n  fi\n", conditions.collect::<Vec<_>>().join(" | "))
}

/// That some of the first list differs from its partner in the second.
fn error_unless_equal(a: &[String], b: &[String]) -> String {
    error_if(a.iter().zip(b).map(|(a, b)| format!("({a} != {b})")))
}

/// The same list with its last member spoilt, if there is a bug.
fn spoilt(names: &[String], bug: bool) -> Vec<String> {
    let mut names = names.to_vec();
    if let (true, Some(last)) = (bug, names.last_mut()) {
        *last = format!("!{last}");
    }
    names
}

fn reversed(names: &[String]) -> Vec<String> {
    names.iter().rev().cloned().collect()
}

/// A procedure that returns its K parameters, in reverse order if `swap`; main compares.
///
/// # Verdict
/// Results are arguments, so nothing differs; with the bug the last result is negated.
pub(super) fn ident(k: u64, swap: bool, bug: bool) -> String {
    let [p, a, r] = ["p", "a", "r"].map(|prefix| names(prefix, k));
    let order = |names: &[String]| if swap { reversed(names) } else { names.to_vec() };
    format!(
        "bool<{k}> f({})\nbegin\n  return {};\nend\nvoid main()\nbegin\n  decl {}, {};\n  {} := f({});\n{}end\n",
        list(&p),
        list(&spoilt(&order(&p), bug)),
        list(&a),
        list(&r),
        list(&r),
        list(&a),
        error_unless_equal(&r, &order(&a))
    )
}

/// A recursive procedure that passes its K parameters on and returns what it gets.
///
/// # Verdict
/// By induction over the depth results are arguments; with the bug the innermost call negates the last.
pub(super) fn recpass(k: u64, bug: bool) -> String {
    let [p, q, a, r] = ["p", "q", "a", "r"].map(|prefix| names(prefix, k));
    format!(
        "bool<{k}> f({ps})\nbegin\n  decl {qs};\n  if (*) then\n    {qs} := f({ps});\n    return {qs};\n  fi\n  \
         return {};\nend\nvoid main()\nbegin\n  decl {as_}, {rs};\n  {rs} := f({as_});\n{}end\n",
        list(&spoilt(&p, bug)),
        error_unless_equal(&r, &a),
        ps = list(&p),
        qs = list(&q),
        as_ = list(&a),
        rs = list(&r),
    )
}

/// A procedure that returns K globals.
///
/// # Verdict
/// Nobody writes the globals, so main finds what it got; with the bug the last one is returned negated.
pub(super) fn getters(k: u64, bug: bool) -> String {
    let [g, r] = ["g", "r"].map(|prefix| names(prefix, k));
    format!(
        "decl {};\nbool<{k}> get()\nbegin\n  return {};\nend\nvoid main()\nbegin\n  decl {rs};\n  {rs} := get();\n{}end\n",
        list(&g),
        list(&spoilt(&g, bug)),
        error_unless_equal(&r, &g),
        rs = list(&r),
    )
}

/// A procedure of 2K parameters that compares the first half with the second, called with the same K variables twice.
///
/// # Verdict
/// What is compared is equal; with the bug the very last argument is negated.
pub(super) fn pairs(k: u64, bug: bool) -> String {
    let [a, b, x] = ["a", "b", "x"].map(|prefix| names(prefix, k));
    let same: Vec<String> = a.iter().zip(&b).map(|(a, b)| format!("({a} = {b})")).collect();
    format!(
        "bool same({}, {})\nbegin\n  return {};\nend\nvoid main()\nbegin\n  decl {xs}, z;\n  z := same({xs}, {});\n{}end\n",
        list(&a),
        list(&b),
        same.join(" & "),
        list(&spoilt(&x, bug)),
        error_if(["!z".to_owned()].into_iter()),
        xs = list(&x),
    )
}

/// A recursion that saves K globals in locals, makes them arbitrary, calls itself, and puts them back.
///
/// # Verdict
/// Every call leaves the globals as they were; with the bug it negates the last of them when it puts it back.
pub(super) fn restore(k: u64, bug: bool) -> String {
    let [g, s, h] = ["g", "s", "h"].map(|prefix| names(prefix, k));
    let stars = vec!["*".to_owned(); k as usize];
    format!(
        "decl {gs};\nvoid f()\nbegin\n  decl {ss};\n  {ss} := {gs};\n  {gs} := {};\n  if (*) then\n    f();\n  fi\n  \
         {gs} := {};\nend\nvoid main()\nbegin\n  decl {hs};\n  {hs} := {gs};\n  f();\n{}end\n",
        list(&stars),
        list(&spoilt(&s, bug)),
        error_unless_equal(&g, &h),
        gs = list(&g),
        ss = list(&s),
        hs = list(&h),
    )
}

/// A chain of N procedures with K parameters and K results; each rotates them by one on the way in and back on the way
/// out.
///
/// # Verdict
/// The rotations cancel, so main gets its arguments back; with the bug the last procedure negates one.
pub(super) fn chain(n: u64, k: u64, bug: bool) -> String {
    let [p, r, a] = ["p", "r", "a"].map(|prefix| names(prefix, k));
    let (mut there, mut back) = (p.clone(), r.clone());
    there.rotate_left(1);
    back.rotate_right(1);
    let mut source = format!(
        "void main()\nbegin\n  decl {}, {rs};\n  {rs} := f1({});\n{}end\n",
        list(&a),
        list(&a),
        error_unless_equal(&r, &a),
        rs = list(&r),
    );
    for at in 1..=n {
        let body = match at < n {
            true => format!(
                "  decl {rs};\n  {rs} := f{}({});\n  return {};\n",
                at + 1,
                list(&there),
                list(&back),
                rs = list(&r)
            ),
            false => format!("  return {};\n", list(&spoilt(&p, bug))),
        };
        source += &format!("bool<{k}> f{at}({})\nbegin\n{body}end\n", list(&p));
    }
    source
}

/// A procedure that returns the parity of its K parameters; the caller's arguments are declared behind M other locals.
///
/// # Verdict
/// Main computes the same parity. With the bug the procedure leaves out the last parameter.
pub(super) fn faraway(k: u64, m: u64, bug: bool) -> String {
    let [p, a] = ["p", "a"].map(|prefix| names(prefix, k));
    let others = names("o", m);
    let counted = &p[..p.len() - bug as usize];
    format!(
        "bool parity({})\nbegin\n  return {};\nend\nvoid main()\nbegin\n  decl {};\n  decl {as_}, z;\n  \
         z := parity({as_});\n{}end\n",
        list(&p),
        counted.join(" ^ "),
        list(&others),
        error_if([format!("({}) & (z != ({}))", others.join(" ^ "), a.join(" ^ "))].into_iter()),
        as_ = list(&a),
    )
}

/// K parameters passed on in reverse order twice; the innermost procedure adds the second to the first and returns all.
///
/// # Verdict
/// Reversed twice they are in order again, and main expects the sum; with the bug the last result is negated.
pub(super) fn reverse(k: u64, bug: bool) -> String {
    let [p, a, r] = ["p", "a", "r"].map(|prefix| names(prefix, k));
    let combined = |names: &[String]| {
        let mut names = names.to_vec();
        names[0] = format!("({} ^ {})", names[0], names[1]);
        names
    };
    let pass = |name: &str, next: &str| {
        format!(
            "bool<{k}> {name}({ps})\nbegin\n  decl {rs};\n  {rs} := {next}({});\n  return {rs};\nend\n",
            list(&reversed(&p)),
            ps = list(&p),
            rs = list(&r),
        )
    };
    format!(
        "{}{}bool<{k}> h({})\nbegin\n  return {};\nend\nvoid main()\nbegin\n  decl {as_}, {rs};\n  {rs} := f({as_});\n{}end\n",
        pass("f", "g"),
        pass("g", "h"),
        list(&p),
        list(&spoilt(&combined(&p), bug)),
        error_unless_equal(&r, &combined(&a)),
        as_ = list(&a),
        rs = list(&r),
    )
}

/// K variables that one of three parallel assignments permutes, again and again. No order of levels is good for all three.
///
/// # Verdict
/// All three leave the first variable where it is, so it keeps its value; with the bug the last one negates it.
pub(super) fn permute(k: u64, bug: bool) -> String {
    let x = names("x", k);
    let divides = |n: u64| move |d: &u64| n.is_multiple_of(*d);
    let coprime = |stride: &u64| !(2..=*stride).filter(divides(*stride)).any(|d| divides(k)(&d));
    let strides = (3..).step_by(4).filter(coprime).take(3);
    let permuted = |stride: u64| -> Vec<String> {
        (0..k).map(|at| x[(at as u128 * stride as u128 % k as u128) as usize].clone()).collect()
    };
    let mut ways = strides.enumerate().map(|(number, stride)| {
        let mut values = permuted(stride);
        if bug && number == 2 {
            values[0] = format!("!{}", values[0]);
        }
        format!("      {} := {};\n", list(&x), list(&values))
    });
    let mut way = || ways.next().unwrap_or_default();
    format!(
        "void main()\nbegin\n  decl h, {};\n  h := x0;\n  while (*) do\n    if (*) then\n{}    elsif (*) then\n{}    \
         else\n{}    fi\n  od\n  if ((h != x0) & ({})) then\n    ERR: skip;\n  fi\nend\n",
        list(&x),
        way(),
        way(),
        way(),
        x.join(" | "),
    )
}

/// A procedure that returns its K parameters in another, random order, and one that puts them back; main lets both have the
/// same K variables. Two procedures that look alike from outside want different orders of levels for themselves.
///
/// # Verdict
/// In the end the variables are where they were, as main has noted; with the bug the second procedure negates its last result.
pub(super) fn shuffle(seed: u64, k: u64, bug: bool) -> String {
    let [p, x, y] = ["p", "x", "y"].map(|prefix| names(prefix, k));
    let mut order: Vec<usize> = (0..p.len()).collect();
    Rng::new(seed).shuffle(&mut order);
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    let procedure = |name: &str, order: &[usize], bug: bool| {
        let results: Vec<String> = order.iter().map(|&from| p[from].clone()).collect();
        let results = list(&spoilt(&results, bug));
        format!("bool<{k}> {name}({})\nbegin\n  return {results};\nend\n", list(&p))
    };
    format!(
        "{}{}void main()\nbegin\n  decl {xs}, {ys};\n  {ys} := {xs};\n  {xs} := f({xs});\n  {xs} := g({xs});\n{}end\n",
        procedure("f", &order, false),
        procedure("g", &back, bug),
        error_unless_equal(&x, &y),
        xs = list(&x),
        ys = list(&y),
    )
}
