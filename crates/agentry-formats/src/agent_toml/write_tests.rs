//! Tests of conversions to this format: never wider, without errors, and with every change listed.

use agentry_model::{Agent, ConversionLoss, Format, SkillPack, SkillRef};
use agentry_policy::{
    Abilities, Action, ExecTrust, FilesystemTrust, NetworkTrust, PatternRule, Permissions, Section,
    SectionRules, ToolPermissions, Trust,
};
use agentry_text::{Data, FileId, Severity, Span, Spanned};
use proptest::prelude::*;

use super::INFO;
use crate::{AgentPackage, ConvertedAgent, MemoryFiles, OutputShape, WriteTarget, convert};

fn at<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::start_of(FileId::BUILT_IN))
}

fn text(text: &str) -> Spanned<String> {
    at(text.to_owned())
}

fn list(texts: &[&str]) -> Vec<Spanned<String>> {
    texts.iter().map(|text| at((*text).to_owned())).collect()
}

fn written(agent: &Agent) -> ConvertedAgent {
    let target = WriteTarget {
        name: "helper".to_owned(),
        shape: OutputShape::Directory,
        ..WriteTarget::default()
    };
    convert(agent, Format::AgentToml, &target)
}

fn shown(result: &ConvertedAgent) -> String {
    let losses = result.losses.iter();
    let losses =
        losses.map(|ConversionLoss { field, kind, detail }| format!("{field} {kind}: {detail}\n"));
    let files = result.files.iter().map(|(path, text)| format!("--- {path}\n{text}"));
    format!("{}{}", losses.collect::<String>(), files.collect::<String>())
}

fn named(name: &str) -> Agent {
    let mut agent = Agent::default();
    agent.identity.name = Some(text(name));
    agent.identity.description = Some(text("Answers questions"));
    agent.instructions.system = Some(text("You answer questions."));
    agent
}

#[test]
fn trust_becomes_permissions() {
    let mut agent = named("helper");
    agent.policy.trust = Some(Trust {
        filesystem: Some(at(FilesystemTrust::Scoped)),
        network: Some(at(NetworkTrust::Allowed)),
        exec: Some(at(ExecTrust::None)),
        scope: Some(list(&["./notes"])),
        hosts: None,
    });
    insta::assert_snapshot!(shown(&written(&agent)));
}

#[test]
fn abilities_become_permissions() {
    let ability = |word: &str| at(word.parse().expect("an ability"));
    let mut agent = named("helper");
    agent.policy.abilities = Some(Abilities {
        allow: Some(vec![ability("fs"), ability("sh:git"), ability("browser")]),
        deny: None,
    });
    insta::assert_snapshot!(shown(&written(&agent)));
}

#[test]
fn tool_lists_become_permissions() {
    let mut agent = named("helper");
    agent.policy.tool_permissions = Some(ToolPermissions {
        allowed: Some(list(&["WebSearch", "calendar"])),
        denied: Some(list(&["Bash"])),
    });
    insta::assert_snapshot!(shown(&written(&agent)));
}

#[test]
fn policy_layers_and_a_trait_are_combined() {
    let mut agent = named("helper");
    agent.policy.permissions = Some(Permissions {
        sections: vec![SectionRules {
            section: at(Section::Edit),
            intent: Some(at(Action::Allow)),
            rules: vec![],
        }],
    });
    agent.policy.trust = Some(Trust {
        filesystem: Some(at(FilesystemTrust::Full)),
        network: None,
        exec: None,
        scope: None,
        hosts: None,
    });
    agent.instructions.traits = Some(list(&["ask-before-writing"]));
    let result = written(&agent);
    let edit = result.agent.policy.permissions.as_ref().and_then(|it| it.get(Section::Edit));
    assert_eq!(edit.map(SectionRules::strictest), Some(Action::Ask));
    insta::assert_snapshot!(shown(&result));
}

#[test]
fn texts_without_a_field_join_the_prompt() {
    let mut agent = named("Rechtsberater 法");
    agent.identity.description = Some(text("Reviews contracts.\nCarefully."));
    agent.instructions.rules = Some(text("Never sign."));
    agent.instructions.traits = Some(list(&["cite-sources", "Be brief."]));
    agent.instructions.context = Some(list(&["../profile.md"]));
    let skill = SkillRef { name: "search".to_owned(), optional: true, options: Vec::new() };
    agent.skills = Some(vec![at(skill)]);
    let pack = |path: &str| SkillPack {
        path: path.to_owned(),
        text: Some(text("---\nname: review\ndescription: Reviews\n---\nRead it.\n")),
        ..SkillPack::default()
    };
    agent.skill_packs = vec![pack("review/SKILL.md"), pack("../evil.md")];
    agent.behaviour.temperature = Some(at(0.5));
    insta::assert_snapshot!(shown(&written(&agent)));
}

#[test]
fn missing_required_fields_are_filled_in() {
    let cases = [
        (None, Some("# X\n\nYou sort mail. Daily."), "helper", "You sort mail"),
        (Some("???"), None, "helper", "???"),
    ];
    for (name, system, expected_name, expected_description) in cases {
        let mut agent = Agent::default();
        agent.identity.name = name.map(text);
        agent.instructions.system = system.map(text);
        let result = written(&agent);
        assert!(!result.findings.has_errors(), "{name:?}: {:?}", result.findings);
        assert_eq!(result.agent.name(), expected_name, "{name:?}");
        let description = result.agent.identity.description.map(|text| text.value);
        assert_eq!(description.as_deref(), Some(expected_description), "{name:?}");
    }
}

/// Texts with and without characters that are special in TOML, Markdown or rules.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z][a-z0-9-]{0,8}", "[ -~é\n\t]{0,24}", "\\PC{0,12}"]
}

fn any_list() -> impl Strategy<Value = Option<Vec<Spanned<String>>>> {
    prop::option::of(prop::collection::vec(any_text().prop_map(at), 0..3))
}

fn any_field() -> impl Strategy<Value = Option<Spanned<String>>> {
    prop::option::of(any_text().prop_map(at))
}

fn any_permissions() -> impl Strategy<Value = Option<Permissions>> {
    let rule = (any_text(), prop::sample::select(Action::ALL))
        .prop_map(|(pattern, action)| at(PatternRule { pattern, action }));
    let intent = prop::option::of(prop::sample::select(Action::ALL).prop_map(at));
    let section = prop::sample::select(Section::ALL).prop_map(at);
    let section = (section, intent, prop::collection::vec(rule, 0..3))
        .prop_map(|(section, intent, rules)| SectionRules { section, intent, rules });
    let sections = prop::collection::vec(section, 0..3);
    prop::option::of(sections.prop_map(|sections| Permissions { sections }))
}

prop_compose! {
    fn any_agent()(
        (name, display_name, description, system) in
            (any_field(), any_field(), any_field(), any_field()),
        (rules, traits, tags) in (any_field(), any_list(), any_list()),
        permissions in any_permissions(),
        extension in any_text(),
    ) -> Agent {
        let mut agent = Agent::default();
        agent.identity.name = name;
        agent.identity.display_name = display_name;
        agent.identity.description = description;
        agent.identity.tags = tags;
        agent.instructions.system = system;
        agent.instructions.rules = rules;
        agent.instructions.traits = traits;
        agent.policy.permissions = permissions;
        agent.extensions = vec![(extension, at(Data::Int(1)))];
        agent
    }
}

proptest! {
    #[test]
    fn any_agent_is_written_without_errors(agent in any_agent()) {
        let result = written(&agent);
        let errors = result.findings.iter().filter(|found| found.severity == Severity::Error);
        let errors: Vec<_> = errors.map(|found| &found.message).collect();
        prop_assert!(errors.is_empty(), "{errors:?}\n{}", shown(&result));
        let again = written(&result.agent);
        prop_assert_eq!(&again.losses, &[], "{}", shown(&again));
        prop_assert_eq!(again.files, result.files);
    }

    #[test]
    fn any_text_is_read_without_a_panic(toml in "\\PC{0,40}|([a-z_]{1,9} ?= ?[\"'\\[{a-z0-9:.-]{0,12}\n){0,6}") {
        let files = [("agent.toml".to_owned(), toml), ("system-prompt.md".to_owned(), String::new())];
        let mut files = MemoryFiles::new(files);
        let mut package = AgentPackage {
            main: "agent.toml".to_owned(),
            dir_name: String::new(),
            dir: String::new(),
            files: &mut files,
        };
        (INFO.read)(&mut package, &mut agentry_text::Findings::default());
    }
}
