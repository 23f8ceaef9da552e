//! Room `engine/weighted`: the columns of variables.
//!
//! A *register* holds a value: a variable of the program, or what a call passes on, an argument or a result. Arguments and results have registers of
//! their own, since a procedure that calls itself has two activations of the same variables. An unbounded integer is one number of a set, any other value is so many bits: the *slots* of
//! the register. A set speaks of a slot at up to three points in time, in columns that stand beside each other.
//!
//! # Order
//!
//! A diagram that says that many registers have the values of as many others is small only if each stands beside its original. So slots are in the order that the ties
//! between variables give ([`crate::encode::affinity`]), and an argument stands before its parameter. Bounded integers come first, interleaved: the highest bits of all of them, then the next
//! bits, and so on.

use crate::encode::affinity::{order, ties};
use crate::encode::columns::Nodes;
use crate::encode::scope::Scopes;
use postbop_ir::{Id, ProcId, Program, Table, Type, Value, VarId};
use postbop_kit::ndd::Column;
use rustc_hash::FxHashMap as HashMap;

/// A register.
pub type Register = u32;

/// When a column shows a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// Before.
    Old,
    /// Afterwards.
    New,
    /// After one thing more.
    Later,
}

/// The column of a slot at some time.
pub fn column(slot: u32, time: Time) -> Column {
    3 * slot + time as u32
}

/// The slot of a column, and when it shows it.
pub fn shown(column: Column) -> (u32, Time) {
    (column / 3, [Time::Old, Time::New, Time::Later][column as usize % 3])
}

/// The registers of a program.
pub struct Registers {
    types: Vec<Type>,
    /// For each register its slots; of bits the least significant first.
    slots: Vec<Box<[u32]>>,
    /// The register of each slot.
    owner: Vec<Register>,
    args: Table<ProcId, Vec<Register>>,
    results: Table<ProcId, Vec<Register>>,
}

impl Registers {
    /// The registers of a program: its variables first.
    pub fn new(program: &Program) -> Self {
        let mut types: Vec<Type> = program.vars().iter().map(|var| var.ty).collect();
        let mut register = |ty: Type| {
            types.push(ty);
            types.len() as Register - 1
        };
        let procs = program.procs();
        let results: Table<ProcId, Vec<Register>> =
            procs.iter().map(|proc| proc.results.iter().map(|&ty| register(ty)).collect()).collect();
        let of_param = |param: &VarId| program.vars()[*param].ty;
        let args: Table<ProcId, Vec<Register>> = procs
            .iter()
            .map(|proc| proc.params().iter().map(|param| register(of_param(param))).collect())
            .collect();
        let mut registers =
            Registers { slots: vec![[].into(); types.len()], types, owner: Vec::new(), args, results };
        registers.place(&in_order(program, &registers));
        registers
    }

    /// Registers of some types that nothing is passed in; their slots are in this order.
    pub fn of(types: Vec<Type>, order: &[Register]) -> Self {
        let slots = vec![[].into(); types.len()];
        let mut registers =
            Registers { slots, types, owner: Vec::new(), args: Table::default(), results: Table::default() };
        registers.place(order);
        registers
    }

    /// How many slots one relation of a program can speak of: those of the globals that a procedure can touch, of its locals, and of what is passed to it and
    /// to one procedure that it calls, and back.
    pub fn needed(program: &Program) -> u64 {
        let scopes = Scopes::new(program);
        let widths =
            |vars: &[VarId]| -> u64 { vars.iter().map(|&var| width_of(program.vars()[var].ty)).sum() };
        let passed = |proc: ProcId| -> u64 {
            let data = &program.procs()[proc];
            widths(data.params()) + data.results.iter().map(|&ty| width_of(ty)).sum::<u64>()
        };
        let of_proc = |(id, callees): (ProcId, &Vec<ProcId>)| {
            let called = callees.iter().map(|&callee| passed(callee)).max().unwrap_or(0);
            widths(scopes.globals(id)) + widths(&program.procs()[id].locals) + passed(id) + called
        };
        program.callees().pairs().map(of_proc).max().unwrap_or(0)
    }

    /// Gives slots to registers, which come in this order.
    fn place(&mut self, order: &[Register]) {
        let widest = self.types.iter().map(|&ty| width(ty)).max().unwrap_or(0);
        let bounded = |&&register: &&Register| width(self.types[register as usize]) > 1;
        let (types, mut slots) = (&self.types, vec![Vec::new(); self.types.len()]);
        for bit in (0..widest).rev() {
            let wide = order.iter().filter(bounded);
            for &register in wide.filter(|&&register| width(types[register as usize]) > bit) {
                slots[register as usize].push(self.owner.len() as u32);
                self.owner.push(register);
            }
        }
        for &register in order.iter().filter(|register| !bounded(register)) {
            slots[register as usize].push(self.owner.len() as u32);
            self.owner.push(register);
        }
        let lowest_first = |mut slots: Vec<u32>| {
            slots.reverse();
            slots.into()
        };
        self.slots = slots.into_iter().map(lowest_first).collect();
    }

    /// How many slots there are. The columns behind theirs are free.
    pub fn slots(&self) -> u32 {
        self.owner.len() as u32
    }

    /// The slots of a register; of bits the least significant first.
    pub fn slots_of(&self, register: Register) -> &[u32] {
        &self.slots[register as usize]
    }

    /// The register of a slot.
    pub fn owner(&self, slot: u32) -> Register {
        self.owner[slot as usize]
    }

    /// The type of the values of a register.
    pub fn ty(&self, register: Register) -> Type {
        self.types[register as usize]
    }

    /// The registers in which arguments are passed to a procedure.
    pub fn args(&self, proc: ProcId) -> &[Register] {
        &self.args[proc]
    }

    /// The registers in which a procedure leaves its results.
    pub fn results(&self, proc: ProcId) -> &[Register] {
        &self.results[proc]
    }

    /// The variable that a register is.
    pub fn var(&self, program: &Program, register: Register) -> Option<VarId> {
        let var = VarId::new(register as usize);
        (var.index() < program.vars().len()).then_some(var)
    }
}

/// How many slots a value has.
fn width(ty: Type) -> u32 {
    ty.bits().map_or(1, u32::from)
}

/// How many slots a value has, for sums.
pub fn width_of(ty: Type) -> u64 {
    u64::from(width(ty))
}

/// All registers, those that are tied close to each other.
fn in_order(program: &Program, registers: &Registers) -> Vec<Register> {
    let nodes = Nodes::new(program);
    let mut arg_of: HashMap<Register, Register> = HashMap::default();
    for (id, proc) in program.procs().pairs() {
        arg_of.extend(proc.params().iter().map(|param| param.0).zip(registers.args(id).iter().copied()));
    }
    // Variables and results are numbered in the same way as nodes.
    let nodes = order(nodes.len(), &ties(program, &nodes));
    nodes.into_iter().flat_map(|node| arg_of.get(&node).copied().into_iter().chain([node])).collect()
}

/// The value of a type that bits make, the least significant first.
pub fn from_bits(ty: Type, bits: impl Iterator<Item = bool>) -> Value {
    let number = bits.enumerate().fold(0, |sum, (at, bit)| sum | i128::from(bit) << at);
    ty.wrap(number).expect("bits make a bounded number")
}
