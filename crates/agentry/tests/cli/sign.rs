//! `agentry keygen`, `sign` and `verify`: the signatures of an agent in the store.

use std::fs;

use crate::test::{HELPER, Test};

/// A workspace with an agent in the store and a key; returns the public key too.
fn signed() -> (Test, String) {
    let test = Test::new().file("helper.agent", HELPER);
    test.run("push helper.agent").exits(0);
    let key = test.run("keygen").exits(0).stdout.trim().to_owned();
    (test, key)
}

fn configured(test: &Test, config: &str) {
    test.write("home/.config/agentry/config.toml", config);
}

#[test]
fn sign_and_verify_a_stored_agent() {
    let (test, key) = signed();
    let unsigned = test.run("verify helper").exits(1);
    assert!(unsigned.stderr.contains("`helper@0.1.0` is not signed"), "{unsigned}");
    test.run("sign helper").exits(0);
    test.run("verify helper").exits(0);
    test.run(&format!("verify helper@0.1.0 --key {key}")).exits(0);
    test.run("verify helper.agent --key default").exits(0);
    let report = test.run("verify helper --format json").exits(0).json();
    assert_eq!(report["signers"], serde_json::json!([{"key": key, "trusted": false}]));
    let other = test.run("keygen other").exits(0).stdout;
    test.run(&format!("verify helper --key {}", other.trim())).exits(1);
    test.run("sign helper --key other").exits(0);
    test.run(&format!("verify helper --key {}", other.trim())).exits(0);
}

#[test]
fn an_agent_without_a_trusted_signature_is_refused() {
    let (test, key) = signed();
    let other = test.run("keygen other").exits(0).stdout.trim().to_owned();
    let required = |key: &str| format!("[signing]\nrequired = true\ntrusted = [\"{key}\"]\n");
    configured(&test, &required(&key));
    insta::assert_snapshot!(test.run("pull helper -o out"), @r#"
    $ agentry pull helper -o out
    --- stderr
    error: `helper@0.1.0` (`sha256:d77fc6dbfea04b1e27672f5c89d526baa214f5cf90979ac9438b373d25bcedd1`) is refused: it is not signed
      = help: `agentry sign` signs it; the key must be in `trusted` in `[signing]` of your own config.toml
    --- exit 3
    "#);
    test.run("verify helper").exits(1);
    test.run("sign helper --key other").exits(0);
    test.run("pull helper -o out").exits(3);
    test.run("verify helper").exits(1);
    assert!(!test.has("out"));
    test.run("sign helper").exits(0);
    test.run("pull helper -o out").exits(0);
    test.run("verify helper").exits(0);
    configured(&test, "[signing]\nrequired = true\ntrusted = []\n");
    let refused = test.run("pull helper -o none").exits(3);
    let (_, hint) = refused.stderr.split_once("= help: ").expect("a hint");
    for part in [key.as_str(), &other, "to `trusted` in `[signing]`"] {
        assert!(hint.contains(part), "{part}: {refused}");
    }
    configured(&test, &required(&other));
    test.run("pull helper -o second").exits(0);
}

/// A file of the workspace can neither require fewer signatures nor trust more keys.
#[test]
fn a_workspace_cannot_relax_signing() {
    let (test, key) = signed();
    configured(&test, "[signing]\nrequired = true\n");
    test.run("sign helper").exits(0);
    test.write("agentry.toml", format!("[signing]\nrequired = false\ntrusted = [\"{key}\"]\n"));
    test.run("pull helper -o out").exits(3);
}

#[test]
fn an_invalid_signing_configuration_trusts_no_key() {
    let (test, _) = signed();
    for text in ["[signing]\nrequired = \"no\"\n", "[signing\n", "[signing]\ntrusted = [\"x\"]\n"] {
        configured(&test, text);
        test.run("pull helper -o out").exits(2);
        test.run("verify helper").exits(2);
        assert!(!test.has("out"), "{text}");
    }
}

#[test]
fn an_invalid_signature_is_reported() {
    let (test, key) = signed();
    test.run("sign helper").exits(0);
    configured(&test, &format!("[signing]\nrequired = true\ntrusted = [\"{key}\"]\n"));
    let digest = test.run("hash --full helper.agent").stdout;
    let digits = digest.trim().trim_start_matches("sha256:");
    let name = key.trim_start_matches("ed25519:");
    let path = format!("home/.agentry/store/objects/{}/{digits}/signatures/{name}", &digits[..2]);
    let right = test.read(&path);
    let flipped = if right.starts_with('0') { "1" } else { "0" };
    for wrong in [format!("{flipped}{}", &right[1..]), right[..80].to_owned(), String::new()] {
        test.write(&path, wrong);
        let ran = test.run("verify helper").exits(1);
        assert!(ran.stderr.contains("has a wrong signature"), "{ran}");
        test.run("pull helper -o out").exits(3);
    }
    // A signature of another agent does not count for this one.
    test.write("second.agent", HELPER.replace("helper", "second"));
    test.run("push second.agent").exits(0);
    test.run("sign second").exits(0);
    let second = test.run("hash --full second.agent").stdout;
    let digits = second.trim().trim_start_matches("sha256:").to_owned();
    let other = format!("home/.agentry/store/objects/{}/{digits}/signatures/{name}", &digits[..2]);
    test.write(&path, test.read(&other));
    test.run("verify helper").exits(1);
}

#[cfg(unix)]
#[test]
fn private_keys_are_owner_only_and_never_printed() {
    use std::os::unix::fs::PermissionsExt as _;
    let (test, _) = signed();
    let path = test.path("home/.agentry/keys/default.key");
    let mode = fs::metadata(&path).expect("a key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = test.run("keygen").exits(2);
    assert!(again.stderr.contains("there is a key `default` already"), "{again}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a key");
    let ran = test.run("sign helper").exits(2);
    assert!(ran.stderr.contains("others can read it"), "{ran}");
    test.run("keygen ../x").exits(2);
    test.run("sign helper --key none").exits(2);
}
