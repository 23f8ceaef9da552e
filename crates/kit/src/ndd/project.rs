//! Room `kit/ndd`: projection, which forgets columns.
//!
//! # Idea
//!
//! Where a forgotten column is tested, both answers are followed; so a word leads to a set of states, and the sets are the
//! states of a deterministic automaton.
//!
//! Numbers can be written with any number of copies of their first digit. A vector whose
//! other numbers are short may need a long one in a forgotten column, so the word that spells out the short ones must be
//! accepted as well: after the first digit d stand all states that one or more copies of d lead to.
//!
//! # Paper
//!
//! \[wolper-boigelot\] on projection and the closure of signs. # Cost: exponential at worst, in the states that one word
//! leads to. The closure costs, for each state after the first digit, the part of the first diagram that leads
//! there, times the diagram of that state.

use super::draft::Draft;
use super::{ALL, Column, Interrupted, Link, NOTHING, Ndd, Ndds, Vertex, first_test};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

impl Ndds<'_> {
    /// The vectors that have a place in the set once the numbers in some columns are changed.
    pub fn project(&self, set: &Ndd, forgets: impl Fn(Column) -> bool) -> Result<Ndd, Interrupted> {
        if !set.0.vertices.iter().any(|vertex| forgets(vertex.column)) {
            return Ok(set.clone());
        }
        let mut subsets = Subsets {
            source: set,
            forgets: &forgets,
            store: self,
            draft: Draft::new(),
            names: HashMap::default(),
            members: vec![vec![NOTHING], vec![ALL]],
            done: HashMap::default(),
            joined: HashMap::default(),
        };
        let first = subsets.follow(vec![set.0.first])?;
        subsets.draft.first = subsets.close(first)?;
        subsets.explore()?;
        self.finish(subsets.draft)
    }
}

/// A state after the first digit.
struct Leaf {
    state: u32,
    /// The vertices of the first diagram that lead to it.
    leading: HashSet<Link>,
}

struct Subsets<'s, 'a> {
    source: &'s Ndd,
    forgets: &'s dyn Fn(Column) -> bool,
    store: &'s Ndds<'a>,
    draft: Draft,
    /// Sets of states of the source, by their number.
    names: HashMap<Vec<u32>, u32>,
    members: Vec<Vec<u32>>,
    done: HashMap<Vec<Link>, Link>,
    joined: HashMap<[Link; 2], Link>,
}

impl Subsets<'_, '_> {
    fn vertex(&self, link: Link) -> Option<Vertex> {
        link.state().is_none().then(|| self.source.0.vertices[link.0 as usize])
    }

    /// The state of a set of states of the source.
    fn state(&mut self, mut states: Vec<u32>) -> Link {
        states.sort_unstable();
        states.dedup();
        states.retain(|&state| state != NOTHING);
        match states[..] {
            [] => return Link::to_state(NOTHING),
            // From ALL on, nothing else matters.
            [ALL, ..] => return Link::to_state(ALL),
            _ => {}
        }
        if let Some(&known) = self.names.get(&states) {
            return Link::to_state(known);
        }
        let accepts = states.iter().any(|&state| self.source.0.states[state as usize].accepts);
        let new = self.draft.state(accepts);
        self.names.insert(states.clone(), new);
        self.members.push(states);
        Link::to_state(new)
    }

    /// The first column that several diagrams of the source test and that is kept. Before it, both answers of forgotten columns
    /// are followed.
    fn advance(&self, links: &mut Vec<Link>) -> Option<Column> {
        loop {
            links.sort_unstable();
            links.dedup();
            let column =
                links.iter().filter_map(|&link| self.vertex(link)).map(|vertex| vertex.column).min()?;
            if !(self.forgets)(column) {
                return Some(column);
            }
            *links = [self.along(links, column, 0), self.along(links, column, 1)].concat();
        }
    }

    /// The diagrams that one answer to a test leads to.
    fn along(&self, links: &[Link], column: Column, bit: usize) -> Vec<Link> {
        let follow = |&link: &Link| match self.vertex(link) {
            Some(vertex) if vertex.column == column => vertex.next[bit],
            _ => link,
        };
        links.iter().map(follow).collect()
    }

    /// The diagram that follows several diagrams of the source at once, whatever the forgotten columns are.
    // Bounded depth: one call for each column that the set mentions.
    fn follow(&mut self, mut links: Vec<Link>) -> Result<Link, Interrupted> {
        let Some(column) = self.advance(&mut links) else {
            return Ok(self.state(links.iter().filter_map(|link| link.state()).collect()));
        };
        if let Some(&known) = self.done.get(&links) {
            return Ok(known);
        }
        self.store.spend(links.len() as u64)?;
        let low = self.along(&links, column, 0);
        let high = self.along(&links, column, 1);
        let next = [self.follow(low)?, self.follow(high)?];
        let link = self.draft.vertices.test(column, next);
        self.done.insert(links, link);
        Ok(link)
    }

    /// Adds to the states after a first digit those after several copies of it.
    fn close(&mut self, mut first: Link) -> Result<Link, Interrupted> {
        // Bits are tested in the first digit alone; only a number can need a longer word.
        let states = &self.source.0.states[2..];
        let mut work: Vec<Link> = states.iter().map(|state| state.root).collect();
        let mut seen = vec![false; self.source.0.vertices.len()];
        let mut longer = false;
        while let Some(link) = work.pop() {
            if let Some(vertex) = self.vertex(link)
                && !std::mem::replace(&mut seen[link.0 as usize], true)
            {
                longer |= (self.forgets)(vertex.column);
                work.extend(vertex.next);
            }
        }
        while longer {
            let mut more = first;
            for leaf in self.leaves(first) {
                let again = self.digit(leaf.state)?;
                let again = self.masked([first, again], &leaf, &mut HashMap::default())?;
                more = self.join([more, again])?;
            }
            longer = more != first;
            first = more;
        }
        Ok(first)
    }

    /// The diagram that reads the next digit after a state.
    fn digit(&mut self, state: u32) -> Result<Link, Interrupted> {
        let members = self.members[state as usize].iter();
        self.follow(members.map(|&state| self.source.0.states[state as usize].root).collect())
    }

    /// Gives a diagram to every state that can be met. Those that the closure has replaced by larger sets cannot.
    fn explore(&mut self) -> Result<(), Interrupted> {
        let mut met: HashSet<Link> = HashSet::default();
        let mut work = vec![self.draft.first];
        while let Some(link) = work.pop() {
            match link.state() {
                _ if !met.insert(link) => {}
                Some(NOTHING | ALL) => {}
                Some(state) => {
                    let root = self.digit(state)?;
                    self.draft.states[state as usize].root = root;
                    work.push(root);
                }
                None => work.extend(self.draft.vertices.list[link.0 as usize].next),
            }
        }
        Ok(())
    }

    /// The states after the first digit, but for those that decide nothing, in order.
    fn leaves(&self, first: Link) -> Vec<Leaf> {
        let mut found: Vec<u32> = Vec::new();
        // For each link that was met those that lead to it.
        let mut before: HashMap<Link, Vec<Link>> = HashMap::from_iter([(first, Vec::new())]);
        let mut work = vec![first];
        while let Some(link) = work.pop() {
            match link.state() {
                Some(NOTHING | ALL) => {}
                Some(state) => found.push(state),
                None => {
                    for next in self.draft.vertices.list[link.0 as usize].next {
                        let list = before.entry(next).or_default();
                        if list.is_empty() {
                            work.push(next);
                        }
                        list.push(link);
                    }
                }
            }
        }
        found.sort_unstable();
        let leaf = |state: u32| {
            let mut leading: HashSet<Link> = HashSet::default();
            let mut work = vec![Link::to_state(state)];
            while let Some(link) = work.pop() {
                work.extend(before[&link].iter().filter(|&&link| leading.insert(link)));
            }
            Leaf { state, leading }
        };
        found.into_iter().map(leaf).collect()
    }

    /// The second diagram where the first leads to a leaf; elsewhere it leads to nothing.
    // Bounded depth: one call for each column that the set mentions.
    fn masked(
        &mut self,
        links: [Link; 2],
        leaf: &Leaf,
        done: &mut HashMap<[Link; 2], Link>,
    ) -> Result<Link, Interrupted> {
        let [first, then] = links;
        if first == Link::to_state(leaf.state) {
            return Ok(then);
        }
        if !leaf.leading.contains(&first) {
            return Ok(Link::to_state(NOTHING));
        }
        if let Some(&known) = done.get(&links) {
            return Ok(known);
        }
        self.store.spend(1)?;
        let (column, [low, high]) = first_test(links, links.map(|link| self.drafted(link)));
        let next = [self.masked(low, leaf, done)?, self.masked(high, leaf, done)?];
        let link = self.draft.vertices.test(column, next);
        done.insert(links, link);
        Ok(link)
    }

    /// The vertex of a link of the draft.
    fn drafted(&self, link: Link) -> Option<Vertex> {
        link.state().is_none().then(|| self.draft.vertices.list[link.0 as usize])
    }

    /// The diagram that leads to the states of two diagrams.
    // Bounded depth: one call for each column that the set mentions.
    fn join(&mut self, mut links: [Link; 2]) -> Result<Link, Interrupted> {
        links.sort_unstable();
        if links[0] == links[1] {
            return Ok(links[0]);
        }
        if let [Some(a), Some(b)] = links.map(Link::state) {
            let all = [a, b].iter().flat_map(|&state| self.members[state as usize].clone()).collect();
            return Ok(self.state(all));
        }
        if let Some(&known) = self.joined.get(&links) {
            return Ok(known);
        }
        self.store.spend(1)?;
        let (column, [low, high]) = first_test(links, links.map(|link| self.drafted(link)));
        let next = [self.join(low)?, self.join(high)?];
        let link = self.draft.vertices.test(column, next);
        self.joined.insert(links, link);
        Ok(link)
    }
}
