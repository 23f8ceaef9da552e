//! Room `cli/report`: the lines of a trace, laid out.
//!
//! A step is a line: number, text indented by call depth, values. A program with threads has a *lane* for each thread: a
//! thread's steps stand in its lane. Only one thread runs at a time, so its text may cross the lanes to the right of
//! its own. Of a long trace the first lines are shown and the last ones, which tell how it fails; those in between are
//! counted.

use std::collections::VecDeque;
use std::fmt::Write;

/// How many lines are shown of the beginning of a trace, and how many of its end.
pub const HEAD: usize = 1_000;
const TAIL: usize = 500;
/// How wide a line is, if its values can be put below each other.
const COLUMNS: usize = 80;
/// How many levels of indentation to print.
const DEEPEST: usize = 20;
/// Where values stand, without lanes and with them.
const COLUMN: usize = 46;
const LANE_COLUMN: usize = 58;
/// Where the lanes begin, behind the numbers of lines.
const MARGIN: usize = 8;
/// How wide a lane is at most, and all but the last together.
const WIDEST: usize = 14;
const LANES: usize = 30;

/// One line.
pub struct Line {
    /// The lane; none before all threads, or without lanes.
    pub lane: Option<usize>,
    /// The depth of its text.
    pub depth: usize,
    /// The number of the line in the source.
    pub number: Option<usize>,
    /// What is said.
    pub text: String,
    /// The values beside it.
    pub values: String,
}

/// The lines of a trace.
pub struct Page {
    /// How many lanes there are; none for a sequential program.
    lanes: usize,
    out: String,
    lines: usize,
    tail: VecDeque<Line>,
}

impl Page {
    /// An empty page for so many lanes.
    pub fn new(lanes: usize) -> Self {
        Page { lanes, out: String::new(), lines: 0, tail: VecDeque::new() }
    }

    /// Whether the page has all the lines that are shown of a trace's beginning.
    pub fn is_full(&self) -> bool {
        self.lines >= HEAD
    }

    /// Adds a line.
    pub fn line(&mut self, line: Line) {
        self.lines += 1;
        if self.lines <= HEAD {
            self.put(&line);
            return;
        }
        self.tail.push_back(line);
        if self.tail.len() > TAIL {
            self.tail.pop_front();
        }
    }

    /// All that is shown.
    pub fn finish(mut self) -> String {
        let left_out = self.lines.saturating_sub(HEAD + TAIL);
        if left_out > 0 {
            let s = if left_out == 1 { "" } else { "s" };
            let _ = writeln!(self.out, "        … {left_out} line{s} left out …");
        }
        for line in std::mem::take(&mut self.tail) {
            self.put(&line);
        }
        self.out
    }

    fn put(&mut self, line: &Line) {
        let (text, column) = match self.lanes {
            0 => (plain(line), COLUMN),
            lanes => (in_lane(line, lanes), LANE_COLUMN),
        };
        let whole = format!("{text:<column$}  {}", line.values);
        let lines = match line.values.is_empty() || whole.chars().count() <= COLUMNS {
            true => vec![whole],
            false => {
                let beside = wrapped(&line.values, COLUMNS - column - 2);
                // Text that reaches into the column of the values has a line of its own.
                let (own, first) =
                    if text.chars().count() > column { (Some(text), String::new()) } else { (None, text) };
                let texts = std::iter::once(&*first).chain(std::iter::repeat(""));
                let values =
                    beside.iter().zip(texts).map(|(values, text)| format!("{text:<column$}  {values}"));
                own.into_iter().chain(values).collect()
            }
        };
        lines.iter().for_each(|line| self.out.extend([line.trim_end(), "\n"]));
    }
}

/// A list of values on lines of at most this width, as far as single values allow.
fn wrapped(values: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for value in values.split_inclusive(", ") {
        match lines.last_mut() {
            Some(line) if line.chars().count() + value.trim_end().chars().count() <= width => {
                line.push_str(value)
            }
            _ => lines.push(value.to_owned()),
        }
    }
    lines
}

fn number(line: &Line) -> String {
    line.number.map(|number| number.to_string()).unwrap_or_default()
}

fn plain(line: &Line) -> String {
    format!("{:>6}  {:indent$}{}", number(line), "", line.text, indent = 2 * line.depth.min(DEEPEST))
}

/// A line in its lane, the bars of the others beside it.
fn in_lane(line: &Line, lanes: usize) -> String {
    let stride = (LANES / (lanes - 1).max(1)).clamp(2, WIDEST);
    let mut row: Vec<char> = format!("{:>6}", number(line)).chars().collect();
    let mut put = |at: usize, text: &str| {
        row.resize(row.len().max(at + text.chars().count()), ' ');
        text.chars().enumerate().for_each(|(offset, c)| row[at + offset] = c);
    };
    let mut own = MARGIN;
    if let Some(lane) = line.lane {
        (0..lanes).for_each(|other| put(MARGIN + other * stride, "│"));
        own += lane * stride;
        put(own, "┃");
        own += 2;
    }
    let start = own + 2 * line.depth.min(DEEPEST);
    put(start, &line.text);
    let end = start + line.text.chars().count();
    // Room between the text and a bar that follows it.
    if line.lane.is_some() && !line.text.is_empty() && row.get(end) == Some(&'│') {
        row[end] = ' ';
    }
    row.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize) -> Line {
        Line { lane: None, depth: 1, number: Some(number), text: "skip".into(), values: String::new() }
    }

    #[test]
    fn the_last_lines_of_a_long_trace_are_shown() {
        let mut page = Page::new(0);
        (0..10_000).for_each(|number| page.line(line(number)));
        let text = page.finish();
        assert_eq!(text.lines().count(), HEAD + 1 + TAIL);
        assert!(text.contains("… 8500 lines left out …"), "{}", &text[text.len() - 200..]);
        assert!(text.ends_with("  9999    skip\n"));
    }

    #[test]
    fn values_that_need_more_than_a_line_get_more() {
        let values: Vec<String> = (0..9).map(|at| format!("value{at}={at}")).collect();
        let mut page = Page::new(0);
        page.line(Line { values: values.join(", "), ..line(1) });
        page.line(Line { values: values.join(", "), text: "x".repeat(60), ..line(2) });
        let text = page.finish();
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        for value in &values {
            assert_eq!(text.matches(value.as_str()).count(), 2, "{text}");
        }
        // Three values of eight letters fit beside the text: three lines, and one more for the text that is too long.
        assert_eq!(text.lines().count(), 3 + 4, "{text}");
    }

    #[test]
    fn a_trace_that_just_fits_is_shown_whole() {
        let mut page = Page::new(0);
        (0..HEAD + TAIL).for_each(|number| page.line(line(number)));
        let text = page.finish();
        assert_eq!(text.lines().count(), HEAD + TAIL);
        assert!(!text.contains('…'));
    }
}
