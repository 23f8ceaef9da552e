//! Room `kit/ndd`: an automaton under construction, and the minimal one that accepts the same.
//!
//! # Idea
//!
//! States are told apart in rounds: at first by whether they accept, then by the classes to which their diagrams lead. A
//! diagram whose leaves are classes is made anew in every round, each vertex once; two states stay together exactly
//! if they were together and have the same diagram. When a round tells no more states apart, the classes are the states of
//! the minimal automaton.
//!
//! # Paper
//!
//! Moore's algorithm, on diagrams as in \[mona\]. # Cost: the vertices, times the length of the longest word that is needed to
//! tell two states apart.

use super::{ALL, Automaton, Column, Interrupted, Link, NOTHING, Ndd, Ndds, State, Vertex};
use rustc_hash::FxHashMap as HashMap;
use std::hash::Hash;

/// Vertices, each made once.
#[derive(Default)]
pub struct Vertices {
    pub list: Vec<Vertex>,
    unique: HashMap<Vertex, u32>,
}

impl Vertices {
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

    fn clear(&mut self) {
        self.list.clear();
        self.unique.clear();
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
        let state = |state: u32| State { root: Link::to_state(state), accepts: state == ALL };
        let states = vec![state(NOTHING), state(ALL)];
        Draft { vertices: Vertices::default(), states, first: Link::to_state(NOTHING) }
    }

    /// A new state, whose diagram is not known yet.
    pub fn state(&mut self, accepts: bool) -> u32 {
        let new = self.states.len() as u32;
        self.states.push(State { root: Link::to_state(NOTHING), accepts });
        new
    }
}

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
        let Draft { vertices, states, first } = draft;
        let mut classes = Classes::of(&states);
        loop {
            self.spend((vertices.list.len() + states.len()) as u64)?;
            classes.map(&vertices.list);
            if !classes.refine(&states) {
                break;
            }
        }
        Ok(self.intern(classes.number(&states, first)))
    }
}

/// States in classes, and the diagrams between classes.
struct Classes {
    class: Vec<u32>,
    count: usize,
    /// The diagrams in which a class takes the place of its states.
    between: Vertices,
    mapped: Vec<Link>,
}

impl Classes {
    fn of(states: &[State]) -> Self {
        let class = states.iter().map(|state| u32::from(state.accepts)).collect();
        Classes { class, count: 2, between: Vertices::default(), mapped: Vec::new() }
    }

    /// A diagram with classes for states.
    fn at(&self, link: Link) -> Link {
        match link.state() {
            Some(state) => Link::to_state(self.class[state as usize]),
            None => self.mapped[link.0 as usize],
        }
    }

    fn map(&mut self, vertices: &[Vertex]) {
        self.between.clear();
        self.mapped.clear();
        for vertex in vertices {
            let next = vertex.next.map(|link| self.at(link));
            let link = self.between.test(vertex.column, next);
            self.mapped.push(link);
        }
    }

    /// Tells states apart whose diagrams lead to different classes; whether there were any.
    fn refine(&mut self, states: &[State]) -> bool {
        let mut known: HashMap<(u32, Link), u32> = HashMap::default();
        let mut class = Vec::with_capacity(states.len());
        for (at, state) in states.iter().enumerate() {
            let new = known.len() as u32;
            class.push(*known.entry((self.class[at], self.at(state.root))).or_insert(new));
        }
        let more = known.len() > self.count;
        // The diagrams are those of the old classes, and stay right if nothing has changed.
        if more {
            (self.class, self.count) = (class, known.len());
        }
        more
    }

    /// The automaton of the classes, numbered in the order of a traversal.
    fn number(&self, states: &[State], first: Link) -> Automaton {
        let mut member = vec![usize::MAX; self.count];
        for (at, &class) in self.class.iter().enumerate().rev() {
            member[class as usize] = at;
        }
        let mut walk = Walk {
            classes: self,
            names: vec![None; self.count],
            order: Vec::new(),
            places: vec![None; self.between.list.len()],
            vertices: Vec::new(),
        };
        walk.name(self.class[NOTHING as usize]);
        walk.name(self.class[ALL as usize]);
        let first = walk.copy(self.at(first));
        let mut numbered = Vec::new();
        while let Some(&class) = walk.order.get(numbered.len()) {
            let state = &states[member[class as usize]];
            let root = walk.copy(self.at(state.root));
            numbered.push(State { root, accepts: state.accepts });
        }
        Automaton { vertices: walk.vertices.into(), states: numbered.into(), first }
    }
}

/// A traversal of the diagrams between classes.
struct Walk<'c> {
    classes: &'c Classes,
    /// For each class its number, once it was met.
    names: Vec<Option<Link>>,
    order: Vec<u32>,
    /// For each vertex its copy, once there is one.
    places: Vec<Option<Link>>,
    vertices: Vec<Vertex>,
}

impl Walk<'_> {
    fn name(&mut self, class: u32) -> Link {
        *self.names[class as usize].get_or_insert_with(|| {
            self.order.push(class);
            Link::to_state(self.order.len() as u32 - 1)
        })
    }

    /// The copy of a diagram, if there is one already.
    fn place(&self, link: Link) -> Option<Link> {
        match link.state() {
            Some(class) => self.names[class as usize],
            None => self.places[link.0 as usize],
        }
    }

    /// The diagram with its final numbers.
    fn copy(&mut self, root: Link) -> Link {
        let mut stack = vec![root];
        while let Some(&link) = stack.last() {
            if self.place(link).is_some() {
                stack.pop();
                continue;
            }
            if let Some(class) = link.state() {
                self.name(class);
                continue;
            }
            let vertex = self.classes.between.list[link.0 as usize];
            let [Some(low), Some(high)] = vertex.next.map(|link| self.place(link)) else {
                // The successor along 0 is met first.
                stack.extend(vertex.next.iter().rev().filter(|&&link| self.place(link).is_none()));
                continue;
            };
            self.places[link.0 as usize] = Some(Link(self.vertices.len() as u32));
            self.vertices.push(Vertex { column: vertex.column, next: [low, high] });
        }
        self.place(root).expect("the root was copied")
    }
}
