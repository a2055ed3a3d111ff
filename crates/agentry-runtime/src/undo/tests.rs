use tempfile::TempDir;

use super::*;

struct Run {
    root: TempDir,
    images: BeforeImages,
}

impl Run {
    fn new() -> Self {
        let root = TempDir::new().expect("a directory");
        let images = BeforeImages::new(root.path().join("run/before")).expect("images");
        fs::create_dir(root.path().join("w")).expect("a directory");
        Self { root, images }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join("w").join(name)
    }

    fn root(&self) -> PathBuf {
        self.root.path().canonicalize().expect("a directory")
    }

    /// Writes as another program.
    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    /// Writes as a call of the run.
    fn change(&self, name: &str, text: &str) {
        self.images.keep(&self.path(name)).expect("an image");
        fs::create_dir_all(self.path(name).parent().expect("a parent")).expect("directories");
        self.write(name, text);
        self.images.settle().expect("a note");
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn undo(&self, force: bool) -> Vec<(String, UndoOutcome)> {
        let root = self.root().join("w");
        let undone = undo(&[self.root.path().join("run/before")], force, false).expect("a list");
        let name = |path: PathBuf| {
            path.strip_prefix(&root).expect("a name").to_str().expect("text").to_owned()
        };
        undone.into_iter().map(|(path, undone)| (name(path), undone)).collect()
    }
}

fn one(name: &str, undone: UndoOutcome) -> Vec<(String, UndoOutcome)> {
    vec![(name.to_owned(), undone)]
}

#[test]
fn undo_restores_files() {
    let run = Run::new();
    run.write("a", "before");
    run.change("a", "1");
    run.change("a", "2");
    run.change("new/deep/b", "made");
    run.change("new/c", "made");
    run.write("a2", "x");
    run.images.keep(&run.path("a2")).expect("an image");
    fs::remove_file(run.path("a2")).expect("a file");
    run.images.settle().expect("a note");
    let back = ["a", "a2", "new/c", "new/deep/b"].map(|name| (name.to_owned(), UndoOutcome::Back));
    assert_eq!(run.undo(false), back);
    assert_eq!((run.text("a").as_deref(), run.text("a2").as_deref()), (Some("before"), Some("x")));
    assert!(!run.path("new").exists());
    assert!(run.undo(false).iter().all(|(_, undone)| *undone == UndoOutcome::Same));
}

#[test]
fn undo_keeps_files_changed_by_others() {
    type Happens<'a> = &'a dyn Fn(&Run);
    let cases: [(&str, Happens<'_>, UndoOutcome, Option<&str>); 5] = [
        (
            "changed since",
            &|run| {
                run.change("a", "1");
                run.write("a", "theirs");
            },
            UndoOutcome::Kept("it was changed since".to_owned()),
            Some("theirs"),
        ),
        (
            "removed since",
            &|run| {
                run.change("a", "1");
                fs::remove_file(run.path("a")).expect("a file");
            },
            UndoOutcome::Kept("it was removed since".to_owned()),
            None,
        ),
        (
            "changed in between",
            &|run| {
                run.change("a", "1");
                run.write("a", "theirs");
                run.change("a", "2");
            },
            UndoOutcome::Partly,
            Some("theirs"),
        ),
        (
            "killed in the middle",
            &|run| {
                run.images.keep(&run.path("a")).expect("an image");
                run.write("a", "half");
            },
            UndoOutcome::Kept(
                "the run was killed while it changed this: its state is not known".to_owned(),
            ),
            Some("half"),
        ),
        (
            "killed before the change",
            &|run| {
                run.change("a", "1");
                let again = BeforeImages::new(run.root.path().join("run/before")).expect("images");
                again.keep(&run.path("a")).expect("an image");
            },
            UndoOutcome::Back,
            Some("before"),
        ),
    ];
    for (case, happens, expected, text) in cases {
        let run = Run::new();
        run.write("a", "before");
        happens(&run);
        assert_eq!(run.undo(false), one("a", expected), "{case}");
        assert_eq!(run.text("a").as_deref(), text, "{case}");
        run.undo(true);
        assert_eq!(run.text("a").as_deref(), Some("before"), "{case}, forced");
    }
}

#[test]
fn a_file_changed_twice_by_one_call_is_restored() {
    let run = Run::new();
    run.write("a", "before");
    for text in ["1", "2"] {
        run.images.keep(&run.path("a")).expect("an image");
        run.write("a", text);
    }
    run.images.settle().expect("a note");
    assert_eq!(run.undo(false), one("a", UndoOutcome::Back));
    assert_eq!(run.text("a").as_deref(), Some("before"));
}

#[test]
fn equal_before_images_are_stored_once() {
    let run = Run::new();
    run.write("a", "before");
    for number in 0..10 {
        run.change("a", if number % 2 == 0 { "even" } else { "odd" });
    }
    let images = fs::read_dir(run.root.path().join("run/before")).expect("files").count();
    assert_eq!(images, 4, "the index and three images");
}

#[test]
fn a_truncated_index_line_is_ignored() {
    let run = Run::new();
    run.write("a", "before");
    run.change("a", "1");
    let path = run.root.path().join("run/before/index.jsonl");
    let mut text = fs::read_to_string(&path).expect("an index");
    text.push_str("{\"path\":\"/x");
    fs::write(&path, &text).expect("an index");
    let again = BeforeImages::new(run.root.path().join("run/before")).expect("images");
    again.keep(&run.path("b")).expect("an image");
    assert_eq!(run.undo(false).len(), 2);
    fs::write(&path, "nonsense\n").expect("an index");
    let error = BeforeImages::new(run.root.path().join("run/before")).expect_err("damage");
    assert!(error.to_string().contains("line 1"), "{error}");
}

#[test]
fn undo_does_not_follow_a_directory_turned_symlink() {
    use agentry_posix::unix::fs::symlink;
    let run = Run::new();
    fs::create_dir_all(run.path("d/e")).expect("directories");
    let outside = run.root().join("outside");
    for name in ["d/gone", "d/e/changed", "d/new"] {
        fs::create_dir_all(outside.join("e/made")).expect("directories");
        if name != "d/new" {
            run.write(name, "before");
        }
        run.change(name, "1");
    }
    run.change("d/e/made/x", "1");
    run.images.keep(&run.path("d/gone")).expect("an image");
    fs::remove_file(run.path("d/gone")).expect("a file");
    run.images.settle().expect("a note");
    fs::remove_dir_all(run.path("d")).expect("a directory");
    symlink(&outside, run.path("d")).expect("a link");
    fs::write(outside.join("new"), "1").expect("a file");
    fs::write(outside.join("e/changed"), "1").expect("a file");
    let why = format!("`{}` has become a link", run.path("d").display());
    for force in [false, true] {
        let undone = run.undo(force);
        assert_eq!(undone.len(), 4);
        assert!(
            undone.iter().all(|(_, it)| *it == UndoOutcome::Refused(why.clone())),
            "{undone:?}"
        );
    }
    assert!(!outside.join("gone").exists() && outside.join("e/made").exists());
    for name in ["new", "e/changed"] {
        assert_eq!(fs::read_to_string(outside.join(name)).expect("a file"), "1", "{name}");
    }
    let error = run.images.keep(&run.path("d/other")).expect_err("a link is on the way");
    assert_eq!(error.to_string(), why);
    // Even without the check above, the write itself follows no link.
    let before = PathImage::Link { target: "x".into() };
    let written = restore::restore(&run.root().join("run/before"), &run.path("d/l"), &before);
    assert!(written.is_err() && !outside.join("l").exists());
}

#[test]
fn protected_files_are_never_stored_or_restored() {
    let run = Run::new();
    for name in [".git/config", "sub/.git/hooks/x", "agentry.toml", "a/agentry.lock"] {
        let error = run.images.keep(&run.path(name)).expect_err("it is protected");
        assert!(error.to_string().starts_with("it is protected: "), "{error}");
    }
    // A workspace may be in the directory of a harness.
    run.images.keep(&run.path(".claude/trees/x/a.rs")).expect("an image");
    run.images.settle().expect("a note");
    let index = run.root().join("run/before/index.jsonl");
    let line = fs::read_to_string(&index).expect("an index").replace(".claude/trees", ".git/hooks");
    fs::write(&index, line.replace("\"is\":\"nothing\"", "\"is\":\"directory\""))
        .expect("an index");
    let undone = run.undo(true);
    assert!(matches!(undone.as_slice(), [(_, UndoOutcome::Refused(_))]), "{undone:?}");
    assert!(!run.path(".git").exists());
}

#[cfg(unix)]
#[test]
fn undo_restores_permissions_and_symlinks() {
    use agentry_posix::unix::fs::{PermissionsExt as _, symlink};
    let run = Run::new();
    run.write("script", "#!/bin/sh\n");
    let permissions = fs::Permissions::from_mode(0o750);
    fs::set_permissions(run.path("script"), permissions).expect("permissions");
    symlink("script", run.path("link")).expect("a link");
    for name in ["script", "link"] {
        run.images.keep(&run.path(name)).expect("an image");
        fs::remove_file(run.path(name)).expect("a file");
        run.write(name, "other");
    }
    run.images.settle().expect("a note");
    assert!(run.undo(false).iter().all(|(_, undone)| *undone == UndoOutcome::Back));
    let mode = fs::metadata(run.path("script")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    assert_eq!(fs::read_link(run.path("link")).expect("a link"), Path::new("script"));
}

#[test]
fn unstorable_paths_are_refused() {
    let run = Run::new();
    let error = run.images.keep(Path::new("/x/../y")).expect_err("it has two dots");
    assert_eq!(error.to_string(), "`/x/../y` has `..`");
}
