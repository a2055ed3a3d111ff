//! What an editor is shown of a session: text, and calls of tools.

use serde_json::{Map, Value, json};

/// One update of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionUpdate {
    /// A piece of a message of the user, when a session is replayed.
    UserText(String),
    /// A piece of the agent's text.
    AgentText(String),
    /// A piece of the agent's reasoning, or a remark of the program.
    Thought(String),
    /// A new call.
    Call(ToolCallReport),
    /// News of a call that was reported before. Empty fields leave what was there.
    CallChanged(ToolCallReport),
    /// The plan of the agent, all of it: what is to be done, and how far each is.
    Plan(Vec<(String, &'static str)>),
    /// Something that the user should know about the session.
    Notice(String),
}

/// A call of a tool, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolCallReport {
    /// Its id.
    pub id: String,
    /// One line about it.
    pub title: Option<String>,
    /// What the tool does.
    pub kind: Option<ToolCallKind>,
    /// How far it is.
    pub status: Option<ToolCallStatus>,
    /// What it gave or would change; replaces what was there.
    pub content: Vec<ToolContent>,
    /// The files that it is about, as absolute paths.
    pub locations: Vec<String>,
    /// The arguments.
    pub input: Option<Value>,
}

/// What a tool does, for the icon that an editor shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Searches.
    Search,
    /// Runs a command.
    Execute,
    /// Plans.
    Think,
    /// Fetches from the web.
    Fetch,
    /// Anything else.
    Other,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallStatus {
    /// It waits for a permission or its turn.
    Pending,
    /// It runs.
    InProgress,
    /// It ended well.
    Completed,
    /// It failed or was refused.
    Failed,
}

/// Content of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolContent {
    /// Text.
    Text(String),
    /// A change of a file, or of a part of it.
    Diff {
        /// The file, as an absolute path.
        path: String,
        /// The text before; `None` for a new file.
        old: Option<String>,
        /// The text after.
        new: String,
    },
    /// A terminal of the editor, by its id.
    Terminal(String),
}

impl ToolCallKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::Other => "other",
        }
    }
}

impl ToolCallStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

impl ToolContent {
    fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "content", "content": text_block(text)}),
            Self::Terminal(id) => json!({"type": "terminal", "terminalId": id}),
            Self::Diff { path, old, new } => {
                json!({"type": "diff", "path": path, "oldText": old, "newText": new})
            }
        }
    }
}

impl ToolCallReport {
    /// A report about a call, without news.
    pub fn about(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// The fields that are known.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        set("toolCallId", Some(json!(self.id)));
        set("title", self.title.as_ref().map(|title| json!(title)));
        set("kind", self.kind.map(|kind| json!(kind.as_str())));
        set("status", self.status.map(|status| json!(status.as_str())));
        let content: Vec<Value> = self.content.iter().map(ToolContent::to_json).collect();
        set("content", (!content.is_empty()).then(|| Value::Array(content)));
        let locations = self.locations.iter().map(|path| json!({"path": path}));
        let locations: Vec<Value> = locations.collect();
        set("locations", (!locations.is_empty()).then(|| Value::Array(locations)));
        set("rawInput", self.input.clone());
        fields
    }
}

impl SessionUpdate {
    /// The update as the protocol has it. A notice is a thought for an editor that shows no notices.
    pub(crate) fn to_json(&self, shows_notices: bool) -> Value {
        let chunk =
            |kind: &str, text: &str| json!({"sessionUpdate": kind, "content": text_block(text)});
        match self {
            Self::UserText(text) => chunk("user_message_chunk", text),
            Self::AgentText(text) => chunk("agent_message_chunk", text),
            Self::Thought(text) => chunk("agent_thought_chunk", text),
            Self::Notice(text) if shows_notices => {
                json!({"sessionUpdate": "notice", "severity": "warning", "title": text})
            }
            Self::Notice(text) => chunk("agent_thought_chunk", &format!("{text}\n")),
            Self::Call(call) => tagged("tool_call", call.fields()),
            Self::CallChanged(call) => tagged("tool_call_update", call.fields()),
            Self::Plan(entries) => {
                let entry = |(text, status): &(String, &str)| json!({"content": text, "priority": "medium", "status": status});
                let entries: Vec<Value> = entries.iter().map(entry).collect();
                json!({"sessionUpdate": "plan", "entries": entries})
            }
        }
    }
}

fn tagged(kind: &str, mut fields: Map<String, Value>) -> Value {
    fields.insert("sessionUpdate".to_owned(), json!(kind));
    Value::Object(fields)
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_write_only_known_fields() {
        let call = ToolCallReport {
            title: Some("write out.txt".into()),
            kind: Some(ToolCallKind::Edit),
            status: Some(ToolCallStatus::Pending),
            content: vec![ToolContent::Diff {
                path: "/w/out.txt".into(),
                old: None,
                new: "a\n".into(),
            }],
            locations: vec!["/w/out.txt".into()],
            input: Some(json!({"path": "out.txt"})),
            ..ToolCallReport::about("c1")
        };
        let expected = json!({
            "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "write out.txt", "kind": "edit",
            "status": "pending",
            "content": [{"type": "diff", "path": "/w/out.txt", "oldText": null, "newText": "a\n"}],
            "locations": [{"path": "/w/out.txt"}], "rawInput": {"path": "out.txt"},
        });
        assert_eq!(SessionUpdate::Call(call).to_json(false), expected);
        let ended =
            ToolCallReport { status: Some(ToolCallStatus::Failed), ..ToolCallReport::about("c1") };
        let expected =
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed"});
        assert_eq!(SessionUpdate::CallChanged(ended).to_json(false), expected);
        let notice = SessionUpdate::Notice("its servers are not used".into());
        assert_eq!(notice.to_json(true)["sessionUpdate"], "notice");
        assert_eq!(notice.to_json(false)["sessionUpdate"], "agent_thought_chunk");
    }
}
