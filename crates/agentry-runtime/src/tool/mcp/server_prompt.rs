//! The prompts of MCP servers, which the user starts by name in a conversation.

use std::sync::Arc;

use agentry_mcp::{
    AnnouncedPrompt, CallListener, ClientFuture, ElicitationAnswer, ElicitationRequest,
};
use serde_json::{Map, Value};

use super::super::ToolTouch;
use super::{ReadyServer, part_touch};

/// A prompt of a server.
pub struct ServerPrompt {
    server: Arc<ReadyServer>,
    prompt: AnnouncedPrompt,
}

impl ServerPrompt {
    /// Creates the prompts of a server. One whose name cannot be typed is left out.
    pub fn of(server: &Arc<ReadyServer>, prompts: Vec<AnnouncedPrompt>) -> Vec<Self> {
        let can_be_typed = |prompt: &AnnouncedPrompt| {
            let is_plain = |c: char| c.is_ascii_graphic();
            !prompt.name.is_empty() && prompt.name.len() <= 100 && prompt.name.chars().all(is_plain)
        };
        let prompts = prompts.into_iter().filter(can_be_typed);
        prompts.map(|prompt| Self { server: Arc::clone(server), prompt }).collect()
    }

    /// The word that starts it: `/server:prompt`.
    pub fn command(&self) -> String {
        format!("/{}:{}", self.server.client.name(), self.prompt.name)
    }

    /// What it does, and the arguments that it takes; those in brackets can be left out.
    pub fn help(&self) -> String {
        let argument = |(name, is_required): &(String, bool)| match is_required {
            true => format!("{name}=…"),
            false => format!("[{name}=…]"),
        };
        let mut words: Vec<String> = self.prompt.arguments.iter().map(argument).collect();
        words.extend(self.prompt.description.lines().next().map(str::to_owned));
        words.join(" ")
    }

    /// What the policy is asked.
    pub fn touch(&self) -> ToolTouch {
        part_touch(self.server.client.name(), "prompt", &self.prompt.name)
    }

    /// Reads arguments as they are typed: `name=value name=value`; words without a name belong to the value
    /// before them, or to the first argument.
    pub fn arguments(&self, typed: &str) -> Result<Map<String, Value>, String> {
        let known = &self.prompt.arguments;
        let mut given: Vec<(&str, String)> = Vec::new();
        for word in typed.split_whitespace() {
            let named = word.split_once('=').and_then(|(name, value)| {
                Some((known.iter().find(|(it, _)| it == name)?.0.as_str(), value))
            });
            if let Some((name, value)) = named {
                if given.iter().any(|(it, _)| *it == name) {
                    return Err(format!("`{name}` is there twice"));
                }
                given.push((name, value.to_owned()));
            } else if let Some((_, value)) = given.last_mut() {
                value.push(' ');
                value.push_str(word);
            } else {
                let (first, _) = known.first().ok_or("it takes no arguments")?;
                given.push((first, word.to_owned()));
            }
        }
        let is_given = |name: &str| given.iter().any(|(it, _)| *it == name);
        if let Some((name, _)) = known.iter().find(|(name, needed)| *needed && !is_given(name)) {
            return Err(format!("it needs `{name}=…`"));
        }
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value)));
        Ok(given.collect())
    }

    /// Returns the message for the model. It says where the text is from.
    pub async fn message(&self, arguments: Map<String, Value>) -> Result<String, String> {
        let found = self.server.client.prompt(&self.prompt.name, arguments, &SilentListener).await;
        let text = found.map_err(|failure| self.server.failed(&failure).message)?;
        let (server, name) = (self.server.client.name(), &self.prompt.name);
        Ok(format!("I use the prompt `{name}` of the MCP server `{server}`. Its text:\n\n{text}"))
    }
}

/// Ignores progress: a prompt is only text.
struct SilentListener;

impl CallListener for SilentListener {
    fn progress(&self, _: &str) {}

    fn ask(&self, _: ElicitationRequest) -> ClientFuture<'_, ElicitationAnswer> {
        Box::pin(std::future::ready(ElicitationAnswer::Cancel))
    }
}
