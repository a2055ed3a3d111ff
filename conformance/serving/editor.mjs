// An editor: drives `agentry acp` with the official client library of ACP, from the first message to a
// session that is loaded again. Prints what it saw as one line of JSON.
import * as acp from "@agentclientprotocol/sdk";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

const [agentry, agent, directory] = process.argv.slice(2);
const seen = { asked: [], updates: [], stops: [], saved: [], terminals: [] };
// The texts that the user has not saved, and what runs in terminals.
const unsaved = new Map();
const terminals = [];

function openTerminal({ command, args, cwd }) {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const about = { words: args, output: "" };
  seen.terminals.push(about);
  child.stdout.on("data", (piece) => void (about.output += piece));
  const over = new Promise((done) => child.once("close", (exitCode) => done({ exitCode, signal: null })));
  terminals.push(over.then((exit) => Object.assign(about, exit) && exit));
  return { terminalId: String(terminals.length - 1) };
}

function start(answers) {
  const child = spawn(agentry, ["acp", agent], { cwd: directory, stdio: ["pipe", "pipe", "inherit"] });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const app = acp
    .client({ name: "conformance" })
    .onNotification("session/update", ({ params }) => void seen.updates.push(params.update))
    .onRequest("fs/read_text_file", ({ params }) => ({ content: unsaved.get(params.path) ?? readFileSync(params.path, "utf8") }))
    .onRequest("fs/write_text_file", ({ params }) => {
      seen.saved.push(params.content);
      unsaved.delete(params.path);
      writeFileSync(params.path, params.content);
      return {};
    })
    .onRequest("terminal/create", ({ params }) => openTerminal(params))
    .onRequest("terminal/wait_for_exit", ({ params }) => terminals[params.terminalId])
    .onRequest("terminal/release", () => ({}))
    .onRequest("session/request_permission", ({ params }) => {
      seen.asked.push({ call: params.toolCall.rawInput, content: params.toolCall.content, options: params.options.map((it) => it.optionId) });
      const optionId = answers.shift();
      if (optionId === "cancel") return cancel(params.sessionId).then(() => ({ outcome: { outcome: "cancelled" } }));
      return optionId ? { outcome: { outcome: "selected", optionId } } : { outcome: { outcome: "cancelled" } };
    });
  return { app, stream, child };
}

let cancel;
const ended = (child) => new Promise((done) => (child.exitCode === null ? child.once("exit", done) : done(child.exitCode)));
const initialize = (agent) => agent.request("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true } });
const prompt = async (agent, sessionId, text) => {
  const { stopReason } = await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  seen.stops.push(stopReason);
};

const first = start(["yes", "no"]);
await first.app.connectWith(first.stream, async (agent) => {
  const about = await initialize(agent);
  seen.version = about.protocolVersion;
  const { sessionId } = await agent.request("session/new", { cwd: directory, mcpServers: [] });
  seen.session = sessionId;
  await prompt(agent, sessionId, "play <files>");
  seen.listed = (await agent.request("session/list", {})).sessions.length;
  await agent.request("session/close", { sessionId });
  try {
    await agent.request("session/new", { cwd: "/", mcpServers: [] });
  } catch (error) {
    seen.outside = error.message;
  }
});
first.child.stdin.end();
seen.code = await ended(first.child);

const second = start([]);
await second.app.connectWith(second.stream, async (agent) => {
  await initialize(agent);
  const before = seen.updates.length;
  await agent.request("session/load", { sessionId: seen.session, cwd: directory, mcpServers: [] });
  seen.replayed = seen.updates.slice(before).map((it) => it.sessionUpdate);
  await prompt(agent, seen.session, "thank you");
});
second.child.stdin.end();
await ended(second.child);
const third = start(["cancel"]);
await third.app.connectWith(third.stream, async (agent) => {
  await initialize(agent);
  const before = seen.updates.length;
  await agent.request("session/resume", { sessionId: seen.session, cwd: directory, mcpServers: [] });
  seen.resumed = seen.updates.slice(before).map((it) => it.sessionUpdate);
  await prompt(agent, seen.session, "thank you again");
  const { sessionId } = await agent.request("session/new", { cwd: directory, mcpServers: [] });
  cancel = (sessionId) => agent.notify("session/cancel", { sessionId });
  await prompt(agent, sessionId, "play <more>");
});
third.child.stdin.end();
await ended(third.child);
const fourth = start(["yes"]);
await fourth.app.connectWith(fourth.stream, async (agent) => {
  await initialize(agent);
  unsaved.set(`${directory}/open.txt`, "not saved\n");
  const { sessionId } = await agent.request("session/new", { cwd: directory, mcpServers: [] });
  await prompt(agent, sessionId, "play <open>");
});
fourth.child.stdin.end();
await ended(fourth.child);
seen.updates = seen.updates.map((it) => [it.sessionUpdate, it.status ?? it.content?.text ?? ""].join(" "));
console.log(JSON.stringify(seen));
