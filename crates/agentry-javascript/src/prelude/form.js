// `Blob`, `File` and `FormData`: bytes with a type, and the fields of a form.
(function (host, { joined }, use) {
  const encode = (text) => new (use("text").TextEncoder)().encode(text);

  function bytesOf(part) {
    if (part instanceof Blob) return rawBytes(part);
    if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    if (part instanceof ArrayBuffer) return new Uint8Array(part);
    return encode(String(part));
  }
  const plainType = (type) => (/[^ -~]/.test(type) ? "" : type.toLowerCase());

  class Blob {
    #bytes;
    #type;
    constructor(given = [], { type = "" } = {}) {
      if (given === null || typeof given !== "object" || typeof given[Symbol.iterator] !== "function") {
        throw new TypeError("a Blob needs a list of parts");
      }
      this.#bytes = joined(Array.from(given, bytesOf));
      this.#type = plainType(String(type));
    }
    get size() {
      return this.#bytes.length;
    }
    get type() {
      return this.#type;
    }
    slice(start = 0, end = this.size, type = "") {
      return new Blob([this.#bytes.slice(start, end)], { type });
    }
    async bytes() {
      return this.#bytes.slice();
    }
    async arrayBuffer() {
      return this.#bytes.slice().buffer;
    }
    async text() {
      return new (use("text").TextDecoder)().decode(this.#bytes);
    }
    stream() {
      const bytes = this.#bytes;
      const start = (controller) => {
        if (bytes.length > 0) controller.enqueue(bytes.slice());
        controller.close();
      };
      return new (use("stream").ReadableStream)({ start });
    }
    get [Symbol.toStringTag]() {
      return "Blob";
    }
    static raw(blob) {
      return blob.#bytes;
    }
  }
  const rawBytes = Blob.raw;
  delete Blob.raw;

  class File extends Blob {
    constructor(given, name, options = {}) {
      super(given, options);
      this.name = String(name);
      this.lastModified = Number(options.lastModified ?? Date.now());
    }
    get [Symbol.toStringTag]() {
      return "File";
    }
  }

  class FormData {
    #list = [];
    #entry(name, value, filename) {
      if (!(value instanceof Blob)) return [String(name).toWellFormed(), String(value).toWellFormed()];
      const isNamed = filename !== undefined || !(value instanceof File);
      const file = isNamed ? new File([value], filename ?? "blob", { type: value.type }) : value;
      return [String(name).toWellFormed(), file];
    }
    append(name, value, filename) {
      this.#list.push(this.#entry(name, value, filename));
    }
    set(name, value, filename) {
      const entry = this.#entry(name, value, filename);
      const at = this.#list.findIndex(([key]) => key === entry[0]);
      if (at < 0) this.#list.push(entry);
      else this.#list = this.#list.filter(([key], other) => key !== entry[0] || other === at).with(at, entry);
    }
    delete(name) {
      this.#list = this.#list.filter(([key]) => key !== String(name));
    }
    get(name) {
      return this.getAll(name)[0] ?? null;
    }
    getAll(name) {
      return this.#list.filter(([key]) => key === String(name)).map(([, value]) => value);
    }
    has(name) {
      return this.#list.some(([key]) => key === String(name));
    }
    forEach(callback, self) {
      for (const [name, value] of this) callback.call(self, value, name, this);
    }
    *entries() {
      yield* this.#list.map(([name, value]) => [name, value]);
    }
    *keys() {
      for (const [name] of this.#list) yield name;
    }
    *values() {
      for (const [, value] of this.#list) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    get [Symbol.toStringTag]() {
      return "FormData";
    }
  }

  // A form as a body. A name must not end its line or its quotes.
  const escaped = (name) => name.replace(/\r\n|\r|\n/g, "%0D%0A").replaceAll('"', "%22");
  function multipart(form) {
    const random = new Uint8Array(host.random(16));
    const boundary = `form-${Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
    const pieces = [];
    for (const [name, value] of form) {
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"`;
      if (typeof value === "string") {
        pieces.push(encode(`${head}\r\n\r\n${value.replace(/\r\n|\r|\n/g, "\r\n")}\r\n`));
      } else {
        const type = value.type === "" ? "application/octet-stream" : value.type;
        pieces.push(encode(`${head}; filename="${escaped(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`));
        pieces.push(rawBytes(value), encode("\r\n"));
      }
    }
    pieces.push(encode(`--${boundary}--\r\n`));
    return { bytes: joined(pieces), type: `multipart/form-data; boundary=${boundary}` };
  }
  return { Blob, File, FormData, rawBytes, multipart };
})
