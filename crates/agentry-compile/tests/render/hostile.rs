//! Hostile input, and cases that Codex, Gemini CLI and Copilot share.

use agentry_compile::targets::{RenderScope, TARGETS};

use crate::back::imported;
use crate::{Wish, agent, rendering, report_of};

const HARNESSES: &[&str] = &["codex", "gemini", "copilot"];

#[test]
fn hostile_descriptions_are_escaped() {
    let texts = [
        "it's \"so\": a # b",
        "---",
        "a\n---\nb",
        "---\nname: other\n---\nx",
        "\"\"\"",
        "'''\nx = 1\n'''",
        "back\\slash \\u0041 \\n",
        "tab\there",
        "- x\n- y",
        "null",
        "{{ x }} ${y} `z`",
    ];
    for harness in HARNESSES {
        for text in texts {
            let json = quoted(text);
            let manifest = format!("name: helper\ndescription: {json}\n");
            let files = vec![("helper.agent".to_owned(), manifest)];
            let rendered = rendering(harness, &files, Wish::default()).agents.remove(0);
            assert_eq!(rendered.refused, None, "{harness} {text}");
            let written = &rendered.files[0];
            let path = written.path.as_str();
            let found = imported(harness, &[(path, written.text())], path).expect("an agent");
            assert_eq!(found.agent.name(), "helper", "{harness}");
            let description = found.agent.identity.description.expect("a description");
            assert_eq!(description.value.trim(), text.trim(), "{harness}");
        }
    }
}

/// A text in double quotes, as YAML parses it.
fn quoted(text: &str) -> String {
    format!("{text:?}").replace("\\'", "'")
}

#[test]
fn two_agents_with_one_target_file_are_refused() {
    for harness in HARNESSES {
        let mut files = agent("helper", "");
        for (path, text) in agent("helper", "max_turns = 3\n") {
            files.push((format!("other/{path}"), text));
        }
        let rendering = rendering(harness, &files, Wish::default());
        for rendered in &rendering.agents {
            assert!(
                report_of(rendered).contains("would be written for"),
                "{}",
                report_of(rendered)
            );
            assert!(rendered.files.is_empty());
        }
    }
}

#[test]
fn t55_names_invalid_as_file_names_are_refused() {
    for harness in HARNESSES {
        for name in ["-x", "a--b", "con", "com1", "a/b", "..", "Upper", ""] {
            let wish = Wish { alias: Some(name), ..Wish::default() };
            let rendered = rendering(harness, &agent("helper", ""), wish).agents.remove(0);
            assert!(rendered.refused.is_some(), "{harness} {name}");
            assert!(rendered.files.is_empty(), "{harness} {name}");
        }
    }
}

#[test]
fn long_prompts_are_refused_only_by_copilot() {
    let mut files = agent("helper", "");
    files[1].1 = format!("{}\n", "Say something. ".repeat(7_000));
    for harness in HARNESSES {
        let rendered = rendering(harness, &files, Wish::default()).agents.remove(0);
        assert_eq!(rendered.refused.is_some(), *harness == "copilot", "{harness}");
    }
}

#[test]
fn mcp_servers_are_rendered_where_supported() {
    let tool = "---\nkind: mcp\nname: github\ntransport: stdio\ncommand: gh-mcp\nargs: [serve, --quiet]\nenv: {TOKEN: \"${env:TOKEN}\"}\n---\n";
    let files = vec![
        ("helper/instructions.md".to_owned(), "You answer.\n".to_owned()),
        ("helper/tools/github.md".to_owned(), tool.to_owned()),
    ];
    let report_for =
        |harness: &str| report_of(&rendering(harness, &files, Wish::default()).agents[0]);
    assert!(report_for("copilot").contains("dropped tools.mcp"), "{}", report_for("copilot"));
    assert!(report_for("codex").contains("dropped tools.mcp"), "{}", report_for("codex"));
    let user = Wish { scope: Some(RenderScope::User), ..Wish::default() };
    let rendered = rendering("gemini", &files, user).agents.remove(0);
    let text = rendered.files[0].text();
    assert!(report_of(&rendered).contains("`${env:…}`"), "{}", report_of(&rendered));
    assert!(text.contains("mcp_servers:") && text.contains("command: gh-mcp"), "{text}");
}

/// The path of a definition is written into a comment and must not end the line.
#[test]
fn line_ends_in_paths_inject_no_fields() {
    let ends = ["\n", "\r", "\u{85}", "\u{2028}"];
    let injected = ["permissionMode: bypassPermissions", "sandbox_mode = \"x\""];
    for (target, end) in TARGETS.iter().flat_map(|target| ends.map(|end| (target, end))) {
        let dir = format!("agents/a{end}{}{end}#", injected.join(end));
        let files = agent("x", "[permissions.bash]\nintent = \"deny\"\n").into_iter();
        let files: Vec<_> =
            files.map(|(path, text)| (path.replace("agents/x", &dir), text)).collect();
        let agents = rendering(target.name, &files, Wish::default()).agents;
        for file in agents.into_iter().flat_map(|agent| agent.files) {
            let mut lines = file.text().split(['\n', '\r', '\u{85}', '\u{2028}']);
            let is_field = |line: &&str| injected.iter().any(|it| line.starts_with(it));
            assert_eq!(lines.find(is_field), None, "{}: {}", target.name, file.path);
        }
    }
}
