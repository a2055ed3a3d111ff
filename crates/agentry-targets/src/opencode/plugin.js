// Puts every tool call of these agents to `agentry guard`. What it denies is refused; what it allows is
// approved where the rules of the agent ask; where it asks, OpenCode asks. Without this file OpenCode
// asks about all of it. Agents that are not listed are left alone.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

// By name: the definition, seen from the project, its digest, and which of its rules allow a whole tool.
const AGENTS = new Map(Object.entries(__AGENTS__))
// What the guard's approval answers; a tool of its own name too.
const ANSWERED = new Set(["bash", "edit", "read", "webfetch", "websearch", "external_directory", "skill", "task"])
// Tools that one permission is asked for.
const EDITING = new Set(["edit", "write", "multiedit", "patch", "apply_patch"])
// Agents of OpenCode itself that share a session with others and have no tools.
const HELPERS = new Set(["title", "summary", "compaction"])
const ROOT = fileURLToPath(new URL("../..", import.meta.url))
const LIMIT_MS = 10_000
const MOST_CALLS = 1_000
const MOST_OUTPUT = 65_536

export const AgentryGuard = async ({ client, directory }) => {
  const agents = new Map()
  const approved = new Map()

  // The agent of a session, as the client has it.
  const agentOf = async (sessionID) => {
    if (agents.has(sessionID)) return agents.get(sessionID)
    const { data } = await client.session.messages({ path: { id: sessionID } })
    const last = (data ?? []).findLast((message) => message.info?.agent ?? message.info?.mode)
    const name = last?.info.agent ?? last?.info.mode
    if (typeof name !== "string") throw new Error("agentry: nobody knows which agent calls")
    return name
  }

  // The servers that a tool may be of, by name; nothing if they cannot be told.
  const servers = async (tool) => {
    if (!tool.includes("_") || tool === "apply_patch") return []
    try {
      const { data } = await client.mcp.status()
      return data ? Object.keys(data) : undefined
    } catch {
      return undefined
    }
  }

  return {
    "chat.params": async (input) => {
      const name = typeof input.agent === "string" ? input.agent : input.agent?.name
      if (typeof name === "string" && !HELPERS.has(name)) agents.set(input.sessionID, name)
    },

    "tool.execute.before": async (input, output) => {
      const definition = AGENTS.get(await agentOf(input.sessionID))
      if (!definition) return
      const question = { tool: input.tool, args: output.args ?? {}, directory, call: input.callID, servers: await servers(input.tool) }
      const { decision, reason } = await ask(definition, question)
      if (decision === "deny") throw new Error(`agentry: ${reason}`)
      // Where OpenCode would not ask, nobody can be asked.
      if (decision === "ask" && isAllowed(definition[2], input.tool)) throw new Error(`agentry: ${reason}`)
      if (decision !== "allow") return
      if (approved.size >= MOST_CALLS) approved.delete(approved.keys().next().value)
      approved.set(input.callID, { sessionID: input.sessionID, tool: input.tool })
    },

    // After a call, the guard looks whether it changed protected files. If it did, it denies the next ones.
    "tool.execute.after": async (input) => {
      approved.delete(input.callID)
      const definition = AGENTS.get(await agentOf(input.sessionID))
      if (definition) await ask(definition, { tool: input.tool, directory, call: input.callID, ended: true }).catch(() => {})
    },

    event: async ({ event }) => {
      if (event.type !== "permission.asked") return
      const { id, sessionID, permission, tool } = event.properties
      const call = approved.get(tool?.callID)
      if (!call || call.sessionID !== sessionID) return
      if (!ANSWERED.has(permission) && permission !== call.tool) return
      await client.postSessionIdPermissionsPermissionId({
        path: { id: sessionID, permissionID: id },
        body: { response: "once" },
      })
    },
  }
}

// Whether the rules allow a tool whatever it is called with: the last that is about it decides.
function isAllowed(rules, tool) {
  const permission = EDITING.has(tool) ? "edit" : tool
  const one = (key) => key.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")
  const found = rules.findLast(([key]) => new RegExp(`^${one(key)}$`, "s").test(permission))
  return found !== undefined && found[1]
}

// The guard's decision; every failure is an exception, which refuses the call.
function ask([path, digest], question) {
  return new Promise((done, failed) => {
    const fail = (why) => failed(new Error(`agentry: denied: the guard ${why}`))
    // It starts in the project. An agent of the user, named by its full path, has none.
    const project = path.startsWith("/") ? [] : ["--project", "."]
    // No shell, so that no name is ever read as a command.
    const child = spawn("agentry", ["guard", "opencode", path, "--digest", digest, ...project], {
      cwd: ROOT,
      stdio: ["pipe", "pipe", "ignore"],
    })
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      fail(`gave no answer in ${LIMIT_MS} ms`)
    }, LIMIT_MS)
    let said = ""
    child.on("error", (error) => {
      clearTimeout(timer)
      fail(`could not be started: ${error.message}`)
    })
    child.stdout.on("data", (part) => {
      if (said.length < MOST_OUTPUT) said += part
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      if (code !== 0) return fail(`ended with ${code}`)
      try {
        const answer = JSON.parse(said)
        if (!["allow", "ask", "deny"].includes(answer.decision)) return fail("gave no decision")
        done(answer)
      } catch {
        fail("gave an answer that is no JSON")
      }
    })
    // A guard that is gone already is told by its exit code.
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(question))
  })
}
