// The explorer: the steps that can be taken next, and questions about what can be reached from here. The run is the server's; the
// page sends commands and shows what comes back.

import { byId, el, code, plural, told } from "./dom.js";

const MOST_KEYS = 9;
const MOST_NAMES = 40;

export class Explorer {
  // `load` shows a run; `shown` says at which step of it the other panes are.
  constructor(state, load, shown) {
    Object.assign(this, { state, load, shown, busy: false });
    byId("explore").hidden = false;
    document.querySelectorAll(".exploring").forEach((element) => (element.hidden = false));
    byId("undo").onclick = () => this.send({ do: "undo" });
    byId("cut").onclick = () => this.send({ do: "cut", to: Number(this.shown()) });
    byId("on").onclick = () => this.send({ do: "on" });
    byId("ask").onclick = () => this.send({ do: "ask", target: byId("target").value });
    byId("run").onclick = () => this.send({ do: "run", target: byId("target").value });
    byId("target").replaceChildren(...state.targets.map((name) => el("option", { value: name }, code(name).textContent)));
    const nothing = state.targets.length === 0;
    ["ask", "run", "target"].forEach((id) => (byId(id).disabled = nothing));
    this.draw();
  }

  // Sends a command. While it is answered no other is sent.
  async send(command) {
    if (this.busy) return;
    this.busy = true;
    byId("explore").setAttribute("aria-busy", "true");
    byId("answer").replaceChildren(command.do === "ask" || command.do === "run" ? "looking …" : "");
    try {
      const answer = await fetch("run", {
        method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...command, at: this.state.steps }),
      });
      if (!answer.ok) throw new Error(await answer.text());
      this.state = await answer.json();
      this.draw();
    } catch (problem) {
      byId("answer").replaceChildren(`The explorer does not answer: ${problem.message}`);
    }
    this.busy = false;
    byId("explore").removeAttribute("aria-busy");
  }

  draw() {
    const { ways, steps, told: message, here, ended } = this.state;
    this.load({ ...this.state.run, explored: { here, ended, stuck: ways.length === 0 } });
    byId("ways").replaceChildren(...this.groups().map(([thread, list]) => this.group(thread, list)));
    if (ways.length === 0) byId("ways").append(el("p", { class: "word" }, this.nothing(here, ended)));
    byId("undo").disabled = steps === 0;
    this.start(steps);
    this.answer(message);
    this.moved();
  }

  nothing(here, ended) {
    if (ended) return "The run has ended.";
    return here ? `The run ends here: ${here}.` : "No step can be taken here: the run is stuck.";
  }

  // What is enabled depends on where the other panes are.
  moved() {
    byId("cut").disabled = Number(this.shown()) >= this.state.steps;
  }

  // The ways by thread, in their order.
  groups() {
    const found = new Map();
    this.state.ways.forEach((way, number) => {
      const list = found.get(way.number) ?? [];
      found.set(way.number, list);
      list.push({ ...way, at: number });
    });
    return [...found];
  }

  group(thread, list) {
    const several = !this.state.run.sequential;
    const name = several ? [el("span", { class: "lane-name" }, list[0].thread === null ? "start" : code(list[0].thread))] : [];
    return el("div", { class: `ways${thread === null ? "" : ` t${thread % 8}`}`, role: "group", "aria-label": several ? list[0].thread ?? "start" : "next step" },
      ...name, ...list.map((way) => this.way(way)));
  }

  // A button, and if there is something to choose beside it, fields.
  way({ at, line, text, branch, chosen, fields, locals, gives }) {
    const key = at < MOST_KEYS ? el("kbd", { "aria-hidden": "true" }, String(at + 1)) : null;
    const value = gives ? gives : chosen.length ? `* = ${chosen.join(", ")}` : "";
    const button = el("button", { type: "button", "data-way": at, onclick: () => this.take(at) },
      key, line ? el("span", { class: "number" }, String(line)) : null, code(text),
      branch ? el("span", { class: "branch" }, code(branch)) : null, value ? el("span", { class: "gives" }, code(value)) : null);
    const inputs = [...this.inputs(at, "choices", fields, "choose"), ...this.inputs(at, "locals", locals, "starts with")];
    return el("div", { class: "way" }, button, ...inputs);
  }

  inputs(at, kind, fields, word) {
    if (fields.length === 0) return [];
    const input = ({ name, type, shown }) => el("label", { hidden: shown === false }, code(name), el("input", {
      "data-for": at, "data-kind": kind, value: "0", inputmode: "numeric", size: 6, title: type, autocomplete: "off",
      onkeydown: (event) => event.key === "Enter" && this.take(at),
    }));
    const list = fields.map(input);
    if (kind === "choices") return [el("span", { class: "fields" }, `${word} `, ...list)];
    if (fields.every(({ shown }) => shown === false)) return [el("span", { hidden: true }, ...list)];
    return [el("details", { class: "fields" }, el("summary", {}, word), ...list)];
  }

  // Takes a step, with the values of its fields.
  take(at) {
    const of = (kind) => [...document.querySelectorAll(`#ways input[data-for="${at}"][data-kind="${kind}"]`)].map((input) => input.value);
    const way = this.state.ways[at];
    if (way === undefined) return;
    const command = { do: "step", way: at };
    if (way.fields.length) command.choices = of("choices");
    if (way.locals.length) command.locals = of("locals");
    this.send(command);
  }

  // The values at the start, as fields.
  start(steps) {
    const { start } = this.state;
    const box = byId("start-values");
    byId("start").hidden = start.every(({ shown }) => !shown);
    const input = ({ name, type, value, shown }) => el("label", { hidden: !shown }, code(name),
      el("input", { value, inputmode: "numeric", size: 6, title: type, autocomplete: "off" }));
    const values = () => [...box.querySelectorAll("input")].map(({ value }) => value);
    const apply = () => this.send({ do: "start", values: values() });
    const form = el("form", { onsubmit: (event) => (event.preventDefault(), apply()) }, ...start.map(input),
      el("button", { id: "begin" }, steps ? "begin again" : "begin with these"));
    box.replaceChildren(form);
    const names = start.filter(({ shown }) => shown).slice(0, MOST_NAMES).map(({ name, value }) => `${name}=${value}`);
    byId("start-summary").replaceChildren(code(names.join(", ")));
  }

  answer(message) {
    const box = byId("answer");
    if (!message) return box.replaceChildren();
    if (message.problem) return box.replaceChildren(el("span", { class: "problem" }, message.problem));
    const parts = [el("span", { class: message.verdict ?? "" }, message.target ? code(message.target) : null, message.target ? ": " : null, message.says)];
    if (message.verdict === "reachable") {
      const more = BigInt(message.length) - BigInt(this.state.steps);
      parts.push(`, of ${plural(told(more), "step")} `, el("button", { type: "button", id: "go-there", onclick: () => this.send({ do: "go" }) }, "go there"));
    }
    if (message.engine) parts.push(el("span", { class: "word" }, ` (${message.engine})`));
    box.replaceChildren(...parts);
  }

  // Keys: digits choose a step, z undoes, c goes on until there is a choice, a asks.
  key(key) {
    if (/^[1-9]$/.test(key) && this.state.ways[Number(key) - 1]) this.take(Number(key) - 1);
    else if (key === "z" || key === "Backspace") this.send({ do: "undo" });
    else if (key === "c") this.send({ do: "on" });
    else if (key === "a" && !byId("target").disabled) byId("target").focus();
    else return false;
    return true;
  }
}
