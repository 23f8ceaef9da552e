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
            names: HashMap::default(),
            order: Vec::new(),
            places: HashMap::default(),
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
    names: HashMap<u32, u32>,
    order: Vec<u32>,
    places: HashMap<Link, Link>,
    vertices: Vec<Vertex>,
}

impl Walk<'_> {
    fn name(&mut self, class: u32) -> Link {
        let new = self.order.len() as u32;
        let name = *self.names.entry(class).or_insert(new);
        if name == new {
            self.order.push(class);
        }
        Link::to_state(name)
    }

    /// The diagram with its final numbers.
    fn copy(&mut self, root: Link) -> Link {
        let mut stack = vec![root];
        while let Some(&link) = stack.last() {
            if self.places.contains_key(&link) {
                stack.pop();
                continue;
            }
            let copied = match link.state() {
                Some(class) => self.name(class),
                None => {
                    let vertex = self.classes.between.list[link.0 as usize];
                    let next = vertex.next.map(|link| self.places.get(&link).copied());
                    let [Some(low), Some(high)] = next else {
                        // The successor along 0 is met first.
                        stack.extend(vertex.next.iter().rev().filter(|link| !self.places.contains_key(link)));
                        continue;
                    };
                    self.vertices.push(Vertex { column: vertex.column, next: [low, high] });
                    Link(self.vertices.len() as u32 - 1)
                }
            };
            self.places.insert(link, copied);
            stack.pop();
        }
        self.places[&root]
    }
}
