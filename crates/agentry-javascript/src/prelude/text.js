// `TextEncoder` and `TextDecoder`, for UTF-8.
(function (host, { binary }) {
  class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(text = "") {
      return new Uint8Array(host.encode(String(text).toWellFormed()));
    }
    encodeInto(text, target) {
      let read = 0;
      let written = 0;
      for (const character of String(text).toWellFormed()) {
        const bytes = this.encode(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }
  class TextDecoder {
    #fatal;
    #ignoreBOM;
    #rest = new Uint8Array(0);
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(String(label))) {
        throw new RangeError(`the encoding \`${label}\` is not supported, only UTF-8 is`);
      }
      this.#fatal = Boolean(fatal);
      this.#ignoreBOM = Boolean(ignoreBOM);
    }
    get encoding() {
      return "utf-8";
    }
    get fatal() {
      return this.#fatal;
    }
    get ignoreBOM() {
      return this.#ignoreBOM;
    }
    decode(input = new Uint8Array(0), { stream = false } = {}) {
      const view = ArrayBuffer.isView(input)
        ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
        : new Uint8Array(input);
      const bytes = new Uint8Array(this.#rest.length + view.length);
      bytes.set(this.#rest);
      bytes.set(view, this.#rest.length);
      // A character that is cut waits for the next piece.
      const whole = stream ? host.wholeCharacters(binary(bytes)) : bytes.length;
      this.#rest = bytes.slice(whole);
      const text = host.decode(binary(bytes.subarray(0, whole)), this.#fatal);
      if (text === undefined) throw new TypeError("the bytes are not UTF-8");
      return this.#ignoreBOM ? text : text.replace(/^\ufeff/, "");
    }
  }
  return { TextEncoder, TextDecoder };
})
