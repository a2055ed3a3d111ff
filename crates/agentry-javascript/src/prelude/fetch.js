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
      for (const name of [...new Set(this.#list.map(([key]) => key))].sort()) yield [name, this.get(name)];
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
  }

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
    static json(data, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(JSON.stringify(data), { ...init, headers });
    }
  }

  // Waits for an answer, unless the signal aborts first.
  async function answered(what, bytes, signal) {
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

  async function fetch(input, init = {}) {
    const wanted = new Request(input, init);
    const { url, method, redirect, signal } = wanted;
    const bytes = bytesOf(wanted);
    const headers = [...wanted.headers];
    const what = { op: "fetch", url, method, headers, has_body: bytes !== null, redirect };
    const head = await answered(what, bytes ?? undefined, signal);
    const { body } = head;
    const next = async () => {
      const piece = await answered({ op: "read", body }, undefined, signal);
      return piece === null ? null : new Uint8Array(piece);
    };
    const stream = new ReadableBody(next, () => void request({ op: "close", body }).answer.catch(() => {}));
    return new Response(stream, { ...head, statusText: head.status_text });
  }
  return { fetch, Headers, Request, Response };
})
