// `AbortController`, `AbortSignal`, and the events that they need.
(function (host, { schedule }) {
  class Event {
    #prevented = false;
    #stopped = false;
    constructor(type, { cancelable = false } = {}) {
      this.type = String(type);
      this.cancelable = Boolean(cancelable);
      this.target = null;
    }
    get defaultPrevented() {
      return this.#prevented;
    }
    preventDefault() {
      this.#prevented = this.cancelable;
    }
    stopPropagation() {}
    stopImmediatePropagation() {
      this.#stopped = true;
    }
    static isStopped(event) {
      return event.#stopped;
    }
  }
  const { isStopped } = Event;
  delete Event.isStopped;
  class CustomEvent extends Event {
    constructor(type, options = {}) {
      super(type, options);
      this.detail = options.detail ?? null;
    }
  }
  class EventTarget {
    #listeners = [];
    addEventListener(type, listener, options) {
      const { once = false, signal } = typeof options === "object" && options !== null ? options : {};
      const same = (other) => other.type === String(type) && other.listener === listener;
      if (listener === null || listener === undefined || signal?.aborted || this.#listeners.some(same)) return;
      this.#listeners.push({ type: String(type), listener, once: Boolean(once) });
      signal?.addEventListener("abort", () => this.removeEventListener(type, listener), { once: true });
    }
    removeEventListener(type, listener) {
      const isOther = (other) => other.type !== String(type) || other.listener !== listener;
      this.#listeners = this.#listeners.filter(isOther);
    }
    dispatchEvent(event) {
      event.target = this;
      const handler = this[`on${event.type}`];
      if (typeof handler === "function") attempt(() => handler.call(this, event));
      for (const { type, listener, once } of [...this.#listeners]) {
        if (type !== event.type || isStopped(event)) continue;
        if (once) this.removeEventListener(type, listener);
        attempt(() => (typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event)));
      }
      return !event.defaultPrevented;
    }
  }
  // A listener that throws is reported, and the others are called all the same.
  function attempt(work) {
    try {
      work();
    } catch (error) {
      console.error(error);
    }
  }
  const key = Symbol("abort");
  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    onabort = null;
    constructor(given) {
      super();
      if (given !== key) throw new TypeError("an AbortSignal comes from an AbortController");
    }
    get aborted() {
      return this.#aborted;
    }
    get reason() {
      return this.#reason;
    }
    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }
    [key](reason) {
      if (this.#aborted) return;
      this.#aborted = true;
      this.#reason = reason === undefined ? new DOMException("it was aborted", "AbortError") : reason;
      this.dispatchEvent(new Event("abort"));
    }
    static abort(reason) {
      const signal = new AbortSignal(key);
      signal[key](reason);
      return signal;
    }
    static timeout(ms) {
      const signal = new AbortSignal(key);
      schedule(() => signal[key](new DOMException("the time is up", "TimeoutError")), ms, false, []);
      return signal;
    }
    static any(signals) {
      const signal = new AbortSignal(key);
      for (const source of signals) {
        if (source.aborted) signal[key](source.reason);
        source.addEventListener("abort", () => signal[key](source.reason), { once: true });
      }
      return signal;
    }
  }
  class AbortController {
    #signal = new AbortSignal(key);
    get signal() {
      return this.#signal;
    }
    abort(reason) {
      this.#signal[key](reason);
    }
  }
  return { Event, CustomEvent, EventTarget, AbortController, AbortSignal };
})
