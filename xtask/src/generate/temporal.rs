//! Room `xtask`: random programs with random formulas and monitors about them.
//!
//! The formulas stand in comments before the program, one on a line, so that whatever makes a program smaller makes them smaller too:
//! `// ltl: FORMULA` and `// monitor: STATES AND EDGES`. Formulas are written with fewer parentheses than trees need; what they mean then,
//! the precedence of operators says.

use super::{Features, Size, program};
use crate::rng::Rng;
use postbop_front::Options;
use postbop_ir::{Program, Scope, Type, Value, Var};

/// Bounds on the programs: the oracle decides a product with a formula.
const SIZE: Size = Size {
    globals: 3,
    locals: 2,
    procs: 3,
    statements: 9,
    global_bits: 3,
    local_bits: 2,
    choice_bits: 3,
    depth: 2,
};
const FORMULAS: usize = 3;
const MONITORS: usize = 2;
/// The most temporal operators of a formula.
const TEMPORAL: usize = 4;

/// The program of this seed, with what is asked about it.
pub fn temporal(seed: u64, features: Features) -> String {
    let source = program(seed, Features { size: SIZE, ..features });
    let Some(graph) = postbop_front::read(source.as_bytes(), Options::default()).program else {
        return source;
    };
    let mut rng = Rng::new(!seed);
    let atoms = atoms(&graph);
    let mut lines = Vec::new();
    for _ in 0..FORMULAS {
        let (temporal, depth) = (rng.range(1, TEMPORAL), 4);
        let mut writer = Writer { rng: &mut rng, atoms: &atoms, temporal };
        lines.push(format!("// ltl: {}", writer.formula(depth)));
    }
    for _ in 0..MONITORS {
        lines.push(format!("// monitor: {}", monitor(&mut rng, &atoms)));
    }
    lines.push(source);
    lines.join("\n")
}

/// What can be said about a position of a run. Names that need quoting are left out.
fn atoms(program: &Program) -> Vec<String> {
    let proc = |id: postbop_ir::ProcId| &program.procs()[id].name;
    let mut atoms = Vec::new();
    for label in program.labels() {
        atoms.push(format!("at {}", label.name));
        atoms.push(format!("at {}:{}", proc(program.locs()[label.loc].proc), label.name));
    }
    for id in program.procs().ids() {
        atoms.extend(["in", "call", "return"].map(|word| format!("{word} {}", proc(id))));
    }
    let plain = |var: &&Var| var.name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for var in program.vars().iter().filter(plain) {
        let name = |var: &Var| match var.scope {
            Scope::Global => var.name.clone(),
            Scope::Local(owner) => format!("{}.{}", proc(owner), var.name),
        };
        let own = name(var);
        match var.ty {
            Type::Bool => atoms.extend([format!("{{{own}}}"), format!("{{! {own}}}")]),
            ty => {
                let number = u8::from(ty.contains(Value::TRUE));
                atoms.extend(["=", "<", "!="].map(|op| format!("{{{own} {op} {number}}}")));
                atoms.push(format!("{{{own} >= 0}}"));
            }
        }
        let comparable =
            |other: &&Var| other.ty == var.ty && (other.scope == Scope::Global || other.scope == var.scope);
        for other in program.vars().iter().filter(plain).filter(comparable) {
            let op = if var.ty == Type::Bool { "!=" } else { "<=" };
            atoms.push(format!("{{{own} {op} {}}}", name(other)));
        }
    }
    atoms
}

struct Writer<'a> {
    rng: &'a mut Rng,
    atoms: &'a [String],
    /// How many temporal operators may still be used.
    temporal: usize,
}

impl Writer<'_> {
    /// A formula. Bounded: each level has one less to spend.
    fn formula(&mut self, depth: usize) -> String {
        let weights = [if depth == 0 { 1 } else { 0 }, if depth == 0 { 0 } else { 4 }, 2];
        match self.rng.weighted(&weights) {
            1 if self.temporal > 0 => {
                self.temporal -= 1;
                match self.rng.below(8) {
                    unary @ 0..=3 => format!("{} {}", ["X", "F", "G", "F"][unary], self.operand(depth - 1)),
                    binary => self.binary(["U", "R", "W", "M"][binary - 4], depth - 1),
                }
            }
            2 if depth > 0 => match self.rng.below(5) {
                0 => format!("! {}", self.operand(depth - 1)),
                other => self.binary(["&", "|", "->", "<->"][other - 1], depth - 1),
            },
            _ if self.rng.chance(0.04) => (*self.rng.pick(&["true", "false"])).to_owned(),
            _ => self.rng.pick(self.atoms).clone(),
        }
    }

    /// Two operands. Bounded, as `formula` is.
    fn binary(&mut self, operator: &str, depth: usize) -> String {
        let first = self.operand(depth);
        format!("{first} {operator} {}", self.operand(depth))
    }

    /// A formula, most of the time in parentheses. Bounded, as `formula` is.
    fn operand(&mut self, depth: usize) -> String {
        let formula = self.formula(depth);
        if self.rng.chance(0.7) { format!("({formula})") } else { formula }
    }
}

fn monitor(rng: &mut Rng, atoms: &[String]) -> String {
    let names = &["a", "b", "c"][..rng.range(2, 3)];
    let mark = *rng.pick(&["target", "repeat", "repeat"]);
    let last = names.len() - 1;
    let mut items = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let init = if at == 0 || rng.chance(0.1) { " init" } else { "" };
        let marked = if at == last || rng.chance(0.15) { format!(" {mark}") } else { String::new() };
        items.push(format!("state {name}{init}{marked};"));
    }
    let mut has_otherwise = vec![false; names.len()];
    for _ in 0..rng.range(2, 6) {
        let (from, to) = (rng.below(names.len()), rng.below(names.len()));
        let (temporal, depth) = (0, rng.below(3));
        let guard = match rng.below(6) {
            0 => String::new(),
            1 if !has_otherwise[from] => {
                has_otherwise[from] = true;
                " otherwise".to_owned()
            }
            _ => format!(" when {}", Writer { rng, atoms, temporal }.formula(depth)),
        };
        items.push(format!("{} -> {}{guard};", names[from], names[to]));
    }
    items.join(" ")
}
