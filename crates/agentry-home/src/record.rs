//! The record of installed agents: one row per agent, in the database of the home. An agent is installed if it has a row;
//! a directory without one is left over from an interrupted command.

use std::path::{Path, PathBuf};

use agentry_compile::model::Format;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::database;
use crate::layout::{HomeLayout, is_identifier};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS agents (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, format TEXT NOT NULL, main TEXT NOT NULL,
        digest TEXT NOT NULL, memory INTEGER NOT NULL, source TEXT NOT NULL
    ) WITHOUT ROWID;
";

const COLUMNS: &str = "id, name, format, main, digest, memory, source";

/// An agent that lives in the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledAgent {
    /// What it is called in the home; a valid identifier.
    pub id: String,
    /// The name that its definition declares.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// The root of its repository, absolute.
    pub path: PathBuf,
    /// Its main file, relative to `path`.
    pub main: String,
    /// The full digest of its definition when it was last changed. Memories are not part of it.
    pub digest: String,
    /// Whether it has a memory: by its format, or because it was installed with `--memory`.
    pub memory: bool,
    /// Where it was installed from: a path, or `store:` and its name there.
    pub source: String,
}

impl InstalledAgent {
    /// Its main file, absolute.
    #[must_use]
    pub fn main_path(&self) -> PathBuf {
        self.path.join(&self.main)
    }

    /// The directory of its definition: that of the main file.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.main_path().parent().map_or_else(|| self.path.clone(), Path::to_owned)
    }
}

/// Why the record cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the record of installed agents `{path}` cannot be used: {error}")]
pub struct RecordError {
    /// The database.
    pub path: PathBuf,
    /// What the database reports.
    pub error: rusqlite::Error,
}

/// The record of installed agents.
#[derive(Debug)]
pub struct AgentRecord {
    layout: HomeLayout,
    database: Connection,
}

impl AgentRecord {
    /// Opens the record of a home and creates the home's directory if there is none.
    pub fn open(layout: &HomeLayout) -> Result<Self, RecordError> {
        let path = layout.database();
        // A failure shows when the database is opened.
        let _ = std::fs::create_dir_all(layout.root());
        let database =
            database::open(&path, TABLES).map_err(|error| RecordError { path, error })?;
        Ok(Self { layout: layout.clone(), database })
    }

    /// Opens the record to read it, if the home has one. Creates nothing, and needs no home that can be written.
    pub fn open_if_any(layout: &HomeLayout) -> Result<Option<Self>, RecordError> {
        let path = layout.database();
        if !path.is_file() {
            return Ok(None);
        }
        match Self::open(layout) {
            Err(refused) if database::is_sealed(&refused.error) => {
                let opened = database::open_to_read(&path).and_then(|database| {
                    // Another command may have made the file for its own tables.
                    let named = "SELECT count(*) FROM sqlite_schema WHERE name = 'agents'";
                    let count: i64 = database.query_row(named, [], |row| row.get(0))?;
                    Ok((count > 0).then_some(database))
                });
                let database = opened.map_err(|error| RecordError { path, error })?;
                Ok(database.map(|database| Self { layout: layout.clone(), database }))
            }
            opened => opened.map(Some),
        }
    }

    /// The home that the record belongs to.
    #[must_use]
    pub fn layout(&self) -> &HomeLayout {
        &self.layout
    }

    /// The agent with this id.
    pub fn find(&self, id: &str) -> Result<Option<InstalledAgent>, RecordError> {
        if !is_identifier(id) {
            return Ok(None);
        }
        let query = format!("SELECT {COLUMNS} FROM agents WHERE id = ?1");
        let found = self.database.query_row(&query, [id], |row| self.agent(row)).optional();
        found.map_err(|error| self.failed(error))
    }

    /// All agents, by id.
    pub fn all(&self) -> Result<Vec<InstalledAgent>, RecordError> {
        let query = format!("SELECT {COLUMNS} FROM agents ORDER BY id");
        let read = || -> rusqlite::Result<Vec<InstalledAgent>> {
            self.database.prepare(&query)?.query_map([], |row| self.agent(row))?.collect()
        };
        read().map_err(|error| self.failed(error))
    }

    /// Adds an agent, or replaces the row with its id.
    pub fn put(&self, agent: &InstalledAgent) -> Result<(), RecordError> {
        let InstalledAgent { id, name, format, path: _, main, digest, memory, source } = agent;
        let query = format!(
            "INSERT OR REPLACE INTO agents ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        );
        let values = params![id, name, format.as_str(), main, digest, memory, source];
        self.database.execute(&query, values).map(drop).map_err(|error| self.failed(error))
    }

    /// Removes the row of an agent.
    pub fn remove(&self, id: &str) -> Result<(), RecordError> {
        let removed = self.database.execute("DELETE FROM agents WHERE id = ?1", [id]);
        removed.map(drop).map_err(|error| self.failed(error))
    }

    fn agent(&self, row: &Row<'_>) -> rusqlite::Result<InstalledAgent> {
        let id: String = row.get(0)?;
        let format: String = row.get(2)?;
        let unknown = |column: usize, why: String| {
            rusqlite::Error::FromSqlConversionFailure(
                column,
                rusqlite::types::Type::Text,
                why.into(),
            )
        };
        // A row that was edited by hand must not lead out of the home.
        if !is_identifier(&id) {
            return Err(unknown(0, format!("`{id}` is not an identifier")));
        }
        Ok(InstalledAgent {
            path: self.layout.agent(&id),
            id,
            name: row.get(1)?,
            format: format
                .parse()
                .map_err(|()| unknown(2, format!("`{format}` is not a format")))?,
            main: row.get(3)?,
            digest: row.get(4)?,
            memory: row.get(5)?,
            source: row.get(6)?,
        })
    }

    fn failed(&self, error: rusqlite::Error) -> RecordError {
        RecordError { path: self.layout.database(), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(layout: &HomeLayout, id: &str) -> InstalledAgent {
        InstalledAgent {
            id: id.to_owned(),
            name: "Reviewer".to_owned(),
            format: Format::AgentFs,
            path: layout.agent(id),
            main: "agent.json".to_owned(),
            digest: "sha256:1".to_owned(),
            memory: true,
            source: "/somewhere/reviewer".to_owned(),
        }
    }

    #[test]
    fn agents_are_recorded_by_id() {
        let directory = tempfile::tempdir().expect("a directory");
        let layout = HomeLayout::new(directory.path().join("a home ü"));
        assert!(AgentRecord::open_if_any(&layout).expect("no record").is_none());
        let record = AgentRecord::open(&layout).expect("a record");
        let mut one = agent(&layout, "one");
        record.put(&one).expect("added");
        record.put(&agent(&layout, "two")).expect("added");
        one.digest = "sha256:2".to_owned();
        record.put(&one).expect("replaced");
        let other = AgentRecord::open_if_any(&layout).expect("a record").expect("it is there");
        assert_eq!(other.find("one").expect("found"), Some(one.clone()));
        assert_eq!(other.all().expect("all").len(), 2);
        assert_eq!(other.find("../one").expect("no identifier"), None);
        record.remove("two").expect("removed");
        assert_eq!(other.all().expect("all"), [one]);
    }

    #[test]
    fn a_damaged_record_is_reported_and_left_as_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let layout = HomeLayout::new(directory.path());
        std::fs::write(layout.database(), "not a database, but longer than a header of one")
            .expect("written");
        let error = AgentRecord::open(&layout).expect_err("damaged").to_string();
        assert!(error.contains("agents.db"), "{error}");
        assert!(std::fs::read(layout.database()).expect("kept").starts_with(b"not a database"));
    }

    #[test]
    fn a_record_row_outside_the_home_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let layout = HomeLayout::new(directory.path());
        let record = AgentRecord::open(&layout).expect("a record");
        record.put(&agent(&layout, "../x")).expect("written by hand");
        assert!(record.all().expect_err("refused").to_string().contains("not an identifier"));
    }
}
