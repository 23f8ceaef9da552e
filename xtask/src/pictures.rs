//! Room `xtask`: the pictures of the documents, made from the current build (`cargo xtask pictures`).
//!
//! The terminal is drawn as SVG from what the binary prints, so that it is small and the same everywhere; a test holds it to the binary. The
//! pictures of pages are taken by a browser, and depend on its fonts.

use crate::browser::driver::Browser;
use crate::browser::explorer;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The command of the picture of a terminal.
pub const COMMAND: [&str; 3] = ["check", "examples/locks.bp", "--shortest"];
/// The size of pages, in pixels.
const PAGE: (u32, u32) = (1180, 740);
/// The size of a line and of a letter, and the margin, in pixels.
const LINE: usize = 17;
const LETTER: f64 = 7.8;
const MARGIN: usize = 16;

/// Makes all pictures; their paths.
pub fn run(root: &Path, postbop: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("docs/pictures");
    let told = |problem: std::io::Error| problem.to_string();
    std::fs::create_dir_all(&folder).map_err(told)?;
    let ran = Command::new(postbop).args(COMMAND).current_dir(root).output().map_err(told)?;
    let text = String::from_utf8(ran.stdout).map_err(|problem| problem.to_string())?;
    std::fs::write(folder.join("terminal.svg"), terminal(&COMMAND, &text)).map_err(told)?;
    let scratch = root.join("target/pictures");
    std::fs::create_dir_all(&scratch).map_err(told)?;
    let scratch = scratch.canonicalize().map_err(told)?;
    let browser = Browser::start(&scratch)?;
    browser.show(PAGE, false)?;
    let page = scratch.join("report.html");
    let ran = Command::new(postbop).args(COMMAND).arg("--report").arg(&page).current_dir(root).output();
    ran.map_err(told)?;
    browser.open(&format!("file://{}#property=0&step=20", page.display()))?;
    browser.picture(&folder.join("report.png"))?;
    let serving = explorer::serve(root, postbop, "examples/seats.bp")?;
    browser.open(&serving.address)?;
    explorer::play(&browser, &["c", "1", "1", "2", "2"])?;
    browser.picture(&folder.join("explorer.png"))?;
    Ok(["terminal.svg", "report.png", "explorer.png"].map(|name| format!("docs/pictures/{name}")).into())
}

/// A terminal in which a command was given, and printed this.
pub fn terminal(command: &[&str], output: &str) -> String {
    let prompt = format!("$ postbop {}", command.join(" "));
    let lines: Vec<&str> = std::iter::once(&*prompt).chain(output.lines()).collect();
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(80);
    let width = (widest as f64 * LETTER) as usize + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1e1d1a\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, DejaVu Sans Mono, Liberation Mono, monospace\" font-size=\"13\" fill=\"#e9e5dd\" xml:space=\"preserve\">\n"
    );
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let line = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let y = MARGIN + LINE * at + 12;
        let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{line}</text>");
    }
    out + "</g>\n</svg>\n"
}
