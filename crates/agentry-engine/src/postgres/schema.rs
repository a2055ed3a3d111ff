//! The tables and their versions. A program never works on tables of a newer version, which it would misread.

use std::fmt::Write as _;

use super::connection::{Connections, PostgresFailure};

/// Each step brings the tables from the version of its place to the next one. Steps are never edited.
const STEPS: &[&str] = &[
    "
CREATE SEQUENCE agentry.changes;
CREATE TABLE agentry.run (
    id text PRIMARY KEY,
    digest text NOT NULL,
    label text NOT NULL,
    parent text,
    request text NOT NULL,
    standing smallint NOT NULL DEFAULT 0,
    place bigint NOT NULL DEFAULT nextval('agentry.changes'),
    change bigint NOT NULL DEFAULT nextval('agentry.changes'),
    epoch bigint NOT NULL DEFAULT 0,
    worker text,
    lease_until timestamptz,
    is_cancelled boolean NOT NULL DEFAULT false,
    ending text,
    ending_rows bigint
);
CREATE INDEX run_open ON agentry.run (place) WHERE standing <> 2;
CREATE INDEX run_change ON agentry.run (change);
CREATE TABLE agentry.event (
    run text NOT NULL REFERENCES agentry.run,
    seq bigint NOT NULL,
    id text NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    data text NOT NULL,
    epoch bigint NOT NULL,
    PRIMARY KEY (run, seq)
);
CREATE TABLE agentry.bytes (digest text PRIMARY KEY, data bytea NOT NULL);
CREATE TABLE agentry.file (
    run text NOT NULL REFERENCES agentry.run,
    name text NOT NULL,
    digest text NOT NULL,
    PRIMARY KEY (run, name)
);
CREATE TABLE agentry.firing (
    agent text NOT NULL,
    schedule text NOT NULL,
    planned bigint NOT NULL,
    worker text NOT NULL,
    PRIMARY KEY (agent, schedule, planned)
);
CREATE TABLE agentry.answer (
    run text NOT NULL REFERENCES agentry.run,
    approval text NOT NULL,
    answer text NOT NULL,
    PRIMARY KEY (run, approval)
);
",
    "
CREATE TABLE agentry.receipt (
    chain text NOT NULL,
    number bigint NOT NULL,
    id text NOT NULL UNIQUE,
    run text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (chain, number)
);
CREATE INDEX run_parent ON agentry.run (parent) WHERE parent IS NOT NULL;
CREATE INDEX file_digest ON agentry.file (digest);
ALTER TABLE agentry.file ADD FOREIGN KEY (digest) REFERENCES agentry.bytes;
DROP INDEX agentry.run_open;
CREATE INDEX run_open ON agentry.run (place) WHERE standing < 2;
",
];

/// Two programs that migrate at once wait for each other at this lock.
const LOCK: i64 = 0x4147_5259;

fn newest() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// The version of the tables; 0 if there are none.
async fn version(connections: &Connections) -> Result<i32, PostgresFailure> {
    let exists = "SELECT to_regclass('agentry.version') IS NOT NULL";
    let rows = connections.query(exists, &[]).await?;
    if !rows.first().is_some_and(|row| row.get(0)) {
        return Ok(0);
    }
    let rows = connections.query("SELECT max(version) FROM agentry.version", &[]).await?;
    Ok(rows.first().and_then(|row| row.get(0)).unwrap_or(0))
}

/// Refuses tables of another version.
pub(super) async fn check(connections: &Connections) -> Result<(), PostgresFailure> {
    let found = version(connections).await?;
    match found {
        _ if found == newest() => Ok(()),
        _ if found > newest() => Err(PostgresFailure::Newer { found, known: newest() }),
        _ => Err(PostgresFailure::Older { found, known: newest() }),
    }
}

/// Carries out the steps that are missing, all or none.
pub(super) async fn migrate(connections: &Connections) -> Result<(i32, i32), PostgresFailure> {
    let before = version(connections).await?;
    if before > newest() {
        return Err(PostgresFailure::Newer { found: before, known: newest() });
    }
    let mut script = format!(
        "BEGIN; SELECT pg_advisory_xact_lock({LOCK});
         CREATE SCHEMA IF NOT EXISTS agentry;
         CREATE TABLE IF NOT EXISTS agentry.version (version integer PRIMARY KEY);"
    );
    for (step, version) in STEPS.iter().zip(1..) {
        // The version is looked at again under the lock.
        // Writing to a text cannot fail.
        let _ = write!(
            script,
            "DO $step$ BEGIN
                 IF NOT EXISTS (SELECT FROM agentry.version WHERE version >= {version}) THEN
                     {step}
                     INSERT INTO agentry.version VALUES ({version});
                 END IF;
             END $step$;"
        );
    }
    connections.script(&(script + "COMMIT;")).await?;
    Ok((before, newest()))
}
