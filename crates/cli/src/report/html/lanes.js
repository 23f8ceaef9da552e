// Threads as swimlanes: one row for each thread, one block for each context, in the order of the run.

import { el, code, plural } from "./dom.js";

const MOST = 400;

export class Lanes {
  constructor(box, go) {
    Object.assign(this, { box, go, trace: null });
  }

  load(trace) {
    this.trace = trace;
    this.from = -1;
    this.box.hidden = trace.sequential;
    if (!trace.sequential) this.draw(0);
  }

  // Of very many contexts those around the one at hand.
  draw(current) {
    const { trace } = this;
    const { contexts } = trace.root;
    const from = Math.max(0, Math.min(current - MOST / 2, contexts.length - MOST));
    if (from === this.from) return;
    this.from = from;
    const shown = contexts.slice(from, from + MOST);
    const most = shown.reduce((most, { start, end }) => Math.max(most, end - start), 1);
    const columns = shown.map(({ start, end }) => `minmax(${Math.round(26 + 70 * Math.sqrt((end - start) / most))}px, ${Math.max(1, Math.round(10 * Math.sqrt((end - start) / most)))}fr)`);
    const grid = el("div", { class: "lanes-grid", style: `grid-template-columns: max-content ${columns.join(" ")}` });
    const begins = contexts[0].thread < 0 ? 1 : 0;
    const rows = trace.threads.length + begins;
    if (begins) grid.append(this.name("start", 1, null));
    trace.threads.forEach(({ name }, thread) => grid.append(this.name(name, thread + begins + 1, thread)));
    for (let row = 1; row <= rows; row++) grid.append(el("i", { class: "rail", style: `grid-row:${row};grid-column:2/-1`, "aria-hidden": "true" }));
    this.blocks = new Map();
    shown.forEach(({ thread, start, end }, at) => {
      const row = thread < 0 ? 1 : thread + begins + 1;
      const name = thread < 0 ? "start" : trace.threads[thread].name;
      const steps = plural(end - start, "step");
      const block = el("button", {
        type: "button", class: `block t${Math.max(0, thread) % 8}${thread < 0 ? " first" : ""}`, style: `grid-row:${row};grid-column:${at + 2}`,
        "aria-label": `context ${from + at + 1} of ${contexts.length}: ${name}, ${steps}`, title: `${name}: ${steps}`,
        onclick: () => this.go({ root: Math.min(start, trace.root.moves.length - 1), inner: [] }),
      }, String(end - start));
      this.blocks.set(from + at, block);
      grid.append(block);
      const before = shown[at - 1];
      if (before && before.thread >= 0) grid.append(this.change(before.thread + begins + 1, row, at + 2));
    });
    this.box.replaceChildren(el("h2", {}, "Threads ", el("span", { class: "word" }, plural(trace.data.switches, "context switch").replace(/switchs$/, "switches"))), grid);
    if (contexts.length > MOST) this.box.append(el("p", { class: "word" }, `contexts ${from + 1} to ${from + shown.length} of ${contexts.length}`));
  }

  name(name, row, thread) {
    return el("span", { class: `lane-name ${thread === null ? "" : `t${thread % 8}`}`, style: `grid-row:${row};grid-column:1` }, code(name));
  }

  // A context switch.
  change(one, other, column) {
    const [top, bottom] = [Math.min(one, other), Math.max(one, other)];
    return el("i", { class: "change", "aria-hidden": "true", style: `grid-row:${top}/${bottom + 1};grid-column:${column}` });
  }

  show(position) {
    if (this.trace.sequential) return;
    const { root } = this.trace;
    const current = position.root < 0 ? 0 : root.context[position.root];
    this.draw(current);
    this.blocks.forEach((block, context) => {
      if (context === current && position.root >= 0) block.setAttribute("aria-current", "true");
      else block.removeAttribute("aria-current");
    });
    this.blocks.get(current)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
