//! The examples in the report of `agentry render`: `agentry policy why` gives the same verdicts.

use crate::render::agent;
use crate::test::Test;

const RULES: &str = r#"
[permissions.bash]
intent = "ask"
rules = ["git push*:deny", "cargo build*:allow"]

[permissions.edit]
intent = "deny"
rules = ["docs/**:ask"]

[permissions.webfetch]
intent = "deny"
rules = ["docs.rs:ask"]

[permissions.mcp]
intent = "ask"
"#;

/// The example of a loss, and the verdict of the source in it.
fn example(detail: &str) -> Option<(&str, &str)> {
    let (before, after) = detail.split_once("` is ")?;
    let (_, example) = before.rsplit_once('`')?;
    let (action, rest) = after.split_at(after.find([' ', ':'])?);
    rest.starts_with(" in the source").then_some((example, action))
}

#[test]
fn gap_examples_match_policy_why() {
    let test = agent(Test::new(), "helper", RULES);
    let mut examples: Vec<String> = Vec::new();
    for target in ["claude-code", "codex", "copilot", "gemini", "pi"] {
        let ran = test.run(&format!("render --dry-run --format json --target {target}")).exits(0);
        let json = ran.json();
        let losses = json["losses"].as_array().expect("losses");
        for loss in losses.iter().filter(|loss| loss["kind"] == "narrowed") {
            let field = |name: &str| loss[name].as_str().unwrap_or_default();
            let Some((example, action)) = example(field("detail")) else { continue };
            let Some(section) = field("field").strip_prefix("permissions.") else { continue };
            let why = test.run_args(&["policy", "why", "agents/helper", section, example]);
            assert_eq!(why.stdout.lines().next(), Some(action), "{target} {loss} {why}");
            examples.push(format!("{section} `{example}` is {action}"));
        }
    }
    examples.sort();
    examples.dedup();
    insta::assert_snapshot!(examples.join("\n"), @r#"
    bash `git status` is ask
    delegate `reviewer` is ask
    edit `docs/example.txt` is ask
    edit `src/main.rs` is deny
    external_directory `/tmp/example.txt` is ask
    mcp `github/list_issues` is ask
    question `which branch?` is allow
    read `/tmp/example.txt` is ask
    skill `code-review` is ask
    tool `deploy` is ask
    webfetch `https://docs.rs/` is ask
    webfetch `https://example.com/` is deny
    websearch `how to write a changelog` is ask
    "#);
}
