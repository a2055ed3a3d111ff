// `TextEncoder`, and `TextDecoder` for UTF-8, UTF-16 and Latin-1.
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
  // Encodings by their labels. `latin1` means windows-1252, as browsers have it.
  const LABELS = [
    ["utf-8", /^(unicode-1-1-utf-8|unicode11utf8|unicode20utf8|utf-?8|x-unicode20utf8)$/],
    ["utf-16le", /^(csunicode|iso-10646-ucs-2|ucs-2|unicode|unicodefeff|utf-16|utf-16le)$/],
    ["utf-16be", /^(unicodefffe|utf-16be)$/],
    ["windows-1252", /^(ansi_x3\.4-1968|(us-)?ascii|(x-)?cp-?1252|cp819|csisolatin1|ibm819|iso-?8859-?1|iso_8859-1(:1987)?|iso-ir-100|l1|latin1|windows-1252)$/],
  ];
  // The characters 0x80 to 0x9f of windows-1252.
  const UPPER = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
  // Each returns the text of the bytes and the number of bytes that it has read.
  const decoders = {
    "utf-8"(bytes, isLast, fatal) {
      // A character that is cut waits for the next piece.
      const whole = isLast ? bytes.length : host.wholeCharacters(binary(bytes));
      return [host.decode(binary(bytes.subarray(0, whole)), fatal), whole];
    },
    "windows-1252"(bytes) {
      return [binary(bytes).replace(/[\x80-\x9f]/g, (sign) => UPPER[sign.charCodeAt(0) - 0x80]), bytes.length];
    },
    "utf-16le": (bytes, isLast, fatal) => units(bytes, [0, 1], isLast, fatal),
    "utf-16be": (bytes, isLast, fatal) => units(bytes, [1, 0], isLast, fatal),
  };
  function units(bytes, [low, high], isLast, fatal) {
    let text = "";
    let count = bytes.length >> 1;
    const unit = (at) => bytes[2 * at + low] | (bytes[2 * at + high] << 8);
    // Half of a pair waits for the next piece.
    if (!isLast && count > 0 && (unit(count - 1) & 0xfc00) === 0xd800) count -= 1;
    for (let at = 0; at < count; at += 4096) {
      const length = Math.min(4096, count - at);
      text += String.fromCharCode(...Array.from({ length }, (_, next) => unit(at + next)));
    }
    const isCut = isLast && bytes.length % 2 === 1;
    if (fatal && (isCut || !text.isWellFormed())) return [undefined, 0];
    return [text.toWellFormed() + (isCut ? "\ufffd" : ""), isLast ? bytes.length : 2 * count];
  }
  class TextDecoder {
    #encoding;
    #fatal;
    #ignoreBOM;
    #rest = new Uint8Array(0);
    #isBegun = false;
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      const wanted = String(label).trim().toLowerCase();
      const known = LABELS.find(([, labels]) => labels.test(wanted));
      if (known === undefined) {
        throw new RangeError(`the encoding \`${label}\` is not supported; utf-8, utf-16le, utf-16be and latin1 are`);
      }
      [this.#encoding] = known;
      this.#fatal = Boolean(fatal);
      this.#ignoreBOM = Boolean(ignoreBOM);
    }
    get encoding() {
      return this.#encoding;
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
      const [text, read] = decoders[this.#encoding](bytes, !stream, this.#fatal);
      this.#rest = text === undefined ? new Uint8Array(0) : bytes.slice(read);
      // Only the first character of a stream can be a mark.
      const isStart = !this.#isBegun;
      this.#isBegun = stream && (this.#isBegun || Boolean(text));
      if (text === undefined) throw new TypeError(`the bytes are not ${this.#encoding.toUpperCase()}`);
      const hasMark = isStart && !this.#ignoreBOM && this.#encoding !== "windows-1252";
      return hasMark ? text.replace(/^\ufeff/, "") : text;
    }
  }
  return { TextEncoder, TextDecoder };
})
