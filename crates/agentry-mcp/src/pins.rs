//! Pins: what the user saw of a server and its tools when they agreed. A change is shown before it counts.

use agentry_text::digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalogue::AnnouncedTool;
use crate::protocol_era::ProtocolEra;

/// What the user agreed to, for one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerPin {
    /// The name of the server.
    pub server: String,
    /// Its command or its address.
    pub place: String,
    /// The era of the protocol, so that it need not be tried again.
    pub era: ProtocolEra,
    /// Its instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Its tools.
    pub tools: Vec<PinnedTool>,
}

/// A tool as the user saw it.
pub type PinnedTool = AnnouncedTool;

impl ServerPin {
    /// What was announced, with the digest of each: the instructions, then the tools in order of their names.
    pub fn digests(&self) -> Vec<(String, String)> {
        let instructions = self.instructions.clone().unwrap_or_default();
        let mut found: Vec<(String, String)> = self
            .tools
            .iter()
            .map(|tool| (format!("tool {}", tool.name), digest_of(&serde_jcs::to_vec(tool))))
            .collect();
        found.sort();
        found.insert(0, ("instructions".to_owned(), digest_of(&Ok(instructions.into_bytes()))));
        found
    }
}

/// A digest of a text. What cannot be written as text has none, and equals nothing.
fn digest_of(text: &serde_json::Result<Vec<u8>>) -> String {
    let Ok(text) = text else { return "none".to_owned() };
    digest::of(text)
}

/// A difference from what the user agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinChange {
    /// The tool, or nothing for the server itself.
    pub tool: Option<String>,
    /// What changed: a name of a field, or `new`.
    pub what: &'static str,
    /// Before, as text.
    pub before: String,
    /// Now, as text.
    pub after: String,
}

/// Returns what is new or different since a pin. A tool that is gone is no change: it cannot be called.
pub fn changes(pin: &ServerPin, now: &ServerPin) -> Vec<PinChange> {
    let mut found = Vec::new();
    let mut compare = |tool: Option<&str>, what, before: String, after: String| {
        if before != after {
            found.push(PinChange { tool: tool.map(str::to_owned), what, before, after });
        }
    };
    compare(None, "place", pin.place.clone(), now.place.clone());
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    compare(None, "instructions", text(&pin.instructions), text(&now.instructions));
    for tool in &now.tools {
        let name = Some(tool.name.as_str());
        let Some(known) = pin.tools.iter().find(|known| known.name == tool.name) else {
            compare(name, "new", String::new(), tool.description.clone() + " ");
            continue;
        };
        compare(name, "title", text(&known.title), text(&tool.title));
        compare(name, "description", known.description.clone(), tool.description.clone());
        let value = |value: Option<&Value>| value.map(|it| format!("{it:#}")).unwrap_or_default();
        compare(name, "input", value(Some(&known.input)), value(Some(&tool.input)));
        compare(name, "output", value(known.output.as_ref()), value(tool.output.as_ref()));
        let (before, after) = (known.annotations.as_ref(), tool.annotations.as_ref());
        compare(name, "annotations", value(before), value(after));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pin(tools: &[(&str, &str)]) -> ServerPin {
        let tool = |(name, description): &(&str, &str)| AnnouncedTool {
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            input: json!({"type": "object"}),
            ..AnnouncedTool::default()
        };
        ServerPin {
            server: "s".to_owned(),
            place: "run me".to_owned(),
            era: ProtocolEra::Initialized,
            instructions: None,
            tools: tools.iter().map(tool).collect(),
        }
    }

    #[test]
    fn digests_do_not_depend_on_the_order_of_fields() {
        let mut one = pin(&[("b", "does b"), ("a", "does a")]);
        let mut other = pin(&[("a", "does a"), ("b", "does b")]);
        one.tools[0].input = json!({"type": "object", "x": {"p": 1, "q": 2}});
        other.tools[1].input = json!({"x": {"q": 2, "p": 1}, "type": "object"});
        assert_eq!(one.digests(), other.digests());
        other.tools[1].input = json!({"type": "object"});
        let found = one.digests();
        let names: Vec<&str> = found.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(names, ["instructions", "tool a", "tool b"]);
        assert_eq!(found[..2], other.digests()[..2]);
        assert_ne!(found[2], other.digests()[2]);
        other.instructions = Some("obey".to_owned());
        assert_ne!(found[0], other.digests()[0]);
    }

    #[test]
    fn every_changed_field_of_a_tool_is_found() {
        let before = pin(&[("a", "does a"), ("b", "does b")]);
        let name = |change: &PinChange| format!("{:?} {}", change.tool, change.what);
        let mut cases: Vec<(ServerPin, &[&str])> = vec![
            (before.clone(), &[]),
            (pin(&[("a", "does a")]), &[]),
            (pin(&[("a", "does a"), ("b", "sends b away")]), &["Some(\"b\") description"]),
            (pin(&[("a", "does a"), ("b", "does b"), ("c", "")]), &["Some(\"c\") new"]),
        ];
        let mut add = |change: &dyn Fn(&mut ServerPin), expected| {
            let mut now = before.clone();
            change(&mut now);
            cases.push((now, expected));
        };
        add(&|now| now.place.push('x'), &["None place"]);
        add(&|now| now.instructions = Some("obey".into()), &["None instructions"]);
        add(&|now| now.tools[0].title = Some("A".into()), &["Some(\"a\") title"]);
        add(&|now| now.tools[0].input = json!({}), &["Some(\"a\") input"]);
        add(&|now| now.tools[0].output = Some(json!({})), &["Some(\"a\") output"]);
        add(&|now| now.tools[0].annotations = Some(json!({})), &["Some(\"a\") annotations"]);
        add(&|now| now.era = ProtocolEra::Stateless, &[]);
        for (now, expected) in cases {
            let found: Vec<_> = changes(&before, &now).iter().map(name).collect();
            assert_eq!(found, expected, "{now:?}");
        }
    }
}
