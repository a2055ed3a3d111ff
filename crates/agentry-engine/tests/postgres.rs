//! The contract, on a real Postgres that each test starts in a directory of its own.
#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stderr, reason = "a skipped test must be seen")]

mod postgres_server;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentry_engine::{PostgresEngine, PostgresFailure, contract};
use agentry_runtime::engine::{
    AppendFailure, ClaimFilter, EngineRow, LEASE_TIME, QueuedRun, SharedEngine,
};
use postgres_server::TestPostgres;

async fn engine_of(postgres: &TestPostgres) -> PostgresEngine {
    PostgresEngine::migrate(&postgres.url()).await.expect("tables");
    PostgresEngine::open(&postgres.url()).await.expect("an engine")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

fn row(id: String) -> EngineRow {
    EngineRow { id, at: 1, kind: "said".to_owned(), data: "{}".to_owned() }
}

fn queued(id: &str) -> QueuedRun {
    QueuedRun { id: id.to_owned(), ..QueuedRun::default() }
}

#[test]
fn the_contract_holds() {
    let Some(postgres) = TestPostgres::start() else { return };
    block_on(async {
        let missing = PostgresEngine::open(&postgres.url()).await.map(drop);
        assert!(matches!(missing, Err(PostgresFailure::Older { found: 0, known: 2 })));
        assert_eq!(PostgresEngine::migrate(&postgres.url()).await.expect("tables"), (0, 2));
        assert_eq!(PostgresEngine::migrate(&postgres.url()).await.expect("tables"), (2, 2));
        let engine = engine_of(&postgres).await;
        contract::check(&engine, "a").await.unwrap_or_else(|broken| panic!("{broken:?}"));
        races(&postgres).await;
        newer_tables_are_refused(&postgres).await;
    });
}

/// Of sixteen writers with one expected number, one wins; of eight workers, each claims other runs.
async fn races(postgres: &TestPostgres) {
    let engine = Arc::new(engine_of(postgres).await);
    engine.create(&queued("race")).await.expect("a run");
    let claimed = engine.claim("w", &ClaimFilter::Run("race".to_owned()), LEASE_TIME).await;
    let lease = claimed.expect("an answer").expect("a claim").lease;
    let writers = (0..16).map(|number| {
        let (url, lease) = (postgres.url(), lease.clone());
        tokio::spawn(async move {
            let engine = PostgresEngine::open(&url).await.expect("an engine");
            let mut won = 0;
            for round in 0..20 {
                loop {
                    let id = format!("{number}-{round}");
                    match engine.append(&lease, round, &[row(id)], number % 2 == 0).await {
                        Ok(_) => won += 1,
                        Err(AppendFailure::Conflict { rows }) if rows <= round => continue,
                        Err(AppendFailure::Conflict { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                    break;
                }
            }
            won
        })
    });
    let won: u64 = sum(writers.collect()).await;
    assert_eq!(won, 20, "one winner in each round");
    for number in 0..200 {
        engine.create(&queued(&format!("queue-{number}"))).await.expect("a run");
    }
    let workers = (0..8).map(|number| {
        let url = postgres.url();
        tokio::spawn(async move {
            let engine = PostgresEngine::open(&url).await.expect("an engine");
            let (labels, digests) = (vec![String::new()], vec![String::new()]);
            let filter = ClaimFilter::Waiting { labels, digests };
            let mut claimed = 0;
            while let Ok(Some(run)) = engine.claim(&format!("w{number}"), &filter, LEASE_TIME).await
            {
                assert_eq!(run.lease.epoch, 1, "{} was claimed twice", run.lease.run);
                claimed += 1;
            }
            claimed
        })
    });
    assert_eq!(sum(workers.collect()).await, 200);
}

async fn sum(tasks: Vec<tokio::task::JoinHandle<u64>>) -> u64 {
    let mut sum = 0;
    for task in tasks {
        sum += task.await.expect("a task that ends");
    }
    sum
}

async fn newer_tables_are_refused(postgres: &TestPostgres) {
    let (client, connection) = tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls)
        .await
        .expect("a connection");
    let carried = tokio::spawn(connection);
    client.execute("INSERT INTO agentry.version VALUES (3)", &[]).await.expect("a newer version");
    for refused in [
        PostgresEngine::open(&postgres.url()).await.map(drop),
        PostgresEngine::migrate(&postgres.url()).await.map(drop),
    ] {
        let is_newer = matches!(refused, Err(PostgresFailure::Newer { found: 3, known: 2 }));
        assert!(is_newer, "{refused:?}");
    }
    drop(client);
    let _ = carried.await;
}

/// The server is killed again and again while rows are written: every durable row is there once.
#[test]
fn acknowledged_rows_survive_kills_of_the_server() {
    let Some(postgres) = TestPostgres::start() else { return };
    block_on(async {
        let engine = engine_of(&postgres).await;
        engine.create(&queued("kills")).await.expect("a run");
        let claimed = engine.claim("w", &ClaimFilter::Run("kills".to_owned()), LEASE_TIME).await;
        let lease = claimed.expect("an answer").expect("a claim").lease;
        let (mut rows, mut kills) = (0, 0);
        let began = Instant::now();
        while kills < 5 && began.elapsed() < Duration::from_mins(1) {
            let row = row(format!("row-{rows}"));
            match engine.append(&lease, rows, &[row], true).await {
                Ok(stored) => rows = stored,
                // Stored without an answer.
                Err(AppendFailure::Conflict { rows: stored }) if stored == rows + 1 => {
                    rows = stored;
                }
                Err(AppendFailure::Unknown(_)) => {}
                Err(error) => panic!("{error}"),
            }
            if rows % 40 == 39 {
                postgres.kill();
                postgres.up();
                kills += 1;
                rows += u64::from(is_there(&engine, rows).await);
            }
        }
        let found = engine.read_from("kills", 0, usize::MAX).await.expect("the rows");
        let expected: Vec<_> = (0..rows).map(|number| row(format!("row-{number}"))).collect();
        assert_eq!(found, expected);
    });
}

async fn is_there(engine: &PostgresEngine, number: u64) -> bool {
    for _ in 0..100 {
        if let Ok(found) = engine.read_from("kills", number, 1).await {
            return !found.is_empty();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server does not come back");
}

/// A file system in a file, which forgets what was not on the disk, as a power cut does.
struct CutDisk {
    directory: tempfile::TempDir,
}

impl CutDisk {
    /// Makes one; `None` if this machine does not let this user mount, which is printed.
    fn new() -> Option<Self> {
        let this = Self { directory: tempfile::tempdir().expect("a directory") };
        let image = std::fs::File::create(this.image()).expect("an image");
        image.set_len(512 << 20).expect("a sparse file");
        std::fs::create_dir(this.place()).expect("a directory");
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(this.image()).output();
        let is_made = made.is_ok_and(|it| it.status.success()) && this.mount();
        if !is_made || !this.can_cut() {
            eprintln!("SKIPPED: no file system can be mounted and shut down here");
            return None;
        }
        // A new mount, because the trial shut this one down.
        this.unmount();
        assert!(this.mount(), "a second mount");
        Some(this)
    }

    fn image(&self) -> PathBuf {
        self.directory.path().join("image")
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("place")
    }

    fn mount(&self) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-o", "loop"]).arg(self.image()).arg(self.place());
        mount.output().is_ok_and(|it| it.status.success())
    }

    fn unmount(&self) {
        for _ in 0..200 {
            let done = Command::new("umount").arg(self.place()).output();
            if done.is_ok_and(|it| it.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Shuts the file system down without writing anything more: `EXT4_IOC_SHUTDOWN` with `NOLOGFLUSH`.
    fn can_cut(&self) -> bool {
        let code = "import fcntl, os, struct, sys\n\
            fcntl.ioctl(os.open(sys.argv[1], 0), 0x8004587d, struct.pack('I', 2))";
        let cut = Command::new("python3").args(["-c", code]).arg(self.place()).output();
        cut.is_ok_and(|it| it.status.success())
    }
}

impl Drop for CutDisk {
    fn drop(&mut self) {
        self.unmount();
    }
}

/// The disk of the database loses its power: every durable row is there, and of the others a beginning.
#[test]
fn durable_rows_survive_power_cuts() {
    let Some(disk) = CutDisk::new() else { return };
    let Some(postgres) = TestPostgres::start_in(&disk.place()) else { return };
    // The files of a new database are written without waiting for the disk.
    assert!(Command::new("sync").arg("-f").arg(disk.place()).status().expect("sync").success());
    block_on(async {
        let engine = engine_of(&postgres).await;
        engine.create(&queued("kills")).await.expect("a run");
        let claimed = engine.claim("w", &ClaimFilter::Run("kills".to_owned()), LEASE_TIME).await;
        let lease = claimed.expect("an answer").expect("a claim").lease;
        let (mut rows, mut durable) = (0, 0);
        for cut in 0..3 {
            for number in 0..200 {
                let is_durable = number < 150;
                let row = row(format!("row-{rows}"));
                rows = engine.append(&lease, rows, &[row], is_durable).await.expect("stored");
                if is_durable {
                    durable = rows;
                }
            }
            assert!(disk.can_cut(), "cut {cut}");
            postgres.kill();
            disk.unmount();
            assert!(disk.mount(), "a disk after cut {cut}");
            postgres.up();
            is_there(&engine, 0).await;
            let found = engine.read_from("kills", 0, usize::MAX).await.expect("the rows");
            let expected: Vec<_> = (0..rows).map(row_of).collect();
            let count = found.len() as u64;
            assert!((durable..=rows).contains(&count), "{count} of {durable} to {rows} rows");
            assert_eq!(found, expected[..found.len()], "after cut {cut}");
            rows = count;
        }
    });
    drop(postgres);
}

fn row_of(number: u64) -> EngineRow {
    row(format!("row-{number}"))
}
