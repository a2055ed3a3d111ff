//! `serve pair`: tokens for devices and programs.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt as _;

use crate::test::Test;

#[test]
fn pairing_a_program_prints_its_token_once() {
    let test = Test::new();
    let ran = test.run("serve pair --program ci --scope run").exits(0);
    let token = ran.stdout.trim();
    assert_eq!(token.len(), 64, "{ran}");
    let listed = test.run("serve pair list --format json").exits(0);
    assert!(!listed.stdout.contains(token), "{listed}");
    let paired = listed.json();
    assert_eq!(
        (paired[0]["name"].as_str(), paired[0]["scope"].as_str()),
        (Some("ci"), Some("run"))
    );
    let id = paired[0]["id"].as_str().expect("an id").to_owned();
    let directory = test.path("home/.agentry/serve");
    let mode = |path: &str| {
        let found = std::fs::metadata(directory.join(path)).expect("a file");
        found.permissions().mode() & 0o777
    };
    assert_eq!((mode(""), mode(&format!("tokens/{id}"))), (0o700, 0o600));
    test.run(&format!("serve pair revoke {id}")).exits(0);
    assert_eq!(test.run("serve pair list --format json").json(), serde_json::json!([]));
    let ran = test.run(&format!("serve pair revoke {id}")).exits(2);
    assert!(ran.stderr.contains("there is no token"), "{ran}");
}

#[test]
fn pairing_a_device_prints_a_link_and_a_qr_code() {
    let test = Test::new();
    let ran = test.run("serve pair --public-url https://agents.example --scope read").exits(0);
    let link = ran.stdout.lines().last().expect("a link");
    assert!(link.starts_with("https://agents.example/#code="), "{ran}");
    assert!(ran.stdout.contains('█'), "a QR code: {ran}");
    assert!(ran.stderr.contains("the device may then read everything"), "{ran}");
}

#[test]
fn unreachable_or_unencrypted_pairing_links_are_refused() {
    let test = Test::new();
    let cases = [
        ("serve pair", "it is not known where the device reaches the server"),
        ("serve pair --public-url https://127.0.0.1:7654", "which another device cannot reach"),
        ("serve pair --public-url https://localhost", "which another device cannot reach"),
        ("serve pair --public-url http://agents.example", "is not encrypted"),
        ("serve pair --public-url agents.example", "an address like `https://agents.example`"),
        ("serve pair --program x --scope all", "known are read, approve, run, admin"),
    ];
    for (args, message) in cases {
        let ran = test.run(args).exits(2);
        assert!(ran.stderr.contains(message), "{args}: {ran}");
        assert!(ran.stdout.is_empty(), "{args}: {ran}");
    }
}
