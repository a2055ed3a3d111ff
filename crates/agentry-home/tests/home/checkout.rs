//! A commit of a user's repository in a directory of another machine, and back: nothing of the repository runs, and
//! nothing leads out of the directory.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use agentry_home::repository::{
    CheckoutResult, CommitKind, CommitNote, GitCheckout, RepositoryError, pack_commit,
    receive_result,
};
use tempfile::TempDir;

/// A repository of a user, and a place for checkouts.
struct UserRepository {
    directory: TempDir,
    root: PathBuf,
}

impl UserRepository {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("a path").join("my repö");
        fs::create_dir(&root).expect("a directory");
        let this = Self { directory, root };
        this.git(&["init", "--quiet", "--initial-branch=main"]);
        for (path, text) in [
            ("a.txt", "one\n"),
            ("dir/b ü.txt", "two\n"),
            ("tool.sh", "#!/bin/sh\n"),
            (".gitignore", "target/\n"),
            (".env", "TRACKED=1\n"),
        ] {
            this.write(path, text);
        }
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(this.root.join("tool.sh"), mode).expect("executable");
        symlink("a.txt", this.root.join("link")).expect("a link");
        this.commit("first");
        this.write("a.txt", "one and a half\n");
        this.commit("second");
        this
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.root.join(path), text);
    }

    /// Runs the real Git as a person would.
    fn git(&self, args: &[&str]) -> String {
        git(&self.root, args)
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    fn checkout(&self, revision: &str) -> GitCheckout {
        let packed = pack_commit(&self.root, revision).expect("a pack");
        let place = self.directory.path().join("checkouts/run");
        GitCheckout::create(&place, &packed.commit, &packed.pack).expect("a checkout")
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, text).expect("written");
}

fn git(root: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.hooksPath=/dev/null"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let out = command.args(args).current_dir(root).output().expect("git");
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text").trim().to_owned()
}

fn result(checkout: &GitCheckout) -> CheckoutResult {
    let note = CommitNote::new(CommitKind::Agent, "writer", "writer: do it");
    checkout.result(&note).expect("a result")
}

#[test]
fn a_commit_comes_back_as_a_commit_and_as_a_patch() {
    let user = UserRepository::new();
    // What is not committed stays where it is.
    user.write("a.txt", "not committed\n");
    let checkout = user.checkout("HEAD");
    let work = checkout.work();
    let read = |path: &str| fs::read_to_string(work.join(path)).expect("a file");
    assert_eq!(read("a.txt"), "one and a half\n");
    assert_eq!(read("link"), read("a.txt"));
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
    assert_eq!(git(&work, &["log", "--format=%s"]), "second");
    let unchanged = result(&checkout);
    assert_eq!((&unchanged.base, &unchanged.files), (&unchanged.commit, &Vec::new()));
    write(&work.join("a.txt"), "changed\n");
    write(&work.join("new/c.txt"), "new\n");
    write(&work.join(".env"), "TRACKED=2\n");
    // Neither ignored files nor secrets that the repository does not have are handed in.
    write(&work.join("target/x"), "built\n");
    write(&work.join("sub/.env"), "KEY=secret\n");
    fs::remove_file(work.join("dir/b ü.txt")).expect("removed");
    fs::set_permissions(work.join("tool.sh"), fs::Permissions::from_mode(0o644)).expect("a mode");
    let done = result(&checkout);
    let expected = [".env", "a.txt", "dir/b ü.txt", "new/c.txt", "tool.sh"];
    assert_eq!(done.files, expected);
    // A run that goes on hands in again.
    write(&work.join("a.txt"), "changed again\n");
    let done = result(&GitCheckout::of_work(&work).expect("a checkout"));
    assert_eq!(done.files, expected);
    let reference = receive_result(&user.root, "20261115-150033-482-k7f3", &done).expect("a ref");
    let list = user.git(&["diff", "--no-renames", "--name-only", "-z", "HEAD", &reference]);
    assert_eq!(list.split_terminator('\0').collect::<Vec<_>>(), expected);
    assert_eq!(user.git(&["show", &format!("{reference}:a.txt")]), "changed again");
    assert_eq!(user.git(&["rev-parse", &format!("{reference}^")]), done.base);
    // The patch says the same, and the user's own files are untouched.
    assert_eq!(fs::read_to_string(user.root.join("a.txt")).expect("a file"), "not committed\n");
    user.git(&["checkout", "--quiet", "--force", "HEAD"]);
    let patch = user.directory.path().join("result.patch");
    fs::write(&patch, &done.patch).expect("written");
    user.git(&["apply", "--index", &patch.display().to_string()]);
    assert_eq!(
        user.git(&["write-tree"]),
        user.git(&["rev-parse", &format!("{reference}^{{tree}}")])
    );
}

/// Another machine has the commit and what was handed in, and goes on from there.
#[test]
fn a_result_is_restored_elsewhere() {
    let user = UserRepository::new();
    let packed = pack_commit(&user.root, "HEAD").expect("a pack");
    let checkout = user.checkout("HEAD");
    let base = packed.commit.as_str();
    assert!(checkout.has_result(base) && !checkout.has_result("other"));
    write(&checkout.work().join("a.txt"), "changed\n");
    write(&checkout.work().join("new/c.txt"), "new\n");
    write(&checkout.work().join("target/x"), "built\n");
    fs::remove_file(checkout.work().join("tool.sh")).expect("removed");
    let done = result(&checkout);
    assert!(checkout.has_result(&done.commit) && !checkout.has_result(base));
    let place = user.directory.path().join("elsewhere/run");
    let handed_in = (done.commit.as_str(), done.pack.as_slice());
    let restored = GitCheckout::restore(&place, (base, &packed.pack), handed_in);
    let restored = restored.expect("a checkout");
    let work = restored.work();
    assert_eq!(fs::read_to_string(work.join("a.txt")).expect("a file"), "changed\n");
    assert!(!work.join("tool.sh").exists() && !work.join("target/x").exists());
    assert!(work.join("link").is_symlink());
    assert_eq!(git(&work, &["status", "--porcelain"]), "M a.txt\n D tool.sh\n?? new/");
    assert!(restored.has_result(&done.commit));
    let again = result(&restored);
    assert_eq!((&again.base, &again.files, &again.patch), (&done.base, &done.files, &done.patch));
    // Whoever goes back to the commit has no result of its own any more.
    write(&work.join("a.txt"), "one and a half\n");
    fs::remove_dir_all(work.join("new")).expect("removed");
    write(&work.join("tool.sh"), "#!/bin/sh\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(work.join("tool.sh"), mode).expect("executable");
    assert_eq!(result(&restored).commit, base);
    assert!(restored.has_result(base) && !restored.has_result(&done.commit));
    let unchanged = GitCheckout::restore(&place, (base, &packed.pack), (base, &[]));
    assert_eq!(git(&unchanged.expect("a checkout").work(), &["status", "--porcelain"]), "");
}

#[test]
fn a_checkout_runs_nothing_of_the_repository_and_of_the_run() {
    let user = UserRepository::new();
    let trace = user.directory.path().join("ran");
    let program = user.directory.path().join("trap");
    write(&program, &format!("#!/bin/sh\necho run >> '{}'\ncat\n", trace.display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    let trap = |root: &Path| {
        let program = program.display().to_string();
        let settings = ["core.fsmonitor", "filter.t.clean", "filter.t.smudge", "filter.t.process"];
        let more = ["diff.t.textconv", "diff.t.command", "diff.external", "core.sshCommand"];
        for key in [&settings[..], &more].concat() {
            git(root, &["config", key, &program]);
        }
        for name in ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"] {
            let hook = root.join(".git/hooks").join(name);
            write(&hook, &format!("#!/bin/sh\n'{program}'\n"));
            fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("executable");
        }
    };
    user.write(".gitattributes", "* filter=t diff=t\n");
    user.commit("attributes");
    trap(&user.root);
    let checkout = user.checkout("HEAD");
    trap(&checkout.work());
    write(&checkout.work().join("a.txt"), "changed\n");
    let done = result(&checkout);
    receive_result(&user.root, "r1", &done).expect("a reference");
    assert_eq!(done.files, ["a.txt"]);
    assert!(!trace.exists(), "a program of the repository was run");
}

#[test]
fn nothing_leads_out_of_a_checkout() {
    let user = UserRepository::new();
    let outside = user.directory.path().join("outside");
    write(&outside.join("b ü.txt"), "a secret of the user\n");
    let checkout = user.checkout("HEAD");
    let work = checkout.work();
    // A directory becomes a link to another place, and a file a pipe.
    fs::remove_dir_all(work.join("dir")).expect("removed");
    symlink(&outside, work.join("dir")).expect("a link");
    fs::remove_file(work.join("a.txt")).expect("removed");
    assert!(Command::new("mkfifo").arg(work.join("a.txt")).status().expect("mkfifo").success());
    git(&work, &["init", "--quiet", "inner"]);
    write(&work.join("inner/x"), "x");
    let done = result(&checkout);
    assert_eq!(done.files, ["a.txt", "dir", "dir/b ü.txt"]);
    assert!(!String::from_utf8_lossy(&done.patch).contains("a secret"));
    // The run has no way to the repository that its result is read with.
    write(&work.join(".git/agentry-base"), "0000");
    assert_eq!(result(&checkout).base, done.base);
    assert!(GitCheckout::of_work(&outside).is_none());
}

#[test]
fn hostile_commits_are_refused() {
    let user = UserRepository::new();
    let blob = user.git(&["hash-object", "-w", "a.txt"]);
    for name in [".git", "..", ".GIT"] {
        let tree = user.directory.path().join("tree");
        fs::write(&tree, format!("100644 blob {blob}\t{name}\n")).expect("written");
        // `mktree` checks nothing, and reads from its input.
        let made = Command::new("git")
            .args(["mktree"])
            .current_dir(&user.root)
            .stdin(fs::File::open(&tree).expect("a file"))
            .output()
            .expect("git");
        let tree = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        let commit = user.git(&["commit-tree", "-m", "hostile", &tree]);
        let packed = pack_commit(&user.root, &commit).expect("a pack");
        let place = user.directory.path().join("hostile");
        let made = GitCheckout::create(&place, &packed.commit, &packed.pack);
        assert!(made.is_err(), "{name}");
        assert!(!place.join("work").join(name).join("a.txt").exists());
        // Neither is it taken in as a result.
        let base = user.git(&["rev-parse", "HEAD"]);
        let other = UserRepository::new();
        let result = CheckoutResult {
            base: other.git(&["rev-parse", "HEAD"]),
            commit,
            files: Vec::new(),
            pack: packed.pack,
            patch: Vec::new(),
        };
        assert!(receive_result(&other.root, "r1", &result).is_err(), "{name} after {base}");
    }
}

#[test]
fn what_cannot_be_checked_out_is_reported() {
    let user = UserRepository::new();
    let missing = pack_commit(&user.root, "nowhere");
    assert!(matches!(missing, Err(RepositoryError::NoRevision(name)) if name == "nowhere"));
    let option = pack_commit(&user.root, "--all");
    assert!(matches!(option, Err(RepositoryError::NoRevision(_))), "{option:?}");
    assert!(pack_commit(user.directory.path(), "HEAD").is_err());
    let packed = pack_commit(&user.root, "HEAD~1").expect("a pack");
    let place = user.directory.path().join("place");
    let mut damaged = packed.pack.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    assert!(GitCheckout::create(&place, &packed.commit, &damaged).is_err());
    assert!(GitCheckout::of_work(&place.join("work")).is_none(), "half a checkout counts as one");
    let other = "1".repeat(40);
    assert!(GitCheckout::create(&place, &other, &packed.pack).is_err());
    // What an earlier attempt left is no obstacle.
    let made = GitCheckout::create(&place, &packed.commit, &packed.pack).expect("a checkout");
    assert_eq!(fs::read_to_string(made.work().join("a.txt")).expect("a file"), "one\n");
    let elsewhere = UserRepository::new();
    elsewhere.write("another", "history");
    elsewhere.git(&["checkout", "--quiet", "--orphan", "other"]);
    write(&made.work().join("x"), "x");
    let mut done = result(&made);
    done.base = "2".repeat(40);
    assert!(matches!(
        receive_result(&elsewhere.root, "r1", &done),
        Err(RepositoryError::NoRevision(_))
    ));
}
