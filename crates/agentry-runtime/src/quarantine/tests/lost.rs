//! Files that are moved, removed or created in ways that make it hard to restore them.

use super::*;

#[test]
fn protected_files_of_a_removed_directory_are_kept() {
    for (removed, did, name, kept) in [
        ("sub", QuarantineAct::Gone, "sub", Some(".git/hooks/pre-commit")),
        ("sub/.git", QuarantineAct::Gone, "sub/.git", Some("hooks/pre-commit")),
        ("lib", QuarantineAct::Gone, "lib", Some(".claude/agents/a.md")),
        ("deep", QuarantineAct::Gone, "deep", Some("agentry.toml")),
        (".vscode", QuarantineAct::Gone, ".vscode", Some("tasks.json")),
        ("sub/.git/hooks", QuarantineAct::Removed, "sub/.git/hooks/pre-commit", None),
        ("lib/.claude", QuarantineAct::Removed, "lib/.claude/agents/a.md", None),
    ] {
        let (_dir, workspace, directory) = populated_workspace();
        let mut quarantine = begun(&workspace, &directory);
        let before = kept.map(|kept| fs::read(workspace.join(removed).join(kept)).expect("bytes"));
        fs::remove_dir_all(workspace.join(removed)).expect("removed");
        let reports = quarantine.settle();
        let found: Vec<_> = reports.iter().map(|it| (it.path.as_str(), it.did)).collect();
        assert_eq!(found, [(name, did)]);
        assert_eq!(workspace.join(removed).exists(), kept.is_none(), "{removed}");
        quarantine.permits().expect(removed);
        assert_eq!(quarantine.settle(), [], "{removed}");
        quarantine.close();
        drop(quarantine);
        let was = kept.map(|kept| reports[0].was.as_ref().expect("kept").join(kept));
        assert_eq!(was.map(|was| fs::read(was).expect("bytes")), before, "{removed}");
    }
}

/// Creates a workspace with more protected files.
fn populated_workspace() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let (dir, workspace, directory) = workspace();
    write(&workspace, "sub/.git/hooks/pre-commit", "x");
    write(&workspace, "lib/.claude/agents/a.md", "x");
    write(&workspace, ".vscode/tasks.json", "{}");
    (dir, workspace, directory)
}

#[test]
fn protected_files_stay_in_a_renamed_directory() {
    for (from, to, file) in [
        ("sub", "sub2", ".git/hooks/pre-commit"),
        ("lib", "new/lib", ".claude/agents/a.md"),
        ("deep", "deeper", "agentry.toml"),
    ] {
        let (_dir, workspace, directory) = populated_workspace();
        fs::create_dir_all(workspace.join("new")).expect("a directory");
        let mut quarantine = begun(&workspace, &directory);
        let before = fs::read(workspace.join(from).join(file)).expect("bytes");
        fs::rename(workspace.join(from), workspace.join(to)).expect("renamed");
        write(&workspace, &format!("{to}/.codex/config.toml"), "x");
        let reports = quarantine.settle();
        let found: Vec<_> = reports.iter().map(|it| (it.path.as_str(), it.did)).collect();
        let made = format!("{to}/.codex");
        assert_eq!(
            found,
            [(made.as_str(), QuarantineAct::Made), (to, QuarantineAct::Renamed)],
            "{from}"
        );
        assert_eq!(fs::read(workspace.join(to).join(file)).expect("bytes"), before, "{from}");
        // From here on it is allowed there.
        write(&workspace, &format!("{to}/{file}"), "evil");
        assert_eq!(quarantine.settle().len(), 1, "{from}");
        assert_eq!(fs::read(workspace.join(to).join(file)).expect("bytes"), before, "{from}");
    }
}

/// A protected file has another effect at another path.
#[test]
fn a_moved_protected_file_is_quarantined() {
    for (from, to, around) in [
        ("deep/agentry.toml", "agentry.toml", "deep"),
        ("lib/.claude", "agents/.claude", "lib"),
        ("lib/.vscode", ".vscode", "lib"),
        ("sub/.git", "agents/.git", "sub"),
    ] {
        let (_dir, workspace, directory) = populated_workspace();
        fs::rename(workspace.join(".vscode"), workspace.join("lib/.vscode")).expect("renamed");
        let mut quarantine = begun(&workspace, &directory);
        fs::rename(workspace.join(from), workspace.join(to)).expect("renamed");
        fs::remove_dir_all(workspace.join(around)).expect("removed");
        let reports = quarantine.settle();
        let found: Vec<_> = reports.iter().map(|it| it.did).collect();
        assert_eq!(found, [QuarantineAct::Made, QuarantineAct::Gone], "{from}: {reports:?}");
        assert_eq!(reports[1].path, around);
    }
}

#[test]
fn placeholder_text_does_not_bypass_the_quarantine() {
    for name in ["deep/agentry.toml", ".mcp.json", "sub/.git/hooks/pre-commit"] {
        let (_dir, workspace, directory) = populated_workspace();
        let before = fs::read(workspace.join(name)).expect("bytes");
        let mut quarantine = begun(&workspace, &directory);
        write(&workspace, name, agentry_sandbox::PLACEHOLDER);
        // A placeholder of another run.
        write(&workspace, "agents/agentry.toml", agentry_sandbox::PLACEHOLDER);
        let reports = quarantine.settle();
        let found: Vec<_> = reports.iter().map(|it| (it.path.as_str(), it.did)).collect();
        assert_eq!(found, [(name, QuarantineAct::Changed)]);
        assert_eq!(fs::read(workspace.join(name)).expect("bytes"), before, "{name}");
    }
}

#[test]
fn unrestorable_files_are_kept_in_the_quarantine() {
    let (_dir, workspace, directory) = workspace();
    write(&workspace, "sub/.git/modules/m/config", "[alias]\n\ta = !b\n");
    let mut quarantine = begun(&workspace, &directory);
    // A file that already has the temporary name does not prevent the restore.
    let name = format!("deep/.put-back-{}", std::process::id());
    fs::create_dir(workspace.join(name)).expect("a directory");
    write(&workspace, "deep/agentry.toml", "evil");
    assert_eq!(quarantine.settle().iter().map(|it| it.failed.clone()).collect::<Vec<_>>(), [None]);
    assert_eq!(
        fs::read(workspace.join("deep/agentry.toml")).expect("x"),
        b"[run]\nmax_turns = 2\n"
    );
    // A link replaces its directory.
    fs::rename(workspace.join("deep"), workspace.join("old")).expect("renamed");
    agentry_posix::unix::fs::symlink("agents", workspace.join("deep")).expect("a link");
    let reports = quarantine.settle();
    assert_eq!(reports.iter().map(|it| it.did).collect::<Vec<_>>(), [QuarantineAct::Renamed]);
    fs::remove_dir_all(workspace.join("old")).expect("removed");
    let reports = quarantine.settle();
    assert_eq!(reports.iter().map(|it| it.did).collect::<Vec<_>>(), [QuarantineAct::Gone]);
    quarantine.permits().expect("nothing is amiss");
    // A file replaces a directory without deciding files.
    fs::remove_dir_all(workspace.join("sub/.git/modules/m")).expect("removed");
    write(&workspace, "sub/.git/modules/m", "");
    let reports = quarantine.settle();
    assert!(reports[0].failed.is_some(), "{reports:?}");
    let refused = quarantine.permits().expect_err("something is amiss").to_string();
    assert!(refused.contains("`sub/.git/modules/m/config`"), "{refused}");
    drop(quarantine);
    let was = reports[0].was.clone().expect("kept");
    assert_eq!(fs::read_to_string(&was).expect("text"), "[alias]\n\ta = !b\n");
    assert!(
        reports[0].to_string().ends_with(&format!("kept in `{}`", was.display())),
        "{reports:?}"
    );
}

#[test]
fn unquarantined_files_refuse_further_commands() {
    let (_dir, workspace, directory) = workspace();
    write(&workspace, "sub/.git/modules/m/config", "[alias]\n\ta = !b\n");
    let (quarantine, unread) = (None, Vec::new());
    let tell = Box::new(|_: &QuarantineReport| {});
    let root = workspace.clone();
    let mut window =
        CommandWindow { workspace: root, directory, tell, quarantine, running: 0, unread };
    for _ in 0..2 {
        window.open(reach(&workspace)).expect("begun");
        window.shut();
    }
    window.open(reach(&workspace)).expect("begun");
    fs::remove_dir_all(workspace.join("sub/.git/modules/m")).expect("removed");
    write(&workspace, "sub/.git/modules/m", "");
    window.shut();
    let refused = window.open(reach(&workspace)).expect_err("refused").to_string();
    assert!(refused.starts_with("this run starts no command any more"), "{refused}");
    assert_eq!(window.running, 0);
}

/// A directory whose path is too long cannot be inspected.
#[test]
fn a_too_deep_directory_refuses_further_commands() {
    let (_dir, workspace, directory) = workspace();
    let mut quarantine = begun(&workspace, &directory);
    let mut at = fs::File::open(&workspace).expect("a directory");
    for _ in 0..30 {
        let name = "d".repeat(200);
        agentry_posix::fs::mkdirat(&at, &name, agentry_posix::fs::Mode::RWXU).expect("made");
        let flags = agentry_posix::fs::OFlags::DIRECTORY | agentry_posix::fs::OFlags::CLOEXEC;
        let next = agentry_posix::fs::openat(&at, &name, flags, agentry_posix::fs::Mode::empty());
        at = next.expect("a directory").into();
        let flags = agentry_posix::fs::OFlags::CREATE | agentry_posix::fs::OFlags::WRONLY;
        let made =
            agentry_posix::fs::openat(&at, "agentry.toml", flags, agentry_posix::fs::Mode::RUSR);
        drop(made.expect("a file"));
    }
    let reports = quarantine.settle();
    let (shut, made): (Vec<_>, Vec<_>) =
        reports.iter().partition(|it| it.did == QuarantineAct::Shut);
    // The last of them has a path that is too long, in a directory that has none.
    assert!(made.len() >= 19 && made.iter().all(|it| it.failed.is_none()), "{made:?}");
    assert_eq!(shut.len(), 1, "{shut:?}");
    assert!(shut[0].to_string().contains("` cannot be looked into: "), "{shut:?}");
    quarantine.permits().expect_err("something is amiss");
}

#[test]
fn long_and_odd_names_are_reported_on_one_line() {
    let (_dir, workspace, directory) = workspace();
    let mut quarantine = begun(&workspace, &directory);
    let long = format!("{}.cassette.jsonl", "a".repeat(240));
    write(&workspace, &long, "x");
    write(&workspace, "x\n[`y` was moved]\u{1b}.cassette.jsonl", "x");
    write(&workspace, "a\nb/agentry.toml", "x");
    let reports = quarantine.settle();
    assert_eq!(reports.len(), 3, "{reports:?}");
    for reports in reports {
        assert_eq!(reports.failed, None, "{reports}");
        assert!(!reports.to_string().contains(['\n', '\u{1b}']), "{reports}");
        assert!(reports.kept.clone().is_some_and(|kept| kept.exists()), "{reports}");
    }
}
