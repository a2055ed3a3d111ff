// @MARK@
//
// The agent's own file takes Pi's tools away; this extension gives them back under other names, and
// each call is put to `agentry guard` first. Without this file the agent has no tools at all.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as pi from "@earendil-works/pi-coding-agent";

const AGENT = @AGENT@;
const GUARD = @GUARD@;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PREFIX = "guarded_";
const TOOLS: Record<string, (cwd: string) => any> = { @TOOLS@ };

export default function (api: pi.ExtensionAPI) {
  for (const [name, create] of Object.entries(TOOLS)) {
    const { description, parameters } = create(process.cwd());
    api.registerTool({
      name: PREFIX + name,
      label: name,
      description,
      parameters,
      async execute(id, input, signal, update, ctx) {
        const call = plain(name, input, ctx.cwd);
        await permit(name, id, call, ctx);
        try {
          return await create(ctx.cwd).execute(id, call, signal, update);
        } finally {
          await ended(name, id, ctx);
        }
      },
    });
  }

  // Whatever else brings a tool along meets the same guard.
  api.on("tool_call", async (event, ctx) => {
    if (event.toolName.startsWith(PREFIX) && event.toolName.slice(PREFIX.length) in TOOLS) return;
    return checked(event, ctx);
  });
  api.on("tool_result", async (event, ctx) => {
    if (!event.toolName.startsWith(PREFIX)) await ended(event.toolName, event.toolCallId, ctx);
  });
}
