//! What the parts of the suite share: files, the binary, and a voice.

use postbop_engine::engines;
use postbop_front::{File, Format};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Says something that is seen whether or not the test passes.
pub fn say(text: &str) {
    // Not `eprintln`: the test runner keeps what goes through that from those who want to know.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// All files with an ending below a folder, in order.
pub fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for path in entries.map(|entry| entry.expect("a readable folder").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// All cases in a format, as paths relative to the repository.
pub fn cases_in(format: Format) -> Vec<PathBuf> {
    let mut found = files_below(&root().join("tests/cases"), format.ending());
    // Two formats have one ending.
    found.retain(|path| {
        let (name, bytes) = (path.display().to_string(), bytes(path));
        format.ending() != "pds" || Format::of(&File { name: &name, bytes: &bytes }) == format
    });
    assert!(!found.is_empty(), "there is no case that is {}", format.name());
    found.iter().map(|path| path.strip_prefix(root()).expect("it is below").to_owned()).collect()
}

/// All cases that are Boolean programs. There are some.
pub fn cases() -> Vec<PathBuf> {
    let found = cases_in(Format::Program);
    assert!(found.len() > 100, "only {} cases were found", found.len());
    found
}

/// The bytes of a case.
pub fn bytes(case: &Path) -> Vec<u8> {
    std::fs::read(root().join(case)).unwrap_or_else(|e| panic!("{}: {e}", case.display()))
}

/// A file for this test alone. Names are unique across the suite.
pub fn scratch(name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents).expect("the scratch folder can be written to");
    path
}

/// What a run of the binary came to.
#[derive(Debug)]
pub struct Ran {
    /// The exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

impl Ran {
    /// What a process left.
    pub fn new(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The last line of standard output.
    pub fn last(&self) -> &str {
        self.out.lines().last().unwrap_or("")
    }

    /// The run, if it ended with this status.
    #[track_caller]
    pub fn with(self, status: i32) -> Ran {
        assert_eq!(self.status, Some(status), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }
}

/// The binary, to be run in the repository.
pub fn command<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_postbop"));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs the binary.
pub fn postbop<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Ran {
    Ran::new(command(args).output().expect("the binary runs"))
}

/// Runs the binary with something on standard input.
pub fn postbop_reading(args: &[&str], input: &[u8]) -> Ran {
    let mut command = command(args);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // Dropped at once, so that the reader sees the end.
    child.stdin.take().expect("it was piped").write_all(input).expect("the binary reads");
    Ran::new(child.wait_with_output().expect("the binary ends"))
}

/// What `--engine` can be: `auto`, and every engine.
pub fn engine_names() -> Vec<&'static str> {
    std::iter::once("auto").chain(engines().iter().map(|engine| engine.name())).collect()
}

/// Fails with all that went wrong, not only the first.
#[track_caller]
pub fn all_good(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
