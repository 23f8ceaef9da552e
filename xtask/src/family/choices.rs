//! Room `xtask`: families of many choices, of numbers made of Booleans, and of many globals.

use super::{list, names};

/// K variables set by one parallel assignment to `*`.
///
/// # Verdict
/// `h` holds their parity and nothing is written after. With the bug the last one is made arbitrary once more.
pub(super) fn havoc(k: u64, bug: bool) -> String {
    let x = names("x", k);
    let stars = vec!["*".to_owned(); k as usize];
    let again = if bug { format!("  {} := *;\n", x[x.len() - 1]) } else { String::new() };
    format!(
        "void main()\nbegin\n  decl {xs}, h;\n  {xs} := {};\n  h := {parity};\n{again}  \
         if (h != ({parity})) then\n    ERR: skip;\n  fi\nend\n",
        list(&stars),
        parity = x.join(" ^ "),
        xs = list(&x),
    )
}

/// K conditional choices in one parallel assignment.
///
/// # Verdict
/// `schoose[a, b]` is 1 if `a`, else 0 if `b`; main asks whether one is otherwise. With the bug it forgets, for the last
/// one, that `a` wins.
pub(super) fn choosy(k: u64, bug: bool) -> String {
    let [x, a, b] = ["x", "a", "b"].map(|prefix| names(prefix, k));
    let value = |at: usize| format!("schoose[{}, {}]", a[at], b[at]);
    let values: Vec<String> = (0..x.len()).map(value).collect();
    let wrong = |at: usize| match bug && at + 1 == x.len() {
        true => format!("({} & {})", b[at], x[at]),
        false => format!("({a} & !{x}) | (!{a} & {b} & {x})", a = a[at], b = b[at], x = x[at]),
    };
    let wrong: Vec<String> = (0..x.len()).map(wrong).collect();
    format!(
        "void main()\nbegin\n  decl {}, {}, {xs};\n  {xs} := {};\n  if ({}) then\n    ERR: skip;\n  fi\nend\n",
        list(&a),
        list(&b),
        list(&values),
        wrong.join(" | "),
        xs = list(&x),
    )
}

/// A procedure that adds two numbers of K bits, bit by bit.
///
/// # Verdict
/// a + b = b + a; with the bug the highest bit of one operand is negated the second time.
pub(super) fn adder(k: u64, bug: bool) -> String {
    let [x, y, s, a, b, r, t] = ["x", "y", "s", "a", "b", "r", "t"].map(|prefix| names(prefix, k));
    let step = |at: usize| {
        let (x, y, s) = (&x[at], &y[at], &s[at]);
        format!("  {s} := {x} ^ {y} ^ c;\n  c := ({x} & {y}) | (c & ({x} | {y}));\n")
    };
    let steps: String = (0..x.len()).map(step).collect();
    let differ: Vec<String> = r.iter().zip(&t).map(|(r, t)| format!("({r} != {t})")).collect();
    let spoil = if bug { "!" } else { "" };
    let (last, others) = a.split_last().expect("there is a bit");
    let again: Vec<String> = others.iter().cloned().chain([format!("{spoil}{last}")]).collect();
    format!(
        "bool<{k}> add({}, {})\nbegin\n  decl c, {ss};\n  c := 0;\n{steps}  return {ss};\nend\n\
         void main()\nbegin\n  decl {as_}, {bs}, {rs}, {ts};\n  {rs} := add({as_}, {bs});\n  {ts} := add({bs}, {});\n  \
         if ({}) then\n    ERR: skip;\n  fi\nend\n",
        list(&x),
        list(&y),
        list(&again),
        differ.join(" | "),
        ss = list(&s),
        as_ = list(&a),
        bs = list(&b),
        rs = list(&r),
        ts = list(&t),
    )
}

/// A loop that counts K bits from 0 to the end.
///
/// # Verdict
/// The end is reached, `END`, after 2^K - 1 rounds: a trace has them all. Behind the loop all bits are 1, so `ERR` is not
/// reached.
pub(super) fn counter(k: u64, safe: bool) -> String {
    let b = names("b", k);
    let zeros = |count: usize| vec!["0".to_owned(); count];
    let mut step = String::new();
    for at in 0..b.len() {
        let word = if at == 0 { "if" } else { "elsif" };
        let values: Vec<String> = zeros(at).into_iter().chain(["1".to_owned()]).collect();
        step += &format!("    {word} (!{}) then\n      {} := {};\n", b[at], list(&b[..=at]), list(&values));
    }
    let some_zero: Vec<String> = b.iter().map(|bit| format!("!{bit}")).collect();
    let end = match safe {
        true => format!("  if ({}) then\n    ERR: skip;\n  fi\n", some_zero.join(" | ")),
        false => "  END: skip;\n".to_owned(),
    };
    format!(
        "void main()\nbegin\n  decl {bs};\n  {bs} := {};\n  while ({}) do\n{step}    fi\n  od\n{end}end\n",
        list(&zeros(b.len())),
        some_zero.join(" | "),
        bs = list(&b),
    )
}

/// A chain of N procedures, each with a global of its own that no other looks at.
///
/// # Verdict
/// Each call of the first procedure flips every global, so two calls give the first one back. With the bug the last
/// procedure asks for its global to be 1, which it is in one of the two calls.
pub(super) fn privates(n: u64, bug: bool) -> String {
    let g = names("g", n);
    let mut source = format!(
        "decl {};\nvoid main()\nbegin\n  decl h;\n  h := {first};\n  f0();\n  f0();\n  if (h != {first}) then\n    \
         {}: skip;\n  fi\nend\n",
        list(&g),
        if bug { "never" } else { "ERR" },
        first = g[0],
    );
    for (at, own) in g.iter().enumerate() {
        let next = match at + 1 < g.len() {
            true => format!("  f{}();\n", at + 1),
            false if bug => format!("  if ({own}) then\n    ERR: skip;\n  fi\n"),
            false => String::new(),
        };
        source += &format!(
            "void f{at}()\nbegin\n  if ({own}) then\n    {own} := 0;\n  else\n    {own} := 1;\n  fi\n{next}end\n"
        );
    }
    source
}
