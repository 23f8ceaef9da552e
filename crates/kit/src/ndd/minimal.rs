//! Room `kit/ndd`: the minimal automaton that accepts what another one accepts.
//!
//! # Idea
//!
//! States from which nothing is accepted are one state, and so are those from which everything is. Then states from which no
//! cycle is reached but at these two are *settled*, from the end backwards: such a state is known by whether it accepts and by its diagram,
//! whose leaves are settled, so it is compared once. The constants of constraints make long chains of them.
//!
//! What is left, the *core*, is told apart in rounds: at first by whether a state accepts, then by the classes to which its diagram leads. Two states stay
//! together exactly if they were together and have the same diagram. When a round tells no more states apart, the classes
//! are the states of the minimal automaton. A state of the core never accepts the same as a settled one: that would be decided after so many digits, and
//! along the cycle there are states that are not decided after any number of them.
//!
//! # Paper
//!
//! Moore's algorithm, on diagrams as in \[mona\]. # Departures: settled states come first. # Cost: the vertices, and those of the core times the
//! length of the longest word that is needed to tell two of its states apart.

use super::draft::{Draft, Vertices};
use super::{ALL, Automaton, Interrupted, Link, NOTHING, Ndds, State, Vertex};
use rustc_hash::FxHashMap as HashMap;

impl Ndds<'_> {
    /// The minimal automaton, its states in the order of a traversal.
    pub(super) fn minimal(&self, draft: &Draft) -> Result<Automaton, Interrupted> {
        let (vertices, states) = (&draft.vertices.list, &draft.states);
        self.spend((vertices.len() + states.len()) as u64)?;
        let mut classes = Classes::settled(vertices, states);
        let core = Core::of(&mut classes, states);
        while !core.states.is_empty() {
            self.spend((core.vertices.len() + core.states.len()) as u64)?;
            for &at in &core.vertices {
                classes.map(at, vertices[at as usize]);
            }
            if !classes.refine(states, &core) {
                break;
            }
        }
        Ok(classes.number(states, draft.first))
    }
}

/// Vertices, and behind them states, with the vertices and states that lead to each.
struct Graph {
    vertices: usize,
    list: Vec<u32>,
    /// For each node where its list ends; it begins where that of the node before ends.
    ends: Vec<u32>,
}

impl Graph {
    fn new(vertices: &[Vertex], states: &[State]) -> Self {
        let node = |link: Link| link.state().map_or(link.0 as usize, |state| vertices.len() + state as usize);
        let of_vertices =
            vertices.iter().enumerate().flat_map(|(at, vertex)| vertex.next.map(|link| (at, link)));
        let of_states = states.iter().enumerate().map(|(at, state)| (vertices.len() + at, state.root));
        let edges = || of_vertices.clone().chain(of_states.clone()).map(|(from, link)| (from, node(link)));
        let mut ends = vec![0; vertices.len() + states.len() + 1];
        edges().for_each(|(_, to)| ends[to + 1] += 1);
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        // Where the next one of each list goes: at last, where the list ends.
        let mut list = vec![0; ends[ends.len() - 1] as usize];
        for (from, to) in edges() {
            list[ends[to] as usize] = from as u32;
            ends[to] += 1;
        }
        Graph { vertices: vertices.len(), list, ends }
    }

    /// What leads to a node.
    fn before(&self, node: u32) -> &[u32] {
        let start = (node as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.list[start as usize..self.ends[node as usize] as usize]
    }

    /// For each state whether it leads to one of these, or is one.
    fn leading_to(&self, states: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut reached = vec![false; self.ends.len() - 1];
        let mut work: Vec<u32> = states.map(|state| (self.vertices + state) as u32).collect();
        work.iter().for_each(|&node| reached[node as usize] = true);
        while let Some(node) = work.pop() {
            for &before in self.before(node) {
                if !std::mem::replace(&mut reached[before as usize], true) {
                    work.push(before);
                }
            }
        }
        reached.split_off(self.vertices)
    }
}

/// States in classes, and the diagrams between classes.
struct Classes {
    class: Vec<u32>,
    count: usize,
    /// The diagrams in which a class takes the place of its states; some of earlier rounds are of no use any more.
    between: Vertices,
    mapped: Vec<Link>,
}

/// The class of a state, and the diagram of a vertex, that is not known yet.
const OPEN: u32 = u32::MAX;

impl Classes {
    /// The classes of settled states.
    fn settled(vertices: &[Vertex], states: &[State]) -> Self {
        let graph = Graph::new(vertices, states);
        let accepting = |value: bool| (0..states.len()).filter(move |&state| states[state].accepts == value);
        let (some, not_all) = (graph.leading_to(accepting(true)), graph.leading_to(accepting(false)));
        let (class, mapped) = (vec![OPEN; states.len()], vec![Link(OPEN); vertices.len()]);
        let mut classes = Classes { class, count: 0, between: Vertices::with_room(vertices.len()), mapped };
        let mut done: Vec<u32> = Vec::new();
        for state in 0..states.len() {
            if !some[state] || !not_all[state] {
                classes.class[state] = if some[state] { ALL } else { NOTHING };
                done.push((vertices.len() + state) as u32);
            }
        }
        let mut known: HashMap<(bool, Link), u32> = HashMap::default();
        // For each vertex and state how many of its successors are not settled.
        let mut open = vec![2; vertices.len()];
        open.resize(vertices.len() + states.len(), 1);
        while let Some(node) = done.pop() {
            for &before in graph.before(node) {
                open[before as usize] -= 1;
                if open[before as usize] > 0 {
                    continue;
                }
                if let Some(&vertex) = vertices.get(before as usize) {
                    classes.map(before, vertex);
                    done.push(before);
                    continue;
                }
                let state = before as usize - vertices.len();
                if classes.class[state] == OPEN {
                    let (new, key) =
                        (2 + known.len() as u32, (states[state].accepts, classes.at(states[state].root)));
                    classes.class[state] = *known.entry(key).or_insert(new);
                    done.push(before);
                }
            }
        }
        classes.count = 2 + known.len();
        classes
    }

    /// A diagram with classes for states.
    fn at(&self, link: Link) -> Link {
        match link.state() {
            Some(state) => Link::to_state(self.class[state as usize]),
            None => self.mapped[link.0 as usize],
        }
    }

    /// Puts classes for states below a vertex whose successors have them.
    fn map(&mut self, at: u32, vertex: Vertex) {
        let next = vertex.next.map(|link| self.at(link));
        self.mapped[at as usize] = self.between.test(vertex.column, next);
    }

    /// Tells states of the core apart whose diagrams lead to different classes; whether there were any.
    fn refine(&mut self, states: &[State], core: &Core) -> bool {
        let mut known: HashMap<(u32, Link), u32> = HashMap::default();
        let mut class = Vec::with_capacity(core.states.len());
        for &at in &core.states {
            let new = (core.settled + known.len()) as u32;
            let key = (self.class[at as usize], self.at(states[at as usize].root));
            class.push(*known.entry(key).or_insert(new));
        }
        let more = core.settled + known.len() > self.count;
        // The diagrams are those of the old classes, and stay right if nothing has changed.
        if more {
            core.states.iter().zip(class).for_each(|(&at, class)| self.class[at as usize] = class);
            self.count = core.settled + known.len();
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

/// What is not settled.
struct Core {
    vertices: Vec<u32>,
    states: Vec<u32>,
    /// How many classes there are of what is settled.
    settled: usize,
}

impl Core {
    /// The core, whose states get classes by whether they accept.
    fn of(classes: &mut Classes, states: &[State]) -> Self {
        let open = |(at, class): (u32, u32)| (class == OPEN).then_some(at);
        let vertices = (0..).zip(classes.mapped.iter().map(|link| link.0)).filter_map(open).collect();
        let core = Core {
            vertices,
            states: (0..).zip(classes.class.iter().copied()).filter_map(open).collect(),
            settled: classes.count,
        };
        let mut known: [Option<u32>; 2] = [None; 2];
        for &at in &core.states {
            let class = known[usize::from(states[at as usize].accepts)].get_or_insert_with(|| {
                classes.count += 1;
                classes.count as u32 - 1
            });
            classes.class[at as usize] = *class;
        }
        core
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
