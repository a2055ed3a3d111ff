//! The statements, each a transaction of its own.

/// Stores rows behind the `$3` first ones, if the epoch `$2` holds the run. The share lock on the run lets a claim
/// wait until this has committed, or this wait for the claim and then find another epoch. A durable append waits for
/// the disk even where the database is set up not to.
pub(super) const APPEND: &str = "
WITH level AS (
    SELECT set_config('synchronous_commit',
        CASE WHEN NOT $8 THEN 'off'
             WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
             ELSE current_setting('synchronous_commit') END, true) AS is_set
), held AS (
    SELECT run.id FROM agentry.run AS run, level
    WHERE run.id = $1 AND run.epoch = $2 AND run.standing = 1 AND level.is_set IS NOT NULL
    FOR SHARE OF run
), stored AS (
    INSERT INTO agentry.event (run, seq, id, at, kind, data, epoch)
    SELECT held.id, $3 + rows.place - 1, rows.id, rows.at, rows.kind, rows.data, $2
    FROM held, unnest($4::text[], $5::bigint[], $6::text[], $7::text[])
        WITH ORDINALITY AS rows (id, at, kind, data, place)
    WHERE $3 = (SELECT coalesce(max(seq) + 1, 0) FROM agentry.event WHERE run = $1)
    RETURNING 1
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM stored),
    (SELECT coalesce(max(seq) + 1, 0) FROM agentry.event WHERE run = $1)";

pub(super) const COUNT: &str = "SELECT coalesce(max(seq) + 1, 0) FROM agentry.event WHERE run = $1";

pub(super) const CREATE: &str = "
INSERT INTO agentry.run (id, digest, label, parent, request) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING";

/// Claims skip what another claim has locked, so that workers do not wait for each other.
pub(super) const CLAIM_WAITING: &str = "
UPDATE agentry.run SET standing = 1, epoch = epoch + 1, worker = $1, is_cancelled = false,
    lease_until = clock_timestamp() + make_interval(secs => $2), change = nextval('agentry.changes')
WHERE id = (
    SELECT id FROM agentry.run
    WHERE parent IS NULL AND label = ANY($3) AND digest = ANY($4)
        AND (standing = 0 OR standing = 1 AND lease_until <= clock_timestamp())
    ORDER BY place LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, digest, label, parent, request, epoch";

pub(super) const CLAIM_RUN: &str = "
UPDATE agentry.run SET standing = 1, epoch = epoch + 1, worker = $1, is_cancelled = false,
    lease_until = clock_timestamp() + make_interval(secs => $2), change = nextval('agentry.changes')
WHERE id = $3 AND standing <> 3 AND (standing <> 1 OR lease_until <= clock_timestamp())
RETURNING id, digest, label, parent, request, epoch";

pub(super) const RENEW: &str = "
UPDATE agentry.run SET lease_until = clock_timestamp() + make_interval(secs => $3)
WHERE id = $1 AND epoch = $2 AND standing = 1
RETURNING is_cancelled";

pub(super) const RELEASE: &str = "
UPDATE agentry.run SET standing = 2, ending = $3, change = nextval('agentry.changes'),
    ending_rows = $4
WHERE id = $1 AND epoch = $2 AND standing = 1
    AND $4 = (SELECT coalesce(max(seq) + 1, 0) FROM agentry.event WHERE run = $1)";

pub(super) const IS_RELEASED: &str =
    "SELECT 1 FROM agentry.run WHERE id = $1 AND epoch = $2 AND standing = 2";

pub(super) const QUEUE_AGAIN: &str = "
UPDATE agentry.run SET standing = 0, place = nextval('agentry.changes'),
    change = nextval('agentry.changes')
WHERE id = $1 AND standing = 2";

pub(super) const CANCEL: &str = "
UPDATE agentry.run SET is_cancelled = (standing = 1), change = nextval('agentry.changes'),
    ending = CASE standing WHEN 0 THEN '{\"state\":\"cancelled\"}' ELSE ending END,
    ending_rows = CASE standing WHEN 0
        THEN (SELECT coalesce(max(seq) + 1, 0) FROM agentry.event WHERE run = $1)
        ELSE ending_rows END,
    standing = CASE standing WHEN 0 THEN 2 ELSE standing END
WHERE id = $1";

pub(super) const READ: &str = "
SELECT id, at, kind, data FROM agentry.event WHERE run = $1 AND seq >= $2 ORDER BY seq LIMIT $3";

pub(super) const LIST: &str = "
SELECT id, digest, label, parent, request, standing,
    (CASE WHEN standing = 1
        THEN greatest(extract(epoch FROM lease_until - clock_timestamp()), 0) ELSE 0 END)::float8,
    worker, (SELECT coalesce(max(seq) + 1, 0) FROM agentry.event WHERE run = run.id),
    ending, ending_rows, change
FROM agentry.run AS run WHERE standing < 2 OR change > $1 ORDER BY id";

pub(super) const PUT: &str =
    "INSERT INTO agentry.bytes (digest, data) VALUES ($1, $2) ON CONFLICT DO NOTHING";

pub(super) const GET: &str = "SELECT data FROM agentry.bytes WHERE digest = $1";

pub(super) const ATTACH: &str = "
WITH held AS (
    SELECT id FROM agentry.run WHERE id = $1 AND epoch = $2 AND standing = 1 FOR SHARE
)
INSERT INTO agentry.file (run, name, digest) SELECT id, $3, $4 FROM held
ON CONFLICT (run, name) DO UPDATE SET digest = excluded.digest";

pub(super) const BIND: &str =
    "UPDATE agentry.run SET label = $3 WHERE id = $1 AND epoch = $2 AND standing = 1";

/// A row of the run stays, so that every home hears of its end. Bytes go with the last file that names them; a file
/// that is attached meanwhile puts its bytes again.
pub(super) const REMOVE: &str = "
WITH gone AS (
    UPDATE agentry.run SET standing = 3, request = '', ending = NULL,
        change = nextval('agentry.changes')
    WHERE (id = $1 OR parent = $1) AND standing <> 3
        AND EXISTS (SELECT 1 FROM agentry.run WHERE id = $1 AND standing = 2)
    RETURNING id
), events AS (
    DELETE FROM agentry.event USING gone WHERE event.run = gone.id
), answers AS (
    DELETE FROM agentry.answer USING gone WHERE answer.run = gone.id
), files AS (
    DELETE FROM agentry.file USING gone WHERE file.run = gone.id RETURNING digest
)
DELETE FROM agentry.bytes USING (SELECT DISTINCT digest FROM files) AS named
WHERE bytes.digest = named.digest AND NOT EXISTS (
    SELECT 1 FROM agentry.file WHERE file.digest = bytes.digest
        AND file.run NOT IN (SELECT id FROM gone))";

pub(super) const IS_OPEN: &str = "SELECT 1 FROM agentry.run WHERE id = $1 AND standing < 2";

pub(super) const ADD_RECEIPT: &str = "
INSERT INTO agentry.receipt (chain, number, id, run, text)
SELECT $1, $2, $3, $4, $5
WHERE $2 = (SELECT coalesce(max(number), 0) + 1 FROM agentry.receipt WHERE chain = $1)
ON CONFLICT DO NOTHING";

pub(super) const IS_RECEIPT: &str =
    "SELECT 1 FROM agentry.receipt WHERE chain = $1 AND number = $2 AND id = $3 AND text = $4";

pub(super) const CHAINS: &str =
    "SELECT chain, max(number) FROM agentry.receipt GROUP BY chain ORDER BY chain";

pub(super) const RECEIPTS: &str = "
SELECT chain, number, id, run, text FROM agentry.receipt
WHERE chain = $1 AND number >= $2 ORDER BY number LIMIT $3";

pub(super) const ATTACHED: &str =
    "SELECT name, digest FROM agentry.file WHERE run = $1 ORDER BY name";

pub(super) const FIRE: &str = "
INSERT INTO agentry.firing (agent, schedule, planned, worker) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING";

pub(super) const FIRED: &str =
    "SELECT worker FROM agentry.firing WHERE agent = $1 AND schedule = $2 AND planned = $3";

pub(super) const ANSWER: &str = "
INSERT INTO agentry.answer (run, approval, answer) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

pub(super) const ANSWERS: &str =
    "SELECT approval, answer FROM agentry.answer WHERE run = $1 ORDER BY approval";
