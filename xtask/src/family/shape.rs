//! Room `xtask`: families that are extreme in one respect: the length of runs, the number of properties, the depth of
//! blocks, the width of a call.
//!
//! Their verdicts are plain. What is measured is whether time and memory grow no faster than the program.

use super::names;

/// N procedures, each calling the next one twice.
///
/// # Verdict
/// The last one is called 2^(N - 1) times and then `ERR` is reached: every run has more than 2^N steps, and a trace has
/// to be folded.
pub(super) fn doubling(n: u64) -> String {
    let mut source = "void main()\nbegin\n  p1();\n  ERR: skip;\nend\n".to_owned();
    for level in 1..=n {
        let body =
            if level < n { format!("  p{0}();\n  p{0}();\n", level + 1) } else { "  skip;\n".to_owned() };
        source += &format!("void p{level}()\nbegin\n{body}end\n");
    }
    source
}

/// N assertions in a row.
///
/// # Verdict
/// Every second assertion is a tautology and holds. The others are about a value that was just chosen and fail; the runs
/// that satisfy them go on, and at last to `ERR`.
pub(super) fn asserts(n: u64) -> String {
    let mut source = "decl g;\nvoid main()\nbegin\n".to_owned();
    for number in 0..n {
        let condition = if number % 2 == 0 { "g | !g" } else { "g" };
        source += &format!("  g := *;\n  assert({condition});\n");
    }
    source + "  ERR: skip;\nend\n"
}

/// N conditions, each inside the one before.
///
/// # Verdict
/// The conditions are eight globals in turn, which nothing changes and which may all be true: `ERR` inside the innermost
/// one is reached.
pub(super) fn nested(n: u64) -> String {
    let mut source = format!("decl {};\nvoid main()\nbegin\n", names("g", 8).join(", "));
    for depth in 0..n {
        source += &format!("if (g{}) then\n", depth % 8);
    }
    source += "ERR: skip;\n";
    source += &"fi\n".repeat(n as usize);
    source + "end\n"
}

/// A call with N parameters.
///
/// # Verdict
/// The arguments are `x` and `!x` in turn, so the first two differ and the result is 1: `ERR` is not reached. Only two
/// valuations of the parameters occur, and only two of the parameters matter.
pub(super) fn params(n: u64) -> String {
    let arguments: Vec<&str> = (0..n).map(|at| if at % 2 == 0 { "x" } else { "!x" }).collect();
    format!(
        "bool f({})\n\
         begin\n  return a0 ^ a1;\nend\n\
         void main()\n\
         begin\n  \
           decl x, y;\n  \
           y := f({});\n  \
           if (!y) then\n    ERR: skip;\n  fi\n\
         end\n",
        names("a", n).join(", "),
        arguments.join(", ")
    )
}
