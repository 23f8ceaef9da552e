//! Room `engine/fixpoint`: a program as relations between states.
//!
//! # Idea
//!
//! A state is a program counter, the locals of its procedure and the globals. Program counters are numbers in binary;
//! locals and results of all procedures share slots ([`crate::encode::wiring`]). A bit that is out of scope at a program
//! counter, or whose value does not matter there, is arbitrary: no relation says anything about it. With
//! [`Machine::full`](crate::encode::machine::code::Machine::full) every variable in scope matters.
//!
//! # Paper
//!
//! \[getafix\] section 4, the template formulae.

use super::state::InState;
use crate::encode::blast::blast;
use crate::encode::gates::width;
use crate::encode::machine::code::{Code, Compiled, Machine};
use crate::encode::mentions::Mentions;
use crate::encode::wiring::{Slots, Wiring};
use crate::threads::resume_points::{resume_points, shared};
use postbop_front::fix::{Piece, Signature, Sort};
use postbop_ir::{Action, EdgeId, LocId, ProcId, Table, Thread, ThreadId, Value, VarId};
use postbop_kit::bdd::{Bdd, Interrupted, Ref};
use postbop_kit::bits;
use postbop_kit::calculus::{Domain, DomainId, RelationId, Supply, literals};
use rustc_hash::FxHashMap as HashMap;

/// The domains of program counters, locals and globals.
pub const PC: DomainId = DomainId(0);
const LOCAL: DomainId = DomainId(1);
/// See [`PC`].
pub const GLOBAL: DomainId = DomainId(2);

/// The relations that a program supplies, in the order of their numbers.
const RELATIONS: &[(&str, &[&str])] = &[
    ("ProgramInt", &["State", "State"]),
    ("IntoCall", &["State", "State"]),
    ("IntoCall1", &["State", "Pc", "Local", "Global"]),
    ("Return", &["State", "State", "State"]),
    ("ReturnA", &["State", "Pc", "State"]),
    ("ReturnB", &["State", "Pc", "State"]),
    ("Across", &["Pc", "Pc"]),
    ("Entry", &["Pc"]),
    ("Exit", &["Pc"]),
    ("Init", &["Pc"]),
    ("Target", &["Pc"]),
    // Of programs with threads.
    ("NoPrologue", &[]),
    ("Begins", &["Thread", "Pc"]),
    ("Resume", &["Pc"]),
    ("MayLeave", &["State"]),
];

/// `Target`.
pub const TARGET: RelationId = RelationId(10);

/// The levels of a state: of its program counter, its locals and its globals.
pub type State<'l> = &'l [Vec<u32>];

/// A program as relations.
pub struct Template<'m, 'a> {
    /// The program.
    pub machine: &'m Machine<'a>,
    wiring: Wiring,
    /// For each slot whether it is a global's, and which bit of its domain.
    bit: HashMap<u32, (bool, u32)>,
    signature: Signature,
    /// The number of each location, those of one procedure in a row; and back.
    code: Table<LocId, u64>,
    locs: Vec<LocId>,
    pc_bits: u32,
    /// The locations that `Target` holds of.
    pub targets: Vec<LocId>,
    /// Below all other levels: where choices stand.
    pub bottom: u32,
}

impl<'m, 'a> Template<'m, 'a> {
    /// The relations of a program.
    pub fn new(machine: &'m Machine<'a>, targets: Vec<LocId>) -> Self {
        let program = machine.program;
        let wiring = Wiring::new(machine);
        let mut locs: Vec<LocId> = program.locs().ids().collect();
        locs.sort_by_key(|&loc| (program.locs()[loc].proc, loc));
        let mut code = Table::filled(locs.len(), 0);
        locs.iter().enumerate().for_each(|(at, &loc)| code[loc] = at as u64);
        let pc_bits = (locs.len() as u64).next_power_of_two().trailing_zeros();
        let mut template = Template {
            machine,
            wiring,
            bit: HashMap::default(),
            signature: Signature::default(),
            code,
            locs,
            pc_bits,
            targets,
            bottom: 0,
        };
        template.sign();
        template
    }

    /// What formulas about the program can refer to.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Names for numbers in formulas.
    pub fn name_constants(&mut self, constants: &[(&str, i64)]) {
        self.signature.constants = constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    }

    /// The values that literals give to the globals that matter, given the levels of a copy of all globals; what they leave
    /// open is zero.
    pub fn global_values(&self, truth: &dyn Fn(u32) -> bool, levels: &[u32]) -> Vec<(VarId, Value)> {
        let (program, scopes) = (self.machine.program, &self.machine.scopes);
        let state = [Vec::new(), Vec::new(), levels.to_vec()];
        let value = |(field, &var): (usize, &VarId)| {
            let bits = self.levels(program.main(), field, &state);
            let value = bits.iter().rev().fold(0i64, |value, &level| value << 1 | truth(level) as i64);
            let spare = 64 - bits.len();
            let signed = program.vars()[var].ty.min() < Value::ZERO;
            (var, Value::new(if signed { value << spare >> spare } else { value }))
        };
        let entry = program.procs()[program.main()].entry;
        let globals = scopes.globals(program.main()).iter().enumerate();
        globals.filter(|&(field, _)| self.machine.is_live(entry, field)).map(value).collect()
    }

    /// The number of a location.
    pub fn code(&self, loc: LocId) -> u64 {
        self.code[loc]
    }

    fn slots(&self, proc: ProcId) -> &Slots {
        self.wiring.slots(self.machine, proc)
    }

    fn sign(&mut self) {
        let (program, scopes) = (self.machine.program, &self.machine.scopes);
        let mut slots: [Vec<u32>; 2] = Default::default();
        for proc in program.procs().ids() {
            let globals = scopes.globals(proc).len();
            for (field, of_field) in self.slots(proc).iter().enumerate() {
                slots[(field < globals) as usize].extend(of_field);
            }
        }
        for (global, slots) in slots.iter_mut().enumerate() {
            slots.sort_unstable();
            slots.dedup();
            self.bit.extend(slots.iter().zip(0..).map(|(&slot, bit)| (slot, (global == 1, bit))));
        }
        let places = |slots: &[u32]| slots.iter().map(|slot| self.pc_bits + slot).collect();
        let count = self.locs.len() as u64;
        let size = (!count.is_power_of_two()).then_some(count);
        let domains = vec![
            Domain { positions: (0..self.pc_bits).collect(), size },
            Domain { positions: places(&slots[0]), size: None },
            Domain { positions: places(&slots[1]), size: None },
        ];
        let state = [("pc", PC), ("Local", LOCAL), ("Global", GLOBAL)];
        let state = state.map(|(name, domain)| (name.to_owned(), Sort::Domain(domain)));
        let sorts = vec![
            ("State".to_owned(), Sort::Record(state.into())),
            ("Pc".to_owned(), Sort::Domain(PC)),
            ("Local".to_owned(), Sort::Domain(LOCAL)),
            ("Global".to_owned(), Sort::Domain(GLOBAL)),
            ("Thread".to_owned(), Sort::Range(0, program.threads().len() as i64 - 1)),
        ];
        let sort =
            |name: &&str| sorts.iter().find(|(known, _)| known == name).expect("it is listed").1.clone();
        let relations = RELATIONS
            .iter()
            .map(|(name, args)| (name.to_string(), args.iter().map(sort).collect()))
            .collect();
        let signature = Signature { domains, relations, ..Signature::default() };
        self.signature = Signature { sorts, pieces: self.pieces(), names: self.names(), ..signature };
    }

    /// The variables of the program by name.
    fn pieces(&self) -> HashMap<(DomainId, String), Piece> {
        let (program, scopes) = (self.machine.program, &self.machine.scopes);
        let mut pieces = HashMap::default();
        for (proc, data) in program.procs().pairs() {
            for (field, slots) in self.slots(proc).iter().enumerate() {
                let Some(var) = scopes.var(program, proc, field) else { continue };
                let global = program.is_global(var);
                let var = &program.vars()[var];
                let bits = slots.iter().rev().map(|slot| self.bit[slot].1).collect();
                let piece = Piece { bits, signed: var.ty.min() < Value::ZERO };
                let name = if global { var.name.clone() } else { format!("{}.{}", data.name, var.name) };
                pieces.insert((if global { GLOBAL } else { LOCAL }, name), piece);
            }
        }
        pieces
    }

    /// The labels of the program, with and without their procedure.
    fn names(&self) -> HashMap<(DomainId, String), Vec<u64>> {
        let mut names: HashMap<(DomainId, String), Vec<u64>> = HashMap::default();
        let program = self.machine.program;
        for label in program.labels() {
            let proc = &program.procs()[program.locs()[label.loc].proc].name;
            for name in [label.name.clone(), format!("{proc}:{}", label.name)] {
                names.entry((PC, name)).or_default().push(self.code(label.loc));
            }
        }
        names
    }

    /// The levels of a field's bits in a state, the least significant first.
    pub fn levels(&self, proc: ProcId, field: usize, state: State) -> Vec<u32> {
        let level = |slot: &u32| {
            let (global, bit) = self.bit[slot];
            state[1 + global as usize][bit as usize]
        };
        self.slots(proc)[field].iter().map(level).collect()
    }

    /// The literals of a program counter.
    pub fn pc_literals(&self, loc: LocId, levels: &[u32]) -> Vec<(u32, bool)> {
        literals(levels, self.code(loc))
    }

    fn pc(&self, bdd: &mut Bdd, pins: &[(LocId, &[u32])]) -> Result<Ref, Interrupted> {
        let literals: Vec<_> = pins.iter().flat_map(|&(loc, levels)| self.pc_literals(loc, levels)).collect();
        bdd.cube(&literals)
    }

    /// `value`, over the levels of `vars`, equals the bits of `value`.
    fn tie(&self, bdd: &mut Bdd, relation: Ref, levels: &[u32], value: &[Ref]) -> Result<Ref, Interrupted> {
        let mut relation = relation;
        for (&level, &bit) in levels.iter().zip(value).rev() {
            let var = bdd.var(level)?;
            let same = bdd.iff(var, bit)?;
            relation = bdd.and(relation, same)?;
        }
        Ok(relation)
    }

    /// What the formulas of an edge mention at a state.
    fn mentions<'e>(
        &'e self,
        proc: ProcId,
        state: State<'e>,
        compiled: &'e Compiled,
    ) -> Mentions<'e, 'a, InState<'e, 'm, 'a>> {
        let levels = InState { template: self, state };
        Mentions { machine: self.machine, proc, choices: &compiled.choices, levels, nexts: Vec::new() }
    }

    /// From `x` to `v` by an edge that is no call.
    pub fn step(&self, bdd: &mut Bdd, id: EdgeId, x: State, v: State) -> Result<Ref, Interrupted> {
        let edge = &self.machine.program.edges()[id];
        let proc = self.machine.program.locs()[edge.from].proc;
        let compiled = self.machine.edge(id);
        let Code::Update { sets, guard } = &compiled.code else { unreachable!("calls are no steps") };
        let mut mentions = self.mentions(proc, x, compiled);
        for set in sets {
            let value = mentions.value(bdd, set)?;
            mentions.nexts.push(value);
        }
        let mut relation = match guard {
            Some(guard) => blast(bdd, guard, &mentions)?[0],
            None => Ref::TRUE,
        };
        let nexts = mentions.nexts;
        let live = self.machine.live.at(self.machine.program, edge.to);
        let mut kept = live.to_vec();
        for (set, value) in sets.iter().zip(&nexts) {
            bits::remove(&mut kept, set.field);
            if set.live {
                relation = self.tie(bdd, relation, &self.levels(proc, set.field, v), value)?;
            }
        }
        relation = self.close(bdd, compiled, relation)?;
        let frame = self.keep(bdd, proc, bits::members(&kept), x, v)?;
        relation = bdd.and(relation, frame)?;
        let pcs = self.pc(bdd, &[(edge.from, &x[0]), (edge.to, &v[0])])?;
        bdd.and(pcs, relation)
    }

    /// Fields of a procedure that are the same in two states.
    fn keep(
        &self,
        bdd: &mut Bdd,
        proc: ProcId,
        fields: impl Iterator<Item = usize>,
        x: State,
        v: State,
    ) -> Result<Ref, Interrupted> {
        let mut pairs: Vec<(u32, u32)> = fields
            .flat_map(|field| self.levels(proc, field, x).into_iter().zip(self.levels(proc, field, v)))
            .collect();
        pairs.sort_unstable();
        self.same(bdd, &pairs)
    }

    fn same(&self, bdd: &mut Bdd, pairs: &[(u32, u32)]) -> Result<Ref, Interrupted> {
        let mut all = Ref::TRUE;
        for &(a, b) in pairs.iter().rev() {
            let (a, b) = (bdd.var(a)?, bdd.var(b)?);
            let same = bdd.iff(a, b)?;
            all = bdd.and(same, all)?;
        }
        Ok(all)
    }

    /// Quantifies the choices of an edge.
    fn close(&self, bdd: &mut Bdd, compiled: &Compiled, relation: Ref) -> Result<Ref, Interrupted> {
        let count: usize = compiled.choices.iter().map(|&ty| width(ty)).sum();
        let plan = bdd.plan(self.bottom..self.bottom + count as u32, []);
        bdd.project(relation, plan)
    }

    /// From a call at `x` to a state `y` of the callee, whose program counter is `at`.
    pub fn call(&self, bdd: &mut Bdd, id: EdgeId, x: State, y: State, at: LocId) -> Result<Ref, Interrupted> {
        let edge = &self.machine.program.edges()[id];
        let proc = self.machine.program.locs()[edge.from].proc;
        let (compiled, call) = (self.machine.edge(id), self.machine.call(id));
        let mentions = self.mentions(proc, x, compiled);
        let mut relation = Ref::TRUE;
        for set in call.args.iter().filter(|set| set.live) {
            let value = mentions.value(bdd, set)?;
            relation =
                self.tie(bdd, relation, &self.levels(self.machine.callee(id), set.field, y), &value)?;
        }
        relation = self.close(bdd, compiled, relation)?;
        let pairs = call.globals().filter(|global| global.2).flat_map(|(here, there, _)| {
            self.levels(proc, here, x).into_iter().zip(self.levels(self.machine.callee(id), there, y))
        });
        let mut pairs: Vec<(u32, u32)> = pairs.collect();
        pairs.sort_unstable();
        let globals = self.same(bdd, &pairs)?;
        relation = bdd.and(relation, globals)?;
        let pcs = self.pc(bdd, &[(edge.from, &x[0]), (at, &y[0])])?;
        bdd.and(pcs, relation)
    }

    /// What the caller `x` contributes to the state `w` after a call: all that waited for it.
    pub fn waited(&self, bdd: &mut Bdd, id: EdgeId, x: State, w: State) -> Result<Ref, Interrupted> {
        let edge = &self.machine.program.edges()[id];
        let proc = self.machine.program.locs()[edge.from].proc;
        let kept = self.keep(bdd, proc, self.machine.call(id).kept.iter().copied(), x, w)?;
        let pcs = self.pc(bdd, &[(edge.from, &x[0]), (edge.to, &w[0])])?;
        bdd.and(pcs, kept)
    }

    /// What the exit `z` of the callee contributes to the state `w` after a call: globals and results.
    pub fn brought(&self, bdd: &mut Bdd, id: EdgeId, z: State, w: State) -> Result<Ref, Interrupted> {
        let edge = &self.machine.program.edges()[id];
        let proc = self.machine.program.locs()[edge.from].proc;
        let call = self.machine.call(id);
        let pairs = call.back().flat_map(|(here, there)| {
            self.levels(self.machine.callee(id), there, z).into_iter().zip(self.levels(proc, here, w))
        });
        let mut pairs: Vec<(u32, u32)> = pairs.collect();
        pairs.sort_unstable();
        let same = self.same(bdd, &pairs)?;
        let exit = self.machine.program.procs()[self.machine.callee(id)].exit;
        let pcs = self.pc(bdd, &[(exit, &z[0]), (edge.to, &w[0])])?;
        bdd.and(pcs, same)
    }

    /// That a thread may be left: where it has ended, and between statements outside of atomic sections. A return leads
    /// straight to where the call goes on: there is nothing between it and the caller's next statement.
    fn may_leave(&self, bdd: &mut Bdd, state: State) -> Result<Ref, Interrupted> {
        let program = self.machine.program;
        let between = program.locs().pairs().filter(|(id, loc)| !loc.inner && !program.is_exit(*id));
        let between = between.map(|(id, _)| id);
        let mut between = self.pcs(bdd, between, &state[0])?;
        if let Some(atomic) = program.atomic() {
            let field =
                self.machine.scopes.field(program, program.main(), atomic).expect("all globals are there");
            let atomic = bdd.var(self.levels(program.main(), field, state)[0])?;
            between = bdd.and(between, !atomic)?;
        }
        let ends = program.threads().iter().map(|thread| program.procs()[thread.main].exit);
        let ended = self.pcs(bdd, ends, &state[0])?;
        bdd.or(between, ended)
    }

    /// The union over all edges of a kind.
    fn over(
        &self,
        bdd: &mut Bdd,
        calls: bool,
        relation: impl Fn(&mut Bdd, EdgeId) -> Result<Ref, Interrupted>,
    ) -> Result<Ref, Interrupted> {
        let edges = self.machine.program.edges().pairs();
        let edges = edges.filter(|(_, edge)| matches!(edge.action, Action::Call { .. }) == calls);
        let mut list: Vec<EdgeId> = edges.map(|(id, _)| id).collect();
        list.sort_by_key(|&id| self.code(self.machine.program.edges()[id].from));
        let parts = list.into_iter().map(|id| relation(bdd, id)).collect::<Result<Vec<Ref>, _>>()?;
        union(bdd, parts)
    }

    fn pcs(
        &self,
        bdd: &mut Bdd,
        locs: impl Iterator<Item = LocId>,
        levels: &[u32],
    ) -> Result<Ref, Interrupted> {
        let parts = locs.map(|loc| self.pc(bdd, &[(loc, levels)])).collect::<Result<Vec<Ref>, _>>()?;
        union(bdd, parts)
    }
}

/// The union of many sets, neighbours first.
fn union(bdd: &mut Bdd, mut parts: Vec<Ref>) -> Result<Ref, Interrupted> {
    while parts.len() > 1 {
        let pairs = parts.chunks(2);
        parts = pairs
            .map(|pair| bdd.or(pair[0], pair.get(1).copied().unwrap_or(Ref::FALSE)))
            .collect::<Result<_, _>>()?;
    }
    Ok(parts.pop().unwrap_or(Ref::FALSE))
}

impl Supply for Template<'_, '_> {
    fn relation(
        &mut self,
        bdd: &mut Bdd,
        relation: RelationId,
        args: &[Vec<u32>],
    ) -> Result<Ref, Interrupted> {
        let program = self.machine.program;
        let callee = |id| &program.procs()[self.machine.callee(id)];
        match RELATIONS[relation.0 as usize].0 {
            "ProgramInt" => self.over(bdd, false, |bdd, id| self.step(bdd, id, &args[..3], &args[3..])),
            "IntoCall" => {
                self.over(bdd, true, |bdd, id| self.call(bdd, id, &args[..3], &args[3..], callee(id).entry))
            }
            "IntoCall1" => {
                self.over(bdd, true, |bdd, id| self.call(bdd, id, &args[..3], &args[3..], callee(id).exit))
            }
            "Return" => self.over(bdd, true, |bdd, id| {
                let waited = self.waited(bdd, id, &args[..3], &args[6..])?;
                let brought = self.brought(bdd, id, &args[3..6], &args[6..])?;
                bdd.and(waited, brought)
            }),
            "ReturnA" => self.over(bdd, true, |bdd, id| {
                let waited = self.waited(bdd, id, &args[..3], &args[4..])?;
                let exit = self.pc(bdd, &[(callee(id).exit, &args[3])])?;
                bdd.and(exit, waited)
            }),
            "ReturnB" => self.over(bdd, true, |bdd, id| {
                let brought = self.brought(bdd, id, &args[..3], &args[4..])?;
                let from = self.pc(bdd, &[(program.edges()[id].from, &args[3])])?;
                bdd.and(from, brought)
            }),
            "Across" => self.over(bdd, true, |bdd, id| {
                let edge = &program.edges()[id];
                self.pc(bdd, &[(edge.from, &args[0]), (edge.to, &args[1])])
            }),
            "Entry" => self.pcs(bdd, program.procs().iter().map(|proc| proc.entry), &args[0]),
            "Exit" => self.pcs(bdd, program.procs().iter().map(|proc| proc.exit), &args[0]),
            "Init" => {
                let first = if program.is_sequential() { Some(program.main()) } else { program.prologue() };
                self.pcs(bdd, first.into_iter().map(|proc| program.procs()[proc].entry), &args[0])
            }
            "Target" => self.pcs(bdd, self.targets.iter().copied(), &args[0]),
            "NoPrologue" => Ok(if program.prologue().is_none() { Ref::TRUE } else { Ref::FALSE }),
            "Begins" => {
                let begin = |(id, thread): (ThreadId, &Thread)| {
                    let here = self.pc(bdd, &[(program.procs()[thread.main].entry, &args[1])])?;
                    let who = bdd.cube(&literals(&args[0], id.0 as u64))?;
                    bdd.and(here, who)
                };
                let parts = program.threads().pairs().map(begin).collect::<Result<Vec<Ref>, _>>()?;
                union(bdd, parts)
            }
            "Resume" => {
                let thread = program.thread_of();
                let locs = resume_points(program, &shared(program, &thread), &thread);
                self.pcs(bdd, locs.into_iter(), &args[0])
            }
            "MayLeave" => self.may_leave(bdd, args),
            other => unreachable!("nobody supplies {other}"),
        }
    }
}
