//! Import reports everything that it drops or changes, for each harness.

use agentry_compile::formats::{WriteTarget, convert};
use agentry_compile::model::Format;

use crate::back::{definition, imported};
use crate::{Wish, rendering, report_of};

const PI: &str = ".pi/agents/x.md";
const CODEX: &str = ".codex/agents/x.toml";
const GEMINI: &str = ".gemini/agents/x.md";
const COPILOT: &str = ".github/agents/x.agent.md";

/// The whole file of an agent with these fields.
fn text(harness: &str, fields: &str) -> String {
    match harness {
        "codex" => format!("name = \"x\"\ndeveloper_instructions = \"Hi.\"\n{fields}"),
        "copilot" => format!("---\ndescription: d\n{fields}---\nHi.\n"),
        _ => format!("---\nname: x\ndescription: d\n{fields}---\nHi.\n"),
    }
}

#[test]
fn dropped_and_changed_fields_are_reported() {
    let cases = [
        (
            "pi",
            PI,
            "tools: read, bash # all\n",
            "dropped tools: `bash # all` is not a tool: Pi knows",
        ),
        ("pi", PI, "tools: read, a.b\n", "dropped tools: `a.b` is not a tool that Pi knows"),
        ("pi", PI, "tools: read, mcp:*x\n", "dropped tools: `mcp:*x` is not a tool that Pi knows"),
        (
            "pi",
            PI,
            "tools: [read]\n",
            "dropped tools: `[read]` is not a tool: Pi knows no brackets",
        ),
        ("codex", CODEX, "tools = [\"a\"]\n", "dropped tools: Codex wants a table here"),
        ("codex", CODEX, "features = true\n", "dropped features: Codex wants a table here"),
        ("codex", CODEX, "sandbox_mode = true\n", "narrowed sandbox_mode: Codex has no such"),
        (
            "codex",
            CODEX,
            "approval_policy = \"x\"\n",
            "narrowed approval_policy: Codex has no such",
        ),
        ("codex", CODEX, "", "changed description: there is none"),
        (
            "copilot",
            COPILOT,
            "user-invocable: false\ndisable-model-invocation: true\n",
            "dropped user-invocable: neither a person nor a model may start it",
        ),
        ("copilot", COPILOT, "tools: [frobnicate]\n", "dropped tools: `frobnicate` is not a tool"),
        (
            "gemini",
            GEMINI,
            "color: red\n",
            "changed metadata: Gemini itself rejects the agent: it does not know `color`",
        ),
        (
            "gemini",
            GEMINI,
            "tools: [frobnicate]\n",
            "dropped tools: `frobnicate` is not a tool that is known: it is left out; Gemini itself rejects",
        ),
    ];
    for (harness, path, fields, expected) in cases {
        let found = imported(harness, &[(path, &text(harness, fields))], path).expect("an agent");
        let report: Vec<String> = found
            .losses
            .iter()
            .map(|it| format!("{} {}: {}", it.kind, it.field, it.detail))
            .collect();
        assert!(report.iter().any(|it| it.starts_with(expected)), "{fields}{report:#?}");
    }
    let usual = "description = \"d\"\nsandbox_mode = \"read-only\"\ntools = {view_image = false}\n";
    let found = imported("codex", &[(CODEX, &text("codex", usual))], CODEX).expect("an agent");
    let fields = ["description", "sandbox_mode", "tools"];
    assert!(!found.losses.iter().any(|it| fields.contains(&it.field.as_str())), "{usual}");
}

/// The model name of a harness is kept for that harness, also in formats with a model field.
#[test]
fn model_names_are_kept_for_their_harness() {
    let cases = [
        ("gemini", GEMINI, "model: flash-lite\n"),
        ("codex", CODEX, "description = \"d\"\nmodel = \"qwen3-coder\"\n"),
        ("copilot", COPILOT, "model: a/b\n"),
    ];
    for (harness, path, fields) in cases {
        let found = imported(harness, &[(path, &text(harness, fields))], path).expect("an agent");
        let written = convert(&found.agent, Format::Manifest, &WriteTarget::default());
        let line = fields.lines().last().expect("a line");
        let place = |(path, text)| (format!("agents/x/{path}"), text);
        let files: Vec<_> = written.files.into_iter().map(place).collect();
        let of = rendering(harness, &files, Wish::default()).agents.remove(0);
        assert!(of.files[0].text().contains(line), "{line}\n{}", of.files[0].text());
    }
}

/// An agent that may write files is not reported as one without a tool for it.
#[test]
fn a_pi_agent_with_write_reports_no_dropped_tool() {
    let text = text("pi", "tools: read, write\n");
    let found = imported("pi", &[(PI, &text)], PI).expect("an agent");
    let rendered = rendering("pi", &definition(&found), Wish::default()).agents.remove(0);
    assert!(rendered.files[0].text().contains("tools: read, write\n"));
    let report = report_of(&rendered);
    assert!(!report.contains("left out"), "{report}");
}
