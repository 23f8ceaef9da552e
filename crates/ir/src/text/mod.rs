//! Room `ir`: the textual form of program graphs.
//!
//! One item a line, in the order procedures, variables, locations, labels, checks, edges; each table's rows in the
//! order of their ids. Expressions are in prefix notation. What is printed reads back as the same program, so
//! engines and reductions can be tested without a front end.
//!
//! ```text
//! postbop-ir 1
//! proc p0 "main" params 0 results ( ) entry l0 exit l1 at 9..15
//! var v0 global bool "g"
//! var v1 p0 uint<3> "i"
//! loc l0 p0 at 24..30
//! label l2 "R"
//! check l3 assert at 40..51
//! edge l0 l2 at 24..30 assign v1 := (add:uint<3> v1 1:uint<3>) ; constrain (lt v1 'v1)
//! edge l2 l3 at 40..51 assume (not (eq v1 0:uint<3>))
//! edge l2 l4 at 40..51 call p1 (and v0 true) -> v0 _
//! edge l4 l1 at 52..59 return
//! main p0
//! ```

mod parse;
mod print;

pub(crate) use parse::Words;
#[cfg(test)]
pub(crate) use parse::builder;
pub use parse::{ParseError, parse};
pub(crate) use print::quoted;
pub use print::{fingerprint, print, print_action};

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 9..15
proc p1 "{a \"b\"}" params 1 results ( bool uint<3> ) entry l2 exit l3 at 0..0
var v0 global bool "g"
var v1 p0 int<4> "i"
var v2 p1 bool "a"
loc l0 p0 at 1..2
loc l1 p0 at 1..2
loc l2 p1 at 1..2
loc l3 p1 at 1..2
loc l4 p0 at 3..4
loc l5 p0 at 3..4
label l4 "R"
check l5 bounds at 3..4
edge l0 l4 at 1..2 assign v0 v1 := (ite v0 *:bool false) (neg:int<4> -8:int<4>) ; constrain (le v1 'v1)
edge l4 l5 at 3..4 assume (xor (not v0) (or v0 true))
edge l4 l4 at 3..4 havoc v0 v1
edge l4 l4 at 3..4 call p1 (and v0 (lt v1 0:int<4>)) -> v0 _
edge l4 l1 at f2:3..4 return
edge l2 l3 at 3..4 return v2 (mul:uint<3> 1:uint<3> 2:uint<3>)
main p0
"#;

    #[test]
    fn what_is_read_prints_back() {
        let program = parse(SAMPLE).unwrap();
        assert_eq!(print(&program), SAMPLE);
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        let fails = |text: &str| parse(text).unwrap_err();
        assert_eq!(fails("").line, 1);
        assert_eq!(fails("postbop-ir 2").line, 1);
        assert_eq!(fails(&SAMPLE.replace("(not v0)", "(not v0")).line, 16);
        assert_eq!(fails(&SAMPLE.replace("havoc", "havok")).line, 17);
        assert_eq!(fails(&SAMPLE.replace("main p0\n", "")).line, 20);
        assert_eq!(fails(&SAMPLE.replace("(not v0)", "()")).line, 16);
        assert_eq!(fails(&SAMPLE.replace("var v2 p1", "var v2 p9")).line, 6);
    }

    #[test]
    fn depth_is_no_limit() {
        let depth = 1_000_000;
        let deep = format!("{}v0{}", "(not ".repeat(depth), ")".repeat(depth));
        let text = SAMPLE.replace("(not v0)", &deep);
        assert_eq!(print(&parse(&text).unwrap()), text);
    }
}
