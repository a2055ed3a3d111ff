// `URL` and `URLSearchParams`. The host parses; these classes hold what it found.
(function (host) {
  const NAMES = ["href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
  const text = (value) => String(value).toWellFormed();

  class URLSearchParams {
    #pairs = [];
    #changed = null;
    constructor(init = "", changed = null) {
      if (typeof init === "object" && init !== null && typeof init[Symbol.iterator] === "function") {
        for (const pair of init) {
          const [name, value, ...rest] = [...pair];
          if (value === undefined || rest.length > 0) throw new TypeError("a pair has a name and a value");
          this.#pairs.push([text(name), text(value)]);
        }
      } else if (typeof init === "object" && init !== null) {
        for (const name of Object.keys(init)) this.#pairs.push([text(name), text(init[name])]);
      } else {
        this.#pairs = host.queryParse(text(init).replace(/^\?/, ""));
      }
      this.#changed = typeof changed === "function" ? changed : null;
    }
    #update(pairs) {
      this.#pairs = pairs;
      this.#changed?.(this.toString());
    }
    get size() {
      return this.#pairs.length;
    }
    append(name, value) {
      this.#update([...this.#pairs, [text(name), text(value)]]);
    }
    delete(name, value) {
      const isOther = ([n, v]) => n !== text(name) || (value !== undefined && v !== text(value));
      this.#update(this.#pairs.filter(isOther));
    }
    get(name) {
      return this.#pairs.find(([n]) => n === text(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([n]) => n === text(name)).map(([, value]) => value);
    }
    has(name, value) {
      return this.#pairs.some(([n, v]) => n === text(name) && (value === undefined || v === text(value)));
    }
    set(name, value) {
      const at = this.#pairs.findIndex(([n]) => n === text(name));
      if (at < 0) return this.append(name, value);
      const rest = this.#pairs.filter(([n], index) => index === at || n !== text(name));
      this.#update(rest.map((pair, index) => (index === at ? [pair[0], text(value)] : pair)));
    }
    sort() {
      this.#update([...this.#pairs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
    }
    forEach(callback, self) {
      for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
    }
    *entries() {
      for (const pair of this.#pairs) yield [...pair];
    }
    *keys() {
      for (const [name] of this.#pairs) yield name;
    }
    *values() {
      for (const [, value] of this.#pairs) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return host.queryFormat(this.#pairs);
    }
    get [Symbol.toStringTag]() {
      return "URLSearchParams";
    }
  }

  class URL {
    #parts;
    #params = null;
    constructor(url, base) {
      this.#parts = host.urlParse(text(url), base === undefined ? undefined : text(base));
      if (this.#parts === undefined) throw new TypeError(`\`${text(url)}\` is not a valid URL`);
    }
    static canParse(url, base) {
      return host.urlParse(text(url), base === undefined ? undefined : text(base)) !== undefined;
    }
    static parse(url, base) {
      return URL.canParse(url, base) ? new URL(url, base) : null;
    }
    get origin() {
      return this.#parts[NAMES.length];
    }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.#parts[8], (query) => this.#set("search", query));
      return this.#params;
    }
    toString() {
      return this.#parts[0];
    }
    toJSON() {
      return this.#parts[0];
    }
    get [Symbol.toStringTag]() {
      return "URL";
    }
    #set(name, value) {
      const parts = host.urlSet(this.#parts[0], name, text(value));
      if (parts === undefined) throw new TypeError(`\`${text(value)}\` is not a valid URL`);
      this.#parts = parts;
    }
    static part(index) {
      const name = NAMES[index];
      Object.defineProperty(URL.prototype, name, {
        configurable: true,
        enumerable: true,
        get() {
          return this.#parts[index];
        },
        set(value) {
          this.#set(name, value);
          if (name === "href" || name === "search") this.#params = null;
        },
      });
    }
  }
  NAMES.forEach((_, index) => URL.part(index));
  delete URL.part;
  return { URL, URLSearchParams };
})
