//! The pins of a user: one file per agent and server, below Agentry's home directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentry_compile::text::digest::sha256;
use agentry_mcp::ServerPin;

use crate::private_files;

/// The pins of one agent.
#[derive(Debug, Clone)]
pub struct PinStore {
    directory: PathBuf,
}

impl PinStore {
    /// Returns the pins of an agent in this home directory.
    pub fn of(home: &Path, agent: &str) -> Self {
        Self { directory: home.join("consent").join("servers").join(file_name(agent)) }
    }

    /// Returns the pin of a server, if there is one.
    pub fn find(&self, server: &str) -> io::Result<Option<ServerPin>> {
        let text = match fs::read(self.path(server)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // A damaged pin must not count as none: everything would be accepted.
        let pin: ServerPin = serde_json::from_slice(&text).map_err(io::Error::other)?;
        Ok(Some(pin).filter(|pin| pin.server == server))
    }

    /// Stores a pin.
    pub fn keep(&self, pin: &ServerPin) -> io::Result<()> {
        private_files::directories(&self.directory)?;
        let text = serde_json::to_string_pretty(pin).map_err(io::Error::other)?;
        private_files::replace(&self.path(&pin.server), text)
    }

    fn path(&self, server: &str) -> PathBuf {
        self.directory.join(format!("{}.json", file_name(server)))
    }
}

/// A name that every file system accepts.
pub(super) fn file_name(name: &str) -> String {
    let mut digits = sha256(name);
    digits.truncate(32);
    digits
}

#[cfg(test)]
mod tests {
    use agentry_mcp::ProtocolEra;

    use super::*;

    #[test]
    fn pins_are_stored_by_agent_and_server() {
        let home = tempfile::tempdir().unwrap();
        let store = PinStore::of(home.path(), "a.agent");
        let pin = ServerPin {
            server: "../x".to_owned(),
            place: "run".to_owned(),
            era: ProtocolEra::Stateless,
            instructions: None,
            tools: Vec::new(),
        };
        assert_eq!(store.find("../x").unwrap(), None);
        store.keep(&pin).unwrap();
        assert_eq!(store.find("../x").unwrap(), Some(pin));
        assert_eq!(store.find("y").unwrap(), None);
        assert_eq!(PinStore::of(home.path(), "b.agent").find("../x").unwrap(), None);
        fs::write(store.path("../x"), "{").unwrap();
        assert!(store.find("../x").is_err(), "a damaged pin is no missing one");
    }
}
