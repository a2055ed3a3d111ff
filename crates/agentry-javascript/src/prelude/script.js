// `ctx` of a script: calls of other tools, and short forms of them. The parent process makes the calls.
(function (host, { request, parse, signal, log }) {
  const { freeze, keys } = Object;
  const { isArray } = Array;
  const text = String;

  // Other names of tools and of their arguments, as scripts of the format use them.
  const names = { ls: "list", web_search: "websearch", web_fetch: "webfetch", search: "grep" };
  const fields = {
    read: { file_path: "path", filePath: "path" },
    write: { file_path: "path", filePath: "path" },
    edit: { file_path: "path", filePath: "path" },
    grep: { glob: "include", query: "pattern", ignoreCase: "ignore_case", filesOnly: "files_only" },
    glob: {},
  };
  const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);

  function renamed(tool, given) {
    const table = has(fields, tool) ? fields[tool] : null;
    if (table === null || typeof given !== "object" || given === null || isArray(given)) return given;
    const out = {};
    for (const key of keys(given)) {
      if (given[key] !== undefined) out[has(table, key) ? table[key] : key] = given[key];
    }
    return out;
  }

  const quoted = (word) => (/^[A-Za-z0-9_\/.,:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
  // `git` is a command line.
  function gitCommand(given) {
    const list = isArray(given) ? given : given?.args;
    if (isArray(list)) return { command: ["git", ...list.map((word) => quoted(text(word)))].join(" ") };
    const rest = typeof given === "string" ? given : given?.command;
    if (typeof rest !== "string") throw new TypeError("`git` needs `args`, a list");
    return { command: `git ${rest.replace(/^git\s+/, "")}` };
  }

  async function tool(name, given = {}) {
    const written = text(name);
    const isGit = written === "git";
    const own = isGit ? "bash" : has(names, written) ? names[written] : written;
    const args = isGit ? gitCommand(given) : renamed(own, given);
    const { output, failed, is_cut } = await request({ op: "call", tool: own, arguments: args }).answer;
    return { name: written, output, text: output, exitCode: failed ? 1 : 0, metadata: is_cut ? { truncated: true } : {} };
  }
  // A short form returns the output alone, so a failure must be an error, and so must half of an output.
  async function output(name, given) {
    const result = await tool(name, given);
    if (result.exitCode !== 0) throw new Error(`${result.name}: ${result.output}`);
    if (result.metadata.truncated) throw new RangeError(`${result.name}: its output is longer than \`maxOutputBytes\``);
    return result.output;
  }
  // The lines of a file, without the numbers that `read` puts before them: all that were asked for, or an error.
  // Each line of the file has a number, so the note that more follows cannot come from the file.
  async function content(path, options = {}) {
    const { offset = 1, limit = Infinity } = options;
    const shown = await output("read", { limit: 1000000, ...options, path });
    if (shown === "the file is empty") return "";
    const more = /\n?\[more follows: continue with `offset` (\d+)\]$/.exec(shown);
    const lines = more === null ? shown : shown.slice(0, more.index);
    // Of a line that is too long, `read` shows the start and the length.
    const isCutLine = (line) => line.length > 10000 && /… \(\d+ bytes\)$/.test(line);
    if ((more !== null && Number(more[1]) < offset + limit) || lines.split("\n").some(isCutLine)) {
      throw new RangeError(`read: \`${path}\` is longer than \`maxOutputBytes\`; read parts of it with \`offset\` and \`limit\``);
    }
    return lines.replace(/^ *\d+\t/gm, "");
  }
  const absent = (name) => async () => {
    throw new Error(`\`ctx.${name}\` is not available here`);
  };

  const tools = new Proxy(freeze({}), {
    get: (_, name) => (typeof name === "string" && name !== "then" ? (given) => tool(name, given) : undefined),
    set: () => false,
    defineProperty: () => false,
  });
  let aborts = null;
  const ctx = freeze({
    tool,
    tools,
    log,
    // Made when it is first used, because its timer is something to wait for.
    get signal() {
      aborts ??= signal();
      return aborts;
    },
    readFile: content,
    read: content,
    grep: (pattern, options) => output("grep", { ...options, pattern }),
    search: (query, options = {}) => {
      const { mode, ...rest } = options;
      return output(mode === "glob" ? "glob" : "grep", { ...rest, pattern: query });
    },
    glob: (pattern, options) => output("glob", { ...options, pattern }),
    ls: (path, options) => output("list", path === undefined ? { ...options } : { ...options, path }),
    bash: (command, options) => output("bash", { ...options, command }),
    git: (...words) => output("git", words.length === 1 ? words[0] : words),
    webSearch: (query, options) => output("websearch", { ...options, query }),
    bm25: absent("bm25"),
    verify: absent("verify"),
  });
  const start = async (run, inputs) => run(ctx, parse(inputs));
  return { start };
})
