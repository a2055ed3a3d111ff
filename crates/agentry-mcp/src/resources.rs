//! The resources and prompts of a server: lists with limits, and single ones by name.

use serde_json::{Map, Value, json};

use crate::catalogue::list;
use crate::clean_text::clean_start;
use crate::client::McpClient;
use crate::connection::{CallListener, DatedRequest};
use crate::failure::McpFailure;
use crate::limits;

/// The resources of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceCatalogue {
    /// The resources, in the order of the server.
    pub resources: Vec<AnnouncedResource>,
}

/// A resource that a server announces, cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedResource {
    /// Its address, as the server has it.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
}

/// A prompt that a server announces, cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedPrompt {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The names of its arguments, and whether each is required.
    pub arguments: Vec<(String, bool)>,
}

impl McpClient {
    /// Returns the resources of the server; none if it has no such list.
    pub async fn resources(&self) -> Result<ResourceCatalogue, McpFailure> {
        let live = self.live().await?;
        if !live.connection.welcome.has_resources {
            return Ok(ResourceCatalogue::default());
        }
        let listed = list(&live.connection, "resources/list", "resources", limits::LISTED).await?;
        let resources = listed.iter().filter_map(|resource| {
            let uri = resource.get("uri")?.as_str()?.to_owned();
            let (name, description) = (text(resource, "name"), text(resource, "description"));
            Some(AnnouncedResource { uri, name, description })
        });
        Ok(ResourceCatalogue { resources: resources.collect() })
    }

    /// Reads a resource; returns what the server answers.
    pub async fn read_resource(
        &self,
        uri: &str,
        listener: &dyn CallListener,
    ) -> Result<Value, McpFailure> {
        let live = self.live().await?;
        let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
        let asked = DatedRequest::new("resources/read", params, limits::CALL);
        live.connection.request_with(asked, listener).await
    }

    /// Returns the prompts of the server; none if it has no such list.
    pub async fn prompts(&self) -> Result<Vec<AnnouncedPrompt>, McpFailure> {
        let live = self.live().await?;
        if !live.connection.welcome.has_prompts {
            return Ok(Vec::new());
        }
        let listed = list(&live.connection, "prompts/list", "prompts", limits::LISTED).await?;
        let prompts = listed.iter().filter_map(|prompt| {
            let arguments = prompt.get("arguments").and_then(Value::as_array);
            let argument = |argument: &Value| {
                let is_required = argument.get("required").and_then(Value::as_bool);
                Some((argument.get("name")?.as_str()?.to_owned(), is_required.unwrap_or_default()))
            };
            let arguments = arguments.into_iter().flatten().take(limits::FIELDS);
            Some(AnnouncedPrompt {
                name: prompt.get("name")?.as_str()?.to_owned(),
                description: text(prompt, "description"),
                arguments: arguments.filter_map(argument).collect(),
            })
        });
        Ok(prompts.collect())
    }

    /// Returns the text of a prompt: the messages of the server, joined and cleaned.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        listener: &dyn CallListener,
    ) -> Result<String, McpFailure> {
        let live = self.live().await?;
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(name));
        params.insert("arguments".to_owned(), Value::Object(arguments));
        let asked = DatedRequest::new("prompts/get", params, limits::CALL);
        let found = live.connection.request_with(asked, listener).await?;
        let messages = found.get("messages").and_then(Value::as_array);
        let texts = messages.into_iter().flatten().filter_map(|message| {
            let text = message.get("content")?.get("text")?.as_str()?;
            Some(clean_start(text, limits::CATALOGUE_BYTES).text)
        });
        let texts: Vec<String> = texts.collect();
        if texts.is_empty() {
            return Err(McpFailure::Protocol("the prompt has no text".to_owned()));
        }
        Ok(texts.join("\n\n"))
    }
}

fn text(value: &Value, key: &str) -> String {
    let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
    clean_start(text, limits::DESCRIPTION_BYTES).text
}
