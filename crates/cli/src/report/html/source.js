// The source: the line of the step at hand, and the lines that the run executes.

import { el, visible } from "./dom.js";
import { Window } from "./tree.js";

const LINE = 21;
// No line is shown any further: a program may be one line of ten megabytes.
const WIDEST = 2000;

export class Source {
  constructor(box, title, sources, go) {
    Object.assign(this, { box, title, go, file: 0, edge: null, executed: [] });
    this.files = sources.map(({ name, text }) => ({ name, lines: text === null ? null : text.replace(/\r?\n$/, "").split(/\r?\n/) }));
    this.marks = new Map();
    this.window = new Window(box, LINE, () => this.lines.length, (at) => this.line(at));
    this.choose(0);
  }

  get lines() {
    return this.files[this.file].lines ?? [];
  }

  get isEmpty() {
    return this.files.every(({ lines }) => !lines || lines.every((line) => line === ""));
  }

  choose(file) {
    this.file = file;
    const { name, lines } = this.files[file];
    this.title.textContent = visible(name) + (lines ? "" : " (too large for this page)");
    this.box.style.setProperty("--digits", String(this.lines.length).length);
  }

  // The lines that a run executes, shaded.
  load(trace) {
    this.executed = this.files.map(() => new Set());
    if (trace) for (const edge of trace.edges) this.executed[edge.file]?.add(edge.line);
  }

  // Lines with a remark, such as an assumption that no run gets past.
  mark(line, remark) {
    this.marks.set(line, remark);
  }

  show(edge) {
    this.edge = edge;
    if (edge && edge.file !== this.file) this.choose(edge.file);
    if (edge && edge.line > 0) this.window.show(edge.line - 1);
    else this.window.draw();
  }

  line(at) {
    const number = at + 1;
    const here = this.edge && this.edge.file === this.file && this.edge.line === number;
    const executed = this.executed[this.file]?.has(number);
    const remark = this.file === 0 ? this.marks.get(number) : undefined;
    const text = this.lines[at];
    const row = el("div", {
      class: `line${executed ? " executed" : ""}${here ? " here" : ""}${remark ? " remarked" : ""}`,
      "aria-current": here ? "step" : null,
      onclick: executed ? () => this.go(this.file, number) : null,
      title: executed ? "go to the next step on this line" : null,
    }, el("span", { class: "number" }, String(number)));
    const body = el("span", { class: "code text" });
    if (here && this.edge.to > this.edge.from) {
      const { from, to } = this.edge;
      body.append(visible(text.slice(0, Math.min(from, WIDEST))), el("mark", {}, visible(text.slice(from, Math.min(to, from + WIDEST)))),
        visible(text.slice(to, to + WIDEST)));
    } else {
      body.append(visible(text.slice(0, WIDEST)), text.length > WIDEST ? "…" : "");
    }
    row.append(body);
    if (remark) row.append(el("span", { class: "remark" }, remark));
    return row;
  }
}
