//! The few functions that the prelude gets: pure ones, and those that send messages to the pool.
#![expect(clippy::needless_pass_by_value, reason = "the engine passes values")]

use std::time::Instant;

use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Result, Value};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use url::{Url, form_urlencoded, quirks};

use super::{prelude, streams};
use crate::job::LogLevel;
use crate::protocol::{WorkerMessage, WorkerRequest};

/// The most characters of a log line.
const MOST_OF_LINE: usize = 4_000;

/// Creates the host object.
pub(super) fn object<'js>(ctx: &Ctx<'js>, began: Instant) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    let parse = |text: String, base: Option<String>| url_parts(&text, base);
    host.set("urlParse", Function::new(ctx.clone(), parse)?)?;
    let set = |href: String, name: String, value: String| url_set(&href, &name, &value);
    host.set("urlSet", Function::new(ctx.clone(), set)?)?;
    host.set("queryParse", Function::new(ctx.clone(), |text: String| query_pairs(&text))?)?;
    host.set("queryFormat", Function::new(ctx.clone(), query_text)?)?;
    host.set("encode", Function::new(ctx.clone(), encode)?)?;
    host.set("decode", Function::new(ctx.clone(), decode)?)?;
    host.set("wholeCharacters", Function::new(ctx.clone(), whole_characters)?)?;
    host.set("random", Function::new(ctx.clone(), random)?)?;
    host.set("digest", Function::new(ctx.clone(), digest)?)?;
    host.set("now", Function::new(ctx.clone(), move || began.elapsed().as_secs_f64() * 1e3)?)?;
    let log = |level: String, text: String| log(&level, &text);
    host.set("log", Function::new(ctx.clone(), log)?)?;
    let request =
        |ctx: Ctx<'js>, id: f64, text: String, bytes: String| request(&ctx, id, &text, &bytes);
    host.set("request", Function::new(ctx.clone(), request)?)?;
    Ok(host)
}

/// Creates the function that loads a group of the prelude.
pub(super) fn loader<'js>(ctx: &Ctx<'js>) -> Result<Function<'js>> {
    Function::new(ctx.clone(), |ctx: Ctx<'js>, name: String| -> Result<Value<'js>> {
        let code = prelude::group(&name);
        let code = code.ok_or_else(|| Exception::throw_type(&ctx, "there is no such group"))?;
        super::engine::evaluate(&ctx, prelude::FILE, code.to_owned())
    })
}

fn log(level: &str, text: &str) {
    let level = match level {
        "debug" => LogLevel::Debug,
        "warn" => LogLevel::Warn,
        "error" => LogLevel::Error,
        _ => LogLevel::Info,
    };
    let text = text.chars().take(MOST_OF_LINE).collect();
    // A pool that is gone kills this process.
    let _ = streams::send(&WorkerMessage::Log { level, text }, &[]);
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
fn request(ctx: &Ctx<'_>, id: f64, text: &str, bytes: &str) -> Result<()> {
    let failed = |why: String| Exception::throw_type(ctx, &why);
    let request: WorkerRequest =
        serde_json::from_str(text).map_err(|error| failed(format!("not a request: {error}")))?;
    let message = WorkerMessage::Request { id: id as u64, request };
    streams::send(&message, &bytes_of(bytes)).map_err(|error| failed(error.to_string()))
}

/// Returns the parts of an address, in the order that the prelude knows.
fn url_parts(text: &str, base: Option<String>) -> Option<Vec<String>> {
    let base = base.map(|base| Url::parse(&base)).transpose().ok()?;
    let url = Url::options().base_url(base.as_ref()).parse(text).ok()?;
    Some(parts(&url))
}

fn parts(url: &Url) -> Vec<String> {
    let parts = [
        quirks::href(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
    ];
    parts.into_iter().map(str::to_owned).chain([quirks::origin(url)]).collect()
}

/// Returns the parts after a change. A change that is not possible leaves the address as it was, as
/// browsers do; only a wrong `href` is an error.
fn url_set(href: &str, name: &str, value: &str) -> Option<Vec<String>> {
    let mut url = Url::parse(href).ok()?;
    match name {
        "href" => url = Url::parse(value).ok()?,
        "protocol" => drop(quirks::set_protocol(&mut url, value)),
        "username" => drop(quirks::set_username(&mut url, value)),
        "password" => drop(quirks::set_password(&mut url, value)),
        "host" => drop(quirks::set_host(&mut url, value)),
        "hostname" => drop(quirks::set_hostname(&mut url, value)),
        "port" => drop(quirks::set_port(&mut url, value)),
        "pathname" => quirks::set_pathname(&mut url, value),
        "search" => quirks::set_search(&mut url, value),
        _ => quirks::set_hash(&mut url, value),
    }
    Some(parts(&url))
}

fn query_pairs(text: &str) -> Vec<Vec<String>> {
    let pairs = form_urlencoded::parse(text.as_bytes());
    pairs.map(|(name, value)| vec![name.into_owned(), value.into_owned()]).collect()
}

fn query_text(pairs: Vec<Vec<String>>) -> String {
    let mut out = form_urlencoded::Serializer::new(String::new());
    for pair in pairs {
        if let [name, value] = pair.as_slice() {
            out.append_pair(name, value);
        }
    }
    out.finish()
}

/// Returns bytes that the prelude wrote as characters, one each.
fn bytes_of(binary: &str) -> Vec<u8> {
    binary.chars().map(|character| u8::try_from(character).unwrap_or_default()).collect()
}

fn encode(ctx: Ctx<'_>, text: String) -> Result<ArrayBuffer<'_>> {
    ArrayBuffer::new_copy(ctx, text.as_bytes())
}

/// Returns the text, or `None` for bytes that are not UTF-8 if that is fatal.
fn decode(bytes: String, fatal: bool) -> Option<String> {
    let bytes = bytes_of(&bytes);
    match str::from_utf8(&bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(_) if fatal => None,
        Err(_) => Some(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Returns the number of bytes before a character that is cut off at the end.
fn whole_characters(bytes: String) -> usize {
    let bytes = bytes_of(&bytes);
    match str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // An error before the end hides a cut character; at most three bytes can belong to one.
        Err(_) => {
            let tail = bytes.len().saturating_sub(3);
            let starts = |at: &usize| bytes.get(*at..).is_some_and(is_cut_character);
            (tail..bytes.len()).find(starts).unwrap_or(bytes.len())
        }
        Ok(_) => bytes.len(),
    }
}

fn is_cut_character(bytes: &[u8]) -> bool {
    str::from_utf8(bytes)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

fn random(ctx: Ctx<'_>, length: usize) -> Result<ArrayBuffer<'_>> {
    // The prelude asks for no more; a larger number would be a defect of it.
    let mut bytes = vec![0; length.min(65_536)];
    if getrandom::fill(&mut bytes).is_err() {
        return Err(Exception::throw_type(&ctx, "there are no random numbers"));
    }
    ArrayBuffer::new_copy(ctx, bytes)
}

fn digest(ctx: Ctx<'_>, name: String, bytes: String) -> Result<Option<ArrayBuffer<'_>>> {
    let bytes = bytes_of(&bytes);
    let digest = match name.as_str() {
        "SHA-256" => Sha256::digest(&bytes).to_vec(),
        "SHA-384" => Sha384::digest(&bytes).to_vec(),
        "SHA-512" => Sha512::digest(&bytes).to_vec(),
        _ => return Ok(None),
    };
    ArrayBuffer::new_copy(ctx, digest).map(Some)
}
