//! Room `xtask`: program graphs as constrained Horn clauses.
//!
//! # Idea
//! For each location a relation between values at the entry of its procedure and values at the location; for each
//! procedure a summary, between values at its entry and what it leaves behind, and a relation of the entry values from which
//! a target is reached before it returns. An edge is a clause; the query is that `main` reaches no target from any values. The
//! clauses have a model exactly if the property holds.
//!
//! A procedure is entered with any values, rather than with those that some caller has: the solver works from the query
//! backwards, and asks for the entries that it needs.
//!
//! # Departures
//! A relation of a procedure speaks of the globals that the procedure or its callees mention, not of all, and of the values at the
//! entry only where a variable may have changed since. That is no reduction that the solver could not do for itself;
//! it keeps the text short where hundreds of variables are in scope.
//!
//! # Cost
//! Linear in the number of edges times the number of variables in scope.

use postbop_ir::{Action, Edge, Expr, LocId, Op, ProcId, Program, Table, Type, VarId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The clauses that have a model exactly if no run of a sequential program reaches one of the locations, in SMT-LIB.
pub fn clauses(program: &Program, targets: &[LocId]) -> String {
    assert!(program.is_sequential(), "clauses are made of sequential programs");
    let mut writer = Writer { program, interfaces: interfaces(program, targets), text: String::new() };
    writer.text += "(set-logic HORN)\n";
    program.procs().ids().for_each(|proc| writer.declare(proc));
    program.procs().ids().for_each(|proc| writer.entry(proc));
    program.edges().iter().for_each(|edge| writer.edge(edge));
    for &target in targets {
        // A run is at the exit of no procedure but `main`.
        if !program.is_exit(target) || program.locs()[target].proc == program.main() {
            writer.target(target);
        }
    }
    writer.query();
    writer.text + "(check-sat)\n"
}

/// What the relations of a procedure speak of.
#[derive(Clone, Default)]
struct Interface {
    /// The globals that it or its callees mention.
    globals: BTreeSet<VarId>,
    /// Those of them, and of its own variables, that may change.
    changed: BTreeSet<VarId>,
    /// Whether it or one of its callees has a target.
    has_target: bool,
}

fn interfaces(program: &Program, targets: &[LocId]) -> Table<ProcId, Interface> {
    let mut interfaces: Table<ProcId, Interface> = Table::filled(program.procs().len(), Interface::default());
    for edge in program.edges().iter() {
        let interface = &mut interfaces[program.locs()[edge.from].proc];
        let nexts = edge.action.exprs().flat_map(|expr| expr.code.iter()).filter_map(|op| match op {
            Op::Next(var) => Some(*var),
            _ => None,
        });
        interface.globals.extend(edge.action.mentions().chain(nexts).filter(|&var| program.is_global(var)));
        interface.changed.extend(edge.action.writes());
    }
    for &target in targets {
        interfaces[program.locs()[target].proc].has_target = true;
    }
    let callees = program.callees();
    let mut callers: Table<ProcId, Vec<ProcId>> = Table::filled(program.procs().len(), Vec::new());
    for caller in program.procs().ids() {
        callees[caller].iter().for_each(|&callee| callers[callee].push(caller));
    }
    let mut work: Vec<ProcId> = program.procs().ids().collect();
    while let Some(callee) = work.pop() {
        let Interface { globals, changed, has_target } = interfaces[callee].clone();
        for &caller in &callers[callee] {
            let interface = &mut interfaces[caller];
            let size = (interface.globals.len(), interface.changed.len(), interface.has_target);
            interface.globals.extend(&globals);
            interface.changed.extend(changed.iter().filter(|&&var| program.is_global(var)));
            interface.has_target |= has_target;
            if size != (interface.globals.len(), interface.changed.len(), interface.has_target) {
                work.push(caller);
            }
        }
    }
    interfaces
}

/// A clause under construction: its variables, with their sorts, and its premises.
#[derive(Default)]
struct Clause {
    vars: BTreeMap<String, String>,
    premises: Vec<String>,
    choices: usize,
}

struct Writer<'a> {
    program: &'a Program,
    interfaces: Table<ProcId, Interface>,
    text: String,
}

impl Writer<'_> {
    /// The variables in scope.
    fn scope(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        self.interfaces[proc].globals.iter().copied().chain(self.program.procs()[proc].locals.iter().copied())
    }

    /// The variables that a caller gives values to.
    fn inputs(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        self.interfaces[proc].globals.iter().chain(self.program.procs()[proc].params()).copied()
    }

    fn is_changed(&self, proc: ProcId, var: VarId) -> bool {
        self.interfaces[proc].changed.contains(&var)
    }

    /// The globals that a caller finds changed.
    fn outputs(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        self.interfaces[proc].globals.iter().copied().filter(move |&var| self.is_changed(proc, var))
    }

    fn sort_of(&self, var: VarId) -> String {
        sort(self.program.vars()[var].ty)
    }

    fn declare(&mut self, proc: ProcId) {
        let inputs: Vec<String> = self.inputs(proc).map(|var| self.sort_of(var)).collect();
        let changed = self.inputs(proc).filter(|&var| self.is_changed(proc, var));
        let at_location: Vec<String> = changed.chain(self.scope(proc)).map(|var| self.sort_of(var)).collect();
        let results = self.program.procs()[proc].results.iter().map(|&ty| sort(ty));
        let left: Vec<String> = self.outputs(proc).map(|var| self.sort_of(var)).chain(results).collect();
        let mut declare = |name: String, sorts: &str| {
            writeln!(self.text, "(declare-fun {name} ({sorts}) Bool)").expect("a string takes all text");
        };
        declare(format!("S{}", proc.0), &[inputs.clone(), left].concat().join(" "));
        declare(format!("F{}", proc.0), &inputs.join(" "));
        let at_location = at_location.join(" ");
        for (loc, _) in self.program.locs().pairs().filter(|(_, data)| data.proc == proc) {
            declare(format!("L{}", loc.0), &at_location);
        }
    }

    /// The relation of a location, with these names for the current values.
    fn at(&self, loc: LocId, clause: &mut Clause, now: impl Fn(VarId) -> String) -> String {
        let proc = self.program.locs()[loc].proc;
        let changed = self.inputs(proc).filter(|&var| self.is_changed(proc, var));
        let mut terms: Vec<String> = changed.map(|var| clause.var('e', var, self.sort_of(var))).collect();
        terms.extend(self.scope(proc).map(now));
        apply('L', loc.0, &terms)
    }

    /// A clause whose premise is that a run is at the location with the values `v`.
    fn premise(&self, loc: LocId) -> Clause {
        let mut clause = Clause::default();
        for var in self.scope(self.program.locs()[loc].proc) {
            clause.var('v', var, self.sort_of(var));
        }
        let at = self.at(loc, &mut clause, |var| name('v', var));
        clause.premises.push(at);
        clause
    }

    /// The values at the entry of the procedure, in a clause about one of its locations.
    fn entered_with(&self, proc: ProcId) -> Vec<String> {
        let kind = |var| if self.is_changed(proc, var) { 'e' } else { 'v' };
        self.inputs(proc).map(|var| name(kind(var), var)).collect()
    }

    fn entry(&mut self, proc: ProcId) {
        let mut clause = Clause::default();
        let changed = self.inputs(proc).filter(|&var| self.is_changed(proc, var));
        let at_entry = changed.chain(self.scope(proc));
        let terms: Vec<String> = at_entry.map(|var| clause.var('v', var, self.sort_of(var))).collect();
        let head = apply('L', self.program.procs()[proc].entry.0, &terms);
        clause.finish(&head, &mut self.text);
    }

    fn target(&mut self, loc: LocId) {
        let proc = self.program.locs()[loc].proc;
        let head = apply('F', proc.0, &self.entered_with(proc));
        self.premise(loc).finish(&head, &mut self.text);
    }

    fn query(&mut self) {
        let mut clause = Clause::default();
        let main = self.program.main();
        let terms: Vec<String> =
            self.inputs(main).map(|var| clause.var('v', var, self.sort_of(var))).collect();
        clause.premises.push(apply('F', main.0, &terms));
        clause.finish("false", &mut self.text);
    }

    fn edge(&mut self, edge: &Edge) {
        let mut clause = self.premise(edge.from);
        let changed: BTreeSet<VarId> = edge.action.writes().collect();
        match &edge.action {
            Action::Assume(condition) => {
                let condition = self.term(condition, &mut clause);
                clause.premises.push(condition);
            }
            Action::Assign { targets, values, constraint } => {
                for (&target, value) in targets.iter().zip(values) {
                    let value = self.term(value, &mut clause);
                    let next = clause.var('n', target, self.sort_of(target));
                    clause.premises.push(format!("(= {next} {value})"));
                }
                if let Some(constraint) = constraint {
                    let constraint = self.term(constraint, &mut clause);
                    clause.premises.push(constraint);
                }
            }
            Action::Havoc(targets) => {
                targets.iter().for_each(|&target| {
                    clause.var('n', target, self.sort_of(target));
                });
            }
            Action::Call { callee, args, results } => {
                return self.call(edge, clause, *callee, args, results);
            }
            Action::Return(values) => return self.give_back(edge, clause, values),
        }
        let now = |var| name(if changed.contains(&var) { 'n' } else { 'v' }, var);
        let head = self.at(edge.to, &mut clause, now);
        clause.finish(&head, &mut self.text);
    }

    /// Two clauses: the callee returns, or a target is reached in it.
    fn call(
        &mut self,
        edge: &Edge,
        mut clause: Clause,
        callee: ProcId,
        args: &[Expr],
        results: &[Option<VarId>],
    ) {
        let mut inputs: Vec<String> =
            self.interfaces[callee].globals.iter().map(|&var| name('v', var)).collect();
        inputs.extend(args.iter().map(|arg| self.term(arg, &mut clause)));
        if self.interfaces[callee].has_target {
            let mut fails =
                Clause { vars: clause.vars.clone(), premises: clause.premises.clone(), choices: 0 };
            fails.premises.push(apply('F', callee.0, &inputs));
            let proc = self.program.locs()[edge.from].proc;
            fails.finish(&apply('F', proc.0, &self.entered_with(proc)), &mut self.text);
        }
        // A result may go to a global that the callee changed: the result is stored last.
        let mut now: BTreeMap<VarId, String> = BTreeMap::new();
        for var in self.outputs(callee) {
            let left = clause.var('n', var, self.sort_of(var));
            inputs.push(left.clone());
            now.insert(var, left);
        }
        for (at, (&ty, &result)) in self.program.procs()[callee].results.iter().zip(results).enumerate() {
            let value = format!("r{at}");
            clause.vars.insert(value.clone(), sort(ty));
            inputs.push(value.clone());
            now.extend(result.map(|var| (var, value)));
        }
        clause.premises.push(apply('S', callee.0, &inputs));
        let head =
            self.at(edge.to, &mut clause, |var| now.get(&var).cloned().unwrap_or_else(|| name('v', var)));
        clause.finish(&head, &mut self.text);
    }

    /// A summary of the procedure, or the end of the run.
    fn give_back(&mut self, edge: &Edge, mut clause: Clause, values: &[Expr]) {
        let proc = self.program.locs()[edge.from].proc;
        let head = if proc == self.program.main() {
            self.at(edge.to, &mut clause, |var| name('v', var))
        } else {
            let mut terms = self.entered_with(proc);
            terms.extend(self.outputs(proc).map(|var| name('v', var)));
            terms.extend(values.iter().map(|value| self.term(value, &mut clause)));
            apply('S', proc.0, &terms)
        };
        clause.finish(&head, &mut self.text);
    }

    /// An expression over the values `v`, the new values `n` and choices.
    fn term(&self, expr: &Expr, clause: &mut Clause) -> String {
        let mut stack: Vec<(String, Type)> = Vec::new();
        for &op in &expr.code {
            let operands = stack.split_off(stack.len() - op.arity());
            let ty = operands.last().map_or(Type::Bool, |(_, ty)| *ty);
            let (symbol, ty) = match op {
                Op::Const(ty, value) => (constant(ty, value.get().into()), ty),
                Op::Var(var) => (name('v', var), self.program.vars()[var].ty),
                Op::Next(var) => (name('n', var), self.program.vars()[var].ty),
                Op::Choice(ty) => {
                    clause.choices += 1;
                    let choice = format!("k{}", clause.choices);
                    clause.vars.insert(choice.clone(), sort(ty));
                    (choice, ty)
                }
                Op::Not => ("not".to_owned(), ty),
                Op::And => ("and".to_owned(), ty),
                Op::Or => ("or".to_owned(), ty),
                Op::Xor => ("xor".to_owned(), ty),
                Op::Eq => ("=".to_owned(), Type::Bool),
                Op::Lt => (comparison(ty, ["<", "bvslt", "bvult"]), Type::Bool),
                Op::Le => (comparison(ty, ["<=", "bvsle", "bvule"]), Type::Bool),
                Op::Neg(ty) => (arithmetic(ty, "-", "bvneg"), ty),
                Op::Add(ty) => (arithmetic(ty, "+", "bvadd"), ty),
                Op::Sub(ty) => (arithmetic(ty, "-", "bvsub"), ty),
                Op::Mul(ty) => (arithmetic(ty, "*", "bvmul"), ty),
                Op::Ite => ("ite".to_owned(), ty),
            };
            let operands: Vec<String> = operands.into_iter().map(|(text, _)| text).collect();
            let text =
                if operands.is_empty() { symbol } else { format!("({symbol} {})", operands.join(" ")) };
            stack.push((text, ty));
        }
        stack.pop().expect("an expression has a root").0
    }
}

impl Clause {
    /// A variable of the clause.
    fn var(&mut self, kind: char, var: VarId, sort: String) -> String {
        let name = name(kind, var);
        self.vars.entry(name.clone()).or_insert(sort);
        name
    }

    fn finish(&self, head: &str, text: &mut String) {
        let body = match &self.premises[..] {
            [] => head.to_owned(),
            premises => format!("(=> (and {}) {head})", premises.join(" ")),
        };
        let vars: Vec<String> = self.vars.iter().map(|(name, sort)| format!("({name} {sort})")).collect();
        match vars.is_empty() {
            true => *text += &format!("(assert {body})\n"),
            false => *text += &format!("(assert (forall ({}) {body}))\n", vars.join(" ")),
        }
    }
}

/// The name of a variable's value: `e` at the entry, `v` before a step, `n` after it.
fn name(kind: char, var: VarId) -> String {
    format!("{kind}{}", var.0)
}

fn apply(kind: char, number: u32, terms: &[String]) -> String {
    match terms {
        [] => format!("{kind}{number}"),
        terms => format!("({kind}{number} {})", terms.join(" ")),
    }
}

fn sort(ty: Type) -> String {
    match ty {
        Type::Bool => "Bool".to_owned(),
        Type::Uint(bits) | Type::Int(bits) => format!("(_ BitVec {bits})"),
        Type::Integer => "Int".to_owned(),
    }
}

fn constant(ty: Type, value: i128) -> String {
    match ty {
        Type::Bool => (value != 0).to_string(),
        Type::Uint(bits) | Type::Int(bits) => format!("(_ bv{} {bits})", value.rem_euclid(1 << bits)),
        Type::Integer if value < 0 => format!("(- {})", -value),
        Type::Integer => value.to_string(),
    }
}

fn comparison(ty: Type, [unbounded, signed, unsigned]: [&str; 3]) -> String {
    let symbol = match ty {
        Type::Integer => unbounded,
        Type::Int(_) => signed,
        Type::Uint(_) | Type::Bool => unsigned,
    };
    symbol.to_owned()
}

fn arithmetic(ty: Type, unbounded: &str, bounded: &str) -> String {
    if ty == Type::Integer { unbounded.to_owned() } else { bounded.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family;

    fn of(source: &str, target: &str) -> String {
        let reading = postbop_front::read(source.as_bytes(), Default::default());
        let program = reading.program.unwrap();
        let labels = program.labels().iter().filter(|label| label.name == target);
        let locs: Vec<LocId> = labels.map(|label| label.loc).collect();
        clauses(&program, &locs)
    }

    /// Brackets are closed, relations are declared, and each is applied to as many terms as its declaration says.
    fn check(text: &str) {
        let mut arities: BTreeMap<String, usize> = BTreeMap::new();
        for line in text.lines() {
            let mut depth = 0i32;
            line.bytes().for_each(|byte| depth += i32::from(byte == b'(') - i32::from(byte == b')'));
            assert_eq!(depth, 0, "{line}");
            if let Some(rest) = line.strip_prefix("(declare-fun ") {
                let (name, sorts) = rest.split_once(' ').unwrap();
                let sorts = sorts.strip_suffix(" Bool)").unwrap().replace("(_ BitVec ", "B(");
                arities
                    .insert(name.to_owned(), sorts.split_whitespace().filter(|sort| *sort != "()").count());
            }
        }
        for (name, arity) in &arities {
            for (start, _) in text.match_indices(&format!("({name} ")) {
                let usage = &text[start..];
                let mut depth = 0i32;
                let mut terms = 0;
                for (at, byte) in usage.bytes().enumerate() {
                    terms += usize::from(byte == b' ' && depth == 1);
                    depth += i32::from(byte == b'(') - i32::from(byte == b')');
                    if depth == 0 {
                        assert_eq!(terms, *arity, "{}", &usage[..=at]);
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn relations_are_applied_as_declared() {
        let families: [(&str, &[u64]); 7] = [
            ("T", &[3]),
            ("deep", &[4]),
            ("quicksort", &[4]),
            ("driver", &[1, 6, 4, 3]),
            ("mutual", &[1, 3, 2, 4]),
            ("scope", &[1, 20, 10]),
            ("havoc", &[3]),
        ];
        for (name, parameters) in families {
            let (program, locs) = family::instance(name, parameters).unwrap().read();
            check(&clauses(&program, &locs));
        }
    }

    #[test]
    fn a_relation_speaks_only_of_what_its_procedure_can_touch() {
        let text = of(
            "decl g, h;\nvoid main()\nbegin\n  f();\n  h := 1;\n  if (g) then\n    ERR: skip;\n  fi\nend\n\
             void f()\nbegin\n  g := !g;\nend\n",
            "ERR",
        );
        assert!(text.contains("(declare-fun S1 (Bool Bool) Bool)"), "{text}");
        assert!(text.contains("(S1 e0 v0)"), "{text}");
        assert!(text.contains("(S1 v0 n0)"), "{text}");
        // f has no target, so nothing is said of targets in it.
        assert!(!text.contains("(F1"), "{text}");
    }
}
