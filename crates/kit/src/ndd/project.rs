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
//! leads to. The closure follows every combination of signs by itself.

use super::draft::Draft;
use super::{ALL, Column, Interrupted, Link, NOTHING, Ndd, Ndds, Vertex, first_test};
use rustc_hash::FxHashMap as HashMap;

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
        let mut next = 2;
        while let Some(members) = subsets.members.get(next) {
            let roots = members.iter().map(|&state| set.0.states[state as usize].root).collect();
            subsets.draft.states[next].root = subsets.follow(roots)?;
            next += 1;
        }
        self.finish(subsets.draft)
    }
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
            for (signs, state) in self.combinations(first) {
                let roots = self.members[state as usize].iter();
                let roots = roots.map(|&state| self.source.0.states[state as usize].root).collect();
                let again = self.follow_signs(roots, &signs)?;
                more = self.join([more, again])?;
            }
            longer = more != first;
            first = more;
        }
        Ok(first)
    }

    /// The combinations of signs, as far as the first digit tests them, and the states that they lead to.
    fn combinations(&self, first: Link) -> Vec<(Vec<(Column, usize)>, u32)> {
        let mut found = Vec::new();
        let mut work = vec![(first, Vec::new())];
        while let Some((link, signs)) = work.pop() {
            match link.state() {
                Some(NOTHING | ALL) => {}
                Some(state) => found.push((signs, state)),
                None => {
                    let vertex = self.draft.vertices.list[link.0 as usize];
                    for bit in [0, 1] {
                        let mut signs: Vec<(Column, usize)> = signs.clone();
                        signs.push((vertex.column, bit));
                        work.push((vertex.next[bit], signs));
                    }
                }
            }
        }
        found
    }

    /// The diagram that follows diagrams of the source as far as the digit agrees with some signs, and leads to nothing elsewhere.
    // Bounded depth: one call for each column that the set mentions.
    fn follow_signs(&mut self, mut links: Vec<Link>, signs: &[(Column, usize)]) -> Result<Link, Interrupted> {
        let Some((&(sign, bit), rest)) = signs.split_first() else {
            return self.follow(links);
        };
        self.store.spend(links.len() as u64)?;
        let column = self.advance(&mut links).filter(|&column| column < sign);
        let Some(column) = column else {
            let links = self.along(&links, sign, bit);
            let mut next = [Link::to_state(NOTHING); 2];
            next[bit] = self.follow_signs(links, rest)?;
            return Ok(self.draft.vertices.test(sign, next));
        };
        let low = self.along(&links, column, 0);
        let high = self.along(&links, column, 1);
        let next = [self.follow_signs(low, signs)?, self.follow_signs(high, signs)?];
        Ok(self.draft.vertices.test(column, next))
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
        let vertex = |link: Link| link.state().is_none().then(|| self.draft.vertices.list[link.0 as usize]);
        let tests = links.map(vertex);
        let (column, [low, high]) = first_test(links, tests);
        let next = [self.join(low)?, self.join(high)?];
        let link = self.draft.vertices.test(column, next);
        self.joined.insert(links, link);
        Ok(link)
    }
}
