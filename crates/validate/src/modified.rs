//! Room `validate`: which variables a procedure may write, with all that it calls.
//!
//! What is found is a set that contains everything written by an edge of the procedure, and the globals in the sets of its callees. A variable that is not
//! in it has the same value from the entry of an activation to its end.

use postbop_ir::{Id, ProcId, Program, Table, VarId};

/// For each procedure what it may write.
pub struct Modified {
    /// Whether an edge of its procedure writes a local.
    locals: Vec<bool>,
    /// The globals, and the position of each among them.
    all: Vec<VarId>,
    place: Table<VarId, u32>,
    /// For each procedure a bit for each global.
    globals: Table<ProcId, Vec<u64>>,
}

impl Modified {
    /// What the procedures of a program may write.
    pub fn new(program: &Program) -> Self {
        let all: Vec<VarId> = program.globals().collect();
        let mut place = Table::filled(program.vars().len(), 0);
        for (&var, at) in all.iter().zip(0..) {
            place[var] = at;
        }
        let mut locals = vec![false; program.vars().len()];
        let mut globals = Table::filled(program.procs().len(), vec![0u64; all.len().div_ceil(64)]);
        for edge in program.edges().iter() {
            for var in edge.action.writes() {
                match program.is_global(var) {
                    true => {
                        let bit = place[var];
                        globals[program.locs()[edge.from].proc][bit as usize / 64] |= 1 << (bit % 64);
                    }
                    false => locals[var.index()] = true,
                }
            }
        }
        let mut modified = Modified { locals, all, place, globals };
        modified.close(program);
        modified
    }

    /// Adds to each procedure what its callees write, until nothing is new.
    fn close(&mut self, program: &Program) {
        let callees = program.callees();
        let mut callers: Table<ProcId, Vec<ProcId>> = Table::filled(callees.len(), Vec::new());
        for (proc, called) in callees.pairs() {
            called.iter().for_each(|&callee| callers[callee].push(proc));
        }
        // Callees first, so that most sets are complete when they are passed on.
        let mut work = callees_first(&callees);
        work.reverse();
        while let Some(proc) = work.pop() {
            for &caller in &callers[proc] {
                let from = self.globals[proc].clone();
                let mut grows = false;
                for (to, from) in self.globals[caller].iter_mut().zip(from) {
                    grows |= from & !*to != 0;
                    *to |= from;
                }
                if grows {
                    work.push(caller);
                }
            }
        }
    }

    /// Whether a procedure may write a variable that it can see.
    pub fn by(&self, program: &Program, proc: ProcId, var: VarId) -> bool {
        match program.is_global(var) {
            true => self.globals[proc][self.place[var] as usize / 64] >> (self.place[var] % 64) & 1 != 0,
            false => self.locals[var.index()],
        }
    }

    /// The globals that a procedure may write.
    pub fn globals(&self, proc: ProcId) -> Vec<VarId> {
        let bit = |at: &usize| self.globals[proc][at / 64] >> (at % 64) & 1 != 0;
        (0..self.all.len()).filter(bit).map(|at| self.all[at]).collect()
    }
}

/// All procedures, those that are called before those that call them, as far as there is such an order.
fn callees_first(callees: &Table<ProcId, Vec<ProcId>>) -> Vec<ProcId> {
    let mut seen = Table::filled(callees.len(), false);
    let mut order = Vec::with_capacity(callees.len());
    for root in callees.ids() {
        let mut stack = vec![(root, 0)];
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        while let Some((proc, next)) = stack.last_mut() {
            match callees[*proc].get(*next) {
                Some(&callee) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[callee], true) {
                        stack.push((callee, 0));
                    }
                }
                None => {
                    order.push(*proc);
                    stack.pop();
                }
            }
        }
    }
    order
}
