
const LIMIT_MS = 10_000;
const MOST_OUTPUT = 65_536;

type Decision = { decision: "allow" | "ask" | "deny"; reason: string };
type Input = Record<string, unknown>;

// Refuses a call that the guard does not let through.
async function checked(event: { toolName: string; toolCallId: string; input: unknown }, ctx: pi.ExtensionContext) {
  try {
    const input = event.input as Input;
    Object.assign(input, plain(event.toolName, input, ctx.cwd));
    await permit(event.toolName, event.toolCallId, input, ctx);
  } catch (error) {
    return { block: true, reason: (error as Error).message };
  }
}

// The call with its path as Pi would read it, so that the guard and the tool speak of one file.
function plain(tool: string, input: unknown, cwd: string): Input {
  const call = { ...(input as Input) };
  if (typeof call.path !== "string") return call;
  if (!["read", "write", "edit", "grep", "find", "ls"].includes(tool)) return call;
  let path = call.path.replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, " ").replace(/^@/, "");
  if (path === "~" || path.startsWith("~/")) path = join(homedir(), path.slice(1));
  if (path.startsWith("file://")) path = fileURLToPath(path);
  call.path = resolve(cwd, path);
  // Pi would look for a file with a similar name.
  if (tool === "read" && !existsSync(call.path as string)) throw new Error(`no file ${call.path}`);
  return call;
}

// Returns if the call may be made; throws otherwise, with what the model is to read.
async function permit(tool: string, call: string, input: Input, ctx: pi.ExtensionContext): Promise<void> {
  const { decision, reason } = await ask({ tool, input, directory: ctx.cwd, call });
  if (decision === "allow") return;
  if (decision === "ask") {
    if (!ctx.hasUI) throw new Error(`agentry: blocked, nobody is there to be asked: ${reason}`);
    const text = `${JSON.stringify(input)}\n${reason}`;
    if (await ctx.ui.confirm(`Let ${AGENT} use ${tool}?`, text)) return;
  }
  throw new Error(`agentry: blocked: ${reason}`);
}

// After a call, the guard looks whether it changed protected files. If it did, it denies the next ones.
async function ended(tool: string, call: string, ctx: pi.ExtensionContext): Promise<void> {
  await ask({ tool, input: {}, directory: ctx.cwd, call, ended: true }).catch(() => {});
}

// The guard's decision; every failure is an exception, which refuses the call.
function ask(call: { tool: string; input: Input; directory: string; call: string; ended?: boolean }): Promise<Decision> {
  return new Promise((done, failed) => {
    const fail = (why: string) => failed(new Error(`agentry: blocked: the guard ${why}`));
    const [program, ...words] = GUARD;
    // No shell, so that no name is ever read as a command.
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], cwd: ROOT });
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`gave no answer in ${LIMIT_MS} ms`);
    }, LIMIT_MS);
    let said = "";
    child.on("error", (error) => {
      clearTimeout(timer);
      fail(`could not be started: ${error.message}`);
    });
    child.stdout.on("data", (part) => {
      if (said.length < MOST_OUTPUT) said += part;
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code !== 0) return fail(`ended with ${code}`);
      try {
        const answer = JSON.parse(said) as Decision;
        if (!["allow", "ask", "deny"].includes(answer.decision)) return fail("gave no decision");
        done(answer);
      } catch {
        fail("gave an answer that is no JSON");
      }
    });
    // A guard that is gone already is told by its exit code.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(call));
  });
}
