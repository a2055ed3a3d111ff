// The conformance suite of MCP against `/mcp` of `agentry serve`: the scenarios that need no tools made for the suite.
// The suite sends no token, so a proxy adds it. Prints which scenarios passed as one line of JSON.
import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import http from "node:http";
import { createInterface } from "node:readline";

const [agentry, directory, ...scenarios] = process.argv.slice(2);
const stdio = ["ignore", "pipe", "inherit"];
const serving = spawn(agentry, ["serve", "--listen", "127.0.0.1:0", "writer", "counter.agent"], { cwd: directory, stdio });
let host;
for await (const line of createInterface({ input: serving.stdout })) {
  if ((host = /serving on http:\/\/([^/]+)/.exec(line)?.[1])) break;
}
const token = readFileSync(`${process.env.HOME}/.agentry/serve/token`, "utf8").trim();

const proxy = http.createServer((asked, answer) => {
  const own = `127.0.0.1:${proxy.address().port}`;
  const headers = { ...asked.headers, authorization: `Bearer ${token}` };
  // What the suite says about itself is said about the server; foreign names stay foreign.
  for (const name of ["host", "origin"]) {
    headers[name] = headers[name]?.replace(own, host);
    if (headers[name] === undefined) delete headers[name];
  }
  const [hostname, port] = host.split(":");
  const passed = http.request({ hostname, port, path: asked.url, method: asked.method, headers, setHost: false }, (reply) => {
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  passed.on("error", () => answer.destroy());
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
});
await new Promise((done) => proxy.listen(0, "127.0.0.1", done));

const program = `${directory}/node_modules/@modelcontextprotocol/conformance/dist/index.js`;
const url = `http://127.0.0.1:${proxy.address().port}/mcp`;
const play = (scenario) =>
  new Promise((done) => execFile(process.execPath, [program, "server", "--url", url, "--scenario", scenario], { cwd: directory }, (error, text) => done([scenario, error ? text.slice(-2000) : "passed"])));
console.log(JSON.stringify(Object.fromEntries(await Promise.all(scenarios.map(play)))));
proxy.close();
proxy.closeAllConnections();
serving.kill();
