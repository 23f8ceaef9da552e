//! Room `engine/encode`: edges and calls as relations between valuations.
//!
//! A relation mentions only the variables that its edge reads or writes. Taking an image leaves all others alone.
//!
//! At a location the diagram of path edges tests the `Now` levels of the fields that are live there. How the procedure
//! was entered is told by its *links*: the fields that are live at its entry. A link that the procedure never writes
//! still has its entry value, so its `Now` level is kept to the end; one that it may write has its `Entry` level.

use super::blast::Bits;
use super::chance::chance;
use super::gates::equal;
use super::machine::code::{Call, Code, Compiled, Formula, Ins, Machine, Set};
use super::mentions::{Levels, Mentions};
use super::wiring::{Role, Slots, Wiring, level};
use postbop_ir::{Action, EdgeId, LocId, ProcId, Table, Type, VarId};
use postbop_kit::bdd::{Bdd, Interrupted, Plan, Ref};
use postbop_kit::bits;
use postbop_kit::rows::Rows;
use std::cmp::Reverse;

/// A field that tells how a procedure was entered.
#[derive(Clone, Debug)]
pub struct Link {
    /// The field.
    pub field: usize,
    /// In which role the slot holds the value at entry.
    pub role: Role,
    /// Whether it is a parameter rather than a global.
    pub param: bool,
}

/// How a procedure is entered and left, in terms of levels.
#[derive(Debug)]
pub struct ProcInterface {
    /// The fields that tell how it was entered.
    pub links: Vec<Link>,
    /// Their levels, in order.
    pub link_levels: Vec<u32>,
    /// At the entry, what is now is what was at entry.
    pub diagonal: Ref,
    /// From path edges at the exit to a summary in a caller's terms: globals from `Now` to `Next`, parameters and
    /// results at `Pass`.
    pub summary: Plan,
    /// The fields of the globals that it writes and that matter at its exit.
    pub written: Vec<usize>,
}

/// A call as relations; the same for all calls of one class.
#[derive(Debug)]
pub struct CallRelations {
    /// From the caller's valuation to the callee's at entry.
    pub enter: (Ref, Plan),
    /// Takes from a summary what this call has no use for.
    pub trim: Plan,
    /// Ties a summary's parameters to the arguments and its results to their targets.
    pub pass: (Ref, Plan),
    /// How the image under a call effect is made.
    pub back: Plan,
    /// The fields that get a new value by the return.
    pub changed: Vec<usize>,
}

/// Makes relations.
pub struct Encoder<'m, 'a, 'w> {
    /// The program on packed valuations.
    pub machine: &'m Machine<'a>,
    /// Its levels.
    pub wiring: Wiring,
    /// The diagrams.
    pub bdd: Bdd<'w>,
    /// Which locals are ever written after entry.
    assigned: Table<VarId, bool>,
    /// Procedures of one class that have the same slots and write the same fields are in one encoding class.
    encoding_classes: Rows,
    encoding_class: Table<ProcId, Option<u32>>,
    /// A relation of fewer changes than this is not taken apart, nor one for which fewer vertices were made.
    few: usize,
    large: usize,
}

/// The present values, and the choices behind them.
struct Present<'e, 'a> {
    machine: &'e Machine<'a>,
    wiring: &'e Wiring,
}

impl Levels for Present<'_, '_> {
    fn field(&self, proc: ProcId, field: usize) -> Vec<u32> {
        self.wiring.slots(self.machine, proc)[field].iter().map(|&slot| level(slot, Role::Now)).collect()
    }

    fn choice(&self, choices: &[Type], at: usize) -> Vec<u32> {
        let before = choices[..at].iter().filter(|ty| ty.is_integer()).count();
        self.wiring.choice(choices[at], before).iter().map(|&slot| level(slot, Role::Now)).collect()
    }
}

/// A part of the relation of an edge that is large as a whole.
struct Part {
    relation: Ref,
    /// Whose new values it says.
    sets: Vec<usize>,
    /// How many vertices there were when it was begun.
    start: usize,
    /// Levels of new values that are of no use after it.
    forgotten: Vec<u32>,
}

/// When a relation is taken apart.
const FEW: usize = 4;
const LARGE: usize = 1 << 12;

/// The fields that a formula reads.
fn fields(formula: &Formula) -> impl Iterator<Item = usize> + '_ {
    formula.iter().filter_map(|ins| match ins {
        Ins::Field(field) => Some(*field as usize),
        _ => None,
    })
}

impl<'m, 'a, 'w> Encoder<'m, 'a, 'w> {
    /// An encoder for a program.
    pub fn new(machine: &'m Machine<'a>, bdd: Bdd<'w>) -> Self {
        let program = machine.program;
        let mut assigned = Table::filled(program.vars().len(), false);
        for edge in program.edges().iter() {
            match &edge.action {
                Action::Assign { targets: vars, .. } | Action::Havoc(vars) => {
                    vars.iter().for_each(|&var| assigned[var] = true);
                }
                Action::Call { results, .. } => {
                    results.iter().flatten().for_each(|&var| assigned[var] = true)
                }
                Action::Assume(_) | Action::Return(_) => {}
            }
        }
        let wiring = Wiring::new(machine);
        let encoding_class = Table::filled(program.procs().len(), None);
        Encoder {
            machine,
            wiring,
            bdd,
            assigned,
            encoding_classes: Rows::default(),
            encoding_class,
            few: FEW,
            large: LARGE,
        }
    }

    /// Takes every relation apart, whether it is large or not: for tests.
    pub fn take_apart(&mut self) {
        (self.few, self.large) = (1, 0);
    }

    /// The slots of a procedure's fields.
    pub fn slots(&self, proc: ProcId) -> &Slots {
        self.wiring.slots(self.machine, proc)
    }

    /// The levels of a field.
    pub fn levels(&self, proc: ProcId, field: usize, role: Role) -> impl Iterator<Item = u32> + '_ {
        self.slots(proc)[field].iter().map(move |&slot| level(slot, role))
    }

    /// Whether the procedure may write a field that is a global or a parameter.
    fn writes(&self, proc: ProcId, field: usize) -> bool {
        let var = self.machine.scopes.var(self.machine.program, proc, field).expect("results are no links");
        match self.machine.program.is_global(var) {
            true => self.machine.scopes.written(proc).binary_search(&var).is_ok(),
            false => self.assigned[var],
        }
    }

    /// The encoding class of a procedure. Procedures of one encoding class have the same interface, and edges of one class have the
    /// same relation in all of them. Main has an encoding class of its own: how it was entered makes no difference.
    pub fn encoding_class(&mut self, proc: ProcId) -> u32 {
        if let Some(encoding_class) = self.encoding_class[proc] {
            return encoding_class;
        }
        let program = self.machine.program;
        let mut row = vec![self.wiring.placement(proc) as u64, (proc == program.main()) as u64];
        let links = self.machine.scopes.globals(proc).len() + program.procs()[proc].params;
        row.extend((0..links).map(|field| self.writes(proc, field) as u64));
        let (encoding_class, _) =
            self.encoding_classes.intern(&row).unwrap_or_else(|_| panic!("too many procedures"));
        self.encoding_class[proc] = Some(encoding_class);
        encoding_class
    }

    /// How a procedure is entered and left.
    pub fn interface(&mut self, proc: ProcId) -> Result<ProcInterface, Interrupted> {
        let program = self.machine.program;
        let data = &program.procs()[proc];
        let globals = self.machine.scopes.globals(proc).len();
        let is_live = |loc, field| self.machine.is_live(loc, field);
        let of_links = (0..globals + data.params).filter(|&field| is_live(data.entry, field));
        let link = |field| {
            let role = if self.writes(proc, field) { Role::Entry } else { Role::Now };
            Link { field, role, param: field >= globals }
        };
        let mut links: Vec<Link> = of_links.map(link).collect();
        let mut written: Vec<usize> =
            (0..globals).filter(|&field| is_live(data.exit, field) && self.writes(proc, field)).collect();
        // There may be thousands of procedures, each with thousands of globals.
        links.shrink_to_fit();
        written.shrink_to_fit();
        let mut renamed: Vec<(u32, u32)> = Vec::new();
        let mut rename = |field, from, to| {
            renamed.extend(self.levels(proc, field, from).zip(self.levels(proc, field, to)));
        };
        links.iter().filter(|link| link.param).for_each(|link| rename(link.field, link.role, Role::Pass));
        links.iter().filter(|link| !link.param).for_each(|link| rename(link.field, link.role, Role::Now));
        written.iter().for_each(|&field| rename(field, Role::Now, Role::Next));
        let first = self.machine.scopes.first_result(program, proc);
        (0..data.results.len()).for_each(|at| rename(first + at, Role::Now, Role::Pass));
        let summary = self.bdd.plan([], renamed);
        let mut diagonal = Ref::TRUE;
        // From below: what is there already is not walked through again.
        let mut from_below: Vec<&Link> = links.iter().filter(|link| link.role == Role::Entry).collect();
        from_below.sort_by_key(|link| Reverse(self.first_slot(proc, link.field)));
        for link in from_below {
            let (entry, now) =
                (self.vars(proc, link.field, Role::Entry)?, self.vars(proc, link.field, Role::Now)?);
            let same = equal(&mut self.bdd, &entry, &now)?;
            diagonal = self.bdd.and(diagonal, same)?;
        }
        let link_levels = self.link_levels(proc, &links);
        Ok(ProcInterface { links, link_levels, diagonal, summary, written })
    }

    fn link_levels(&self, proc: ProcId, links: &[Link]) -> Vec<u32> {
        let mut levels: Vec<u32> =
            links.iter().flat_map(|link| self.levels(proc, link.field, link.role)).collect();
        levels.sort_unstable();
        levels.shrink_to_fit();
        levels
    }

    /// An interface after slots have changed their places.
    pub fn relevelled(&self, proc: ProcId, interface: &ProcInterface) -> ProcInterface {
        let ProcInterface { ref links, diagonal, summary, ref written, .. } = *interface;
        let link_levels = self.link_levels(proc, links);
        ProcInterface { links: links.clone(), link_levels, diagonal, summary, written: written.clone() }
    }

    /// The first of a field's slots.
    fn first_slot(&self, proc: ProcId, field: usize) -> Option<u32> {
        self.slots(proc)[field].iter().min().copied()
    }

    /// The diagrams of a field's bits.
    pub fn vars(&mut self, proc: ProcId, field: usize, role: Role) -> Result<Bits, Interrupted> {
        let levels: Vec<u32> = self.levels(proc, field, role).collect();
        levels.into_iter().map(|level| self.bdd.var(level)).collect()
    }

    /// The fields that a set of path edges at a location can mention at their `Now` levels: the live ones, and the
    /// links that are never written.
    pub fn present(&self, interface: &ProcInterface, loc: LocId) -> Vec<u64> {
        let mut set = self.machine.live.at(self.machine.program, loc).to_vec();
        let constant = interface.links.iter().filter(|link| link.role == Role::Now);
        constant.for_each(|link| {
            bits::insert(&mut set, link.field);
        });
        set
    }

    /// The relation of an edge that is no call, and how its image is made; or several, to be applied one after the other.
    ///
    /// It is a conjunction: of the guard, over old and new values, and for each field that changes, of what its new value
    /// can be. Choices are gone from each conjunct before it meets the others, and a new value that matters to the guard
    /// alone is gone when it has met the guard.
    ///
    /// A parallel assignment that moves many values about may have no order of levels in which the conjunction is small.
    /// Then it stays in parts, and an old value is quantified with the last part that reads it: a permutation of
    /// variables so takes one of them after the other to its new place.
    pub fn update(&mut self, interface: &ProcInterface, id: EdgeId) -> Result<Vec<(Ref, Plan)>, Interrupted> {
        let edge = &self.machine.program.edges()[id];
        let proc = self.machine.program.locs()[edge.from].proc;
        let compiled = self.machine.edge(id);
        let Code::Update { sets, guard } = &compiled.code else { unreachable!("calls are no updates") };
        let parts = self.parts(proc, compiled, sets, guard.as_ref())?;
        let changed: Vec<usize> = sets.iter().map(|set| set.field).collect();
        let live: Vec<usize> = sets.iter().filter(|set| set.live).map(|set| set.field).collect();
        if let [Part { relation, .. }] = parts[..] {
            return Ok(vec![(relation, self.image_plan(interface, id, &changed, &live))]);
        }
        let reads = |part: &Part| part.sets.iter().flat_map(|&at| fields(&sets[at].value)).collect();
        let reads: Vec<Vec<usize>> = parts.iter().map(reads).collect();
        let mut plans = Vec::with_capacity(parts.len());
        let (mut gone, renamed) = self.moves(interface, id, &changed, &live);
        for (at, part) in parts.into_iter().enumerate() {
            let mut now = gone.clone();
            reads[at + 1..].iter().flatten().for_each(|&field| bits::remove(&mut now, field));
            gone.iter_mut().zip(&now).for_each(|(gone, now)| *gone &= !now);
            let old = bits::members(&now).flat_map(|field| self.levels(proc, field, Role::Now));
            let quantified: Vec<u32> = old.chain(part.forgotten).collect();
            let renamed = if at + 1 == reads.len() { &renamed[..] } else { &[] };
            plans.push((part.relation, self.bdd.plan(quantified, renamed.iter().copied())));
        }
        Ok(plans)
    }

    /// The relation of an edge, in as few parts as are not large.
    fn parts(
        &mut self,
        proc: ProcId,
        compiled: &Compiled,
        sets: &[Set],
        guard: Option<&Formula>,
    ) -> Result<Vec<Part>, Interrupted> {
        let mut nexts = Vec::with_capacity(sets.len());
        for set in sets {
            nexts.push(if set.value.is_empty() {
                Bits::new()
            } else {
                self.vars(proc, set.field, Role::Next)?
            });
        }
        let mut stores: Vec<usize> = (0..sets.len()).filter(|&at| !sets[at].value.is_empty()).collect();
        stores.sort_by_key(|&at| (sets[at].live, Reverse(self.first_slot(proc, sets[at].field))));
        let (machine, wiring) = (self.machine, &self.wiring);
        let levels = Present { machine, wiring };
        let mentions = Mentions { machine, proc, choices: &compiled.choices, levels, nexts };
        let (spare, bdd) = (wiring.levels(), &mut self.bdd);
        let relation = match guard {
            Some(guard) => chance(bdd, guard, &mentions, spare)?.possible(),
            None => Ref::TRUE,
        };
        let mut part = Part { relation, sets: Vec::new(), start: bdd.len(), forgotten: Vec::new() };
        let mut parts = Vec::new();
        for at in stores {
            let next = &mentions.nexts[at];
            let stored = chance(bdd, &sets[at].value, &mentions, spare)?.admits(bdd, next)?;
            let levels = next.iter().map(|&bit| bdd.level(bit)).filter(|_| !sets[at].live);
            let forgotten: Vec<u32> = levels.collect();
            // The guard is in the first part. In any other, a new value that matters to the guard has not met it yet.
            let met_guard = if parts.is_empty() { &forgotten[..] } else { &[] };
            let plan = bdd.plan(met_guard.iter().copied(), []);
            let met = bdd.image(part.relation, stored, plan)?;
            if part.sets.len() >= self.few && bdd.len() > part.start + self.large {
                let next = Part { relation: stored, sets: vec![at], start: bdd.len(), forgotten };
                parts.push(std::mem::replace(&mut part, next));
            } else {
                part.relation = met;
                part.sets.push(at);
                part.forgotten.extend(forgotten);
            }
        }
        parts.push(part);
        Ok(parts)
    }

    /// The plan of an image along an edge: forgets the old values of what changes and what dies, and makes the new
    /// values of what changes and lives the present ones.
    fn image_plan(
        &mut self,
        interface: &ProcInterface,
        id: EdgeId,
        changed: &[usize],
        live: &[usize],
    ) -> Plan {
        let proc = self.machine.program.locs()[self.machine.program.edges()[id].from].proc;
        let (gone, renamed) = self.moves(interface, id, changed, live);
        let quantified: Vec<u32> =
            bits::members(&gone).flat_map(|field| self.levels(proc, field, Role::Now)).collect();
        self.bdd.plan(quantified, renamed)
    }

    /// The fields whose old values are gone after an edge, and the levels that move.
    fn moves(
        &self,
        interface: &ProcInterface,
        id: EdgeId,
        changed: &[usize],
        live: &[usize],
    ) -> (Vec<u64>, Vec<(u32, u32)>) {
        let edge = &self.machine.program.edges()[id];
        let proc = self.machine.program.locs()[edge.from].proc;
        let mut gone = self.present(interface, edge.from);
        let stays = self.present(interface, edge.to);
        gone.iter_mut().zip(&stays).for_each(|(gone, stays)| *gone &= !stays);
        changed.iter().for_each(|&field| {
            bits::insert(&mut gone, field);
        });
        let pairs =
            |&field: &usize| self.levels(proc, field, Role::Next).zip(self.levels(proc, field, Role::Now));
        (gone, live.iter().flat_map(pairs).collect())
    }

    /// The relations of a call.
    pub fn site(
        &mut self,
        interface: &ProcInterface,
        callee: &ProcInterface,
        id: EdgeId,
    ) -> Result<CallRelations, Interrupted> {
        let edge = &self.machine.program.edges()[id];
        let proc = self.machine.program.locs()[edge.from].proc;
        let compiled = self.machine.edge(id);
        let Code::Call(call) = &compiled.code else { unreachable!("only calls have sites") };
        let whom = self.machine.callee(id);
        let enter = self.arguments(proc, whom, compiled, call, Role::Next, |_| true)?;
        let enter = (enter, self.enter_plan(interface, edge.from, whom, call));
        let is_link = |set: &Set| callee.links.binary_search_by_key(&set.field, |link| link.field).is_ok();
        let mut pass = self.arguments(proc, whom, compiled, call, Role::Pass, is_link)?;
        let first = self.machine.scopes.first_result(self.machine.program, whom);
        let results = || call.back().filter(|(_, there)| *there >= first);
        for (here, there) in results() {
            let (target, result) = (self.vars(proc, here, Role::Next)?, self.vars(whom, there, Role::Pass)?);
            let stored = equal(&mut self.bdd, &target, &result)?;
            pass = self.bdd.and(pass, stored)?;
        }
        let passing: Vec<usize> = (callee.links.iter().filter(|link| link.param).map(|link| link.field))
            .chain(results().map(|(_, there)| there))
            .collect();
        let plan: Vec<u32> = passing.iter().flat_map(|&field| self.levels(whom, field, Role::Pass)).collect();
        let pass = (pass, self.bdd.plan(plan, []));
        let trim = self.trim_plan(call, whom, callee, first);
        // A field gets a new value by the return if it receives a result or is a global that the callee writes.
        let renews = |there: usize| there >= first || callee.written.binary_search(&there).is_ok();
        let live: Vec<usize> =
            call.back().filter(|(_, there)| renews(*there)).map(|(here, _)| here).collect();
        let mut changed = live.clone();
        changed.extend(self.overwritten(id, proc, whom));
        let back = self.image_plan(interface, id, &changed, &live);
        Ok(CallRelations { enter, trim, pass, back, changed: live })
    }

    /// The fields whose old value is gone after the call: the targets of results, and what the callee writes.
    fn overwritten(&self, id: EdgeId, proc: ProcId, whom: ProcId) -> Vec<usize> {
        let program = self.machine.program;
        let Action::Call { results, .. } = &program.edges()[id].action else { unreachable!("a call") };
        let scopes = &self.machine.scopes;
        let field = |&var: &VarId| scopes.field(program, proc, var).expect("an edge touches what it writes");
        let written = scopes.shared(proc, whom).filter(|&(_, there)| self.writes(whom, there));
        results.iter().flatten().map(field).chain(written.map(|(here, _)| here)).collect()
    }

    /// Ties the callee's parameters, in some role, to the arguments.
    fn arguments(
        &mut self,
        proc: ProcId,
        whom: ProcId,
        compiled: &Compiled,
        call: &Call,
        role: Role,
        wanted: impl Fn(&Set) -> bool,
    ) -> Result<Ref, Interrupted> {
        let mut relation = Ref::TRUE;
        let mut wanted: Vec<&Set> = call.args.iter().filter(|set| set.live && wanted(set)).collect();
        wanted.sort_by_key(|set| Reverse(self.first_slot(whom, set.field)));
        for set in wanted {
            let param = self.vars(whom, set.field, role)?;
            let (machine, wiring) = (self.machine, &self.wiring);
            let (levels, nexts) = (Present { machine, wiring }, Vec::new());
            let mentions = Mentions { machine, proc, choices: &compiled.choices, levels, nexts };
            let value = chance(&mut self.bdd, &set.value, &mentions, wiring.levels())?;
            let stored = value.admits(&mut self.bdd, &param)?;
            relation = self.bdd.and(relation, stored)?;
        }
        Ok(relation)
    }

    /// Everything of the caller is forgotten but the globals that the callee sees.
    fn enter_plan(&mut self, interface: &ProcInterface, from: LocId, whom: ProcId, call: &Call) -> Plan {
        let proc = self.machine.program.locs()[from].proc;
        let mut gone = self.present(interface, from);
        let seen = call.globals().filter(|(_, _, live)| *live);
        seen.for_each(|(here, _, _)| bits::remove(&mut gone, here));
        let mut quantified: Vec<u32> =
            bits::members(&gone).flat_map(|field| self.levels(proc, field, Role::Now)).collect();
        let entries = interface.links.iter().filter(|link| link.role == Role::Entry);
        quantified.extend(entries.flat_map(|link| self.levels(proc, link.field, Role::Entry)));
        let params = call.args.iter().filter(|set| set.live).map(|set| set.field);
        let pairs = |field| self.levels(whom, field, Role::Next).zip(self.levels(whom, field, Role::Now));
        let renamed: Vec<(u32, u32)> = params.flat_map(pairs).collect();
        self.bdd.plan(quantified, renamed)
    }

    /// How a summary is relieved of the values that are not live after this call.
    fn trim_plan(&mut self, call: &Call, whom: ProcId, callee: &ProcInterface, first: usize) -> Plan {
        let mut back = vec![0; bits::words(self.machine.scopes.len(self.machine.program, whom))];
        for (_, there) in call.back() {
            bits::insert(&mut back, there);
        }
        let wanted = |there: usize| bits::contains(&back, there);
        let globals = callee.written.iter().filter(|&&there| !wanted(there));
        let globals = globals.flat_map(|&there| self.levels(whom, there, Role::Next));
        let results = self.machine.program.procs()[whom].results.len();
        let results = (first..first + results).filter(|&there| !wanted(there));
        let results = results.flat_map(|there| self.levels(whom, there, Role::Pass));
        let quantified: Vec<u32> = globals.chain(results).collect();
        self.bdd.plan(quantified, [])
    }
}
