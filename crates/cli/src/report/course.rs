//! Room `cli/report`: the courses that searches take: how much they hold, and how much waits to be done.
//!
//! The clock is the work, counted by the engine, not the time: so a chart is the same on every machine. Of an engine that begins anew, as after a
//! trial, each search is a course of its own. A long one is thinned out.

use postbop_engine::{Course, Report};
use serde_json::{Value, json};

/// The most moments that are kept of one search, and the most searches.
const MOMENTS: usize = 1_000;
const SEARCHES: usize = 40;

/// One search.
struct Search {
    engine: &'static str,
    moments: Vec<Course>,
    /// One in so many moments is kept; how many came since the last.
    stride: usize,
    passed: usize,
}

/// All searches so far.
#[derive(Default)]
pub struct Courses(Vec<Search>);

impl Courses {
    /// Notes where an engine is.
    pub fn note(&mut self, engine: &'static str, at: Course) {
        // An engine that does not say what it holds has no course to draw.
        if (at.kept, at.waiting) == (0, 0) {
            return;
        }
        let last = self.0.iter().rposition(|search| search.engine == engine);
        let goes_on = |last: &usize| self.0[*last].moments.last().is_none_or(|last| last.work <= at.work);
        match last.filter(goes_on) {
            Some(last) => self.0[last].note(at),
            None if self.0.len() < SEARCHES => {
                self.0.push(Search { engine, moments: vec![at], stride: 1, passed: 0 });
            }
            None => {}
        }
    }

    /// The courses of the engines that answered, as data. How far others came before they were called off depends on the machine.
    pub fn of(&self, report: &Report) -> Vec<Value> {
        let answered = |search: &&Search| report.answers.iter().any(|answer| answer.engine == search.engine);
        let told = |search: &Search| {
            let moment = |at: &Course| json!([at.work, at.kept, at.waiting]);
            json!({ "engine": search.engine, "moments": search.moments.iter().map(moment).collect::<Vec<_>>() })
        };
        self.0.iter().filter(answered).map(told).collect()
    }
}

impl Search {
    fn note(&mut self, at: Course) {
        self.passed += 1;
        if self.passed < self.stride {
            return;
        }
        self.passed = 0;
        self.moments.push(at);
        if self.moments.len() > MOMENTS {
            let mut number = 0;
            self.moments.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_is_thinned_out_and_a_new_one_begins_with_less_work() {
        let mut courses = Courses::default();
        let at = |work| Course { work, kept: work, waiting: 1 };
        (1..=100_000).for_each(|work| courses.note("summary", at(work)));
        assert_eq!(courses.0.len(), 1);
        let moments = &courses.0[0].moments;
        assert!((MOMENTS / 2..=MOMENTS).contains(&moments.len()), "{}", moments.len());
        assert!(moments.windows(2).all(|pair| pair[0].work < pair[1].work));
        assert!(moments.last().is_some_and(|last| last.work > 99_000));
        courses.note("sat", at(5));
        courses.note("summary", at(7));
        assert_eq!(courses.0.len(), 3, "another engine, and a search that begins anew");
    }
}
