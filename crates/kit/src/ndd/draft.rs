//! Room `kit/ndd`: an automaton under construction.

use super::{ALL, Column, Interrupted, Link, NOTHING, Ndd, Ndds, State, Vertex};
use rustc_hash::FxHashMap as HashMap;
use std::hash::Hash;

/// Vertices, each made once.
#[derive(Default)]
pub struct Vertices {
    pub list: Vec<Vertex>,
    unique: HashMap<Vertex, u32>,
}

impl Vertices {
    /// Room for so many, as a rule.
    pub fn with_room(vertices: usize) -> Self {
        Vertices { list: Vec::with_capacity(vertices), unique: table(vertices) }
    }

    /// The diagram that tests a column and goes on with one of two.
    pub fn test(&mut self, column: Column, next: [Link; 2]) -> Link {
        if next[0] == next[1] {
            return next[0];
        }
        let new = self.list.len() as u32;
        let vertex = Vertex { column, next };
        let at = *self.unique.entry(vertex).or_insert(new);
        if at == new {
            self.list.push(vertex);
        }
        Link(at)
    }
}

/// An automaton under construction.
pub struct Draft {
    pub vertices: Vertices,
    pub states: Vec<State>,
    pub first: Link,
}

impl Draft {
    /// Only the states from which nothing is accepted, and everything.
    pub fn new() -> Self {
        Draft::with_room(0)
    }

    /// The same, with room for so many vertices, as a rule.
    pub fn with_room(vertices: usize) -> Self {
        let state = |state: u32| State { root: Link::to_state(state), accepts: state == ALL };
        let states = vec![state(NOTHING), state(ALL)];
        Draft { vertices: Vertices::with_room(vertices), states, first: Link::to_state(NOTHING) }
    }

    /// A new state, whose diagram is not known yet.
    pub fn state(&mut self, accepts: bool) -> u32 {
        let new = self.states.len() as u32;
        self.states.push(State { root: Link::to_state(NOTHING), accepts });
        new
    }
}

/// A table with room for so many entries, within reason.
pub fn table<K, V>(entries: usize) -> HashMap<K, V> {
    HashMap::with_capacity_and_hasher(entries.min(MOST_ROOM), Default::default())
}

/// So many entries at most a table has room for before it is known how many there are.
const MOST_ROOM: usize = 1 << 10;

impl Ndds<'_> {
    /// The set of a decision diagram over bits: `test` says of a vertex which column it tests, and where a bit 0 leads and a bit 1; or whether it is
    /// everything or nothing.
    pub fn decided<T: Copy + Eq + Hash>(
        &self,
        root: T,
        test: impl Fn(T) -> Result<(Column, [T; 2]), bool>,
    ) -> Result<Ndd, Interrupted> {
        let mut draft = Draft::new();
        let mut done: HashMap<T, Link> = HashMap::default();
        let mut work = vec![root];
        while let Some(&vertex) = work.last() {
            self.spend(1)?;
            let link = match test(vertex) {
                Err(value) => Link::to_state(if value { ALL } else { NOTHING }),
                Ok((column, next)) => match next.map(|next| done.get(&next).copied()) {
                    [Some(low), Some(high)] => draft.vertices.test(column, [low, high]),
                    links => {
                        let open = next.into_iter().zip(links).filter(|(_, link)| link.is_none());
                        work.extend(open.map(|(next, _)| next));
                        continue;
                    }
                },
            };
            done.insert(vertex, link);
            work.pop();
        }
        draft.first = done[&root];
        self.finish(draft)
    }

    /// The set that an automaton accepts.
    pub(super) fn finish(&self, draft: Draft) -> Result<Ndd, Interrupted> {
        let automaton = self.minimal(&draft)?;
        Ok(self.intern(automaton))
    }
}
