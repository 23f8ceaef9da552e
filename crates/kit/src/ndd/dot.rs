//! Room `kit/ndd`: sets as pictures.

use super::{Column, Link, NOTHING, Ndd};
use std::fmt::Write;

impl Ndd {
    /// The automaton as a graph in the language of Graphviz. States are drawn as circles, double if the number may end there; the tests of a digit as boxes with the
    /// name of their column; solid lines are the bit 1, dashed ones 0. What accepts nothing is left out.
    pub fn dot(&self, name: impl Fn(Column) -> String) -> String {
        let mut out = "digraph {\n  start [shape=point];\n".to_owned();
        let node = |link: Link| match link.state() {
            Some(state) => format!("s{state}"),
            None => format!("v{}", link.0),
        };
        let leads = |link: &Link| link.state() != Some(NOTHING);
        for (at, state) in self.0.states.iter().enumerate().skip(1) {
            let shape = if state.accepts { "doublecircle" } else { "circle" };
            let _ = writeln!(out, "  s{at} [shape={shape}, label=\"\"];");
            if leads(&state.root) {
                let _ = writeln!(out, "  s{at} -> {};", node(state.root));
            }
        }
        for (at, vertex) in self.0.vertices.iter().enumerate() {
            let label = name(vertex.column).replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(out, "  v{at} [shape=box, label=\"{label}\"];");
            for (bit, next) in vertex.next.iter().enumerate().filter(|(_, next)| leads(next)) {
                let style = ["dashed", "solid"][bit];
                let _ = writeln!(out, "  v{at} -> {} [style={style}];", node(*next));
            }
        }
        if leads(&self.0.first) {
            let _ = writeln!(out, "  start -> {};", node(self.0.first));
        }
        out + "}\n"
    }
}
