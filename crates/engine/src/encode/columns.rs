//! Room `engine/encode`: variables of different procedures that share a column.
//!
//! # Idea
//!
//! A call copies an argument into a parameter, and a result into the variable that receives it, as it is or negated. If the
//! two have the same place in the order of levels, a call relates each place to itself, and that is small whatever the order
//! is. So variables that a call copies into each other are put into one *column*, as long as no procedure has two members in
//! it: those would be in scope together. The same holds at one remove: two variables of different procedures that are
//! copied to or from members of a third column are merged if they can be. (If one procedure sets a global from its `a` and another one
//! from its `b`, then `a` and `b` are.)
//!
//! Procedures of one class ([`super::machine::classes`]) should also be placed in the same way, so that relations can be shared. The
//! columns of a local or result and of its twin in the first procedure of the class are merged, if one of the two is in a column and they can be.
//!
//! Globals are in scope everywhere, and each has a column of its own, except control, which [`super::wiring`] places itself.
//!
//! # Cost
//!
//! A union-find structure over the variables that are copied by calls; when two columns are merged, the procedures of the
//! smaller one are relabelled. Linear in the program but for a logarithm.

use super::machine::code::Machine;
use postbop_ir::{Action, Expr, Op, ProcId, Program, Scope, Table, VarId};
use rustc_hash::FxHashSet as HashSet;

/// A variable or a result, numbered across the program: variables first.
pub type Node = u32;

/// How many variables that are copied to or from one column are kept, as candidates to be merged with further ones.
const MOST_TRIED: usize = 4;

/// The numbers of variables and results.
pub struct Nodes {
    /// The first result of each procedure.
    results: Table<ProcId, u32>,
    /// For each result its procedure.
    owners: Vec<ProcId>,
    variables: u32,
}

impl Nodes {
    /// The nodes of a program.
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

    /// The place of a local or a result among those of its procedure; none for a global.
    pub fn place(&self, machine: &Machine, node: Node) -> Option<usize> {
        let proc = self.owner(machine.program, node)?;
        Some(match node < self.variables {
            true => machine.scopes.place(VarId(node)) as usize,
            false => machine.program.procs()[proc].locals.len() + (node - self.results[proc]) as usize,
        })
    }

    /// The local or the result at a place in a procedure.
    pub fn at(&self, program: &Program, proc: ProcId, place: usize) -> Node {
        let locals = &program.procs()[proc].locals;
        match locals.get(place) {
            Some(&var) => self.var(var),
            None => self.result(proc, place - locals.len()),
        }
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

    /// Whether a node is a global.
    pub fn is_global(&self, program: &Program, node: Node) -> bool {
        self.owner(program, node).is_none()
    }

    /// Whether a node is an integer.
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
    /// The union-find forest. A column is known by its root.
    parent: Vec<Node>,
    /// For each root the procedures that have a member in its column. Empty until the first attempt to merge it.
    procs: Vec<Vec<ProcId>>,
    /// The same as pairs, to look them up.
    taken: HashSet<(Node, ProcId)>,
}

/// The columns of a program.
pub struct Columns {
    /// The column of each node that is in one.
    of: Vec<Option<u32>>,
    /// For each column whether its members are integers.
    is_integer: Vec<bool>,
}

impl Columns {
    /// The columns of a program: one for each of these globals, and one for each set of two or more locals and results that
    /// share it.
    pub fn new(machine: &Machine, nodes: &Nodes, globals: &[VarId]) -> Self {
        let program = machine.program;
        let parent = (0..nodes.len() as u32).collect();
        let procs = vec![Vec::new(); nodes.len()];
        let mut grower = Grower { program, nodes, parent, procs, taken: HashSet::default() };
        grower.join_copied_by_calls();
        grower.join_neighbours();
        grower.join_twins(machine);
        let mut columns = Columns { of: vec![None; nodes.len()], is_integer: Vec::new() };
        for node in globals.iter().map(|&var| nodes.var(var)) {
            columns.of[node as usize] = Some(columns.add(nodes.is_integer(program, node)));
        }
        let mut column_of_root = vec![None; nodes.len()];
        for node in 0..nodes.len() as u32 {
            let root = grower.root(node) as usize;
            // A column has one member in each procedure: with one procedure it is a lone variable.
            if grower.procs[root].len() > 1 {
                let new = || columns.add(nodes.is_integer(program, node));
                let column = *column_of_root[root].get_or_insert_with(new);
                columns.of[node as usize] = Some(column);
            }
        }
        columns
    }

    /// A new column.
    fn add(&mut self, is_integer: bool) -> u32 {
        self.is_integer.push(is_integer);
        self.is_integer.len() as u32 - 1
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.is_integer.len()
    }

    /// The column of a node, if it is in one.
    pub fn of(&self, node: Node) -> Option<u32> {
        self.of[node as usize]
    }

    /// Whether the members of a column are integers. None has integers and Booleans.
    pub fn is_integer(&self, column: u32) -> bool {
        self.is_integer[column as usize]
    }
}

impl Grower<'_> {
    /// The root of a node's column.
    fn root(&mut self, mut node: Node) -> Node {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }

    /// Merges the columns of two nodes, if no procedure has members in both, and integers do not meet Booleans. Returns whether
    /// the nodes are in one column now.
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

    /// Merges the columns of variables that calls copy into each other.
    fn join_copied_by_calls(&mut self) {
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

    /// Merges the columns of variables that are copied, within procedures, to or from members of one column.
    fn join_neighbours(&mut self) {
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

    /// Merges the columns of the locals and results that are at the same place in procedures of one class.
    fn join_twins(&mut self, machine: &Machine) {
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
