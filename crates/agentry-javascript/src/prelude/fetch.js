// `fetch` and its classes. The parent process sends the request, if the policy allows it.
(function (host, { request, abandon }, use) {
  const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  class Headers {
    #list = [];
    constructor(init) {
      if (init === undefined || init === null) return;
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const [name, value] of pairs) this.append(name, value);
    }
    append(name, value) {
      const [key, text] = [String(name).toLowerCase(), String(value).trim()];
      if (!NAME.test(key)) throw new TypeError(`\`${name}\` is not the name of a header`);
      if (/[\0\r\n]/.test(text)) throw new TypeError(`the header \`${name}\` has a line break`);
      this.#list.push([key, text]);
    }
    delete(name) {
      this.#list = this.#list.filter(([key]) => key !== String(name).toLowerCase());
    }
    get(name) {
      const found = this.#list.filter(([key]) => key === String(name).toLowerCase());
      return found.length === 0 ? null : found.map(([, value]) => value).join(", ");
    }
    has(name) {
      return this.get(name) !== null;
    }
    set(name, value) {
      this.delete(name);
      this.append(name, value);
    }
    getSetCookie() {
      return this.#list.filter(([key]) => key === "set-cookie").map(([, value]) => value);
    }
    forEach(callback, self) {
      for (const [name, value] of this) callback.call(self, value, name, this);
    }
    *entries() {
      for (const name of [...new Set(this.#list.map(([key]) => key))].sort()) {
        // Cookies contain commas, so each has an entry of its own.
        if (name === "set-cookie") for (const cookie of this.getSetCookie()) yield [name, cookie];
        else yield [name, this.get(name)];
      }
    }
    *keys() {
      for (const [name] of this.entries()) yield name;
    }
    *values() {
      for (const [, value] of this.entries()) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
  }

  // Returns the bytes of a body and its usual content type.
  function encoded(body) {
    if (body === undefined || body === null) return { bytes: null, type: null };
    if (ArrayBuffer.isView(body)) return { bytes: new Uint8Array(body.buffer, body.byteOffset, body.byteLength), type: null };
    if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body), type: null };
    const isQuery = Object.prototype.toString.call(body) === "[object URLSearchParams]";
    const type = isQuery ? "application/x-www-form-urlencoded;charset=UTF-8" : "text/plain;charset=UTF-8";
    return { bytes: new (use("text").TextEncoder)().encode(String(body)), type };
  }

  class ReadableBody {
    #next;
    #cancel;
    #locked = false;
    constructor(next, cancel) {
      this.#next = next;
      this.#cancel = cancel;
    }
    get locked() {
      return this.#locked;
    }
    getReader() {
      if (this.#locked) throw new TypeError("the body is being read already");
      this.#locked = true;
      return {
        read: async () => {
          const value = await this.#next();
          return value === null ? { value: undefined, done: true } : { value, done: false };
        },
        cancel: () => this.cancel(),
        releaseLock: () => void (this.#locked = false),
      };
    }
    async cancel() {
      this.#cancel();
    }
    tee() {
      const reader = this.getReader();
      const queues = [[], []];
      let open = 2;
      const branch = (mine, other) => {
        const next = async () => {
          if (mine.length === 0) {
            const piece = reader.read();
            mine.push(piece);
            other.push(piece);
          }
          const { value, done } = await mine.shift();
          return done ? null : value;
        };
        const cancel = () => {
          open -= 1;
          if (open === 0) this.#cancel();
        };
        return new ReadableBody(next, cancel);
      };
      return [branch(queues[0], queues[1]), branch(queues[1], queues[0])];
    }
    async *[Symbol.asyncIterator]() {
      const reader = this.getReader();
      try {
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
      } finally {
        this.#cancel();
      }
    }
  }

  class Body {
    #stream;
    #used = false;
    constructor(stream) {
      this.#stream = stream;
    }
    get body() {
      return this.#stream;
    }
    get bodyUsed() {
      return this.#used || Boolean(this.#stream?.locked);
    }
    async bytes() {
      if (this.bodyUsed) throw new TypeError("the body was read already");
      this.#used = true;
      const pieces = [];
      let length = 0;
      if (this.#stream !== null) {
        for await (const piece of this.#stream) {
          pieces.push(piece);
          length += piece.length;
        }
      }
      const all = new Uint8Array(length);
      let at = 0;
      for (const piece of pieces) {
        all.set(piece, at);
        at += piece.length;
      }
      return all;
    }
    async arrayBuffer() {
      return (await this.bytes()).buffer;
    }
    async text() {
      return new (use("text").TextDecoder)().decode(await this.bytes());
    }
    async json() {
      return JSON.parse(await this.text());
    }
    // Both copies read the same stream: what one has read waits for the other.
    static divide(given) {
      if (given.bodyUsed) throw new TypeError("the body was read already");
      if (given.#stream === null) return null;
      const [mine, theirs] = given.#stream.tee();
      given.#stream = mine;
      return theirs;
    }
  }
  const { divide } = Body;
  delete Body.divide;

  // A stream over bytes that are there already.
  function buffered(bytes) {
    let rest = bytes;
    const next = async () => {
      const piece = rest;
      rest = null;
      return piece === null || piece.length === 0 ? null : piece;
    };
    return new ReadableBody(next, () => void (rest = null));
  }

  class Request extends Body {
    #bytes;
    constructor(input, init = {}) {
      const other = input instanceof Request ? input : null;
      const { bytes, type } = init.body === undefined && other !== null ? { bytes: other.#bytes, type: null } : encoded(init.body);
      super(bytes === null ? null : buffered(bytes));
      this.#bytes = bytes;
      this.url = new (use("url").URL)(other?.url ?? String(input)).href;
      this.method = String(init.method ?? other?.method ?? "GET").toUpperCase();
      this.headers = new Headers(init.headers ?? other?.headers);
      this.redirect = String(init.redirect ?? other?.redirect ?? "follow");
      this.signal = init.signal ?? other?.signal ?? null;
      if (bytes !== null && (this.method === "GET" || this.method === "HEAD")) {
        throw new TypeError(`a ${this.method} request has no body`);
      }
      if (type !== null && !this.headers.has("content-type")) this.headers.set("content-type", type);
    }
    clone() {
      if (this.bodyUsed) throw new TypeError("the body was read already");
      return new Request(this);
    }
    static bytesOf(given) {
      return given.#bytes;
    }
  }
  const bytesOf = Request.bytesOf;
  delete Request.bytesOf;

  class Response extends Body {
    constructor(body, { status = 200, statusText = "", headers, url = "", redirected = false } = {}) {
      const { bytes, type } = body instanceof ReadableBody ? { bytes: null, type: null } : encoded(body);
      super(body instanceof ReadableBody ? body : bytes === null ? null : buffered(bytes));
      this.status = status;
      this.statusText = String(statusText);
      this.ok = status >= 200 && status < 300;
      this.headers = new Headers(headers);
      this.url = url;
      this.redirected = redirected;
      this.type = "default";
      if (type !== null && !this.headers.has("content-type")) this.headers.set("content-type", type);
    }
    clone() {
      const { status, statusText, headers, url, redirected } = this;
      const stream = divide(this);
      return new Response(stream, { status, statusText, headers, url, redirected });
    }
    static redirect(url, status = 302) {
      if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`${status} is not the status of a redirect`);
      return new Response(null, { status, headers: { location: new (use("url").URL)(String(url)).href } });
    }
    static json(data, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(JSON.stringify(data), { ...init, headers });
    }
  }

  // The parent process answers a limited number of requests at once; further ones wait here.
  const MOST_AT_ONCE = 32;
  const queue = [];
  let underway = 0;
  function next() {
    underway -= 1;
    queue.shift()?.();
  }

  // Waits for an answer, unless the signal aborts first.
  async function answered(what, bytes, signal) {
    // Without an `await` where nothing waits: an error then has the place of the caller.
    if (underway >= MOST_AT_ONCE) await new Promise((go) => queue.push(go));
    underway += 1;
    try {
      return await sent(what, bytes, signal);
    } finally {
      next();
    }
  }
  async function sent(what, bytes, signal) {
    signal?.throwIfAborted();
    const { id, answer } = request(what, bytes);
    const stop = () => abandon(id, signal.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await answer;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async function fetch(input, init) {
    const wanted = new Request(input, init ?? {});
    const { url, method, redirect, signal } = wanted;
    const bytes = bytesOf(wanted);
    const headers = [...wanted.headers];
    const what = { op: "fetch", url, method, headers, has_body: bytes !== null, redirect };
    const head = await answered(what, bytes ?? undefined, signal);
    const { body } = head;
    // The number of a body that is empty for certain is 0: nothing is left open for it.
    if (body === 0) return new Response(null, { ...head, statusText: head.status_text });
    const read = async () => {
      const piece = await answered({ op: "read", body }, undefined, signal);
      return piece === null ? null : new Uint8Array(piece);
    };
    const stream = new ReadableBody(read, () => void request({ op: "close", body }).answer.catch(() => {}));
    return new Response(stream, { ...head, statusText: head.status_text });
  }
  return { fetch, Headers, Request, Response };
})
