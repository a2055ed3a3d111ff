// One line of `grep`: `path:line:text`.
export function parse(line) {
  const found = /^(.+?):(\d+):.*?TODO(?:\((\w+)\))?:\s*(.*)$/.exec(line);
  if (!found) return null;
  const [, path, number, owner, what] = found;
  return { path, line: Number(number), owner: owner ?? null, what };
}
