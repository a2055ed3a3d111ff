// The start of every job: timers, console, requests to the parent process, and the tools of the blocks.
// The larger parts of the web API are loaded when they are first used.
(function (host, load) {
  const { stringify, parse } = JSON;

  // Bytes for the host, one character each.
  function binary(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
    return text;
  }

  // One array of bytes from several.
  function joined(pieces) {
    const all = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  // Requests: each gets an answer by its number.
  const waiting = new Map();
  let lastRequest = 0;
  function request(what, bytes) {
    lastRequest += 1;
    const id = lastRequest;
    // The answer arrives from outside of all calls, so an error needs the stack of now.
    const { stack } = new Error();
    const Kind = what.op === "call" ? Error : TypeError;
    const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject, stack, Kind }));
    try {
      host.request(id, stringify(what), bytes === undefined ? "" : binary(bytes));
    } catch (error) {
      waiting.delete(id);
      throw error;
    }
    return { id, answer };
  }
  function deliver(id, text, bytes) {
    const caller = waiting.get(id);
    waiting.delete(id);
    if (caller === undefined) return;
    const { Failed, Head, Called } = parse(text);
    if (Failed === undefined) return caller.resolve(Head ?? Called ?? bytes ?? null);
    const error = new caller.Kind(Failed);
    error.stack = caller.stack;
    caller.reject(error);
  }
  // Stops to wait for an answer, and has the parent process stop too.
  function abandon(id, reason) {
    const caller = waiting.get(id);
    if (caller === undefined) return;
    waiting.delete(id);
    caller.reject(reason);
    host.request(0, stringify({ op: "cancel", request: id }), "");
  }

  // Timers, by number, and their numbers in a binary heap: the earliest first, of equal ones the older first. A
  // cleared timer stays in the heap until it is the first.
  const timers = new Map();
  const heap = [];
  let lastTimer = 0;
  const before = (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order);
  function swap(a, b) {
    const held = heap[a];
    heap[a] = heap[b];
    heap[b] = held;
  }
  function enter(entry) {
    let at = heap.length;
    heap[at] = entry;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!before(heap[at], heap[above])) return;
      swap(at, above);
      at = above;
    }
  }
  function leave() {
    const last = heap.length - 1;
    heap[0] = heap[last];
    heap.length = last;
    for (let at = 0; ; ) {
      let first = at;
      for (let below = 2 * at + 1; below <= 2 * at + 2 && below < last; below += 1) {
        if (before(heap[below], heap[first])) first = below;
      }
      if (first === at) return;
      swap(at, first);
      at = first;
    }
  }
  let lastEntry = 0;
  function plan(id, ms) {
    lastEntry += 1;
    const at = host.now() + ms;
    enter({ id, at, order: lastEntry });
  }
  function schedule(callback, delay, repeats, rest) {
    if (typeof callback !== "function") throw new TypeError("a timer needs a function");
    const ms = Math.min(Math.max(Number(delay) || 0, repeats ? 1 : 0), 2147483647);
    lastTimer += 1;
    timers.set(lastTimer, { ms, repeats, callback, rest });
    plan(lastTimer, ms);
    return lastTimer;
  }
  function earliest() {
    while (heap.length > 0 && !timers.has(heap[0].id)) leave();
    return heap.length > 0 ? heap[0] : null;
  }
  // Returns the milliseconds until the next timer, or -1.
  function patience() {
    const first = earliest();
    return first === null ? -1 : Math.max(0, first.at - host.now());
  }
  function fire() {
    const first = earliest();
    if (first === null || first.at > host.now()) return;
    const { id } = first;
    const timer = timers.get(id);
    leave();
    if (timer.repeats) plan(id, timer.ms);
    else timers.delete(id);
    timer.callback(...timer.rest);
  }

  function shown(value) {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    try {
      return stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  }
  const logger = (level) => (...values) => host.log(level, values.map(shown).join(" ").toWellFormed());
  // What the console counts and measures, by label.
  const counts = new Map();
  const started = new Map();
  const elapsed = (label) => host.now() - (started.get(`${label}`) ?? host.now());
  const console = {
    debug: logger("debug"),
    log: logger("info"),
    info: logger("info"),
    warn: logger("warn"),
    error: logger("error"),
    trace: logger("debug"),
    dir: logger("info"),
    table: logger("info"),
    group: logger("info"),
    groupCollapsed: logger("info"),
    groupEnd() {},
    assert(holds, ...values) {
      if (!holds) console.error("assertion failed", ...values);
    },
    count(label = "default") {
      const count = (counts.get(`${label}`) ?? 0) + 1;
      counts.set(`${label}`, count);
      console.info(`${label}: ${count}`);
    },
    countReset: (label = "default") => void counts.delete(`${label}`),
    time: (label = "default") => void started.set(`${label}`, host.now()),
    timeLog: (label = "default", ...values) => console.info(`${label}: ${elapsed(label)} ms`, ...values),
    timeEnd(label = "default") {
      console.info(`${label}: ${elapsed(label)} ms`);
      started.delete(`${label}`);
    },
  };

  const own = { writable: true, configurable: true, enumerable: false };
  const define = (name, value) => Object.defineProperty(globalThis, name, { ...own, value });
  define("console", console);
  define("setTimeout", (callback, delay, ...rest) => schedule(callback, delay, false, rest));
  define("setInterval", (callback, delay, ...rest) => schedule(callback, delay, true, rest));
  define("clearTimeout", (id) => void timers.delete(id));
  define("clearInterval", (id) => void timers.delete(id));
  // Shared memory, and what shows when memory is freed.
  for (const name of ["SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "performance"]) {
    delete globalThis[name];
  }

  const parts = { binary, joined, request, abandon, schedule };
  const groups = {
    url: ["URL", "URLSearchParams"],
    text: ["TextEncoder", "TextDecoder"],
    abort: ["Event", "CustomEvent", "EventTarget", "AbortController", "AbortSignal"],
    fetch: ["fetch", "Headers", "Request", "Response"],
    form: ["Blob", "File", "FormData"],
    stream: ["ReadableStream", "ReadableStreamDefaultReader", "WritableStream", "TransformStream", "TextDecoderStream", "TextEncoderStream"],
    clone: ["structuredClone"],
    crypto: ["crypto"],
  };
  const loaded = {};
  function use(group) {
    loaded[group] ??= load(group)(host, parts, use);
    return loaded[group];
  }
  for (const [group, names] of Object.entries(groups)) {
    for (const name of names) {
      Object.defineProperty(globalThis, name, {
        configurable: true,
        enumerable: false,
        get() {
          const value = use(group)[name];
          define(name, value);
          return value;
        },
        set(value) {
          define(name, value);
        },
      });
    }
  }

  // What the blocks returned, as a list of tools.
  function collect(returned) {
    const found = [];
    returned.forEach((value, block) => {
      for (const key of Object.keys(value)) found.push({ block, key, entry: value[key] });
    });
    return found;
  }
  function describe(returned) {
    return collect(returned).map(({ block, key, entry }) => {
      let scheme = entry?.scheme;
      if (scheme?.type === "function" && typeof scheme.function === "object") scheme = scheme.function;
      return { block, key, has_function: typeof entry?.fn === "function", scheme: scheme ?? null };
    });
  }
  function context(variables, time) {
    const env = Object.assign(Object.create(null), Object.fromEntries(variables));
    let signal = null;
    return {
      env: Object.freeze(env),
      log: console.log,
      get fetch() {
        return globalThis.fetch;
      },
      get signal() {
        signal ??= use("abort").AbortSignal.timeout(Math.max(0, time - host.now()));
        return signal;
      },
    };
  }
  function invoke(returned, name, args, variables, time) {
    const wanted = name.toLowerCase();
    const tool = collect(returned).find(({ key }) => key.toLowerCase() === wanted);
    if (tool === undefined) throw new TypeError(`the code returns no tool \`${name}\``);
    if (typeof tool.entry?.fn !== "function") throw new TypeError(`\`${name}\` has no function \`fn\``);
    return tool.entry.fn(parse(args), context(parse(variables), time));
  }
  // Prepares a script, which reaches nothing but other tools.
  function script(time) {
    for (const name of groups.fetch) delete globalThis[name];
    const signal = () => use("abort").AbortSignal.timeout(Math.max(0, time - host.now()));
    return load("script")(host, { request, parse, signal, log: console.log }, use);
  }
  const isWaiting = () => waiting.size > 0;
  return { deliver, isWaiting, patience, fire, describe, invoke, script };
})
