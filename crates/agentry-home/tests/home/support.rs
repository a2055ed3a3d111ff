//! A home with one AgentFS agent.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use agentry_compile::model::Format;
use agentry_home::repository::AgentTree;
use agentry_home::{AgentHome, AgentInstallation, HomeLayout};
use tempfile::TempDir;

pub(crate) const PERSONA: &str =
    "# Persona\n\n## L0\nI am careful.\n\n## L1\nI answer briefly.\n\n## L2\nBackground.\n";
pub(crate) const PRINCIPLES: &str = "# Rules\n\n## Must Do\n- confirm payments\n\n## Never Do\n- delete files\n- send \
    messages\n\n### Also\n- share secrets\n\n## Escalation Path\n- ask the user\n";

/// A home in a temporary directory whose path has a space and a letter beyond ASCII.
pub(crate) struct TestHome {
    pub(crate) directory: TempDir,
    pub(crate) home: AgentHome,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let layout = HomeLayout::new(directory.path().join("my höme"));
        let home = AgentHome::open(&layout, "owner").expect("a home");
        Self { directory, home }
    }

    pub(crate) fn with_agent() -> Self {
        let test = Self::new();
        test.home.install(installation("legal", &files())).expect("installed");
        test
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.layout().agent("legal")
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).expect("a file")
    }

    /// Runs the real Git as a person would.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args([
            "-c",
            "user.name=owner",
            "-c",
            "user.email=owner@example.com",
            "-c",
            "protocol.file.allow=always",
        ]);
        let out = command.args(args).current_dir(self.root()).output().expect("git runs");
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
    }
}

pub(crate) fn files() -> Vec<(String, Vec<u8>)> {
    let file = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
    vec![
        file(
            "agent.json",
            "{\"name\": \"legal\", \"version\": \"1.0.0\", \"role\": \"x\", \"access_control\": {\"owner\": \"me\"}}",
        ),
        file("persona.md", PERSONA),
        file("principles.md", PRINCIPLES),
        file("memory/tea.md", "---\ntype: fact\n---\n\nTea is green.\n"),
        file(
            "skills/review/SKILL.md",
            "---\nname: review\ndescription: Reviews\nallowed-tools: [Read]\n---\n\nLook.\n",
        ),
        file("tools/send/TOOL.md", "---\nname: send\n---\n"),
        file("schedules/daily.json", "{}"),
    ]
}

pub(crate) fn installation(id: &str, files: &[(String, Vec<u8>)]) -> AgentInstallation {
    AgentInstallation {
        id: id.to_owned(),
        is_chosen: false,
        name: id.to_owned(),
        format: Format::AgentFs,
        main: "agent.json".to_owned(),
        digest: "sha256:1".to_owned(),
        memory: true,
        source: "/src/legal".to_owned(),
        tree: AgentTree::of_files(files.to_vec()),
    }
}
