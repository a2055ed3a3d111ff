//! An engine in Postgres: any number of machines share it.
//!
//! An append is one statement that checks the epoch and the expected number of rows, and locks the run against a
//! claim meanwhile. `NOTIFY` takes a lock of the whole database at commit, so it is never sent with an append.

mod connection;
mod schema;
mod statements;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use agentry_runtime::engine::{
    AppendFailure, ClaimFilter, ClaimedRun, EngineFailure, EngineFuture, EngineListing, EngineRow,
    FiringKey, LeaseFailure, LeaseNews, QueueStanding, QueuedRun, RunLease, SharedEngine,
    SharedReceipt,
};
use agentry_runtime::tool::BoxedFuture;
use agentry_text::digest;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

pub use connection::PostgresFailure;
use connection::{Connections, QueryFailure};

/// The values of a statement.
type Values<'a, const N: usize> = [&'a (dyn ToSql + Sync); N];

/// Keeps runs in a Postgres database, in a schema named `agentry`.
pub struct PostgresEngine {
    connections: Arc<Connections>,
}

impl PostgresEngine {
    /// Connects to the database of a `postgres://` address, which must have the tables of this version.
    pub async fn open(url: &str) -> Result<Self, PostgresFailure> {
        let connections = Arc::new(Connections::new(url)?);
        schema::check(&connections).await?;
        Ok(Self { connections })
    }

    /// Makes the tables, or brings them to this version. Returns the version before and now.
    pub async fn migrate(url: &str) -> Result<(i32, i32), PostgresFailure> {
        schema::migrate(&Connections::new(url)?).await
    }

    /// Tells readers on other machines that they should look, without waiting for it.
    fn nudge(&self) {
        self.connections.nudge();
    }
}

/// A number of the database; they are never negative.
fn number(row: &Row, at: usize) -> u64 {
    u64::try_from(row.get::<_, i64>(at)).unwrap_or(0)
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl From<QueryFailure> for EngineFailure {
    fn from(failure: QueryFailure) -> Self {
        if failure.is_final() {
            Self::Unusable(failure.to_string())
        } else {
            Self::Unavailable(failure.to_string())
        }
    }
}

impl From<QueryFailure> for LeaseFailure {
    fn from(failure: QueryFailure) -> Self {
        Self::Unavailable(failure.to_string())
    }
}

fn queued(row: &Row) -> QueuedRun {
    QueuedRun {
        id: row.get(0),
        digest: row.get(1),
        label: row.get(2),
        parent: row.get(3),
        request: row.get(4),
    }
}

fn listed(row: &Row) -> EngineListing {
    let rows = number(row, 8);
    let ending = row.get::<_, Option<String>>(9);
    let ending_rows = row.get::<_, Option<i64>>(10);
    EngineListing {
        queued: queued(row),
        standing: match row.get::<_, i16>(5) {
            0 => QueueStanding::Waiting,
            1 => QueueStanding::Held,
            2 => QueueStanding::Released,
            _ => QueueStanding::Removed,
        },
        lease_left: Duration::try_from_secs_f64(row.get(6)).unwrap_or_default(),
        worker: row.get(7),
        rows,
        ending: ending.filter(|_| ending_rows == Some(stored(rows))),
        change: number(row, 11),
    }
}

impl PostgresEngine {
    async fn stored_rows(&self, run: &str) -> Result<u64, QueryFailure> {
        let rows = self.connections.query(statements::COUNT, &[&run]).await?;
        Ok(rows.first().map_or(0, |row| number(row, 0)))
    }

    async fn append_rows(
        &self,
        lease: &RunLease,
        expected: u64,
        rows: &[EngineRow],
        durable: bool,
    ) -> Result<u64, AppendFailure> {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let times: Vec<i64> = rows.iter().map(|row| stored(row.at)).collect();
        let kinds: Vec<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
        let data: Vec<&str> = rows.iter().map(|row| row.data.as_str()).collect();
        let (epoch, first) = (stored(lease.epoch), stored(expected));
        let answered = self
            .connections
            .query(
                statements::APPEND,
                &[&lease.run, &epoch, &first, &ids, &times, &kinds, &data, &durable],
            )
            .await;
        let unknown = |failure: QueryFailure| AppendFailure::Unknown(failure.to_string());
        match answered {
            Ok(answer) => {
                let counts = answer.first().map(|row| (number(row, 0), number(row, 1), row));
                match counts {
                    Some((1, 1.., _)) => {
                        self.connections.nudge_rarely();
                        Ok(expected.saturating_add(u64::try_from(rows.len()).unwrap_or(0)))
                    }
                    Some((1, 0, row)) => Err(AppendFailure::Conflict { rows: number(row, 2) }),
                    _ => Err(AppendFailure::Fenced),
                }
            }
            // Another append was first, between the look and the insertion.
            Err(failure) if failure.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                let rows = self.stored_rows(&lease.run).await.map_err(unknown)?;
                Err(AppendFailure::Conflict { rows })
            }
            Err(failure) if failure.is_final() => Err(AppendFailure::Refused(failure.to_string())),
            Err(failure) => Err(unknown(failure)),
        }
    }
}

impl SharedEngine for PostgresEngine {
    fn create<'a>(&'a self, run: &'a QueuedRun) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            let QueuedRun { id, digest, label, parent, request } = run;
            let values: Values<'_, 5> = [id, digest, label, parent, request];
            let created = self.connections.execute(statements::CREATE, &values).await;
            match created? {
                0 => Err(EngineFailure::Exists),
                _ => {
                    self.nudge();
                    Ok(())
                }
            }
        })
    }

    fn claim<'a>(
        &'a self,
        worker: &'a str,
        filter: &'a ClaimFilter,
        time: Duration,
    ) -> EngineFuture<'a, Option<ClaimedRun>> {
        Box::pin(async move {
            let seconds = time.as_secs_f64();
            let claimed = match filter {
                ClaimFilter::Run(run) => {
                    self.connections.query(statements::CLAIM_RUN, &[&worker, &seconds, run]).await
                }
                ClaimFilter::Waiting { labels, digests } => {
                    let values: Values<'_, 4> = [&worker, &seconds, labels, digests];
                    self.connections.query(statements::CLAIM_WAITING, &values).await
                }
            };
            let claimed = claimed?;
            let Some(row) = claimed.first() else { return Ok(None) };
            let queued = queued(row);
            // Counted when the run is claimed: no earlier holder can add a row any more.
            let rows = self.stored_rows(&queued.id).await?;
            let lease = RunLease { run: queued.id.clone(), epoch: number(row, 5) };
            Ok(Some(ClaimedRun { lease, queued, rows }))
        })
    }

    fn renew<'a>(
        &'a self,
        lease: &'a RunLease,
        time: Duration,
    ) -> EngineFuture<'a, LeaseNews, LeaseFailure> {
        Box::pin(async move {
            let (epoch, seconds) = (stored(lease.epoch), time.as_secs_f64());
            let values: Values<'_, 3> = [&lease.run, &epoch, &seconds];
            let renewed = self.connections.query(statements::RENEW, &values).await;
            let renewed = renewed?;
            let row = renewed.first().ok_or(LeaseFailure::Lost)?;
            Ok(LeaseNews { is_cancelled: row.get(0) })
        })
    }

    fn append<'a>(
        &'a self,
        lease: &'a RunLease,
        expected: u64,
        rows: &'a [EngineRow],
        durable: bool,
    ) -> EngineFuture<'a, u64, AppendFailure> {
        Box::pin(self.append_rows(lease, expected, rows, durable))
    }

    fn release<'a>(
        &'a self,
        lease: &'a RunLease,
        rows: u64,
        ending: Option<&'a str>,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        Box::pin(async move {
            let epoch = stored(lease.epoch);
            let rows = stored(rows);
            let values: Values<'_, 4> = [&lease.run, &epoch, &ending, &rows];
            let released = self.connections.execute(statements::RELEASE, &values).await;
            if released? == 0 {
                let values: Values<'_, 2> = [&lease.run, &epoch];
                let found = self.connections.query(statements::IS_RELEASED, &values).await;
                if found?.is_empty() {
                    return Err(LeaseFailure::Lost);
                }
            }
            self.nudge();
            Ok(())
        })
    }

    fn queue_again<'a>(&'a self, run: &'a str) -> EngineFuture<'a, bool> {
        Box::pin(async move {
            let queued = self.connections.execute(statements::QUEUE_AGAIN, &[&run]).await;
            let queued = queued?;
            self.nudge();
            Ok(queued > 0)
        })
    }

    fn cancel<'a>(&'a self, run: &'a str) -> EngineFuture<'a, ()> {
        Box::pin(async move {
            self.connections.execute(statements::CANCEL, &[&run]).await?;
            self.nudge();
            Ok(())
        })
    }

    fn read_from<'a>(
        &'a self,
        run: &'a str,
        first: u64,
        most: usize,
    ) -> EngineFuture<'a, Vec<EngineRow>> {
        Box::pin(async move {
            let (first, most) = (stored(first), i64::try_from(most).unwrap_or(i64::MAX));
            let rows = self.connections.query(statements::READ, &[&run, &first, &most]).await;
            let row = |row: &Row| EngineRow {
                id: row.get(0),
                at: number(row, 1),
                kind: row.get(2),
                data: row.get(3),
            };
            Ok(rows?.iter().map(row).collect())
        })
    }

    fn list(&self, after: u64) -> EngineFuture<'_, Vec<EngineListing>> {
        Box::pin(async move {
            let rows = self.connections.query(statements::LIST, &[&stored(after)]).await;
            Ok(rows?.iter().map(listed).collect())
        })
    }

    fn watch(&self, most: Duration) -> BoxedFuture<'_, ()> {
        Box::pin(self.connections.watch(most))
    }

    fn put<'a>(&'a self, bytes: &'a [u8]) -> EngineFuture<'a, String> {
        Box::pin(async move {
            let digest = digest::of(bytes);
            let put = self.connections.execute(statements::PUT, &[&digest, &bytes]).await;
            put?;
            Ok(digest)
        })
    }

    fn get<'a>(&'a self, digest: &'a str) -> EngineFuture<'a, Vec<u8>> {
        Box::pin(async move {
            let rows = self.connections.query(statements::GET, &[&digest]).await?;
            let found = rows.first().map(|row| row.get(0));
            found.ok_or_else(|| EngineFailure::Missing(digest.to_owned()))
        })
    }

    fn attach<'a>(
        &'a self,
        lease: &'a RunLease,
        name: &'a str,
        digest: &'a str,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        Box::pin(async move {
            let epoch = stored(lease.epoch);
            let values: Values<'_, 4> = [&lease.run, &epoch, &name, &digest];
            match self.connections.execute(statements::ATTACH, &values).await {
                Ok(0) => Err(LeaseFailure::Lost),
                Ok(_) => Ok(()),
                Err(failure) => Err(failure.into()),
            }
        })
    }

    fn attached<'a>(&'a self, run: &'a str) -> EngineFuture<'a, Vec<(String, String)>> {
        Box::pin(self.pairs(statements::ATTACHED, run))
    }

    fn bind<'a>(
        &'a self,
        lease: &'a RunLease,
        label: &'a str,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        Box::pin(async move {
            let epoch = stored(lease.epoch);
            let values: Values<'_, 3> = [&lease.run, &epoch, &label];
            match self.connections.execute(statements::BIND, &values).await? {
                0 => Err(LeaseFailure::Lost),
                _ => Ok(()),
            }
        })
    }

    fn remove<'a>(&'a self, run: &'a str) -> EngineFuture<'a, bool> {
        Box::pin(async move {
            self.connections.execute(statements::REMOVE, &[&run]).await?;
            let open = self.connections.query(statements::IS_OPEN, &[&run]).await?;
            self.nudge();
            Ok(open.is_empty())
        })
    }

    fn add_receipt<'a>(&'a self, receipt: &'a SharedReceipt) -> EngineFuture<'a, bool> {
        Box::pin(async move {
            let SharedReceipt { chain, number, id, run, text } = receipt;
            let number = stored(*number);
            let values: Values<'_, 5> = [chain, &number, id, run, text];
            self.connections.execute(statements::ADD_RECEIPT, &values).await?;
            let values: Values<'_, 4> = [chain, &number, id, text];
            let found = self.connections.query(statements::IS_RECEIPT, &values).await?;
            self.nudge();
            Ok(!found.is_empty())
        })
    }

    fn chains(&self) -> EngineFuture<'_, Vec<(String, u64)>> {
        Box::pin(async move {
            let rows = self.connections.query(statements::CHAINS, &[]).await?;
            Ok(rows.iter().map(|row| (row.get(0), number(row, 1))).collect())
        })
    }

    fn receipts<'a>(
        &'a self,
        chain: &'a str,
        first: u64,
        most: usize,
    ) -> EngineFuture<'a, Vec<SharedReceipt>> {
        Box::pin(async move {
            let (first, most) = (stored(first), i64::try_from(most).unwrap_or(i64::MAX));
            let values: Values<'_, 3> = [&chain, &first, &most];
            let rows = self.connections.query(statements::RECEIPTS, &values).await?;
            let receipt = |row: &Row| SharedReceipt {
                chain: row.get(0),
                number: number(row, 1),
                id: row.get(2),
                run: row.get(3),
                text: row.get(4),
            };
            Ok(rows.iter().map(receipt).collect())
        })
    }

    fn fire<'a>(&'a self, firing: &'a FiringKey, worker: &'a str) -> EngineFuture<'a, bool> {
        Box::pin(async move {
            let FiringKey { agent, schedule, planned } = firing;
            let values: Values<'_, 4> = [agent, schedule, planned, &worker];
            self.connections.execute(statements::FIRE, &values).await?;
            let rows = self.connections.query(statements::FIRED, &[agent, schedule, planned]).await;
            let rows = rows?;
            Ok(rows.first().is_some_and(|row| row.get::<_, String>(0) == worker))
        })
    }

    fn answer<'a>(
        &'a self,
        run: &'a str,
        approval: &'a str,
        answer: &'a str,
    ) -> EngineFuture<'a, String> {
        Box::pin(async move {
            let values: Values<'_, 3> = [&run, &approval, &answer];
            self.connections.execute(statements::ANSWER, &values).await?;
            let found = self.pairs(statements::ANSWERS, run).await?;
            let found = found.into_iter().find(|(name, _)| name == approval);
            found.map(|it| it.1).ok_or_else(|| EngineFailure::Missing(run.to_owned()))
        })
    }

    fn answers<'a>(&'a self, run: &'a str) -> EngineFuture<'a, Vec<(String, String)>> {
        Box::pin(self.pairs(statements::ANSWERS, run))
    }
}

impl PostgresEngine {
    async fn pairs(&self, sql: &str, run: &str) -> Result<Vec<(String, String)>, EngineFailure> {
        let rows = self.connections.query(sql, &[&run]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}
