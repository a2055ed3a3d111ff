//! Push, list, pull and verify, and references wherever an agent stands.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::pushed;
use crate::scripted::{ScriptedAnswer, ScriptedRegistry};
use crate::test::{HELPER, Test};

#[test]
fn a_pushed_agent_pulls_with_the_same_digest() {
    let (test, registry) = pushed();
    let host = registry.host();
    let full = test.run("hash --full helper.agent").exits(0).stdout;
    let again = test.run(&format!("push helper.agent oci://{host}/team/helper")).exits(0);
    assert!(again.stderr.contains("was in the registry already"), "{again}");
    let tags = test.run(&format!("list oci://{host}/team/helper")).exits(0);
    assert_eq!(tags.stdout, "0.1.0\n");
    let other = Test::new();
    for (at, reference) in ["", ":0.1.0"].iter().enumerate() {
        let pull = format!("pull oci://{host}/team/helper{reference} -o out{at}");
        other.run(&pull).exits(0);
        assert_eq!(other.run(&format!("hash --full out{at}")).exits(0).stdout, full, "{reference}");
        assert_eq!(other.read(format!("out{at}/helper.agent")), HELPER);
    }
    // The same agent has the same manifest, whoever pushes it and when.
    let before = registry.content().manifests;
    other.run(&format!("push out0/helper.agent oci://{host}/team/helper:other")).exits(0);
    let after = registry.content().manifests;
    assert_eq!(after["team/helper:other"], before["team/helper:0.1.0"]);
}

#[test]
fn pulled_files_keep_their_paths() {
    let registry = ScriptedRegistry::start();
    let test = Test::new();
    test.write("keeper/agent.yaml", "name: keeper\nversion: 1.0.0\ndescription: Keeps things\n");
    test.write("keeper/SOUL.md", "You keep things.\n");
    test.write(
        "keeper/skills/review.md",
        "---\nname: review\ndescription: Reviews\n---\n\nLook at it.\n",
    );
    let reference = format!("oci://{}/keeper:stable", registry.host());
    test.run(&format!("push keeper {reference}")).exits(0);
    let other = Test::new();
    let json = other.run(&format!("pull {reference} -o keeper --format json")).exits(0).json();
    assert_eq!(json["name"], "keeper");
    assert_eq!(other.read("keeper/skills/review.md"), test.read("keeper/skills/review.md"));
    assert_eq!(other.run("hash --full keeper").stdout, test.run("hash --full keeper").stdout);
}

/// An agent that names files of its workspace finds them in its copy too, whatever lies around the copy.
#[test]
fn files_of_the_workspace_are_pushed_too() {
    let registry = ScriptedRegistry::start();
    let test = Test::new();
    test.write(
        "agents/writer/agent.toml",
        "name = \"writer\"\ndescription = \"Writes\"\nrules = [\"style\"]\n",
    );
    test.write("agents/writer/system-prompt.md", "You write.\n");
    test.write("rules/style.md", "Be brief.\n");
    let place = format!("oci://{}/writer:1", registry.host());
    test.run(&format!("push agents/writer {place}")).exits(0);
    let full = test.run("hash --full agents/writer").exits(0).stdout;
    let other = Test::new().file("rules/style.md", "Be verbose.\n");
    assert_eq!(other.run(&format!("hash --full {place}")).exits(0).stdout, full);
    let prompt = other.run(&format!("show --prompt {place}")).exits(0).stdout;
    assert!(prompt.contains("Be brief.") && !prompt.contains("Be verbose."), "{prompt}");
}

#[test]
fn a_tag_is_replaced_only_by_force() {
    let (test, registry) = pushed();
    let push = format!("push helper.agent oci://{}/team/helper:0.1.0", registry.host());
    test.write("helper.agent", HELPER.replace("questions", "riddles"));
    let before = registry.content().manifests["team/helper:0.1.0"].clone();
    let refused = test.run(&push).exits(1);
    assert!(refused.stderr.contains("has other content already"), "{refused}");
    assert_eq!(registry.content().manifests["team/helper:0.1.0"], before);
    test.run(&format!("{push} --force")).exits(0);
    assert_ne!(registry.content().manifests["team/helper:0.1.0"], before);
}

#[test]
fn pulled_agents_are_cached_for_offline_use() {
    let (test, registry) = pushed();
    let host = registry.host();
    let tag = format!("oci://{host}/team/helper:0.1.0");
    let full = test.run("hash --full helper.agent").stdout;
    let other = Test::new();
    assert_eq!(other.run(&format!("hash --full {tag}")).exits(0).stdout, full);
    other.run(&format!("show {tag}")).exits(0);
    let artifact = test.run(&format!("push helper.agent {tag} --format json")).json();
    let pinned =
        format!("oci://{host}/team/helper@{}", artifact["artifact"].as_str().expect("a digest"));
    registry.stop();
    let asked = registry.requests().len();
    let offline = other.run(&format!("pull {tag} -o out")).exits(0);
    assert!(offline.stderr.contains("is the copy that was pulled last"), "{offline}");
    let quiet = other.run(&format!("hash --full {pinned}")).exits(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), (full.as_str(), ""));
    assert_eq!(registry.requests().len(), asked);
    let never = other.run(&format!("pull oci://{host}/team/helper:2.0.0 -o none")).exits(2);
    assert!(never.stderr.contains("cannot be reached: connection refused"), "{never}");
    // A copy that was changed is not used.
    let copy = walk(&other.path("home/.agentry/remote/artifacts"), "helper.agent");
    std::fs::write(copy, "name: evil\n").expect("a writable copy");
    other.run(&format!("hash --full {pinned}")).exits(2);
}

/// The only file with this name below a directory.
fn walk(dir: &std::path::Path, name: &str) -> std::path::PathBuf {
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.ends_with(name) {
                return path;
            }
        }
    }
    panic!("no `{name}`")
}

/// A workspace with an agent of the registry in it: the agent is used as it is, and nothing of it is written.
#[test]
fn every_command_accepts_an_oci_reference() {
    let (test, registry) = pushed();
    let place = format!("oci://{}/team/helper:0.1.0", registry.host());
    let other = Test::new();
    for command in ["check", "show", "hash", "policy show", "audit"] {
        other.run(&format!("{command} {place}")).exits(0);
    }
    let audit = other.run(&format!("audit {place}")).exits(0);
    assert!(audit.stdout.contains("1 agent"), "{audit}");
    other.run(&format!("render {place} --target opencode")).exits(0);
    assert!(other.has(".opencode/agents/helper.md"));
    other.run(&format!("convert {place} --to agent-toml -o copy")).exits(0);
    other.run(&format!("install {place}")).exits(0);
    let listed = other.run("agents").exits(0);
    assert!(listed.stdout.contains("helper"), "{listed}");
    drop(test);
}

#[test]
fn a_private_agent_is_not_pushed_without_consent() {
    let registry = ScriptedRegistry::start();
    let test = Test::new();
    let definition = r#"{"id": "keeper", "name": "keeper", "version": "1.0.0", "description": "Keeps", "access_control": {"visibility": "private"}}"#;
    test.write("keeper/agent.json", definition);
    test.write("keeper/persona.md", "# Keeper\n\n## L0\n\nYou keep things.\n");
    let push = format!("push keeper oci://{}/keeper", registry.host());
    let refused = test.run(&push).exits(1);
    assert!(refused.stderr.contains("`visibility: private`"), "{refused}");
    assert!(refused.stderr.contains("--private-ok"), "{refused}");
    assert_eq!(registry.requests().len(), 0, "nothing was sent");
    test.run(&format!("{push} --private-ok")).exits(0);
    test.run("push keeper").exits(0);
}

#[test]
fn invalid_oci_references_are_usage_errors() {
    let test = Test::new().file("helper.agent", HELPER);
    for reference in
        ["oci://", "oci://host", "oci://host/UP", "oci://host/a@sha256:1", "https://host/x"]
    {
        let refused = test.run(&format!("push helper.agent {reference}")).exits(2);
        assert!(refused.stderr.contains("is not an OCI reference"), "{refused}");
    }
    let digest = format!("push helper.agent oci://127.0.0.1:1/x@sha256:{}", "0".repeat(64));
    assert!(test.run(&digest).exits(2).stderr.contains("a push goes to a tag"));
}

/// A pull of one large file shows how far it is. The registry sends the rest only when the terminal has shown it.
#[test]
fn a_slow_pull_shows_its_progress_on_a_terminal() {
    let test = Test::new();
    test.write("big/agent.yaml", "name: big\nversion: 1.0.0\ndescription: Is big\n");
    test.write("big/SOUL.md", "You are big. ".repeat(40_000));
    let registry = ScriptedRegistry::start();
    let place = format!("oci://{}/big:1", registry.host());
    test.run(&format!("push big {place}")).exits(0);
    let is_shown = Arc::new(AtomicBool::new(false));
    let awaited = Arc::clone(&is_shown);
    registry.lie(move |request, content| {
        let body = content.blobs.get(request.path.split_once("/blobs/")?.1)?;
        let is_large = body.len() > 100_000;
        let slow_until = is_large.then(|| Arc::clone(&awaited));
        Some(ScriptedAnswer { slow_until, ..ScriptedAnswer::body(body.clone()) })
    });
    let other = Test::new();
    let plain = other.command(["pull", &place, "-o", "out"]);
    let command = format!("'{}' pull {place} -o out", plain.get_program().display());
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &command, "/dev/null"]).current_dir(other.path(""));
    terminal.env_clear().env("HOME", other.path("home")).env("PATH", "/usr/bin:/bin");
    let mut child =
        terminal.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("`script` runs");
    let mut output = child.stdout.take().expect("its output");
    let (mut shown, mut bytes) = (String::new(), [0; 4096]);
    while let Ok(count @ 1..) = output.read(&mut bytes) {
        shown += &String::from_utf8_lossy(&bytes[..count]);
        let has_progress = shown.contains("pulling KiB ") && shown.contains("/507");
        is_shown.fetch_or(has_progress, Ordering::SeqCst);
    }
    // Whatever went wrong, the registry does not wait for ever.
    is_shown.store(true, Ordering::SeqCst);
    assert!(child.wait().expect("it ends").success(), "{shown}");
    assert!(shown.contains("pulling KiB 0/507") || shown.contains("/507"), "{shown:?}");
    assert!(shown.contains("\r\u{1b}[2K") && other.has("out/SOUL.md"), "{shown:?}");
    // Without a terminal there is none of it.
    let quiet = Test::new().run(&format!("pull {place} -o out")).exits(0);
    assert!(!quiet.stderr.contains("pulling"), "{quiet}");
}

/// Tags come in pages, and the next page is asked of the same registry.
#[test]
fn paged_tag_lists_are_joined() {
    let (test, registry) = pushed();
    registry.lie(|request, _| {
        let page = |tags: &str| ScriptedAnswer::body(format!("{{\"tags\": [{tags}]}}"));
        let path = request.path.strip_prefix("/v2/team/helper/tags/list")?;
        Some(match path {
            "?last=b" => page("\"0.9.0\", \"1.0.0-rc.1\""),
            _ => page("\"0.10.0\", \"latest\"")
                .header("Link", "</v2/team/helper/tags/list?last=b>; rel=\"next\""),
        })
    });
    let tags = test.run(&format!("list oci://{}/team/helper", registry.host())).exits(0);
    assert_eq!(tags.stdout, "latest\n0.9.0\n0.10.0\n1.0.0-rc.1\n");
    let elsewhere = ScriptedRegistry::start();
    let link = format!("<http://{}/v2/x/tags/list>; rel=\"next\"", elsewhere.host());
    registry.lie(move |_, _| {
        Some(ScriptedAnswer::body("{\"tags\": [\"1.0.0\"]}").header("Link", link.clone()))
    });
    let refused = test.run(&format!("list oci://{}/team/helper", registry.host())).exits(2);
    assert!(refused.stderr.contains("has a bad address of a next page"), "{refused}");
    assert_eq!(elsewhere.requests().len(), 0);
}
