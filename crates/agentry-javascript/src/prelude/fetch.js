// `fetch` and its classes. The parent process sends the request, if the policy allows it.
(function (host, { joined, request, abandon }, use) {
  const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  function keyOf(name) {
    const key = String(name).toLowerCase();
    if (!NAME.test(key)) throw new TypeError(`\`${name}\` is not the name of a header`);
    return key;
  }

  class Headers {
    #list = [];
    constructor(init) {
      if (init === undefined || init === null) return;
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const pair of pairs) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length > 0) throw new TypeError("each header needs a name and a value");
        this.append(name, value);
      }
    }
    append(name, value) {
      const [key, text] = [keyOf(name), String(value).replace(/^[\t\r\n ]+|[\t\r\n ]+$/g, "")];
      if (/[\0\r\n]/.test(text)) throw new TypeError(`the header \`${name}\` has a line break`);
      if (/[^\0-\xff]/.test(text)) throw new TypeError(`the header \`${name}\` has a character beyond U+00FF`);
      this.#list.push([key, text]);
    }
    delete(name) {
      const wanted = keyOf(name);
      this.#list = this.#list.filter(([key]) => key !== wanted);
    }
    get(name) {
      const wanted = keyOf(name);
      const found = this.#list.filter(([key]) => key === wanted);
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
    get [Symbol.toStringTag]() {
      return "Headers";
    }
  }

  const nameOf = (value) => Object.prototype.toString.call(value);
  const isStream = (value) => typeof value === "object" && value !== null && value instanceof use("stream").ReadableStream;

  // Returns the bytes of a body and its usual content type.
  function encoded(body) {
    if (body === undefined || body === null) return { bytes: null, type: null };
    if (ArrayBuffer.isView(body)) return { bytes: new Uint8Array(body.buffer, body.byteOffset, body.byteLength), type: null };
    if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body), type: null };
    // Only for objects: a text needs none of these classes, and loading them takes time.
    if (typeof body === "object" && body instanceof use("form").FormData) return use("form").multipart(body);
    if (typeof body === "object" && body instanceof use("form").Blob) {
      return { bytes: use("form").rawBytes(body), type: body.type === "" ? null : body.type };
    }
    const isQuery = nameOf(body) === "[object URLSearchParams]";
    const type = isQuery ? "application/x-www-form-urlencoded;charset=UTF-8" : "text/plain;charset=UTF-8";
    return { bytes: new (use("text").TextEncoder)().encode(String(body)), type };
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
      const stream = this.#stream;
      return this.#used || (stream !== null && (stream.locked || use("stream").isDisturbed(stream)));
    }
    async bytes() {
      if (this.bodyUsed) throw new TypeError("the body was read already");
      this.#used = true;
      if (this.#stream === null) return new Uint8Array(0);
      const pieces = [];
      for await (const piece of this.#stream) {
        if (!(piece instanceof Uint8Array)) throw new TypeError("a body is a stream of bytes");
        pieces.push(piece);
      }
      return joined(pieces);
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
    async blob() {
      const bytes = await this.bytes();
      return new (use("form").Blob)([bytes], { type: this.headers.get("content-type") ?? "" });
    }
    async formData() {
      const type = this.headers.get("content-type") ?? "";
      if (!/^application\/x-www-form-urlencoded/i.test(type)) throw new TypeError(`a body of the type \`${type}\` is not read as a form`);
      const form = new (use("form").FormData)();
      for (const [name, value] of new (use("url").URLSearchParams)(await this.text())) form.append(name, value);
      return form;
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
    const start = (controller) => {
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    };
    return new (use("stream").ReadableStream)({ start });
  }

  class Request extends Body {
    // The bytes of a body, or the stream that will give them.
    #bytes;
    constructor(input, init = {}) {
      const other = input instanceof Request ? input : null;
      const given = isStream(init.body) ? { bytes: init.body, type: null } : null;
      const { bytes, type } = given ?? (init.body === undefined && other !== null ? { bytes: other.#bytes, type: null } : encoded(init.body));
      super(bytes === null ? null : isStream(bytes) ? bytes : buffered(bytes));
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
      return isStream(this.#bytes) ? new Request(this, { body: divide(this) }) : new Request(this);
    }
    static bytesOf(given) {
      return given.#bytes;
    }
  }
  const bytesOf = Request.bytesOf;
  delete Request.bytesOf;

  class Response extends Body {
    constructor(body, { status = 200, statusText = "", headers, url = "", redirected = false } = {}) {
      const { bytes, type } = isStream(body) ? { bytes: body, type: null } : encoded(body);
      super(bytes === null ? null : isStream(bytes) ? bytes : buffered(bytes));
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
    const body = bytesOf(wanted);
    // The parent process gets the whole body at once.
    const bytes = isStream(body) ? await wanted.bytes() : body;
    const headers = [...wanted.headers];
    const what = { op: "fetch", url, method, headers, has_body: bytes !== null, redirect };
    const head = await answered(what, bytes ?? undefined, signal);
    const { body: number } = head;
    // The number of a body that is empty for certain is 0: nothing is left open for it.
    if (number === 0) return new Response(null, { ...head, statusText: head.status_text });
    const pull = async (controller) => {
      const piece = await answered({ op: "read", body: number }, undefined, signal);
      if (piece === null) controller.close();
      else controller.enqueue(new Uint8Array(piece));
    };
    const cancel = () => void request({ op: "close", body: number }).answer.catch(() => {});
    const stream = new (use("stream").ReadableStream)({ pull, cancel }, { highWaterMark: 0 });
    return new Response(stream, { ...head, statusText: head.status_text });
  }
  return { fetch, Headers, Request, Response };
})
