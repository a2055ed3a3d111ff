//! `agentry.lock` and runs: an agent that was not reviewed does not run, and is sent to no model.

use crate::run::{WRITER, with, writer};
use crate::server::{Server, Turn};
use crate::test::Test;

/// Tries to run an agent, and to replay its cassette: both are refused.
#[track_caller]
fn is_refused(test: &Test, agent: &str, expected: &[&str]) {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let ran = with(test, &server, &["run", agent, "hi", "--yes"]).exits(3);
    for text in expected {
        assert!(ran.stderr.contains(text), "{text}: {ran}");
    }
    with(test, &server, &["run", agent, "--replay", "any.cassette.jsonl"]).exits(3);
    assert_eq!(server.count(), 0);
}

#[track_caller]
fn runs(test: &Test, agent: &str) {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let ran = with(test, &server, &["run", agent, "hi", "--yes"]).exits(0);
    assert!(!ran.stderr.contains("agentry.lock"), "{ran}");
}

#[test]
fn an_agent_that_differs_from_the_lock_does_not_run() {
    let test = writer();
    runs(&test, "writer");
    test.run("lock").exits(0);
    runs(&test, "writer");
    let difference = "`writer` is not as `agentry.lock` says: ";
    let hint = "`agentry lock --update writer` after a look";
    test.write("writer/agent.toml", WRITER.replace("\"deny\"", "\"ask\""));
    is_refused(&test, "writer", &[difference, "it gained", hint]);
    test.write("writer/agent.toml", WRITER);
    test.write("writer/system-prompt.md", "You write many files.\n");
    is_refused(&test, "writer", &[difference, "file `writer/system-prompt.md` changed", hint]);
    test.run("lock --update writer").exits(0);
    runs(&test, "writer");
    test.write("agentry.lock", "nonsense");
    is_refused(&test, "writer", &["agentry.lock"]);
}

/// One gain and one loss, in sections of either order: the gain is shown, and before the loss.
#[test]
fn gains_are_shown_before_losses() {
    let edits = [
        [("intent = \"deny\"", "intent = \"ask\""), ("out.txt:allow", "out.txt:deny")],
        [("out.txt:allow\", \"secret/**:deny", "out.txt:allow"), ("out.txt:allow", "out.txt:ask")],
    ];
    for edit in edits {
        let test = writer();
        test.run("lock").exits(0);
        let changed =
            edit.iter().fold(WRITER.to_owned(), |text, (old, new)| text.replace(old, new));
        test.write("writer/agent.toml", changed);
        for args in ["run writer hi --yes", "render --target opencode"] {
            let stderr = test.run(args).exits(3).stderr;
            let at = |word: &str| stderr.find(word).unwrap_or_else(|| panic!("{word}: {stderr}"));
            assert!(at("it gained") < at("it lost"), "{stderr}");
        }
    }
}

#[test]
fn a_changed_base_refuses_a_locked_agent() {
    let base = "name: base\ndescription: Answers\nsoul: You answer.\ntrust: {network: none}\n";
    let test = Test::new()
        .file("base.agent", base)
        .file("child.agent", "name: child\ndescription: Answers\nbase: ./base.agent\n");
    test.run("lock").exits(0);
    runs(&test, "child.agent");
    test.write("base.agent", base.replace("none", "allowed"));
    is_refused(&test, "child.agent", &["its base gained"]);
    test.write("base.agent", base.replace("You answer.", "You answer at length."));
    is_refused(&test, "child.agent", &["its base's file `base.agent` changed"]);
}

#[test]
fn an_agent_that_the_lock_does_not_know_does_not_run() {
    let test = writer();
    test.run("lock").exits(0);
    let other = WRITER.replace("writer", "other");
    test.write("other/agent.toml", other);
    test.write("other/system-prompt.md", "You write files.\n");
    let expected =
        ["error: `other` is not in `agentry.lock`", "run `agentry lock other` after a look"];
    is_refused(&test, "other", &expected);
    test.run("lock other").exits(0);
    runs(&test, "other");
    runs(&test, "writer");
}

#[test]
fn an_agent_missing_from_the_lock_is_not_resumed() {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let test = writer();
    with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
    test.write("helper.agent", crate::test::HELPER);
    test.run("lock helper.agent").exits(0);
    let ran = with(&test, &server, &["resume", "last", "more"]).exits(3);
    assert!(ran.stderr.contains("is not in"), "{ran}");
    assert_eq!(server.count(), 1);
    test.run("lock writer").exits(0);
    with(&test, &server, &["resume", "last", "more"]).exits(0);
}
