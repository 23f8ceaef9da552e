//! Room `xtask`: makes a failing program small.
//!
//! # Idea
//! Delta debugging (Zeller and Hildebrandt 2002) on lines, with a little knowledge of what lines mean. The source
//! has one statement per line and blocks closed on lines of their own, as [`crate::generate`] writes it, so most
//! useful deletions are ranges of lines: a procedure, a block with its contents, a block without, a branch, any
//! range at all. When no range can go, lines are simplified one by one (see [`line`]).
//!
//! Whether a candidate is a program at all is not asked here: the caller's predicate says whether it still fails
//! in the way that matters, and it says no to what does not parse.
//!
//! # Cost
//! Every accepted candidate has fewer characters, or as many and fewer letters, so the search ends. Passes go from
//! coarse to fine and the coarse ones usually leave little. The result is minimal in that no single step of any
//! pass still fails.

mod line;

use std::ops::Range;

/// The smallest program found that is `still_bad`, or the source itself if that is not.
pub fn shrink(source: &str, still_bad: &mut dyn FnMut(&str) -> bool) -> String {
    if !still_bad(source) {
        return source.to_owned();
    }
    let lines: Vec<String> =
        source.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if !still_bad(&text_of(&lines)) {
        return source.to_owned();
    }
    let mut search = Search { lines, still_bad };
    loop {
        let before = search.cost();
        search.drop_blocks();
        search.drop_ranges();
        search.unwrap_blocks();
        search.simplify_lines();
        if search.cost() == before {
            search.accept(line::indented(&search.lines));
            return search.text();
        }
    }
}

struct Search<'a> {
    lines: Vec<String>,
    still_bad: &'a mut dyn FnMut(&str) -> bool,
}

/// The text of a program of these lines.
fn text_of(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

impl Search<'_> {
    fn text(&self) -> String {
        text_of(&self.lines)
    }

    fn cost(&self) -> (usize, usize) {
        let sums = self.lines.iter().map(|line| line::cost(line));
        sums.fold((0, 0), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1))
    }

    /// Keeps the lines if they still fail.
    fn accept(&mut self, lines: Vec<String>) -> bool {
        let accepted = (self.still_bad)(&text_of(&lines));
        if accepted {
            self.lines = lines;
        }
        accepted
    }

    fn without(&mut self, range: Range<usize>) -> bool {
        let mut lines = self.lines.clone();
        lines.drain(range);
        self.accept(lines)
    }

    /// Whole procedures, blocks and branches, outermost first.
    fn drop_blocks(&mut self) {
        let mut at = 0;
        while at < self.lines.len() {
            let range = line::whole(&self.lines, at).or_else(|| line::branch(&self.lines, at));
            if !range.is_some_and(|range| self.without(range)) {
                at += 1;
            }
        }
    }

    /// Ranges of lines, long ones first.
    fn drop_ranges(&mut self) {
        let mut length = self.lines.len() / 2;
        while length > 0 {
            let mut at = 0;
            while at + length <= self.lines.len() {
                if !self.without(at..at + length) {
                    at += 1;
                }
            }
            length /= 2;
        }
    }

    /// Blocks replaced by the statements of all their branches.
    fn unwrap_blocks(&mut self) {
        let mut at = 0;
        while at < self.lines.len() {
            let unwrapped = line::unwrapped(&self.lines, at);
            if !unwrapped.is_some_and(|lines| self.accept(lines)) {
                at += 1;
            }
        }
    }

    /// Lines replaced by simpler ones, again and again.
    fn simplify_lines(&mut self) {
        for at in 0..self.lines.len() {
            while self.simplify(at) {}
        }
    }

    fn simplify(&mut self, at: usize) -> bool {
        let old = self.lines[at].clone();
        let candidates = line::simpler(&old);
        candidates.into_iter().any(|candidate| {
            let mut lines = self.lines.clone();
            lines[at] = candidate;
            self.accept(lines)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "\
decl g0, g1;
decl uint<2> g2 := 1;
void p1(l0)
begin
  decl l1;
  l1 := l0;
  g0 := !l1;
end
void main()
begin
  L0: g0, g1 := 1, (g1 | *);
  if (g0 & (g1 => g0)) then
    while (*) do
      p1(g0);
      assert((g2 + 1 = 2) & !g1);
    od
  elsif (g1) then
    skip;
  else
    g2 := 3;
  fi
  ERR: skip;
end
";

    #[test]
    fn what_does_not_fail_is_left_alone() {
        assert_eq!(shrink(PROGRAM, &mut |_| false), PROGRAM);
    }

    #[test]
    fn one_line_is_found() {
        let small = shrink(PROGRAM, &mut |source| source.contains("assert"));
        assert_eq!(small.trim(), "assert");
    }

    #[test]
    fn the_frame_of_a_statement_is_kept_if_it_matters() {
        let balanced = |source: &str| {
            let count = |word: &str| source.split_whitespace().filter(|&found| found == word).count();
            count("begin") == count("end") && count("while") == count("od") && count("if") == count("fi")
        };
        let mut bad = |source: &str| {
            balanced(source) && source.contains("void main()\nbegin\n") && source.contains("!g1")
        };
        assert_eq!(shrink(PROGRAM, &mut bad), "void main()\nbegin\n  !g1\nend\n");
    }

    #[test]
    fn expressions_become_choices_and_constants() {
        let assigns = |line: &str| line.contains("g1 :=") && line.ends_with(';') && !line.ends_with(":= ;");
        let mut bad = |source: &str| source.lines().any(assigns);
        let small = shrink(PROGRAM, &mut bad);
        assert_eq!(small.trim(), "g1 := *;");
    }

    #[test]
    fn the_result_is_minimal_and_still_fails() {
        let mut bad = |source: &str| source.contains("p1(") && source.contains("decl g0");
        let small = shrink(PROGRAM, &mut bad);
        assert!(bad(&small));
        assert_eq!(small.split_whitespace().count(), 3, "{small}");
    }
}
