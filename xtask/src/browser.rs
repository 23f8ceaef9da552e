//! Room `xtask`: reports opened in a real browser (`cargo xtask browser`).
//!
//! Each test checks a program, opens the page that `check --report` wrote, clicks and presses keys, and looks at what is on
//! the page. Expected values are read off the programs, as in the cases. Pictures are kept in `target/browser/`, for people to
//! look at.

pub mod driver;
pub mod explorer;

use driver::Browser;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The sizes of pictures: a desktop, and a telephone.
const DESKTOP: (u32, u32) = (1360, 820);
const TELEPHONE: (u32, u32) = (390, 800);
/// Milliseconds within which a page must be ready.
const OPEN_WITHIN: u128 = 2_000;

/// Keys without a character, as WebDriver writes them.
const HOME: &str = "\u{e011}";
const END: &str = "\u{e010}";
const DOWN: &str = "\u{e015}";
const UP: &str = "\u{e013}";
const RIGHT: &str = "\u{e014}";
const LEFT: &str = "\u{e012}";

/// What the tests share.
struct Bench<'a> {
    root: &'a Path,
    postbop: &'a Path,
    folder: PathBuf,
    browser: Browser,
}

type Outcome = Result<(), String>;
type Test = (&'static str, fn(&Bench) -> Outcome);

const TESTS: [Test; 11] = [
    ("a violated program", violated),
    ("a program with threads", threads),
    ("a run that goes on for ever", liveness),
    ("a proved program", proved),
    ("hostile names", hostile),
    ("a million steps in a loop", million),
    ("2^101 steps in shared calls", astronomical),
    ("a recursion of fifty thousand calls", deep),
    ("the explorer", explorer::sequential),
    ("the explorer of a program with threads", explorer::threads),
    ("the explorer of hostile names", explorer::hostile),
];

/// Runs all tests with this binary; how many there were.
pub fn run(root: &Path, postbop: &Path) -> Result<usize, String> {
    let folder = root.join("target/browser");
    std::fs::create_dir_all(&folder).map_err(|problem| format!("{}: {problem}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|problem| problem.to_string())?;
    let browser = Browser::start(&folder)?;
    let bench = Bench { root, postbop, folder, browser };
    for (name, test) in TESTS {
        test(&bench).map_err(|problem| format!("{name}: {problem}; {:?}", bench.browser.complaints()))?;
        let complaints = bench.browser.complaints()?;
        if !complaints.is_empty() {
            return Err(format!("{name}: the page complains: {}", complaints.join("; ")));
        }
        println!("browser: {name}: ok");
    }
    Ok(TESTS.len())
}

impl Bench<'_> {
    /// Checks a program and opens its report; the address.
    fn open(&self, name: &str, args: &[&str], status: i32) -> Result<String, String> {
        let page = self.folder.join(format!("{name}.html"));
        let ran = Command::new(self.postbop)
            .arg("check")
            .args(args)
            .arg("--report")
            .arg(&page)
            .current_dir(self.root)
            .output();
        let ran = ran.map_err(|problem| format!("{}: {problem}", self.postbop.display()))?;
        if ran.status.code() != Some(status) {
            return Err(format!("status {}: {}", ran.status, String::from_utf8_lossy(&ran.stderr)));
        }
        let address = format!("file://{}", page.display());
        self.at(&address)?;
        Ok(address)
    }

    /// Opens a page, which must be ready soon.
    fn at(&self, address: &str) -> Outcome {
        self.browser.show(DESKTOP, false)?;
        let start = Instant::now();
        self.browser.open(address)?;
        self.is("document.body.classList.contains('ready')", true)?;
        match start.elapsed().as_millis() {
            late if late > OPEN_WITHIN => Err(format!("the page takes {late} ms to open")),
            _ => Ok(()),
        }
    }

    /// Goes to another place of the page.
    fn at_hash(&self, hash: &str) -> Outcome {
        self.browser.value(&format!("location.hash = {}", Value::from(hash))).map(drop)
    }

    /// Writes a program.
    fn program(&self, name: &str, source: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        std::fs::write(&path, source).map_err(|problem| format!("{}: {problem}", path.display()))?;
        Ok(path.display().to_string())
    }

    fn is(&self, expression: &str, expected: impl Into<Value>) -> Outcome {
        let (found, expected) = (self.browser.value(expression)?, expected.into());
        if found == expected { Ok(()) } else { Err(format!("`{expression}` is {found}, not {expected}")) }
    }

    /// The text of an element contains this.
    fn says(&self, selector: &str, expected: &str) -> Outcome {
        let text = format!("document.querySelector({})?.textContent ?? ''", Value::from(selector));
        let found = self.browser.value(&text)?;
        let found = found.as_str().unwrap_or_default();
        if found.contains(expected) {
            Ok(())
        } else {
            Err(format!("`{selector}` says `{found}`, not `{expected}`"))
        }
    }

    /// The step and the line that all panes show.
    fn stands(&self, step: &str, line: u32, statement: &str) -> Outcome {
        self.is("document.querySelector('#step').value", step)?;
        self.is("document.querySelector('#source .here .number')?.textContent", line.to_string())?;
        self.says("#tree [aria-selected=true]", statement)?;
        self.is("document.querySelector('#link').hash.replace(/.*step=/, '')", step)
    }

    /// The value of a variable in the pane of values, with the mark of a change if there is one.
    fn variable(&self, name: &str, expected: &str) -> Outcome {
        let find = format!(
            "[...document.querySelectorAll('#values tr')].find((row) => row.cells[0].textContent === {})?.cells[1].textContent",
            Value::from(name)
        );
        self.is(&find, expected)
    }

    fn press(&self, keys: &str) -> Outcome {
        self.browser.press(keys)
    }

    /// Pictures for people, in both sizes and both colours.
    fn pictures(&self, name: &str) -> Outcome {
        for (size, what) in [(DESKTOP, "desktop"), (TELEPHONE, "telephone")] {
            for (dark, color) in [(false, "light"), (true, "dark")] {
                self.browser.show(size, dark)?;
                self.browser.picture(&self.folder.join(format!("{name}-{what}-{color}.png")))?;
                // Nothing sticks out of the page to the right.
                self.is("document.documentElement.scrollWidth <= innerWidth", true)?;
            }
        }
        self.browser.show(DESKTOP, false)
    }
}

fn violated(bench: &Bench) -> Outcome {
    let address = bench.open("violated", &["examples/locks.bp", "--shortest"], 1)?;
    bench.says("#verdict", "violated")?;
    bench.says("#facts", "assert:9")?;
    bench.says("#facts", "27 steps")?;
    bench.says("#facts", "the shortest")?;
    bench.is("document.querySelectorAll('#properties tr').length", 2)?;
    bench.says("#properties", "by a run of 27 steps")?;
    // It opens where the assertion fails.
    bench.stands("27", 9, "assert(!locked)")?;
    bench.says("#tree .end", "assert:9 is reached")?;
    bench.variable("locked", "1")?;
    bench.says("#values .frame.top", "acquire called in line 47")?;
    bench.is("document.querySelectorAll('#source .executed').length > 5", true)?;
    bench.pictures("violated")?;
    // From the start over the calls: line 33 returns with locked = 1.
    bench.press(HOME)?;
    bench.is("document.querySelector('#step').value", "0")?;
    bench.press("ooo")?;
    bench.stands("6", 11, "acquire()")?;
    bench.variable("locked", "0 → 1 changed")?;
    bench.press("b")?;
    bench.stands("2", 32, "failed := 0")?;
    // Into the call, out of it, and back step by step.
    bench.press("nn")?;
    bench.stands("4", 9, "assert(!locked)")?;
    bench.says("#values .frame.top", "acquire called in line 33")?;
    bench.is("document.querySelector('#tree [aria-selected=true]').getAttribute('aria-level')", "2")?;
    bench.press("u")?;
    bench.stands("6", 11, "end")?;
    bench.press("ppp")?;
    bench.stands("3", 33, "acquire()")?;
    // The buttons do the same.
    bench.browser.click("#next")?;
    bench.stands("4", 9, "assert(!locked)")?;
    bench.browser.click("#over")?;
    bench.stands("5", 10, "locked := 1")?;
    bench.browser.click("#out")?;
    bench.stands("6", 11, "end")?;
    bench.browser.click("#last")?;
    bench.stands("27", 9, "assert(!locked)")?;
    in_the_tree(bench)?;
    // A link leads to its step; a click on a line to the next step there.
    bench.at(&format!("{address}#property=0&step=9"))?;
    bench.stands("9", 23, "failed := *")?;
    bench.browser.click("#source .executed")?;
    bench.is("document.querySelector('#step').value !== '9'", true)?;
    // The filter.
    bench.browser.click("#last")?;
    bench.press("/")?;
    bench.press("more")?;
    bench.is("document.querySelectorAll('#values tbody tr').length", 1)?;
    bench.is("document.activeElement.id", "filter")
}

/// Keys in the tree, which has the focus after a click.
fn in_the_tree(bench: &Bench) -> Outcome {
    bench.browser.value("document.querySelector('#tree').focus()")?;
    bench.press(HOME)?;
    bench.press(&DOWN.repeat(3))?;
    bench.says("#tree [aria-selected=true]", "acquire()")?;
    let open = "document.querySelectorAll('#tree [aria-expanded=true]').length";
    bench.is(open, 1)?;
    bench.press(LEFT)?;
    bench.is(open, 0)?;
    bench.press(RIGHT)?;
    bench.is(open, 1)?;
    bench.press(DOWN)?;
    bench.says("#tree [aria-selected=true]", "assert(!locked)")?;
    bench.press(UP)?;
    bench.press(END)?;
    bench.stands("27", 9, "assert(!locked)")?;
    // What a screen reader is given.
    bench.is("document.querySelector('#' + document.querySelector('#tree').getAttribute('aria-activedescendant')).getAttribute('aria-selected')", "true")?;
    bench.says("#said", "step 27, line 9: assert(!locked), fails")
}

fn threads(bench: &Bench) -> Outcome {
    bench.open("threads", &["examples/seats.bp", "--switches", "3", "--shortest"], 1)?;
    bench.says("#facts", "2 context switches")?;
    bench.says("#facts", "at most 3 context switches")?;
    bench.is(
        "[...document.querySelectorAll('.lane-name')].map((name) => name.textContent)",
        vec!["start", "alice", "bob"],
    )?;
    // The prologue, alice, bob, alice.
    bench.is("document.querySelectorAll('#lanes .block').length", 4)?;
    bench.is("document.querySelectorAll('#lanes .change').length", 2)?;
    bench.is("document.querySelector('#lanes .block[aria-current]').getAttribute('aria-label').split(':')[1].split(',')[0].trim()", "alice")?;
    bench.says("#tree", "alice goes on in sell")?;
    bench.variable("seats", "3")?;
    bench.variable("sold", "2")?;
    bench.is("document.querySelectorAll('#values .thread').length", 2)?;
    bench.pictures("threads")?;
    bench.browser.click("#lanes .block:nth-of-type(3)")?;
    bench.says("#values .thread summary", "bob runs")?;
    bench.stands("6", 28, "sell()")?;
    // Two threads that wait for ever.
    let source = "decl a := 0;\nthread one begin void main() begin assume(a); end end\nthread two begin void main() begin assume(a); end end\n";
    let path = bench.program("waiting.bp", source)?;
    bench.open("deadlock", &[&path, "--deadlock"], 1)?;
    bench.says("#tree .end", "no thread can go on: one waits line 2: assume(a)")
}

fn liveness(bench: &Bench) -> Outcome {
    let source = "decl g;\nvoid main()\nbegin\n  decl n;\n  n := 1;\n  g := 0;\n  while (n) do\n    g := !g;\n    step();\n  od\nend\n\nvoid step()\nbegin\n  skip;\nend\n";
    let path = bench.program("endless.bp", source)?;
    bench.open("liveness", &[&path, "--terminates"], 1)?;
    bench.says("#facts", "goes on for ever")?;
    bench.says("#tree .head", "from here on, for ever")?;
    bench.says("#tree .end", "and so on")?;
    // The stem is not in the bracket, the loop is, from its head to the end.
    bench.is("document.querySelector('#tree .step').classList.contains('loops')", false)?;
    bench.is("[...document.querySelectorAll('#tree .row')].slice(-2).every((row) => row.classList.contains('loops'))", true)?;
    bench.press(HOME)?;
    bench.press("n")?;
    bench.stands("1", 5, "n := 1")?;
    bench.pictures("liveness")
}

fn proved(bench: &Bench) -> Outcome {
    let source = "decl x;\nvoid main()\nbegin\n  assert(x | !x);\n  assume(x & !x);\n  assert(x);\nend\n";
    let path = bench.program("vacuous.bp", source)?;
    bench.open("proved", &[&path], 0)?;
    bench.says("#verdict", "holds")?;
    bench.says("#properties tr:nth-child(1)", "covers all runs")?;
    bench.says("#properties tr:nth-child(2)", "vacuous: no run comes here")?;
    bench
        .is("document.querySelector('#properties tr:nth-child(1)').textContent.includes('vacuous')", false)?;
    bench.says("#blocked", "line 5 assume(x & !x)")?;
    bench.says("#source .remarked", "no run gets past")?;
    bench.is("getComputedStyle(document.querySelector('#toolbar')).display", "none")?;
    bench.pictures("proved")?;
    summaries(bench)?;
    bench.open("bounded", &["examples/seats.bp", "--switches", "1"], 0)?;
    bench.says("#facts", "runs up to 1 context switch")
}

/// What procedures do, as tables, and the course of the search.
fn summaries(bench: &Bench) -> Outcome {
    bench.open("summaries", &["examples/parity.bp", "--engine", "summary", "--stats=chart"], 0)?;
    bench.is("document.querySelector('#summaries').open", true)?;
    let even = "[...document.querySelectorAll('#summary-tables table')].find((table) => table.caption.textContent === 'even')";
    bench.is(&format!("{even}.tBodies[0].rows[0].cells[0].textContent"), "anything")?;
    bench.is(&format!("{even}.tBodies[0].rows[0].cells[1].textContent"), "n + result = 1 (mod 2)")?;
    bench.is("document.querySelectorAll('#course-charts svg polyline').length", 2)?;
    bench.says("#course-charts", "summary: waiting")?;
    bench.pictures("summaries")
}

fn hostile(bench: &Bench) -> Outcome {
    let name = "{</script><img src=x onerror=window.hit=1><b>\"' \u{202e}gnp}";
    let source = format!(
        "decl {name};\nvoid main() begin\n  // </script><script>window.hit = 1</script>\n  {name} := 1;\n  assert(!{name});\nend\n"
    );
    let path = bench.program("hostile <b>'&.bp", &source)?;
    bench.open("hostile", &[&path], 1)?;
    bench.is("window.hit === undefined && document.querySelector('img, #tree b > *, #values b, #source b') === null", true)?;
    bench.says("#values", "{</script><img src=x onerror=window.hit=1><b>\"' ⟨U+202E⟩gnp}")?;
    bench.says("#source", "// </script><script>window.hit = 1</script>")?;
    bench.says("#file", "hostile <b>'&.bp")?;
    bench.is("document.querySelector('main').textContent.includes('\\u202e')", false)?;
    bench.press("pbonu")?;
    bench.is("window.hit === undefined", true)
}

fn million(bench: &Bench) -> Outcome {
    let source = "decl uint<20> c := 0;\nvoid main()\nbegin\n  while (c < 500000) do\n    c := c + 1;\n  od\n  assert(c < 500000);\nend\n";
    let path = bench.program("million.bp", source)?;
    let address = bench.open("million", &[&path], 1)?;
    small(bench, "million")?;
    bench.says("#of", "1\u{202f}000\u{202f}003")?;
    bench.stands("1000003", 7, "assert(c < 500000)")?;
    bench.variable("c", "500000")?;
    bench.says("#tree .fold", "times more")?;
    bench.at(&format!("{address}#step=700001"))?;
    bench.stands("700001", 5, "c := c + 1")?;
    bench.variable("c", "349999 → 350000 changed")?;
    bench.press("p")?;
    bench.stands("700000", 4, "while (c < 500000)")?;
    bench.is("document.querySelectorAll('#tree .row').length < 100", true)?;
    bench.pictures("million")
}

/// The page is small enough to be mailed.
fn small(bench: &Bench, name: &str) -> Outcome {
    let path = bench.folder.join(format!("{name}.html"));
    let bytes = std::fs::metadata(&path).map_err(|problem| problem.to_string())?.len();
    println!("browser: {name}: {bytes} bytes");
    if bytes < 3_000_000 { Ok(()) } else { Err(format!("{bytes} bytes")) }
}

fn astronomical(bench: &Bench) -> Outcome {
    let mut source = String::from("void main() begin p0(); assert(0); end\n");
    (0..100).for_each(|at| source.push_str(&format!("void p{at}() begin p{}(); p{0}(); end\n", at + 1)));
    source.push_str("void p100() begin skip; end\n");
    let path = bench.program("doubling.bp", &source)?;
    let address = bench.open("astronomical", &[&path, "--shortest"], 1)?;
    small(bench, "astronomical")?;
    // A call and a return for each of 2^101 - 1 activations, a skip in 2^100 of them, and the assertion.
    let steps = 5u128 * (1 << 100) - 1;
    bench.says("#of", "10^30")?;
    bench.stands(&steps.to_string(), 1, "assert(0)")?;
    // Before it main's call returns, and before that the last of all the others.
    bench.press("p")?;
    bench.stands(&(steps - 1).to_string(), 2, "p0()")?;
    bench.press("p")?;
    bench.stands(&(steps - 2).to_string(), 3, "p1()")?;
    bench.at(&format!("{address}#step=101"))?;
    bench.stands("101", 101, "p100()")?;
    bench.is("document.querySelectorAll('#values .frames > li').length < 50", true)?;
    bench.says("#values .frame.top", "p100 called in line 101")?;
    bench.press("n")?;
    bench.stands("102", 102, "skip")?;
    bench.press(&"u".repeat(3))?;
    bench.pictures("astronomical")
}

fn deep(bench: &Bench) -> Outcome {
    let source = "decl uint<16> n := 0;\nvoid main() begin f(); end\nvoid f()\nbegin\n  n := n + 1;\n  assert(n < 50000);\n  f();\nend\n";
    let path = bench.program("deep.bp", source)?;
    let address = bench.open("deep", &[&path], 1)?;
    small(bench, "deep")?;
    bench.variable("n", "50000")?;
    bench.says("#values .frames", "activations …")?;
    bench.at(&format!("{address}#step=75000"))?;
    bench.press("pob")?;
    bench.is("document.querySelectorAll('#tree .row').length < 100", true)?;
    // A recursion that comes back, and a step at its bottom.
    let back = "decl uint<16> n := 0;\nvoid main() begin f(); assert(n < 3000); end\nvoid f()\nbegin\n  n := n + 1;\n  if (n < 3000) then\n    f();\n  fi\nend\n";
    let path = bench.program("back.bp", back)?;
    let address = bench.open("back", &[&path], 1)?;
    bench.at(&format!("{address}#step=9000"))?;
    bench.variable("n", "2999 → 3000 changed")?;
    bench.press("pob")?;
    bench.press("uuu")?;
    bench.is("document.querySelectorAll('#tree .row').length < 100", true)
}
