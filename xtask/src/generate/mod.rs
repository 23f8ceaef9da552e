//! Room `xtask`: random programs, as source text: sequential ones here, with threads in `threads`,
//! with very long runs in `long`, with many properties in `many`, and pushdown systems in `pushdown`
//! and, with variables, in `moped`; formulas and monitors about programs in `temporal`; systems
//! of Horn clauses in `horn`.
//!
//! # Idea
//! A program is written top down from a seed: signatures first, so that every procedure may call every other,
//! then bodies, statement by statement, with expressions grown from the type that the context asks for. The
//! text is always well typed, so a diagnostic about a generated program is a bug in one of the two.
//!
//! Engines are compared with a naive oracle on these programs, so their valuations must be few: the bits in
//! scope and the choices per statement are bounded by [`Size`]. Variety comes from the constructs, of which every
//! sequential one of the language occurs unless its [`Features`] flag is off.
//!
//! The label `ERR` stands in every program behind some condition. About half the programs reach it.
//!
//! # Departures
//! Left out because readers would have to look up what it means: one variable given twice in a call by reference,
//! a result stored to a variable also given by reference, two elements of one array assigned at once, locals that
//! hide globals.

mod expr;
mod horn;
mod long;
mod many;
mod moped;
mod program;
pub mod pushdown;
mod scope;
mod stmt;
mod temporal;
mod threads;

pub use horn::horn;
pub use long::{long, shorter_chain};
pub use many::many;
pub use moped::moped;
pub use program::program;
pub use pushdown::pushdown;
pub use temporal::temporal;
pub use threads::threads;

/// Bounds on what is generated.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The most global variables.
    pub globals: usize,
    /// The most locals of a procedure, parameters included.
    pub locals: usize,
    /// The most procedures besides main.
    pub procs: usize,
    /// The most statements of a procedure.
    pub statements: usize,
    /// The most bits of global variables ...
    pub global_bits: usize,
    /// ... and of locals of one procedure.
    pub local_bits: usize,
    /// The most bits chosen by the `*` of one statement.
    pub choice_bits: usize,
    /// How deeply expressions nest.
    pub depth: usize,
}

impl Default for Size {
    fn default() -> Self {
        Size {
            globals: 3,
            locals: 3,
            procs: 3,
            statements: 12,
            global_bits: 4,
            local_bits: 3,
            choice_bits: 4,
            depth: 3,
        }
    }
}

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Which constructs may occur, and how many.
        #[derive(Clone, Copy, Debug)]
        pub struct Features {
            $($(#[$doc])* pub $name: bool,)*
            /// Unbounded integers. No list turns them on, since the oracle cannot enumerate them.
            pub unbounded: bool,
            /// Bounds on what is generated.
            pub size: Size,
        }

        impl Features {
            /// The names of the flags.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Every construct.
            pub fn all() -> Self {
                Features { $($name: true,)* unbounded: false, size: Size::default() }
            }

            /// Only what no flag governs.
            pub fn none() -> Self {
                Features { $($name: false,)* unbounded: false, size: Size::default() }
            }

            fn flag(&mut self, wanted: &str) -> Option<&mut bool> {
                match wanted {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

features! {
    /// `uint<k>` and `int<k>` with their operators.
    integers,
    /// Arrays; also needs `integers`.
    arrays,
    /// `x := e constrain c` and `constrain(c)`.
    constrain,
    /// `enforce`.
    enforce,
    /// `ref` parameters.
    refs,
    /// `goto`.
    gotos,
    /// `while`.
    loops,
    /// Calls that may lead back to the caller.
    recursion,
    /// `*`, `?` and `schoose`.
    choice,
    /// `assert`.
    asserts,
    /// `assume`.
    assumes,
    /// `dead`.
    dead,
    /// Variables and results without a defined value: no initialiser, falling off the end.
    arbitrary,
    /// Names in braces, and spellings that mean the same: `&&`, `==`, `T`, a missing or superfluous `;` or `(`.
    spelling,
}

impl Features {
    /// Everything except integers and arrays.
    pub fn boolean() -> Self {
        Features { integers: false, arrays: false, ..Features::all() }
    }

    /// Everything, with unbounded integers among the variables and small expressions over them.
    pub fn with_integers() -> Self {
        let size = Size { global_bits: 3, local_bits: 4, depth: 2, ..Size::default() };
        Features { unbounded: true, size, ..Features::all() }
    }

    /// Reads a list such as `all,-arrays,-gotos`, `boolean` or `integers,loops`: `all`, `boolean` and `none` set
    /// every flag, a name sets one and a name after `-` clears it. A list that begins with `-` starts from `all`.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut features = if list.starts_with('-') { Features::all() } else { Features::none() };
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "all" => features = Features::all(),
                "boolean" => features = Features::boolean(),
                "none" => features = Features::none(),
                _ => {
                    let (name, value) = match word.strip_prefix('-') {
                        Some(name) => (name, false),
                        None => (word, true),
                    };
                    let names = Features::NAMES.join(", ");
                    *features.flag(name).ok_or(format!("no feature `{name}`; there are {names}"))? = value;
                }
            }
        }
        Ok(features)
    }
}

impl Default for Features {
    fn default() -> Self {
        Features::all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_features_are_read() {
        assert!(Features::parse("all").unwrap().arrays);
        let boolean = Features::parse("boolean,-loops").unwrap();
        assert!(!boolean.integers && !boolean.loops && boolean.gotos);
        let one = Features::parse("loops").unwrap();
        assert!(one.loops && !one.gotos);
        let most = Features::parse("-loops").unwrap();
        assert!(!most.loops && most.gotos);
        assert!(Features::parse("lops").unwrap_err().contains("lops"));
    }
}
