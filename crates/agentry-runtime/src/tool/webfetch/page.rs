//! Turns an HTTP response into text.

use std::borrow::Cow;

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use url::Url;

use super::super::{ToolHost, output_cap};
use super::html;

/// The most bytes of a page.
const MOST_BYTES: usize = 5 << 20;
/// The most bytes of an error page that are shown.
const MOST_OF_ERROR: usize = 2_000;
/// The stack of the thread that converts a page, because the converter is recursive.
const STACK: usize = 32 << 20;

/// Returns the text of a page, cut to a limit.
pub(super) async fn text(
    response: Response,
    url: &Url,
    raw: bool,
    host: &dyn ToolHost,
) -> Result<String, String> {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    // An error page is shown whatever its type, because it may have the reason.
    if status.is_success() && !is_text(&kind) {
        return Err(format!("`{url}` is not text but `{}`", output_cap::start(&kind, 100)));
    }
    let (bytes, complete) = body(response).await.map_err(|why| format!("`{url}`: {why}"))?;
    if bytes.iter().take(8_192).any(|byte| *byte == 0) {
        return Err(format!("`{url}` is not text: it holds NUL bytes"));
    }
    let text = decoded(&bytes, &kind).into_owned();
    let text =
        if !raw && is_html(&kind, &text) { markdown(text, url.clone()).await? } else { text };
    if !status.is_success() {
        return Err(format!(
            "`{url}` answered {status}\n\n{}",
            output_cap::start(&text, MOST_OF_ERROR)
        ));
    }
    let more = if complete { "" } else { "\n\n[the rest of the page is left out: it is too long]" };
    Ok(output_cap::kept(&format!("{url}\n\n{text}{more}"), host))
}

/// Returns the body up to the limit, and whether that is all.
async fn body(mut response: Response) -> Result<(Vec<u8>, bool), String> {
    let mut bytes = Vec::new();
    let broken = |error| format!("it broke off: {error}");
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        let room = MOST_BYTES - bytes.len();
        bytes.extend(piece.iter().take(room));
        if piece.len() > room {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

/// Returns whether a content type is text; a missing one may be.
fn is_text(kind: &str) -> bool {
    const TYPES: &[&str] = &["json", "xml", "javascript", "ndjson", "yaml", "toml", "markdown"];
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.is_empty()
        || essence.starts_with("text/")
        || TYPES.iter().any(|name| essence.starts_with("application/") && essence.ends_with(name))
}

fn is_html(kind: &str, text: &str) -> bool {
    let start = output_cap::start(text.trim_start(), 20).to_ascii_lowercase();
    kind.contains("html")
        || (kind.is_empty() && (start.starts_with("<!doctype html") || start.starts_with("<html")))
}

/// Decodes bytes with the charset that the server names.
fn decoded<'a>(bytes: &'a [u8], kind: &str) -> Cow<'a, str> {
    let western = ["iso-8859-1", "windows-1252", "latin1"].iter().any(|name| kind.contains(name));
    if western && str::from_utf8(bytes).is_err() {
        return Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect());
    }
    String::from_utf8_lossy(bytes)
}

/// Converts HTML to Markdown, in a thread with a large stack.
async fn markdown(html: String, url: Url) -> Result<String, String> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let convert = move || {
        let _ = sender.send(html::markdown(&html, &url));
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(convert);
    thread.map_err(|error| format!("the page could not be read: {error}"))?;
    receiver.await.map_err(|_| "the page could not be read".to_owned())
}
