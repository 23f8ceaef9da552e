//! Room `engine/reduce`: a program while it is being redrawn.
//!
//! An *arc* is an edge that may be rewritten, moved, joined with others, or dropped. The arcs that leave and those
//! that enter a location are chained, so that a whole chain can be handed from one location to another at once; an
//! arc that was dropped stays in its chains and is skipped. The action of an arc is that of an edge as written, or
//! one that was made here. The run of edges that an arc stands for is a tree over edges as written, since arcs that
//! were joined with one and the same arc share a part of their runs.

use super::action::{blocks, is_skip};
use super::edge_map::{EdgeMap, SourceEdge};
use super::loc_map::LocMap;
use postbop_ir::{
    Action, Builder, Edge, EdgeId, Id, Loc, LocId, Proc, ProcId, Program, Query, Span, Task, Var,
};
use smallvec::SmallVec;

/// The end of a chain.
pub const NIL: u32 = u32::MAX;

/// An edge that may be rewritten.
#[derive(Clone, Copy)]
pub struct Arc {
    /// Where it starts.
    pub from: LocId,
    /// Where it leads.
    pub to: LocId,
    /// Its action: that of the edge of this number, or beyond the last edge, one that was made here.
    action: u32,
    /// The run it stands for: the edge of this number, or beyond the last edge, two runs after one another.
    run: u32,
    next_out: u32,
    next_in: u32,
    /// Whether it is still there, or was dropped.
    pub present: bool,
}

/// The arcs at one end of a location.
#[derive(Clone, Copy)]
pub struct Chain {
    head: u32,
    tail: u32,
    /// How many of them are present.
    pub present: u32,
}

/// An action that was made here.
pub struct Made {
    /// The action.
    pub action: Action,
    /// For each of its choices, which one of the run it is.
    pub origins: Box<[u32]>,
    /// How many choices the run makes.
    pub choices: u32,
}

/// A program being redrawn.
pub struct Draft<'a> {
    /// The task as it was asked.
    pub task: &'a Task<'a>,
    /// The edges, at first those of the program, under the same numbers.
    pub arcs: Vec<Arc>,
    leaving: Vec<Chain>,
    entering: Vec<Chain>,
    made: Vec<Made>,
    /// For each made action how many arcs do it.
    users: Vec<u32>,
    /// The edges as written.
    sources: Vec<SourceEdge>,
    joined: Vec<(u32, u32)>,
    /// Locations that must stay: entries, exits, targets and guards.
    pub fixed: Vec<bool>,
    /// Locations to which control can get, at the first look and at the last one.
    pub reachable: [Option<Vec<bool>>; 2],
    /// For each query whether the first look left every way to its guard.
    pub whole: Vec<bool>,
    /// Locations from which control can get to a target, at the first look and at the last one.
    pub relevant: [Option<Vec<bool>>; 2],
}

impl<'a> Draft<'a> {
    /// The program as written.
    pub fn new(task: &'a Task<'a>) -> Self {
        let program = task.program;
        let mut fixed = vec![false; program.locs().len()];
        for proc in program.procs().iter() {
            fixed[proc.entry.index()] = true;
            fixed[proc.exit.index()] = true;
        }
        let asked = task.queries.iter().flat_map(|query| query.locs().iter().chain(&query.guard));
        asked.for_each(|loc| fixed[loc.index()] = true);
        let arc = |(id, edge): (EdgeId, &Edge)| Arc {
            from: edge.from,
            to: edge.to,
            action: id.0,
            run: id.0,
            next_out: NIL,
            next_in: NIL,
            present: true,
        };
        Draft {
            task,
            arcs: program.edges().pairs().map(arc).collect(),
            leaving: Vec::new(),
            entering: Vec::new(),
            made: Vec::with_capacity(program.edges().len() / 3),
            users: Vec::new(),
            sources: program.edges().pairs().map(|(id, edge)| SourceEdge::new(id, edge)).collect(),
            joined: Vec::with_capacity(program.edges().len() / 2),
            fixed,
            reachable: [None, None],
            whole: vec![false; task.queries.len()],
            relevant: [None, None],
        }
    }

    /// The action of an arc.
    pub fn action(&self, arc: u32) -> &Action {
        let action = self.arcs[arc as usize].action as usize;
        match action.checked_sub(self.task.program.edges().len()) {
            None => &self.task.program.edges()[EdgeId(action as u32)].action,
            Some(made) => &self.made[made].action,
        }
    }

    /// For each choice of an arc's action, which one of its run it is; none if they are the same.
    pub fn origins(&self, arc: u32) -> Option<&[u32]> {
        let made = (self.arcs[arc as usize].action as usize).checked_sub(self.task.program.edges().len())?;
        Some(&self.made[made].origins)
    }

    /// How many choices the run of an arc makes.
    pub fn choices(&self, arc: u32) -> u32 {
        match (self.arcs[arc as usize].action as usize).checked_sub(self.task.program.edges().len()) {
            None => self.sources[self.arcs[arc as usize].action as usize].choices,
            Some(made) => self.made[made].choices,
        }
    }

    /// The procedure that an edge as written calls. Looking at the edge itself takes longer: it lies far from its neighbours.
    pub fn callee(&self, edge: usize) -> Option<ProcId> {
        self.sources[edge].calls
    }

    /// Whether no run gets past an arc.
    pub fn blocks(&self, arc: u32) -> bool {
        let action = self.arcs[arc as usize].action as usize;
        match action.checked_sub(self.task.program.edges().len()) {
            None => self.sources[action].blocks,
            Some(made) => blocks(&self.made[made].action),
        }
    }

    /// Whether an arc does nothing.
    pub fn skips(&self, arc: u32) -> bool {
        let action = self.arcs[arc as usize].action as usize;
        match action.checked_sub(self.task.program.edges().len()) {
            None => self.sources[action].skips,
            // The choices of a run that does nothing would have to be counted.
            Some(made) => self.made[made].choices == 0 && is_skip(&self.made[made].action),
        }
    }

    /// Lets an arc do something else.
    pub fn rewrite(&mut self, arc: u32, made: Made) {
        let action = self.task.program.edges().len() + self.made.len();
        self.made.push(made);
        self.users.push(1);
        self.arcs[arc as usize].action = action as u32;
    }

    /// Lets an arc do what the first of two does and then the second, one of which does nothing.
    pub fn adopt(&mut self, arc: u32, first: u32, second: u32) {
        let busy = if self.skips(first) { second } else { first };
        let action = self.arcs[busy as usize].action;
        self.arcs[arc as usize].action = action;
        if let Some(users) =
            self.users.get_mut((action as usize).wrapping_sub(self.task.program.edges().len()))
        {
            *users += 1;
        }
    }

    /// Chains the arcs that are there.
    pub fn chain(&mut self) {
        self.leaving = vec![Chain::EMPTY; self.task.program.locs().len()];
        self.entering = vec![Chain::EMPTY; self.task.program.locs().len()];
        for at in 0..self.arcs.len() {
            let Arc { from, to, present: true, .. } = self.arcs[at] else { continue };
            let last = self.leaving[from.index()].append(at as u32);
            if let Some(last) = self.arcs.get_mut(last as usize) {
                last.next_out = at as u32;
            }
            let last = self.entering[to.index()].append(at as u32);
            if let Some(last) = self.arcs.get_mut(last as usize) {
                last.next_in = at as u32;
            }
        }
    }

    /// How often two runs were put after one another.
    pub fn joints(&self) -> usize {
        self.joined.len()
    }

    /// How many arcs enter and leave a location.
    pub fn degrees(&self, loc: LocId) -> (u32, u32) {
        (self.entering[loc.index()].present, self.leaving[loc.index()].present)
    }

    /// The arcs that leave a location, in order.
    pub fn leaving(&self, loc: LocId) -> impl Iterator<Item = u32> + '_ {
        self.follow(self.leaving[loc.index()].head, |arc| arc.next_out)
    }

    /// The arcs that enter a location.
    pub fn entering(&self, loc: LocId) -> impl Iterator<Item = u32> + '_ {
        self.follow(self.entering[loc.index()].head, |arc| arc.next_in)
    }

    fn follow<'s>(&'s self, head: u32, next: impl Fn(&Arc) -> u32 + 's) -> impl Iterator<Item = u32> + 's {
        let known = |at: u32| (at != NIL).then_some(at);
        std::iter::successors(known(head), move |&at| known(next(&self.arcs[at as usize])))
            .filter(|&at| self.arcs[at as usize].present)
    }

    /// Drops an arc.
    pub fn drop(&mut self, at: u32) {
        let arc = &mut self.arcs[at as usize];
        arc.present = false;
        self.leaving[arc.from.index()].present -= 1;
        self.entering[arc.to.index()].present -= 1;
    }

    /// The arcs that leave `loc` leave from where `arc`, the only one that enters it, starts. They come in its place.
    pub fn pull(&mut self, loc: LocId, arc: u32) {
        let from = self.arcs[arc as usize].from;
        let run = self.arcs[arc as usize].run;
        let moved: SmallVec<[u32; 8]> = self.leaving(loc).collect();
        for &at in &moved {
            self.join(at, run, self.arcs[at as usize].run);
            self.arcs[at as usize].from = from;
        }
        // Arcs that were dropped stay behind, or they would be passed again at every location to come.
        moved.windows(2).for_each(|pair| self.arcs[pair[0] as usize].next_out = pair[1]);
        self.leaving[loc.index()] = Chain::EMPTY;
        let chain = Chain::of(&moved);
        let after = std::mem::replace(&mut self.arcs[arc as usize].next_out, chain.head);
        self.arcs[chain.tail as usize].next_out = after;
        let here = &mut self.leaving[from.index()];
        here.present += chain.present;
        if after == NIL {
            here.tail = chain.tail;
        }
        self.drop(arc);
    }

    /// The arcs that enter `loc` lead to where `arc`, the only one that leaves it, leads.
    pub fn push(&mut self, loc: LocId, arc: u32) {
        let to = self.arcs[arc as usize].to;
        let run = self.arcs[arc as usize].run;
        let moved: SmallVec<[u32; 8]> = self.entering(loc).collect();
        for &at in &moved {
            self.join(at, self.arcs[at as usize].run, run);
            self.arcs[at as usize].to = to;
        }
        moved.windows(2).for_each(|pair| self.arcs[pair[0] as usize].next_in = pair[1]);
        self.entering[loc.index()] = Chain::EMPTY;
        let chain = Chain::of(&moved);
        let after = std::mem::replace(&mut self.arcs[arc as usize].next_in, chain.head);
        self.arcs[chain.tail as usize].next_in = after;
        let here = &mut self.entering[to.index()];
        here.present += chain.present;
        if after == NIL {
            here.tail = chain.tail;
        }
        self.drop(arc);
    }

    fn join(&mut self, arc: u32, first: u32, second: u32) {
        let run = self.task.program.edges().len() + self.joined.len();
        self.joined.push((first, second));
        self.arcs[arc as usize].run = run as u32;
    }

    /// The program as drawn, its targets, and the way back.
    pub fn finish(mut self) -> (Program, Vec<Query>, EdgeMap, LocMap) {
        let program = self.task.program;
        let mut kept = std::mem::take(&mut self.fixed);
        let mut count = 0;
        for arc in self.arcs.iter().filter(|arc| arc.present) {
            kept[arc.from.index()] = true;
            kept[arc.to.index()] = true;
            count += 1;
        }
        let mut builder = Builder::with_room(kept.iter().filter(|kept| **kept).count(), count);
        let mut places = vec![LocId(NIL); program.locs().len()];
        for (id, &Loc { proc, span, .. }) in program.locs().pairs() {
            if kept[id.index()] {
                places[id.index()] = builder.loc(proc, span);
            }
        }
        builder.set_control(program.control().to_vec());
        for var in program.vars().iter() {
            builder.push_var(Var { name: String::new(), ty: var.ty, scope: var.scope });
        }
        for proc in program.procs().iter() {
            let (entry, exit) = (places[proc.entry.index()], places[proc.exit.index()]);
            let (locals, results) = (proc.locals.clone(), proc.results.clone());
            let (params, span) = (proc.params, proc.span);
            builder.push_proc(Proc { name: String::new(), locals, params, results, entry, exit, span });
        }
        let moved = |locs: &[LocId]| locs.iter().map(|loc| places[loc.index()]).collect();
        let queries = self.task.queries.iter().enumerate().map(|(at, query)| Query {
            guard: if self.is_decided(at, query) { Vec::new() } else { moved(&query.guard) },
            ..Query::reach(&query.name, moved(query.locs()))
        });
        let queries = queries.collect();
        let [reachable, relevant] = [&mut self.reachable, &mut self.relevant].map(std::mem::take);
        let edge_map = self.draw(&mut builder, &places);
        let reduced = builder.finish(program.main());
        (reduced, queries, edge_map, LocMap { places, reachable, relevant })
    }

    /// Whether control can get to a guard from which no target is left to be reached: then the ways to it were dropped, and
    /// say nothing about runs.
    fn is_decided(&self, at: usize, query: &Query) -> bool {
        let relevant = |loc: LocId| self.relevant[1].as_ref().is_none_or(|relevant| relevant[loc.index()]);
        query.guard.iter().any(|&loc| self.is_reachable(at, loc) && !relevant(loc))
    }

    /// Whether control can get to a location of the guard of a query.
    fn is_reachable(&self, at: usize, loc: LocId) -> bool {
        let [first, last] = &self.reachable;
        let known = if self.whole[at] { last } else { first };
        known.as_ref().is_none_or(|known| known[loc.index()])
    }

    /// For each query whether it has a guard to which control cannot get.
    pub fn unreachable(&self) -> Vec<bool> {
        let queries = self.task.queries.iter().enumerate();
        let dead = |(at, query): (usize, &Query)| {
            !query.guard.is_empty() && !query.guard.iter().any(|&loc| self.is_reachable(at, loc))
        };
        queries.map(dead).collect()
    }

    /// The action of an arc, asked for the last time.
    fn take(&mut self, arc: u32) -> Action {
        let action = self.arcs[arc as usize].action as usize;
        match action.checked_sub(self.task.program.edges().len()) {
            // Arcs that were dropped may have done it too, so this is a cautious count.
            Some(made) if self.users[made] == 1 => {
                std::mem::replace(&mut self.made[made].action, Action::Havoc(Vec::new()))
            }
            _ => self.action(arc).clone(),
        }
    }

    /// Draws the arcs, location by location, and notes their runs.
    fn draw(mut self, builder: &mut Builder, places: &[LocId]) -> EdgeMap {
        let program = self.task.program;
        let mut edge_map = EdgeMap::new(std::mem::take(&mut self.sources), std::mem::take(&mut self.joined));
        for loc in program.locs().ids() {
            let mut next = self.leaving[loc.index()].head;
            while let Some(&arc) = self.arcs.get(next as usize) {
                let at = std::mem::replace(&mut next, arc.next_out);
                if !arc.present {
                    continue;
                }
                edge_map.edge(arc.run, self.origins(at).filter(|_| self.choices(at) > 0));
                let action = self.take(at);
                builder.edge(places[arc.from.index()], places[arc.to.index()], action, Span::default());
            }
        }
        edge_map
    }
}

impl Chain {
    const EMPTY: Chain = Chain { head: NIL, tail: NIL, present: 0 };

    /// The chain of these arcs, of which there is one at least, and all are there.
    fn of(arcs: &[u32]) -> Self {
        Chain { head: arcs[0], tail: arcs[arcs.len() - 1], present: arcs.len() as u32 }
    }

    /// Appends an arc, and says which one was the last before.
    fn append(&mut self, arc: u32) -> u32 {
        self.present += 1;
        if self.head == NIL {
            self.head = arc;
        }
        std::mem::replace(&mut self.tail, arc)
    }
}
