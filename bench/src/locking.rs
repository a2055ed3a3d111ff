//! Measures locking of agents that inherit, and reading a base from the store.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::corpus::Corpus;
use crate::measure::{medians, quiet};
use crate::program::confirm;
use crate::report::{Row, Table, seconds};
use crate::targets::ratio;

/// Resolving and locking, and checking an unchanged lock, compared with `check` on the same files.
pub(crate) fn locking(program: &Path, corpus: &Corpus, table: &mut Table) -> Result<(), String> {
    fs::write(corpus.dir.join("agentry.toml"), "").map_err(|error| error.to_string())?;
    confirm(program, &corpus.dir, corpus.agents)?;
    eprintln!("locking them");
    let run = |words: &[&str]| {
        let mut command = quiet(program, words);
        command.current_dir(&corpus.dir);
        command
    };
    // The lock is removed each time, so that every round writes it anew.
    let script = r#"rm -f agentry.lock && exec "$0" lock"#;
    let mut anew = quiet("sh", ["-c".as_ref(), script.as_ref(), program.as_os_str()]);
    anew.current_dir(&corpus.dir);
    let [check, lock] = medians(15, [run(&["check"]), anew])?;
    let what = format!("lock {} agents / check", corpus.agents);
    table.add(ratio(what, lock, check, "check", 2.0));
    let [check, again] = medians(15, [run(&["check"]), run(&["lock", "--check"])])?;
    let what = format!("lock --check {} agents / check", corpus.agents);
    table.add(ratio(what, again, check, "check", 1.2));
    // An audit reads what both read, and compares with the lock.
    let [check, audit] = medians(15, [run(&["check"]), run(&["audit"])])?;
    let what = format!("audit {} agents / check", corpus.agents);
    table.add(ratio(what, audit, check, "check", 2.0));
    Ok(())
}

/// An agent whose base is read from the store and verified, compared with a base in a file.
pub(crate) fn storing(
    program: &Path,
    corpus: &Corpus,
    folder: &Path,
    table: &mut Table,
) -> Result<(), String> {
    let file = corpus.files.first().ok_or("no agent")?;
    let home = folder.join("home");
    let at_home = |mut command: Command| {
        command.env("AGENTRY_HOME", &home).current_dir(folder);
        command
    };
    let mut push = Command::new(program);
    push.arg("push").arg(file);
    let pushed = at_home(push).output();
    let pushed = pushed.map_err(|error| error.to_string())?;
    let digest = String::from_utf8_lossy(&pushed.stdout).trim().to_owned();
    let child = |name: &str, base: &str| {
        let text = format!("name: child\ndescription: Answers questions\nbase: {base}\n");
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| error.to_string())?;
        Ok::<_, String>(at_home(quiet(
            program,
            ["hash".as_ref(), "--full".as_ref(), path.as_os_str()],
        )))
    };
    let stored = child("stored.agent", &digest)?;
    let plain = child("plain.agent", &file.to_string_lossy())?;
    let [plain, stored] = medians(200, [plain, stored])?;
    let more = stored.saturating_sub(plain);
    table.add(Row {
        what: "a base from the store, beyond its file".to_owned(),
        measured: format!("{} to {} of a file", seconds(stored), seconds(plain)),
        ratio: seconds(more),
        target: "< 1 ms".to_owned(),
        is_met: more.as_micros() < 1_000,
    });
    Ok(())
}
