//! Signatures in a registry: whose count, for which repository, and what a workspace may say about it.

use serde_json::{Value, json};

use crate::scripted::ScriptedRegistry;
use crate::sha256;
use crate::test::{HELPER, Test};

/// A registry with a signed agent, the workspace that pushed it, and its key.
fn signed() -> (Test, ScriptedRegistry, String) {
    let registry = ScriptedRegistry::start();
    let test = Test::new().file("helper.agent", HELPER);
    test.run("push helper.agent").exits(0);
    let key = test.run("keygen").exits(0).stdout.trim().to_owned();
    test.run("sign helper").exits(0);
    let pushed =
        test.run(&format!("push helper.agent oci://{}/team/helper", registry.host())).exits(0);
    assert!(pushed.stderr.contains("with 1 signature"), "{pushed}");
    (test, registry, key)
}

/// The user's configuration in a new workspace.
fn user(config: &str) -> Test {
    Test::new().file("home/.config/agentry/config.toml", config)
}

fn repository(host: &str, key: &str) -> String {
    format!("[signing.repositories]\n\"{host}/team\" = [\"{key}\"]\n")
}

#[test]
fn signatures_are_pushed_and_pulled_with_the_agent() {
    let (_, registry, key) = signed();
    let reference = format!("oci://{}/team/helper:0.1.0", registry.host());
    let other = user(&repository(&registry.host(), &key));
    let json = other.run(&format!("verify {reference} --format json")).exits(0).json();
    assert_eq!(json["signers"], json!([{"key": key, "trusted": true}]));
    other.run(&format!("verify {reference} --key {key}")).exits(0);
    other.run(&format!("pull {reference} -o out")).exits(0);
    // The signatures are cached as well.
    registry.stop();
    other.run(&format!("pull {reference} -o again")).exits(0);
}

#[test]
fn only_a_trusted_key_satisfies_the_requirement() {
    let (test, registry, key) = signed();
    let host = registry.host();
    let wrong = test.run("keygen other").exits(0).stdout.trim().to_owned();
    let reference = format!("oci://{host}/team/helper:0.1.0");
    let pull = format!("pull {reference} -o out");
    let trusted = |key: &str| format!("[signing]\nrequired = true\ntrusted = [\"{key}\"]\n");
    let revoked = format!("{}revoked = [\"{key}\"]\n", trusted(&key));
    let cases = [
        (String::new(), "", 0),
        (trusted(&key), "", 0),
        (trusted(&wrong), "", 3),
        (revoked, "", 3),
        (repository(&host, &wrong), "", 3),
        (format!("{}{}", trusted(&key), repository(&host, &wrong)), "", 3),
        (format!("{}{}", trusted(&wrong), repository(&host, &key)), "", 0),
        (repository("elsewhere", &wrong), "", 0),
        (String::new(), " --require-signature", 3),
        (format!("[signing]\ntrusted = [\"{key}\"]\n"), " --require-signature", 0),
    ];
    for (config, option, code) in cases {
        let other = user(&config);
        let ran = other.run(&format!("{pull}{option}"));
        assert_eq!(ran.code, Some(code), "{config}{option}: {ran}");
        assert_eq!(other.has("out"), code == 0, "{config}");
    }
}

/// A key that is revoked later counts no more, for what is in the cache and without a network too.
#[test]
fn a_key_that_is_revoked_later_refuses_the_cached_copy() {
    let (_, registry, key) = signed();
    let reference = format!("oci://{}/team/helper:0.1.0", registry.host());
    let other = user(&repository(&registry.host(), &key));
    let pulled = other.run(&format!("pull {reference} -o out --format json")).exits(0);
    let revoked =
        format!("{}[signing]\nrevoked = [\"{key}\"]\n", repository(&registry.host(), &key));
    other.write("home/.config/agentry/config.toml", revoked);
    let commands = [
        format!("pull {reference} -o again"),
        format!("show {reference}"),
        format!("run {reference} x"),
    ];
    let refused_by_all = || {
        for command in &commands {
            let refused = other.run(command).exits(3);
            assert!(refused.stderr.contains("only a revoked key signed it"), "{pulled}{refused}");
        }
        assert!(!other.has("again"));
    };
    refused_by_all();
    registry.stop();
    refused_by_all();
}

/// No file of an agent that nobody trusted has signed is even downloaded: neither as an agent nor as the base of one.
#[test]
fn an_unsigned_agent_is_refused_before_its_files_are_read() {
    let registry = ScriptedRegistry::start();
    let host = registry.host();
    let test = Test::new().file("helper.agent", HELPER);
    test.run(&format!("push helper.agent oci://{host}/plain/helper")).exits(0);
    let base = format!("oci://{host}/plain/helper:0.1.0");
    test.write("child.agent", format!("name: child\nbase: {base}\ndescription: Answers more\n"));
    test.run(&format!("push child.agent oci://{host}/open/child")).exits(0);
    let layer = sha256(HELPER.as_bytes());
    assert!(registry.content().blobs.contains_key(&layer));
    let other = Test::new().file("wrong.agent", HELPER.replace("helper", "wrong"));
    other.run("push wrong.agent").exits(0);
    let wrong = other.run("keygen").exits(0).stdout.trim().to_owned();
    let config = format!("[signing.repositories]\n\"{host}/plain\" = [\"{wrong}\"]\n");
    let before = registry.requests().len();
    for reference in [base, format!("oci://{host}/open/child:0.1.0")] {
        let strict = user(&config);
        let refused = strict.run(&format!("pull {reference} -o out"));
        assert!(format!("{refused}").contains("it is not signed"), "{refused}");
        assert!(matches!(refused.code, Some(1 | 3)) && !strict.has("out"), "{refused}");
    }
    let asked = registry.requests();
    let is_layer = |path: &str| path.ends_with(&layer);
    assert!(!asked.iter().skip(before).any(|request| is_layer(&request.path)), "{asked:?}");
}

/// Wherever a command takes an agent, and for the bases of a file.
#[test]
fn every_command_can_require_a_signature() {
    let (_, registry, key) = signed();
    let reference = format!("oci://{}/team/helper:0.1.0", registry.host());
    let base = format!("name: child\nbase: {reference}\ndescription: Answers more\n");
    let of_agent = [
        "show",
        "hash --full",
        "check",
        "resolve",
        "render --dry-run --target claude-code",
        "install",
        "run",
        "tools",
    ];
    let commands = of_agent.map(|command| format!("{command} {reference}"));
    let of_base = ["check", "show", "render --dry-run --target claude-code", "run", "push"];
    let commands =
        commands.into_iter().chain(of_base.map(|command| format!("{command} child.agent")));
    let without_trust = Test::new().file("child.agent", &base);
    let trusting = user(&format!("[signing]\ntrusted = [\"{key}\"]\n")).file("child.agent", &base);
    for command in commands {
        let signed_only = format!("{command} --require-signature");
        let refused = without_trust.run(&signed_only);
        assert!(format!("{refused}").contains("is refused: "), "{refused}");
        let accepted = format!("{}", trusting.run(&signed_only));
        assert!(!accepted.contains("is refused"), "{accepted}");
    }
}

/// A workspace can require more, and never less.
#[test]
fn a_workspace_only_tightens_signature_rules() {
    let (test, registry, key) = signed();
    let host = registry.host();
    let wrong = test.run("keygen other").exits(0).stdout.trim().to_owned();
    let pull = format!("pull oci://{host}/team/helper:0.1.0 -o out");
    let cases = [
        (String::new(), repository(&host, &wrong), 3),
        (String::new(), repository(&host, &key), 0),
        (repository(&host, &wrong), repository(&host, &key), 3),
        (repository(&host, &key), repository(&host, &wrong), 3),
        (repository(&host, &wrong), "[signing]\nrequired = false\n".to_owned(), 3),
        (repository(&host, &key), format!("[signing]\nrevoked = [\"{key}\"]\n"), 3),
        (String::new(), "[signing]\nrequired = true\n".to_owned(), 3),
        // It cannot say whom the user trusts.
        (String::new(), format!("[signing]\nrequired = true\ntrusted = [\"{key}\"]\n"), 3),
    ];
    for (config, workspace, code) in cases {
        let other = user(&config).file("agentry.toml", &workspace);
        let ran = other.run(&pull);
        let is_expected =
            ran.code == Some(code) || (workspace.contains("trusted") && ran.code != Some(0));
        assert!(is_expected, "{config}\n{workspace}: {ran}");
        assert_eq!(other.has("out"), code == 0, "{workspace}");
    }
}

/// A signature over another agent, moved to this one.
#[test]
fn a_signature_of_another_agent_is_refused() {
    let (test, registry, key) = signed();
    let host = registry.host();
    test.write("other.agent", HELPER.replace("helper", "other"));
    test.run(&format!("push other.agent oci://{host}/team/other")).exits(0);
    let content = registry.content();
    let (from, to) = (
        sha256(&content.manifests["team/helper:0.1.0"]),
        sha256(&content.manifests["team/other:0.1.0"]),
    );
    // The referrer of the one becomes a referrer of the other, all digests made to fit.
    registry.change(|content| {
        let index = content.manifests[&format!("team/helper:{}", from.replace(':', "-"))].clone();
        let mut index: Value = serde_json::from_slice(&index).expect("an index");
        for entry in index["manifests"].as_array_mut().expect("entries") {
            let name = entry["digest"].as_str().expect("a digest").to_owned();
            let bytes = content.manifests[&format!("team/helper:{name}")].clone();
            let moved = String::from_utf8(bytes).expect("text").replace(&from, &to);
            entry["digest"] = json!(sha256(moved.as_bytes()));
            content
                .manifests
                .insert(format!("team/other:{}", sha256(moved.as_bytes())), moved.into_bytes());
        }
        content
            .manifests
            .insert(format!("team/other:{}", to.replace(':', "-")), index.to_string().into_bytes());
    });
    let other = user(&repository(&host, &key));
    let refused = other.run(&format!("pull oci://{host}/team/other:0.1.0 -o out")).exits(3);
    assert!(refused.stderr.contains("it is not signed"), "{refused}");
    let verified = other.run(&format!("verify oci://{host}/team/other:0.1.0")).exits(1);
    assert!(verified.stderr.contains("is not over this agent"), "{verified}");
}

/// Two people sign the same agent at once: no signature is lost.
#[test]
fn parallel_signatures_are_all_kept() {
    let registry = ScriptedRegistry::start();
    let tests = ["one", "two", "three"].map(|_| {
        let test = Test::new().file("helper.agent", HELPER);
        test.run("push helper.agent").exits(0);
        test.run("keygen").exits(0);
        test.run("sign helper").exits(0);
        test
    });
    let place = format!("oci://{}/team/helper:1", registry.host());
    std::thread::scope(|scope| {
        let push = |test| {
            let test: &Test = test;
            test.run(&format!("push helper.agent {place}")).exits(0)
        };
        let threads: Vec<_> = tests.iter().map(|test| scope.spawn(move || push(test))).collect();
        threads.into_iter().for_each(|thread| drop(thread.join().expect("a push")));
    });
    let json = Test::new().run(&format!("verify {place} --format json")).exits(0).json();
    assert_eq!(json["signers"].as_array().map(Vec::len), Some(3), "{json}");
}
