//! For any policy and every pair of formats, a conversion allows no more than its source. The result is read
//! again from its files, and `policy diff` compares it with the source.

use agentry_compile::formats::FORMATS;
use agentry_compile::model::{ConversionLoss, Format};
use agentry_compile::policy::compare::SectionDiff;
use agentry_compile::{
    CompiledAgent, ConversionRefusal, ConversionRequest, FoundAgent, MemoryWorld, convert_agent,
    discover, policy_diff, read,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::policies::{agent, cases};

/// The path of a result.
fn output(format: Format) -> &'static str {
    match format {
        Format::AgentMd => "out/agents/general_helper.agent.md",
        Format::Manifest => "out/helper.agent",
        Format::AgentToml | Format::AgentFs | Format::AgentDir => "out/helper",
    }
}

fn only_agent(world: &MemoryWorld) -> Option<FoundAgent> {
    let found = discover(world, &[String::new()], None, &|_| false);
    found.agents.first().cloned()
}

/// A conversion: the result as a world of its own, and what was listed.
struct Converted {
    world: MemoryWorld,
    compiled: CompiledAgent,
    losses: Vec<ConversionLoss>,
}

fn converted(
    world: &MemoryWorld,
    compiled: &CompiledAgent,
    to: Format,
) -> Result<Converted, ConversionRefusal> {
    let request = ConversionRequest { to, output: output(to), resolved: false };
    let result = convert_agent(world, compiled, request)?;
    let path = |file: &String| match to {
        Format::AgentMd | Format::Manifest => output(to).to_owned(),
        _ => format!("{}/{file}", output(to)),
    };
    let files: Vec<_> =
        result.files.iter().map(|(file, text)| (path(file), text.clone())).collect();
    let world = MemoryWorld::new(files);
    let found = FoundAgent {
        path: output(to).to_owned(),
        dir: output(to).rsplit_once('/').map_or("", |(dir, _)| dir).to_owned(),
        main: output(to).rsplit('/').next().unwrap_or("").to_owned(),
        format: to,
    };
    let found = match to {
        Format::AgentMd | Format::Manifest => found,
        _ => FoundAgent {
            dir: output(to).to_owned(),
            main: result.files.first().map_or(String::new(), |(path, _)| path.clone()),
            ..found
        },
    };
    let compiled = read(&world, &found);
    Ok(Converted { world, compiled, losses: result.losses })
}

/// Whether a loss is about what the agent may do.
fn is_about_policy(loss: &ConversionLoss) -> bool {
    let top = loss.field.split('.').next().unwrap_or("");
    matches!(top, "permissions" | "trust" | "abilities" | "tool_permissions" | "tools" | "skills")
}

/// Nothing is gained, and what is lost is listed.
fn compare(from: &CompiledAgent, to: Format, result: &Converted) -> Result<(), TestCaseError> {
    let diffs = policy_diff(from, &result.compiled);
    let gain = diffs.iter().find_map(SectionDiff::gain);
    prop_assert_eq!(gain, None, "{} to {}", from.found.format, to);
    let lost = diffs.iter().any(|diff| !diff.lost.is_empty());
    let listed = result.losses.iter().any(is_about_policy);
    prop_assert!(
        !lost || listed,
        "{} to {to}: {:?}\n{:?}",
        from.found.format,
        diffs,
        result.losses
    );
    Ok(())
}

/// From the source to each format, and from there to each other one.
fn all_pairs(files: &[(String, String)], refused: &mut u32) -> Result<(), TestCaseError> {
    let world = MemoryWorld::new(files.iter().cloned());
    let Some(found) = only_agent(&world) else { return Ok(()) };
    let compiled = read(&world, &found);
    if compiled.has_errors() {
        return Ok(());
    }
    for middle in FORMATS.iter().map(|row| row.format) {
        let first = match converted(&world, &compiled, middle) {
            Ok(first) => first,
            Err(why) => {
                prop_assert!(matches!(why, ConversionRefusal::Widened(_)), "{middle}: {why:?}");
                *refused += 1;
                continue;
            }
        };
        compare(&compiled, middle, &first)?;
        for last in FORMATS.iter().map(|row| row.format) {
            match converted(&first.world, &first.compiled, last) {
                Ok(second) => compare(&first.compiled, last, &second)?,
                Err(why) => {
                    prop_assert!(matches!(why, ConversionRefusal::Widened(_)), "{last}: {why:?}");
                    *refused += 1;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn no_conversion_allows_more_than_its_source() {
    let refused = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(Config {
        cases: cases(40),
        failure_persistence: None,
        ..Config::default()
    });
    let property = |files: Vec<(String, String)>| {
        let mut count = refused.get();
        let result = all_pairs(&files, &mut count);
        refused.set(count);
        result
    };
    runner.run(&agent(), property).expect("never wider");
    println!("refused: {}", refused.get());
}

/// The agents of the formats whose policies once gained something, or lost it without a word.
const TABLE: &[(&str, &[(&str, &str)])] = &[
    (
        "editing outside the workspace is not reading there",
        &[
            (
                "helper/agent.toml",
                "name = \"helper\"\ndescription = \"Helps\"\n[permissions.edit]\nintent = \"allow\"\n\
                 [permissions.external_directory]\nintent = \"allow\"\n",
            ),
            ("helper/system-prompt.md", "You help.\n"),
        ],
    ),
    (
        "a trait that narrows grants nothing",
        &[(
            "helper.agent",
            "name: helper\ndescription: Helps\nsoul: You help.\n\
             trust: {filesystem: none, network: none, exec: none}\n\
             behavior: {traits: [ask-before-writing]}\n",
        )],
    ),
    (
        "a trait holds beside rules",
        &[(
            "helper.agent",
            "name: helper\ndescription: Helps\nsoul: You help.\n\
             trust: {filesystem: full, network: none, exec: none}\n\
             behavior: {traits: [ask-before-writing]}\n\
             extensions: {x-agentry: {permissions: {edit: {intent: allow}, read: {intent: allow}}}}\n",
        )],
    ),
    (
        "rules beside trust that say nothing about reading",
        &[(
            "helper.agent",
            "name: helper\ndescription: Helps\nsoul: You help.\n\
             trust: {filesystem: full, network: allowed, exec: full}\n\
             extensions: {x-agentry: {permissions: {bash: {intent: allow}}}}\n",
        )],
    ),
    (
        "a server opens its host only",
        &[(
            "helper.agent",
            "name: helper\ndescription: Helps\nsoul: You help.\n\
             trust: {filesystem: none, network: scoped, exec: none}\n\
             tools: {mcp: [{name: notes, transport: http, url: 'https://notes.example.org/mcp'}]}\n",
        )],
    ),
    (
        "a deny list alone",
        &[("agents/x_helper.agent.md", "---\ndeny: [sh]\n---\n# Helper\n\nHelps.\n")],
    ),
    (
        "one denied command",
        &[("agents/x_helper.agent.md", "---\ndeny: [sh:rm]\n---\n# Helper\n\nHelps.\n")],
    ),
    (
        "an empty allow list",
        &[("agents/x_helper.agent.md", "---\nabilities: []\n---\n# Helper\n\nHelps.\n")],
    ),
    (
        "tools by name",
        &[
            (
                "helper/agent.json",
                "{\"name\": \"helper\", \"tool_permissions\": {\"allowed\": [\"Bash\", \"Edit\"], \"denied\": [\"WebFetch\"]}}",
            ),
            ("helper/persona.md", "You help.\n"),
        ],
    ),
    (
        "rules of an agent directory",
        &[
            ("helper/instructions.md", "You help.\n"),
            (
                "helper/agent.acl",
                "x_agentry {\n  permissions {\n    edit { intent = \"allow\" }\n    external_directory { intent = \"allow\" }\n  }\n}\n",
            ),
        ],
    ),
];

#[test]
fn every_format_pair_converts_without_widening() {
    for (case, files) in TABLE {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let world = MemoryWorld::new(files.clone());
        let compiled = read(&world, &only_agent(&world).expect(case));
        assert!(!compiled.has_errors(), "{case}: {:#?}", compiled.diagnostics);
        let mut refused = 0;
        all_pairs(&files, &mut refused).unwrap_or_else(|why| panic!("{case}: {why}"));
        assert_eq!(refused, 0, "{case}");
    }
}

/// A deny list alone leaves the rest to the default policy, which asks.
#[test]
fn a_deny_list_alone_leaves_the_rest_at_ask() {
    let written = |lines: &str| {
        let text = format!("---\n{lines}---\n# Helper\n\nHelps.\n");
        let world = MemoryWorld::new([("agents/x_helper.agent.md".to_owned(), text)]);
        read(&world, &only_agent(&world).expect("an agent"))
    };
    let silent = written("status: active\n");
    let denied = policy_diff(&silent, &written("deny: [sh]\n"));
    let sections: Vec<_> = denied.iter().map(|diff| diff.section.as_str()).collect();
    assert_eq!(sections, ["bash"]);
    assert!(denied.iter().all(|diff| diff.gained.is_empty()), "{denied:?}");
    let allowed = policy_diff(&silent, &written("abilities: [sh]\n"));
    let lost: Vec<_> = allowed.iter().filter(|diff| !diff.lost.is_empty()).collect();
    assert!(lost.len() >= 7, "{lost:?}");
}
