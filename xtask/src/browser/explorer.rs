//! Room `xtask/browser`: the explorer, clicked and keyed through. What is expected is read off the programs.

use super::driver::Browser;
use super::{Bench, Outcome};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long an answer of the explorer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// An explorer that ends when this is dropped.
pub struct Serving {
    child: Child,
    /// Where its page is.
    pub address: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts an explorer of a program.
pub fn serve(root: &Path, postbop: &Path, program: &str) -> Result<Serving, String> {
    let child = Command::new(postbop)
        .args(["explore", program])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let child = child.map_err(|problem| problem.to_string())?;
    let mut serving = Serving { child, address: String::new() };
    let out = serving.child.stdout.take().ok_or("the explorer says nothing")?;
    BufReader::new(out).read_line(&mut serving.address).map_err(|problem| problem.to_string())?;
    serving.address.truncate(serving.address.trim_end().len());
    Ok(serving)
}

/// Presses keys one after the other, each when the explorer has answered the one before.
pub fn play(browser: &Browser, keys: &[&str]) -> Outcome {
    for key in keys {
        browser.press(key)?;
        soon(browser, "document.querySelector('#explore').ariaBusy === null", true)?;
    }
    Ok(())
}

/// Explores a program in the browser.
fn open(bench: &Bench, program: &str) -> Result<Serving, String> {
    let serving = serve(bench.root, bench.postbop, program)?;
    bench.at(&serving.address)?;
    Ok(serving)
}

/// Waits until an expression has a value.
fn soon(browser: &Browser, expression: &str, expected: impl Into<Value>) -> Outcome {
    let (start, expected) = (Instant::now(), expected.into());
    loop {
        let found = browser.value(expression)?;
        if found == expected {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("`{expression}` is {found}, not {expected}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The run has come to a step, and the explorer waits for the next command.
fn at_step(bench: &Bench, step: u32) -> Outcome {
    soon(
        &bench.browser,
        "document.querySelector('#explore').ariaBusy === null && document.querySelector('#step').value",
        step.to_string(),
    )
}

/// How many steps can be taken.
const WAYS: &str = "document.querySelectorAll('#ways button[data-way]').length";

pub(super) fn sequential(bench: &Bench) -> Outcome {
    let _serving = open(bench, "examples/locks.bp")?;
    bench.says("#verdict", "explore")?;
    at_step(bench, 0)?;
    bench.is(WAYS, 1)?;
    bench.says("#ways", "locked := 0")?;
    // A click on the first statement, a key for the second.
    bench.browser.click("#ways button")?;
    at_step(bench, 1)?;
    bench.variable("locked", "0")?;
    bench.press("1")?;
    at_step(bench, 2)?;
    bench.stands("2", 32, "failed := 0")?;
    bench.press("z")?;
    at_step(bench, 1)?;
    // With more requests to begin with, the first choice is whether one fails.
    bench.browser.click("#start summary")?;
    bench.browser.value("document.querySelectorAll('#start-values input')[2].value = '1'")?;
    bench.browser.click("#begin")?;
    at_step(bench, 0)?;
    bench.press("c")?;
    at_step(bench, 7)?;
    bench.says("#ways details", "failed")?;
    bench.press("1")?;
    at_step(bench, 8)?;
    bench.is(WAYS, 2)?;
    bench.says("#ways .way:nth-child(2)", "failed=1")?;
    bench.says("#values .frame.top", "request called in line 35")?;
    bench.pictures("explore")?;
    // Where the request fails, the assertion of acquire can fail; the answer leads there.
    bench.press("2")?;
    at_step(bench, 9)?;
    bench.browser.value("document.querySelector('#target').value = 'assert:9'")?;
    bench.browser.click("#ask")?;
    soon(
        &bench.browser,
        "document.querySelector('#answer .reachable')?.textContent",
        "assert:9: yes: there is a run from here",
    )?;
    bench.browser.click("#go-there")?;
    soon(&bench.browser, WAYS, 0)?;
    bench.says("#ways", "the assertion in line 9 fails")?;
    bench.says("#tree [aria-selected=true]", "assert(!locked)")?;
    bench.says("#tree .end", "here: the assertion in line 9 fails")?;
    bench.pictures("explore-answer")?;
    // Back to where the choice was, by choosing a step of the run.
    bench.at_hash("#step=9")?;
    bench.browser.click("#cut")?;
    at_step(bench, 9)?;
    // The other assertion cannot fail, from here or from anywhere.
    bench.browser.value("document.querySelector('#target').value = 'assert:15'")?;
    bench.browser.click("#run")?;
    soon(
        &bench.browser,
        "document.querySelector('#answer .unreachable')?.textContent",
        "assert:15: no: no run from here comes there",
    )?;
    at_step(bench, 9)
}

pub(super) fn threads(bench: &Bench) -> Outcome {
    let _serving = open(bench, "examples/seats.bp")?;
    at_step(bench, 0)?;
    bench.press("c")?;
    // After the initial values any of the two may begin.
    soon(
        &bench.browser,
        "[...document.querySelectorAll('#ways .lane-name')].map((name) => name.textContent)",
        vec!["alice", "bob"],
    )?;
    let steps = |bench: &Bench| bench.browser.value("Number(document.querySelector('#step').value)");
    let start = steps(bench)?.as_u64().ok_or("no step")? as u32;
    // alice calls sell and looks; then bob does all of it; then alice goes on.
    for (at, key) in ["1", "1", "2", "2", "2", "2", "2", "1", "1"].iter().enumerate() {
        bench.press(key)?;
        at_step(bench, start + at as u32 + 1)?;
    }
    bench.variable("seats", "3")?;
    bench.variable("sold", "1 → 2 changed")?;
    bench.is("document.querySelectorAll('#lanes .block').length", 4)?;
    bench.pictures("explore-threads")?;
    bench.browser.click("#ways .way:last-child button")?;
    soon(&bench.browser, WAYS, 0)?;
    bench.says("#ways", "the assertion in line 14 fails")
}

pub(super) fn hostile(bench: &Bench) -> Outcome {
    let name = "{</script><img src=x onerror=window.hit=1>\u{202e}}";
    let source = format!("decl {name};\nvoid main() begin\n  {name} := *;\n  assert(!{name});\nend\n");
    let path = bench.program("explore <b>'&.bp", &source)?;
    let _serving = open(bench, &path)?;
    bench.is(WAYS, 2)?;
    bench.says("#ways", "</script><img src=x onerror=window.hit=1>⟨U+202E⟩}=1")?;
    bench.is("window.hit === undefined && document.querySelector('img') === null", true)?;
    bench.is("document.querySelector('main').textContent.includes('\\u202e')", false)
}
