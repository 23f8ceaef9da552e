//! Room `ir/horn`: a proof as a model of the clauses.
//!
//! # Idea
//!
//! A proof ([`crate::proof`]) gives locations sets of pairs (e, c) that are closed under the edges, from the valuations with which procedures are entered *in runs of the program*. The
//! clauses enter procedures with all valuations. So let E(e) say that (e, e) is in the set at the entry of a procedure, and define the relation of a location l as "E(e) implies that (e, c)
//! is in the set at l", the summary likewise by the set at the exit, and p.fails(e) as "not E(e)". That is a model: where E(e) is true, the clauses are the conditions
//! on closed sets, since a call from a member of a set enters its callee with values of which E is true; where it is false, there is nothing to show. The query asks that
//! E is true of every valuation with which `main` can begin, and so it must be.
//!
//! The file defines the relations and then asks, clause by clause, for values that make the clause false. A solver that trusts nothing of ours has to answer `unsat` to each.
//!
//! A location without a set has no relation: the clauses are about the runs of edges through it, as in `crates/validate`. Nodes of the proof are named by `let` as often as
//! sets need them, those of one height together, so that a set is written in the size that it has in the proof, and nests as deep as the proof does.

use super::Failure;
use super::clause::{Clause, Slot};
use super::interface::{Extra, Interfaces, Relation};
use super::make::Maker;
use super::symbol::{Sort, Symbol};
use crate::ids::{LocId, ProcId, Table, VarId};
use crate::program::{Program, Scope};
use crate::proof::{Compare, Node, Place, Proof, Ref};
use crate::types::Type;
use std::collections::HashMap;
use std::fmt::{Display, Formatter, Write};

fn unfit<T>(why: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Unfit(why.into()))
}

/// Writes a proof that the locations are not reached, as a model of the clauses, with a question for each clause.
pub fn write(
    program: &Program,
    proof: &Proof,
    targets: &[LocId],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if !program.is_sequential() {
        return unfit("the program has several threads");
    }
    if let Some(flaw) = proof.flaw(program) {
        return unfit(flaw);
    }
    let mut sets: Table<LocId, Option<Ref>> = proof.sets.clone();
    for &target in targets {
        sets[target].get_or_insert(Ref::FALSE);
    }
    for proc in program.procs().iter() {
        sets[proc.entry].get_or_insert(Ref::TRUE);
        sets[proc.exit].get_or_insert(Ref::TRUE);
    }
    let extra = mentions(program, proof, &sets)?;
    let interfaces = Interfaces::new(program, targets, &extra);
    let model = Model { program, proof, sets: &sets, interfaces: &interfaces };
    let has_sums = proof.nodes().iter().any(|node| matches!(node, Node::Sum(..)));
    writeln!(out, "(set-logic {})", if has_sums { "ALL" } else { "QF_BV" })?;
    for proc in program.procs().ids().filter(|&proc| interfaces.is_used(proc)) {
        model.enters(proc, out)?;
    }
    for relation in interfaces.relations() {
        model.define(relation, out)?;
    }
    let is_cut = |loc: LocId| sets[loc].is_some();
    Maker { program, interfaces: &interfaces, targets, is_cut: &is_cut }
        .clauses(&mut |clause: &Clause| Ok(clause.refuted(program, out)?))
}

/// The nodes that a set is made of, operands first.
fn nodes(proof: &Proof, set: Ref) -> Vec<u32> {
    let mut seen = std::collections::HashSet::new();
    let mut work = vec![set.number()];
    while let Some(number) = work.pop() {
        if number > 0 && seen.insert(number) {
            work.extend(operands(&proof.nodes()[number as usize - 1]).iter().map(|to| to.number()));
        }
    }
    // A node refers to earlier ones only.
    let mut all: Vec<u32> = seen.into_iter().collect();
    all.sort_unstable();
    all
}

fn operands(node: &Node) -> &[Ref] {
    match node {
        Node::Bit(..) | Node::Sum(..) => &[],
        Node::Ite(refs) => refs,
        Node::And(refs) => refs,
    }
}

/// The places that a node itself speaks of.
fn places(node: &Node) -> Vec<Place> {
    match node {
        Node::Bit(place, _) => vec![*place],
        Node::Sum(terms, _) => terms.iter().map(|&(_, place)| place).collect(),
        Node::Ite(_) | Node::And(_) => Vec::new(),
    }
}

/// What the sets speak of besides what procedures mention.
fn mentions(program: &Program, proof: &Proof, sets: &Table<LocId, Option<Ref>>) -> Result<Extra, Failure> {
    let mut changed = Table::filled(program.vars().len(), false);
    program.edges().iter().flat_map(|edge| edge.action.writes()).for_each(|var| changed[var] = true);
    let mut extra = Extra::default();
    for (loc, set) in sets.pairs() {
        let Some(set) = *set else { continue };
        let id = program.locs()[loc].proc;
        let proc = &program.procs()[id];
        for number in nodes(proof, set) {
            for place in places(&proof.nodes()[number as usize - 1]) {
                let (Place::Entry(var) | Place::Now(var)) = place else { continue };
                match program.vars().get(var).map(|var| var.scope) {
                    Some(Scope::Global) => {
                        extra.globals.insert((id, var));
                        continue;
                    }
                    Some(Scope::Local(owner)) if owner == id => {}
                    _ => return unfit(format!("the set at {loc} speaks of {var}, which is not there")),
                }
                let now = matches!(place, Place::Now(_));
                if now && loc == proc.exit && changed[var] {
                    extra.left.insert(var);
                } else if !proc.params().contains(&var) && (!now || loc == proc.entry || loc == proc.exit) {
                    extra.remembered.insert(var);
                }
            }
        }
    }
    Ok(extra)
}

struct Model<'a> {
    program: &'a Program,
    proof: &'a Proof,
    sets: &'a Table<LocId, Option<Ref>>,
    interfaces: &'a Interfaces<'a>,
}

impl Model<'_> {
    fn enters_name(&self, proc: ProcId) -> String {
        Symbol(&self.program.procs()[proc].name, format_args!(".enters.{proc}")).to_string()
    }

    fn begin(&self, name: &str, arguments: &[(Slot, Type)], out: &mut dyn Write) -> Result<(), Failure> {
        write!(out, "(define-fun {name} (")?;
        for (slot, ty) in arguments {
            out.write_char('(')?;
            slot.write(self.program, out)?;
            write!(out, " {})", Sort(*ty))?;
        }
        Ok(out.write_str(") Bool ")?)
    }

    /// With which values a procedure is entered.
    fn enters(&self, proc: ProcId, out: &mut dyn Write) -> Result<(), Failure> {
        let arguments: Vec<(Slot, Type)> =
            self.interfaces.inputs(proc).map(|var| (Slot::Now(var), self.program.vars()[var].ty)).collect();
        self.begin(&self.enters_name(proc), &arguments, out)?;
        let set = self.sets[self.program.procs()[proc].entry].unwrap_or(Ref::TRUE);
        let slot = |place: Place| match place {
            Place::Entry(var) | Place::Now(var) => Some(Slot::Now(var)),
            _ => None,
        };
        self.set(set, proc, &slot, out)?;
        Ok(out.write_str(")\n")?)
    }

    /// That a procedure was entered with the values that relations of it have for its entry.
    fn entered(
        &self,
        proc: ProcId,
        slot: &dyn Fn(VarId) -> Slot,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let inputs: Vec<VarId> = self.interfaces.inputs(proc).collect();
        let name = self.enters_name(proc);
        if inputs.is_empty() {
            return Ok(out.write_str(&name)?);
        }
        write!(out, "({name}")?;
        for var in inputs {
            out.write_char(' ')?;
            slot(var).write(self.program, out)?;
        }
        Ok(out.write_char(')')?)
    }

    fn define(&self, relation: Relation, out: &mut dyn Write) -> Result<(), Failure> {
        let (proc, set) = match relation {
            Relation::At(loc) => (self.program.locs()[loc].proc, self.sets[loc]),
            Relation::Returns(proc) => (proc, self.sets[self.program.procs()[proc].exit]),
            Relation::Fails(proc) => (proc, Some(Ref::FALSE)),
        };
        // A location without a set has no relation.
        let Some(set) = set else { return Ok(()) };
        self.begin(&self.interfaces.name(relation), &self.interfaces.arguments(relation), out)?;
        if matches!(relation, Relation::Fails(_)) {
            out.write_str("(not ")?;
            self.entered(proc, &Slot::Now, out)?;
        } else {
            out.write_str("(=> ")?;
            self.entered(proc, &|var| self.interfaces.entered(proc, var), out)?;
            out.write_char(' ')?;
            let at_exit = matches!(relation, Relation::Returns(_));
            let slot = |place: Place| match place {
                Place::Entry(var) => Some(self.interfaces.entered(proc, var)),
                Place::Now(var) => Some(Slot::Now(var)),
                Place::Result(at) if at_exit => Some(Slot::Result(at, 0)),
                _ => None,
            };
            self.set(set, proc, &slot, out)?;
        }
        Ok(out.write_str("))\n")?)
    }

    /// A set as a formula.
    fn set(
        &self,
        set: Ref,
        proc: ProcId,
        slot: &dyn Fn(Place) -> Option<Slot>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let mut heights: HashMap<u32, usize> = HashMap::new();
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for number in nodes(self.proof, set) {
            let below = operands(&self.proof.nodes()[number as usize - 1]).iter();
            let height = below.map(|to| heights.get(&to.number()).map_or(0, |height| height + 1)).max();
            let height = height.unwrap_or(0);
            heights.insert(number, height);
            if rows.len() <= height {
                rows.resize(height + 1, Vec::new());
            }
            rows[height].push(number);
        }
        for row in &rows {
            out.write_str("(let (")?;
            for &number in row {
                write!(out, "(node.{number} ")?;
                self.node(&self.proof.nodes()[number as usize - 1], proc, slot, out)?;
                out.write_char(')')?;
            }
            out.write_str(") ")?;
        }
        reference(set, out)?;
        rows.iter().try_for_each(|_| out.write_char(')'))?;
        Ok(())
    }

    fn node(
        &self,
        node: &Node,
        proc: ProcId,
        slot: &dyn Fn(Place) -> Option<Slot>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let (word, refs) = match node {
            Node::Bit(place, bit) => return self.bit(*place, *bit, proc, slot, out),
            Node::Sum(terms, compare) => return self.sum(terms, *compare, proc, slot, out),
            Node::And(refs) if refs.is_empty() => return Ok(out.write_str("true")?),
            Node::And(refs) => ("and", &refs[..]),
            Node::Ite(refs) => ("ite", &refs[..]),
        };
        write!(out, "({word}")?;
        for &to in refs {
            out.write_char(' ')?;
            reference(to, out)?;
        }
        Ok(out.write_char(')')?)
    }

    /// Where the value of a place is, and its type, if there is such a value.
    fn slot(
        &self,
        place: Place,
        proc: ProcId,
        slot: &dyn Fn(Place) -> Option<Slot>,
    ) -> Result<(Slot, Option<Type>), Failure> {
        let Some(slot) = slot(place) else {
            return unfit(format!("a set speaks of {place:?}, for which clauses have no place"));
        };
        let ty = match slot.var() {
            Some(var) => Some(self.program.vars()[var].ty),
            None => self.program.procs()[proc].results.get(slot.number()).copied(),
        };
        Ok((slot, ty))
    }

    fn sum(
        &self,
        terms: &[(i64, Place)],
        compare: Compare,
        proc: ProcId,
        slot: &dyn Fn(Place) -> Option<Slot>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let is_congruence = matches!(compare, Compare::Congruent(..));
        let word = if matches!(compare, Compare::AtMost(_)) { "<=" } else { "=" };
        write!(out, "({word} {}(+ 0", if is_congruence { "(mod " } else { "" })?;
        for &(factor, place) in terms {
            let (slot, ty) = self.slot(place, proc, slot)?;
            if ty != Some(Type::Integer) {
                return unfit(format!("a sum of {place:?}, which is no unbounded integer"));
            }
            write!(out, " (* {} ", Whole(factor))?;
            slot.write(self.program, out)?;
            out.write_char(')')?;
        }
        match compare {
            Compare::AtMost(number) | Compare::Equal(number) => write!(out, ") {})", Whole(number))?,
            Compare::Congruent(rest, modulus) => {
                write!(out, ") {modulus}) {})", rest.rem_euclid(modulus))?;
            }
        }
        Ok(())
    }

    fn bit(
        &self,
        place: Place,
        bit: u8,
        proc: ProcId,
        slot: &dyn Fn(Place) -> Option<Slot>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let (slot, ty) = self.slot(place, proc, slot)?;
        match ty {
            Some(Type::Bool) if bit == 0 => slot.write(self.program, out)?,
            Some(Type::Uint(bits) | Type::Int(bits)) if bit < bits => {
                write!(out, "(= ((_ extract {bit} {bit}) ")?;
                slot.write(self.program, out)?;
                out.write_str(") #b1)")?;
            }
            _ => return unfit(format!("bit {bit} of {place:?} does not exist")),
        }
        Ok(())
    }
}

/// A number as terms of SMT-LIB are written.
struct Whole(i64);

impl Display for Whole {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            number @ 0.. => write!(f, "{number}"),
            number => write!(f, "(- {})", number.unsigned_abs()),
        }
    }
}

fn reference(to: Ref, out: &mut dyn Write) -> std::fmt::Result {
    match (to.number(), to.is_complement()) {
        (0, complement) => write!(out, "{}", !complement),
        (number, false) => write!(out, "node.{number}"),
        (number, true) => write!(out, "(not node.{number})"),
    }
}
