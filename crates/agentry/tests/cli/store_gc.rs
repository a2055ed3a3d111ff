//! `agentry gc`: what is removed from the store, and what stays.

use std::fs;

use serde_json::Value;

use crate::test::{HELPER, Test};

const VERSIONED: &str =
    "name: helper\nversion: 1.0.0\ndescription: Answers questions\nsoul: You answer questions.\n";

#[test]
fn gc_removes_unreferenced_objects_and_keeps_names() {
    let test = Test::new().file("helper.agent", VERSIONED).file("other.agent", HELPER);
    test.run("push helper.agent").exits(0);
    test.run("push other.agent").exits(0);
    test.write("home/.agentry/store/temporary/push-1/object/files/x", "half");
    test.write(
        "home/.agentry/store/index/names/ghost/1.0.0",
        format!("sha256:{}\n", "0".repeat(64)),
    );
    insta::assert_snapshot!(test.run("gc --dry-run"), @r#"
    $ agentry gc --dry-run
    --- stdout
    would remove temporary/push-1 (left behind)
    would remove index/names/ghost/1.0.0 (leads nowhere)
    --- exit 0
    "#);
    assert!(test.has("home/.agentry/store/temporary/push-1"));
    insta::assert_snapshot!(test.run("gc"), @r#"
    $ agentry gc
    --- stdout
    removed temporary/push-1 (left behind)
    removed index/names/ghost/1.0.0 (leads nowhere)
    --- exit 0
    "#);
    assert!(!test.has("home/.agentry/store/temporary/push-1"));
    insta::assert_snapshot!(test.run("gc"), @r#"
    $ agentry gc
    --- stderr
    there is nothing to remove
    --- exit 0
    "#);
    test.run("gc --dry-run --drop helper@1.0.0").exits(0);
    test.run("pull helper@1.0.0 -o there").exits(0);
    insta::assert_snapshot!(test.run("gc --drop helper@1.0.0"), @r#"
    $ agentry gc --drop helper@1.0.0
    --- stdout
    removed helper@1.0.0 sha256:a99050e45386ebb29733bbab2932a7d91d0d9b9344014cd92f537a8e8a594637 (unreferenced)
    --- exit 0
    "#);
    test.run("pull helper@1.0.0 -o gone").exits(2);
    assert_eq!(test.run("list --format json").json().as_array().map(Vec::len), Some(1));
    test.write("helper.agent", VERSIONED.replace("questions.", "nothing."));
    insta::assert_snapshot!(test.run("push helper.agent"), @r#"
    $ agentry push helper.agent
    --- stderr
    error: `helper@1.0.0` is `sha256:a99050e45386ebb29733bbab2932a7d91d0d9b9344014cd92f537a8e8a594637` already, and stays so
      = help: give the agent a new version, in its definition or with `--version`
    --- exit 1
    "#);
    test.write("helper.agent", VERSIONED);
    test.run("push helper.agent").exits(0);
    test.run("pull helper@1.0.0 -o back").exits(0);
}

#[test]
fn gc_keeps_objects_of_the_lock() {
    let test = Test::new().file("helper.agent", VERSIONED);
    let digest = test.run("push helper.agent").exits(0).stdout.trim().to_owned();
    test.write("agentry.lock", format!("digest = \"{digest}\"\n"));
    insta::assert_snapshot!(test.run("gc --drop helper@1.0.0"), @r#"
    $ agentry gc --drop helper@1.0.0
    --- stderr
    error: `helper@1.0.0` is needed by `agentry.lock`
      = help: drop them together, or update the lock first
    --- exit 1
    "#);
    test.run("pull helper -o by-name").exits(0);
    // As if a process was killed after it dropped the name, and the agent was locked later.
    test.write("home/.agentry/store/dropped/helper/1.0.0", format!("{digest}\n"));
    let report = test.run("gc --format json").exits(0).json();
    assert_eq!(
        report["kept"],
        serde_json::json!([{"what": digest, "name": "helper@1.0.0", "reason": "locked"}])
    );
    assert_eq!(report["removed"], Value::Array(Vec::new()));
    test.run("pull helper -o none").exits(2);
    test.run(&format!("pull {digest} -o by-digest")).exits(0);
    fs::remove_file(test.path("agentry.lock")).expect("a file");
    let report = test.run("gc --format json").exits(0).json();
    let gone = serde_json::json!([
        {"what": digest, "name": "helper@1.0.0", "reason": "unreferenced"}
    ]);
    assert_eq!(report["removed"], gone);
}

/// A bare name would mean another version each time.
#[test]
fn gc_drop_refuses_a_name_without_a_version() {
    let test = Test::new();
    for version in ["0.10.0", "0.9.0"] {
        test.write("helper.agent", VERSIONED.replace("1.0.0", version));
        test.run("push helper.agent").exits(0);
    }
    insta::assert_snapshot!(test.run("gc --drop helper"), @r#"
    $ agentry gc --drop helper
    --- stderr
    error: `helper` names no version; the store has `helper@0.9.0`, `helper@0.10.0`
      = help: say which: `--drop NAME@VERSION`
    --- exit 2
    "#);
    assert_eq!(test.run("list --format json").json().as_array().map(Vec::len), Some(2));
}
