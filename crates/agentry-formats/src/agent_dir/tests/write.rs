//! Tests of the writer: a written directory reads as the same agent.

use agentry_model::{Agent, ConversionLoss, Declared, Format, McpServer, Schedule, tree};
use agentry_policy::{Action, Section, Trust};
use agentry_text::{Data, FileId, Span, Spanned};

use super::{read, read_files, target};
use crate::{ConvertedAgent, convert};

/// Writes an agent and reads the result.
pub(super) fn again(agent: &Agent) -> (ConvertedAgent, Vec<String>) {
    let converted = convert(agent, Format::AgentDir, &target());
    let seen = read_files("helper", converted.files.clone());
    (converted, seen.findings)
}

fn losses(losses: &[ConversionLoss]) -> Vec<String> {
    losses.iter().map(|loss| format!("{} {}", loss.field, loss.kind)).collect()
}

#[test]
fn a_full_directory_round_trips() {
    let files = [
        ("agent.acl", include_str!("../fixtures/full/agent.acl")),
        ("schedules/report.md", include_str!("../fixtures/full/schedules/report.md")),
        ("tools/count.md", include_str!("../fixtures/full/tools/count.md")),
        ("tools/search.md", include_str!("../fixtures/full/tools/search.md")),
        ("scripts/count.js", include_str!("../fixtures/full/scripts/count.js")),
        ("skills/review/SKILL.md", include_str!("../fixtures/full/skills/review/SKILL.md")),
        ("skills/short.md", include_str!("../fixtures/full/skills/short.md")),
    ];
    let seen = read(&files);
    let (converted, findings) = again(&seen.agent);
    insta::assert_snapshot!("full_findings", seen.findings.join("\n"));
    insta::assert_snapshot!(
        "full_tree",
        agentry_text::yaml::emit(&tree::tree(&seen.agent).to_data())
    );
    let text = |(path, text): &(String, String)| format!("==> {path}\n{text}");
    insta::assert_snapshot!("full_written", converted.files.iter().map(text).collect::<String>());
    assert_eq!(losses(&converted.losses), ["permissions changed"]);
    let gained = agentry_model::losses(
        &tree::tree(&converted.agent).to_data(),
        &tree::tree(&seen.agent).to_data(),
    );
    assert_eq!(gained, []);
    assert_eq!(findings.iter().filter(|line| !line.contains("AG5013")).count(), 0, "{findings:?}");
}

#[expect(clippy::unnecessary_wraps, reason = "what is written is always there")]
fn spanned<T>(value: T) -> Declared<T> {
    Some(Spanned::new(value, Span::start_of(FileId::BUILT_IN)))
}

fn file<'c>(converted: &'c ConvertedAgent, path: &str) -> &'c str {
    converted.files.iter().find(|(name, _)| name == path).map_or("", |(_, text)| text.as_str())
}

/// Makes an agent that has only a name.
fn named_helper() -> Agent {
    let mut agent = Agent::default();
    agent.identity.name = spanned("helper".to_owned());
    agent
}

/// A change to an empty agent, the written role, and the expected losses.
type Case = (fn(&mut Agent), &'static str, &'static [&'static str]);

#[test]
fn a_missing_system_prompt_is_filled_in() {
    let named = |agent: &mut Agent| agent.identity.name = spanned("helper".to_owned());
    let described = |agent: &mut Agent| agent.identity.description = spanned("Helps.".to_owned());
    let raw =
        |agent: &mut Agent| agent.instructions.system_override = spanned("Be raw.".to_owned());
    let cases: [Case; 4] = [
        (
            |_| {},
            "You are a helpful agent.\n",
            &["description added", "name added", "system added"],
        ),
        (named, "You are helper.\n", &["description added", "system added"]),
        // A value from another field is moved, so it does not count as added.
        (described, "Helps.\n", &["name added"]),
        (raw, "Be raw.\n", &["name added", "system changed", "system_override changed"]),
    ];
    for (change, text, expected) in cases {
        let mut agent = Agent::default();
        change(&mut agent);
        let (converted, findings) = again(&agent);
        assert_eq!(file(&converted, "instructions.md"), text);
        assert_eq!(losses(&converted.losses), expected, "{text}");
        assert_eq!(findings, [""; 0], "{text}");
    }
}

#[test]
fn rules_are_written_and_read_back() {
    let mut agent = named_helper();
    agent.instructions.system = spanned("You help.".to_owned());
    agent.instructions.rules = spanned("- Never lie".to_owned());
    let (converted, findings) = again(&agent);
    let text = "You help.\n\n## Rules <!-- agentry:rules -->\n\n- Never lie\n";
    assert_eq!(file(&converted, "instructions.md"), text);
    assert_eq!((losses(&converted.losses), findings), (vec![], vec![]));
}

#[test]
fn written_policies_are_never_wider() {
    let mut agent = named_helper();
    agent.instructions.system = spanned("You help.".to_owned());
    agent.policy.trust = Some(Trust::default());
    let (converted, findings) = again(&agent);
    assert_eq!(losses(&converted.losses), ["trust changed"]);
    assert_eq!(findings, [""; 0]);
    let rules = converted.agent.policy.permissions.expect("rules");
    assert_eq!(rules.strictest(Section::Bash), Action::Deny);
}

#[test]
fn names_become_distinct_file_names() {
    let mut agent = named_helper();
    agent.instructions.system = spanned("You help.".to_owned());
    for name in ["Report!", "report", "REPORT", "readme", "../x", "日本"] {
        agent.schedules.push(Schedule {
            name: spanned(name.to_owned()),
            cron: spanned("@daily".to_owned()),
            prompt: spanned("Go.".to_owned()),
            ..Schedule::default()
        });
    }
    let (converted, findings) = again(&agent);
    let paths: Vec<_> = converted.files.iter().skip(1).map(|(path, _)| path.as_str()).collect();
    let names = ["report", "report-2", "REPORT-3", "schedule", "x", "schedule-2"];
    assert_eq!(paths, names.map(|name| format!("schedules/{name}.md")));
    assert_eq!((losses(&converted.losses), findings), (vec![], vec![]));
}

#[test]
fn unsupported_fields_are_reported_as_lost() {
    let mut agent = named_helper();
    agent.instructions.system = spanned("You help.".to_owned());
    let server = McpServer { name: "github".to_owned(), ..Default::default() };
    agent.tools.mcp = Some(spanned(server).into_iter().collect());
    agent.settings = vec![("queue".to_owned(), spanned(Data::Int(5)).expect("some"))];
    let (converted, findings) = again(&agent);
    assert_eq!(losses(&converted.losses), ["settings.queue dropped", "tools.mcp.github dropped"]);
    assert_eq!(findings, [""; 0]);
}
