//! Room `xtask`: random expressions of a wanted type.
//!
//! # Idea
//! An expression is grown from the type its context asks for. Literals and `*` have no type of their own, so
//! where the context says nothing (one side of `=`, an array index, an argument of `print`) the expression must
//! be *anchored*: a variable in it says which type is meant.
//!
//! Text carries the level of its outermost operator. Parentheses are put where the grammar needs them, and
//! mostly also where it does not: a mix of `=` with weaker operators means something else in another dialect.

use super::Features;
use super::scope::{Ty, Var};
use crate::rng::Rng;

/// Levels of operators, weakest first.
mod level {
    pub(super) const IMPLIES: u8 = 0;
    pub(super) const OR: u8 = 1;
    pub(super) const XOR: u8 = 2;
    pub(super) const AND: u8 = 3;
    pub(super) const COMPARE: u8 = 4;
    pub(super) const SUM: u8 = 5;
    pub(super) const PRODUCT: u8 = 6;
    pub(super) const UNARY: u8 = 7;
    pub(super) const ATOM: u8 = 8;
}

/// An expression and the level of its outermost operator.
struct Text {
    text: String,
    level: u8,
}

impl Text {
    fn atom(text: impl Into<String>) -> Text {
        Text { text: text.into(), level: level::ATOM }
    }

    fn inside(self, least: u8) -> String {
        if self.level < least { format!("({})", self.text) } else { self.text }
    }
}

/// Grows expressions over the variables in scope.
pub(super) struct Exprs<'a> {
    pub(super) rng: &'a mut Rng,
    pub(super) features: Features,
    /// The variables that may be mentioned.
    pub(super) vars: &'a [Var],
    /// The variables whose new value may be mentioned.
    pub(super) primed: &'a [Var],
    /// How many bits may still be chosen by the statement at hand.
    pub(super) choice_bits: usize,
}

impl Exprs<'_> {
    /// An expression where the context says that the type is `ty`.
    pub(super) fn expr(&mut self, ty: Ty) -> String {
        let depth = self.rng.range(0, self.features.size.depth);
        self.grow(ty, depth).text
    }

    /// An expression that says itself that its type is `ty`; `None` if no variable can.
    pub(super) fn anchored(&mut self, ty: Ty) -> Option<String> {
        let depth = self.rng.range(0, self.features.size.depth);
        Some(self.grow_anchored(ty, depth)?.text)
    }

    /// A condition, as it stands after `if`, `while`, `assume` and the like.
    pub(super) fn condition(&mut self) -> String {
        let text = self.expr(Ty::Bool);
        let bare = self.features.spelling && self.rng.chance(0.25);
        if bare { text } else { format!("({text})") }
    }

    /// A conjunction that few valuations satisfy.
    pub(super) fn narrow_condition(&mut self, conjuncts: usize) -> String {
        self.choice_bits = 0;
        let parts: Vec<String> = (0..conjuncts)
            .map(|_| match self.compare(0) {
                Some(text) => text.inside(level::ATOM),
                None => self.grow(Ty::Bool, 1).inside(level::ATOM),
            })
            .collect();
        format!("({})", parts.join(" & "))
    }

    /// A variable, or an element of it, as it may stand left of `:=`.
    pub(super) fn target(&mut self, var: &Var) -> String {
        match var.len {
            None => var.name.clone(),
            Some(len) => format!("{}[{}]", var.name, self.index(len)),
        }
    }

    fn spelled(&mut self, plain: &'static str, other: &'static str) -> &'static str {
        if self.features.spelling && self.rng.chance(0.25) { other } else { plain }
    }

    fn grow(&mut self, ty: Ty, depth: usize) -> Text {
        if depth == 0 {
            return self.leaf(ty);
        }
        if self.rng.chance(0.1) {
            return self.ite(ty, depth - 1);
        }
        match ty {
            Ty::Bool => self.boolean(depth - 1),
            _ => self.integer(ty, depth - 1, false).unwrap_or_else(|| self.leaf(ty)),
        }
    }

    fn grow_anchored(&mut self, ty: Ty, depth: usize) -> Option<Text> {
        match ty {
            Ty::Bool if depth > 0 && self.rng.chance(0.5) => {
                let operand = self.grow_anchored(ty, depth - 1)?;
                Some(self.not(operand))
            }
            Ty::Uint(_) | Ty::Int(_) | Ty::Integer if depth > 0 => self.integer(ty, depth - 1, true),
            _ => self.variable(ty),
        }
    }

    fn leaf(&mut self, ty: Ty) -> Text {
        if self.rng.chance(0.7)
            && let Some(variable) = self.variable(ty)
        {
            return variable;
        }
        if self.features.choice && self.choice_bits >= ty.bits() && self.rng.chance(0.4) {
            self.choice_bits -= ty.bits();
            return Text::atom(self.spelled("*", "?"));
        }
        self.literal(ty)
    }

    /// A constant of the type.
    pub(super) fn constant(&mut self, ty: Ty) -> String {
        self.literal(ty).text
    }

    fn literal(&mut self, ty: Ty) -> Text {
        if ty == Ty::Bool {
            let spellings: [&[&str]; 2] = [&["0", "F", "false"], &["1", "T", "true"]];
            let list = spellings[self.rng.below(2)];
            return Text::atom(if self.features.spelling { *self.rng.pick(list) } else { list[0] });
        }
        if matches!(ty, Ty::Int(_) | Ty::Integer) && self.rng.chance(0.4) {
            let value = self.rng.range(1, ty.max() + 1);
            return Text { text: format!("-{value}"), level: level::UNARY };
        }
        Text::atom(self.rng.range(0, ty.max()).to_string())
    }

    /// A variable or array element of the type, old or new.
    fn variable(&mut self, ty: Ty) -> Option<Text> {
        let primed: Vec<&Var> = self.primed.iter().filter(|var| var.ty == ty).collect();
        if !primed.is_empty() && self.rng.chance(0.6) {
            let var = *self.rng.pick(&primed);
            return Some(Text::atom(format!("'{}", self.target(var))));
        }
        let plain: Vec<&Var> = self.vars.iter().filter(|var| var.ty == ty).collect();
        if plain.is_empty() {
            return None;
        }
        let var = *self.rng.pick(&plain);
        Some(Text::atom(self.target(var)))
    }

    /// An array index: mostly in range, sometimes perhaps not. A choice ranges over the bits that `len` needs.
    fn index(&mut self, len: usize) -> String {
        if self.features.choice && self.choice_bits > 1 && self.rng.chance(0.05) {
            self.choice_bits -= 2;
            return self.spelled("*", "?").to_owned();
        }
        let scalars = |var: &&Var| var.len.is_none() && matches!(var.ty, Ty::Uint(1 | 2));
        let candidates: Vec<&Var> = self.vars.iter().filter(scalars).collect();
        if candidates.is_empty() || self.rng.chance(0.4) {
            return self.rng.below(len).to_string();
        }
        let var = *self.rng.pick(&candidates);
        if self.rng.chance(0.3) { format!("{} + 1", var.name) } else { var.name.clone() }
    }

    fn not(&mut self, operand: Text) -> Text {
        let sign = self.spelled("!", "~");
        Text { text: format!("{sign}{}", operand.inside(level::UNARY)), level: level::UNARY }
    }

    fn boolean(&mut self, depth: usize) -> Text {
        match self.rng.weighted(&[3, 4, 4, 2, 2, 6, if self.features.choice { 2 } else { 0 }]) {
            0 => {
                let operand = self.grow(Ty::Bool, depth);
                self.not(operand)
            }
            1 => self.logic("&", "&&", level::AND, depth),
            2 => self.logic("|", "||", level::OR, depth),
            3 => self.logic("^", "^", level::XOR, depth),
            4 => self.logic("=>", "=>", level::IMPLIES, depth),
            5 => self.compare(depth).unwrap_or_else(|| self.leaf(Ty::Bool)),
            _ if self.choice_bits == 0 => self.leaf(Ty::Bool),
            _ => {
                self.choice_bits -= 1;
                let positive = self.grow(Ty::Bool, depth).text;
                let negative = self.grow(Ty::Bool, depth).text;
                Text::atom(format!("schoose[{positive}, {negative}]"))
            }
        }
    }

    fn logic(&mut self, plain: &'static str, other: &'static str, at: u8, depth: usize) -> Text {
        let left = self.grow(Ty::Bool, depth);
        let right = self.grow(Ty::Bool, depth);
        let sign = self.spelled(plain, other);
        self.binary(left, sign, right, at)
    }

    /// Two values of one type compared; the type is that of a variable in scope.
    fn compare(&mut self, depth: usize) -> Option<Text> {
        if self.vars.is_empty() {
            return None;
        }
        let ty = self.rng.pick(self.vars).ty;
        let anchored = self.grow_anchored(ty, depth)?;
        let mut free = self.grow(ty, depth);
        if free.text == anchored.text {
            free = self.literal(ty);
        }
        let (left, right) = if self.rng.chance(0.7) { (anchored, free) } else { (free, anchored) };
        let sign = match self.rng.below(if ty == Ty::Bool { 2 } else { 6 }) {
            0 => self.spelled("=", "=="),
            1 => "!=",
            2 => "<",
            3 => "<=",
            4 => ">",
            _ => ">=",
        };
        Some(self.binary(left, sign, right, level::COMPARE))
    }

    /// Arithmetic. `None` if it has to be anchored and no variable has the type.
    fn integer(&mut self, ty: Ty, depth: usize, anchored: bool) -> Option<Text> {
        let left = if anchored { self.grow_anchored(ty, depth)? } else { self.grow(ty, depth) };
        let kind = self.rng.weighted(&[4, 3, 2, 2, 3]);
        // A number after a sign is one literal with it, which need not fit the type.
        if kind == 3 && left.text.parse::<usize>().is_err() {
            let operand = left.inside(level::ATOM);
            return Some(Text { text: format!("-{operand}"), level: level::UNARY });
        }
        if kind >= 3 {
            return Some(left);
        }
        // Unbounded integers can only be multiplied by constants.
        let right = if kind == 2 && ty == Ty::Integer { self.literal(ty) } else { self.grow(ty, depth) };
        Some(match kind {
            0 => self.binary(left, "+", right, level::SUM),
            1 => self.binary(left, "-", right, level::SUM),
            _ => self.binary(left, "*", right, level::PRODUCT),
        })
    }

    fn ite(&mut self, ty: Ty, depth: usize) -> Text {
        let condition = self.grow(Ty::Bool, depth).text;
        let yes = self.grow(ty, depth).text;
        let no = self.grow(ty, depth).text;
        Text::atom(format!("ite({condition}, {yes}, {no})"))
    }

    /// Comparisons and implications never stand unparenthesised in each other, where tools disagree about
    /// grouping; a sign or a choice never stands bare beside arithmetic, where readers do.
    fn binary(&mut self, left: Text, sign: &str, right: Text, at: u8) -> Text {
        let generous = !self.features.spelling || self.rng.chance(0.7);
        let grouped = matches!(at, level::COMPARE | level::IMPLIES);
        let (left_least, right_least) =
            if generous { (level::UNARY, level::UNARY) } else { (at + u8::from(grouped), at + 1) };
        let arithmetic = matches!(at, level::SUM | level::PRODUCT);
        let side = |text: Text, least| {
            let awkward = arithmetic && (text.text == "*" || text.text.starts_with('-'));
            text.inside(if awkward { level::ATOM + 1 } else { least })
        };
        let text = format!("{} {sign} {}", side(left, left_least), side(right, right_least));
        Text { text, level: at }
    }
}
