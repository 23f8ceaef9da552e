//! Room `front`: checked trees to program graphs.
//!
//! # Idea
//! Every statement has its own location, and its edges lead straight to what follows (`flow`): no edge only joins.
//! Edges are in the order of the source, `then` before `else`, jumps in the order they are written. The first
//! statement stands at the procedure's entry, unless something comes before it.
//!
//! - `skip`, `print`, `goto`, `sync`, and in a sequential program the brackets of an atomic section are edges that change
//!   nothing.
//! - A condition is a pair of assume edges; a bare `*` a pair of edges that change nothing.
//! - `assert e` assumes `e` to go on, and `!e` to a location of its own that must not be reached.
//! - `x := e constrain c`: in `c`, `'x` is the new value if x is assigned there, and otherwise the only one. Alone,
//!   `constrain c` relates all variables in scope: each gets an arbitrary new value, as in Moped.
//! - `enforce e` is assumed at entry and after each statement that can change a variable.
//! - `abortif e` is `assert !e`, as in Boppo.
//! - Initial values of globals are assigned at the head of `main`, which then calls `init` if there is one; those of locals
//!   at the head of their procedure, before `enforce`; a declaration further down assigns its where it stands.
//! - `ref` parameters are further results: each return gives their last values. Where one variable receives several
//!   results of one call, the last wins: those of `ref` parameters come after the others.
//! - A procedure with results that ends without any returns arbitrary ones.
//! - `end_thread` ends the run: nothing leaves it.
//!
//! Expressions and arrays are in `lower_expr`, statements in `lower_stmt`, threads in `lower_threads`.

use super::check::Meaning;
use super::flow::{self, END, Flow};
use super::lower_threads::Threads;
use super::tree::*;
use postbop_ir::{Action, Builder, Expr, Id, LocId, ProcId, Program, Span, Type, VarId};
use rustc_hash::FxHashMap;

/// The program of a tree that has no errors and one thread, which starts in `main`, or before that in `init`.
pub fn lower(tree: &Tree, meaning: &Meaning, names: &[&str], main: u32, init: Option<u32>) -> Program {
    let mut lowering = Lowering::new(tree, meaning, names);
    lowering.init = init;
    lowering.declare_globals(1);
    for def in 0..tree.procs.len() as u32 {
        let role = if def == main { Role::Opening } else { Role::Called };
        lowering.declare(Copy { owner: 0, def, role });
    }
    lowering.procedures();
    lowering.out.finish(ProcId(main))
}

/// What a copy of a procedure is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// To be called, or to start a thread.
    Called,
    /// To start the run: it begins with the initial values of the globals.
    Opening,
    /// To be the thread that a statement of the procedure starts: it begins where that says.
    Started,
}

/// A procedure as one thread has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Copy {
    /// The number of the thread.
    pub owner: u32,
    /// The procedure in the tree.
    pub def: u32,
    /// What it is for.
    pub role: Role,
}

/// A program under construction, and the place where edges are added.
pub struct Lowering<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// What its names mean.
    pub meaning: &'a Meaning,
    names: &'a [&'a str],
    /// The program so far.
    pub out: Builder,
    /// The procedures of the program, by their ids.
    pub copies: Vec<Copy>,
    /// Which procedure each copy is.
    pub proc_of: FxHashMap<Copy, ProcId>,
    /// What is special about a program with threads.
    pub threads: Option<Threads<'a>>,
    /// For each variable of which each thread has its own, its first element in each thread.
    pub private: Vec<(usize, Vec<VarId>)>,
    /// The thread whose copy of a procedure is under way.
    pub owner: u32,
    /// The first element of each declared variable; the others follow it.
    pub first: Vec<VarId>,
    /// The procedure under way ...
    pub proc: ProcId,
    /// ... and its index in the tree.
    pub def: u32,
    /// Where the next edge starts.
    pub cursor: LocId,
    /// The statement the next edge comes from.
    pub span: Span,
    /// Hidden variables of the procedure, to be used again by other statements.
    temps: FxHashMap<(&'static str, Type, u32), VarId>,
    /// How many of them this statement uses.
    used: u32,
    /// The locations of the statements of the body.
    places: Vec<LocId>,
    flow: Flow,
    /// The body without the declarations it begins with.
    body: Slice,
    /// Where control falls off the body's end.
    end: Option<LocId>,
    /// The indices of the global variables in the tree.
    pub globals: Vec<usize>,
    /// The procedure that `main` of a sequential program calls before anything else.
    init: Option<u32>,
}

/// What happens before the body.
pub enum Opening {
    /// Hidden variables start with 0.
    Hidden,
    /// A variable gets its initial value: a thread's own, or the only one. A further one of the same declaration is
    /// part of the same statement.
    Initial {
        /// The variable.
        var: u32,
        /// The thread.
        owner: u32,
        /// Whether it is a further one.
        further: bool,
    },
    /// The procedure `init` is called.
    Init(u32),
    /// What is enforced is assumed.
    Enforce,
}

impl Opening {
    /// Whether it is part of the same statement as what is before it.
    pub fn further(&self) -> bool {
        matches!(self, Opening::Initial { further: true, .. } | Opening::Enforce)
    }
}

impl<'a> Lowering<'a> {
    /// An empty program.
    pub fn new(tree: &'a Tree, meaning: &'a Meaning, names: &'a [&'a str]) -> Self {
        Lowering {
            tree,
            meaning,
            names,
            // Some statements have two edges, and some none.
            out: Builder::with_room(tree.stmts.len(), tree.stmts.len() + tree.stmts.len() / 4),
            copies: Vec::new(),
            proc_of: FxHashMap::default(),
            threads: None,
            private: Vec::new(),
            owner: 0,
            first: vec![VarId(0); tree.vars.len()],
            proc: ProcId(0),
            def: 0,
            cursor: LocId(0),
            span: Span::default(),
            temps: FxHashMap::default(),
            used: 0,
            places: Vec::new(),
            flow: Flow::default(),
            body: Slice::default(),
            end: None,
            globals: Vec::new(),
            init: None,
        }
    }

    /// The procedure under way.
    pub fn definition(&self) -> &ProcDef {
        &self.tree.procs[self.def as usize]
    }

    /// Adds the global variables; of those that are local to a thread one for each.
    pub fn declare_globals(&mut self, threads: usize) {
        for item in &self.tree.items {
            let Item::Decl(vars, sharing, ..) = item else { continue };
            for at in vars.range() {
                self.globals.push(at);
                let count = if *sharing == Sharing::ThreadLocal { threads } else { 1 };
                let firsts: Vec<VarId> = (0..count)
                    .map(|_| {
                        self.declare_var(at, None);
                        self.first[at]
                    })
                    .collect();
                if count > 1 {
                    self.private.push((at, firsts));
                }
            }
        }
    }

    /// Adds a procedure with its variables, without a body. The copies that no call enters take no parameters.
    pub fn declare(&mut self, copy: Copy) -> ProcId {
        let def = &self.tree.procs[copy.def as usize];
        let references = self.tree.vars[def.vars.range()].iter().filter(|var| var.by_ref);
        let results = self.tree.types[def.results.range()].iter().copied();
        let results = results.chain(references.map(|var| var.ty)).collect();
        let name = self.names[def.name.sym as usize];
        let bare = self.threads.is_some() && copy.role != Role::Called;
        let params = if bare { 0 } else { def.params as usize };
        let proc = self.out.proc(name, params, results, def.span);
        debug_assert_eq!(proc.index(), self.copies.len());
        self.copies.push(copy);
        self.proc_of.insert(copy, proc);
        for var in def.vars.range() {
            self.declare_var(var, Some(proc));
        }
        proc
    }

    /// The procedure that a call of the thread under way enters.
    pub fn callee(&self, def: u32) -> ProcId {
        let role = match self.threads {
            Some(_) => Role::Called,
            None => self.copies[def as usize].role,
        };
        self.proc_of[&Copy { owner: self.owner, def, role }]
    }

    /// Names mean the variables of this thread from now on.
    pub fn adopt(&mut self, owner: u32) {
        self.owner = owner;
        for (var, firsts) in &self.private {
            self.first[*var] = *firsts.get(owner as usize).unwrap_or(&firsts[0]);
        }
    }

    /// Gives all procedures their bodies.
    pub fn procedures(&mut self) {
        for at in 0..self.copies.len() {
            self.procedure(ProcId::new(at));
        }
    }

    fn declare_var(&mut self, at: usize, proc: Option<ProcId>) {
        let decl = self.tree.vars[at];
        let name = self.names[decl.name.sym as usize];
        let mut add = |name: &str| match proc {
            Some(proc) => self.out.local(proc, name, decl.ty),
            None => self.out.global(name, decl.ty),
        };
        self.first[at] = match decl.len {
            None => add(name),
            Some(len) => {
                let first = add(&format!("{name}[0]"));
                for element in 1..len {
                    add(&format!("{name}[{element}]"));
                }
                first
            }
        };
    }

    fn procedure(&mut self, proc: ProcId) {
        let copy = self.copies[proc.index()];
        self.proc = proc;
        self.def = copy.def;
        self.adopt(copy.owner);
        let mut locals = self.out.procs()[proc].locals.iter();
        for var in self.tree.procs[copy.def as usize].vars.range() {
            let len = self.tree.vars[var].len.unwrap_or(1) as usize;
            self.first[var] = *locals.nth(len - 1).expect("declared");
            self.first[var].0 -= len as u32 - 1;
        }
        self.temps.clear();
        self.end = None;
        self.body = self.after_declarations();
        let body = self.body;
        let started = copy.role == Role::Started;
        let openings = if started { Vec::new() } else { self.openings(copy.role) };
        self.flow = flow::flow(self.tree, body);
        self.places.clear();
        let entry = self.out.procs()[self.proc].entry;
        for (at, here) in body.range().enumerate() {
            let stmt = &self.tree.stmts[here];
            let loc = if openings.is_empty() && !started && self.flow.first as usize == here {
                self.out.set_span(entry, stmt.span);
                entry
            } else if flow::has_location(self.tree, stmt) {
                self.out.loc(self.proc, stmt.span)
            } else {
                entry
            };
            debug_assert_eq!(at, self.places.len());
            self.places.push(loc);
        }
        self.open(entry, &openings);
        for here in body.range() {
            self.labels(here);
            self.statement(here);
        }
        if started {
            self.land();
        }
        self.close(started);
    }

    /// The body without the declarations it begins with: these are openings.
    fn after_declarations(&self) -> Slice {
        let body = self.definition().body;
        let is_decl = |stmt: &&Stmt| matches!(stmt.act, Act::Decl(..)) && stmt.labels.is_empty();
        let declarations = self.tree.stmts[body.range()].iter().take_while(is_decl).count();
        Slice { start: body.start + declarations as u32, end: body.end }
    }

    fn openings(&self, role: Role) -> Vec<Opening> {
        let mut openings = Vec::new();
        if role == Role::Opening {
            openings = self.initial_globals();
            openings.extend(self.init.map(Opening::Init));
        }
        let start = self.definition().body.start;
        for stmt in &self.tree.stmts[start as usize..self.body.start as usize] {
            if let Act::Decl(vars, _) = stmt.act {
                self.initials(vars, self.owner, &mut openings);
            }
        }
        if self.enforces() {
            openings.push(Opening::Enforce);
        }
        openings
    }

    /// The initial values of one declaration.
    pub fn initials(&self, vars: Slice, owner: u32, openings: &mut Vec<Opening>) {
        let with_initial = vars.range().filter(|at| self.tree.vars[*at].init.is_some());
        openings.extend(with_initial.enumerate().map(|(at, var)| Opening::Initial {
            var: var as u32,
            owner,
            further: at > 0,
        }));
    }

    fn open(&mut self, entry: LocId, openings: &[Opening]) {
        self.cursor = entry;
        for (at, opening) in openings.iter().enumerate() {
            let to = match openings.get(at + 1) {
                None => self.place(self.flow.first),
                Some(next) => self.between(opening, next),
            };
            self.opening(opening, to);
        }
    }

    /// The location between two openings.
    pub fn between(&mut self, opening: &Opening, next: &Opening) -> LocId {
        self.span = self.opening_span(opening);
        if next.further() { self.fresh() } else { self.out.loc(self.proc, self.span) }
    }

    fn opening_span(&self, opening: &Opening) -> Span {
        match opening {
            Opening::Hidden => Span::default(),
            Opening::Initial { var, .. } => {
                let var = &self.tree.vars[*var as usize];
                var.init.map_or(var.name.span, |init| var.name.span.to(self.tree.span_of(init)))
            }
            Opening::Init(def) => self.tree.procs[*def as usize].span,
            Opening::Enforce => self.definition().enforce.map_or(Span::default(), |(_, span)| span),
        }
    }

    /// Adds the edges of an opening, and goes on behind it.
    pub fn opening(&mut self, opening: &Opening, to: LocId) {
        self.used = 0;
        self.span = self.opening_span(opening);
        match opening {
            Opening::Hidden => self.clear_hidden(to),
            Opening::Initial { var, owner, .. } => {
                let current = self.owner;
                self.adopt(*owner);
                let action = self.initial(*var as usize);
                self.edge(action, to);
                self.adopt(current);
            }
            Opening::Init(def) => {
                let callee = self.callee(*def);
                let results = vec![None; self.out.procs()[callee].results.len()];
                self.edge(Action::Call { callee, args: Vec::new(), results }, to);
            }
            Opening::Enforce => self.assume_enforced(to),
        }
        self.cursor = to;
    }

    fn labels(&mut self, here: usize) {
        let stmt = &self.tree.stmts[here];
        let labels = &self.tree.idents[stmt.labels.range()];
        let loc = if labels.is_empty() { return } else { self.place(here as u32) };
        for (at, label) in labels.iter().enumerate() {
            if at == 0 || labels[at - 1].sym != label.sym {
                let name = self.names[label.sym as usize].to_owned();
                self.out.label(name, loc);
            }
        }
    }

    /// The edge that falls off the end, if something leads there.
    fn close(&mut self, started: bool) {
        let Some(end) = self.end else {
            if self.flow.first == END && !started {
                self.empty_body();
            }
            return;
        };
        self.cursor = end;
        self.span = self.definition().end;
        self.return_edge(&[]);
    }

    fn empty_body(&mut self) {
        let entry = self.out.procs()[self.proc].entry;
        self.span = self.definition().end;
        self.out.set_span(entry, self.span);
        self.cursor = entry;
        self.return_edge(&[]);
    }

    /// A new location of the statement under way.
    pub fn fresh(&mut self) -> LocId {
        match self.threads {
            Some(_) => self.out.inner(self.proc, self.span),
            None => self.out.loc(self.proc, self.span),
        }
    }

    /// Adds an edge from the cursor.
    pub fn edge(&mut self, action: Action, to: LocId) {
        self.out.edge(self.cursor, to, action, self.span);
    }

    /// The location of a statement, or of the end of the body.
    pub fn place(&mut self, stmt: u32) -> LocId {
        if stmt != END {
            return self.places[(stmt - self.body.start) as usize];
        }
        let span = self.definition().end;
        *self.end.get_or_insert_with(|| self.out.loc(self.proc, span))
    }

    /// The location after a statement.
    pub fn after(&mut self, here: usize) -> LocId {
        let at = here - self.body.start as usize;
        let next = self.flow.next[at];
        self.place(next)
    }

    /// The location after a condition that is false.
    pub fn otherwise(&mut self, here: usize) -> LocId {
        let at = here - self.body.start as usize;
        let other = self.flow.other[at];
        self.place(other)
    }

    /// A hidden variable for the statement under way.
    pub fn temp(&mut self, role: &'static str, ty: Type) -> VarId {
        let key = (role, ty, self.used);
        self.used += 1;
        if let Some(var) = self.temps.get(&key) {
            return *var;
        }
        let name = format!("%{role}{}", self.temps.len());
        let var = self.out.local(self.proc, &name, ty);
        self.temps.insert(key, var);
        var
    }

    /// Begins a statement.
    pub fn begin(&mut self, here: usize, span: Span) {
        self.cursor = self.place(here as u32);
        self.span = span;
        self.used = 0;
    }

    /// Whether the procedure enforces something that is not trivially true.
    pub fn enforces(&self) -> bool {
        let trivial =
            |expr: ExprRef| matches!(self.tree.nodes[expr.range()], [Node::Truth(true)] | [Node::Number(1)]);
        self.definition().enforce.is_some_and(|(expr, _)| !trivial(expr))
    }

    /// Adds the edge that assumes what is enforced.
    pub fn assume_enforced(&mut self, to: LocId) {
        let condition = match self.definition().enforce {
            Some((expr, _)) => self.expr(expr),
            None => Expr::bool(true),
        };
        self.edge(Action::Assume(condition), to);
    }
}
