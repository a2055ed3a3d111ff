use super::*;

/// A workspace with an agent and a repository, and where its quarantine is.
fn workspace() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().canonicalize().expect("a path");
    let workspace = root.join("w");
    let files = [
        ("agents/one/agent.toml", "name = 'one'\n"),
        ("sub/.git/config", "[core]\n\tbare = false\n"),
        ("sub/.git/HEAD", "ref: refs/heads/main\n"),
        ("deep/agentry.toml", "[run]\nmax_turns = 2\n"),
        (".mcp.json", "{}\n"),
        (".git/config", "[core]\n"),
    ];
    for (name, text) in files {
        write(&workspace, name, text);
    }
    (dir, workspace, root.join("runs/1/quarantine"))
}

fn write(workspace: &Path, name: &str, text: &str) {
    let path = workspace.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, text).expect("written");
}

fn begun(workspace: &Path, directory: &Path) -> Quarantine {
    let looking = Looking {
        workspace: workspace.to_owned(),
        agent: workspace.join("agents/one"),
        closed: vec![workspace.join(".git/config"), workspace.join(".pi/x")],
    };
    Quarantine::begin(looking, directory).expect("begun")
}

#[test]
fn what_is_new_is_taken_away() {
    let cases = [
        ".claude/settings.json",
        ".mcp.json.d/../.codex/config.toml",
        "opencode.json",
        "agents/agentry.toml",
        "agents/one/agentry.lock",
        "some/where/agentry.toml",
        "agents/one.cassette.jsonl",
        "agents/.cursor/mcp.json",
        "sub/.gemini/settings.json",
        ".git/commondir",
        ".git/config.worktree",
        ".git/hooks/pre-commit",
        ".git/modules/a/b/hooks/post-checkout",
        "sub/.git/hooks/post-checkout",
        "new/.git/hooks/post-checkout",
        "new/.mcp.json",
        "bare/config",
        "bare/hooks/post-checkout",
        ".vscode/tasks.json",
        ".git/info/attributes",
    ];
    for name in cases {
        let (_dir, workspace, directory) = workspace();
        let mut quarantine = begun(&workspace, &directory);
        if name.starts_with("new/") {
            write(&workspace, "new/.git/HEAD", "");
        }
        if name.starts_with("bare/") {
            write(&workspace, "bare/HEAD", "");
            write(&workspace, "bare/refs/x", "");
            write(&workspace, "bare/objects/x", "");
        }
        if name.contains("modules") {
            write(&workspace, ".git/modules/a/b/HEAD", "");
        }
        fs::create_dir_all(workspace.join(".mcp.json.d")).expect("a directory");
        write(&workspace, name, "[core]\n\tfsmonitor = x\n");
        let said = quarantine.settle();
        assert_eq!(said.len(), 1, "{name}: {said:?}");
        assert!(said.iter().all(|it| it.contains("was moved to")), "{name}: {said:?}");
        assert!(!workspace.join(name).exists(), "{name}");
        assert_eq!(quarantine.settle(), Vec::<String>::new(), "{name}");
        quarantine.end();
        assert_eq!(fs::read_dir(directory.join("taken")).expect("kept").count(), 1, "{name}");
    }
}

#[test]
fn what_was_there_is_put_back() {
    let evil = "[core]\n\tfsmonitor = x\n";
    for (name, new) in [
        ("sub/.git/config", Some(evil)),
        ("deep/agentry.toml", Some("")),
        ("deep/agentry.toml", None),
        (".mcp.json", Some("{\"a\": 1}")),
        (".mcp.json", None),
    ] {
        let (_dir, workspace, directory) = workspace();
        let before = fs::read_to_string(workspace.join(name)).expect("text");
        let mut quarantine = begun(&workspace, &directory);
        match new {
            Some(text) => write(&workspace, name, text),
            None => fs::remove_file(workspace.join(name)).expect("removed"),
        }
        let said = quarantine.settle();
        assert!(said.iter().all(|it| it.contains("was put back")), "{name}: {said:?}");
        assert_eq!(said.len(), 1, "{name}");
        assert_eq!(fs::read_to_string(workspace.join(name)).expect("text"), before, "{name}");
        assert_eq!(quarantine.settle(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_is_harmless_stays() {
    let (_dir, workspace, directory) = workspace();
    let mut quarantine = begun(&workspace, &directory);
    write(&workspace, "new/.git/config", "[core]\n\trepositoryformatversion = 0\n");
    write(&workspace, "new/.git/HEAD", "ref: refs/heads/main\n");
    write(&workspace, "new/.git/hooks/pre-commit.sample", "#!/bin/sh\n");
    write(&workspace, "sub/.git/config", "[user]\n\tname = a\n");
    write(&workspace, "src/main.rs", "");
    // Stands for what is closed in it.
    fs::create_dir(workspace.join(".pi")).expect("a directory");
    // The person's own: nothing in the sandbox can change it.
    write(&workspace, ".git/config", "[alias]\n\tst = !x\n");
    assert_eq!(quarantine.settle(), Vec::<String>::new());
    // What was let in is what is put back.
    write(&workspace, "new/.git/config", "[core]\n\tfsmonitor = x\n");
    assert_eq!(quarantine.settle().len(), 1);
    let text = fs::read_to_string(workspace.join("new/.git/config")).expect("text");
    assert_eq!(text, "[core]\n\trepositoryformatversion = 0\n");
    fs::remove_dir_all(workspace.join("sub")).expect("removed");
    assert_eq!(quarantine.settle(), Vec::<String>::new(), "a whole directory may go");
}

#[test]
fn links_and_pipes_are_not_followed() {
    let (dir, workspace, directory) = workspace();
    let mut quarantine = begun(&workspace, &directory);
    let outside = dir.path().join("outside");
    fs::create_dir_all(outside.join(".git")).expect("a directory");
    fs::write(outside.join(".git/config"), "[alias]\n\ta = !b\n").expect("written");
    std::os::unix::fs::symlink(&outside, workspace.join("linked")).expect("a link");
    std::os::unix::fs::symlink(outside.join(".git"), workspace.join("src.git")).expect("a link");
    fs::create_dir(workspace.join("src")).expect("a directory");
    std::os::unix::fs::symlink(outside.join(".git"), workspace.join("src/.git")).expect("a link");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        workspace.join("opencode.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("a pipe");
    let said = quarantine.settle();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(fs::symlink_metadata(workspace.join("src/.git")).is_err());
    assert!(fs::symlink_metadata(workspace.join("opencode.json")).is_err());
    assert!(outside.join(".git/config").exists());
}

#[test]
fn what_a_killed_run_left_is_settled() {
    let (_dir, workspace, directory) = workspace();
    let quarantine = begun(&workspace, &directory);
    write(&workspace, ".claude/settings.json", "{}");
    let runs = directory.parent().and_then(Path::parent).expect("a directory");
    assert_eq!(sweep(runs), Vec::<String>::new(), "it lives");
    drop(quarantine);
    assert_eq!(sweep(runs).len(), 1);
    assert!(!workspace.join(".claude").exists());
    assert_eq!(sweep(runs), Vec::<String>::new());
}
