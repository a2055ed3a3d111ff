//! Real agents of published packages, reduced to facts.
//!
//! The text files beside this one list the packages with version and licence, and for each agent its path in
//! the package, the size of its prompt and its front matter. Tools, models, modes and permissions are as
//! published. In every other value each letter is an `x` and each digit a `0`: only its shape is kept, since
//! quotes, colons and line breaks decide whether a parser reads it.
#![allow(dead_code, reason = "three programs use different parts")]

/// An agent of a package.
#[derive(Debug, Clone)]
pub(crate) struct CorpusAgent {
    pub(crate) harness: &'static str,
    /// The registry, the name and the version of the package.
    pub(crate) package: &'static str,
    /// A path where the harness looks for agents.
    pub(crate) path: String,
    /// The whole file.
    pub(crate) text: String,
}

/// Each harness: its directory of agents, the suffix of their files, and its agents.
const HARNESSES: &[(&str, &str, &str, &str)] = &[
    ("claude-code", ".claude/agents", ".md", include_str!("claude-code.txt")),
    ("opencode", ".opencode/agents", ".md", include_str!("opencode.txt")),
    ("pi", ".pi/agents", ".md", include_str!("pi.txt")),
    ("codex", ".codex/agents", ".toml", include_str!("codex.txt")),
    ("gemini", ".gemini/agents", ".md", include_str!("gemini.txt")),
    ("copilot", ".github/agents", ".agent.md", include_str!("copilot.txt")),
    ("cursor", ".cursor/rules", ".mdc", include_str!("cursor.txt")),
];

/// Every agent, by harness and package.
pub(crate) fn agents() -> Vec<CorpusAgent> {
    HARNESSES.iter().flat_map(|harness| of_harness(*harness)).collect()
}

fn of_harness(
    (harness, dir, suffix, list): (&'static str, &str, &str, &'static str),
) -> Vec<CorpusAgent> {
    let packages = list.split("@ ").skip(1).filter_map(|package| package.split_once('\n'));
    let agents = packages.flat_map(|(head, agents)| {
        // The licence comes last, and may have spaces.
        let package = head.splitn(4, ' ').take(3).map(str::len).sum::<usize>() + 2;
        let agents = format!("\n{agents}");
        let each: Vec<String> = agents.split("\n> ").skip(1).map(str::to_owned).collect();
        each.into_iter().map(move |agent| (head.get(..package).unwrap_or(head), agent))
    });
    let agent = |(package, agent): (&'static str, String)| {
        let (head, fields) = agent.split_once('\n').unwrap_or((&agent, ""));
        let (size, path) = head.split_once(' ').unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split('.').next().unwrap_or(name);
        let prompt = prompt(size.parse().unwrap_or(0));
        let text = if suffix == ".toml" {
            format!("developer_instructions = '''\n{prompt}'''\n{fields}\n")
        } else {
            format!("---\n{fields}\n---\n\n{prompt}")
        };
        CorpusAgent { harness, package, path: format!("{dir}/{stem}{suffix}"), text }
    };
    agents.map(agent).collect()
}

/// A prompt of about this size.
fn prompt(size: usize) -> String {
    let lines = ["# Task", "", "Do one step at a time, and say what you found.", "- Read first."];
    let mut text = String::new();
    for line in lines.iter().cycle() {
        text.push_str(line);
        text.push('\n');
        if text.len() >= size {
            return text;
        }
    }
    text
}
