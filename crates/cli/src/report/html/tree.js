// The call tree as it is seen: the rows in the window, and beside them a map of how deep the whole run goes.

import { el, code, plural, told } from "./dom.js";

const ROW = matchMedia("(pointer: coarse)").matches ? 34 : 25;
// Browsers do not make elements as high as a million rows; beyond this the bar stands for more than it scrolls.
const HIGHEST = 8_000_000;
const MOST_ROWS = 400;
const DEEPEST = 12;
const MOST_VALUES = 6;

// A list of rows of one height of which only those in sight are made.
export class Window {
  constructor(box, height, count, make) {
    Object.assign(this, { box, height, count, make, after: () => {} });
    this.spacer = el("div", { class: "spacer", role: "presentation" });
    this.layer = el("div", { class: "layer", role: "presentation" });
    box.replaceChildren(this.spacer, this.layer);
    box.onscroll = () => this.draw();
    new ResizeObserver(() => (this.current === undefined ? this.draw() : this.show(this.current))).observe(box);
  }

  // How many pixels of rows one pixel of the bar stands for.
  get scale() {
    const [whole, bar] = [this.count() * this.height, this.extent()];
    const seen = this.box.clientHeight;
    return bar <= seen ? 1 : Math.max(1, (whole - seen) / (bar - seen));
  }

  extent() {
    return Math.min(this.count() * this.height, HIGHEST);
  }

  get top() {
    return this.box.scrollTop * this.scale;
  }

  draw() {
    const count = this.count();
    this.spacer.style.height = `${this.extent()}px`;
    const { top } = this;
    const first = Math.max(0, Math.floor(top / this.height) - 2);
    const last = Math.min(count, first + MOST_ROWS, Math.ceil((top + this.box.clientHeight) / this.height) + 2);
    const rows = [];
    for (let at = first; at < last; at++) {
      const row = this.make(at);
      row.style.top = `${this.box.scrollTop + at * this.height - top}px`;
      row.style.height = `${this.height}px`;
      rows.push(row);
    }
    this.layer.replaceChildren(...rows);
    this.after();
  }

  show(at) {
    this.current = at;
    this.spacer.style.height = `${this.extent()}px`;
    const [place, seen] = [at * this.height, this.box.clientHeight];
    const margin = Math.min(3 * this.height, seen / 3);
    if (place < this.top + margin) this.box.scrollTop = (place - margin) / this.scale;
    else if (place + this.height > this.top + seen - margin) this.box.scrollTop = (place + this.height + margin - seen) / this.scale;
    this.draw();
  }
}

export class Tree {
  constructor(box, map, go) {
    Object.assign(this, { box, map, go, rows: null, selected: 0 });
    this.window = new Window(box, ROW, () => this.rows?.size ?? 0, (place) => this.line(place));
    this.window.after = () => this.drawMap();
    const jump = (event) => {
      if (event.buttons === 0 && event.type !== "pointerdown") return;
      const share = (event.clientY - map.getBoundingClientRect().top) / map.clientHeight;
      this.window.box.scrollTop = (share * this.rows.size * ROW - box.clientHeight / 2) / this.window.scale;
    };
    map.onpointerdown = jump;
    map.onpointermove = jump;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawMap());
  }

  load(trace, states, rows) {
    Object.assign(this, { trace, states, rows, effects: new Map() });
    this.map.hidden = rows.size < 12 && !rows.trace.segments.length;
    const lanes = trace.sequential ? 0 : trace.threads.length;
    this.box.style.setProperty("--lanes", lanes);
    this.box.scrollTop = 0;
  }

  select(position) {
    const { node, row } = this.rows.find(position);
    this.selected = this.rows.place(node, row);
    this.node = node;
    this.row = row;
    this.box.setAttribute("aria-activedescendant", `row-${this.selected}`);
    this.window.show(this.selected);
  }

  // One row.
  line(place) {
    const { rows } = this;
    const { node, row } = rows.locate(place);
    const what = rows.what(node, row);
    const [canOpen, isOpen] = [rows.canOpen(node, row), node.open.has(row)];
    const depth = rows.depth(node, row);
    const selected = place === this.selected;
    const step = Math.max(0, Math.min(node.starts[row], this.trace.root.moves.length - 1));
    const line = el("div", {
      class: `row ${what.kind}${this.loops(node, row, what) ? " loops" : ""}`, role: "treeitem", id: `row-${place}`,
      "aria-level": Math.min(depth, 1000) + 1, "aria-selected": String(selected),
      "aria-expanded": canOpen ? String(isOpen) : null,
      onclick: () => this.click(place, canOpen),
    });
    if (!this.trace.sequential) line.append(this.lane(node, what, step));
    line.append(el("span", { class: "indent", style: `width:${Math.min(depth, DEEPEST) * 14}px`, "aria-hidden": "true" },
      depth > DEEPEST ? String(depth) : ""));
    line.append(el("span", {
      class: "toggle", "aria-hidden": "true",
      onclick: (event) => (event.stopPropagation(), this.toggle(place)),
    }, canOpen ? (isOpen ? "▾" : "▸") : ""));
    line.append(...this[what.kind](what, node, isOpen));
    return line;
  }

  click(place) {
    const { node, row } = this.rows.locate(place);
    this.box.focus({ preventScroll: true });
    if (this.rows.what(node, row).kind === "fold") return this.toggle(place);
    this.go(this.rows.position(node, row));
  }

  toggle(place) {
    const { node, row } = this.rows.locate(place);
    if (!this.rows.canOpen(node, row)) return;
    // The selection stays where it is seen.
    let inside = false;
    for (let up = this.node, at = this.row; up; at = up.parentRow, up = up.parent) inside ||= up === node && at === row;
    if (node.open.has(row)) this.rows.collapse(node, row);
    else this.rows.expand(node, row);
    if (inside && this.rows.what(node, row).kind !== "fold") return this.go(this.rows.position(node, row));
    this.selected = this.rows.place(this.node, this.row);
    this.window.draw();
  }

  loops(node, row, what) {
    let [up, at] = [node, row];
    while (up.parent && up.list !== this.trace.root) [at, up] = [up.parentRow, up.parent];
    return this.trace.head >= 0 && what.kind !== "start" && up.starts[at] >= this.trace.head;
  }

  // The lanes of the threads, with a bar in that of the one that runs.
  lane(node, what, step) {
    let up = node;
    let at = step;
    while (up.list !== this.trace.root) {
      at = up.parent.starts[up.parentRow];
      up = up.parent;
    }
    const context = what.kind === "context" ? what.number : what.kind === "start" ? -1 : this.trace.root.context[at];
    const thread = context === undefined || context < 0 ? -1 : this.trace.root.contexts[context].thread;
    const lane = el("span", { class: "lane", "aria-hidden": "true" });
    this.trace.threads.forEach((_, number) => lane.append(el("i", { class: number === thread ? `runs t${number % 8}` : "" })));
    return lane;
  }

  number(line) {
    return el("span", { class: "number" }, line ? String(line) : "");
  }

  step({ at }, node, isOpen) {
    const { trace } = this;
    const edge = trace.edge(node.list, at);
    const parts = [this.number(edge.line), code(edge.text, { class: "code text" })];
    const fails = node.list === trace.root && at === trace.root.moves.length - 1 && trace.head < 0 && !trace.data.explored;
    if (edge.branch) parts.push(el("span", { class: `branch ${fails ? "fails" : ""}` }, code(edge.branch)));
    const callee = trace.callee(node.list, at);
    const returns = callee >= 0 || (node.list === trace.root && trace.nested(at) >= 0);
    if (returns && !isOpen) {
      const count = callee >= 0 ? trace.lengths[callee] : BigInt(trace.root.returns[at] - at);
      if (count > 0n) parts.push(el("span", { class: "inside" }, `${told(count)} inside`));
    }
    parts.push(this.values(this.shown(node.list, at, returns && !isOpen), returns && !isOpen));
    return parts;
  }

  // What a row changes, as names and values.
  shown(list, at, whole) {
    const { trace, states } = this;
    if (whole && list === trace.root && trace.nested(at) >= 0) {
      if (!this.effects.has(at)) this.effects.set(at, states.effect(at, trace.nested(at)));
      return this.effects.get(at);
    }
    return trace.callee(list, at) >= 0 && !whole ? [] : states.changes(list, at);
  }

  values(changes, returned) {
    const known = changes.filter(([variable, value]) => this.trace.vars[variable].shown && value !== null);
    const out = el("span", { class: "values" });
    if (returned) out.append(el("span", { class: "word" }, known.length ? "returns " : "returns"));
    known.slice(0, MOST_VALUES).forEach(([variable, value]) => {
      out.append(el("span", { class: "value" }, code(this.trace.vars[variable].name), "=", el("b", {}, String(value))), " ");
    });
    if (known.length > MOST_VALUES) out.append(`… ${known.length - MOST_VALUES} more`);
    return out;
  }

  start() {
    const { trace } = this;
    const main = trace.sequential ? trace.procs[trace.threads[0].main] : null;
    const name = main === null ? el("span", { class: "label" }, "start") : code(`${main}()`, { class: "code label" });
    return [this.number(0), name, this.values(this.states.initial, false)];
  }

  context({ number }) {
    const { trace } = this;
    const { thread, again, inside } = trace.root.contexts[number];
    const name = code(trace.threads[thread].name, { class: "code label" });
    const words = again ? (inside < 0 ? " goes on" : " goes on in ") : " runs";
    const proc = again && inside >= 0 ? code(trace.procs[trace.edge(trace.root, inside).callee]) : null;
    return [this.number(0), name, el("span", { class: "word" }, words, proc)];
  }

  fold({ period, times }, _node, isOpen) {
    const steps = period === 1 ? "the step above" : `the ${period} steps above`;
    return [this.number(0), el("span", { class: "word" }, isOpen ? `${steps}, ${told(times)} times more` : `… ${steps} ${told(times)} times more …`)];
  }

  head() {
    const { trace } = this;
    const values = [];
    const { head } = trace.data.repeats;
    for (let at = 0; at < head.length; at += 2) values.push([head[at], head[at + 1]]);
    return [this.number(0), el("span", { class: "label" }, "┌ from here on, for ever"), this.values(values, false)];
  }

  end({ target }) {
    const { trace } = this;
    const { waiting, outcome, explored } = trace.data;
    if (explored) return [this.number(0), el("span", { class: "word" }, explored.here ? ["here: ", code(explored.here)] : explored.ended ? "the run has ended" : "here")];
    if (trace.head >= 0) {
      const left = this.left();
      const grows = left > 0 ? `; each round leaves ${plural(left, "activation")} more on the stack` : "";
      return [this.number(0), el("span", { class: "label" }, `└ and so on${grows}`)];
    }
    if (waiting) {
      const parts = waiting.map(({ name, source, line }) => el("span", { class: "word" },
        trace.sequential ? "" : [code(name), " waits"], line ? ` line ${line}: ` : " ", code(source), "  "));
      return [this.number(0), el("span", { class: "label" }, trace.sequential ? "the run cannot go on: " : "no thread can go on: "), ...parts];
    }
    return [this.number(0), code(target, { class: "code label" }), el("span", { class: "word" }, " is reached", outcome ? `: ${outcome}` : "")];
  }

  // How many activations a round of the loop leaves on the stack.
  left() {
    const { root, head } = this.trace;
    const last = root.moves.length - 1;
    const returned = this.trace.isReturn(root, last) ? -1 : this.trace.enters(root, last) ? 1 : 0;
    return root.depth[last] + returned - root.depth[head];
  }

  // How deep each row is; inside calls that are closed, paler.
  drawMap() {
    if (this.map.hidden || !this.rows) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.map.clientWidth, this.map.clientHeight];
    this.map.width = width * ratio;
    this.map.height = height * ratio;
    const paint = this.map.getContext("2d");
    paint.scale(ratio, ratio);
    const style = getComputedStyle(this.map);
    const color = (name) => style.getPropertyValue(name);
    const { size } = this.rows;
    const lines = Math.min(size, Math.floor(height / 2));
    const bars = [];
    for (let at = 0; at < lines; at++) {
      const { node, row } = this.rows.locate(Math.floor((at * size) / lines));
      const depth = this.rows.depth(node, row);
      bars.push([depth, depth + this.rows.height(node, row)]);
    }
    const deepest = bars.reduce((most, [, depth]) => Math.max(most, depth), 1);
    const step = Math.min(height / lines, 6);
    bars.forEach(([depth, inside], at) => {
      const unit = (width - 6) / (deepest + 1);
      paint.fillStyle = color("--pale");
      paint.fillRect(3, at * step, (inside + 1) * unit, Math.max(1, step - 1));
      paint.fillStyle = color("--soft");
      paint.fillRect(3, at * step, (depth + 1) * unit, Math.max(1, step - 1));
    });
    const used = step * lines;
    const place = (rows) => (rows / size) * used;
    paint.fillStyle = color("--accent");
    paint.fillRect(0, place(this.selected), width, Math.max(2, step - 1));
    paint.strokeStyle = color("--soft");
    const top = this.window.top / ROW;
    paint.strokeRect(0.5, place(top) + 0.5, width - 1, Math.min(used, place(this.box.clientHeight / ROW)) - 1);
  }
}
