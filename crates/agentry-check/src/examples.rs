//! Small agents around the lines that an example is about.

/// An `agent.toml` with these lines after its name and description.
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

/// An `agent.toml` whose `bash` section has these lines.
macro_rules! bash {
    ($text:expr) => {
        $crate::examples::agent_toml!(concat!("\n[permissions.bash]\n", $text))
    };
}

/// An `agent.toml` with this system prompt.
macro_rules! prompt {
    ($text:expr) => {
        agentry_text::RuleExample::Files(&[
            ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
            ("helper/system-prompt.md", $text),
        ])
    };
}

/// A manifest with these lines after its name, description and soul.
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

/// A Markdown agent with this metadata.
macro_rules! agent_md {
    ($text:expr) => {
        agentry_text::RuleExample::File(
            "agents/help_helper.agent.md",
            concat!("---\n", $text, "---\n# Helper\n\nAnswers questions.\n"),
        )
    };
}

pub(crate) use {agent_dir, agent_md, agent_toml, bash, manifest, prompt, server};
