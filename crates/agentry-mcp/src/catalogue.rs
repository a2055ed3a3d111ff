//! The tools that a server announces: read page by page and one by one, so that a bad one spoils no other.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::clean_text::{clean, clean_start, clean_value};
use crate::connection::{DatedRequest, McpConnection};
use crate::failure::McpFailure;
use crate::limits;
use crate::param_headers;

/// The tools of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolCatalogue {
    /// The tools, in the order of the server.
    pub tools: Vec<AnnouncedTool>,
    /// What could not be used.
    pub left_out: Vec<LeftOutTool>,
    /// How many hidden characters were removed from texts.
    pub removed: usize,
}

/// A tool that a server announces, cleaned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnnouncedTool {
    /// Its name.
    pub name: String,
    /// Its title, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input: Value,
    /// The JSON Schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What the server says about its effects. Never trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
}

/// A tool that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutTool {
    /// Its name, as far as it has one.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl ToolCatalogue {
    /// Asks a server for its tools.
    pub(crate) async fn fetch(connection: &McpConnection) -> Result<Self, McpFailure> {
        let mut catalogue = Self::default();
        if !connection.welcome.has_tools {
            return Ok(catalogue);
        }
        let listed = list(connection, "tools/list", "tools", limits::TOOLS).await?;
        for tool in listed {
            catalogue.add(tool);
        }
        Ok(catalogue)
    }

    fn add(&mut self, tool: Value) {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let name = clean_start(name, limits::NAME_CHARACTERS).text;
        match AnnouncedTool::read(tool) {
            Ok((tool, removed)) => {
                self.removed += removed;
                if self.tools.iter().any(|other| other.name == tool.name) {
                    let reason = "another tool has the same name".to_owned();
                    self.left_out.push(LeftOutTool { name, reason });
                } else {
                    self.tools.push(tool);
                }
            }
            Err(reason) => self.left_out.push(LeftOutTool { name, reason }),
        }
    }
}

impl AnnouncedTool {
    /// Reads one tool; returns how many characters were removed from its texts.
    fn read(mut tool: Value) -> Result<(Self, usize), String> {
        if tool.to_string().len() > limits::TOOL_BYTES {
            return Err(format!("it has more than {} bytes", limits::TOOL_BYTES));
        }
        let fields = tool.as_object_mut().ok_or("it is no object")?;
        let name = match fields.remove("name") {
            Some(Value::String(name)) => checked_name(name)?,
            _ => return Err("it has no name".to_owned()),
        };
        let mut removed = 0;
        let mut text = |key: &str| match fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => {
                let cleaned = clean_start(text, limits::DESCRIPTION_BYTES);
                removed += cleaned.removed;
                Ok(Some(cleaned.text))
            }
            Some(_) => Err(format!("its `{key}` is no text")),
        };
        let (title, description) = (text("title")?, text("description")?);
        let mut object = |key: &str| match fields.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(mut value @ Value::Object(_)) => {
                removed += clean_value(&mut value).map_err(|why| format!("`{key}`: {why}"))?;
                Ok(Some(value))
            }
            Some(_) => Err(format!("its `{key}` is no object")),
        };
        let input = object("inputSchema")?.ok_or("it has no `inputSchema`")?;
        param_headers::check(&input)?;
        let (output, annotations) = (object("outputSchema")?, object("annotations")?);
        let description = description.unwrap_or_default();
        Ok((Self { name, title, description, input, output, annotations }, removed))
    }
}

/// Checks a name. A name with hidden characters is refused, not cleaned: the server is called by it.
fn checked_name(name: String) -> Result<String, String> {
    if name.is_empty() || name.chars().count() > limits::NAME_CHARACTERS {
        return Err(format!("a name has 1 to {} characters", limits::NAME_CHARACTERS));
    }
    if clean(&name).removed > 0 || name.contains(['\n', '\t']) {
        return Err("its name has hidden characters".to_owned());
    }
    Ok(name)
}

/// Reads all pages of a list.
pub(crate) async fn list(
    connection: &McpConnection,
    method: &str,
    key: &str,
    most: usize,
) -> Result<Vec<Value>, McpFailure> {
    let (mut all, mut cursors, mut bytes) = (Vec::new(), Vec::<String>::new(), 0);
    for _ in 0..limits::PAGES {
        let mut params = Map::new();
        if let Some(cursor) = cursors.last() {
            params.insert("cursor".to_owned(), json!(cursor));
        }
        let mut page = connection.request(DatedRequest::new(method, params, limits::LIST)).await?;
        let Some(Value::Array(items)) = page.get_mut(key).map(Value::take) else {
            return Err(McpFailure::Protocol(format!("`{method}` has no list of `{key}`")));
        };
        bytes += items.iter().map(|item| item.to_string().len()).sum::<usize>();
        all.extend(items);
        if all.len() > most {
            return Err(McpFailure::Protocol(format!("it announces more than {most} {key}")));
        }
        if bytes > limits::CATALOGUE_BYTES {
            let most = limits::CATALOGUE_BYTES;
            return Err(McpFailure::Protocol(format!("its {key} have more than {most} bytes")));
        }
        match page.get("nextCursor").and_then(Value::as_str).filter(|next| !next.is_empty()) {
            None => return Ok(all),
            Some(next) if cursors.iter().any(|seen| seen == next) => {
                return Err(McpFailure::Protocol(format!("a page of its {key} comes twice")));
            }
            Some(next) => cursors.push(next.to_owned()),
        }
    }
    Err(McpFailure::Protocol(format!("its {key} have more than {} pages", limits::PAGES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_tool_is_left_out_alone() {
        let schema = json!({"type": "object"});
        let long = "n".repeat(129);
        let cases = [
            (json!({"name": "ok", "inputSchema": schema}), Ok("ok")),
            (json!({"name": "a/b é", "inputSchema": schema}), Ok("a/b é")),
            (json!({"name": "", "inputSchema": schema}), Err("a name has 1 to 128 characters")),
            (json!({"name": long, "inputSchema": schema}), Err("a name has 1 to 128 characters")),
            (
                json!({"name": "a\u{202E}", "inputSchema": schema}),
                Err("its name has hidden characters"),
            ),
            (json!({"name": "a\n", "inputSchema": schema}), Err("its name has hidden characters")),
            (json!({"name": 1, "inputSchema": schema}), Err("it has no name")),
            (json!({"name": "a"}), Err("it has no `inputSchema`")),
            (json!({"name": "a", "inputSchema": []}), Err("its `inputSchema` is no object")),
            (
                json!({"name": "a", "inputSchema": schema, "description": 1}),
                Err("its `description` is no text"),
            ),
            (
                json!({"name": "a", "inputSchema": {"x\u{200B}": 1}}),
                Err("`inputSchema`: the key `x` has hidden characters"),
            ),
            (
                json!({"name": "a", "inputSchema": schema, "description": "x".repeat(70_000)}),
                Err("it has more than 65536 bytes"),
            ),
            (json!("a"), Err("it is no object")),
        ];
        for (tool, expected) in cases {
            let found = AnnouncedTool::read(tool.clone()).map(|(tool, _)| tool.name);
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(found, expected, "{tool}");
        }
    }

    #[test]
    fn tool_texts_are_sanitised_and_shortened() {
        let mut catalogue = ToolCatalogue::default();
        catalogue.add(json!({
            "name": "a", "title": "\u{1b}[31mA", "description": "x".repeat(9_000) + "\u{E0041}",
            "inputSchema": {"properties": {"p": {"description": "hi\u{202E}"}}},
        }));
        catalogue.add(json!({"name": "a", "inputSchema": {}}));
        let tool = &catalogue.tools[0];
        assert_eq!(tool.title.as_deref(), Some("A"));
        assert!(tool.description.len() < 8_200);
        assert_eq!(tool.input["properties"]["p"]["description"], "hi");
        assert_eq!(catalogue.removed, 7);
        assert_eq!(catalogue.left_out[0].reason, "another tool has the same name");
    }
}
