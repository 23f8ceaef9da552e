//! Room `cli/commands`: `postbop graph`: who calls whom, or the locations and edges of one procedure, as a picture.
//!
//! The picture is text in the language of Graphviz, or SVG, laid out by a library. That takes more than linear time, so a graph
//! that nobody could look at is refused as SVG.

use super::summary::procedure;
use crate::args::{Graph, Picture};
use crate::guard::Guard;
use crate::input::{self, Input};
use crate::report::plain::{dot, visible};
use crate::report::words::Words;
use crate::{Output, Status};
use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use postbop_ir::{CheckKind, Id, ProcId, Table};
use std::collections::HashMap;
use std::fmt::Write;

/// The most nodes and edges of an SVG.
const MOST: usize = 800;
/// The size of a letter.
const LETTER: f64 = 8.0;
const FONT: usize = 14;
/// How text looks: it stands on lines, and must be read there.
const LOOK: &str = "<style>text { font-family: system-ui, sans-serif; paint-order: stroke; stroke: white; stroke-width: 4px; }</style>";

/// What is drawn.
struct Drawing {
    /// Each with its text, and whether it is a place to begin or to end.
    nodes: Vec<(String, bool)>,
    edges: Vec<(usize, usize, String)>,
}

/// Prints a picture of a program.
pub fn run(args: &Graph, output: &mut Output) -> Status {
    let input = match input::read(&args.source, output) {
        Ok(input) => input,
        Err(status) => return status,
    };
    let _guard = Guard::new(output.limits);
    let drawing = match &args.proc {
        Some(name) => match procedure(&input.program, Some(name)) {
            Ok(proc) => locations(&input, proc),
            Err(message) => {
                output.error(&format!("{}: {message}", input.name()));
                return Status::BadInput;
            }
        },
        None => calls(&input),
    };
    let size = drawing.nodes.len() + drawing.edges.len();
    if args.format == Picture::Svg && size > MOST {
        let message = format!(
            "a graph of {size} nodes and edges is too large to be laid out; `--format dot` prints it"
        );
        output.error(&format!("{}: {message}", input.name()));
        return Status::BadInput;
    }
    let text = match args.format {
        Picture::Dot => as_dot(&drawing),
        Picture::Svg => as_svg(&drawing),
    };
    output.out.push_str(&text);
    Status::Good
}

/// Who calls whom, and how many places there are that do.
fn calls(input: &Input) -> Drawing {
    let program = &input.program;
    let starts: Vec<ProcId> =
        program.threads().iter().map(|thread| thread.main).chain(program.prologue()).collect();
    let node = |(id, proc): (ProcId, &postbop_ir::program::Proc)| (proc.name.clone(), starts.contains(&id));
    let nodes = program.procs().pairs().map(node).collect();
    let mut counts: HashMap<(usize, usize), usize> = HashMap::new();
    for edge in program.edges().iter() {
        if let postbop_ir::Action::Call { callee, .. } = edge.action {
            *counts.entry((program.locs()[edge.from].proc.index(), callee.index())).or_default() += 1;
        }
    }
    let label = |count| if count == 1 { String::new() } else { format!("{count} places") };
    let mut edges: Vec<_> = counts.into_iter().map(|((from, to), count)| (from, to, label(count))).collect();
    edges.sort_unstable();
    Drawing { nodes, edges }
}

/// The locations and the edges of a procedure.
fn locations(input: &Input, proc: ProcId) -> Drawing {
    let program = &input.program;
    let words = Words::new(input);
    let data = &program.procs()[proc];
    let mut names: Table<_, String> = Table::filled(program.locs().len(), String::new());
    for label in program.labels() {
        let name = &mut names[label.loc];
        *name = if name.is_empty() { label.name.clone() } else { format!("{name}, {}", label.name) };
    }
    for check in program.checks() {
        names[check.loc] = match check.kind {
            CheckKind::Assert => "assertion fails".into(),
            CheckKind::Bounds => "index out of range".into(),
        };
    }
    let mut nodes = Vec::new();
    let mut numbers = HashMap::new();
    for (id, loc) in program.locs().pairs().filter(|(_, loc)| loc.proc == proc) {
        let special = id == data.entry || id == data.exit;
        let name = match (id == data.entry, id == data.exit, names[id].is_empty()) {
            (_, _, false) => names[id].clone(),
            (true, ..) => data.name.clone(),
            (_, true, _) => "end".into(),
            _ if input.text().is_empty() => id.to_string(),
            _ => input.position(loc.span).0.to_string(),
        };
        numbers.insert(id, nodes.len());
        nodes.push((name, special));
    }
    let inside = program.edges().pairs().filter(|(_, edge)| numbers.contains_key(&edge.from));
    let edges = inside
        .map(|(id, edge)| {
            let text = format!("{}{}", input.statement(program, id), words.branch(id));
            (numbers[&edge.from], numbers[&edge.to], text)
        })
        .collect();
    Drawing { nodes, edges }
}

fn as_dot(drawing: &Drawing) -> String {
    let mut out = "digraph {\n  node [shape=box, style=rounded];\n".to_owned();
    for (at, (text, special)) in drawing.nodes.iter().enumerate() {
        let bold = if *special { ", penwidth=2" } else { "" };
        let _ = writeln!(out, "  n{at} [label={}{bold}];", dot(text));
    }
    for (from, to, text) in &drawing.edges {
        let label = if text.is_empty() { String::new() } else { format!(" [label={}]", dot(text)) };
        let _ = writeln!(out, "  n{from} -> n{to}{label};");
    }
    out + "}\n"
}

fn as_svg(drawing: &Drawing) -> String {
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    let mut handles = Vec::new();
    for (text, special) in &drawing.nodes {
        let text = visible(text);
        let width = text.chars().count() as f64 * LETTER + 24.0;
        let mut look = StyleAttr::simple();
        (look.rounded, look.font_size) = (8, FONT);
        look.line_width = if *special { 3 } else { 1 };
        let shape = Element::create(
            ShapeKind::new_box(&text),
            look,
            Orientation::TopToBottom,
            Point::new(width, 34.0),
        );
        handles.push(graph.add_node(shape));
    }
    for (from, to, text) in &drawing.edges {
        let mut arrow = Arrow::simple(&visible(text));
        (arrow.look.font_size, arrow.look.line_width) = (FONT - 2, 1);
        graph.add_edge(arrow, handles[*from], handles[*to]);
    }
    let mut svg = SVGWriter::new();
    graph.do_it(false, false, false, &mut svg);
    svg.finalize().replacen("<defs>", &format!("<defs>{LOOK}"), 1)
}
