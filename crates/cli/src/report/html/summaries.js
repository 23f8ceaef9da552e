// What procedures do: for each a table of when it is entered with which values, and what it returns with.

import { byId, el, code } from "./dom.js";

// A conjunction as a person reads it; nothing said means anything.
const condition = (text, anything) => (text === "" ? el("span", { class: "word" }, anything) : code(text));

function table({ name, inputs, outputs, exact, rows, more }) {
  const title = el("caption", {}, code(name));
  if (rows === null) return el("table", {}, title, el("tbody", {}, el("tr", {}, el("td", { class: "word" }, "takes more work to say than a page is worth; `postbop summary` may tell"))));
  if (rows.length === 0) return el("table", {}, title, el("tbody", {}, el("tr", {}, el("td", { class: "word" }, "never returns"))));
  const anything = inputs.length ? "anything" : "nothing";
  const body = rows.map(([when, result]) => el("tr", {}, el("td", {}, condition(when, anything)), el("td", {}, condition(result, outputs.length ? "anything" : "nothing new"))));
  if (more) body.push(el("tr", {}, el("td", { class: "word", colspan: 2 }, `… and ${more} cases more`)));
  if (!exact) body.push(el("tr", {}, el("td", { class: "word", colspan: 2 }, "not exact: it returns with no other values, but perhaps not with all of these")));
  return el("table", {}, title, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "when entered with"), el("th", { scope: "col" }, "returns with"))), el("tbody", {}, ...body));
}

export function showSummaries(list) {
  byId("summaries").hidden = list.length === 0;
  byId("summaries").open = list.length > 0 && list.length <= 12 && document.body.dataset.verdict === "holds";
  byId("summary-tables").replaceChildren(...list.map(table));
}
