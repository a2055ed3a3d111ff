//! Credential helpers: `docker-credential-NAME get` gets the registry on its input and prints the credential.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use super::credentials::RegistryCredential;
use super::error::OciError;

/// The longest time for an answer: a helper may ask the user.
const PATIENCE: Duration = Duration::from_mins(1);
/// The most bytes of an answer.
const MOST_BYTES: u64 = 64 * 1024;
/// What helpers print if they have nothing.
const NOTHING: &str = "credentials not found";

/// The credential that a helper has for a server.
pub(crate) fn get(name: &str, server: &str) -> Result<Option<RegistryCredential>, OciError> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || !name.bytes().all(is_fit) {
        // A name with a slash would start another program.
        let message =
            format!("`{}` cannot be the name of a credential helper", name.escape_debug());
        return Err(OciError::Credentials(message));
    }
    let program = format!("docker-credential-{name}");
    let failed =
        |why: &str| OciError::Credentials(format!("the credential helper `{program}` {why}"));
    let child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| failed(&format!("cannot be started: {error}")))?;
    if let Some(mut input) = child.stdin.take() {
        // A helper that does not read its input has closed it; its answer decides.
        let _ = input.write_all(server.as_bytes());
    }
    let output = child.stdout.take();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.map(|output| output.take(MOST_BYTES).read_to_end(&mut bytes));
        let _ = send.send(read.is_some_and(|read| read.is_ok()).then_some(bytes));
    });
    let answer = receive.recv_timeout(PATIENCE).ok().flatten();
    if answer.is_none() {
        let _ = child.kill();
    }
    let is_done = child.wait().is_ok_and(|status| status.success());
    let text = answer.and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(|| failed("gave no answer"))?;
    if !is_done {
        // The error text may have a secret, so it is not shown.
        return if text.contains(NOTHING) { Ok(None) } else { Err(failed("failed")) };
    }
    parse(&text).map(Some).ok_or_else(|| failed("gave an answer that is not a credential"))
}

fn parse(text: &str) -> Option<RegistryCredential> {
    let value: Value = serde_json::from_str(text).ok()?;
    let field = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
    Some(RegistryCredential::new(field("Username")?, field("Secret")?))
}
