// `structuredClone`: a deep copy of data, with cycles.
(function () {
  const uncloneable = (value) => {
    throw new DOMException(`${typeof value} cannot be cloned`, "DataCloneError");
  };
  function view(value, seen) {
    const buffer = copy(value.buffer, seen);
    if (value instanceof DataView) return new DataView(buffer, value.byteOffset, value.byteLength);
    return new value.constructor(buffer, value.byteOffset, value.length);
  }
  function failure(value, seen) {
    const known = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
    const out = Object.create((known[value.name] ?? Error).prototype);
    seen.set(value, out);
    for (const name of ["message", "stack", "cause"]) {
      if (!Object.hasOwn(value, name)) continue;
      const own = { configurable: true, writable: true, enumerable: false };
      Object.defineProperty(out, name, { ...own, value: copy(value[name], seen) });
    }
    return out;
  }
  // Copies what has no parts.
  function plain(value) {
    if (value instanceof Date) return new Date(value);
    if (value instanceof RegExp) return new RegExp(value.source, value.flags);
    if (value instanceof ArrayBuffer) return value.slice(0);
    if (value instanceof Boolean || value instanceof Number || value instanceof String) return Object(value.valueOf());
    return undefined;
  }
  const field = { writable: true, enumerable: true, configurable: true };
  function copy(value, seen) {
    if (typeof value === "function" || typeof value === "symbol") uncloneable(value);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    if (ArrayBuffer.isView(value)) return view(value, seen);
    if (value instanceof Error) return failure(value, seen);
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) uncloneable(value);
    const simple = plain(value);
    const out = simple ?? (Array.isArray(value) ? new Array(value.length) : value instanceof Map ? new Map() : value instanceof Set ? new Set() : {});
    seen.set(value, out);
    if (simple !== undefined) return out;
    if (value instanceof Map) for (const [k, v] of value) out.set(copy(k, seen), copy(v, seen));
    else if (value instanceof Set) for (const v of value) out.add(copy(v, seen));
    // Defined, not assigned: a field `__proto__` must stay a field.
    else for (const name of Object.keys(value)) Object.defineProperty(out, name, { ...field, value: copy(value[name], seen) });
    return out;
  }
  return { structuredClone: (value) => copy(value, new Map()) };
})
