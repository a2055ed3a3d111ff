//! The lint rules of an agent directory.

use agentry_text::Severity::{Error, Note, Warning};
use agentry_text::{LintRule, RuleExample};

/// Every rule about agent directories, in code order.
pub const RULES: &[&LintRule] = &[
    &NO_INSTRUCTIONS,
    &EMPTY_INSTRUCTIONS,
    &INSTRUCTIONS_METADATA,
    &DIRECTORY_NAME,
    &DIRECTORY_FOR_FILE,
    &MISSING_LABEL,
    &UNKNOWN_FUNCTION,
    &LITERAL_API_KEY,
    &PROVIDER_CONNECTION,
    &UNKNOWN_DEFAULT_MODEL,
    &WITHOUT_METADATA,
    &BAD_CRON,
    &NUMERIC_WEEKDAY,
    &EITHER_DAY,
    &NEVER_RUNS,
    &UNKNOWN_TIMEZONE,
    &BAD_JITTER,
    &DUPLICATE_SCHEDULE,
    &EMPTY_PROMPT,
    &TOOL_KIND,
    &DUPLICATE_TOOL,
    &BUILT_IN_TOOL,
    &TOOL_NAME,
    &SCRIPT_PATH,
    &SCRIPT_MISSING,
    &SCRIPT_SYNTAX,
    &SCRIPT_WITHOUT_RUN,
    &SCRIPT_IMPORT,
    &SCRIPT_TOO_DEEP,
    &INPUTS_SCHEMA,
];

/// Makes a small agent: the required file, and those that the example is about.
macro_rules! helper {
    ($($path:literal: $text:expr),+ $(,)?) => {
        RuleExample::Files(&[
            ("helper/instructions.md", "You answer questions.\n"),
            $((concat!("helper/", $path), $text),)+
        ])
    };
}

/// Makes a schedule with these fields.
macro_rules! schedule {
    ($fields:literal) => {
        helper!("schedules/daily.md": concat!("---\n", $fields, "---\nSay hello.\n"))
    };
}

/// Makes a script tool with these fields and this source.
macro_rules! script {
    ($fields:literal, $source:literal) => {
        helper!(
            "tools/count.md": concat!("---\nkind: script\n", $fields, "---\nCounts words.\n"),
            "scripts/count.js": $source,
        )
    };
}

/// A missing `instructions.md`.
pub static NO_INSTRUCTIONS: LintRule = LintRule {
    code: "AG5001",
    name: "no-instructions",
    severity: Error,
    why: "`instructions.md` is the one file that an agent directory must have: it says who the \
          agent is.",
    bad: RuleExample::File("helper/agent.acl", "max_tool_rounds = 30\n"),
    good: RuleExample::File("helper/instructions.md", "You answer questions.\n"),
};

/// An empty `instructions.md`.
pub static EMPTY_INSTRUCTIONS: LintRule = LintRule {
    code: "AG5002",
    name: "empty-instructions",
    severity: Error,
    why: "An empty `instructions.md` leaves the agent without a role.",
    bad: RuleExample::File("helper/instructions.md", "\n"),
    good: RuleExample::File("helper/instructions.md", "You answer questions.\n"),
};

/// An `instructions.md` with front matter.
pub static INSTRUCTIONS_METADATA: LintRule = LintRule {
    code: "AG5003",
    name: "instructions-metadata",
    severity: Warning,
    why: "`instructions.md` has no metadata in this format: a block between `---` lines is not \
          read but becomes part of the prompt.",
    bad: RuleExample::File(
        "helper/instructions.md",
        "---\nmodel: openai/gpt-5\n---\nYou answer questions.\n",
    ),
    good: helper!("agent.acl": "default_model = \"openai/gpt-5\"\n"),
};

/// A directory name that is unsuitable for an agent.
pub static DIRECTORY_NAME: LintRule = LintRule {
    code: "AG5004",
    name: "agent-directory-name",
    severity: Warning,
    why: "The agent is called like its directory, and a name with spaces or other signs cannot be \
          used by the programs that call it.",
    bad: RuleExample::File("My Helper/instructions.md", "You answer questions.\n"),
    good: RuleExample::File("my-helper/instructions.md", "You answer questions.\n"),
};

/// A directory in place of a file.
pub static DIRECTORY_FOR_FILE: LintRule = LintRule {
    code: "AG5005",
    name: "directory-for-file",
    severity: Error,
    why: "A directory with the name of a file is not read, so what is inside it has no effect.",
    bad: helper!("agent.acl/model.acl": "default_model = \"openai/gpt-5\"\n"),
    good: helper!("agent.acl": "default_model = \"openai/gpt-5\"\n"),
};

/// A block without its required label.
pub static MISSING_LABEL: LintRule = LintRule {
    code: "AG5010",
    name: "missing-label",
    severity: Error,
    why: "Providers, models and MCP servers are distinguished by the label of their block.",
    bad: helper!("agent.acl": "providers {\n  openai {}\n}\n"),
    good: helper!("agent.acl": "providers \"openai\" {}\n"),
};

/// A call of something other than `env("NAME")`.
pub static UNKNOWN_FUNCTION: LintRule = LintRule {
    code: "AG5011",
    name: "unknown-function",
    severity: Error,
    why: "`env(\"NAME\")` is the only function; the reference reader takes any other call for \
          nothing, without a word.",
    bad: helper!("agent.acl": "sessions_dir = concat(\"a\", \"b\")\n"),
    good: helper!("agent.acl": "sessions_dir = env(\"SESSIONS_DIR\")\n"),
};

/// A provider's key written as plain text.
pub static LITERAL_API_KEY: LintRule = LintRule {
    code: "AG5012",
    name: "literal-api-key",
    severity: Error,
    why: "Definitions are shared, copied and published; a key inside one is published with it. The \
          key is never shown in a finding.",
    bad: helper!("agent.acl": "providers \"openai\" {\n  api_key = \"0123456789\"\n}\n"),
    good: helper!("agent.acl": "providers \"openai\" {}\n"),
};

/// A provider connection in a definition.
pub static PROVIDER_CONNECTION: LintRule = LintRule {
    code: "AG5013",
    name: "provider-connection-ignored",
    severity: Note,
    why: "Where a provider is and which key it gets come from the user's own configuration: a file \
          of the workspace could otherwise send keys to an address of its choice.",
    bad: helper!("agent.acl": "providers \"openai\" {\n  base_url = \"https://ai.example.com\"\n}\n"),
    good: helper!("agent.acl": "providers \"openai\" {}\n"),
};

/// A `default_model` that the file does not declare.
pub static UNKNOWN_DEFAULT_MODEL: LintRule = LintRule {
    code: "AG5014",
    name: "undeclared-default-model",
    severity: Warning,
    why: "Where a file declares providers, `default_model` should be one of their models; otherwise \
          a name is misspelt or a block is missing.",
    bad: helper!(
        "agent.acl": "default_model = \"opnai/gpt-5\"\n\nproviders \"openai\" {\n  models \"gpt-5\" {}\n}\n"
    ),
    good: helper!(
        "agent.acl": "default_model = \"openai/gpt-5\"\n\nproviders \"openai\" {\n  models \"gpt-5\" {}\n}\n"
    ),
};

/// A schedule or a tool without front matter.
pub static WITHOUT_METADATA: LintRule = LintRule {
    code: "AG5030",
    name: "file-without-metadata",
    severity: Error,
    why: "Every Markdown file in `schedules/` and `tools/` opens with a metadata block that says \
          when to run or what the tool is; only `README.md` is skipped.",
    bad: helper!("schedules/daily.md": "Say hello.\n"),
    good: schedule!("cron: '@daily'\n"),
};

/// A cron expression that cannot be run.
pub static BAD_CRON: LintRule = LintRule {
    code: "AG5031",
    name: "bad-cron",
    severity: Error,
    why: "An expression that is not understood never runs; the reference finds out only when its \
          scheduler starts.",
    bad: schedule!("cron: 0 25 * * *\n"),
    good: schedule!("cron: 0 23 * * *\n"),
};

/// Days of the week as numbers.
pub static NUMERIC_WEEKDAY: LintRule = LintRule {
    code: "AG5032",
    name: "numeric-weekday",
    severity: Note,
    why: "Unix counts 1 as Monday, the reference of this format as Sunday. Agentry reads numbers as \
          Unix does; names mean the same everywhere.",
    bad: schedule!("cron: 0 9 * * 1-5\n"),
    good: schedule!("cron: 0 9 * * mon-fri\n"),
};

/// An expression that restricts both day fields.
pub static EITHER_DAY: LintRule = LintRule {
    code: "AG5033",
    name: "either-day",
    severity: Note,
    why: "With both day fields restricted Unix runs when **either** fits, the reference of this \
          format only when **both** do. Agentry reads them as Unix does.",
    bad: schedule!("cron: 0 9 1 * mon\n"),
    good: schedule!("cron: 0 9 1 * *\n"),
};

/// An expression that matches no date.
pub static NEVER_RUNS: LintRule = LintRule {
    code: "AG5034",
    name: "never-runs",
    severity: Warning,
    why: "No month of the expression has the day that it names.",
    bad: schedule!("cron: 0 9 30 2 *\n"),
    good: schedule!("cron: 0 9 28 2 *\n"),
};

/// A time zone that does not exist.
pub static UNKNOWN_TIMEZONE: LintRule = LintRule {
    code: "AG5035",
    name: "unknown-timezone",
    severity: Error,
    why: "A schedule needs the name of a zone in the IANA database; offsets and abbreviations do not \
          say when clocks change.",
    bad: schedule!("cron: '@daily'\ntimezone: Berlin\n"),
    good: schedule!("cron: '@daily'\ntimezone: Europe/Berlin\n"),
};

/// A delay that cannot be read.
pub static BAD_JITTER: LintRule = LintRule {
    code: "AG5036",
    name: "bad-jitter",
    severity: Error,
    why: "A delay is a whole number with its unit: `30s`, `5m`, `1h`.",
    bad: schedule!("cron: '@daily'\njitter: 5 minutes\n"),
    good: schedule!("cron: '@daily'\njitter: 5m\n"),
};

/// Two enabled schedules with the same name.
pub static DUPLICATE_SCHEDULE: LintRule = LintRule {
    code: "AG5037",
    name: "duplicate-schedule",
    severity: Error,
    why: "Each schedule has a session of its own, found by its name; two of one name would share \
          it.",
    bad: helper!(
        "schedules/a.md": "---\ncron: '@daily'\nname: greet\n---\nSay hello.\n",
        "schedules/b.md": "---\ncron: '@hourly'\nname: greet\n---\nSay hello.\n",
    ),
    good: helper!(
        "schedules/a.md": "---\ncron: '@daily'\n---\nSay hello.\n",
        "schedules/b.md": "---\ncron: '@hourly'\n---\nSay hello.\n",
    ),
};

/// A schedule without a prompt.
pub static EMPTY_PROMPT: LintRule = LintRule {
    code: "AG5038",
    name: "empty-prompt",
    severity: Warning,
    why: "The text after the metadata is the prompt of each run; without it a run has no task.",
    bad: helper!("schedules/daily.md": "---\ncron: '@daily'\n---\n"),
    good: schedule!("cron: '@daily'\n"),
};

/// A tool of an unknown kind.
pub static TOOL_KIND: LintRule = LintRule {
    code: "AG5040",
    name: "tool-kind",
    severity: Error,
    why: "`kind` says what a tool file describes: `mcp` a server, `script` a JavaScript file.",
    bad: helper!("tools/search.md": "---\nkind: server\ncommand: search-server\n---\n"),
    good: helper!("tools/search.md": "---\nkind: mcp\ncommand: search-server\n---\n"),
};

/// Two tools with the same name.
pub static DUPLICATE_TOOL: LintRule = LintRule {
    code: "AG5041",
    name: "duplicate-tool",
    severity: Error,
    why: "A tool is called by its name; with two of one name it is not clear which one runs.",
    bad: helper!(
        "tools/a.md": "---\nkind: mcp\nname: search\ncommand: one\n---\n",
        "tools/b.md": "---\nkind: mcp\nname: search\ncommand: two\n---\n",
    ),
    good: helper!(
        "tools/a.md": "---\nkind: mcp\ncommand: one\n---\n",
        "tools/b.md": "---\nkind: mcp\ncommand: two\n---\n",
    ),
};

/// A script with the name of a built-in tool.
pub static BUILT_IN_TOOL: LintRule = LintRule {
    code: "AG5042",
    name: "built-in-tool-name",
    severity: Error,
    why: "A script cannot stand in for a built-in tool: rules for that tool would be applied to \
          something else.",
    bad: script!("name: bash\npath: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
    good: script!("path: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
};

/// A script whose name is not valid for a tool call.
pub static TOOL_NAME: LintRule = LintRule {
    code: "AG5043",
    name: "tool-name",
    severity: Warning,
    why: "Providers take tool names of at most 64 letters, digits, `_` and `-`; a call with another \
          one is refused.",
    bad: script!("name: count words\npath: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
    good: script!("name: count_words\npath: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
};

/// A script path that is not allowed.
pub static SCRIPT_PATH: LintRule = LintRule {
    code: "AG5050",
    name: "script-path",
    severity: Error,
    why: "A script is a `.js` or `.mjs` file inside the agent's directory or the workspace; a path \
          that could leave them is refused.",
    bad: script!("path: ../count.js\n", "function run(ctx, inputs) {}\n"),
    good: script!("path: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
};

/// A script that does not exist.
pub static SCRIPT_MISSING: LintRule = LintRule {
    code: "AG5051",
    name: "script-missing",
    severity: Error,
    why: "The script is looked for in the agent's directory, then in the workspace; the reference \
          notices only when the tool is called.",
    bad: script!("path: scripts/counter.js\n", "function run(ctx, inputs) {}\n"),
    good: script!("path: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
};

/// A script that does not parse.
pub static SCRIPT_SYNTAX: LintRule = LintRule {
    code: "AG5052",
    name: "script-syntax",
    severity: Error,
    why: "A script that cannot be parsed fails at its first call.",
    bad: script!("path: scripts/count.js\n", "function run(ctx, inputs) {\n"),
    good: script!("path: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
};

/// A script without its entry function.
pub static SCRIPT_WITHOUT_RUN: LintRule = LintRule {
    code: "AG5053",
    name: "script-without-run",
    severity: Error,
    why: "A call of the tool is a call of the script's `run(ctx, inputs)`.",
    bad: script!("path: scripts/count.js\n", "function main(ctx, inputs) {}\n"),
    good: script!("path: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
};

/// A script that imports something.
pub static SCRIPT_IMPORT: LintRule = LintRule {
    code: "AG5054",
    name: "script-import",
    severity: Error,
    why: "The sandbox has no modules: a script is one file, and reaches the outside only through \
          `ctx`.",
    bad: script!(
        "path: scripts/count.js\n",
        "import fs from 'fs';\nfunction run(ctx, inputs) {}\n"
    ),
    good: script!("path: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
};

/// A script that is nested too deeply to parse.
pub static SCRIPT_TOO_DEEP: LintRule = LintRule {
    code: "AG5055",
    name: "script-too-deep",
    severity: Error,
    why: "Code that is nested thousands of levels deep is not written by people; reading it could \
          exhaust the machine.",
    bad: RuleExample::Made("a script with 20,000 open brackets", deep_script),
    good: script!("path: scripts/count.js\n", "function run(ctx, inputs) {}\n"),
};

/// An invalid JSON Schema.
pub static INPUTS_SCHEMA: LintRule = LintRule {
    code: "AG5056",
    name: "inputs-schema",
    severity: Error,
    why: "`inputs` is the JSON Schema of the object that a call passes; without a valid one calls \
          cannot be checked.",
    bad: script!(
        "path: scripts/count.js\ninputs:\n  type: dictionary\n",
        "function run(ctx, inputs) {}\n"
    ),
    good: script!(
        "path: scripts/count.js\ninputs:\n  type: object\n",
        "function run(ctx, inputs) {}\n"
    ),
};

fn deep_script() -> Vec<(String, Vec<u8>)> {
    let tool = "---\nkind: script\npath: scripts/count.js\n---\nCounts words.\n";
    let source =
        format!("function run() {{ return {}{}; }}\n", "[".repeat(20_000), "]".repeat(20_000));
    vec![
        ("helper/instructions.md".to_owned(), b"You answer questions.\n".to_vec()),
        ("helper/tools/count.md".to_owned(), tool.as_bytes().to_vec()),
        ("helper/scripts/count.js".to_owned(), source.into_bytes()),
    ]
}
