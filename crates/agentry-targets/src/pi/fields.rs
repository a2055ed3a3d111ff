//! The field table of pi-subagents. All values are texts on one line.

use agentry_policy::{Action, Section};
use agentry_text::Data;
use agentry_text::path::is_plain as is_plain_path;

use crate::FieldSupport::{No, Partly, Prompt, Yes};
use crate::draft::PLACELESS;
use crate::fields::{TargetField, field, is_word, model_field, read_description};
use crate::front_matter::list_items;
use crate::original;
use crate::render_result::LossKind::{Dropped, Narrowed};
use crate::subject::RenderSubject;

/// The models after the first. An agent of Pi may have fallbacks without a first model; it then starts with
/// the model of the session, and the import keeps the fallbacks.
pub(super) const FALLBACKS: &str = "fallbackModels";

pub(super) const FIELDS: &[TargetField] = &[
    field("name").stands_for("name", Yes("`name`")),
    field("description")
        .stands_for("description", Yes("`description`, one line"))
        .reads(read_description),
    field("tools").grants(|_, value| has_tool_names(value)),
    // Files that Pi itself writes or reads.
    field("output").grants(are_project_files).noted(PLACELESS),
    field("defaultReads").grants(are_project_files).noted(PLACELESS),
    field("excludeTools"),
    field("permission"),
    field("permissions"),
    field("model").stands_for("model", Yes("`model`, `fallbackModels`")),
    field(FALLBACKS),
    field("skill"),
    field("skills").stands_for("skills", Partly("`skills`, where the agent may read")),
    // This shows an agent more than its own skills, so it is never restored.
    field("inheritSkills"),
    field("toolBudget").stands_for("max_turns", Partly("`toolBudget`, which counts calls")).loses(
        Narrowed,
        "Pi counts calls of tools and not turns: a turn with several calls counts as many",
    ),
    // For releases that still support it.
    field("turnBudget"),
    field("advertise"),
    field("thinking").preferred(is_word),
    field("systemPromptMode")
        .preferred(|value| matches!(value.as_str(), Some("append" | "replace"))),
    field("inheritProjectContext").preferred(is_flag),
    field("defaultProgress").preferred(is_flag),
    field("interactive").preferred(is_flag),
    field("defaultContext").preferred(is_word),
    field("acceptanceRole").preferred(is_word),
    field("outputMode").preferred(is_word),
    field("async").preferred(is_flag),
    field("completionGuard").preferred(is_flag),
    field("maxSubagentDepth").preferred(is_number),
    field("aliases").preferred(|value| {
        list_items(value).is_some_and(|it| it.iter().all(|it| is_word(&Data::str(it))))
    }),
    field("timeoutMs").preferred(is_number),
    field("toolTimeoutMs").preferred(is_number),
    model_field("display_name", Yes("`AGENTS.md`")),
    model_field("mode", Partly("`SYSTEM.md` for one primary, with the guard or without limits")),
    model_field("tags", No("no place")).loses(Dropped, "Pi has no place for it"),
    model_field("temperature", No("no place")).loses(Dropped, "Pi has no place for it"),
    // `defaultReads` would need the tool `read`.
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field("tools.mcp", No("Pi has no servers of its own")).loses(
        Dropped,
        "Pi has no servers of its own; the extension pi-mcp-adapter has them for all agents",
    ),
    model_field("permissions.bash", Partly("the whole tool or none")),
    model_field("permissions.edit", Partly("`edit` and `write`, or none")),
    model_field("permissions.read", Partly("`read`, `grep`, `find`, `ls`, or none")),
    model_field("permissions.webfetch", Partly("`fetch_content` of pi-web-access, or none")),
    model_field("permissions.websearch", Partly("`web_search` of pi-web-access, or none")),
    model_field("permissions.question", No("not a concept")).loses_when(
        |subject| subject.grants(Section::Question),
        Dropped,
        "an agent of Pi can ask the session that started it and no person",
    ),
    model_field(
        "permissions.external_directory",
        Partly("no tool with files unless it is allowed"),
    ),
    model_field("permissions.mcp", No("Pi has no servers of its own")),
    model_field("permissions.tool", No("no other tool is given")),
    model_field("permissions.skill", Partly("a denied skill is left out")),
    model_field("permissions.delegate", No("other agents have limits of their own")).loses_when(
        |subject| is_free(subject, Section::Delegate),
        Narrowed,
        "agents that it would start have limits of their own and not its",
    ),
    model_field("permissions.env", No("not looked at")),
];

fn is_free(subject: &RenderSubject, section: Section) -> bool {
    subject.permissions.mildest(section) == Action::Allow
}

fn is_flag(data: &Data) -> bool {
    matches!(data.as_str(), Some("true" | "false"))
}

fn is_number(data: &Data) -> bool {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    data.as_str().is_some_and(digits)
}

fn has_tool_names(value: &Data) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '/');
    original::names(value).is_some_and(|names| names.iter().all(|name| name.chars().all(fits)))
}

/// Whether these are files of the project. A symbolic link may lead outside, so outside must not be denied.
fn are_project_files(subject: &RenderSubject, value: &Data) -> bool {
    let leaves = subject.permissions.mildest(Section::ExternalDirectory) < Action::Deny;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_file = |path: &String| path.chars().all(fits) && is_plain_path(path);
    leaves && original::names(value).is_some_and(|paths| paths.iter().all(is_file))
}
