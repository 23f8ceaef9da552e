//! Room `engine/encode`: which variables of different procedures hold the same value, and so share a column.
//!
//! # Idea
//!
//! An argument and the parameter it becomes, a result and the variable that receives it hold the same value. If they have
//! the same place in the order of levels, a call relates each place to itself, and that is small whatever the order is.
//! So variables that a call copies into each other are put into one *column*, as long as no procedure has two members in
//! it: those would be in scope together. The same holds at one remove: two variables that are copied from or to members
//! of a third column, in different procedures, may share one.
//!
//! Procedures of one class ([`super::machine::classes`]) should also be placed in the same way, so that relations can be shared. A
//! variable without a column joins that of its counterpart, if it can.
//!
//! Globals are in scope everywhere, and each has a column of its own.
//!
//! # Cost
//!
//! A union-find structure over the variables that are copied by calls; the smaller of two columns is always the one that is
//! written down again. Linear in the program but for a logarithm.

use super::machine::code::Machine;
use postbop_ir::{Action, Expr, Id, Op, ProcId, Program, Scope, Table, VarId};
use rustc_hash::FxHashSet as HashSet;

/// A variable or a result, numbered across the program: variables first.
pub type Node = u32;

/// The column of what is in none.
pub const NONE: u32 = u32::MAX;

/// So many columns are tried for what is copied to or from the same one.
const MOST_TRIED: usize = 4;

/// The numbers of variables and results.
pub struct Nodes {
    /// The first result of each procedure.
    results: Table<ProcId, u32>,
    /// To which procedure results belong.
    owners: Vec<ProcId>,
    variables: u32,
}

impl Nodes {
    /// Those of a program.
    pub fn new(program: &Program) -> Self {
        let variables = program.vars().len() as u32;
        let mut owners = Vec::new();
        let mut first = |(id, proc): (ProcId, &postbop_ir::Proc)| {
            let first = variables + owners.len() as u32;
            owners.extend(proc.results.iter().map(|_| id));
            first
        };
        let results = program.procs().pairs().map(&mut first).collect();
        Nodes { results, owners, variables }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.variables as usize + self.owners.len()
    }

    /// The number of a variable.
    pub fn var(&self, var: VarId) -> Node {
        var.0
    }

    /// The number of a result.
    pub fn result(&self, proc: ProcId, at: usize) -> Node {
        self.results[proc] + at as u32
    }

    /// The locals and results of a procedure, in the order of its fields.
    pub fn of<'a>(&'a self, program: &'a Program, proc: ProcId) -> impl Iterator<Item = Node> + 'a {
        let data = &program.procs()[proc];
        let results = (0..data.results.len()).map(move |at| self.result(proc, at));
        data.locals.iter().map(|&var| self.var(var)).chain(results)
    }

    /// The procedure of a local or a result; none for a global.
    fn owner(&self, program: &Program, node: Node) -> Option<ProcId> {
        if node >= self.variables {
            return Some(self.owners[(node - self.variables) as usize]);
        }
        match program.vars()[VarId(node)].scope {
            Scope::Global => None,
            Scope::Local(proc) => Some(proc),
        }
    }

    /// Whether it is an integer.
    pub fn is_integer(&self, program: &Program, node: Node) -> bool {
        match node.checked_sub(self.variables) {
            Some(at) => {
                let proc = self.owners[at as usize];
                program.procs()[proc].results[(node - self.results[proc]) as usize].is_integer()
            }
            None => program.vars()[VarId(node)].ty.is_integer(),
        }
    }
}

/// The variable that an expression copies, perhaps negated.
fn copied(expr: &Expr) -> Option<VarId> {
    match expr.code[..] {
        [Op::Var(var)] | [Op::Var(var), Op::Not] => Some(var),
        _ => None,
    }
}

/// Columns while they grow.
struct Grower<'a> {
    program: &'a Program,
    nodes: &'a Nodes,
    parent: Vec<Node>,
    /// Of each column with more than one member, by its root: the procedures.
    procs: Vec<Vec<ProcId>>,
    taken: HashSet<(Node, ProcId)>,
}

/// The column of each variable and result that is in one with others or is global, by its number; those of integers are
/// apart, and not mixed with others. Globals are not in the table of members.
pub fn columns(machine: &Machine, nodes: &Nodes, globals: &[VarId]) -> (Vec<u32>, usize) {
    let program = machine.program;
    let parent = (0..nodes.len() as u32).collect();
    let procs = vec![Vec::new(); nodes.len()];
    let mut grower = Grower { program, nodes, parent, procs, taken: HashSet::default() };
    grower.calls();
    grower.neighbours();
    grower.counterparts(machine);
    let mut column = vec![NONE; nodes.len()];
    let mut number = vec![NONE; nodes.len()];
    let mut count = 0;
    let mut next = || {
        count += 1;
        count - 1
    };
    globals.iter().for_each(|&var| column[var.index()] = next());
    for node in 0..nodes.len() as u32 {
        let root = grower.root(node);
        if grower.procs[root as usize].len() > 1 {
            let number = &mut number[root as usize];
            if *number == NONE {
                *number = next();
            }
            column[node as usize] = *number;
        }
    }
    (column, count as usize)
}

impl Grower<'_> {
    fn root(&mut self, mut node: Node) -> Node {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }

    /// Makes two columns one if no procedure is in both; whether they are one now.
    fn merge(&mut self, a: Node, b: Node) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return true;
        }
        for node in [a, b] {
            let Some(owner) = self.nodes.owner(self.program, node) else { return false };
            if self.procs[node as usize].is_empty() {
                self.procs[node as usize].push(owner);
                self.taken.insert((node, owner));
            }
        }
        if self.nodes.is_integer(self.program, a) != self.nodes.is_integer(self.program, b) {
            return false;
        }
        let larger = self.procs[a as usize].len() >= self.procs[b as usize].len();
        let (large, small) = if larger { (a, b) } else { (b, a) };
        if self.procs[small as usize].iter().any(|&proc| self.taken.contains(&(large, proc))) {
            return false;
        }
        let moved = std::mem::take(&mut self.procs[small as usize]);
        for &proc in &moved {
            self.taken.remove(&(small, proc));
            self.taken.insert((large, proc));
        }
        self.procs[large as usize].extend(moved);
        self.parent[small as usize] = large;
        true
    }

    /// What calls copy.
    fn calls(&mut self) {
        for edge in self.program.edges().iter() {
            let Action::Call { callee, args, results } = &edge.action else { continue };
            for (&param, arg) in self.program.procs()[*callee].params().iter().zip(args) {
                if let Some(var) = copied(arg) {
                    self.merge(self.nodes.var(param), self.nodes.var(var));
                }
            }
            for (at, receiver) in results.iter().enumerate() {
                if let Some(var) = receiver {
                    self.merge(self.nodes.result(*callee, at), self.nodes.var(*var));
                }
            }
        }
    }

    /// What is copied, within procedures, to or from members of one column.
    fn neighbours(&mut self) {
        let mut pairs: Vec<(Node, Node)> = Vec::new();
        for edge in self.program.edges().iter() {
            match &edge.action {
                Action::Assign { targets, values, .. } => {
                    let copies =
                        targets.iter().zip(values).filter_map(|(&to, value)| Some((to, copied(value)?)));
                    pairs.extend(copies.map(|(to, from)| (self.nodes.var(to), self.nodes.var(from))));
                }
                Action::Return(values) => {
                    let proc = self.program.locs()[edge.from].proc;
                    let copy =
                        |(at, value)| Some((self.nodes.result(proc, at), self.nodes.var(copied(value)?)));
                    pairs.extend(values.iter().enumerate().filter_map(copy));
                }
                _ => {}
            }
        }
        let mut around: Vec<(Node, Node)> = Vec::with_capacity(2 * pairs.len());
        for (a, b) in pairs {
            let (hub, other) = (self.root(a), self.root(b));
            around.extend([(hub, b), (other, a)]);
        }
        around.sort_unstable();
        around.dedup();
        for group in around.chunk_by(|a, b| a.0 == b.0) {
            let mut kept: Vec<Node> = Vec::new();
            for &(_, node) in group {
                let merged = kept.iter().any(|&other| self.merge(other, node));
                if !merged && kept.len() < MOST_TRIED && self.nodes.owner(self.program, node).is_some() {
                    kept.push(node);
                }
            }
        }
    }

    /// What procedures of one class have in common.
    fn counterparts(&mut self, machine: &Machine) {
        let models = machine.classes.models();
        for proc in self.program.procs().ids() {
            let model = models[machine.classes.procs[proc] as usize];
            if model == proc {
                continue;
            }
            let (nodes, program) = (self.nodes, self.program);
            for (own, other) in nodes.of(program, proc).zip(nodes.of(program, model)) {
                let mut shared = |node| {
                    let root = self.root(node);
                    self.procs[root as usize].len() > 1
                };
                if shared(own) || shared(other) {
                    self.merge(own, other);
                }
            }
        }
    }
}
