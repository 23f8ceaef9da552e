//! Room `xtask`: formulas of linear temporal logic, monitors and automata, for a soak to start from.
//!
//! They are about the program of the temporal cases, so that most of them have a meaning before they are changed.

use super::inputs::{Form, Input};

/// The longest formula that a command line takes everywhere, in bytes.
const LONGEST: usize = 100_000;

/// What a run must not be, or must be, with the ending of its file.
const ABOUT: [(&str, &str); 12] = [
    ("ltl", "G F in main"),
    ("ltl", "F return main"),
    ("ltl", "G (call p -> F return p)"),
    ("ltl", "G (at p:L -> X (in p U return p)) | F G {n = 3}"),
    ("ltl", "(F x -> G (n < 4 | x R !x)) & !(X X at M W {n + 1 > 2})"),
    ("ltl", "G F at M & G F at N -> F G (x <-> p.w)"),
    (
        "monitor",
        "state free init, held;\nstate broken target;\nfree -> held call p;\nheld -> free return p;\nheld -> broken at N;\n",
    ),
    (
        "monitor",
        "state idle init;\nstate waiting repeat;\nstate answered;\nidle -> idle;\nidle -> waiting at p:L when n < 3;\nwaiting -> answered in q when {q.w & n = 0};\n",
    ),
    ("monitor", "state a init, b, c target;\na -> b when x;\na -> a otherwise;\nb -> c call q when !x;\n"),
    (
        "hoa",
        "HOA: v1\nStates: 2\nStart: 0\nAP: 1 \"call q\"\nAcceptance: 1 Inf(0)\n--BODY--\nState: 0 [t] 0 [!0] 1\nState: 1 {0} [!0] 1\n--END--\n",
    ),
    (
        "hoa",
        "HOA: v1\nname: \"G F x & G F at M\"\nStates: 1\nStart: 0\nAP: 2 \"x\" \"at M\"\nacc-name: generalized-Buchi 2\nAcceptance: 2 Inf(0)&Inf(1)\nproperties: trans-labels explicit-labels trans-acc complete\n--BODY--\nState: 0\n[!0&!1] 0\n[0&!1] 0 {0}\n[!0&1] 0 {1}\n[0&1] 0 {0 1}\n--END--\n",
    ),
    (
        "hoa",
        "HOA: v1\nStates: 3\nStart: 0\nAP: 2 \"{n > 2}\" \"in p\"\nAcceptance: 1 Inf(0)\n--BODY--\nState: 0\n[0|1] 1\n[!0&!1] 0\nState: 1 {0}\n[t] 2\nState: 2\n[1] 1 {0}\n[!1] 2\n--END--\n",
    ),
];

/// All of them, each about this program.
pub fn inputs(program: &[u8]) -> Vec<Input> {
    let input = |(ending, text): &(&'static str, &str)| Input {
        form: Form::Temporal,
        files: vec![("bp", program.to_vec()), (*ending, text.as_bytes().to_vec())],
    };
    ABOUT.iter().map(input).collect()
}

/// The option of `check` that asks about an input, whose last file is at this path.
pub fn option(input: &Input, path: &str) -> [String; 2] {
    match input.files.last() {
        Some(("ltl", bytes)) => {
            let text: String = String::from_utf8_lossy(bytes).chars().filter(|&c| c != '\0').collect();
            ["--ltl".into(), text[..text.floor_char_boundary(LONGEST)].to_owned()]
        }
        _ => ["--monitor".into(), path.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_front::temporal::{hoa, ltl, monitor};
    use postbop_front::{File, Options};

    /// What is wrong to begin with is a syntax error after most changes, and soaks nothing.
    #[test]
    fn all_of_them_have_a_meaning() {
        let source = include_bytes!("../../../tests/cases/temporal/program.bp");
        let files = [File { name: "program.bp", bytes: source }];
        let program = postbop_front::read(&files[..], Options::default()).program.unwrap();
        for (ending, text) in ABOUT {
            let wrong = match ending {
                "ltl" => ltl(text, &program).1,
                "monitor" => monitor(text, &program).1,
                _ => hoa(text, &program, &mut |_| true).unwrap_or_else(|_| panic!("{text}")).1,
            };
            assert!(wrong.is_empty(), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn formulas_are_arguments_and_automata_are_files() {
        let all = inputs(b"");
        assert_eq!(option(&all[0], "a.ltl"), ["--ltl", "G F in main"]);
        assert_eq!(option(&all[11], "a.hoa"), ["--monitor", "a.hoa"]);
        let long = Input { form: Form::Temporal, files: vec![("ltl", "\0é".repeat(70_000).into_bytes())] };
        let [_, text] = option(&long, "");
        assert!(text.len() <= LONGEST && !text.contains('\0'));
    }
}
