//! Room `kit`: formulas as very weak alternating automata.
//!
//! # Idea
//!
//! The states are the temporal subformulas: literals, `X a`, `a U b` and `a R b`. What a formula demands of a word is
//! written as a choice between *terms*: a cube that the present letter must be in, and formulas that must hold from
//! the next position on. A state leads only to itself and to smaller formulas, which is what "very weak" means. A word
//! is accepted if there are choices with which no until is put off for ever.
//!
//! # Paper
//!
//! \[ltl2ba\], its first step.
//!
//! # Departures
//!
//! A term knows which untils it puts off, so that acceptance need not be read off cubes and sets later. A term is dropped
//! when another allows more letters, demands less, and puts off no more; that stays so whatever both are combined with,
//! and so terms can be dropped as soon as they are made.

use super::Meter;
use super::cube::{Cube, is_subset, meet, within};
use super::normal::{Arena, Id, Node};
use crate::bdd::Interrupted;

/// One way to satisfy a formula.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub(super) struct Term {
    /// What the present letter must be in.
    pub guard: Cube,
    /// What must hold from the next position on, sorted.
    pub then: Vec<Id>,
    /// The untils that are put off, sorted. All of them are in `then`.
    pub missing: Vec<Id>,
}

impl Term {
    /// Whether it is at least as good as another: any run that takes the other one can take this one.
    fn covers(&self, other: &Term) -> bool {
        within(&other.guard, &self.guard)
            && is_subset(&self.then, &other.then)
            && is_subset(&self.missing, &other.missing)
    }

    fn size(&self) -> usize {
        1 + self.guard.len() + self.then.len() + self.missing.len()
    }
}

/// Choices, none of which another one covers.
pub(super) type Terms = Vec<Term>;

/// An alternating automaton.
pub(super) struct Alternating {
    /// For each temporal subformula what it demands; other formulas have nothing here.
    pub demands: Vec<Terms>,
    /// Sets of formulas with which a run can begin.
    pub initial: Vec<Vec<Id>>,
}

/// In which of its two forms a formula is wanted: as a demand on the present letter and what follows it, or on what follows
/// alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Now,
    Then,
}

/// The automaton of a formula.
pub(super) fn alternating(
    arena: &Arena,
    whole: Id,
    meter: &mut Meter<'_>,
) -> Result<Alternating, Interrupted> {
    let [demands, mut later] = make(arena, whole, Form::Then, meter)?;
    let initial = std::mem::take(&mut later[whole as usize]);
    Ok(Alternating { demands, initial: initial.into_iter().map(|term| term.then).collect() })
}

/// The letters that a formula without temporal operators allows.
pub(super) fn letters(arena: &Arena, whole: Id, meter: &mut Meter<'_>) -> Result<Vec<Cube>, Interrupted> {
    let [mut demands, _] = make(arena, whole, Form::Now, meter)?;
    let terms = std::mem::take(&mut demands[whole as usize]);
    Ok(terms.into_iter().map(|term| term.guard).collect())
}

/// What is wanted of a formula, and of all that is needed for it, in both forms.
fn make(arena: &Arena, whole: Id, form: Form, meter: &mut Meter<'_>) -> Result<[Vec<Terms>; 2], Interrupted> {
    let len = arena.nodes.len();
    let mut uses = [vec![0u32; len], vec![0u32; len]];
    uses[form as usize][whole as usize] = 1;
    for id in (0..len).rev() {
        for (form, operand) in needs(arena, id, &uses) {
            uses[form as usize][operand as usize] += 1;
        }
    }
    let mut made: [Vec<Terms>; 2] = [vec![Vec::new(); len], vec![Vec::new(); len]];
    let wanted = uses.clone();
    for id in 0..len {
        // A state that must hold later is looked at when it does.
        let looked_at = wanted[Form::Then as usize][id] > 0 && is_state(arena.nodes[id]);
        if wanted[Form::Now as usize][id] > 0 || looked_at {
            made[Form::Now as usize][id] = now(arena, id as Id, &made, meter)?;
        }
        if wanted[Form::Then as usize][id] > 0 {
            made[Form::Then as usize][id] = then(arena, id as Id, &made, meter)?;
        }
        // What only served to make others is dropped: else a long conjunction would be kept once for each of its members.
        for (form, operand) in needs(arena, id, &wanted) {
            let left = &mut uses[form as usize][operand as usize];
            *left -= 1;
            if *left == 0 && (form == Form::Then || !is_state(arena.nodes[operand as usize])) {
                made[form as usize][operand as usize] = Vec::new();
            }
        }
    }
    Ok(made)
}

fn is_state(node: Node) -> bool {
    !matches!(node, Node::And(..) | Node::Or(..))
}

/// The forms of other formulas, and of the formula itself, that its wanted forms are made from.
fn needs(arena: &Arena, id: usize, uses: &[Vec<u32>; 2]) -> Vec<(Form, Id)> {
    let wanted = |form: Form| uses[form as usize][id] > 0;
    let (is_now, is_then) = (wanted(Form::Now), wanted(Form::Then));
    let both = |form, a, b, wanted: bool| if wanted { vec![(form, a), (form, b)] } else { Vec::new() };
    match arena.nodes[id] {
        Node::And(a, b) | Node::Or(a, b) => {
            let mut all = both(Form::Now, a, b, is_now);
            all.extend(both(Form::Then, a, b, is_then));
            all
        }
        Node::Next(a) if is_now || is_then => vec![(Form::Then, a)],
        Node::Until(a, b) | Node::Release(a, b) => both(Form::Now, a, b, is_now || is_then),
        _ => Vec::new(),
    }
}

/// What a formula demands of the present letter and of what follows.
fn now(arena: &Arena, id: Id, made: &[Vec<Terms>; 2], meter: &mut Meter<'_>) -> Result<Terms, Interrupted> {
    let of = |form: Form, id: Id| &made[form as usize][id as usize];
    match arena.nodes[id as usize] {
        Node::True => Ok(vec![Term::default()]),
        Node::False => Ok(Vec::new()),
        Node::Literal(atom, value) => Ok(vec![Term { guard: vec![(atom, value)], ..Term::default() }]),
        Node::And(a, b) => product(of(Form::Now, a), of(Form::Now, b), meter),
        Node::Or(a, b) => union(of(Form::Now, a).clone(), of(Form::Now, b).clone(), meter),
        Node::Next(a) => Ok(of(Form::Then, a).clone()),
        Node::Until(a, b) => {
            let put_off = and_again(of(Form::Now, a), id, true);
            union(of(Form::Now, b).clone(), put_off, meter)
        }
        Node::Release(a, b) => {
            let released = product(of(Form::Now, a), of(Form::Now, b), meter)?;
            union(released, and_again(of(Form::Now, b), id, false), meter)
        }
    }
}

/// What must hold from the next position on so that a formula holds there.
fn then(arena: &Arena, id: Id, made: &[Vec<Terms>; 2], meter: &mut Meter<'_>) -> Result<Terms, Interrupted> {
    let of = |id: Id| &made[Form::Then as usize][id as usize];
    match arena.nodes[id as usize] {
        Node::True => Ok(vec![Term::default()]),
        Node::False => Ok(Vec::new()),
        Node::And(a, b) => product(of(a), of(b), meter),
        Node::Or(a, b) => union(of(a).clone(), of(b).clone(), meter),
        _ => Ok(vec![Term { then: vec![id], ..Term::default() }]),
    }
}

/// Terms after which a formula must hold once more; if it is an until, it is put off.
fn and_again(terms: &Terms, id: Id, puts_off: bool) -> Terms {
    let again = |term: &Term| {
        let mut term = term.clone();
        // Operands have smaller numbers than the formula, so it goes to the end.
        term.then.push(id);
        if puts_off {
            term.missing.push(id);
        }
        term
    };
    terms.iter().map(again).collect()
}

/// One of the terms of either list.
fn union(mut a: Terms, mut b: Terms, meter: &mut Meter<'_>) -> Result<Terms, Interrupted> {
    meter.work(a.len() * b.len() + 1)?;
    b.retain(|term| !a.iter().any(|other| other.covers(term)));
    a.retain(|term| !b.iter().any(|other| other.covers(term)));
    a.append(&mut b);
    Ok(a)
}

/// One of the terms of each list, together.
pub(super) fn product(a: &Terms, b: &Terms, meter: &mut Meter<'_>) -> Result<Terms, Interrupted> {
    let mut all: Terms = Vec::new();
    for left in a {
        for right in b {
            meter.work(all.len() + 1)?;
            let Some(guard) = meet(&left.guard, &right.guard) else { continue };
            let term = Term {
                guard,
                then: merged(&left.then, &right.then),
                missing: merged(&left.missing, &right.missing),
            };
            if all.iter().any(|other| other.covers(&term)) {
                continue;
            }
            all.retain(|other| !term.covers(other));
            meter.grow(4 * term.size());
            all.push(term);
        }
    }
    Ok(all)
}

fn merged(a: &[Id], b: &[Id]) -> Vec<Id> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}
