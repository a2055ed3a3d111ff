// A program: calls agents as tools with the official MCP clients: that of the older era (`older`), or that of both
// eras, bound to the newer one (`newer`). The next argument says whether its user can be asked (`asks`), and the
// last one how it reaches the agents: `stdio` (`agentry mcp`), or a scope of a token for `/mcp` of `agentry serve`.
// Prints what it saw as one line of JSON.
import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [agentry, directory, era, asks, way] = process.argv.slice(2);
const seen = { asked: [], progress: [] };

const capabilities = asks === "asks" ? { elicitation: { form: {} } } : {};
const about = { name: "conformance", version: "1.0.0" };
const server = { command: agentry, args: ["mcp", "writer", "counter.agent"], cwd: directory, env: process.env, stderr: "inherit" };
const answer = ({ params }) => {
  seen.asked.push(params.message);
  return { action: "accept", content: { answer: "yes" } };
};

let serving;

// The address of `/mcp`, and a transport that has a token for it.
async function remote(Transport) {
  const stdio = ["ignore", "pipe", "inherit"];
  serving = spawn(agentry, ["serve", "--listen", "127.0.0.1:0", "writer", "counter.agent"], { cwd: directory, stdio });
  let url;
  for await (const line of createInterface({ input: serving.stdout })) {
    if ((url = line.split("serving on ")[1])) break;
  }
  const pair = execFileSync(agentry, ["serve", "pair", "--program", "conformance", "--scope", way], { encoding: "utf8" });
  const authorization = `Bearer ${/[0-9a-f]{64}/.exec(pair)[0]}`;
  return new Transport(new URL("/mcp", url), { requestInit: { headers: { authorization } } });
}

async function older() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(about, { capabilities });
  if (asks === "asks") client.setRequestHandler(ElicitRequestSchema, answer);
  await client.connect(way === "stdio" ? new StdioClientTransport(server) : await remote(StreamableHTTPClientTransport));
  return { client, call: (params, options) => client.callTool(params, undefined, options) };
}

async function newer() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const client = new Client(about, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  if (asks === "asks") client.setRequestHandler("elicitation/create", answer);
  await client.connect(way === "stdio" ? new StdioClientTransport(server) : await remote(StreamableHTTPClientTransport));
  seen.version = client.getNegotiatedProtocolVersion();
  return { client, call: (params, options) => client.callTool(params, options) };
}

const { client, call } = await (era === "newer" ? newer() : older());
seen.tools = (await client.listTools()).tools.map((it) => it.name);
const onprogress = ({ message }) => void seen.progress.push(message);
const first = await call({ name: "writer", arguments: { prompt: "play <files>" } }, { onprogress });
seen.first = first;
const run = first.structuredContent?.run;
seen.second = await call({ name: "writer", arguments: { prompt: "thank you", run } }, {});
seen.count = await call({ name: "counter__count", arguments: { text: "play <count>" } }, {});
seen.foreign = await call({ name: "writer", arguments: { prompt: "go on", run: seen.count.structuredContent?.run } }, {});
if (way !== "stdio" && era === "older") {
  const slow = new AbortController();
  const cancelled = call({ name: "writer", arguments: { prompt: "play <slow>" } }, { signal: slow.signal, onprogress: () => slow.abort("enough") });
  seen.cancelled = await cancelled.then(() => "finished", () => "cancelled");
  await client.transport.terminateSession();
}
await client.close();
serving?.kill();
console.log(JSON.stringify(seen));
