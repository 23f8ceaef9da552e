//! Room `engine/threads`: configurations, each stored once.
//!
//! A *configuration* is all there is at one moment of a run of several threads: the globals, each thread's stack with its
//! locals, and which thread runs. A stack is a chain of frames, and a frame that two stacks have in common is there once.

use crate::encode::machine::code::Machine;
use crate::encode::machine::layout::Row;
use postbop_ir::{EdgeId, LocId, ThreadId};
use postbop_kit::rows::{Full, Rows};

/// The stack of a thread that has not begun.
const UNBORN: u32 = u32::MAX;

/// How a configuration was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// It is where a run starts.
    Start,
    /// The running thread took an edge.
    Edge(EdgeId),
    /// Another thread runs now.
    Switch,
}

/// A frame of a thread's stack, which leads to that of its caller.
pub struct Frame<'s> {
    /// The frame of the caller, if there is one, with the call.
    pub caller: Option<(u32, EdgeId)>,
    /// Where it is; where the call leads, if it waits for one.
    pub loc: LocId,
    /// Its locals.
    pub locals: &'s [u64],
}

/// Everything found so far.
pub struct Store {
    /// Configurations: the running thread, the stacks two to a word, the globals.
    configurations: Rows,
    /// Frames: the caller's number and the call, the location, the locals.
    frames: Rows,
    origins: Vec<(u32, Via)>,
    threads: usize,
    /// Which bits of the first words of a row are those of globals.
    pub masks: Vec<u64>,
}

const NO_CALLER: u64 = u64::MAX;

impl Store {
    /// Nothing was found yet.
    pub fn new(machine: &Machine, threads: usize) -> Self {
        let program = machine.program;
        let count = program.globals().count();
        let main = program.threads()[ThreadId(0)].main;
        let mut masks = Vec::new();
        for field in &machine.layout(main).fields[..count] {
            let (word, bits) = field.bits();
            masks.resize(masks.len().max(word + 1), 0);
            masks[word] |= bits;
        }
        let (configurations, frames, origins) = Default::default();
        Store { configurations, frames, origins, threads, masks }
    }

    /// A frame.
    pub fn frame(&self, id: u32) -> Frame<'_> {
        let row = self.frames.row(id);
        let caller = (row[0] != NO_CALLER).then(|| ((row[0] >> 32) as u32, EdgeId(row[0] as u32)));
        Frame { caller, loc: LocId(row[1] as u32), locals: &row[2..] }
    }

    /// Adds a frame at a location, with a valuation of which the globals do not count.
    pub fn add_frame(&mut self, caller: Option<(u32, EdgeId)>, loc: LocId, row: &[u64]) -> Result<u32, Full> {
        let caller = caller.map_or(NO_CALLER, |(frame, edge)| (frame as u64) << 32 | edge.0 as u64);
        let local = |(at, word): (usize, &u64)| word & !self.masks.get(at).copied().unwrap_or(0);
        let words: Vec<u64> =
            [caller, loc.0 as u64].into_iter().chain(row.iter().enumerate().map(local)).collect();
        Ok(self.frames.intern(&words)?.0)
    }

    /// The running thread of a configuration; one past the last for the prologue.
    pub fn running(&self, id: u32) -> usize {
        self.configurations.row(id)[0] as usize
    }

    /// The innermost frame of a thread.
    pub fn stack(&self, id: u32, thread: usize) -> Option<u32> {
        let word = self.configurations.row(id)[1 + thread / 2];
        let frame = (word >> (32 * (thread % 2))) as u32;
        (frame != UNBORN).then_some(frame)
    }

    /// The globals of a configuration, as the first words of a row.
    pub fn globals(&self, id: u32) -> &[u64] {
        &self.configurations.row(id)[1 + (self.threads + 1).div_ceil(2)..]
    }

    /// How a configuration was found.
    pub fn origin(&self, id: u32) -> (u32, Via) {
        self.origins[id as usize]
    }

    /// The valuation of a frame in a configuration.
    pub fn row(&self, id: u32, frame: u32) -> Row {
        let mut row = Row::from_slice(self.frame(frame).locals);
        for (word, globals) in row.iter_mut().zip(self.globals(id)) {
            *word |= globals;
        }
        row
    }

    /// Adds a configuration: its number, and whether it is new.
    pub fn add(&mut self, words: &[u64]) -> Result<(u32, bool), Full> {
        self.configurations.intern(words)
    }

    /// Notes how a configuration was found.
    pub fn note(&mut self, id: u32, origin: (u32, Via)) {
        match self.origins.get_mut(id as usize) {
            Some(known) => *known = origin,
            None => self.origins.push(origin),
        }
    }

    /// How many configurations and frames there are.
    pub fn sizes(&self) -> (usize, usize) {
        (self.origins.len(), self.frames.len())
    }

    /// The same configuration with another running thread, another stack of it, and other globals.
    pub fn with(&self, from: Option<u32>, thread: usize, stack: u32, row: &[u64]) -> Vec<u64> {
        let stacks = 1 + (self.threads + 1).div_ceil(2);
        let mut words = match from {
            Some(from) => self.configurations.row(from).to_vec(),
            None => vec![u64::MAX; stacks + self.masks.len()],
        };
        words[0] = thread as u64;
        let shift = 32 * (thread % 2);
        let word = &mut words[1 + thread / 2];
        *word = *word & !(u64::from(u32::MAX) << shift) | u64::from(stack) << shift;
        for (at, mask) in self.masks.iter().enumerate() {
            words[stacks + at] = row[at] & mask;
        }
        words
    }
}
