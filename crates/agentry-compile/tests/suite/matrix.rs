//! What each target can express. The page is generated from the rows of the targets. The rows are checked
//! against rendering, and both against the matrix of the agent-toml document.

use agentry_compile::render::{RenderConfig, RenderJob, run};
use agentry_compile::targets::question_habits::{HABITS, HabitRow, SILENT_MODES, SilentModes};
use agentry_compile::targets::{
    FieldSupport, ListedFiles, LossKind, MODEL_FIELDS, RenderScope, TARGETS, Target, target,
};
use agentry_compile::{MemoryWorld, at, read, subject};

use crate::generated::current;

/// How far a field is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Full,
    Partial,
    None,
}

use Level::{Full, None as Not, Partial};

/// The matrix of the document: OpenCode, Claude Code, Pi.
const DOCUMENT: &[(&str, [Level; 3])] = &[
    ("name", [Full, Full, Full]),
    ("description", [Full, Full, Full]),
    ("display_name", [Full, Not, Full]),
    ("mode", [Full, Not, Partial]),
    ("tags", [Partial, Not, Not]),
    ("max_turns", [Full, Full, Not]),
    ("skills", [Full, Full, Full]),
    ("context", [Full, Full, Partial]),
    ("rules", [Full, Full, Not]),
    ("permissions.bash", [Full, Full, Partial]),
    ("permissions.edit", [Full, Full, Partial]),
    ("permissions.webfetch", [Full, Full, Partial]),
    ("permissions.websearch", [Full, Full, Partial]),
    ("permissions.question", [Full, Not, Not]),
    ("permissions.external_directory", [Full, Not, Partial]),
];
const COLUMNS: [&str; 3] = ["opencode", "claude-code", "pi"];

/// Intended differences between a target and the document: target, field, reason.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("opencode", "display_name", "a `name` in the file changes the identifier of the agent"),
    ("opencode", "tags", "OpenCode sends fields that it does not know to the model provider"),
    (
        "opencode",
        "max_turns",
        "`steps` only asks the model to stop; OpenCode continues if it does not",
    ),
    ("opencode", "permissions.webfetch", "a map of addresses keeps OpenCode from starting"),
    ("opencode", "permissions.websearch", "OpenCode has one answer for all searches"),
    ("opencode", "permissions.question", "OpenCode has one answer for all questions"),
    ("claude-code", "max_turns", "`maxTurns` is ignored for the agent of a main session"),
    (
        "claude-code",
        "permissions.bash",
        "rules hold for all agents at once, and the strictest wins",
    ),
    (
        "claude-code",
        "permissions.edit",
        "rules hold for all agents at once, and the strictest wins",
    ),
    (
        "claude-code",
        "permissions.webfetch",
        "rules name hosts and no paths, for all agents at once",
    ),
    ("claude-code", "permissions.websearch", "one answer, for all agents at once"),
    ("claude-code", "permissions.question", "there is a tool for it by now, in a main session"),
    ("claude-code", "permissions.external_directory", "rules with whole paths exist by now"),
    ("pi", "max_turns", "pi-subagents has budgets by now, which count calls of tools"),
    ("pi", "skills", "a skill is a file, and can only be used where the agent may read"),
    ("pi", "context", "the files are copied into the prompt"),
    ("pi", "rules", "the files are copied into the prompt"),
];

fn level(support: FieldSupport) -> Level {
    match support {
        FieldSupport::Yes(_) | FieldSupport::Prompt => Full,
        FieldSupport::Partly(_) => Partial,
        FieldSupport::No(_) => Not,
    }
}

#[test]
fn every_difference_from_the_document_has_its_reason() {
    let mut wrong = Vec::new();
    for (at, name) in COLUMNS.iter().enumerate() {
        let target = target(name).expect("a target of the document");
        for (field, levels) in DOCUMENT {
            let ours = target.support(field).map(level);
            let explained = DIFFERENCES.iter().any(|(known, of, _)| known == name && of == field);
            let differs = ours != Some(levels[at]);
            if differs != explained {
                wrong.push(format!("{name} {field}: {ours:?}, in the document {:?}", levels[at]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A row of a target must match what rendering reports.
#[test]
fn dropped_fields_match_the_target_rows() {
    let cases = [
        ("display_name", "display_name = \"The Helper\"\n"),
        ("tags", "tags = [\"a\"]\n"),
        ("max_turns", "max_turns = 7\n"),
        ("mode", "mode = \"subagent\"\n"),
    ];
    for (field, line) in cases {
        let text = format!("name = \"helper\"\ndescription = \"Answers\"\n{line}");
        let files = [("agent.toml", text.as_str()), ("system-prompt.md", "You answer.\n")];
        let files = files.map(|(path, text)| (format!("agents/helper/{path}"), text));
        let world = MemoryWorld::new(files);
        let compiled = read(&world, &at(&world, "agents/helper").expect("an agent"));
        let job = RenderJob {
            targets: TARGETS,
            scope: RenderScope::Project,
            guard: &|_| false,
            close_gaps: &|_| false,
            unattended: &|_| false,
            shared: true,
            accepted: &[],
            force: false,
            explain: false,
            config: &RenderConfig::default(),
            existing: &ListedFiles::default(),
        };
        for ran in run(&job, &[subject(&world, &compiled, None, true)]) {
            let Some(support) = ran.target.support(field) else { continue };
            let losses = ran.rendering.agents.iter().flat_map(|agent| &agent.losses);
            let about: Vec<_> = losses.filter(|loss| loss.field == field).collect();
            let dropped = about.iter().any(|loss| loss.kind == LossKind::Dropped);
            let name = ran.target.name;
            match level(support) {
                Full => assert!(!dropped, "{name} {field}: {about:?}"),
                Partial => {}
                Not => assert!(dropped, "{name} {field}: {about:?}"),
            }
        }
    }
}

#[test]
fn the_targets_page_is_current() {
    let mut page = "# What each target can express\n\nWritten from the rows of the targets. \
        `yes`: the harness has a place for it. `~`: for a part of it, or written differently.\n\
        `prompt`: it goes into the prompt. Empty: it is left out, and `agentry render` says so.\n\n"
        .to_owned();
    let names: Vec<_> = TARGETS.iter().map(|target| format!("`{}`", target.name)).collect();
    page.push_str(&format!(
        "| field | {} |\n| --- |{}\n",
        names.join(" | "),
        " --- |".repeat(names.len())
    ));
    for field in MODEL_FIELDS {
        let cells = TARGETS.iter().map(|target| match target.support(field) {
            Some(FieldSupport::Yes(_)) => "yes",
            Some(FieldSupport::Partly(_)) => "~",
            Some(FieldSupport::Prompt) => "prompt",
            Some(FieldSupport::No(_)) | None => "",
        });
        page.push_str(&format!("| `{field}` | {} |\n", cells.collect::<Vec<_>>().join(" | ")));
    }
    let has = |has: bool| if has { "yes" } else { "" };
    let guard = TARGETS.iter().map(|target| has(target.guard.is_some()));
    page.push_str(&format!("| `--guard` | {} |\n", guard.collect::<Vec<_>>().join(" | ")));
    let import = TARGETS.iter().map(|target| has(target.import.is_some()));
    page.push_str(&format!("| `import` | {} |\n", import.collect::<Vec<_>>().join(" | ")));
    TARGETS.iter().for_each(|target| page.push_str(&section(target)));
    page.push_str(
        "\n## Beside the document\n\nThe document of agent-toml has a matrix of its own. It is older \
         than the harnesses of today;\nwhere a target differs from it, this is why.\n\n\
         | target | field | why |\n| --- | --- | --- |\n",
    );
    let known = |(name, ..): &&(&str, &str, &str)| target(name).is_some();
    for (name, field, why) in DIFFERENCES.iter().filter(known) {
        page.push_str(&format!("| `{name}` | `{field}` | {why} |\n"));
    }
    page.push_str(&habits());
    current([("docs/reference/targets.md".to_owned(), page)]);
}

/// The table of when a harness asks.
fn habits() -> String {
    let mut out = "\n## When a harness asks\n\nWhat a definition asks about is rendered as the question of \
        the harness where its ordinary interactive mode\nasks, or shows the change for review. Where it never \
        asks, the tool is left out.\n\n| target | sections | | seen | why |\n\
        | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for HabitRow { harness, sections, habit, seen, why } in HABITS {
        let sections: Vec<String> = sections.iter().map(|it| format!("`{it}`")).collect();
        let sections = sections.join(", ");
        out.push_str(&format!("| `{harness}` | {sections} | {habit} | {seen} | {why} |\n"));
    }
    out.push_str(
        "\nOther modes skip the question. They are the choice of the user, and one reported gap.\n\n\
         | target | no question with | a run without a person | runs at once | seen |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for SilentModes { harness, modes, headless, unasked, seen } in SILENT_MODES {
        let unasked: Vec<String> = unasked.iter().map(|it| format!("`{it}`")).collect();
        let unasked = unasked.join(", ");
        out.push_str(&format!("| `{harness}` | {modes} | {headless} | {unasked} | {seen} |\n"));
    }
    out
}

/// A row for a field that the page does not have would be lost there; so would a missing row.
#[test]
fn every_target_has_a_row_for_every_field_of_the_model() {
    for target in TARGETS {
        let supported = target.fields.iter().filter(|field| field.support.is_some());
        let mut places: Vec<&str> = supported.map(|field| field.place).collect();
        let mut expected = MODEL_FIELDS.to_vec();
        places.sort_unstable();
        expected.sort_unstable();
        assert_eq!(places, expected, "{}", target.name);
    }
}

fn section(target: &Target) -> String {
    let mut out = format!("\n## {}\n\n| field | where |\n| --- | --- |\n", target.title);
    for field in MODEL_FIELDS {
        let Some(support) = target.support(field) else { continue };
        let words = match support {
            FieldSupport::Yes(words) => words.to_owned(),
            FieldSupport::Partly(words) => format!("partly: {words}"),
            FieldSupport::Prompt => "in the prompt".to_owned(),
            FieldSupport::No(words) => format!("left out: {words}"),
        };
        out.push_str(&format!("| `{field}` | {words} |\n"));
    }
    if !target.built_in.is_empty() {
        let names: Vec<_> = target.built_in.iter().map(|name| format!("`{name}`")).collect();
        out.push_str(&format!(
            "\nBuilt in, so no agent can have the name: {}.\n",
            names.join(", ")
        ));
    }
    if !target.blind.is_empty() {
        out.push_str("\nWhat it does not look at:\n\n");
        for blind in target.blind {
            out.push_str(&format!("- {}: {}\n", blind.name, blind.why));
        }
    }
    out
}
