//! Room `xtask`: a random program as a whole.

use super::Features;
use super::expr::Exprs;
use super::scope::{Signature, Ty, Var, variables};
use super::stmt::Body;
use crate::rng::Rng;

/// The program of this seed.
pub fn program(seed: u64, features: Features) -> String {
    let rng = &mut Rng::new(seed);
    let least = usize::from(rng.chance(0.9));
    let count = rng.range(least, features.size.globals);
    let globals = variables(rng, features, "g", count, features.size.global_bits);
    let mut procs = vec![Signature::main(rng, features)];
    for number in 1..=rng.range(0, features.size.procs) {
        procs.push(Signature::random(rng, features, number));
    }
    let mut lines = Vec::new();
    for var in &globals {
        lines.push(declaration(rng, features, var, &[]));
    }
    let mut order: Vec<usize> = (0..procs.len()).collect();
    if rng.chance(0.5) {
        order.rotate_left(1);
    }
    for current in order {
        procedure(rng, features, &procs, current, &globals, &mut lines);
    }
    lines.push(String::new());
    lines.join("\n")
}

fn procedure(
    rng: &mut Rng,
    features: Features,
    procs: &[Signature],
    current: usize,
    globals: &[Var],
    lines: &mut Vec<String>,
) {
    let own = &procs[current];
    lines.push(own.heading(rng, features));
    lines.push("begin".to_owned());
    let outer: Vec<Var> = globals.iter().chain(own.params.iter().map(|param| &param.var)).cloned().collect();
    for var in &own.locals {
        lines.push(format!("  {}", declaration(rng, features, var, &outer)));
    }
    let needs_trap = current == 0 || rng.chance(0.25);
    lines.extend(Body::new(rng, features, procs, current, globals).write(needs_trap));
    let semicolon = if features.spelling && rng.chance(0.15) { ";" } else { "" };
    lines.push(format!("end{semicolon}"));
}

/// A declaration; its initialiser mentions only variables of outer scopes.
fn declaration(rng: &mut Rng, features: Features, var: &Var, outer: &[Var]) -> String {
    let mut text = "decl ".to_owned();
    if var.ty != Ty::Bool || (features.spelling && rng.chance(0.2)) {
        text += &var.ty.name();
        text.push(' ');
    }
    text += &var.name;
    if let Some(len) = var.len {
        text += &format!("[{len}]");
    }
    if !features.arbitrary || rng.chance(0.4) {
        let mut exprs = Exprs { rng, features, vars: outer, primed: &[], choice_bits: 0 };
        let value = if outer.is_empty() { exprs.constant(var.ty) } else { exprs.expr(var.ty) };
        text += &format!(" := {value}");
    }
    text + ";"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(features: Features) -> Vec<String> {
        (0..400).map(|seed| program(seed, features)).collect()
    }

    #[test]
    fn equal_seeds_give_equal_programs() {
        assert_eq!(program(7, Features::all()), program(7, Features::all()));
        assert_ne!(program(7, Features::all()), program(8, Features::all()));
    }

    #[test]
    fn every_program_asks_about_err() {
        for source in many(Features::all()) {
            assert!(source.contains("ERR: skip"), "{source}");
        }
    }

    #[test]
    fn every_construct_occurs() {
        let all = many(Features::all()).concat();
        for construct in [
            "uint<3>",
            "int<2>",
            "[0]",
            "[2];",
            "ref ",
            "_",
            "_ :=",
            "bool<2> p",
            "(uint<",
            "constrain (",
            "constrain(",
            "'g",
            "'{",
            "enforce",
            "assume",
            "assert",
            "dead",
            "goto L0;",
            "goto L1, ",
            "L0: L1: ",
            "if ",
            "elsif",
            "else",
            "while",
            "od;",
            "fi;",
            "end;",
            "skip",
            "print(",
            "schoose[",
            "*",
            "?",
            "ite(",
            " => ",
            " ^ ",
            " = ",
            " == ",
            " != ",
            " < ",
            " <= ",
            " > ",
            " >= ",
            " + ",
            " - ",
            " * ",
            " && ",
            " || ",
            "~",
            "!",
            "-",
            "{g",
            " T",
            "false",
            "return;",
            "return ",
            "call p",
            ":= p",
            "\np1(",
            "\nmain(",
        ] {
            assert!(all.contains(construct), "no `{construct}` in 400 programs");
        }
    }

    #[test]
    fn what_is_switched_off_does_not_occur() {
        let all = many(Features::none()).concat();
        for construct in [
            "int<",
            "constrain",
            "enforce",
            "ref",
            "goto",
            "while",
            "*",
            "?",
            "schoose",
            "assert",
            "dead",
            "{",
            "~",
            "&&",
            ";;",
            "fi;",
        ] {
            assert!(!all.contains(construct), "`{construct}` occurs");
        }
    }

    #[test]
    fn blocks_are_closed_and_indented() {
        for source in many(Features::all()) {
            let count =
                |word: &str| source.lines().filter(|line| line.trim().split(' ').any(|w| w == word)).count();
            let closers =
                |word: &str| source.lines().filter(|line| line.trim().trim_end_matches(';') == word).count();
            assert_eq!(count("then"), closers("fi") + count("elsif"), "{source}");
            assert_eq!(count("do"), closers("od"), "{source}");
            assert_eq!(closers("begin"), closers("end"), "{source}");
        }
    }
}
