//! Git runs nothing of the repository, and what a person has in it is never lost.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use agentry_home::repository::CommitKind;
use agentry_home::{AgentHome, HomeError};

use crate::support::{PERSONA, TestHome, files, installation};

/// A program that leaves a trace when it is run.
fn trap(test: &TestHome, name: &str) -> (String, std::path::PathBuf) {
    let (program, trace) =
        (test.directory.path().join(name), test.directory.path().join(format!("{name}.ran")));
    fs::write(&program, format!("#!/bin/sh\necho run >> '{}'\ncat\n", trace.display()))
        .expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    (program.to_string_lossy().into_owned(), trace)
}

/// Everything that touches the repository.
fn use_all(test: &TestHome) {
    test.write("persona.md", format!("{PERSONA}\nedited\n"));
    let locked = test.home.lock("legal").expect("locked");
    let history = locked.history().expect("a history");
    let first = history.last().expect("an installation").commit.clone();
    locked.roll_back(&first, "owner").expect("rolled back");
    drop(locked);
    let mut new = files();
    new.push(("memory/new.md".to_owned(), b"new\n".to_vec()));
    test.home.install(installation("legal", &new)).expect("updated");
}

#[test]
fn git_runs_no_program_of_the_repository() {
    let test = TestHome::with_agent();
    let (program, trace) = trap(&test, "trap");
    let settings = [
        ("core.fsmonitor", program.as_str()),
        ("core.hooksPath", "hooks"),
        ("core.pager", &program),
        ("core.editor", &program),
        ("core.sshCommand", &program),
        ("core.askPass", &program),
        ("core.alternateRefsCommand", &program),
        ("diff.external", &program),
        ("diff.trap.textconv", &program),
        ("diff.trap.command", &program),
        ("merge.trap.driver", &program),
        ("filter.trap.clean", &program),
        ("filter.trap.smudge", &program),
        ("filter.trap.process", &program),
        ("filter.trap.required", "true"),
        ("gpg.program", &program),
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("credential.helper", &program),
        ("gc.auto", "1"),
        ("remote.origin.url", "ext::sh -c trap"),
        ("remote.origin.uploadpack", &program),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("protocol.ext.allow", "always"),
        ("submodule.recurse", "true"),
        ("alias.fast-import", &program),
    ];
    for (key, value) in settings {
        test.git(&["config", key, value]);
    }
    let hooks = test.root().join(".git/hooks");
    fs::create_dir_all(&hooks).expect("a directory");
    fs::create_dir_all(test.root().join(".git/hooks2")).expect("a directory");
    let names = [
        "reference-transaction",
        "post-index-change",
        "pre-commit",
        "post-commit",
        "commit-msg",
        "post-checkout",
        "pre-auto-gc",
        "post-rewrite",
        "fsmonitor-watchman",
        "update",
        "post-update",
    ];
    for name in names {
        fs::copy(&program, hooks.join(name)).expect("copied");
    }
    fs::write(test.root().join(".git/info/attributes"), "* filter=trap diff=trap merge=trap\n")
        .unwrap_or_default();
    test.write(".gitattributes", "* filter=trap diff=trap merge=trap\n");
    fs::remove_file(&trace).unwrap_or_default();
    use_all(&test);
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap_or_default());
    assert_eq!(test.read("persona.md"), PERSONA, "the content is that of the source, unfiltered");
    // The trap works: the person's own Git runs it.
    test.write("persona.md", "x\n");
    test.git(&["config", "core.hooksPath", ".git/hooks"]);
    test.git(&["status"]);
    assert!(trace.exists(), "Git itself would have run it");
}

#[test]
fn missing_git_objects_are_not_fetched() {
    let test = TestHome::with_agent();
    let (program, trace) = trap(&test, "trap");
    test.git(&["config", "remote.origin.url", &format!("ext::{program}")]);
    test.git(&["config", "remote.origin.promisor", "true"]);
    test.git(&["config", "extensions.partialClone", "origin"]);
    test.git(&["config", "core.repositoryFormatVersion", "1"]);
    test.git(&["config", "protocol.ext.allow", "always"]);
    let blob = test.git(&["rev-parse", "HEAD:persona.md"]);
    let (start, rest) = blob.trim().split_at(2);
    fs::remove_file(test.root().join(".git/objects").join(start).join(rest)).expect("removed");
    let error = test.home.lock("legal").expect_err("an object is missing").to_string();
    assert!(error.contains("git") || error.contains("damaged"), "{error}");
    assert!(!trace.exists());
    assert_eq!(test.read("persona.md"), PERSONA, "nothing is lost");
}

#[test]
fn manual_changes_are_committed_first() {
    let test = TestHome::with_agent();
    test.write("persona.md", "mine\n");
    test.write("notes/own.md", "new\n");
    fs::remove_file(test.root().join("schedules/daily.json")).expect("removed");
    symlink("persona.md", test.root().join("link.md")).expect("a link");
    fs::set_permissions(test.root().join("notes/own.md"), fs::Permissions::from_mode(0o755))
        .expect("executable");
    let updated = test.home.install(installation("legal", &files())).expect("updated");
    assert!(updated.commit.is_some());
    assert_eq!(test.read("persona.md"), PERSONA);
    let locked = test.home.lock("legal").expect("locked");
    let history = locked.history().expect("a history");
    let kinds: Vec<_> = history.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [CommitKind::Install, CommitKind::Person, CommitKind::Install]);
    let edit = history.get(1).expect("the edit");
    assert_eq!(edit.author, "owner");
    assert!(
        edit.message.starts_with("edit link.md, notes/own.md, persona.md and 1 more"),
        "{}",
        edit.message
    );
    locked.roll_back(edit.commit.get(..8).expect("digits"), "owner").expect("rolled back");
    assert_eq!(test.read("persona.md"), "mine\n");
    assert_eq!(
        fs::read_link(test.root().join("link.md")).expect("a link"),
        Path::new("persona.md")
    );
    let mode = fs::metadata(test.root().join("notes/own.md")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert!(!test.root().join("schedules/daily.json").exists());
    assert_eq!(
        locked.history().expect("a history").first().map(|it| it.kind),
        Some(CommitKind::Rollback)
    );
    assert_eq!(test.git(&["status", "--short"]), "");
    assert!(test.git(&["fsck", "--strict"]).lines().all(|line| !line.contains("error")));
}

#[test]
fn unusual_repositories_are_not_changed() {
    type Damage = fn(&TestHome);
    let cases: [(&str, Damage); 9] = [
        ("in the middle of a merge", |test| {
            test.git(&["checkout", "-q", "-b", "other"]);
            test.write("persona.md", "theirs\n");
            test.git(&["commit", "-qam", "theirs"]);
            test.git(&["checkout", "-q", "main"]);
            test.write("persona.md", "ours\n");
            test.git(&["commit", "-qam", "ours"]);
            test.git(&["merge", "other"]);
        }),
        ("in the middle of a rebase", |test| {
            fs::create_dir(test.root().join(".git/rebase-merge")).expect("made");
        }),
        ("a bare repository", |test| {
            test.git(&["config", "core.bare", "true"]);
        }),
        ("a bare repository", |test| {
            let root = test.root();
            for name in ["HEAD", "objects", "refs"] {
                fs::rename(root.join(".git").join(name), root.join(name)).expect("moved");
            }
            fs::remove_dir_all(root.join(".git")).expect("removed");
        }),
        ("a worktree", |test| {
            let git = test.root().join(".git");
            fs::rename(&git, test.directory.path().join("elsewhere")).expect("moved");
            fs::write(&git, format!("gitdir: {}/elsewhere\n", test.directory.path().display()))
                .expect("written");
        }),
        ("a submodule", |test| {
            let inner = test.root().join("skills/other");
            fs::create_dir_all(inner.join(".git")).expect("made");
        }),
        ("a submodule", |test| {
            let head = test.git(&["rev-parse", "HEAD"]);
            test.git(&["update-index", "--add", "--cacheinfo", "160000", head.trim(), "vendor"]);
            test.git(&["commit", "-qm", "submodule"]);
        }),
        ("HEAD is detached", |test| {
            test.git(&["checkout", "-q", "--detach"]);
        }),
        ("is not a Git repository", |test| {
            fs::remove_dir_all(test.root().join(".git")).expect("removed");
        }),
    ];
    for (expected, damage) in cases {
        let test = TestHome::with_agent();
        damage(&test);
        test.write("mine.md", "keep me\n");
        let error = test.home.lock("legal").expect_err(expected);
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(error.hint().is_some(), "{expected}");
        test.home.install(installation("legal", &files())).expect_err(expected);
        assert_eq!(test.read("mine.md"), "keep me\n", "{expected}");
    }
}

#[test]
fn a_change_that_was_killed_is_completed() {
    let test = TestHome::with_agent();
    // What a kill leaves after the commit and before the files: a commit at the reference of the next state.
    test.write("persona.md", "new\n");
    test.git(&["add", "-A"]);
    let tree = test.git(&["write-tree"]);
    let head = test.git(&["rev-parse", "HEAD"]);
    let next = test.git(&[
        "commit-tree",
        tree.trim(),
        "-p",
        head.trim(),
        "-m",
        "next\n\nAgentry-Kind: agent",
    ]);
    test.git(&["update-ref", "refs/agentry/next", next.trim()]);
    test.write("persona.md", PERSONA);
    let locked = test.home.lock("legal").expect("completed");
    assert_eq!(test.read("persona.md"), "new\n");
    let history = locked.history().expect("a history");
    assert_eq!(
        history.first().map(|entry| (entry.commit.as_str(), entry.kind)),
        Some((next.trim(), CommitKind::Agent))
    );
    assert_eq!(history.len(), 2, "no second commit, by nobody");
}

#[test]
fn used_ids_and_directories_are_refused() {
    let test = TestHome::with_agent();
    let mut other = installation("legal", &files());
    other.source = "/elsewhere".to_owned();
    assert!(matches!(test.home.install(other), Err(HomeError::Taken { .. })));
    for bad in ["", "..", "A", "a/b", ".git"] {
        assert!(
            matches!(test.home.install(installation(bad, &files())), Err(HomeError::Identifier(_))),
            "{bad}"
        );
    }
    // A directory that nobody recorded may be a person's: it stays.
    let own = test.home.layout().agent("own");
    fs::create_dir_all(&own).expect("made");
    fs::write(own.join("x"), "mine").expect("written");
    assert!(matches!(
        test.home.install(installation("own", &files())),
        Err(HomeError::InTheWay(_))
    ));
    assert!(own.join("x").exists());
    // One that a killed installation left, or whose row was lost, is taken over with its history.
    test.write("notes.md", "mine\n");
    test.home.record().remove("legal").expect("removed");
    test.home.install(installation("legal", &files())).expect("installed again");
    assert_eq!(test.home.lock("legal").expect("locked").history().expect("a history").len(), 3);
    test.home.uninstall("legal").expect("removed");
    assert!(!test.root().exists());
    assert!(matches!(test.home.uninstall("legal"), Err(HomeError::Missing(_))));
}

#[test]
fn an_update_keeps_learned_memories() {
    let test = TestHome::with_agent();
    test.write("memory/learned.md", "learned\n");
    let mut new = files();
    new.retain(|(path, _)| path != "memory/tea.md");
    test.home.install(installation("legal", &new)).expect("updated");
    assert_eq!(test.read("memory/learned.md"), "learned\n");
    assert!(!test.root().join("memory/tea.md").exists(), "the source gave it and took it away");
}

#[test]
fn a_home_that_cannot_be_used_is_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    let error = AgentHome::open(&agentry_home::HomeLayout::new(file.join("home")), "owner")
        .expect_err("no directory");
    assert!(error.to_string().contains("file"), "{error}");
    let layout = agentry_home::HomeLayout::new(directory.path());
    fs::write(layout.database(), "this is no database at all, whatever it is called")
        .expect("written");
    let error = AgentHome::open(&layout, "owner").expect_err("damaged");
    assert!(error.to_string().contains("agents.db") && error.hint().is_some(), "{error}");
}

#[test]
fn a_hostile_git_tree_is_refused() {
    let test = TestHome::with_agent();
    // `git mktree` accepts names that no work tree can have.
    let blob = test.git(&["rev-parse", "HEAD:persona.md"]);
    let script = format!(
        "printf '040000 tree %s\\t..\\n' $(printf '100644 blob {}\\tx\\n' | git mktree) | git mktree",
        blob.trim()
    );
    let out = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(test.root())
        .output()
        .expect("sh");
    let tree = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    let head = test.git(&["rev-parse", "HEAD"]);
    let bad = test.git(&["commit-tree", &tree, "-p", head.trim(), "-m", "bad"]);
    test.git(&["update-ref", "refs/agentry/next", bad.trim()]);
    test.home.lock("legal").expect_err("refused");
    assert!(!test.home.layout().agents().join("x").exists());
}
