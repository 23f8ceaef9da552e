//! Room `engine/weighted`: the columns of variables.
//!
//! A *register* holds a value: a variable of the program, or what a call passes on, an argument or a result. Arguments and results have registers of
//! their own, since a procedure that calls itself has two activations of the same variables. An unbounded integer is one number of a set, any other value is so many bits: the *slots* of
//! the register. A set speaks of a slot at up to three points in time, in columns that stand beside each other.

use postbop_ir::{Id, ProcId, Program, Table, Type, Value, VarId};
use postbop_kit::ndd::Column;
use std::ops::Range;

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
    first_slot: Vec<u32>,
    slots: u32,
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
        let mut args = Table::new();
        let mut results = Table::new();
        for proc in program.procs().iter() {
            args.push(proc.params().iter().map(|&param| register(program.vars()[param].ty)).collect());
            results.push(proc.results.iter().map(|&ty| register(ty)).collect());
        }
        let mut registers =
            Registers { first_slot: vec![0; types.len()], types, slots: 0, owner: Vec::new(), args, results };
        program.globals().for_each(|global| registers.place(global.0));
        for (id, proc) in program.procs().pairs() {
            for (at, &param) in proc.params().iter().enumerate() {
                registers.place(registers.args[id][at]);
                registers.place(param.0);
            }
            (0..proc.results.len()).for_each(|at| registers.place(registers.results[id][at]));
            proc.locals[proc.params..].iter().for_each(|local| registers.place(local.0));
        }
        registers
    }

    fn place(&mut self, register: Register) {
        self.first_slot[register as usize] = self.slots;
        let count = self.types[register as usize].bits().map_or(1, u32::from);
        self.slots += count;
        self.owner.extend((0..count).map(|_| register));
    }

    /// How many slots there are. The columns behind theirs are free.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// The slots of a register.
    pub fn slots_of(&self, register: Register) -> Range<u32> {
        let first = self.first_slot[register as usize];
        first..first + self.ty(register).bits().map_or(1, u32::from)
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

/// The value of a type that bits make, the least significant first.
pub fn from_bits(ty: Type, bits: impl Iterator<Item = bool>) -> Value {
    let number = bits.enumerate().fold(0, |sum, (at, bit)| sum | i128::from(bit) << at);
    ty.wrap(number).expect("bits make a bounded number")
}
