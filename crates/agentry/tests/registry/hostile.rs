//! Registries that fail and registries that lie: nothing is written, and the message says what happened.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::scripted::{RegistryContent, ScriptedAnswer, ScriptedRegistry, ScriptedRequest};
use crate::test::{HELPER, Test};
use crate::{pushed, sha256};

/// Pulls through a lie. The exit code and the message are those of the case, and nothing is left.
fn refused(
    (name, code, expected): (&str, i32, &str),
    lie: impl Fn(&ScriptedRequest, &mut RegistryContent) -> Option<ScriptedAnswer>
    + Send
    + Sync
    + 'static,
) {
    let (_, registry) = pushed();
    registry.lie(lie);
    let test = Test::new();
    let ran = test.run(&format!("pull oci://{}/team/helper:0.1.0 -o out", registry.host()));
    assert_eq!(ran.code, Some(code), "{name}: {ran}");
    assert!(ran.stderr.contains(expected), "{name}: {ran}");
    assert!(!test.has("out"), "{name}");
    assert!(!test.has("home/.agentry/remote/artifacts"), "{name}");
}

#[test]
fn error_statuses_of_the_registry_are_reported() {
    let cases = [
        (401, "wants a login of a kind that is not known"),
        (403, "does not permit to read `127.0.0.1"),
        (404, "the registry has no `oci://"),
        (418, "answers with the status 418"),
        (429, "answers with the status 429, also after 4 attempts"),
        (500, "answers with the status 500, also after 4 attempts"),
        (503, "answers with the status 503, also after 4 attempts"),
    ];
    for (status, expected) in cases {
        refused((&status.to_string(), 2, expected), move |request, _| {
            let answer = ScriptedAnswer::status(status).header("Retry-After", "0");
            request.path.contains("/manifests/").then_some(answer)
        });
    }
}

/// The manifest is there, and a file of the agent is not, or cannot be had.
#[test]
fn a_missing_file_of_an_agent_is_named() {
    let cases = [
        (403, "does not permit to read"),
        (404, "has lost `sha256:"),
        (503, "answers with the status 503, also after 4 attempts"),
    ];
    let layer = sha256(HELPER.as_bytes());
    for (status, expected) in cases {
        let end = format!("/blobs/{layer}");
        refused((&status.to_string(), 2, expected), move |request, _| {
            let answer = ScriptedAnswer::status(status).header("Retry-After", "0");
            request.path.ends_with(&end).then_some(answer)
        });
    }
}

/// A registry that is busy for a moment is asked again.
#[test]
fn a_busy_registry_is_retried() {
    let (_, registry) = pushed();
    let count = std::sync::atomic::AtomicUsize::new(0);
    registry.lie(move |_, _| {
        let is_busy = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 3 < 2;
        is_busy.then(|| ScriptedAnswer::status(429).header("Retry-After", "0"))
    });
    let test = Test::new();
    test.run(&format!("pull oci://{}/team/helper:0.1.0 -o out", registry.host())).exits(0);
    assert_eq!(test.read("out/helper.agent"), HELPER);
}

/// The first connection for each address is closed without an answer, in a pull and in a push; then each connection.
#[test]
fn a_request_that_is_cut_off_is_sent_again() {
    let (test, registry) = pushed();
    let host = registry.host();
    let seen = Mutex::new(BTreeSet::new());
    registry.lie(move |request, _| {
        let address = format!("{} {}", request.method, request.path);
        seen.lock().expect("a lock").insert(address).then(ScriptedAnswer::cut_off)
    });
    test.run(&format!("pull oci://{host}/team/helper:0.1.0 -o out")).exits(0);
    test.run(&format!("push helper.agent oci://{host}/team/other")).exits(0);
    refused(("no answer", 2, "cannot be reached"), |_, _| Some(ScriptedAnswer::cut_off()));
}

#[test]
fn wrong_or_truncated_bytes_are_refused() {
    refused(("truncated", 2, "ended its answer too early"), |request, content| {
        let digest = request.path.split_once("/blobs/")?.1;
        let bytes = content.blobs.get(digest)?;
        let half = bytes.get(..bytes.len() / 2)?.to_vec();
        Some(ScriptedAnswer { announced: Some(bytes.len() as u64), ..ScriptedAnswer::body(half) })
    });
    refused(("other bytes", 2, "sent other bytes than those of `sha256:"), |request, content| {
        let digest = request.path.split_once("/blobs/")?.1;
        let mut bytes = content.blobs.get(digest)?.clone();
        *bytes.last_mut()? ^= 1;
        Some(ScriptedAnswer::body(bytes))
    });
    refused(("more bytes", 2, "sends more than the"), |request, content| {
        let digest = request.path.split_once("/blobs/")?.1;
        let mut bytes = content.blobs.get(digest)?.clone();
        bytes.extend(b"more");
        Some(ScriptedAnswer::body(bytes))
    });
    refused(("an endless manifest", 2, "sends more than the"), |request, _| {
        let endless =
            ScriptedAnswer { announced: Some(10_000_000_000), ..ScriptedAnswer::status(200) };
        request.path.contains("/manifests/").then_some(endless)
    });
    refused(("a redirect in a circle", 2, "redirects more than 5 times"), |request, _| {
        Some(ScriptedAnswer::status(302).header("Location", request.path.clone()))
    });
    refused(("a redirect to nowhere", 2, "redirects to nowhere"), |_, _| {
        Some(ScriptedAnswer::status(302))
    });
    refused(("a redirect to a file", 2, "redirects to an address without TLS"), |_, _| {
        Some(ScriptedAnswer::status(302).header("Location", "file:///etc/passwd"))
    });
}

/// Changes the OCI manifest and the config of the pushed agent together, so that all digests fit.
fn forged(
    change: impl Fn(&mut Value, &mut Value) + Send + Sync + 'static,
) -> impl Fn(&ScriptedRequest, &mut RegistryContent) -> Option<ScriptedAnswer> + Send + Sync + 'static
{
    move |request, content| {
        if !request.path.ends_with("/manifests/0.1.0") {
            return None;
        }
        let bytes = content.manifests.get("team/helper:0.1.0")?;
        let mut manifest: Value = serde_json::from_slice(bytes).ok()?;
        let digest = manifest["config"]["digest"].as_str()?.to_owned();
        let mut config: Value = serde_json::from_slice(content.blobs.get(&digest)?).ok()?;
        change(&mut manifest, &mut config);
        config.as_object_mut()?.remove("checksum");
        config["checksum"] = json!(sha256(config.to_string().as_bytes()));
        let config = format!("{config:#}\n").into_bytes();
        manifest["config"]["digest"] = json!(sha256(&config));
        manifest["config"]["size"] = json!(config.len());
        content.blobs.insert(sha256(&config), config);
        Some(ScriptedAnswer::body(manifest.to_string()))
    }
}

/// A file with this path, in the manifest and in the config.
fn with_path(path: &'static str) -> impl Fn(&mut Value, &mut Value) + Send + Sync + 'static {
    move |manifest, config| {
        let mut layer = manifest["layers"][0].clone();
        layer["annotations"]["org.opencontainers.image.title"] = json!(path);
        let mut file = config["files"][0].clone();
        file["path"] = json!(path);
        manifest["layers"].as_array_mut().expect("layers").push(layer);
        config["files"].as_array_mut().expect("files").push(file);
    }
}

#[test]
fn hostile_paths_in_artifacts_are_refused() {
    for path in [
        "../evil",
        "/etc/evil",
        "a/../../evil",
        ".git/hooks/post-checkout",
        "HELPER.agent",
        "x\u{0}y",
        "con",
    ] {
        refused((path, 1, "is refused: the path"), forged(with_path(path)));
    }
}

#[test]
fn artifacts_that_are_forged() {
    type Change = fn(&mut Value, &mut Value);
    let cases: [(&str, &str, Change); 9] = [
        ("10 GB", "10000000000 bytes; an agent has at most", |manifest, config| {
            manifest["layers"][0]["size"] = json!(10_000_000_000_u64);
            config["files"][0]["size"] = json!(10_000_000_000_u64);
        }),
        ("an image", "it is not an agent but", |manifest, _| {
            manifest["artifactType"] = Value::Null;
            manifest["config"]["mediaType"] = json!("application/vnd.oci.image.config.v1+json");
        }),
        ("a layer with links", "a layer that is not a file", |manifest, _| {
            manifest["layers"][0]["mediaType"] =
                json!("application/vnd.oci.image.layer.v1.tar+gzip");
        }),
        ("another title", "its layers are not the files", |manifest, _| {
            manifest["layers"][0]["annotations"]["org.opencontainers.image.title"] =
                json!("../evil");
        }),
        ("another name", "annotation `org.opencontainers.image.title`", |_, config| {
            config["name"] = json!("other");
        }),
        ("another digest", "not `sha256:00", |manifest, config| {
            let digest = format!("sha256:{}", "0".repeat(64));
            manifest["annotations"]["agentry.digest"] = json!(digest);
            config["digest"] = json!(digest);
        }),
        ("no main file", "main file", |_, config| config["main"] = json!("other.agent")),
        ("an image for several systems", "not an agent but an index", |manifest, _| {
            manifest["manifests"] = json!([]);
        }),
        ("Docker Agent", "Docker Agent", |manifest, _| {
            manifest["artifactType"] = json!("application/vnd.docker.agent.config.v1+json");
        }),
    ];
    for (name, expected, change) in cases {
        refused((name, 1, expected), forged(change));
    }
}

/// Nothing of a layer that is too large is asked for.
#[test]
fn a_large_layer_is_refused_before_it_is_downloaded() {
    let (_, registry) = pushed();
    registry.lie(forged(|manifest, config| {
        manifest["layers"][0]["size"] = json!(10_000_000_000_u64);
        config["files"][0]["size"] = json!(10_000_000_000_u64);
    }));
    let before = registry.requests().len();
    Test::new().run(&format!("pull oci://{}/team/helper:0.1.0 -o out", registry.host())).exits(1);
    let asked = registry.requests();
    let blobs =
        asked.iter().skip(before).filter(|request| request.path.contains("/blobs/")).count();
    assert_eq!(blobs, 0);
}

/// The tag moves after the tags were listed, and again after its manifest was read: what was read counts.
#[test]
fn a_tag_that_moves_during_a_pull_is_pinned() {
    let (test, registry) = pushed();
    let host = registry.host();
    let first = registry.content().manifests["team/helper:0.1.0"].clone();
    test.write("helper.agent", HELPER.replace("questions", "riddles"));
    test.run(&format!("push helper.agent oci://{host}/team/helper:0.1.0 --force")).exits(0);
    let second = registry.content().manifests["team/helper:0.1.0"].clone();
    registry.lie(move |request, content| {
        if request.path.contains("/tags/list") {
            content.manifests.insert("team/helper:0.1.0".to_owned(), first.clone());
        }
        if request.path.contains("/blobs/") {
            content.manifests.insert("team/helper:0.1.0".to_owned(), second.clone());
        }
        None
    });
    let other = Test::new();
    other.run(&format!("pull oci://{host}/team/helper -o out")).exits(0);
    assert_eq!(other.read("out/helper.agent"), HELPER);
}

#[test]
fn plain_http_is_allowed_only_for_loopback() {
    let test = Test::new().file("helper.agent", HELPER);
    // The host does not exist: without TLS nothing is even asked, with it the name is.
    let secure = test.run("list oci://registry.invalid/x").exits(2);
    assert!(secure.stderr.contains("`registry.invalid` cannot be reached"), "{secure}");
    // On Linux this address leads here too, but it is not one of this machine by its name.
    if cfg!(target_os = "linux") {
        let (_, registry) = pushed();
        let list =
            format!("list oci://{}/team/helper", registry.host().replace("127.0.0.1", "0.0.0.0"));
        let refused = test.run(&list).exits(2);
        assert!(refused.stderr.contains("cannot be reached"), "{refused}");
        assert_eq!(test.run(&format!("{list} --plain-http")).exits(0).stdout, "0.1.0\n");
    }
    let url = format!("http://example.invalid/x.agent#sha256:{}", "0".repeat(64));
    let refused = test.run(&format!("show {url}")).exits(2);
    assert!(refused.stderr.contains("has no TLS"), "{refused}");
}

/// A container with nothing but this program has no certificates.
#[cfg(target_os = "linux")]
#[test]
fn without_certificates_the_remedy_is_named() {
    let test = Test::new().file("none.pem", "");
    let mut command = test.command(["list", "oci://registry.invalid/x"]);
    command.env("SSL_CERT_FILE", test.path("none.pem")).env("SSL_CERT_DIR", test.path("none"));
    let refused = test.ended("list", &command.output().expect("the program runs")).exits(2);
    let expected = "no registry can be asked: this machine has no certificates of authorities; install \
        `ca-certificates`, or name a file with `SSL_CERT_FILE`";
    assert!(refused.stderr.contains(expected), "{refused}");
}

#[test]
fn a_push_that_the_registry_refuses() {
    let registry = ScriptedRegistry::start();
    let test = Test::new().file("helper.agent", HELPER);
    registry.lie(|request, _| (request.method != "GET").then(|| ScriptedAnswer::status(403)));
    let refused = test.run(&format!("push helper.agent oci://{}/x", registry.host())).exits(2);
    assert!(refused.stderr.contains("does not permit to write"), "{refused}");
    let statuses = [
        (401, "wants a login of a kind that is not known"),
        (404, "the registry has no `oci://"),
        (413, "answers with the status 413"),
        (429, "answers with the status 429, also after 4 attempts"),
        (507, "answers with the status 507, also after 4 attempts"),
    ];
    for (status, expected) in statuses {
        registry.lie(move |request, _| {
            let answer = ScriptedAnswer::status(status).header("Retry-After", "0");
            (request.method == "PUT").then_some(answer)
        });
        let refused = test.run(&format!("push helper.agent oci://{}/x", registry.host())).exits(2);
        assert!(refused.stderr.contains(expected), "{status}: {refused}");
    }
    registry.lie(|request, _| (request.method == "POST").then(|| ScriptedAnswer::status(202)));
    let refused = test.run(&format!("push helper.agent oci://{}/x", registry.host())).exits(2);
    assert!(refused.stderr.contains("starts an upload without an address"), "{refused}");
    assert_eq!(registry.content().manifests.len(), 0);
}
