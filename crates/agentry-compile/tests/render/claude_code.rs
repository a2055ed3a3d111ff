//! Claude Code: rules for all agents at once, of which the strictest wins.

use agentry_compile::targets::{Rendered, Rendering};

use crate::{Wish, agent, file, rendering, told};

const HARNESS: &str = "claude-code";

/// One agent with the settings around it.
fn one(lines: &str, wish: Wish<'_>) -> (Rendered, String) {
    several(&[("helper", lines)], wish)
}

fn several(agents: &[(&str, &str)], wish: Wish<'_>) -> (Rendered, String) {
    let mut rendering = all(agents, wish);
    let settings = settings(&rendering);
    (rendering.agents.remove(0), settings)
}

fn all(agents: &[(&str, &str)], wish: Wish<'_>) -> Rendering {
    let files: Vec<_> = agents.iter().flat_map(|(name, lines)| agent(name, lines)).collect();
    rendering(HARNESS, &files, wish)
}

fn settings(rendering: &Rendering) -> String {
    let found = rendering.shared.iter().find(|file| file.path == ".claude/settings.json");
    found.map(|file| file.text.clone()).unwrap_or_default()
}

#[test]
fn look() {
    for lines in [
        "",
        "[permissions.bash]\nintent = \"deny\"\nrules = [\"git status*:allow\"]\n",
        "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm -rf *:ask\"]\n",
        "[permissions.bash]\nintent = \"ask\"\nrules = [\"git log*:allow\"]\n",
        "[permissions.edit]\nintent = \"allow\"\nrules = [\"/run/agenix/**:deny\", \"secrets/**:deny\"]\n[permissions.external_directory]\nintent=\"ask\"\nrules=[\"~/p/**:allow\"]\n",
    ] {
        let (rendered, settings) = one(lines, Wish::default());
        println!("==== {lines}\n{}\n{settings}\n{}", rendered.files.first().map_or("-", |f| &f.text), told(&rendered));
    }
    let (rendered, settings) = one("[permissions.bash]\nintent = \"ask\"\nrules = [\"git log*:allow\", \"rm *:deny\"]\n", Wish { guard: true, ..Wish::default() });
    println!("==== guard\n{}\n{settings}\n{}", file(&rendered, "helper.md"), told(&rendered));
}
