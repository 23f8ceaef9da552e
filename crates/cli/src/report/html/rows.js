// The lines of the call tree: which there are, and at which place each stands.
//
// A node is a list of rows: steps, and a few that are not steps (where a thread goes on, where a loop begins). A call that
// came back is one row until it is opened: then it has a node of its own below it. Rounds of a loop that come again are one row
// in the same way. A node is made when it is opened, so the size of the tree is that of what is shown.

// Rounds are folded if at least so many of them, and so many rows in all, would be.
const LONGEST = 40;
const FEWEST = 3;
const LINES = 12;

export class Node {
  // `rows` are steps, or for a negative number n the row `extras[-n - 1]`; `starts` the first step that each is about.
  constructor(list, draft, parent, parentRow, depth) {
    Object.assign(this, { list, parent, parentRow, depth, extras: draft.extras });
    this.rows = Int32Array.from(draft.rows);
    this.starts = Int32Array.from(draft.starts);
    this.open = new Map();
    this.order = [];
    this.size = this.rows.length;
  }

  grow(by) {
    for (let node = this; node; node = node.parent) node.size += by;
  }
}

// The rows of a node while they are collected.
class Draft {
  rows = [];
  starts = [];
  extras = [];

  step(at) {
    this.rows.push(at);
    this.starts.push(at);
  }

  extra(extra, at) {
    this.extras.push(extra);
    this.rows.push(-this.extras.length);
    this.starts.push(at);
  }
}

export class Rows {
  constructor(trace, target) {
    this.trace = trace;
    this.root = new Node(trace.root, this.wholeRun(target), null, -1, 0);
  }

  get size() {
    return this.root.size;
  }

  wholeRun(target) {
    const { trace } = this;
    const { root } = trace;
    const draft = new Draft();
    draft.extra({ kind: "start" }, -1);
    root.contexts.forEach((context, number) => {
      if (context.thread >= 0 && !trace.sequential) draft.extra({ kind: "context", number }, context.start);
      const looping = trace.head >= context.start && number === root.contexts.length - 1;
      const middle = looping ? trace.head : context.end;
      this.fold(root, this.items(context.start, middle), draft);
      if (!looping) return;
      draft.extra({ kind: "head" }, middle);
      this.fold(root, this.items(middle, context.end), draft);
    });
    draft.extra({ kind: "end", target }, root.moves.length);
    return draft;
  }

  // The steps of the root between two, without those inside calls that return in their context.
  items(from, to) {
    const found = [];
    for (let at = from; at < to; at++) {
      found.push(at);
      const returns = this.trace.nested(at);
      if (returns >= 0 && returns < to) at = returns;
    }
    return found;
  }

  // Adds steps; of rounds that come again the first and the last one, and a row for those between.
  fold(list, items, draft) {
    const edge = (at) => this.trace.moves[list.moves[items[at]]][0];
    let at = 0;
    while (at < items.length) {
      const [period, rounds] = this.round(edge, at, items.length);
      if (period === 0) {
        draft.step(items[at++]);
        continue;
      }
      for (const end = at + period; at < end; at++) draft.step(items[at]);
      const inside = items.slice(at, at + period * (rounds - 2));
      draft.extra({ kind: "fold", items: inside, period, times: rounds - 2 }, items[at]);
      at += inside.length;
      for (const end = at + period; at < end; at++) draft.step(items[at]);
    }
  }

  // The shortest round that begins here and is worth folding, and how often it comes; 0 if there is none.
  round(edge, at, length) {
    for (let period = 1; period <= LONGEST && at + 2 * period <= length; period++) {
      if (edge(at) !== edge(at + period)) continue;
      let end = at + period;
      while (end < length && edge(end) === edge(end - period)) end++;
      const rounds = Math.floor((end - at) / period);
      if (rounds >= FEWEST + 2 && (rounds - 2) * period >= LINES) return [period, rounds];
    }
    return [0, 0];
  }

  // What a row is: a step, or one of the others.
  what(node, row) {
    const number = node.rows[row];
    return number >= 0 ? { kind: "step", at: number } : node.extras[-number - 1];
  }

  // How many calls are open where a row is.
  depth(node, row) {
    const what = this.what(node, row);
    if (node.list !== this.trace.root) return node.depth;
    const at = what.kind === "step" ? what.at : what.kind === "fold" || what.kind === "head" ? node.starts[row] : -1;
    return at < 0 || at >= this.trace.root.depth.length ? 0 : this.trace.root.depth[at];
  }

  // How many calls deep it goes inside a row that is closed.
  height(node, row) {
    const what = this.what(node, row);
    if (what.kind !== "step" || node.open.has(row)) return 0;
    const callee = this.trace.opens(node.list, what.at);
    if (callee >= 0) return this.trace.heights[callee];
    return node.list === this.trace.root && this.trace.nested(what.at) >= 0 ? 1 : 0;
  }

  // What stands below a row when it is opened; nothing if it has nothing to open.
  below(node, row) {
    const { trace } = this;
    const what = this.what(node, row);
    const draft = new Draft();
    if (what.kind === "fold") {
      what.items.forEach((at) => draft.step(at));
      return { list: node.list, draft };
    }
    if (what.kind !== "step") return null;
    const callee = trace.opens(node.list, what.at);
    if (callee >= 0) {
      const list = trace.segments[callee];
      this.fold(list, Array.from(list.moves.keys()), draft);
      return { list, draft };
    }
    const returns = node.list === trace.root ? trace.nested(what.at) : -1;
    if (returns < 0) return null;
    this.fold(trace.root, this.items(what.at + 1, returns + 1), draft);
    return { list: trace.root, draft };
  }

  canOpen(node, row) {
    const { trace } = this;
    const what = this.what(node, row);
    if (what.kind !== "step") return what.kind === "fold";
    return trace.opens(node.list, what.at) >= 0 || (node.list === trace.root && trace.nested(what.at) >= 0);
  }

  expand(node, row) {
    if (node.open.has(row)) return node.open.get(row);
    const below = this.below(node, row);
    if (!below) return null;
    const isFold = this.what(node, row).kind === "fold";
    const depth = isFold ? node.depth : this.depth(node, row) + 1;
    const child = new Node(below.list, below.draft, node, row, depth);
    node.open.set(row, child);
    node.order = [...node.open.keys()].sort((a, b) => a - b);
    node.grow(child.size);
    return child;
  }

  collapse(node, row) {
    const child = node.open.get(row);
    if (!child) return;
    node.open.delete(row);
    node.order = node.order.filter((other) => other !== row);
    node.grow(-child.size);
  }

  // The node and the row at a place of the whole tree.
  locate(place) {
    let node = this.root;
    let rest = place;
    for (;;) {
      let inside = null;
      for (const row of node.order) {
        const child = node.open.get(row);
        if (rest <= row) break;
        if (rest <= row + child.size) {
          inside = child;
          rest -= row + 1;
          break;
        }
        rest -= child.size;
      }
      if (!inside) return { node, row: rest };
      node = inside;
    }
  }

  // The place of a row in the whole tree.
  place(node, row) {
    let place = -1;
    for (; node; row = node.parentRow, node = node.parent) {
      place += 1 + row;
      for (const open of node.order) {
        if (open >= row) break;
        place += node.open.get(open).size;
      }
    }
    return place;
  }

  // The row of a node that a step is in.
  rowOf(node, at) {
    let [low, high] = [0, node.rows.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (node.starts[middle] <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // The row of a position; what is closed on the way is opened, but for a call that just ended there.
  find(position) {
    const { trace } = this;
    let node = this.root;
    if (position.root < 0) return { node, row: 0 };
    const path = [position.root, ...position.inner.map(({ at }) => at)];
    for (let level = 0; level < path.length; level++) {
      const [at, last] = [path[level], level === path.length - 1];
      let row;
      for (;;) {
        row = this.rowOf(node, at);
        const what = this.what(node, row);
        if (what.kind === "step" && what.at === at) break;
        // It returns at the end of a call that is closed: the call stands for it.
        if (last && what.kind === "step" && !node.open.has(row) && trace.nested(what.at) === at) return { node, row };
        const child = this.expand(node, row);
        if (!child) return { node, row };
        node = child;
      }
      if (last) return { node, row };
      const { segment, at: inside } = position.inner[level];
      const ends = level === path.length - 2 && inside === trace.segments[segment].moves.length - 1;
      if (ends && !node.open.has(row)) return { node, row };
      node = this.expand(node, row);
    }
    return { node, row: 0 };
  }

  // The position of a row: of a call that is closed, its end.
  position(node, row) {
    const { trace } = this;
    const inner = [];
    const what = this.what(node, row);
    const isClosed = what.kind === "step" && !node.open.has(row);
    if (what.kind === "start") return { root: -1, inner };
    let at = what.kind === "step" ? what.at : Math.min(Math.max(node.starts[row], 0), node.list.moves.length - 1);
    let list = node.list;
    for (let up = node; list !== trace.root; up = up.parent) {
      // The segment of this node is named by a row of the nearest node of another list.
      let child = up;
      while (child.parent.list === list && this.what(child.parent, child.parentRow).kind === "fold") child = child.parent;
      inner.unshift({ segment: list.id, at });
      list = child.parent.list;
      at = this.what(child.parent, child.parentRow).at;
      up = child;
    }
    const position = { root: at, inner };
    return isClosed ? trace.completed(position) : position;
  }
}
