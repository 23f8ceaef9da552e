//! Room `validate`: conditions that decision diagrams show to be impossible.
//!
//! # Idea
//!
//! Sets that an engine kept as decision diagrams are hard for a solver that learns clauses: it has to find out case by case what two diagrams have in common, where a walk
//! through both at once is short. So each condition is first made a diagram itself, of the inputs of its gates. If that is the constant false the condition is impossible.
//! If it grows too large, or is not false, the solver is asked.
//!
//! # Order
//!
//! An input has a rank, and diagrams test inputs by falling rank ([`crate::execute`]): what comes later in a proof is tested first. Diagrams are written from their leaves to their roots, so that is the order
//! of the engine that wrote them. Any order is right, another one may need more vertices.
//!
//! # Cost
//!
//! For each question [`TIMES`] steps for each gate that there is, and [`FEW`] more, but not more than [`MOST`]. Vertices are kept from one question to the next until there are [`MOST`].

use crate::gates::{Gate, Gates, Lit, Mix};
use crate::pairs::Pairs;
use crate::solver::GoesOn;
use std::hash::Hasher;

/// How many steps a question may take for each gate, without gates, and altogether.
const TIMES: usize = 64;
const FEW: usize = 1 << 13;
const MOST: usize = 1 << 21;

/// How many steps there are between two questions whether the work may go on, and how much work a step is, and a question.
const PATIENCE: u64 = 1 << 10;
const STEP: u64 = 4;
const QUESTION: u64 = 16;

/// A vertex: the input that it tests, and what is left if it is false, and if it is true. The latter is not a complement.
#[derive(Clone, Copy)]
pub(crate) struct Vertex {
    /// The rank of the input, and its number in the lower half. That of the constant is below all others.
    tests: u64,
    pub low: Lit,
    pub high: Lit,
    /// The next vertex in the same bucket; 0 at the end.
    next: u32,
}

impl Vertex {
    fn is_input(&self) -> bool {
        self.low == Lit::FALSE && self.high == Lit::TRUE
    }
}

/// Decision diagrams of gates. A diagram is a vertex or its complement, and written as a gate would be.
pub struct Diagrams<'g> {
    goes_on: GoesOn<'g>,
    pub(crate) vertices: Vec<Vertex>,
    /// The first vertex of each bucket; 0 if it is empty.
    buckets: Vec<u32>,
    /// Choices that were computed, each at its place, unless another one with the same place came later.
    known: Vec<([Lit; 3], Lit)>,
    /// The diagram of each gate that has one.
    made: Vec<Option<Lit>>,
    /// How many conjunctions there were, and for each gate the last one in which it is, with the last of its functions that depends on it.
    pub(crate) questions: u32,
    pub(crate) uses: Vec<(u32, u32)>,
    /// What is known of pairs, on a walk through two diagrams.
    pub(crate) pairs: Pairs,
    /// How many steps there may still be for this question.
    left: usize,
    /// What is to be computed next, and what was.
    tasks: Vec<Task>,
    done: Vec<Lit>,
}

/// How many buckets and places there are at first. There are as many as vertices, and up to twice as many.
const ROOM: usize = 1 << 10;
/// There are not more places than this for what was computed: computing a little more takes less time than looking far away in memory.
pub(crate) const MOST_PLACES: usize = 1 << 16;

/// No choice: one that can be seen at once is not looked for.
const NONE: ([Lit; 3], Lit) = ([Lit::TRUE; 3], Lit::TRUE);

/// A step of a computation: the choice between two diagrams by a third, or the vertex for the two choices computed last.
enum Task {
    Choose([Lit; 3]),
    Join { of: [Lit; 3], tests: u64, flip: bool },
}

/// Why a diagram is not made.
pub(crate) enum Stop {
    /// The steps are used up.
    TooLarge,
    CalledOff,
}

impl<'g> Diagrams<'g> {
    /// No diagrams but the constants.
    pub fn new(goes_on: GoesOn<'g>) -> Self {
        let leaf = Vertex { tests: 0, low: Lit::TRUE, high: Lit::TRUE, next: 0 };
        Diagrams {
            goes_on,
            vertices: vec![leaf],
            buckets: vec![0; ROOM],
            known: vec![NONE; ROOM],
            made: vec![Some(Lit::TRUE)],
            questions: 0,
            uses: Vec::new(),
            pairs: Pairs::new(),
            left: 0,
            tasks: Vec::new(),
            done: Vec::new(),
        }
    }

    /// How many steps a question may take at most.
    pub fn most(gates: &Gates) -> usize {
        MOST.min(FEW + TIMES * gates.len())
    }

    /// Whether it is seen in so many steps that these are not true together. `None` if the work was called off.
    pub fn exclude(&mut self, gates: &Gates, all: &[Lit], steps: usize) -> Option<bool> {
        if self.vertices.len() > MOST {
            *self = Diagrams::new(self.goes_on);
        }
        self.left = steps.min(Diagrams::most(gates));
        if !(self.goes_on)(QUESTION) {
            return None;
        }
        match self.possible(gates, all) {
            Ok(possible) => Some(!possible),
            Err(Stop::TooLarge) => Some(false),
            Err(Stop::CalledOff) => None,
        }
    }

    /// The diagram of a gate, made after those of all gates below it.
    pub(crate) fn of(&mut self, gates: &Gates, lit: Lit) -> Result<Lit, Stop> {
        self.made.resize(gates.len().max(self.made.len()), None);
        let mut stack = vec![lit.gate()];
        while let Some(&at) = stack.last() {
            let before = stack.len();
            if self.made[at].is_none() {
                let below = gates.below(at).iter().map(|lit| lit.gate());
                stack.extend(below.filter(|&to| self.made[to].is_none()));
            }
            if stack.len() == before {
                stack.pop();
                if self.made[at].is_none() {
                    self.made[at] = Some(self.make(gates, at)?);
                }
            }
        }
        Ok(self.made_of(lit))
    }

    fn made_of(&self, lit: Lit) -> Lit {
        self.made[lit.gate()].expect("gates below are made first").flip(lit.is_negated())
    }

    fn make(&mut self, gates: &Gates, at: usize) -> Result<Lit, Stop> {
        match gates.gate(at) {
            Gate::Input(rank) => Ok(self.vertex(u64::from(rank) << 32 | at as u64, Lit::FALSE, Lit::TRUE)),
            Gate::Ite([c, a, b]) => self.choose(self.made_of(c), self.made_of(a), self.made_of(b)),
            Gate::And(&[a, b]) => {
                let (a, b) = (self.made_of(a), self.made_of(b));
                // A diagram of one input put on top of those below it is one step.
                if self.is_above(a, b) {
                    self.choose(a, b, Lit::FALSE)
                } else {
                    self.choose(b, a, Lit::FALSE)
                }
            }
            Gate::And(all) => {
                let all = all.iter().map(|&lit| self.made_of(lit)).collect();
                self.conjoin(all)
            }
        }
    }

    /// The conjunction of diagrams.
    fn conjoin(&mut self, all: Vec<Lit>) -> Result<Lit, Stop> {
        let (mut inputs, mut others): (Vec<Lit>, Vec<Lit>) =
            all.into_iter().partition(|lit| lit.gate() != 0 && self.vertices[lit.gate()].is_input());
        inputs.sort_unstable_by_key(|lit| self.vertices[lit.gate()].tests);
        let mut cube = Lit::TRUE;
        for input in inputs {
            cube = self.choose(input, cube, Lit::FALSE)?;
        }
        others.push(cube);
        // Pairs, then pairs of pairs: long lists stay balanced.
        while others.len() > 1 {
            let both = others.chunks(2).map(|pair| match *pair {
                [a, b] => self.choose(a, b, Lit::FALSE),
                _ => Ok(pair[0]),
            });
            others = both.collect::<Result<_, Stop>>()?;
        }
        Ok(others[0])
    }

    pub(crate) fn vertex(&mut self, tests: u64, low: Lit, high: Lit) -> Lit {
        if low == high {
            return low;
        }
        let flip = high.is_negated();
        let (low, high) = (low.flip(flip), high.flip(flip));
        let bucket = place([Lit::of(number(tests)), low, high], self.buckets.len());
        let mut at = self.buckets[bucket];
        while at != 0 {
            let vertex = &self.vertices[at as usize];
            if vertex.low == low && vertex.high == high && vertex.tests == tests {
                return Lit::of(at as usize).flip(flip);
            }
            at = vertex.next;
        }
        let own = self.vertices.len();
        self.vertices.push(Vertex { tests, low, high, next: self.buckets[bucket] });
        self.buckets[bucket] = own as u32;
        if own > self.buckets.len() {
            self.grow();
        }
        Lit::of(own).flip(flip)
    }

    /// Twice as many buckets, and places for choices.
    fn grow(&mut self) {
        let size = 2 * self.buckets.len();
        self.buckets = vec![0; size];
        for (at, vertex) in self.vertices.iter_mut().enumerate().skip(1) {
            let bucket = place([Lit::of(number(vertex.tests)), vertex.low, vertex.high], size);
            vertex.next = std::mem::replace(&mut self.buckets[bucket], at as u32);
        }
        if size > MOST_PLACES {
            return;
        }
        let old = std::mem::replace(&mut self.known, vec![NONE; size]);
        old.into_iter()
            .filter(|known| *known != NONE)
            .for_each(|known| self.known[place(known.0, size)] = known);
    }

    /// The second diagram where the first is true, else the third.
    pub(crate) fn choose(&mut self, c: Lit, a: Lit, b: Lit) -> Result<Lit, Stop> {
        if c.gate() != 0 && self.vertices[c.gate()].is_input() && self.is_above(c, a) && self.is_above(c, b) {
            let tests = self.vertices[c.gate()].tests;
            return Ok(if c.is_negated() { self.vertex(tests, a, b) } else { self.vertex(tests, b, a) });
        }
        self.tasks.clear();
        self.done.clear();
        self.tasks.push(Task::Choose([c, a, b]));
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Choose(three) => {
                    let (of, flip) = match simple(three) {
                        Ok(seen) => {
                            self.done.push(seen);
                            continue;
                        }
                        Err(normal) => normal,
                    };
                    let known = self.known[place(of, self.known.len())];
                    if known.0 == of {
                        self.done.push(known.1.flip(flip));
                        continue;
                    }
                    self.step()?;
                    let (tests, low, high) = self.sides(of);
                    self.tasks.extend([
                        Task::Join { of, tests, flip },
                        Task::Choose(high),
                        Task::Choose(low),
                    ]);
                }
                Task::Join { of, tests, flip } => {
                    let (high, low) = (self.done.pop(), self.done.pop());
                    let both = low.zip(high).expect("both were computed before");
                    let made = self.vertex(tests, both.0, both.1);
                    let at = place(of, self.known.len());
                    self.known[at] = (of, made);
                    self.done.push(made.flip(flip));
                }
            }
        }
        Ok(self.done[0])
    }

    /// Whether a diagram tests its first input before another diagram tests anything.
    fn is_above(&self, f: Lit, g: Lit) -> bool {
        g.gate() == 0 || self.vertices[f.gate()].tests > self.vertices[g.gate()].tests
    }

    /// Counts a step.
    pub(crate) fn step(&mut self) -> Result<(), Stop> {
        self.left = self.left.checked_sub(1).ok_or(Stop::TooLarge)?;
        let asks = (self.left as u64).is_multiple_of(PATIENCE);
        if asks && !(self.goes_on)(PATIENCE * STEP) { Err(Stop::CalledOff) } else { Ok(()) }
    }

    /// The input that is tested first in some of these, which are not all constant: the one with the greatest rank. And what is left of them if it is false, and if it is true.
    #[inline(always)]
    pub(crate) fn sides<const N: usize>(&self, of: [Lit; N]) -> (u64, [Lit; N], [Lit; N]) {
        let vertices = of.map(|lit| self.vertices[lit.gate()]);
        let tests = vertices.iter().fold(0, |first, vertex| first.max(vertex.tests));
        let (mut low, mut high) = (of, of);
        for (at, vertex) in vertices.iter().enumerate() {
            if vertex.tests == tests {
                let flip = of[at].is_negated();
                (low[at], high[at]) = (vertex.low.flip(flip), vertex.high.flip(flip));
            }
        }
        (tests, low, high)
    }
}

/// The number of the input that is tested.
pub(crate) fn number(tests: u64) -> usize {
    tests as u32 as usize
}

/// Where something is looked for in a table of this size, a power of two.
fn place([a, b, c]: [Lit; 3], size: usize) -> usize {
    let [a, b, c] = [a, b, c].map(|lit| u64::from(lit.number()));
    let mut hash = Mix::default();
    hash.write_u64(a | b << 32);
    hash.write_u64(c);
    hash.finish() as usize & (size - 1)
}

/// A choice that can be seen at once, or an equal one to compute, and whether to complement that: its first and its second diagram are no complements.
fn simple([mut c, mut a, mut b]: [Lit; 3]) -> Result<Lit, ([Lit; 3], bool)> {
    if c.is_negated() {
        (c, a, b) = (!c, b, a);
    }
    if a.gate() == c.gate() {
        a = Lit::TRUE.flip(a.is_negated());
    }
    if b.gate() == c.gate() {
        b = Lit::FALSE.flip(b.is_negated());
    }
    match (a, b) {
        _ if a == b || c == Lit::TRUE => Ok(a),
        (Lit::TRUE, Lit::FALSE) => Ok(c),
        (Lit::FALSE, Lit::TRUE) => Ok(!c),
        _ => {
            // A conjunction has two orders.
            if b == Lit::FALSE && !a.is_negated() && a < c {
                (c, a) = (a, c);
            }
            let flip = a.is_negated();
            Err(([c, a.flip(flip), b.flip(flip)], flip))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small numbers that look random.
    struct Numbers(u64);
    impl Numbers {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % bound
        }
    }

    /// Gates over four inputs, whatever comes.
    fn random(seed: u64) -> (Gates, Vec<Lit>) {
        let (mut gates, mut numbers) = (Gates::new(), Numbers(seed));
        let mut all: Vec<Lit> = (0..4).map(|_| gates.input(numbers.below(3) as u32)).collect();
        for _ in 0..12 {
            let mut any = || all[numbers.below(all.len())].flip(numbers.below(2) == 1);
            let (a, b, c, d) = (any(), any(), any(), any());
            all.push(if numbers.below(2) == 0 { gates.and(vec![a, b, c, d]) } else { gates.ite(a, b, c) });
        }
        (gates, all)
    }

    #[test]
    fn what_is_excluded_is_impossible_and_the_rest_is_not() {
        let mut counts = [0; 2];
        for seed in 0..300 {
            let (gates, all) = random(seed);
            let mut diagrams = Diagrams::new(&|_| true);
            for (at, &a) in all.iter().enumerate() {
                for &b in &all[..at] {
                    for pair in [[a, b], [!a, b], [a, !b], [!a, !b]] {
                        let possible = (0..16).any(|row| {
                            let inputs = (1..=4).map(|at| (at, row >> (at - 1) & 1 != 0)).collect();
                            pair.iter().all(|&lit| gates.value(&inputs, lit))
                        });
                        assert_eq!(
                            diagrams.exclude(&gates, &pair, usize::MAX),
                            Some(!possible),
                            "{seed}: {pair:?}"
                        );
                        counts[possible as usize] += 1;
                    }
                }
            }
        }
        assert!(counts.iter().all(|&count| count > 10_000), "{counts:?}");
    }

    #[test]
    fn a_question_that_is_too_large_stays_open_and_one_that_is_called_off_has_no_answer() {
        // Whether two numbers are the same, all bits of the one before all of the other: a vertex for each number.
        let mut gates = Gates::new();
        let [a, b] = [2, 1].map(|rank| (0..24).map(|_| gates.input(rank)).collect::<Vec<Lit>>());
        let same = gates.same(&a, &b);
        let differ = gates.and(vec![!same, a[0]]);
        assert_eq!(Diagrams::new(&|_| true).exclude(&gates, &[same, differ], usize::MAX), Some(false));
        assert_eq!(Diagrams::new(&|more| more < PATIENCE).exclude(&gates, &[same, differ], usize::MAX), None);
    }
}
