//! How every database of the home is opened: several processes wait for each other, and a commit is on the disk.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

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

/// Opens a database to read it, also on a medium that cannot be written.
pub(crate) fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags)?;
    let readable = opened.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    match readable {
        Ok(()) => Ok(opened),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            let escaped =
                path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            let address = format!("file:{escaped}?immutable=1");
            Connection::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI)
        }
        Err(error) => Err(error),
    }
}

/// Whether a database cannot be opened because its directory cannot be written.
pub(crate) fn is_sealed(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// What the user can do about an error that is not about the content of a database.
pub(crate) fn hint(error: &rusqlite::Error) -> Option<&'static str> {
    match error.sqlite_error_code()? {
        ErrorCode::DiskFull | ErrorCode::SystemIoFailure => Some(
            "the disk may be full (`df`); nothing was changed, so free some space and try again",
        ),
        ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Some(
            "the home may be read-only or belong to another user; make it writable, or set AGENTRY_HOME",
        ),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            Some("another process has been writing to it; try again")
        }
        _ => None,
    }
}
