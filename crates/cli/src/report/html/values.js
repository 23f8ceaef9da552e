// The stacks and the variables at the step at hand.

import { el, code, plural } from "./dom.js";

const MOST_FRAMES = 30;
const MOST_VARIABLES = 200;

export class Values {
  constructor(box, filter, count) {
    Object.assign(this, { box, filter, count, trace: null });
    filter.oninput = () => this.draw();
  }

  load(trace, states) {
    Object.assign(this, { trace, states, state: null });
  }

  show(position) {
    const { trace, states } = this;
    const back = trace.back(position);
    this.old = back ? states.at(back) : null;
    this.changed = states.changed(position);
    this.state = states.at(position);
    // The old values of locals are those of the same activation.
    const [before, now] = [this.old?.tops.get(this.state.thread), this.state.tops.get(this.state.thread)];
    this.same = before && now && before.depth === now.depth && before.proc === now.proc ? before : null;
    this.entered = now && before && now.depth > before.depth;
    this.draw();
  }

  draw() {
    if (!this.state) return;
    const { trace, state } = this;
    const parts = [this.table("Globals", state.globals, this.old?.globals, true)];
    // What ran before all threads has ended when one runs.
    const threads = [...state.tops.keys()].filter((thread) => thread >= 0 || thread === state.thread).sort((a, b) => (b === state.thread) - (a === state.thread) || a - b);
    for (const thread of threads) {
      const frames = this.frames(state.tops.get(thread), thread === state.thread);
      if (trace.sequential) parts.push(frames);
      else {
        const name = thread < 0 ? "before all threads" : trace.threads[thread].name;
        const runs = thread === state.thread;
        parts.push(el("details", { class: `thread t${Math.max(0, thread) % 8}`, open: runs },
          el("summary", {}, code(name), runs ? el("span", { class: "word" }, " runs") : null), frames));
      }
    }
    this.box.replaceChildren(...parts);
    this.count.textContent = this.wanted() ? plural(this.box.querySelectorAll("tbody tr").length, "variable") : "";
  }

  wanted() {
    return this.filter.value.trim().toLowerCase();
  }

  frames(top, runs) {
    const list = el("ol", { class: "frames", "aria-label": "stack, the innermost call first" });
    let [frame, shown] = [top, 0];
    const total = top ? top.depth + 1 : 0;
    while (frame) {
      if (shown === MOST_FRAMES && frame.depth > 2) {
        const skipped = frame.depth - 1;
        list.append(el("li", { class: "word" }, `… ${plural(skipped, "activation")} …`));
        while (frame.depth > 1) frame = frame.up;
      }
      const inner = runs && shown === 0;
      const item = el("li", {}, this.frame(frame, inner));
      item.append(this.table(null, frame.locals, inner ? this.same?.locals : frame.locals, inner));
      list.append(item);
      frame = frame.up;
      shown++;
    }
    return el("section", { "aria-label": `stack of ${plural(total, "activation")}` }, list);
  }

  frame(frame, inner) {
    const called = frame.edge && frame.edge.line ? ` called in line ${frame.edge.line}` : "";
    return el("div", { class: `frame${inner ? " top" : ""}` }, code(this.trace.procs[frame.proc]), el("span", { class: "word" }, called));
  }

  // Values by name. Those that the step changed come with what they were.
  table(caption, values, old, here) {
    const wanted = this.wanted();
    const shown = (variable) => this.trace.vars[variable].shown;
    const name = (variable) => this.trace.vars[variable].name;
    const fits = (variable) => shown(variable) && (!wanted || name(variable).toLowerCase().includes(wanted));
    const all = [...values].filter(([variable]) => fits(variable)).sort(([a], [b]) => name(a).localeCompare(name(b), "en", { numeric: true }) || a - b);
    const gone = here && old ? [...old].filter(([variable]) => fits(variable) && !values.has(variable)) : [];
    const body = el("tbody");
    for (const [variable, value] of all.slice(0, MOST_VARIABLES)) {
      const before = old?.get(variable);
      const changed = here && this.changed.has(variable) && (before !== value || !old);
      body.append(el("tr", { class: changed ? "changed" : "" },
        el("th", { scope: "row", title: this.trace.vars[variable].type }, code(name(variable))),
        el("td", {}, changed && before !== undefined ? el("s", {}, String(before)) : null,
          changed && before !== undefined ? " → " : null, String(value),
          changed ? el("span", { class: "hush" }, " changed") : null)));
    }
    for (const [variable, value] of gone.slice(0, 20)) {
      body.append(el("tr", { class: "gone" }, el("th", { scope: "row" }, code(name(variable))), el("td", {}, el("s", {}, String(value)), " → any")));
    }
    if (all.length > MOST_VARIABLES) body.append(el("tr", {}, el("td", { colspan: "2", class: "word" }, `… ${all.length - MOST_VARIABLES} more; the filter finds them`)));
    if (!body.children.length) return el("div", { class: "none" }, caption && !wanted ? `${caption}: none that matter` : "");
    return el("table", { class: "variables" }, caption ? el("caption", {}, caption) : null, body);
  }
}
