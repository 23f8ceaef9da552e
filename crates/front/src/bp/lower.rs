//! Room `front`: checked trees to program graphs.
//!
//! # Idea
//! Every statement has its own location, and its edges lead straight to what follows (`flow`): no edge only joins.
//! Edges are in the order of the source, `then` before `else`, jumps in the order they are written. The first
//! statement stands at the procedure's entry, unless something comes before it.
//!
//! - `skip`, `print`, `goto`, `sync`, and the brackets of an atomic section are edges that change nothing.
//! - A condition is a pair of assume edges; a bare `*` a pair of edges that change nothing.
//! - `assert e` assumes `e` to go on, and `!e` to a location of its own that must not be reached.
//! - `x := e constrain c`: in `c`, `'x` is the new value if x is assigned there, and otherwise the only one. Alone,
//!   `constrain c` relates all variables in scope: each gets an arbitrary new value, as in Moped.
//! - `enforce e` is assumed at entry and after each statement that can change a variable.
//! - `abortif e` is `assert !e`, as in Boppo.
//! - Initial values of globals are assigned at the head of `main`, of locals at the head of their procedure, before
//!   `enforce`; a declaration further down assigns its where it stands.
//! - `ref` parameters are further results: each return gives their last values. Where one variable receives several
//!   results of one call, the last wins: those of `ref` parameters come after the others.
//! - A procedure with results that ends without any returns arbitrary ones.
//! - `end_thread` ends the run: nothing leaves it.
//!
//! Expressions and arrays are in `lower_expr`, statements in `lower_stmt`.

use super::check::Meaning;
use super::flow::{self, END, Flow};
use super::tree::*;
use postbop_ir::{Action, Builder, Expr, Id, Label, LocId, ProcId, Program, Span, Type, VarId};
use rustc_hash::FxHashMap;

/// The program of a tree that has no errors and one thread.
pub fn lower(tree: &Tree, meaning: &Meaning, names: &[&str], main: u32) -> Program {
    let mut lowering = Lowering {
        tree,
        meaning,
        names,
        out: Builder::default(),
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
    };
    lowering.declare();
    for at in 0..tree.procs.len() {
        lowering.procedure(at as u32, at as u32 == main);
    }
    lowering.out.finish(ProcId(main))
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
}

/// What happens before the body.
enum Opening {
    Initial(u32),
    Enforce,
}

impl Lowering<'_> {
    /// The procedure under way.
    pub fn definition(&self) -> &ProcDef {
        &self.tree.procs[self.def as usize]
    }

    fn declare(&mut self) {
        for item in &self.tree.items {
            if let Item::Decl(vars, ..) = item {
                for at in vars.range() {
                    self.declare_var(at, None);
                    self.globals.push(at);
                }
            }
        }
        for (at, def) in self.tree.procs.iter().enumerate() {
            let references = self.tree.vars[def.vars.range()].iter().filter(|var| var.by_ref);
            let results = self.tree.types[def.results.range()].iter().copied();
            let results = results.chain(references.map(|var| var.ty)).collect();
            let name = self.names[def.name.sym as usize];
            let proc = self.out.proc(name, def.params as usize, results, def.span);
            debug_assert_eq!(proc.index(), at);
            for var in def.vars.range() {
                self.declare_var(var, Some(proc));
            }
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

    fn procedure(&mut self, def: u32, is_main: bool) {
        self.proc = ProcId(def);
        self.def = def;
        self.temps.clear();
        self.end = None;
        self.body = self.after_declarations();
        let body = self.body;
        let openings = self.openings(is_main);
        self.flow = flow::flow(self.tree, body);
        self.places.clear();
        let entry = self.out.procs[self.proc].entry;
        for (at, here) in body.range().enumerate() {
            let stmt = &self.tree.stmts[here];
            let loc = if openings.is_empty() && self.flow.first as usize == here {
                self.out.locs[entry].span = stmt.span;
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
        self.close();
    }

    /// The body without the declarations it begins with: these are openings.
    fn after_declarations(&self) -> Slice {
        let body = self.definition().body;
        let is_decl = |stmt: &&Stmt| matches!(stmt.act, Act::Decl(..)) && stmt.labels.is_empty();
        let declarations = self.tree.stmts[body.range()].iter().take_while(is_decl).count();
        Slice { start: body.start + declarations as u32, end: body.end }
    }

    fn openings(&self, is_main: bool) -> Vec<Opening> {
        let globals: &[usize] = if is_main { &self.globals } else { &[] };
        let start = self.definition().body.start;
        let locals = self.tree.stmts[start as usize..self.body.start as usize].iter();
        let locals = locals.filter_map(|stmt| match stmt.act {
            Act::Decl(vars, _) => Some(vars.range()),
            _ => None,
        });
        let vars = globals.iter().copied().chain(locals.flatten());
        let with_initial = vars.filter(|at| self.tree.vars[*at].init.is_some());
        let mut openings: Vec<Opening> = with_initial.map(|at| Opening::Initial(at as u32)).collect();
        if self.enforces() {
            openings.push(Opening::Enforce);
        }
        openings
    }

    fn open(&mut self, entry: LocId, openings: &[Opening]) {
        self.cursor = entry;
        for (at, opening) in openings.iter().enumerate() {
            self.used = 0;
            self.span = match opening {
                Opening::Initial(var) => {
                    let var = &self.tree.vars[*var as usize];
                    var.init.map_or(var.name.span, |init| var.name.span.to(self.tree.span_of(init)))
                }
                Opening::Enforce => self.definition().enforce.map_or(Span::default(), |(_, span)| span),
            };
            let is_last = at + 1 == openings.len();
            let to = if is_last { self.place(self.flow.first) } else { self.fresh() };
            match opening {
                Opening::Initial(var) => {
                    let action = self.initial(*var as usize);
                    self.edge(action, to);
                }
                Opening::Enforce => self.assume_enforced(to),
            }
            self.cursor = to;
        }
    }

    fn labels(&mut self, here: usize) {
        let stmt = &self.tree.stmts[here];
        let labels = &self.tree.idents[stmt.labels.range()];
        let loc = if labels.is_empty() { return } else { self.place(here as u32) };
        for (at, label) in labels.iter().enumerate() {
            if at == 0 || labels[at - 1].sym != label.sym {
                let name = self.names[label.sym as usize].to_owned();
                self.out.labels.push(Label { name, loc });
            }
        }
    }

    /// The edge that falls off the end, if something leads there.
    fn close(&mut self) {
        let Some(end) = self.end else {
            if self.flow.first == END {
                self.empty_body();
            }
            return;
        };
        self.cursor = end;
        self.span = self.definition().end;
        self.return_edge(&[]);
    }

    fn empty_body(&mut self) {
        let entry = self.out.procs[self.proc].entry;
        self.span = self.definition().end;
        self.out.locs[entry].span = self.span;
        self.cursor = entry;
        self.return_edge(&[]);
    }

    /// A new location of the statement under way.
    pub fn fresh(&mut self) -> LocId {
        self.out.loc(self.proc, self.span)
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
