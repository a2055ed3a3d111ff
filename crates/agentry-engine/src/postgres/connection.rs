//! Connections to the database, made again when they are lost, and the notes that wake readers.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::poll_fn;
use tokio::sync::{Mutex, Notify};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Row, Statement};

use super::tls::{TlsFailure, TlsMaker};

/// How long a connection may take to be made, and a statement to be answered.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const ANSWER_TIME: Duration = Duration::from_secs(15);
/// The pause between two attempts to listen, and between two notes about rows.
const LISTEN_PAUSE: Duration = Duration::from_secs(2);
const NOTE_PAUSE: Duration = Duration::from_millis(100);

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PostgresFailure {
    /// The address cannot be read.
    #[error("the address of the engine cannot be read: {0}")]
    Address(String),
    /// A newer program made the tables.
    #[error("the tables of the engine have version {found}; this program knows version {known}")]
    Newer {
        /// Their version.
        found: i32,
        /// The version of this program.
        known: i32,
    },
    /// The tables are missing or old.
    #[error("the tables of the engine have version {found}; this program needs version {known}")]
    Older {
        /// Their version; 0 if there are none.
        found: i32,
        /// The version of this program.
        known: i32,
    },
    /// It does not answer as it should.
    #[error("the engine cannot be used: {0}")]
    Query(String),
}

impl PostgresFailure {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Address(_) => "`postgres://USER:PASSWORD@HOST/DATABASE` is expected",
            Self::Newer { .. } => "use the program that made them, or a newer one",
            Self::Older { .. } => "`agentry serve migrate` brings them to this version",
            Self::Query(_) => return None,
        })
    }
}

/// Why a statement has no result.
#[derive(Debug)]
pub(super) enum QueryFailure {
    /// The database answered with an error, or the connection was lost.
    Postgres(tokio_postgres::Error),
    /// It did not answer in time, or there is no connection.
    Away(String),
}

impl QueryFailure {
    pub(super) fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Postgres(error) => error.code(),
            Self::Away(_) => None,
        }
    }

    /// Whether the same statement will fail again. Everything else may have been carried out.
    pub(super) fn is_final(&self) -> bool {
        let Some(code) = self.code() else { return false };
        // Classes of the standard: data, constraints, authorisation, names.
        ["22", "23", "28", "3D", "3F", "42"].iter().any(|class| code.code().starts_with(class))
    }
}

impl fmt::Display for QueryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(error) => match error.as_db_error() {
                Some(error) => f.write_str(error.message()),
                None => match std::error::Error::source(error) {
                    Some(source) => write!(f, "{source}"),
                    None => write!(f, "{error}"),
                },
            },
            Self::Away(why) => f.write_str(why),
        }
    }
}

impl From<QueryFailure> for PostgresFailure {
    fn from(failure: QueryFailure) -> Self {
        Self::Query(failure.to_string())
    }
}

/// A connection with the statements that the database has parsed for it.
struct LiveConnection {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl LiveConnection {
    async fn statement(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        let mut known = self.statements.lock().await;
        if let Some(statement) = known.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        known.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    async fn query(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        self.client.query(&self.statement(sql).await?, values).await
    }

    async fn execute(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, tokio_postgres::Error> {
        self.client.execute(&self.statement(sql).await?, values).await
    }
}

/// The connections of one engine.
pub(super) struct Connections {
    config: Config,
    tls: Option<TlsMaker>,
    client: Mutex<Option<Arc<LiveConnection>>>,
    woken: Arc<Notify>,
    listens: OnceLock<()>,
    notes_soon: AtomicBool,
}

impl Connections {
    pub(super) fn new(url: &str) -> Result<Self, PostgresFailure> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            let message = "it does not begin with `postgres://`";
            return Err(PostgresFailure::Address(message.to_owned()));
        }
        let config = url.parse::<Config>();
        // Without the text of the address, which may have a password.
        let mut config =
            config.map_err(|_| PostgresFailure::Address("it has a mistake".to_owned()))?;
        config.connect_timeout(CONNECT_TIME).application_name("agentry");
        // Another machine is reached with TLS, unless the address says `sslmode=disable`.
        if config.get_ssl_mode() == SslMode::Prefer {
            let is_here = config.get_hosts().iter().all(is_loopback);
            config.ssl_mode(if is_here { SslMode::Disable } else { SslMode::Require });
        }
        let unusable = |error: TlsFailure| PostgresFailure::Query(error.to_string());
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(TlsMaker::new().map_err(unusable)?),
        };
        Ok(Self {
            config,
            tls,
            client: Mutex::default(),
            woken: Arc::default(),
            listens: OnceLock::new(),
            notes_soon: AtomicBool::new(false),
        })
    }

    /// The connection for statements.
    async fn client(&self) -> Result<Arc<LiveConnection>, QueryFailure> {
        let mut kept = self.client.lock().await;
        if let Some(client) = kept.as_ref().filter(|it| !it.client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let connected = timeout(CONNECT_TIME * 2, self.connect(None)).await;
        let client = connected.map_err(|_| late())??;
        let client = Arc::new(LiveConnection { client, statements: Mutex::default() });
        *kept = Some(Arc::clone(&client));
        Ok(client)
    }

    /// Makes a connection. Its notes are passed on to `woken`.
    async fn connect(&self, woken: Option<Arc<Notify>>) -> Result<Client, QueryFailure> {
        match &self.tls {
            None => {
                let connected = self.config.connect(NoTls).await;
                let (client, connection) = connected.map_err(QueryFailure::Postgres)?;
                tokio::spawn(carry(connection, woken));
                Ok(client)
            }
            Some(tls) => {
                let connected = self.config.connect(tls.clone()).await;
                let (client, connection) = connected.map_err(QueryFailure::Postgres)?;
                tokio::spawn(carry(connection, woken));
                Ok(client)
            }
        }
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, QueryFailure> {
        let client = self.client().await?;
        let answered = timeout(ANSWER_TIME, client.query(sql, values)).await;
        self.settled(answered).await
    }

    pub(super) async fn execute(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, QueryFailure> {
        let client = self.client().await?;
        let answered = timeout(ANSWER_TIME, client.execute(sql, values)).await;
        self.settled(answered).await
    }

    /// Carries out several statements without values.
    pub(super) async fn script(&self, sql: &str) -> Result<(), QueryFailure> {
        let client = self.client().await?;
        let answered = timeout(ANSWER_TIME, client.client.batch_execute(sql)).await;
        self.settled(answered).await
    }

    /// A connection that did not answer in time is not used again: later answers would wait behind it.
    async fn settled<T>(
        &self,
        answered: Result<Result<T, tokio_postgres::Error>, tokio::time::error::Elapsed>,
    ) -> Result<T, QueryFailure> {
        match answered {
            Ok(result) => result.map_err(QueryFailure::Postgres),
            Err(_) => {
                *self.client.lock().await = None;
                Err(late())
            }
        }
    }

    /// Sends a note to all readers. A lost note costs them a pause.
    pub(super) fn nudge(self: &Arc<Self>) {
        let connections = Arc::clone(self);
        tokio::spawn(async move {
            let _ = connections.query("SELECT pg_notify('agentry', '')", &[]).await;
        });
    }

    /// Sends one note for all rows of a short time.
    pub(super) fn nudge_rarely(self: &Arc<Self>) {
        if self.notes_soon.swap(true, Ordering::AcqRel) {
            return;
        }
        let connections = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(NOTE_PAUSE).await;
            connections.notes_soon.store(false, Ordering::Release);
            connections.nudge();
        });
    }

    /// Waits for a note, or for this time.
    pub(super) async fn watch(self: &Arc<Self>, most: Duration) {
        self.listens.get_or_init(|| drop(tokio::spawn(listen(Arc::clone(self)))));
        let _ = timeout(most, self.woken.notified()).await;
    }
}

/// Listens for notes for as long as the program runs.
async fn listen(connections: Arc<Connections>) {
    loop {
        let woken = Some(Arc::clone(&connections.woken));
        if let Ok(Ok(client)) = timeout(CONNECT_TIME * 2, connections.connect(woken)).await {
            let _ = client.batch_execute("LISTEN agentry").await;
            while !client.is_closed() {
                tokio::time::sleep(LISTEN_PAUSE).await;
            }
        }
        tokio::time::sleep(LISTEN_PAUSE).await;
    }
}

/// Carries a connection until it ends.
async fn carry<S, T>(mut connection: tokio_postgres::Connection<S, T>, woken: Option<Arc<Notify>>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let (AsyncMessage::Notification(_), Some(woken)) = (&message, &woken) {
            woken.notify_waiters();
        }
    }
}

fn late() -> QueryFailure {
    QueryFailure::Away("it did not answer in time".to_owned())
}

/// Whether a host is this machine.
fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
        }
        // A socket in the file system, which Windows does not have.
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_reached_with_tls() {
        let cases = [
            ("postgres://a@localhost/x", SslMode::Disable),
            ("postgres://a@127.0.0.1:5433/x", SslMode::Disable),
            ("postgres://a@%2Frun%2Fpostgres/x", SslMode::Disable),
            ("postgresql://a:b@db.example/x", SslMode::Require),
            ("postgres://a@localhost,db.example/x", SslMode::Require),
            ("postgres://a@db/x?sslmode=disable", SslMode::Disable),
            ("postgres://a@127.0.0.1/x?sslmode=require", SslMode::Require),
        ];
        for (url, expected) in cases {
            let connections =
                Connections::new(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(connections.config.get_ssl_mode(), expected, "{url}");
            assert_eq!(connections.tls.is_some(), expected == SslMode::Require, "{url}");
        }
    }

    #[test]
    fn an_address_with_a_mistake_keeps_its_password() {
        for url in ["mysql://a:secret@h/x", "postgres://a:secret@h:port/x"] {
            let error = Connections::new(url).map(drop).expect_err(url);
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
