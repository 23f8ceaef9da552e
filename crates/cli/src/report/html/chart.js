// The course of a search: how much it holds, and how much waits to be done, against the work.

import { byId, el, told } from "./dom.js";

const WIDTH = 520;
const HEIGHT = 130;
const LEFT = 62;
const BOTTOM = 20;

function shape(name, attributes, ...children) {
  const element = document.createElementNS(byId("any-svg").namespaceURI, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

// One line against the work, from 0 to the largest value.
function chart(title, moments, column) {
  const most = moments.reduce((most, moment) => Math.max(most, moment[column]), 1);
  const last = Math.max(1, moments.at(-1)[0]);
  const x = (work) => LEFT + (work / last) * (WIDTH - LEFT - 8);
  const y = (value) => 8 + (1 - value / most) * (HEIGHT - BOTTOM - 16);
  const points = moments.map((moment) => `${x(moment[0]).toFixed(1)},${y(moment[column]).toFixed(1)}`).join(" ");
  const label = (at, down, anchor, text) => shape("text", { x: at, y: down, "text-anchor": anchor, class: "axis" }, text);
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: at most ${most}` },
    shape("line", { x1: LEFT, y1: y(0), x2: WIDTH - 8, y2: y(0), class: "rule" }),
    shape("polyline", { points, class: "course" }),
    label(LEFT - 6, y(most) + 4, "end", told(most)), label(LEFT - 6, y(0) + 4, "end", "0"),
    label(WIDTH - 8, HEIGHT - 4, "end", `${told(last)} units of work`));
  return el("figure", {}, el("figcaption", {}, title), svg);
}

export function showCourses(list) {
  byId("courses").hidden = !list;
  if (!list) return;
  const drawn = list.filter(({ moments }) => moments.length > 1).flatMap(({ engine, moments }) => {
    const charts = [chart(`${engine}: held`, moments, 1)];
    if (moments.some((moment) => moment[2] > 0)) charts.push(chart(`${engine}: waiting`, moments, 2));
    return charts;
  });
  byId("course-charts").replaceChildren(...(drawn.length ? drawn : [el("p", { class: "note" }, "There is nothing to draw: the search was over at once, or its engine does not say how much it holds.")]));
}
