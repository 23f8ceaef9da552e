//! Room `engine/sat`: procedures cut into pieces without loops.
//!
//! # Idea
//!
//! A *region* is a part of a procedure that is entered at one location only and has no cycle: its start is the entry of the
//! procedure, the head of a loop, or a location to which control comes from two regions. Where control leaves the region
//! for the start of another one, that is a *call in tail position*: the other region runs to the end of the procedure. So
//! loops become recursion, and an algorithm that can treat recursion can treat everything.
//!
//! What a region needs to know at its start are the bits that are live there, its *inputs*; what it makes known at the end
//! of its procedure are the globals that the procedure may write and its results, as far as they are live there, its
//! *outputs*. Locals that are no parameters have arbitrary values where the procedure is entered; they are *free* there.
//!
//! # Cost
//!
//! Linear in the program, but for the lists of live bits: one for each region.

use crate::encode::gates::width;
use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use postbop_ir::{Action, Id, LocId, ProcId, Program, Table, Type, VarId};
use postbop_kit::bits;

/// A piece of a procedure.
pub struct Region {
    /// The procedure.
    pub proc: ProcId,
    /// Its locations, those that lead to a location before it; the start is the first. There are none where a procedure starts with
    /// the head of a loop: then the loop is a region of its own, since its locals are not arbitrary in later rounds.
    pub locs: Vec<LocId>,
    /// The bits that matter at the start, by their places in the procedure's layout.
    pub inputs: Vec<u32>,
    /// The bits that are arbitrary at the start.
    pub free: Vec<u32>,
}

/// Where the bits of a procedure's fields are.
pub struct Layout {
    /// For each field its first bit; the number of all bits at the end.
    pub first: Vec<u32>,
    /// The types of the fields.
    pub types: Vec<Type>,
}

impl Layout {
    /// The bits of a field.
    pub fn bits(&self, field: usize) -> std::ops::Range<usize> {
        self.first[field] as usize..self.first[field + 1] as usize
    }

    /// The field of a bit, and which bit of the field it is.
    pub fn field(&self, bit: u32) -> (usize, usize) {
        let field = self.first.partition_point(|&first| first <= bit) - 1;
        (field, (bit - self.first[field]) as usize)
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.first[self.types.len()] as usize
    }
}

/// A program cut into regions.
pub struct Regions<'a> {
    /// The program.
    pub program: &'a Program,
    /// Which variables procedures touch.
    pub scopes: Scopes,
    /// Which of them matter.
    pub live: Live,
    /// The layout of each procedure.
    pub layouts: Table<ProcId, Layout>,
    /// The outputs of each procedure, by their places in its layout.
    pub outputs: Table<ProcId, Vec<u32>>,
    /// All regions.
    pub all: Vec<Region>,
    /// The region in which each procedure starts.
    entries: Table<ProcId, u32>,
    /// The region that starts at a location, or contains it; none where control never gets.
    of: Table<LocId, Option<u32>>,
}

impl<'a> Regions<'a> {
    /// Cuts a program.
    pub fn new(program: &'a Program) -> Self {
        let scopes = Scopes::new(program);
        let live = Live::new(program, &scopes);
        let layouts: Table<ProcId, Layout> =
            program.procs().ids().map(|proc| layout(program, &scopes, proc)).collect();
        let of = Table::filled(program.locs().len(), None);
        let outputs = Table::filled(program.procs().len(), Vec::new());
        let entries = Table::filled(program.procs().len(), 0);
        let mut regions = Regions { program, scopes, live, layouts, outputs, all: Vec::new(), entries, of };
        let mut path = Path::new(program);
        for proc in program.procs().ids() {
            regions.outputs[proc] = regions.outputs(proc);
            regions.cut(proc, &mut path);
        }
        regions
    }

    /// The region in which a procedure starts.
    pub fn entry(&self, proc: ProcId) -> u32 {
        self.entries[proc]
    }

    /// Whether a region starts here.
    pub fn starts(&self, loc: LocId) -> Option<u32> {
        self.of[loc].filter(|&region| self.all[region as usize].locs.first() == Some(&loc))
    }

    /// Whether control can get from the entry of a procedure to a location of it, but for the exit.
    pub fn is_reached(&self, loc: LocId) -> bool {
        self.of[loc].is_some()
    }

    /// The variable of a field.
    pub fn var(&self, proc: ProcId, field: usize) -> Option<VarId> {
        self.scopes.var(self.program, proc, field)
    }

    fn outputs(&self, proc: ProcId) -> Vec<u32> {
        let program = self.program;
        let live = self.live.at(program, program.procs()[proc].exit);
        let results = self.scopes.first_result(program, proc);
        let matters = |&field: &usize| {
            let is_output = match self.scopes.globals(proc).get(field) {
                Some(var) => self.scopes.written(proc).binary_search(var).is_ok(),
                None => field >= results,
            };
            is_output && bits::contains(live, field)
        };
        let fields = (0..self.layouts[proc].types.len()).filter(matters);
        fields.flat_map(|field| self.layouts[proc].bits(field)).map(|bit| bit as u32).collect()
    }

    /// Cuts a procedure: in an order in which only edges back to a loop's head go backwards.
    fn cut(&mut self, proc: ProcId, path: &mut Path) {
        let program = self.program;
        let (entry, exit) = (program.procs()[proc].entry, program.procs()[proc].exit);
        path.walk(program, proc);
        self.entries[proc] = self.all.len() as u32;
        if path.returns_to_entry {
            self.start(proc, entry, true);
        }
        for at in (0..path.left.len()).rev() {
            let loc = path.left[at];
            if loc == exit && exit != entry {
                continue;
            }
            let region = match self.of[loc].filter(|_| !path.cuts[loc.index()]) {
                Some(region) => region,
                None => self.start(proc, loc, loc == entry && !path.returns_to_entry),
            };
            self.of[loc] = Some(region);
            self.all[region as usize].locs.push(loc);
            for &edge in program.leaving(loc) {
                let to = program.edges()[edge].to;
                match self.of[to] {
                    None => self.of[to] = Some(region),
                    Some(other) if other != region => path.cuts[to.index()] = true,
                    Some(_) => {}
                }
            }
        }
        self.of[exit] = self.of[exit].filter(|_| exit == entry);
    }

    /// A new region that starts here, which may be where the procedure is entered.
    fn start(&mut self, proc: ProcId, loc: LocId, is_entry: bool) -> u32 {
        let program = self.program;
        let live = self.live.at(program, loc);
        let (globals, params) = (self.scopes.globals(proc).len(), program.procs()[proc].params);
        let results = self.scopes.first_result(program, proc);
        let (mut inputs, mut free) = (Vec::new(), Vec::new());
        for field in (0..results).filter(|&field| bits::contains(live, field)) {
            let is_free = is_entry && field >= globals + params;
            let list = if is_free { &mut free } else { &mut inputs };
            list.extend(self.layouts[proc].bits(field).map(|bit| bit as u32));
        }
        self.all.push(Region { proc, locs: Vec::new(), inputs, free });
        self.all.len() as u32 - 1
    }

    /// The regions that one calls, in tail position or not: those that can end in a failure in it, and those that return.
    pub fn successors(&self, region: &Region) -> Vec<u32> {
        let mut found = Vec::new();
        for &edge in region.locs.iter().flat_map(|&loc| self.program.leaving(loc)) {
            let edge = &self.program.edges()[edge];
            if let Action::Call { callee, .. } = edge.action {
                found.push(self.entry(callee));
            }
            found.extend(self.starts(edge.to));
        }
        if region.locs.is_empty() {
            found.extend(self.starts(self.program.procs()[region.proc].entry));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn layout(program: &Program, scopes: &Scopes, proc: ProcId) -> Layout {
    let types: Vec<Type> = scopes.types(program, proc).collect();
    let mut first = vec![0];
    for &ty in &types {
        first.push(first[first.len() - 1] + width(ty) as u32);
    }
    Layout { first, types }
}

/// A depth-first walk through one procedure after the other.
struct Path {
    /// Where a region starts: at entries, heads of loops, and where two regions meet.
    cuts: Vec<bool>,
    /// The locations in the order in which the walk left them.
    left: Vec<LocId>,
    /// 0 before a location is seen, 1 on the path, 2 afterwards.
    state: Vec<u8>,
    /// Whether an edge leads back to the entry.
    returns_to_entry: bool,
}

impl Path {
    fn new(program: &Program) -> Self {
        let count = program.locs().len();
        Path { cuts: vec![false; count], left: Vec::new(), state: vec![0; count], returns_to_entry: false }
    }

    fn walk(&mut self, program: &Program, proc: ProcId) {
        let entry = program.procs()[proc].entry;
        self.left.clear();
        self.returns_to_entry = false;
        self.cuts[entry.index()] = true;
        self.state[entry.index()] = 1;
        let mut path = vec![(entry, 0)];
        while let Some((loc, next)) = path.last_mut() {
            let Some(&edge) = program.leaving(*loc).get(*next) else {
                self.state[loc.index()] = 2;
                self.left.push(*loc);
                path.pop();
                continue;
            };
            *next += 1;
            let to = program.edges()[edge].to;
            match self.state[to.index()] {
                0 => {
                    self.state[to.index()] = 1;
                    path.push((to, 0));
                }
                1 => {
                    self.cuts[to.index()] = true;
                    self.returns_to_entry |= to == entry;
                }
                _ => {}
            }
        }
    }
}
