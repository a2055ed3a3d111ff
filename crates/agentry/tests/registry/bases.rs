//! Agents of registries and of the web as bases.

use crate::pushed;
use crate::scripted::{ScriptedAnswer, ScriptedRegistry};
use crate::test::{HELPER, Test};

fn child(name: &str, base: &str) -> String {
    format!("name: {name}\nbase: {base}\ndescription: Answers more\n")
}

#[test]
fn a_base_is_fetched_from_a_registry() {
    let (_, registry) = pushed();
    let host = registry.host();
    let test =
        Test::new().file("child.agent", child("child", &format!("oci://{host}/team/helper:0.1.0")));
    test.run("check child.agent").exits(0);
    let shown = test.run("show child.agent").exits(0);
    assert!(shown.stdout.contains("You answer questions."), "{shown}");
    // The agent can be pushed to the store and to a registry, and read again from there.
    test.run("push child.agent").exits(0);
    test.run("show child@0.1.0").exits(0);
    test.run(&format!("push child.agent oci://{host}/team/child")).exits(0);
    let other = Test::new();
    other.run(&format!("pull oci://{host}/team/child:0.1.0 -o out")).exits(0);
    assert_eq!(other.run("hash --full out").stdout, test.run("hash --full child.agent").stdout);
    // Without the registry the copy is used, and the user is told.
    let away =
        Test::new().file("child.agent", child("child", &format!("oci://{host}/team/helper:0.1.0")));
    away.run("check child.agent").exits(0);
    registry
        .lie(|_, _| Some(crate::scripted::ScriptedAnswer::status(503).header("Retry-After", "0")));
    let noted = away.run("check child.agent").exits(0);
    assert!(noted.stderr.contains("is the copy that was pulled last"), "{noted}");
    registry.lie(|_, _| None);
    // A base that only the own store has cannot be shared.
    test.write("local.agent", child("local", "child@0.1.0"));
    let refused = test.run(&format!("push local.agent oci://{host}/team/local")).exits(1);
    assert!(
        refused.stderr.contains("has the base `child@0.1.0`, which lies in your own store only"),
        "{refused}"
    );
}

/// The lock pins what the tag was.
#[test]
fn a_moved_tag_differs_from_the_lock() {
    let (pusher, registry) = pushed();
    let host = registry.host();
    let test =
        Test::new().file("child.agent", child("child", &format!("oci://{host}/team/helper:0.1.0")));
    // The home of the test lies in its workspace, and the copies in it are agents too.
    test.write("agentry.toml", "[check]\nexclude = [\"home\"]\n");
    test.run("lock").exits(0);
    test.run("lock --check").exits(0);
    assert!(test.read("agentry.lock").contains(&format!("oci://{host}/team/helper:0.1.0")));
    pusher.write("helper.agent", HELPER.replace("questions", "riddles"));
    pusher.run(&format!("push helper.agent oci://{host}/team/helper:0.1.0 --force")).exits(0);
    test.run("lock --check").exits(1);
}

#[test]
fn an_unsigned_registry_base_is_refused() {
    let (_, registry) = pushed();
    let host = registry.host();
    let test =
        Test::new().file("child.agent", child("child", &format!("oci://{host}/team/helper:0.1.0")));
    test.write("home/.config/agentry/config.toml", "[signing]\nrequired = true\n");
    let refused = test.run("check child.agent").exits(1);
    assert!(
        refused.stdout.contains("is refused: it is not signed")
            || refused.stderr.contains("is refused: it is not signed"),
        "{refused}"
    );
}

/// Three registries, each with an agent whose base is the next one's.
#[test]
fn a_base_cycle_over_three_registries_is_refused() {
    let registries =
        [ScriptedRegistry::start(), ScriptedRegistry::start(), ScriptedRegistry::start()];
    let test = Test::new().file("seed.agent", HELPER);
    let place = |at: usize| format!("oci://{}/a:1", registries[at % 3].host());
    // The last one is pushed without a base first, so that the others can be built.
    test.run(&format!("push seed.agent {}", place(0))).exits(0);
    for at in [2, 1] {
        test.write("next.agent", child(&format!("n{at}"), &place(at + 1)));
        test.run(&format!("push next.agent {}", place(at))).exits(0);
    }
    test.write("next.agent", child("n0", &place(1)));
    test.run(&format!("push next.agent {} --force", place(0))).exits(0);
    let other = Test::new();
    let refused = other.run(&format!("pull {} -o out", place(0))).exits(1);
    assert!(refused.stderr.contains("lead back"), "{refused}");
    assert!(!other.has("out"));
    other.write("child.agent", child("child", &place(1)));
    let refused = other.run("check child.agent").exits(1);
    assert!(format!("{refused}").contains("lead back"), "{refused}");
}

#[test]
fn a_url_base_needs_a_matching_digest() {
    let registry = ScriptedRegistry::start();
    registry.lie(|request, _| match request.path.as_str() {
        "/agents/helper.agent" => Some(ScriptedAnswer::body(HELPER)),
        "/moved/helper.agent" => {
            Some(ScriptedAnswer::status(302).header("Location", "/agents/helper.agent"))
        }
        _ => None,
    });
    let test = Test::new().file("helper.agent", HELPER);
    let full = test.run("hash --full helper.agent").exits(0).stdout.trim().to_owned();
    let url = format!("http://{}/agents/helper.agent#{full}", registry.host());
    test.write("child.agent", child("child", &url));
    test.run("check child.agent").exits(0);
    assert_eq!(test.run(&format!("hash --full {url}")).exits(0).stdout.trim(), full);
    test.run(&format!("show {}", url.replace("/agents/", "/moved/"))).exits(0);
    let other = url.replace(&full, &format!("sha256:{}", "0".repeat(64)));
    let refused = test.run(&format!("show {other}")).exits(1);
    assert!(refused.stderr.contains(&format!("it is the agent `{full}`")), "{refused}");
    let unpinned =
        test.run(&format!("show http://{}/agents/helper.agent", registry.host())).exits(2);
    assert!(unpinned.stderr.contains("a URL needs the digest"), "{unpinned}");
    registry.stop();
    test.run(&format!("show {url}")).exits(0);
}
