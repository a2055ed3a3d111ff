// @MARK@
//
// `SYSTEM.md` makes every session in this project that agent; this extension puts each of its calls
// to `agentry guard` first. Without this file the session has no limits.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type * as pi from "@earendil-works/pi-coding-agent";

const AGENT = @AGENT@;
const GUARD = @GUARD@;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export default function (api: pi.ExtensionAPI) {
  api.on("tool_call", async (event, ctx) => {
    // The same agent as a helper of its own has the same limits.
    const { agent, tasks, chain, workflowScript } = event.input as Record<string, unknown>;
    const isSelf = agent === AGENT && !tasks && !chain && !workflowScript;
    if (event.toolName === "subagent" && isSelf) return;
    return checked(event, ctx);
  });
  api.on("tool_result", async (event, ctx) => ended(event.toolName, event.toolCallId, ctx));
}
