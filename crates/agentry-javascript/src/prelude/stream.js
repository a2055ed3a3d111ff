// Streams: `ReadableStream` as `response.body` is one, and what tools connect it with. There are no BYOB readers.
(function (host, parts, use) {
  // What a source has given, and the reads that wait for more. At most `mark` pieces are asked for in advance.
  class Flow {
    queue = [];
    waiting = [];
    state = "readable";
    error = undefined;
    isStarted = false;
    isEnding = false;
    isPulling = false;
    isAskedAgain = false;
    // Whether something was read or cancelled.
    isDisturbed = false;
    constructor(source, mark) {
      this.source = source;
      this.mark = mark;
      this.closed = Promise.withResolvers();
      // Nobody need listen to it.
      this.closed.promise.catch(() => {});
      this.controller = new Controller(this);
      const begun = source.start?.(this.controller);
      Promise.resolve(begun).then(() => {
        this.isStarted = true;
        this.pull();
      }, (error) => this.fail(error));
    }
    get room() {
      if (this.state === "errored") return null;
      return this.state === "closed" ? 0 : this.mark - this.queue.length;
    }
    get isOpen() {
      return this.state === "readable" && !this.isEnding;
    }
    pull() {
      const isWanted = this.waiting.length > 0 || this.room > 0;
      if (!this.isStarted || !this.isOpen || !isWanted || this.source.pull === undefined) return;
      if (this.isPulling) {
        this.isAskedAgain = true;
        return;
      }
      this.isPulling = true;
      (async () => this.source.pull(this.controller))().then(() => {
        this.isPulling = false;
        if (!this.isAskedAgain) return;
        this.isAskedAgain = false;
        this.pull();
      }, (error) => this.fail(error));
    }
    enqueue(value) {
      if (!this.isOpen) throw new TypeError("the stream is closed");
      if (this.waiting.length > 0) this.waiting.shift().resolve({ value, done: false });
      else this.queue.push(value);
      this.pull();
    }
    close() {
      if (!this.isOpen) throw new TypeError("the stream is closed");
      this.isEnding = true;
      if (this.queue.length === 0) this.finish();
    }
    finish() {
      this.state = "closed";
      for (const read of this.waiting.splice(0)) read.resolve({ value: undefined, done: true });
      this.closed.resolve();
    }
    fail(error) {
      if (this.state !== "readable") return;
      this.state = "errored";
      this.error = error;
      this.queue = [];
      for (const read of this.waiting.splice(0)) read.reject(error);
      this.closed.reject(error);
    }
    read() {
      this.isDisturbed = true;
      if (this.queue.length > 0) {
        const value = this.queue.shift();
        if (this.isEnding && this.queue.length === 0) this.finish();
        else this.pull();
        return Promise.resolve({ value, done: false });
      }
      if (this.state === "closed") return Promise.resolve({ value: undefined, done: true });
      if (this.state === "errored") return Promise.reject(this.error);
      const read = Promise.withResolvers();
      this.waiting.push(read);
      this.pull();
      return read.promise;
    }
    async cancel(reason) {
      this.isDisturbed = true;
      if (this.state === "errored") throw this.error;
      if (this.state === "closed") return;
      this.queue = [];
      this.finish();
      await this.source.cancel?.(reason);
    }
  }

  class Controller {
    #flow;
    constructor(flow) {
      this.#flow = flow;
    }
    get desiredSize() {
      return this.#flow.room;
    }
    enqueue(value) {
      this.#flow.enqueue(value);
    }
    close() {
      this.#flow.close();
    }
    error(error) {
      this.#flow.fail(error);
    }
  }

  class ReadableStreamDefaultReader {
    #flow;
    #release;
    constructor(stream) {
      [this.#flow, this.#release] = lock(stream);
    }
    get closed() {
      return this.#flow === null ? Promise.reject(released()) : this.#flow.closed.promise;
    }
    async read() {
      if (this.#flow === null) throw released();
      return this.#flow.read();
    }
    async cancel(reason) {
      if (this.#flow === null) throw released();
      return this.#flow.cancel(reason);
    }
    releaseLock() {
      if (this.#flow === null) return;
      for (const read of this.#flow.waiting.splice(0)) read.reject(released());
      this.#flow = null;
      this.#release();
    }
  }
  const released = () => new TypeError("the reader was released");

  class ReadableStream {
    #flow;
    #isLocked = false;
    constructor(source = {}, { highWaterMark = 1 } = {}) {
      if (!(Number(highWaterMark) >= 0)) throw new RangeError("`highWaterMark` is no size");
      this.#flow = new Flow(source ?? {}, Number(highWaterMark));
    }
    get locked() {
      return this.#isLocked;
    }
    static lock(stream) {
      if (stream.#isLocked) throw new TypeError("the stream is being read already");
      stream.#isLocked = true;
      return [stream.#flow, () => void (stream.#isLocked = false)];
    }
    static isDisturbed(stream) {
      return stream.#flow.isDisturbed;
    }
    getReader({ mode } = {}) {
      if (mode !== undefined) throw new TypeError(`readers of the kind \`${mode}\` are not supported`);
      return new ReadableStreamDefaultReader(this);
    }
    async cancel(reason) {
      if (this.#isLocked) throw new TypeError("the stream is being read already");
      return this.#flow.cancel(reason);
    }
    // Both branches read the same stream: what one has read waits for the other.
    tee() {
      const reader = this.getReader();
      const queues = [[], []];
      let open = 2;
      const branch = (mine, other) => {
        const pull = async (controller) => {
          if (mine.length === 0) {
            const piece = reader.read();
            mine.push(piece);
            other.push(piece);
          }
          const { value, done } = await mine.shift();
          if (done) controller.close();
          else controller.enqueue(value);
        };
        const cancel = (reason) => {
          open -= 1;
          return open === 0 ? reader.cancel(reason) : undefined;
        };
        return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
      };
      return [branch(queues[0], queues[1]), branch(queues[1], queues[0])];
    }
    async pipeTo(target, { preventClose = false, preventAbort = false, preventCancel = false, signal } = {}) {
      const reader = this.getReader();
      const writer = target.getWriter();
      try {
        for (;;) {
          signal?.throwIfAborted();
          const { value, done } = await reader.read();
          if (done) break;
          await writer.write(value);
        }
      } catch (error) {
        if (!preventCancel) await reader.cancel(error).catch(() => {});
        if (!preventAbort) await writer.abort(error).catch(() => {});
        throw error;
      } finally {
        reader.releaseLock();
        writer.releaseLock();
      }
      if (!preventClose) await target.close();
    }
    pipeThrough({ readable, writable }, options) {
      this.pipeTo(writable, options).catch(() => {});
      return readable;
    }
    async *values({ preventCancel = false } = {}) {
      const reader = this.getReader();
      try {
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
      } finally {
        if (!preventCancel) await reader.cancel().catch(() => {});
        reader.releaseLock();
      }
    }
    [Symbol.asyncIterator](options) {
      return this.values(options);
    }
    static from(iterable) {
      const pieces = (iterable[Symbol.asyncIterator] ?? iterable[Symbol.iterator]).call(iterable);
      const pull = async (controller) => {
        const { value, done } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(await value);
      };
      return new ReadableStream({ pull, cancel: (reason) => pieces.return?.(reason) }, { highWaterMark: 0 });
    }
  }
  const { lock, isDisturbed } = ReadableStream;
  delete ReadableStream.lock;
  delete ReadableStream.isDisturbed;

  class WritableStream {
    #sink;
    #last = Promise.resolve();
    #state = "writable";
    #isLocked = false;
    constructor(sink = {}) {
      this.#sink = sink ?? {};
      const controller = { error: (error) => void (this.#last = Promise.reject(error)) };
      this.#step(() => this.#sink.start?.(controller));
    }
    get locked() {
      return this.#isLocked;
    }
    // One thing after another; after a failure nothing is written any more.
    #step(work) {
      this.#last = this.#last.then(work);
      this.#last.catch(() => void (this.#state = "errored"));
      return this.#last;
    }
    #end(state, work) {
      if (this.#state !== "writable") return Promise.reject(new TypeError(`the stream is ${this.#state}`));
      this.#state = state;
      return this.#step(work);
    }
    close() {
      return this.#end("closed", () => this.#sink.close?.());
    }
    async abort(reason) {
      if (this.#state === "closed") return;
      this.#state = "errored";
      await this.#sink.abort?.(reason);
    }
    getWriter() {
      if (this.#isLocked) throw new TypeError("the stream is being written already");
      this.#isLocked = true;
      const write = async (value) => {
        if (this.#state !== "writable") throw new TypeError(`the stream is ${this.#state}`);
        await this.#step(() => this.#sink.write?.(value));
      };
      return {
        write,
        ready: Promise.resolve(),
        close: () => this.close(),
        abort: (reason) => this.abort(reason),
        releaseLock: () => void (this.#isLocked = false),
      };
    }
  }

  class TransformStream {
    constructor({ start, transform, flush } = {}) {
      let controller;
      let isWanted = false;
      let wake = null;
      const pull = () => {
        isWanted = true;
        wake?.();
      };
      const cancel = () => pull();
      this.readable = new ReadableStream({ start: (given) => void (controller = given), pull, cancel }, { highWaterMark: 0 });
      const out = {
        get desiredSize() {
          return controller.desiredSize;
        },
        enqueue(value) {
          isWanted = false;
          controller.enqueue(value);
        },
        error: (error) => controller.error(error),
        terminate: () => controller.close(),
      };
      const copy = (value) => out.enqueue(value);
      const write = async (value) => {
        if (!isWanted) await new Promise((go) => (wake = go));
        await (transform ?? copy)(value, out);
      };
      const close = async () => {
        await flush?.(out);
        controller.close();
      };
      this.writable = new WritableStream({ start: () => start?.(out), write, close, abort: (error) => controller.error(error) });
    }
  }

  class TextDecoderStream extends TransformStream {
    constructor(label, options) {
      const decoder = new (use("text").TextDecoder)(label, options);
      const send = (text, out) => void (text !== "" && out.enqueue(text));
      const transform = (piece, out) => send(decoder.decode(piece, { stream: true }), out);
      super({ transform, flush: (out) => send(decoder.decode(), out) });
      this.encoding = decoder.encoding;
    }
  }
  class TextEncoderStream extends TransformStream {
    encoding = "utf-8";
    constructor() {
      const encoder = new (use("text").TextEncoder)();
      super({ transform: (text, out) => out.enqueue(encoder.encode(text)) });
    }
  }
  return { isDisturbed, ReadableStream, ReadableStreamDefaultReader, WritableStream, TransformStream, TextDecoderStream, TextEncoderStream };
})
