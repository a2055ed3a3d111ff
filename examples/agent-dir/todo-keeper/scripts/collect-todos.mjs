import { parse } from "./todo.mjs";

// Collects the comments `TODO: what` and `TODO(owner): what`.
export async function run(ctx, { directory }) {
  const found = await ctx.grep("TODO(\\(\\w+\\))?:", { path: directory });
  const todos = found.split("\n").map(parse).filter(Boolean);
  const open = todos.filter((todo) => !todo.owner).length;
  return { summary: `${todos.length} tasks, ${open} without an owner`, todos };
}
