// `crypto`: random values and digests.
(function (host, { binary }) {
  const bytesOf = (data) => {
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    throw new TypeError("an ArrayBuffer or a view of one is needed");
  };
  const crypto = {
    getRandomValues(array) {
      const isInteger = ArrayBuffer.isView(array) && !(array instanceof DataView) && !/Float/.test(array.constructor.name);
      if (!isInteger) throw new DOMException("an array of integers is needed", "TypeMismatchError");
      if (array.byteLength > 65536) throw new DOMException("at most 65536 bytes at once", "QuotaExceededError");
      bytesOf(array).set(new Uint8Array(host.random(array.byteLength)));
      return array;
    },
    randomUUID() {
      const bytes = new Uint8Array(host.random(16));
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
    },
    subtle: Object.freeze({
      async digest(algorithm, data) {
        const name = String(algorithm?.name ?? algorithm).toUpperCase();
        const digest = host.digest(name, binary(bytesOf(data)));
        if (digest === undefined) throw new DOMException(`\`${name}\` is not supported; SHA-256, SHA-384 and SHA-512 are`, "NotSupportedError");
        return digest;
      },
    }),
  };
  return { crypto: Object.freeze(crypto) };
})
