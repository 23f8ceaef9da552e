// The stacks and the values that are known at a position.
//
// From a state a step leads to the next one; every so many steps of the root a state is kept, from which others are
// computed. Frames are linked, and shared between states: one that is kept is copied before it is changed.
//
// Moves say how much variables grow. What they grow from is the last value that the same context or segment gave them, so
// the values of a list are found without knowing where it is called.

const INTERVAL = 1024;
const NOTHING = [];

const isSmall = (value) => typeof value === "number";

// Sums wrap as 64-bit numbers do, and are plain numbers where these are exact.
function sum(value, grows) {
  const plain = isSmall(value) && isSmall(grows) ? value + grows : NaN;
  if (Number.isSafeInteger(plain)) return plain;
  const exact = BigInt.asIntN(64, BigInt(value) + BigInt(grows));
  return exact >= -(2n ** 53n) && exact <= 2n ** 53n ? Number(exact) : exact;
}

const read = (value) => (isSmall(value) ? value : BigInt(value));

// Pairs of a variable and a value.
function pairs(flat) {
  const found = [];
  for (let at = 0; at < flat.length; at += 2) found.push([flat[at], read(flat[at + 1])]);
  return found;
}

export class States {
  constructor(trace) {
    this.trace = trace;
    this.kept = [];
    this.epoch = 0;
    this.initial = pairs(trace.data.initial);
  }

  isLocal(variable) {
    return this.trace.vars[variable].scope >= 0;
  }

  // What a step gives its variables: pairs of a variable and its value, null if it becomes open.
  changes(list, at) {
    const cursor = (list.cursor ??= { at: 0, last: new Map(), kept: [] });
    const near = Math.floor(at / INTERVAL);
    if (cursor.at > at || (cursor.kept[near] && cursor.at < near * INTERVAL)) {
      Object.assign(cursor, { at: near * INTERVAL, last: new Map(cursor.kept[near]) });
    }
    for (; cursor.at < at; cursor.at++) {
      if (cursor.at % INTERVAL === 0) cursor.kept[cursor.at / INTERVAL] ??= new Map(cursor.last);
      this.grow(list, cursor.at, cursor.last);
    }
    if (at % INTERVAL === 0) cursor.kept[at / INTERVAL] ??= new Map(cursor.last);
    cursor.at = at + 1;
    return this.grow(list, at, cursor.last);
  }

  grow(list, at, last) {
    const { root } = this.trace;
    if (list === root && at === root.contexts[root.context[at]].start) last.clear();
    const move = this.trace.moves[list.moves[at]];
    if (move.length === 2) return NOTHING;
    const found = [];
    for (let next = 2; next < move.length; next += 2) {
      const grows = move[next + 1];
      const value = grows === null ? null : sum(last.get(move[next]) ?? 0, grows);
      if (value !== null) last.set(move[next], value);
      found.push([move[next], value]);
    }
    return found;
  }

  frame(proc, values, up, edge) {
    return { proc, locals: new Map(values), up, edge, depth: up ? up.depth + 1 : 0, epoch: this.epoch };
  }

  start() {
    const globals = new Map(this.initial.filter(([variable]) => !this.isLocal(variable)));
    return { globals, tops: new Map(), thread: null, context: -1 };
  }

  copy(state) {
    return { ...state, globals: new Map(state.globals), tops: new Map(state.tops) };
  }

  // The state after `count` steps of the root.
  after(count) {
    let from = Math.floor(count / INTERVAL);
    while (from > 0 && !this.kept[from]) from--;
    const state = from > 0 ? this.copy(this.kept[from]) : this.start();
    this.epoch++;
    for (let at = from * INTERVAL; at < count; at++) {
      this.step(state, at);
      if ((at + 1) % INTERVAL === 0 && !this.kept[(at + 1) / INTERVAL]) {
        this.kept[(at + 1) / INTERVAL] = this.copy(state);
        this.epoch++;
      }
    }
    return state;
  }

  // The thread of a step goes on, and begins if it has not.
  resume(state, at) {
    const { trace } = this;
    const context = trace.root.context[at];
    if (context === state.context) return;
    const { thread } = trace.root.contexts[context];
    Object.assign(state, { context, thread });
    if (state.tops.has(thread)) return;
    const proc = thread < 0 ? trace.data.prologue : trace.threads[thread].main;
    const own = this.initial.filter(([variable]) => trace.vars[variable].scope === proc);
    state.tops.set(thread, this.frame(proc, own, null, null));
  }

  step(state, at) {
    const { trace } = this;
    this.resume(state, at);
    const edge = trace.edge(trace.root, at);
    const top = state.tops.get(state.thread);
    if (trace.enters(trace.root, at)) state.tops.set(state.thread, this.frame(edge.callee, [], top, edge));
    else if (edge.kind === 2 && top.up) state.tops.set(state.thread, top.up);
    this.change(state, trace.root, at);
  }

  // What a step changes, in the globals and in the frame on top.
  change(state, list, at) {
    for (const [variable, value] of this.changes(list, at)) {
      let to = state.globals;
      if (this.isLocal(variable)) {
        let top = state.tops.get(state.thread);
        if (top.epoch !== this.epoch) {
          top = { ...top, locals: new Map(top.locals), epoch: this.epoch };
          state.tops.set(state.thread, top);
        }
        to = top.locals;
      }
      if (value === null) to.delete(variable);
      else to.set(variable, value);
    }
  }

  // Enters a segment: its frame is on top.
  open(state, segment, edge) {
    const { proc, entry } = this.trace.segments[segment];
    const values = pairs(entry).filter(([variable]) => this.isLocal(variable));
    state.tops.set(state.thread, this.frame(proc, values, state.tops.get(state.thread), edge));
  }

  // The state after the step of a position. A call that comes back is entered there, and its return is back in the caller.
  at(position) {
    const { trace } = this;
    if (position.root < 0) return this.start();
    let [list, at] = [trace.root, position.root];
    const state = this.after(at);
    this.resume(state, at);
    let caller = null;
    for (const { segment, at: inside } of position.inner) {
      caller = { list, at };
      this.open(state, segment, trace.edge(list, at));
      [list, at] = [trace.segments[segment], inside];
      for (let step = 0; step < at; step++) this.change(state, list, step);
    }
    const callee = trace.opens(list, at);
    if (callee >= 0) {
      this.open(state, callee, trace.edge(list, at));
    } else if (list === trace.root) {
      this.step(state, at);
    } else if (trace.isReturn(list, at)) {
      state.tops.set(state.thread, state.tops.get(state.thread).up);
      this.change(state, caller.list, caller.at);
    } else {
      this.change(state, list, at);
    }
    return state;
  }

  // The variables to which the step of a position gives values; of a return, the call that it ends does.
  changed(position) {
    const { trace } = this;
    const { list, at } = trace.here(position);
    if (at < 0) return new Set(this.initial.map(([variable]) => variable));
    const callee = trace.opens(list, at);
    if (callee >= 0) return new Set(pairs(trace.segments[callee].entry).map(([variable]) => variable).filter((variable) => this.isLocal(variable)));
    if (trace.isReturn(list, at)) {
      const call = trace.opening(position);
      if (list !== trace.root) {
        const from = trace.here(call);
        return new Set(this.changes(from.list, from.at).map(([variable]) => variable));
      }
      if (call.root !== position.root) return new Set(this.effect(call.root, at).map(([variable]) => variable));
    }
    return new Set(this.changes(list, at).map(([variable]) => variable));
  }

  // What a call that returns in its context changes of what its caller sees.
  effect(call, returns) {
    const before = this.after(call);
    this.resume(before, call);
    const after = this.after(returns + 1);
    const seen = (state) => new Map([...state.globals, ...(state.tops.get(state.thread)?.locals ?? [])]);
    const old = seen(before);
    return [...seen(after)].filter(([variable, value]) => old.get(variable) !== value);
  }
}
