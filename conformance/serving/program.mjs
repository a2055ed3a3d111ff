// A program: calls the tools of `agentry mcp` with the official MCP clients: that of the older era
// (`older`), or that of both eras, bound to the newer one (`newer`). The last argument says whether its user
// can be asked (`asks`). Prints what it saw as one line of JSON.
const [agentry, directory, era, asks] = process.argv.slice(2);
const seen = { asked: [], progress: [] };

const capabilities = asks === "asks" ? { elicitation: { form: {} } } : {};
const about = { name: "conformance", version: "1.0.0" };
const server = { command: agentry, args: ["mcp", "writer", "counter.agent"], cwd: directory, env: process.env, stderr: "inherit" };
const answer = ({ params }) => {
  seen.asked.push(params.message);
  return { action: "accept", content: { answer: "yes" } };
};

async function older() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(about, { capabilities });
  if (asks === "asks") client.setRequestHandler(ElicitRequestSchema, answer);
  await client.connect(new StdioClientTransport(server));
  return { client, call: (params, options) => client.callTool(params, undefined, options) };
}

async function newer() {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const client = new Client(about, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  if (asks === "asks") client.setRequestHandler("elicitation/create", answer);
  await client.connect(new StdioClientTransport(server));
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
await client.close();
console.log(JSON.stringify(seen));
