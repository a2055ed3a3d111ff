//! The two eras of the protocol, and what each request carries.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The newest version of each era.
const STATELESS: &str = "2026-07-28";
const INITIALIZED: &str = "2025-11-25";
/// The versions that `initialize` may agree on.
const INITIALIZED_VERSIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", INITIALIZED];

/// How client and server begin, and what each request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolEra {
    /// A session that begins with `initialize`: versions up to 2025-11-25.
    Initialized,
    /// Each request carries version and capabilities: 2026-07-28.
    Stateless,
}

impl ProtocolEra {
    /// The version that is offered.
    pub fn version(self) -> &'static str {
        match self {
            Self::Initialized => INITIALIZED,
            Self::Stateless => STATELESS,
        }
    }

    /// Adds what a request of this era carries to its parameters.
    pub(crate) fn complete(self, params: &mut Map<String, Value>, can_ask: bool) {
        if self == Self::Initialized {
            return;
        }
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            let mut set = |key: &str, value: Value| {
                meta.insert(format!("io.modelcontextprotocol/{key}"), value);
            };
            set("protocolVersion", json!(STATELESS));
            set("clientInfo", client_info());
            set("clientCapabilities", capabilities(can_ask));
        }
    }
}

impl fmt::Display for ProtocolEra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())
    }
}

/// Returns whether a version that `initialize` answered with is spoken.
pub(crate) fn is_spoken(version: &str) -> bool {
    INITIALIZED_VERSIONS.contains(&version)
}

/// The name and version of this client.
pub(crate) fn client_info() -> Value {
    json!({"name": "agentry", "version": env!("CARGO_PKG_VERSION")})
}

/// What this client offers to servers: questions to the user if there is one, and nothing else.
pub(crate) fn capabilities(can_ask: bool) -> Value {
    if can_ask { json!({"elicitation": {"form": {}}}) } else { json!({}) }
}
