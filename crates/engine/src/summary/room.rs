//! Room `engine/summary`: diagrams that are not needed any more are forgotten, and if that is not enough, levels are reordered.
//!
//! # Idea
//!
//! The order of levels is chosen before anything is known of the diagrams ([`crate::encode::wiring`]). It may be wrong for
//! a program, and then sets grow without need. So when many vertices are left after a collection, and twice as many as
//! after the last reordering, the slots are sifted ([`postbop_kit::bdd::Reorder`]). The levels of one slot stay together:
//! they are the copies of one bit.
//!
//! Everything else goes on: diagrams keep their numbers, plans are rewritten, and the wiring is told where slots stand now.

use super::shortest::Rings;
use super::solve::{Cause, Ready, Solver};
use crate::encode::wiring::ROLES;
use postbop_kit::bdd::{Ref, Reorder};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// Fewer vertices than this are in no need of another order.
const MANY: usize = 1 << 20;

/// When levels are reordered.
#[derive(Clone, Copy, Debug)]
pub enum Reordering {
    /// When there are more vertices than this after a collection.
    Above(usize),
    /// After so many images, whether it helps or not: for tests. Counts the images up to the last time.
    Every(u64, u64),
}

impl Reordering {
    /// As is good for users.
    pub fn when_large() -> Self {
        Reordering::Above(MANY)
    }
}

impl Solver<'_, '_, '_, '_> {
    /// The diagrams that are still wanted.
    fn roots(&self) -> Vec<Ref> {
        let mut roots: Vec<Ref> = Vec::new();
        roots.extend(self.places.iter().flat_map(|place| [place.reach, place.fresh]));
        for arrival in &self.arrivals {
            roots.push(arrival.set);
            match arrival.cause {
                Cause::Start => {}
                Cause::Edge(_, set)
                | Cause::Enter(_, set)
                | Cause::Return(_, set, ..)
                | Cause::Leap(.., set) => roots.push(set),
            }
        }
        roots.extend(self.interfaces.iter().flatten().map(|interface| interface.diagonal));
        roots.extend(self.edges.iter().filter_map(|edge| match edge {
            Ready::Update(relation, _) => Some(*relation),
            _ => None,
        }));
        roots.extend(self.split.iter().flat_map(|parts| parts.iter().map(|&(part, _)| part)));
        for call in &self.sites {
            roots.extend([call.site.enter.0, call.site.pass.0, call.effect]);
            roots.extend(call.effects.iter().flat_map(|effect| [effect.relation, effect.summary]));
        }
        roots.extend(self.loops.iter().flat_map(|one| one.powers.iter().copied().chain([one.closed])));
        roots.extend(self.rings.schedule.values());
        let Rings { entered, left, pushed, .. } = &self.rings;
        let timed = entered.iter().chain(left.iter()).chain(pushed);
        roots.extend(timed.flatten().map(|&(_, set)| set));
        roots.extend(self.cycles.roots());
        roots
    }

    /// Makes room, if there is need.
    pub(super) fn make_room(&mut self) {
        if let Reordering::Every(every, last) = &mut self.reordering
            && self.images - *last >= *every
        {
            *last = self.images;
            let odd = self.encoder.bdd.reorderings() % 2 == 1;
            self.reorder(if odd { Reorder::Sift } else { Reorder::Rotate });
        }
        if !self.encoder.bdd.wants_collection() {
            return;
        }
        let roots = self.roots();
        self.encoder.bdd.collect(roots);
        if matches!(self.reordering, Reordering::Above(most) if self.encoder.bdd.survivors() > most) {
            self.reorder(Reorder::Sift);
            self.reordering = Reordering::Above(2 * self.encoder.bdd.survivors().max(MANY / 2));
        }
    }

    fn reorder(&mut self, way: Reorder) {
        let roots = self.roots();
        let levels = self.encoder.wiring.levels();
        let moved = self.encoder.bdd.reorder(roots.iter().copied(), levels, ROLES, way);
        self.encoder.wiring.permute(&moved);
        // Gates that were shared stay so.
        let mut interfaces = HashMap::default();
        for proc in self.task.program.procs().ids() {
            let Some(interface) = &self.interfaces[proc] else { continue };
            let moved = interfaces
                .entry(Rc::as_ptr(interface))
                .or_insert_with(|| Rc::new(self.encoder.relevelled(proc, interface)));
            self.interfaces[proc] = Some(Rc::clone(moved));
        }
        for interface in self.shared_interfaces.values_mut() {
            *interface = Rc::clone(&interfaces[&Rc::as_ptr(interface)]);
        }
    }
}
