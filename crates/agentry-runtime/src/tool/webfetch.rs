//! `webfetch`: fetches a web page as text.
//!
//! Every address is judged, including those of redirects.

mod html;
mod page;

use std::time::Duration;

use reqwest::header::LOCATION;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::web_client::{WebClient, parse, touch, unsent};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
    permit,
};
use crate::event::{CallClass, CallJudgement};

/// The time limit of a whole call.
const TIME: Duration = Duration::from_secs(30);
/// The most redirects that are followed.
const MOST_HOPS: usize = 8;

/// Fetches pages.
#[derive(Default)]
pub(super) struct WebfetchTool {
    client: WebClient,
}

#[derive(Deserialize)]
struct WebfetchInput {
    url: String,
    #[serde(default)]
    raw: bool,
}

impl BuiltInTool for WebfetchTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "webfetch".to_owned(),
            description: "Fetches a web address and gives its text; HTML is turned into Markdown. \
                          Nothing is sent but the address."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "url": {"type": "string", "minLength": 1, "maxLength": 8_000},
                    "raw": {"type": "boolean", "description": "HTML as it is"}
                },
                "required": ["url"],
                "additionalProperties": false
            }),
        }
    }

    /// A `GET` without a body is a read by HTTP's rules: pages may be fetched in parallel, and again by a
    /// resumed run. The policy decides about the address, whatever the class is.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, given: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let WebfetchInput { url, .. } = arguments(given)?;
        Ok(vec![touch(&parse(&url)?)])
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move {
            let fetched = tokio::time::timeout(TIME, self.fetch(&arguments, host)).await;
            let late = || Err(format!("it took longer than {} s", TIME.as_secs()));
            fetched.unwrap_or_else(|_| late()).into()
        })
    }
}

impl WebfetchTool {
    async fn fetch(&self, given: &Value, host: &dyn ToolHost) -> Result<String, String> {
        let WebfetchInput { url, raw } = arguments(given)?;
        let mut url = parse(&url)?;
        permit(host, &touch(&url))?;
        for _ in 0..=MOST_HOPS {
            let response = self.get(&url, host).await?;
            if !response.status().is_redirection() {
                return page::text(response, &url, raw, host).await;
            }
            let next = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let next = next.and_then(|to| url.join(to).ok());
            let next = next.ok_or_else(|| format!("`{url}` leads elsewhere, but not where"))?;
            url = parse(next.as_str())?;
            match host.judge(&touch(&url)) {
                (CallJudgement::Allow, _) => {}
                // A redirect that needs approval becomes a new call, so that the user sees its address.
                (CallJudgement::Ask, _) => {
                    return Err(format!("it leads to `{url}`: call this tool with that address"));
                }
                (CallJudgement::Deny, why) => {
                    return Err(format!("refused: it leads to `{url}`: {why}"));
                }
            }
        }
        Err(format!("it was led elsewhere more than {MOST_HOPS} times"))
    }

    /// Requests one address, without following redirects.
    async fn get(&self, url: &Url, host: &dyn ToolHost) -> Result<reqwest::Response, String> {
        let client = self.client.pinned(url, &|touch| host.judge(touch), Some(TIME)).await?;
        let accepted = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5";
        let sent = client.get(url.clone()).header("accept", accepted).send().await;
        sent.map_err(|error| unsent(url, &error))
    }
}

#[cfg(test)]
mod tests;
