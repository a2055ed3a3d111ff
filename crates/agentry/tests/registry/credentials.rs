//! Credentials: whose they are, where they go, and where they never go.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pushed;
use crate::scripted::{ScriptedAnswer, ScriptedRegistry};
use crate::test::Test;

/// `alice:wonderland`
const BASIC: &str = "Basic YWxpY2U6d29uZGVybGFuZA==";

/// Answers every request without this header by a challenge.
fn locked(registry: &ScriptedRegistry, header: &'static str, challenge: String) {
    registry.lie(move |request, _| {
        let is_open =
            request.path.starts_with("/token") || request.authorization.as_deref() == Some(header);
        (!is_open)
            .then(|| ScriptedAnswer::status(401).header("WWW-Authenticate", challenge.clone()))
    });
}

fn docker_config(test: &Test, host: &str) {
    let auth = BASIC.trim_start_matches("Basic ");
    test.write(
        "home/.docker/config.json",
        format!(r#"{{"auths": {{"{host}": {{"auth": "{auth}"}}}}}}"#),
    );
}

#[test]
fn docker_credentials_are_used() {
    let (test, registry) = pushed();
    locked(&registry, BASIC, "Basic realm=\"r\"".to_owned());
    let pull = format!("pull oci://{}/team/helper:0.1.0 -o out", registry.host());
    let refused = test.run(&pull).exits(2);
    assert!(refused.stderr.contains("wants a user and a password"), "{refused}");
    assert!(refused.stderr.contains("docker login"), "{refused}");
    docker_config(&test, "other.example.org");
    test.run(&pull).exits(2);
    docker_config(&test, &registry.host());
    test.run(&pull).exits(0);
}

#[test]
fn rejected_credentials_are_an_error() {
    let (test, registry) = pushed();
    docker_config(&test, &registry.host());
    locked(&registry, "Basic other", "Basic realm=\"r\"".to_owned());
    let refused =
        test.run(&format!("pull oci://{}/team/helper:0.1.0 -o out", registry.host())).exits(2);
    assert!(
        refused.stderr.contains("refuses your credentials; they may have expired"),
        "{refused}"
    );
    assert!(!refused.stderr.contains("wonderland") && !test.has("out"), "{refused}");
}

#[test]
fn the_password_goes_only_to_the_token_server() {
    let (test, registry) = pushed();
    docker_config(&test, &registry.host());
    let realm = format!("http://{}/token", registry.host());
    let challenge =
        format!("Bearer realm=\"{realm}\",service=\"r\",scope=\"repository:team/helper:pull\"");
    registry.lie(move |request, _| match request.authorization.as_deref() {
        Some(BASIC)
            if request.path == "/token?service=r&scope=repository%3Ateam%2Fhelper%3Apull" =>
        {
            Some(ScriptedAnswer::body(r#"{"token": "T"}"#))
        }
        Some("Bearer T") => None,
        _ => Some(ScriptedAnswer::status(401).header("WWW-Authenticate", challenge.clone())),
    });
    test.run(&format!("pull oci://{}/team/helper:0.1.0 -o out", registry.host())).exits(0);
}

/// Every token expires after one answer, and the token server is busy at first: both are asked again.
#[test]
fn an_expired_token_is_replaced_by_a_new_one() {
    let (test, registry) = pushed();
    let challenge = format!("Bearer realm=\"http://{}/token\",service=\"r\"", registry.host());
    let (asked, valid) = (AtomicUsize::new(0), AtomicUsize::new(0));
    registry.lie(move |request, _| {
        if request.path.starts_with("/token") {
            if asked.fetch_add(1, Ordering::SeqCst) % 3 < 2 {
                return Some(ScriptedAnswer::status(503).header("Retry-After", "0"));
            }
            let token = valid.fetch_add(1, Ordering::SeqCst) + 1;
            return Some(ScriptedAnswer::body(format!(r#"{{"access_token": "T{token}"}}"#)));
        }
        let token = format!("Bearer T{}", valid.load(Ordering::SeqCst));
        if request.authorization.as_ref() == Some(&token) {
            valid.fetch_add(1, Ordering::SeqCst);
            return None;
        }
        Some(ScriptedAnswer::status(401).header("WWW-Authenticate", challenge.clone()))
    });
    test.run(&format!("pull oci://{}/team/helper:0.1.0 -o out", registry.host())).exits(0);
    assert!(test.has("out/helper.agent"));
}

/// A token server without an answer is as good as no registry: the copy of the last pull stands in.
#[test]
fn a_busy_token_server_leaves_the_cached_copy() {
    let (test, registry) = pushed();
    let pull = format!("pull oci://{}/team/helper:0.1.0 --force -o out", registry.host());
    test.run(&pull).exits(0);
    let challenge = format!("Bearer realm=\"http://{}/token\"", registry.host());
    registry.lie(move |request, _| {
        Some(if request.path.starts_with("/token") {
            ScriptedAnswer::status(503).header("Retry-After", "0")
        } else {
            ScriptedAnswer::status(401).header("WWW-Authenticate", challenge.clone())
        })
    });
    let ran = test.run(&pull).exits(0);
    assert!(ran.stderr.contains("is the copy that was pulled last"), "{ran}");
}

/// A helper is asked for exactly the registry.
#[test]
fn a_docker_credential_helper_is_used() {
    let (test, registry) = pushed();
    locked(&registry, BASIC, "Basic realm=\"r\"".to_owned());
    let host = registry.host();
    test.write("home/.docker/config.json", format!(r#"{{"credHelpers": {{"{host}": "test"}}}}"#));
    let script = format!(
        "#!/bin/sh\nread server\n[ \"$1 $server\" = 'get {host}' ] || exit 1\necho '{{\"Username\": \"alice\", \"Secret\": \"wonderland\"}}'\n"
    );
    test.write("bin/docker-credential-test", script);
    let program = test.path("bin/docker-credential-test");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let pull = |path: &str| {
        let args = ["pull", &format!("oci://{host}/team/helper:0.1.0"), "-o", "out"];
        let path = format!("{}:/usr/bin:/bin", test.path(path).display());
        test.ended(
            "pull",
            &test.command(args).env("PATH", path).output().expect("the program runs"),
        )
    };
    let missing = pull("nothing").exits(2);
    assert!(missing.stderr.contains("`docker-credential-test` cannot be started"), "{missing}");
    pull("bin").exits(0);
}

/// A blob may lie on another host. It gets no credentials, and its bytes are verified all the same.
#[test]
fn credentials_are_not_sent_to_a_redirect_target() {
    let (test, registry) = pushed();
    docker_config(&test, &registry.host());
    let elsewhere = ScriptedRegistry::start();
    elsewhere.change(|content| *content = registry.content());
    let target = elsewhere.host();
    registry.lie(move |request, _| {
        if request.authorization.as_deref() != Some(BASIC) {
            return Some(
                ScriptedAnswer::status(401).header("WWW-Authenticate", "Basic realm=\"r\""),
            );
        }
        let moved = || {
            ScriptedAnswer::status(307)
                .header("Location", format!("http://{target}{}", request.path))
        };
        request.path.contains("/blobs/").then(moved)
    });
    test.run(&format!("pull oci://{}/team/helper:0.1.0 -o out", registry.host())).exits(0);
    let asked = elsewhere.requests();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|request| request.authorization.is_none()), "{asked:?}");
}

/// An upload may go to another host as well.
#[test]
fn credentials_are_not_sent_to_another_upload_host() {
    let registry = ScriptedRegistry::start();
    let elsewhere = ScriptedRegistry::start();
    let test = Test::new().file("helper.agent", crate::test::HELPER);
    docker_config(&test, &registry.host());
    let target = elsewhere.host();
    registry.lie(move |request, _| {
        if request.authorization.as_deref() != Some(BASIC) {
            return Some(
                ScriptedAnswer::status(401).header("WWW-Authenticate", "Basic realm=\"r\""),
            );
        }
        let location = format!("http://{target}/v2/x/blobs/uploads/1");
        (request.method == "POST").then(|| ScriptedAnswer::status(202).header("Location", location))
    });
    test.run(&format!("push helper.agent oci://{}/x", registry.host())).exits(0);
    let asked = elsewhere.requests();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|request| request.authorization.is_none()), "{asked:?}");
}
