// A trace as `pack.rs` writes it: lists of moves, and positions in the run that they stand for.
//
// The run is a list of steps (the contexts one after the other, the *root*), in which a step may name a segment: a completed
// call, which is a list of steps again. A position is a step of the root, and below it a step of each segment that is entered:
// { root, inner: [{ segment, at }, ...] }. `root: -1` is the start of the run. Positions are numbered as if all calls were
// unfolded, by exact numbers: a run may have 2^200 steps.

const CALL = 1;
const RETURN = 2;
// A number of steps with more bits than this is not computed; such a call is not opened.
const MOST_BITS = 20_000;
// Below this, numbers of steps are plain numbers.
const EXACT = 2n ** 53n;

// The moves of a list; a negative number says how many of the last ones come again, and the next one how often.
function unpack(packed) {
  let length = 0;
  for (let at = 0; at < packed.length; at++) {
    if (packed[at] < 0) length -= packed[at] * packed[++at];
    else length++;
  }
  const moves = new Int32Array(length);
  let next = 0;
  for (let at = 0; at < packed.length; at++) {
    if (packed[at] >= 0) {
      moves[next++] = packed[at];
      continue;
    }
    const period = -packed[at];
    const end = next + period * packed[++at];
    for (; next < end; next++) moves[next] = moves[next - period];
  }
  return moves;
}

export class Trace {
  constructor(data) {
    this.data = data;
    this.length = BigInt(data.length);
    this.procs = data.procs;
    this.vars = data.vars.map(([name, scope, type, shown]) => ({ name, scope, type, shown: shown === 1 }));
    this.edges = data.edges.map(([file, line, from, to, text, branch, kind, callee]) =>
      ({ file, line, from, to, text, branch, kind, callee }));
    this.moves = data.moves;
    this.threads = data.threads.map(([name, main]) => ({ name, main }));
    this.sequential = data.sequential;
    this.segments = data.segments.map(([proc, entry, packed], id) =>
      ({ id, proc, entry, moves: unpack(packed), behind: id, starts: null }));
    this.measure();
    this.makeRoot();
  }

  // How long segments are when they are unfolded, and how deep.
  measure() {
    this.lengths = [];
    this.heights = new Int32Array(this.segments.length);
    const bits = new Float64Array(this.segments.length);
    this.segments.forEach((list, id) => {
      let length = BigInt(list.moves.length);
      let height = 0;
      let most = 0;
      for (let at = 0; at < list.moves.length; at++) {
        const callee = this.callee(list, at);
        if (callee < 0) continue;
        length += this.lengths[callee];
        height = Math.max(height, this.heights[callee]);
        most = Math.max(most, bits[callee]);
      }
      bits[id] = most + Math.log2(list.moves.length + 1);
      list.sealed = bits[id] > MOST_BITS;
      this.lengths.push(list.sealed ? 0n : length);
      this.heights[id] = height + 1;
    });
  }

  // The contexts one after the other: for each step its context, its depth, the step that entered its procedure, and for a
  // call that enters one, the step that returns.
  makeRoot() {
    const contexts = this.data.contexts.map(([thread, packed]) => ({ thread, moves: unpack(packed) }));
    const count = contexts.reduce((sum, context) => sum + context.moves.length, 0);
    const root = {
      moves: new Int32Array(count), behind: this.segments.length, starts: null,
      contexts: [], context: new Int32Array(count), depth: new Int32Array(count),
      entered: new Int32Array(count), returns: new Int32Array(count).fill(-1),
    };
    const open = new Map();
    let at = 0;
    contexts.forEach(({ thread, moves }, number) => {
      const stack = open.get(thread) ?? [];
      open.set(thread, stack);
      const again = stack.started === true;
      stack.started = true;
      root.contexts.push({ thread, start: at, end: at + moves.length, again, inside: stack.length ? stack.at(-1) : -1 });
      root.moves.set(moves, at);
      for (const end = at + moves.length; at < end; at++) {
        root.context[at] = number;
        root.depth[at] = stack.length;
        root.entered[at] = stack.length ? stack.at(-1) : -1;
        if (this.enters(root, at)) stack.push(at);
        else if (this.edge(root, at).kind === RETURN && stack.length) root.returns[stack.pop()] = at;
      }
    });
    this.root = root;
    const { repeats } = this.data;
    this.head = repeats ? root.contexts[repeats.context].start + repeats.step : -1;
  }

  edge(list, at) {
    return this.edges[this.moves[list.moves[at]][0]];
  }

  // The segment that a step names, or -1.
  callee(list, at) {
    const back = this.moves[list.moves[at]][1];
    return back === 0 ? -1 : list.behind - back;
  }

  // The same, if it can be opened.
  opens(list, at) {
    const callee = this.callee(list, at);
    return callee >= 0 && !this.segments[callee].sealed ? callee : -1;
  }

  // Whether a step is a call that enters its procedure.
  enters(list, at) {
    return this.edge(list, at).kind === CALL && this.callee(list, at) < 0;
  }

  isReturn(list, at) {
    return this.edge(list, at).kind === RETURN;
  }

  // The list and the step in it at which a position is.
  here({ root, inner }) {
    const last = inner.at(-1);
    return last ? { list: this.segments[last.segment], at: last.at } : { list: this.root, at: root };
  }

  // How many steps of the unfolded run come before each step of a list.
  before(list, at) {
    list.starts ??= this.length < EXACT ? this.smallStarts(list) : this.bigStarts(list);
    return BigInt(list.starts[at]);
  }

  bigStarts(list) {
    const starts = [];
    let total = 0n;
    for (let step = 0; step < list.moves.length; step++) {
      starts.push(total);
      const callee = this.opens(list, step);
      total += callee < 0 ? 1n : 1n + this.lengths[callee];
    }
    return starts;
  }

  smallStarts(list) {
    const starts = new Float64Array(list.moves.length);
    let total = 0;
    for (let step = 0; step < list.moves.length; step++) {
      starts[step] = total;
      const callee = this.opens(list, step);
      total += callee < 0 ? 1 : 1 + Number(this.lengths[callee]);
    }
    return starts;
  }

  // The number of a position: 0 is the start.
  number({ root, inner }) {
    if (root < 0) return 0n;
    let number = this.before(this.root, root) + 1n;
    for (const { segment, at } of inner) number += this.before(this.segments[segment], at) + 1n;
    return number;
  }

  // The position of a number, or the nearest.
  position(number) {
    if (number <= 0n || this.root.moves.length === 0) return START;
    const inner = [];
    let list = this.root;
    let root = -1;
    for (;;) {
      this.before(list, 0);
      let [low, high] = [0, list.moves.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (list.starts[middle] < number) low = middle;
        else high = middle - 1;
      }
      if (list === this.root) root = low;
      else inner.push({ segment: list.id, at: low });
      number -= BigInt(list.starts[low]) + 1n;
      const callee = this.opens(list, low);
      if (number <= 0n || callee < 0) return { root, inner };
      list = this.segments[callee];
    }
  }

  last() {
    return { root: this.root.moves.length - 1, inner: [] };
  }

  // The next step, into calls.
  next(position) {
    const { list, at } = this.here(position);
    const callee = at < 0 ? -1 : this.opens(list, at);
    if (callee >= 0) return { ...position, inner: [...position.inner, { segment: callee, at: 0 }] };
    return this.following(position);
  }

  // The next step at this level, or after the call that ends here.
  following({ root, inner }) {
    for (let level = inner.length - 1; level >= 0; level--) {
      const { segment, at } = inner[level];
      if (at + 1 < this.segments[segment].moves.length) {
        return { root, inner: [...inner.slice(0, level), { segment, at: at + 1 }] };
      }
    }
    return root + 1 < this.root.moves.length ? { root: root + 1, inner: [] } : null;
  }

  previous({ root, inner }) {
    if (root < 0) return null;
    const last = inner.at(-1);
    if (last && last.at === 0) return { root, inner: inner.slice(0, -1) };
    const before = last
      ? { root, inner: [...inner.slice(0, -1), { segment: last.segment, at: last.at - 1 }] }
      : { root: root - 1, inner: [] };
    return this.ending(before);
  }

  // The last step of the call that a position names, or the position itself.
  ending(position) {
    const inner = [...position.inner];
    for (;;) {
      const { list, at } = this.here({ root: position.root, inner });
      const callee = at < 0 ? -1 : this.opens(list, at);
      if (callee < 0) return { root: position.root, inner };
      inner.push({ segment: callee, at: this.segments[callee].moves.length - 1 });
    }
  }

  // The end of the call that begins at a position, if it is one that comes back: a segment, or in its context.
  completed(position) {
    const { list, at } = this.here(position);
    if (at < 0) return position;
    const callee = this.opens(list, at);
    if (callee >= 0) {
      return { ...position, inner: [...position.inner, { segment: callee, at: this.segments[callee].moves.length - 1 }] };
    }
    const returns = list === this.root ? this.nested(at) : -1;
    return returns < 0 ? position : { root: returns, inner: [] };
  }

  // For a step that enters a procedure which returns in the same context: the step that returns; otherwise -1.
  nested(at) {
    const returns = this.root.returns[at];
    return returns >= 0 && this.root.context[returns] === this.root.context[at] ? returns : -1;
  }

  // The call that ends at a position, if one does; otherwise the position itself.
  opening(position) {
    const { list, at } = this.here(position);
    if (at < 0 || !this.isReturn(list, at)) return position;
    if (list !== this.root) return { root: position.root, inner: position.inner.slice(0, -1) };
    const call = this.root.entered[at];
    return call >= 0 && this.nested(call) === at ? { root: call, inner: [] } : position;
  }

  // The next step at this level, with a call that comes back taken as one step.
  over(position) {
    const { list, at } = this.here(position);
    const returns = list === this.root && at >= 0 ? this.nested(at) : -1;
    const after = this.following(returns < 0 ? position : { root: returns, inner: [] });
    return after && this.completed(after);
  }

  // The step before at this level.
  back(position) {
    const call = this.opening(position);
    const last = call.inner.at(-1);
    if (call.root < 0) return null;
    if (last) {
      const parent = { root: call.root, inner: call.inner.slice(0, -1) };
      if (last.at === 0) return parent;
      return this.completed({ root: call.root, inner: [...parent.inner, { segment: last.segment, at: last.at - 1 }] });
    }
    if (call.root === 0) return START;
    // The step before may return from a call: then the call as a whole is before.
    return this.ending({ root: call.root - 1, inner: [] });
  }

  // The next step on a line of the source, from a position on and then from the start; null if the run does not come there.
  nextOn(position, file, line) {
    const isThere = (list, at) => this.edge(list, at).line === line && this.edge(list, at).file === file;
    const has = new Uint8Array(this.segments.length);
    const leads = (list, at) => this.opens(list, at) >= 0 && has[this.opens(list, at)] === 1;
    this.segments.forEach((list, id) => {
      for (let at = 0; at < list.moves.length && !has[id]; at++) has[id] = isThere(list, at) || leads(list, at) ? 1 : 0;
    });
    // The first such step of a list, from one of them on, as the rest of a position.
    const first = (list, from) => {
      const path = [];
      for (let at = from; at < list.moves.length; at++) {
        if (!isThere(list, at) && !leads(list, at)) continue;
        path.push({ list, at });
        if (isThere(list, at)) return path;
        [list, at] = [this.segments[this.opens(list, at)], -1];
      }
      return null;
    };
    const found = (root, inner, path) => {
      const [begin, ...rest] = path;
      const step = ({ list, at }) => ({ segment: list.id, at });
      return begin.list === this.root ? { root: begin.at, inner: rest.map(step) } : { root, inner: [...inner, ...path.map(step)] };
    };
    const { root, inner } = position;
    const { list, at } = this.here(position);
    const inside = at >= 0 && leads(list, at) ? first(this.segments[this.opens(list, at)], 0) : null;
    if (inside) return found(root, inner, inside);
    for (let level = inner.length - 1; level >= 0; level--) {
      const { segment, at: here } = inner[level];
      const path = first(this.segments[segment], here + 1);
      if (path) return found(root, inner.slice(0, level), path);
    }
    const path = first(this.root, root + 1) ?? first(this.root, 0);
    return path && found(root, [], path);
  }

  // The return of the procedure in which a position is; the end of the run if it does not return.
  out(position) {
    const { list, at } = this.here(position);
    if (list !== this.root) {
      const inner = [...position.inner];
      if (at + 1 === list.moves.length) inner.pop();
      const last = inner.at(-1);
      if (!last) return this.out({ root: position.root, inner: [] });
      inner[inner.length - 1] = { segment: last.segment, at: this.segments[last.segment].moves.length - 1 };
      return { root: position.root, inner };
    }
    const call = at < 0 ? -1 : this.root.entered[at];
    const returns = call < 0 ? -1 : this.root.returns[call];
    if (returns > at) return { root: returns, inner: [] };
    return returns === at ? this.out({ root: call, inner: [] }) : this.last();
  }
}

// Before the first step.
export const START = { root: -1, inner: [] };
