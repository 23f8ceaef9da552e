//! Room `engine/explicit`: fair cycles in what a search has found so far. The idea is in [`super::cycles`].

use super::cycles::Link;
use super::store::{NO_ROW, Store};
use postbop_ir::LocId;
use postbop_kit::{bits, scc};
use std::collections::VecDeque;

/// A cycle that visits a location that is asked about.
pub struct Lasso {
    /// The transitions, the first from a context and the last back to it.
    pub links: Vec<Link>,
    /// If no context on it is at such a location: the last transition is a return, and the callee passed through one.
    pub passing: Option<Passing>,
}

/// For each row whether its activation can have passed through one of the locations, and how.
pub struct Passing {
    why: Vec<Why>,
}

/// How a row comes to be after a location that is asked about.
#[derive(Clone, Copy, Debug)]
pub enum Why {
    /// It does not.
    Not,
    /// It is at such a location.
    Here,
    /// The row before was after one already.
    Before(Link),
    /// By a return from a callee that passed through one.
    Inside(Link),
}

impl Passing {
    /// How a row comes to be after one of the locations.
    pub fn why(&self, row: u32) -> Why {
        self.why[row as usize]
    }
}

/// Lists of numbers of links, one for each row.
struct Lists {
    starts: Vec<u32>,
    links: Vec<u32>,
}

impl Lists {
    /// The links by the row that `key` names; [`NO_ROW`] is left out.
    fn new(rows: usize, links: &[Link], key: impl Fn(&Link) -> u32) -> Self {
        let mut starts = vec![0u32; rows + 1];
        for link in links.iter().map(&key).filter(|&row| row != NO_ROW) {
            starts[link as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; starts[rows] as usize];
        for (number, link) in links.iter().enumerate() {
            let row = key(link);
            if row != NO_ROW {
                sorted[next[row as usize] as usize] = number as u32;
                next[row as usize] += 1;
            }
        }
        Lists { starts, links: sorted }
    }

    fn of(&self, row: usize) -> &[u32] {
        &self.links[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

/// Rows and transitions, and which component each row is in.
pub struct Graph<'s> {
    store: &'s Store,
    links: Vec<Link>,
    /// The links from this number on enter callees.
    enters: usize,
    after: Lists,
    by_exit: Lists,
    component: Vec<u32>,
}

impl<'s> Graph<'s> {
    /// The graph of what was found so far. The links from number `enters` on enter callees.
    pub fn new(store: &'s Store, links: Vec<Link>, enters: usize) -> Self {
        let rows = store.len();
        let after = Lists::new(rows, &links, |link| link.from);
        let by_exit = Lists::new(rows, &links, |link| link.exit);
        let to: Vec<u32> = after.links.iter().map(|&link| links[link as usize].to).collect();
        let successors = |row: usize| &to[after.starts[row] as usize..after.starts[row + 1] as usize];
        let mut component = vec![0; rows];
        for (number, members) in scc::components(rows, successors).iter().enumerate() {
            members.iter().for_each(|&row| component[row as usize] = number as u32);
        }
        Graph { store, links, enters, after, by_exit, component }
    }

    /// A cycle that visits one of the locations, if there is one.
    pub fn lasso(&self, locs: &[LocId]) -> Option<Lasso> {
        let most = locs.iter().map(|loc| loc.0 as usize + 1).max()?;
        let mut marked = vec![0; bits::words(most)];
        for loc in locs {
            bits::insert(&mut marked, loc.0 as usize);
        }
        let is_marked = |row: u32| {
            let loc = self.store.context_loc(row).map_or(most, |loc| loc.0 as usize);
            loc < most && bits::contains(&marked, loc)
        };
        let stays = |link: &&Link| self.component[link.from as usize] == self.component[link.to as usize];
        if let Some(link) = self.links.iter().filter(stays).find(|link| is_marked(link.to)) {
            let links = self.way(link.to, link.to);
            return Some(Lasso { links, passing: None });
        }
        let passing = self.passing(is_marked);
        let passes = |link: &&Link| link.exit != NO_ROW && !matches!(passing.why(link.exit), Why::Not);
        let link = *self.links.iter().filter(stays).find(passes)?;
        // From a suspension to the context behind the call.
        let mut links = self.way(link.to, link.from);
        links.push(link);
        Some(Lasso { links, passing: Some(passing) })
    }

    /// A shortest way of at least one transition within a component.
    fn way(&self, from: u32, to: u32) -> Vec<Link> {
        let mut by: Vec<u32> = vec![NO_ROW; self.store.len()];
        let mut queue = VecDeque::from([from]);
        'search: while let Some(row) = queue.pop_front() {
            for &number in self.after.of(row as usize) {
                let next = self.links[number as usize].to;
                if by[next as usize] == NO_ROW
                    && self.component[next as usize] == self.component[from as usize]
                {
                    by[next as usize] = number;
                    if next == to {
                        break 'search;
                    }
                    queue.push_back(next);
                }
            }
        }
        let mut links = Vec::new();
        let mut row = to;
        while row != from || links.is_empty() {
            let link = self.links[by[row as usize] as usize];
            links.push(link);
            row = link.from;
        }
        links.reverse();
        links
    }

    /// Which rows come after a marked context of the same activation, completed calls included.
    fn passing(&self, is_marked: impl Fn(u32) -> bool) -> Passing {
        let mut why = vec![Why::Not; self.store.len()];
        let mut work: Vec<u32> = (0..self.store.len() as u32).filter(|&row| is_marked(row)).collect();
        work.iter().for_each(|&row| why[row as usize] = Why::Here);
        while let Some(row) = work.pop() {
            let before =
                self.after.of(row as usize).iter().filter(|&&number| (number as usize) < self.enters);
            let before = before.map(|&number| Why::Before(self.links[number as usize]));
            let inside = self.by_exit.of(row as usize).iter();
            let inside = inside.map(|&number| Why::Inside(self.links[number as usize]));
            for reason in before.chain(inside) {
                let (Why::Before(link) | Why::Inside(link)) = reason else { continue };
                if matches!(why[link.to as usize], Why::Not) {
                    why[link.to as usize] = reason;
                    work.push(link.to);
                }
            }
        }
        Passing { why }
    }
}
