//! Renders every definition format for every target.

use agentry_compile::targets::{RenderedFile, TARGETS};
use agentry_compile::{MemoryWorld, discover};

use crate::{Wish, agent, rendering, report_of};

fn formats() -> Vec<(&'static str, Vec<(String, String)>)> {
    let one = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let persona = "---\ntitle: Helper\nicon: 🙂\nversion: 1.0.0\nabilities: {allow: [fs]}\n---\n\
                   # Helper\n\nYou answer questions.\n";
    vec![
        ("agent-toml", agent("helper", "[permissions.bash]\nintent = \"ask\"\nrules = []\n")),
        (
            "manifest",
            vec![one(
                "helper.agent",
                "name: helper\ndescription: Reads and answers\n\
                 trust: {filesystem: read-only, exec: none}\n",
            )],
        ),
        ("agent-md", vec![one("agents/x_helper.agent.md", persona)]),
        (
            "agentfs",
            vec![
                one(
                    "agents/helper/agent.json",
                    "{\"name\": \"helper\", \"tool_permissions\": {\"allowed\": [\"Read\"]}}",
                ),
                one("agents/helper/persona.md", "You answer questions.\n"),
            ],
        ),
        (
            "agent-dir",
            vec![
                one("helper/instructions.md", "You answer questions.\n"),
                one(
                    "helper/tools/github.md",
                    "---\nkind: mcp\nname: github\ntransport: stdio\ncommand: gh-mcp\n---\n",
                ),
            ],
        ),
    ]
}

#[test]
fn every_format_renders_for_every_target() {
    for (format, files) in formats() {
        let world = MemoryWorld::new(files.iter().cloned());
        let found = discover(&world, &[String::new()], None, &|_| false).agents;
        let known: Vec<&str> = found.iter().map(|found| found.format.as_str()).collect();
        assert_eq!(known, [format]);
        for target in TARGETS {
            let wish = Wish { alias: Some("helper"), ..Wish::default() };
            let rendering = rendering(target.name, &files, wish);
            let [rendered] = rendering.agents.as_slice() else { panic!("{format}: one agent") };
            let name = target.name;
            assert_eq!(rendered.refused, None, "{format} {name}: {}", report_of(rendered));
            let mut texts = rendered.files.iter().chain(&rendering.shared).map(RenderedFile::text);
            assert!(texts.any(|text| text.contains("answer")), "{format} {name}");
        }
    }
}
