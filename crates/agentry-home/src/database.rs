//! How every database of the home is opened: several processes wait for each other, and a commit is on the disk.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

/// How long a writer waits for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the database at `path`, creates it if there is none, and creates the `tables` that it lacks.
pub(crate) fn open(path: &Path, tables: &str) -> rusqlite::Result<Connection> {
    let database = Connection::open(path)?;
    database.busy_timeout(PATIENCE)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.execute_batch(tables)?;
    Ok(database)
}
