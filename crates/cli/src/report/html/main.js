// The page: what was asked, what came out, and the panes that follow one position.

import { byId, el, code, visible, plural, told } from "./dom.js";
import { Trace, START } from "./trace.js";
import { States } from "./state.js";
import { Rows } from "./rows.js";
import { Tree } from "./tree.js";
import { Source } from "./source.js";
import { Values } from "./values.js";
import { Lanes } from "./lanes.js";
import { showCourses } from "./chart.js";
import { showSummaries } from "./summaries.js";
import { Explorer } from "./explore.js";

const MOST_PROPERTIES = 200;
const report = JSON.parse(byId("report").textContent);
const page = { property: -1, trace: null, states: null, position: START, explorer: null };
const tree = new Tree(byId("tree"), byId("map"), (position) => go(position));
const source = new Source(byId("source"), byId("source-title"), report.sources, (file, line) => {
  const position = page.trace?.nextOn(page.position, file, line);
  if (position) go(position);
});
const values = new Values(byId("values"), byId("filter"), byId("filter-count"));
const lanes = new Lanes(byId("lanes"), (position) => go(position));

// What is known of a verdict in a few words.
function bound(limits) {
  if (!limits) return "all runs";
  const parts = [];
  if (limits.switches !== undefined) parts.push(plural(limits.switches, "context switch").replace(/switchs$/, "switches"));
  if (limits.rounds !== undefined) parts.push(plural(limits.rounds, "round"));
  if (limits.threads !== undefined) parts.push(plural(limits.threads, "thread"));
  return `runs up to ${parts.join(" and ")}`;
}

function facts(rows) {
  byId("facts").replaceChildren(...rows.flatMap(([name, ...value]) => [el("div", {}, el("dt", {}, name), el("dd", {}, ...value))]));
}

function heading() {
  const { verdict, properties, file } = report;
  document.title = visible(`${verdict}: ${file}`);
  document.body.dataset.verdict = verdict;
  byId("file").replaceChildren(code(file));
  byId("verdict").textContent = verdict;
  byId("version").textContent = `postbop ${report.version}`;
  if (report.explore) return;
  const count = (status) => properties.filter((property) => property.status === status).length;
  const words = [["violated", "violated"], ["unknown", "unknown"], ["holds", "holds"]]
    .filter(([status]) => count(status) > 0).map(([status]) => `${count(status)} ${status === "holds" && count(status) > 1 ? "hold" : status}`);
  byId("tally").textContent = properties.length === 1 ? "" : properties.length === 0 ? "there is nothing to check" : `${plural(properties.length, "property").replace(/propertys$/, "properties")}: ${words.join(", ")}`;
}

// The properties, each with its verdict; those with a trace can be chosen.
function propertyTable(all) {
  const { properties } = report;
  const body = byId("properties");
  const shown = all ? properties : properties.slice(0, MOST_PROPERTIES);
  body.replaceChildren(...shown.map((property, number) => {
    const { name, status, says, engine, trace } = property;
    const title = trace === undefined ? code(name) : el("button", { type: "button", onclick: () => choose(number, null) }, code(name));
    return el("tr", { class: status, "data-property": number },
      el("td", { class: "status" }, el("span", { class: "dot", "aria-hidden": "true" }), status),
      el("th", { scope: "row" }, title),
      el("td", {}, ...remark(property, says)), el("td", { class: "engine" }, engine));
  }));
  // The only property is what the heading is about.
  byId("answers").hidden = properties.length === 1 && properties[0].trace !== undefined && report.blocked.length === 0 && !report.courses;
  byId("more").hidden = shown.length === properties.length;
  byId("more").textContent = `show all ${properties.length}`;
  byId("more").onclick = () => propertyTable(true);
}

function remark({ status, vacuous, reason, advice, bound: limits, explored }, says) {
  if (status === "holds") {
    const parts = [`covers ${bound(limits)}`];
    if (vacuous) parts.push(el("strong", { class: "vacuous" }, "vacuous: no run comes here"));
    return parts.flatMap((part, at) => (at ? ["; ", part] : [part]));
  }
  if (status === "unknown") {
    const parts = [reason];
    if (explored) parts.push(`; no violation in ${bound(explored)}`);
    if (advice) parts.push(el("span", { class: "advice" }, advice));
    return parts;
  }
  return [says];
}

// The assumptions that no run gets past: why properties are vacuous.
function blocked() {
  const list = report.blocked.filter(({ reached }) => reached !== false);
  byId("blocked").hidden = list.length === 0;
  byId("blocked-list").replaceChildren(...list.map(({ line, source: text }) => {
    source.mark(line, "no run gets past");
    return el("li", {}, el("button", { type: "button", onclick: () => source.show({ file: 0, line, from: 0, to: 0 }) }, `line ${line}`), " ", code(text));
  }));
}

// Chooses a property, and the step of its run with a number; the last one if there is none.
function choose(number, step) {
  const property = report.properties[number];
  if (property === undefined) return;
  if (page.property !== number) open(number, property);
  if (page.trace) go(step === null ? page.trace.last() : page.trace.position(step), true);
}

function open(number, property) {
  page.property = number;
  document.querySelectorAll("#properties tr").forEach((row) => {
    if (row.dataset.property === String(number)) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  });
  const data = property.trace === undefined ? null : JSON.parse(byId(`trace-${property.trace}`).textContent);
  load(data, property.name);
  describe(property, data);
}

// Shows a run in all panes.
function load(data, name) {
  page.trace = data && data.too_long === undefined ? new Trace(data) : null;
  document.body.classList.toggle("has-trace", page.trace !== null);
  source.load(page.trace);
  if (!page.trace) return source.show(null);
  page.states = new States(page.trace);
  tree.load(page.trace, page.states, new Rows(page.trace, name));
  values.load(page.trace, page.states);
  lanes.load(page.trace);
  byId("step").max = String(page.trace.length);
}

// The run that is made step by step: shown at its end, whatever is done to it.
function explore() {
  byId("open-values").hidden = true;
  byId("answers").hidden = true;
  const show = (data) => {
    load(data, "");
    go(page.trace.last(), true);
    facts([["Run", plural(told(data.length), "step")]]);
  };
  const at = () => page.trace.number(page.position);
  page.explorer = new Explorer(report.explore, show, at);
}

// The facts about the property at hand.
function describe(property, data) {
  const rows = [["Property", code(property.name)]];
  if (report.properties.length > 1 && property.status !== report.verdict) rows.push(["Verdict", property.status]);
  if (data) {
    const length = data.repeats ? "goes on for ever" : plural(told(data.length), "step");
    rows.push(["Run", data.sequential === false ? `${length}, ${plural(data.switches, "context switch").replace(/switchs$/, "switches")}` : length]);
    if (data.too_long) rows.push(["Trace", `too long for a page: ${told(data.too_long)} steps are stored; --format json has its beginning and its end`]);
  } else {
    rows.push(["Covers", property.status === "unknown" ? (property.explored ? bound(property.explored) : "nothing for certain") : bound(property.bound)]);
  }
  rows.push(["Engine", property.engine]);
  if (report.asked) rows.push(["Asked for", report.asked]);
  if (property.vacuous) rows.push(["Vacuous", "no run comes to where it is checked"]);
  if (property.reason) rows.push(["Reason", property.reason]);
  facts(rows);
}

// All panes go to a position.
function go(position, keep = false) {
  const { trace } = page;
  if (!trace || !position) return;
  page.position = position;
  const { list, at } = trace.here(position);
  const edge = at < 0 ? null : trace.edge(list, at);
  tree.select(position);
  source.show(edge);
  values.show(position);
  lanes.show(position);
  const number = trace.number(position);
  byId("step").value = String(number);
  byId("of").textContent = `of ${told(trace.length)}`;
  const link = `#${report.properties.length > 1 ? `property=${page.property}&` : ""}step=${number}`;
  byId("link").href = link;
  if (!keep || location.hash) history.replaceState(null, "", link);
  byId("said").textContent = announce(number, edge);
  page.explorer?.moved();
  const disabled = (id, other) => (byId(id).disabled = !other);
  ["first", "previous", "back"].forEach((id) => disabled(id, at >= 0 || position.inner.length));
  ["next", "over", "out", "last"].forEach((id) => disabled(id, trace.next(position)));
}

// What a screen reader says of a step.
function announce(number, edge) {
  if (!edge) return "start of the run";
  const changed = [...values.changed].filter((variable) => page.trace.vars[variable].shown).slice(0, 6);
  const top = values.state.tops.get(values.state.thread);
  const value = (variable) => values.state.globals.get(variable) ?? top?.locals.get(variable);
  const words = changed.filter((variable) => value(variable) !== undefined).map((variable) => `${page.trace.vars[variable].name} = ${value(variable)}`);
  return visible(`step ${number}, line ${edge.line}: ${edge.text}${edge.branch ? `, ${edge.branch}` : ""}${words.length ? `; ${words.join(", ")}` : ""}`);
}

const moves = {
  first: () => START,
  previous: () => page.trace.previous(page.position),
  next: () => page.trace.next(page.position),
  over: () => page.trace.over(page.position),
  back: () => page.trace.back(page.position),
  out: () => page.trace.out(page.position),
  last: () => page.trace.last(),
};
const move = (name) => page.trace && go(moves[name]());

const KEYS = { n: "next", p: "previous", o: "over", b: "back", u: "out", Home: "first", End: "last" };

// Keys inside the tree, as in every tree: up and down, in and out.
function treeKey(key) {
  const { rows } = tree;
  const { node, row } = tree;
  const to = (place) => {
    const target = rows.locate(Math.max(0, Math.min(rows.size - 1, place)));
    tree.select(rows.position(target.node, target.row));
    go(rows.position(target.node, target.row));
  };
  const jump = Math.max(1, Math.floor(tree.box.clientHeight / 30));
  const isOpen = node.open.has(row);
  // A row that is no step is passed over.
  const beside = (place, by) => {
    while (place > 0 && place < rows.size - 1) {
      const { node: there, row: at } = rows.locate(place);
      if (["step", "start"].includes(rows.what(there, at).kind)) break;
      place += by;
    }
    return place;
  };
  if (key === "ArrowDown") to(beside(tree.selected + 1, 1));
  else if (key === "ArrowUp") to(beside(tree.selected - 1, -1));
  else if (key === "PageDown") to(beside(tree.selected + jump, 1));
  else if (key === "PageUp") to(beside(tree.selected - jump, -1));
  else if (key === "ArrowRight" && rows.canOpen(node, row) && !isOpen) tree.toggle(tree.selected);
  else if (key === "ArrowRight") move("next");
  else if (key === "ArrowLeft" && isOpen) tree.toggle(tree.selected);
  else if (key === "ArrowLeft" && node.parent) to(rows.place(node.parent, node.parentRow));
  else return false;
  return true;
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.matches("input, select, textarea") || byId("help").open) return;
  const { key } = event;
  if (page.explorer?.key(key)) return event.preventDefault();
  if (page.trace && KEYS[key]) move(KEYS[key]);
  else if (page.trace && document.activeElement === tree.box && treeKey(key)) event.preventDefault();
  else if (key === "/" && page.trace) byId("filter").focus();
  else if (key === "?") byId("help").showModal();
  else return;
  event.preventDefault();
}

// Light, dark, or as the system is. A browser may refuse to remember it.
function theme(next) {
  const remember = (act) => {
    try {
      return act();
    } catch {
      return null;
    }
  };
  const order = ["system", "light", "dark"];
  const now = remember(() => localStorage.getItem("postbop-theme")) ?? "system";
  const wish = next ? order[(order.indexOf(document.documentElement.dataset.theme ?? now) + 1) % 3] : now;
  document.documentElement.dataset.theme = wish;
  byId("theme").textContent = wish;
  byId("theme").setAttribute("aria-label", `colours: ${wish}`);
  remember(() => localStorage.setItem("postbop-theme", wish));
  if (page.trace) tree.drawMap();
}

// The property and the step that the address names.
function address() {
  const wish = new URLSearchParams(location.hash.slice(1));
  if (page.explorer) return go(page.trace.position(BigInt(/^\d{1,10}$/.test(wish.get("step") ?? "") ? wish.get("step") : 0)), true);
  const first = report.properties.findIndex((property) => property.trace !== undefined);
  const number = /^\d+$/.test(wish.get("property") ?? "") ? Number(wish.get("property")) : Math.max(0, first);
  const step = /^\d{1,10000}$/.test(wish.get("step") ?? "") ? BigInt(wish.get("step")) : null;
  choose(report.properties[number] ? number : 0, step);
}

heading();
propertyTable(false);
showSummaries(report.summaries ?? []);
showCourses(report.courses);
blocked();
theme(false);
document.body.classList.toggle("no-source", source.isEmpty);
for (const name of Object.keys(moves)) byId(name).onclick = () => move(name);
byId("theme").onclick = () => theme(true);
byId("help-button").onclick = () => byId("help").showModal();
byId("close").onclick = () => byId("help").close();
byId("step").onchange = () => {
  const wish = byId("step").value.trim();
  if (page.trace && /^\d+$/.test(wish)) go(page.trace.position(BigInt(wish)));
};
byId("filter").onkeydown = (event) => {
  if (event.key !== "Escape") return;
  byId("filter").value = "";
  values.draw();
  tree.box.focus();
};
document.addEventListener("keydown", onKey);
window.addEventListener("hashchange", address);
if (report.explore) explore();
else address();
document.body.classList.add("ready");
