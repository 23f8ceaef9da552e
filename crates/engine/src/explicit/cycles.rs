//! Room `engine/explicit`: the search for runs that visit locations again and again.
//!
//! # Idea
//!
//! The search is depth first, as for any run, and every transition that it finds is kept: from a context to a context, from a
//! context to the suspension of its call, from there to the first context of the callee, and by a return to the context
//! after the call. A run goes on for ever exactly if it follows a cycle of this graph: a cycle that enters a callee leaves
//! an activation on the stack in every round. The cycle is *fair* if one of its contexts is at a location that is asked about, or
//! if one of its returns comes back from a callee that passed through one. Fair cycles are sought in the strongly connected
//! components of the graph ([`super::fair`]).
//!
//! # Paper
//!
//! \[vera\] section 4. # Departures: the paper keeps components up to date with every summary that is found, and its bound
//! is quadratic in the number of summaries. Here they are computed anew, each time the graph has doubled, and once at
//! the end. All computations together cost no more than a few times the last one, so the whole is linear in the graph, and the search
//! ends when it has seen at most twice of what it needed to see. The paper doubles contexts by a bit that says
//! whether the activation has passed through a location; here that is computed with the components.
//!
//! # Cost
//!
//! That of the search for any run, and for each transition sixteen bytes, and four times that while cycles are sought.

use super::around::Around;
use super::fair::{Graph, Lasso};
use super::search::{Order, Search, WorkItem};
use super::store::{NO_ROW, Parent};
use crate::budget::{Budget, Stopwatch};
use crate::encode::machine::retrace::Retracer;
use crate::encode::prepared::Prepared;
use crate::engine::{Finding, Listener, may_tell};
use crate::verdict::{Stats, Why};
use postbop_ir::{EdgeId, Length, LocId, Task};
use postbop_kit::rows::Full;

/// The number of transitions at which cycles are sought for the first time.
const FIRST_LOOK: usize = 64;

/// The most bytes that are needed for each transition while cycles are sought.
const LOOKING: u64 = 64;

/// A transition between rows of the store.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The context, or the suspension.
    pub from: u32,
    /// The context, or the suspension.
    pub to: u32,
    /// The edge.
    pub edge: EdgeId,
    /// For a return: the context at the callee's exit.
    pub exit: u32,
}

/// Depth first; transitions are kept.
pub struct Recording {
    links: Vec<Link>,
    /// Suspensions and the entries that they wait for.
    entered: Vec<(u32, u32)>,
    /// For each entry its first context.
    first: Vec<u32>,
    /// The locations of each query.
    asked: Vec<Vec<LocId>>,
    found: Vec<Option<Lasso>>,
    next_look: usize,
    looks: u64,
    ends_with_first: bool,
}

impl Order for Recording {
    fn new(task: &Task) -> Self {
        Recording {
            links: Vec::new(),
            entered: Vec::new(),
            first: Vec::new(),
            asked: task.queries.iter().map(|query| query.locs().to_vec()).collect(),
            found: task.queries.iter().map(|_| None).collect(),
            next_look: FIRST_LOOK,
            looks: 0,
            ends_with_first: task.first,
        }
    }

    fn added(&mut self, _: usize, _: Option<Length>) {}

    fn steps_to(&self, _: u32) -> Length {
        Length::ZERO
    }

    fn called(&mut self, context: u32, edge: EdgeId, suspension: u32, entry: u32, waits: bool) {
        self.links.push(Link { from: context, to: suspension, edge, exit: NO_ROW });
        if waits {
            self.entered.push((suspension, entry));
        }
    }

    fn found(search: &mut Search<Self>, context: u32, new: bool, parent: Parent, _: Length) {
        match parent.from {
            NO_ROW => search.order.first.push(context),
            from => search.order.links.push(Link { from, to: context, edge: parent.edge, exit: parent.exit }),
        }
        if !new {
            return;
        }
        if search.is_exit(context) {
            search.exit(context);
        } else {
            let mark = search.expander.mark();
            search.work.push(WorkItem::Edges { context, at: 0, mark, first: true });
        }
    }

    fn room(&self) -> u64 {
        self.links.len() as u64 * LOOKING
    }

    fn advance(search: &mut Search<Self>) -> Result<bool, Full> {
        search.work_on()
    }

    fn is_over(search: &mut Search<Self>) -> bool {
        if search.order.links.len() >= search.order.next_look {
            search.order.next_look = search.order.links.len() * 2;
            search.look();
        }
        search.order.is_done()
    }
}

impl Recording {
    fn is_done(&self) -> bool {
        let found = self.found.iter().flatten().count();
        found == self.found.len() || self.ends_with_first && found > 0
    }
}

impl Search<'_, '_, Recording> {
    /// Looks for fair cycles among what was found so far.
    fn look(&mut self) {
        let order = &mut self.order;
        order.looks += 1;
        let enters = order.entered.iter().map(|&(from, entry)| {
            let edge = self.store.parent(from).edge;
            Link { from, to: order.first[entry as usize], edge, exit: NO_ROW }
        });
        let links: Vec<Link> = order.links.iter().copied().chain(enters).collect();
        let graph = Graph::new(&self.store, links, order.links.len());
        for (found, locs) in order.found.iter_mut().zip(&order.asked) {
            if found.is_none() {
                *found = graph.lasso(locs);
            }
        }
    }
}

/// Answers a task whose queries ask for locations that are visited again and again.
pub fn check(task: &Task, prepared: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
    let mut stopwatch = Stopwatch::start();
    let machine = prepared.machine();
    let mut search: Search<Recording> = Search::new(machine, task);
    stopwatch.lap("prepare_us");
    let stopped = search.run(budget, listener).err();
    if !search.order.is_done() && stopped.is_none() {
        search.look();
    }
    stopwatch.lap("search_us");
    let mut stats = search.stats();
    let links = search.order.links.len() as u64;
    stats.extend(Stats::from([("transitions", links), ("cycle_searches", search.order.looks)]));
    let any = search.order.found.iter().any(Option::is_some);
    if may_tell(stopped.as_ref(), any, search.expander.work, budget) {
        let store = &search.store;
        let found = std::mem::take(&mut search.order.found);
        let stopped = stopped.or((task.first && any).then_some(Why::First));
        for (query, lasso) in found.into_iter().enumerate() {
            let finding = match (lasso, &stopped) {
                (Some(lasso), _) => {
                    let mut history = Around { machine, store, lasso: &lasso };
                    let (points, row) = history.ends();
                    let trace = Retracer::new(machine, &mut history, budget).lasso(points, row);
                    trace.map_or_else(Finding::Unknown, Finding::Reached)
                }
                (None, Some(why)) => Finding::Unknown(why.clone()),
                (None, None) => Finding::Holds { guarded: None },
            };
            listener.settle(query, finding);
        }
    }
    stopwatch.lap("trace_us");
    stats.extend(stopwatch.laps());
    stats
}
