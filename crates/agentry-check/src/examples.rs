//! Macros that put the lines of a rule's example into a small complete agent.

/// An `agent.toml` with the given lines after its name and description.
macro_rules! agent_toml {
    ($text:expr) => {
        agentry_text::RuleExample::Files(&[
            (
                "helper/agent.toml",
                concat!("name = \"helper\"\ndescription = \"Answers questions\"\n", $text),
            ),
            ("helper/system-prompt.md", "You answer questions.\n"),
        ])
    };
}

/// An `agent.toml` whose `bash` section has the given lines.
macro_rules! bash {
    ($text:expr) => {
        $crate::examples::agent_toml!(concat!("\n[permissions.bash]\n", $text))
    };
}

/// An `agent.toml` with the given system prompt.
macro_rules! prompt {
    ($text:expr) => {
        agentry_text::RuleExample::Files(&[
            ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
            ("helper/system-prompt.md", $text),
        ])
    };
}

/// A manifest with the given lines after its name, description and soul.
macro_rules! manifest {
    ($text:expr) => {
        agentry_text::RuleExample::File(
            "helper.agent",
            concat!(
                "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n",
                $text
            ),
        )
    };
}

/// An agent directory with one MCP server.
macro_rules! server {
    ($text:expr) => {
        $crate::examples::agent_dir!("tools/search.md", concat!("---\nkind: mcp\n", $text, "---\n"))
    };
}

/// An agent directory with further files.
macro_rules! agent_dir {
    ($($path:literal, $text:expr),+) => {
        agentry_text::RuleExample::Files(&[
            ("helper/instructions.md", "You answer questions.\n"),
            $((concat!("helper/", $path), $text)),+
        ])
    };
}

/// A Markdown agent with the given front matter.
macro_rules! agent_md {
    ($text:expr) => {
        agentry_text::RuleExample::File(
            "agents/help_helper.agent.md",
            concat!("---\n", $text, "---\n# Helper\n\nAnswers questions.\n"),
        )
    };
}

pub(crate) use {agent_dir, agent_md, agent_toml, bash, manifest, prompt, server};
