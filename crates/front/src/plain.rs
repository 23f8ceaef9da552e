//! Room `front`: pushdown systems of one stack and without variables, as they were written.
//!
//! [`crate::read()`] translates a pushdown system into a program, and reports its mistakes. Here the same files give the rules
//! themselves, with controls and symbols as the source names them, for commands that print configurations.

pub use crate::moped::symbolic::{Symbolic, SymbolicConfiguration, SymbolicRule, SymbolicSymbol};
use crate::read::{File, Format};
use crate::{moped, pds, source};
use rustc_hash::FxHashMap as HashMap;

/// A pushdown system of one stack and without variables.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plain {
    /// The names of the control states.
    pub controls: Vec<String>,
    /// The names of the stack symbols.
    pub symbols: Vec<String>,
    /// The rules.
    pub rules: Vec<PlainRule>,
    /// Where it starts.
    pub start: Configuration,
}

/// A rule: what takes the place of a control and the symbol on top. Of two symbols the first is on top.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlainRule {
    /// The control and the symbol.
    pub from: (u32, u32),
    /// The control afterwards.
    pub control: u32,
    /// At most two symbols.
    pub stack: Vec<u32>,
}

/// A control and a stack, the top first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Configuration {
    /// The control.
    pub control: u32,
    /// The stack.
    pub stack: Vec<u32>,
}

/// The system in files in which [`crate::read()`] has found no error; or why there is none.
pub fn plain(files: &[File]) -> Result<Plain, &'static str> {
    let text = |file: &File| source::decode(file.bytes);
    let init = files.iter().find(|file| file.name.ends_with(".init"));
    match files.first().map(Format::of) {
        Some(Format::Symbolic) => moped::plain(&text(&files[0])),
        Some(Format::Pushdown) => pds::plain(&text(&files[0]), &init.map(text).unwrap_or_default()),
        _ => Err("this is not a pushdown system"),
    }
}

/// The system with variables in files in which [`crate::read()`] has found no error, with configurations that are asked about, if the files hold such a
/// system; or what is wrong with the configurations.
pub fn symbolic(files: &[File], given: &[String]) -> Option<Result<Symbolic, String>> {
    let file = files.first().filter(|file| Format::of(file) == Format::Symbolic)?;
    Some(moped::symbolic::symbolic(&source::decode(file.bytes), given))
}

/// A system under construction, whose controls and symbols are known by something that has a name.
pub(crate) struct Draft<K> {
    pub(crate) plain: Plain,
    controls: HashMap<K, u32>,
    symbols: HashMap<K, u32>,
    name: Box<dyn Fn(K) -> String>,
}

impl<K: Copy + Eq + std::hash::Hash> Draft<K> {
    pub(crate) fn new(name: Box<dyn Fn(K) -> String>) -> Self {
        let (controls, symbols) = (HashMap::default(), HashMap::default());
        Draft { plain: Plain::default(), controls, symbols, name }
    }

    pub(crate) fn control(&mut self, key: K) -> u32 {
        let (names, name) = (&mut self.plain.controls, &self.name);
        *self.controls.entry(key).or_insert_with(|| {
            names.push(name(key));
            names.len() as u32 - 1
        })
    }

    pub(crate) fn symbol(&mut self, key: K) -> u32 {
        let (names, name) = (&mut self.plain.symbols, &self.name);
        *self.symbols.entry(key).or_insert_with(|| {
            names.push(name(key));
            names.len() as u32 - 1
        })
    }

    pub(crate) fn rule(&mut self, from: (K, K), control: K, stack: &[K]) {
        let from = (self.control(from.0), self.symbol(from.1));
        let control = self.control(control);
        let stack = stack.iter().map(|&symbol| self.symbol(symbol)).collect();
        self.plain.rules.push(PlainRule { from, control, stack });
    }

    pub(crate) fn start(&mut self, control: K, stack: impl Iterator<Item = K>) {
        let control = self.control(control);
        self.plain.start =
            Configuration { control, stack: stack.map(|symbol| self.symbol(symbol)).collect() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::{Op, VarId};

    fn names(all: [&str; 2]) -> Vec<String> {
        all.map(String::from).to_vec()
    }

    #[test]
    fn both_formats_say_the_same() {
        let moped = b"(p <a>) p <a> --> p <b a> p <b> --> q <>";
        let moped = plain(&[File { name: "a.pds", bytes: moped }]).unwrap();
        let cuba = File { name: "a.pds", bytes: b"2\nPDA 1 2\n0 1 -> 0 2 1\n0 2 -> 1 -\n" };
        let cuba = plain(&[cuba, File { name: "a.init", bytes: b"0|1" }]).unwrap();
        assert_eq!((&moped.rules, &moped.start), (&cuba.rules, &cuba.start));
        assert_eq!((moped.controls, moped.symbols), (names(["p", "q"]), names(["a", "b"])));
        assert_eq!((cuba.controls, cuba.symbols), (names(["0", "1"]), names(["1", "2"])));
        assert_eq!(moped.rules[0], PlainRule { from: (0, 0), control: 0, stack: vec![1, 0] });
    }

    #[test]
    fn variables_and_threads_are_refused() {
        let refused = |name, bytes: &[u8]| plain(&[File { name, bytes }]).unwrap_err();
        assert!(refused("a.pds", b"global bool b; (q <a>) q <a> --> q <>").contains("variables"));
        assert!(refused("a.pds", b"2\nPDA 1 1\nPDA 1 1\n").contains("stack"));
        assert!(refused("a.bp", b"void main() begin end").contains("pushdown"));
    }

    #[test]
    fn a_system_with_variables_has_all_its_rules_and_what_is_asked_about() {
        // The second rule is for a head that no run has. Three primes of c are three variables: before, on top, and below.
        let text = b"global int x(2); local (a, b) bool c; (q (x = 0) <a>) \
                     q <a> --> q <b a> (x' = x & (c'' == c) & c') s <b> --> r <>";
        let file = File { name: "a.pds", bytes: text };
        let read = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|&one| one.to_owned()).collect();
            symbolic(&[file], &given).unwrap()
        };
        let system = read(&[]).unwrap();
        assert_eq!(system.controls, ["q", "s", "r"]);
        let names: Vec<&str> = system.vars.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, system.globals.clone()), (vec!["x", "c"], 0..1));
        assert!(system.symbols.iter().all(|symbol| symbol.locals == (1..2)));
        assert_eq!(system.rules[0].stack, [1, 0]);
        let mentions = |op: Op| system.rules[0].formula.code.contains(&op);
        assert!(mentions(Op::Var(VarId(0))) && mentions(Op::Next(VarId(0))), "x and x'");
        assert!(mentions(Op::Var(VarId(1))) && mentions(Op::Next(VarId(1))), "c and c'");
        assert!(mentions(Op::Next(system.below(1))), "c''");
        assert_eq!(system.from.len(), 1);
        let system = read(&["r:", "q (x < 2): b (c) a"]).unwrap();
        assert!(system.from[0].stack.is_empty() && system.from[0].control == 2);
        let symbols: Vec<u32> = system.from[1].stack.iter().map(|(symbol, _)| *symbol).collect();
        assert_eq!(symbols, [1, 0]);
        assert_eq!(*system.from[1].stack[0].1.code, [Op::Var(VarId(1))]);
        for wrong in ["q", "q: d", "q (c): a", "q: a (x = 0)", "q: a; q: b", "q: a # b", "q: a)"] {
            assert!(read(&[wrong]).is_err(), "{wrong}");
        }
    }
}
