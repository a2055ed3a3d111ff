//! Escapes from the sandbox, tried from inside. Each back end must refuse all of them, for root and for an
//! ordinary user.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]
#![allow(unsafe_code, reason = "ways out are system calls that no library makes")]

mod attempts;
mod leftovers;
mod table;
mod world;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use agentry_sandbox::{BackEnd, support};
use table::ROWS;
use world::EscapeFixture;

/// Not a test by itself: a row starts this program again, with `ATTEMPT` set, for what a shell cannot do.
#[test]
fn attempt() {
    if let Ok(what) = env::var("ATTEMPT") {
        attempts::make(&what);
    }
}

#[test]
fn namespaces_refuse_every_escape() {
    refuses_all(BackEnd::Namespaces);
}

#[test]
fn landlock_refuses_every_escape() {
    refuses_all(BackEnd::Landlock);
}

/// A workspace with protected files under Landlock: it grants less, and is just as closed.
#[test]
fn plain_landlock_refuses_every_escape() {
    let mut world = EscapeFixture::new(BackEnd::Namespaces);
    if !world.make_plain() {
        eprintln!("SKIPPED: Landlock alone cannot be tried here");
        return;
    }
    let rows = ROWS.iter().filter(|row| row.name != "signal the helper");
    refuses(&world, BackEnd::Landlock, rows);
}

/// The same tests as a user without privileges, if this process can become one.
#[test]
fn an_ordinary_user_cannot_escape() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let setpriv =
        ["/usr/bin/setpriv", "/bin/setpriv"].into_iter().find(|it| Path::new(it).exists());
    let Some(setpriv) = setpriv else {
        eprintln!("SKIPPED: without `setpriv` nothing can be tried as an ordinary user");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().canonicalize().expect("a path");
    std::os::unix::fs::chown(&path, Some(UNPRIVILEGED_USER), Some(UNPRIVILEGED_USER))
        .expect("given away");
    let copy = |from: &Path, name: &str| {
        let to = path.join(name);
        fs::copy(from, &to).expect("a copy");
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).expect("executable");
        to
    };
    let tests = copy(&env::current_exe().expect("a path"), "escapes");
    let helper = copy(&world::helper(), "helper");
    for test in TESTS {
        let output = process::Command::new(setpriv)
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&tests)
            .args(["--exact", test, "--nocapture"])
            .env("HELPER", &helper)
            .env("WORLDS", &path)
            .output()
            .expect("started");
        let text = String::from_utf8_lossy(&output.stdout);
        println!("as an ordinary user:\n{text}");
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    }
}

const UNPRIVILEGED_USER: u32 = 65_534;
/// The rows that are repeated as an ordinary user.
const TESTS: &[&str] = &[
    "namespaces_refuse_every_escape",
    "landlock_refuses_every_escape",
    "plain_landlock_refuses_every_escape",
];

fn refuses_all(back_end: BackEnd) {
    let support = support(&world::helper());
    let world = EscapeFixture::new(back_end);
    let missing = match back_end {
        BackEnd::Namespaces => support.without_namespaces(),
        BackEnd::Landlock => support.without_landlock(&world.confinement()),
    };
    if let Some(missing) = missing {
        eprintln!("SKIPPED: {} cannot be tried here: {missing}", back_end.as_str());
        return;
    }
    let rows = ROWS.iter().filter(|row| row.only.is_none_or(|only| only == back_end));
    refuses(&world, back_end, rows);
}

/// Tries the rows one after the other, and prints the results.
fn refuses(
    world: &EscapeFixture,
    back_end: BackEnd,
    rows: impl Iterator<Item = &'static table::Row>,
) {
    let sandbox = world.sandbox();
    world.works(&sandbox);
    let mut failed = Vec::new();
    println!("{:<34} {:<12} said", "way out", back_end.as_str());
    for row in rows {
        let directory: PathBuf = world.path(row.directory.unwrap_or("work"));
        let printed = world.shell(&sandbox, &directory, row.line);
        let escaped = printed.contains("ESCAPED") || printed.contains("hush");
        let damage = world.damage().or_else(|| escaped.then(|| printed.clone()));
        let verdict = if damage.is_some() { "ESCAPED" } else { "refused" };
        let line = printed.lines().next_back().unwrap_or_default().replace(world.root(), "…");
        let line: String = line.chars().take(80).collect();
        println!("{:<34} {verdict:<12} {line}", row.name);
        failed.extend(damage.map(|damage| format!("{}: {damage}", row.name)));
    }
    world.works(&sandbox);
    drop(sandbox);
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "nothing is left of it");
}
