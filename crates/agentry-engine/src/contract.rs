//! What every engine has to do, as a test of any engine. It leaves its runs behind.

use std::time::Duration;

use agentry_runtime::engine::{
    AppendFailure, ClaimFilter, ClaimedRun, EngineFailure, EngineRow, FiringKey, LEASE_TIME,
    LeaseFailure, QueueStanding, QueuedRun, RunLease, SharedEngine, SharedReceipt,
};

/// A broken sentence of the contract.
#[derive(Debug)]
pub struct BrokenContract(pub String);

type Held = Result<(), BrokenContract>;

macro_rules! holds {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(BrokenContract(format!($($what)+)));
        }
    };
}

/// Holds an engine to the contract. Names of runs, digests and firings contain `salt`.
pub async fn check(engine: &dyn SharedEngine, salt: &str) -> Held {
    let bench = ContractBench { engine, salt };
    bench.queue().await?;
    bench.leases().await?;
    bench.appends().await?;
    bench.fences().await?;
    bench.endings().await?;
    bench.files_answers_firings().await?;
    bench.removal().await?;
    bench.receipts().await
}

struct ContractBench<'a> {
    engine: &'a dyn SharedEngine,
    salt: &'a str,
}

fn broken(error: impl std::fmt::Display) -> BrokenContract {
    BrokenContract(error.to_string())
}

fn row(id: &str) -> EngineRow {
    let data = format!("{{\"text\":\"{id} ü\"}}");
    EngineRow { id: id.to_owned(), at: 7, kind: "said".to_owned(), data }
}

impl ContractBench<'_> {
    fn queued(&self, name: &str) -> QueuedRun {
        QueuedRun {
            id: format!("{}-{name}", self.salt),
            digest: format!("digest-{}", self.salt),
            label: format!("label-{name}-{}", self.salt),
            parent: None,
            request: "{\"prompt\":\"hello\"}".to_owned(),
        }
    }

    fn filter(&self, queued: &QueuedRun) -> ClaimFilter {
        let digests = vec!["another".to_owned(), format!("digest-{}", self.salt)];
        ClaimFilter::Waiting { labels: vec![queued.label.clone()], digests }
    }

    async fn created(&self, name: &str) -> Result<QueuedRun, BrokenContract> {
        let queued = self.queued(name);
        self.engine.create(&queued).await.map_err(broken)?;
        Ok(queued)
    }

    async fn claimed(&self, name: &str) -> Result<ClaimedRun, BrokenContract> {
        let queued = self.created(name).await?;
        let claimed = self.engine.claim("w1", &self.filter(&queued), LEASE_TIME).await;
        claimed.map_err(broken)?.ok_or_else(|| broken(format!("{name}: nothing was claimed")))
    }

    async fn queue(&self) -> Held {
        let queued = self.created("queue").await?;
        let again = self.engine.create(&queued).await;
        holds!(again == Err(EngineFailure::Exists), "a run was created twice: {again:?}");
        let ClaimFilter::Waiting { labels, digests } = self.filter(&queued) else { return Ok(()) };
        let strangers = [
            ClaimFilter::Waiting { labels: vec!["elsewhere".to_owned()], digests: digests.clone() },
            ClaimFilter::Waiting { labels: labels.clone(), digests: vec!["unknown".to_owned()] },
            ClaimFilter::Waiting { labels, digests: Vec::new() },
        ];
        for filter in strangers {
            let claimed = self.engine.claim("w1", &filter, LEASE_TIME).await.map_err(broken)?;
            holds!(claimed.is_none(), "{filter:?} claimed {claimed:?}");
        }
        let filter = self.filter(&queued);
        let first = self.engine.claim("w1", &filter, LEASE_TIME).await.map_err(broken)?;
        let lease = RunLease { run: queued.id.clone(), epoch: 1 };
        let expected = Some(ClaimedRun { lease, queued: queued.clone(), rows: 0 });
        holds!(first == expected, "the claim is {first:?}");
        for filter in [filter, ClaimFilter::Run(queued.id)] {
            let second = self.engine.claim("w2", &filter, LEASE_TIME).await.map_err(broken)?;
            holds!(second.is_none(), "a held run was claimed: {second:?}");
        }
        self.delegates().await
    }

    /// A run that works for another is only claimed by its id.
    async fn delegates(&self) -> Held {
        let child =
            QueuedRun { parent: Some(format!("{}-queue", self.salt)), ..self.queued("child") };
        self.engine.create(&child).await.map_err(broken)?;
        let found = self.engine.claim("w1", &self.filter(&child), LEASE_TIME).await;
        holds!(found == Ok(None), "a worker took a delegate: {found:?}");
        let found = self.engine.claim("w1", &ClaimFilter::Run(child.id), LEASE_TIME).await;
        holds!(matches!(found, Ok(Some(_))), "a delegate was not claimed by its id: {found:?}");
        Ok(())
    }

    async fn leases(&self) -> Held {
        let queued = self.created("lease").await?;
        let filter = self.filter(&queued);
        let claim = |worker: &'static str, time: Duration| {
            let filter = filter.clone();
            async move {
                let claimed = self.engine.claim(worker, &filter, time).await.map_err(broken)?;
                claimed.ok_or_else(|| broken("a lease that has ended was not given away"))
            }
        };
        let first = claim("w1", Duration::ZERO).await?.lease;
        let news = self.engine.renew(&first, Duration::ZERO).await;
        holds!(news.is_ok(), "a lease that nobody claimed was not renewed: {news:?}");
        let second = claim("w2", LEASE_TIME).await?.lease;
        holds!(second.epoch > first.epoch, "epochs do not grow: {first:?}, {second:?}");
        let renewed = self.engine.renew(&first, LEASE_TIME).await;
        holds!(renewed == Err(LeaseFailure::Lost), "a lost lease was renewed: {renewed:?}");
        self.engine.cancel(&queued.id).await.map_err(broken)?;
        let news = self.engine.renew(&second, LEASE_TIME).await.map_err(broken)?;
        holds!(news.is_cancelled, "the holder does not hear that it is cancelled");
        self.cancelled_in_the_queue().await
    }

    /// A run that only waits ends at once.
    async fn cancelled_in_the_queue(&self) -> Held {
        let queued = self.created("unwanted").await?;
        self.engine.cancel(&queued.id).await.map_err(broken)?;
        let taken = self.engine.claim("w1", &self.filter(&queued), LEASE_TIME).await;
        holds!(taken == Ok(None), "a cancelled run was claimed: {taken:?}");
        let listed = self.engine.list(0).await.map_err(broken)?;
        let ending = listed.into_iter().find(|it| it.queued.id == queued.id);
        let ending = ending.and_then(|it| it.ending);
        let expected = Some("{\"state\":\"cancelled\"}".to_owned());
        holds!(ending == expected, "a cancelled run ended as {ending:?}");
        Ok(())
    }

    async fn appends(&self) -> Held {
        let lease = self.claimed("append").await?.lease;
        for (durable, expected, id) in [(false, 0, "a"), (true, 1, "b")] {
            let stored = self.engine.append(&lease, expected, &[row(id)], durable).await;
            holds!(stored == Ok(expected + 1), "row {id}: {stored:?}");
        }
        let stored = self.engine.append(&lease, 2, &[row("c"), row("d")], true).await;
        holds!(stored == Ok(4), "two rows at once: {stored:?}");
        for expected in [0, 3, 5] {
            let stored = self.engine.append(&lease, expected, &[row("x"), row("y")], true).await;
            let conflict = Err(AppendFailure::Conflict { rows: 4 });
            holds!(stored == conflict, "behind {expected} of 4 rows: {stored:?}");
        }
        let read = self.engine.read_from(&lease.run, 1, 2).await.map_err(broken)?;
        holds!(read == [row("b"), row("c")], "the rows are {read:?}");
        let read = self.engine.read_from(&lease.run, 9, 9).await.map_err(broken)?;
        holds!(read.is_empty(), "there are rows that were not written: {read:?}");
        Ok(())
    }

    async fn fences(&self) -> Held {
        let queued = self.created("fence").await?;
        let filter = self.filter(&queued);
        let first = self.engine.claim("w1", &filter, Duration::ZERO).await.map_err(broken)?;
        let first = first.ok_or_else(|| broken("nothing was claimed"))?.lease;
        let stored = self.engine.append(&first, 0, &[row("1")], true).await;
        holds!(stored == Ok(1), "a lease that nobody claimed: {stored:?}");
        let second = self.engine.claim("w2", &filter, LEASE_TIME).await.map_err(broken)?;
        let second = second.ok_or_else(|| broken("the run was not taken over"))?;
        holds!(second.rows == 1, "the claim counts {} rows", second.rows);
        let stored = self.engine.append(&first, 1, &[row("2")], true).await;
        holds!(stored == Err(AppendFailure::Fenced), "the old holder wrote: {stored:?}");
        let released = self.engine.release(&first, 1, None).await;
        holds!(released == Err(LeaseFailure::Lost), "the old holder released: {released:?}");
        let attached = self.engine.attach(&first, "f", "d").await;
        holds!(attached == Err(LeaseFailure::Lost), "the old holder attached: {attached:?}");
        let stored = self.engine.append(&second.lease, 1, &[row("2")], true).await;
        holds!(stored == Ok(2), "the new holder: {stored:?}");
        Ok(())
    }

    async fn endings(&self) -> Held {
        let claimed = self.claimed("ending").await?;
        let (lease, run) = (claimed.lease, claimed.queued.id.clone());
        self.engine.append(&lease, 0, &[row("1")], true).await.map_err(broken)?;
        let released = self.engine.release(&lease, 2, None).await;
        holds!(released == Err(LeaseFailure::Lost), "a run that lost rows: {released:?}");
        for _ in 0..2 {
            let released = self.engine.release(&lease, 1, Some("{\"state\":\"done\"}")).await;
            holds!(released == Ok(()), "a release, perhaps sent twice: {released:?}");
        }
        let stored = self.engine.append(&lease, 1, &[row("2")], true).await;
        holds!(stored == Err(AppendFailure::Fenced), "a released run was written to: {stored:?}");
        let listed = self.engine.list(0).await.map_err(broken)?;
        let listed = listed.into_iter().find(|it| it.queued.id == run);
        let listed = listed.ok_or_else(|| broken("the run is not listed"))?;
        let seen = (listed.standing, listed.rows, listed.ending.as_deref());
        let expected = (QueueStanding::Released, 1, Some("{\"state\":\"done\"}"));
        holds!(seen == expected, "it is listed as {seen:?}");
        let later = self.engine.list(listed.change).await.map_err(broken)?;
        let is_there = later.iter().any(|it| it.queued.id == run);
        holds!(!is_there, "an unchanged run is listed again");
        let filter = self.filter(&claimed.queued);
        let taken = self.engine.claim("w2", &filter, LEASE_TIME).await.map_err(broken)?;
        holds!(taken.is_none(), "a released run was claimed");
        for expected in [Ok(true), Ok(false)] {
            let queued = self.engine.queue_again(&run).await;
            holds!(queued == expected, "queued again: {queued:?}");
        }
        let taken = self.engine.claim("w2", &filter, LEASE_TIME).await.map_err(broken)?;
        let taken = taken.ok_or_else(|| broken("a run that was queued again was not claimed"))?;
        holds!(taken.lease.epoch > lease.epoch, "the epoch did not grow: {taken:?}");
        Ok(())
    }

    async fn files_answers_firings(&self) -> Held {
        let lease = self.claimed("files").await?.lease;
        let bytes = [self.salt.as_bytes(), &[0, 255, 10]].concat();
        let first = self.engine.put(&bytes).await.map_err(broken)?;
        let again = self.engine.put(&bytes).await.map_err(broken)?;
        holds!(first == again, "the same bytes have two names: {first}, {again}");
        let read = self.engine.get(&first).await;
        holds!(read == Ok(bytes), "the bytes are {read:?}");
        let missing = self.engine.get("sha256:00").await;
        holds!(matches!(missing, Err(EngineFailure::Missing(_))), "no bytes: {missing:?}");
        let second = self.engine.put(b"other").await.map_err(broken)?;
        for digest in [&first, &second] {
            self.engine.attach(&lease, "before/x", digest).await.map_err(broken)?;
        }
        let files = self.engine.attached(&lease.run).await.map_err(broken)?;
        holds!(files == [("before/x".to_owned(), second)], "the files are {files:?}");
        for answer in ["yes", "no"] {
            let kept = self.engine.answer(&lease.run, "1", answer).await;
            holds!(kept == Ok("yes".to_owned()), "the first answer counts: {kept:?}");
        }
        let answers = self.engine.answers(&lease.run).await.map_err(broken)?;
        holds!(answers == [("1".to_owned(), "yes".to_owned())], "the answers are {answers:?}");
        let agent = format!("agent-{}", self.salt);
        let firing = FiringKey { agent, schedule: "daily".to_owned(), planned: 1_800_000_000 };
        for (worker, expected) in [("w1", true), ("w2", false), ("w1", true)] {
            let fired = self.engine.fire(&firing, worker).await;
            holds!(fired == Ok(expected), "the firing of {worker}: {fired:?}");
        }
        Ok(())
    }

    /// A run is bound to a label, and removed with its bytes.
    async fn removal(&self) -> Held {
        let (other, claimed) = (self.claimed("stays").await?, self.claimed("removed").await?);
        let (run, lease) = (claimed.queued.id.clone(), claimed.lease);
        let label = format!("bound-{}", self.salt);
        self.engine.bind(&lease, &label).await.map_err(broken)?;
        let stale = RunLease { epoch: lease.epoch - 1, ..lease.clone() };
        let bound = self.engine.bind(&stale, "x").await;
        holds!(bound == Err(LeaseFailure::Lost), "an old holder bound the run: {bound:?}");
        self.engine.append(&lease, 0, &[row("1")], true).await.map_err(broken)?;
        let (own, common) = (format!("own {}", self.salt), format!("common {}", self.salt));
        let own = self.engine.put(own.as_bytes()).await.map_err(broken)?;
        let common = self.engine.put(common.as_bytes()).await.map_err(broken)?;
        for (lease, digest) in [(&lease, &own), (&lease, &common), (&other.lease, &common)] {
            self.engine.attach(lease, digest, digest).await.map_err(broken)?;
        }
        let removed = self.engine.remove(&run).await;
        holds!(removed == Ok(false), "a held run was removed: {removed:?}");
        self.engine.release(&lease, 1, None).await.map_err(broken)?;
        for time in ["first", "second"] {
            let removed = self.engine.remove(&run).await;
            holds!(removed == Ok(true), "the {time} time: {removed:?}");
        }
        let rows = self.engine.read_from(&run, 0, 9).await.map_err(broken)?;
        holds!(rows.is_empty(), "rows of a removed run: {rows:?}");
        let bytes = self.engine.get(&own).await;
        holds!(matches!(bytes, Err(EngineFailure::Missing(_))), "its bytes: {bytes:?}");
        let bytes = self.engine.get(&common).await;
        holds!(bytes.is_ok(), "the bytes of another run: {bytes:?}");
        let listed = self.engine.list(0).await.map_err(broken)?;
        let listed = listed.into_iter().find(|it| it.queued.id == run);
        let listed = listed.map(|it| (it.standing, it.queued.request, it.queued.label));
        let expected = Some((QueueStanding::Removed, String::new(), label.clone()));
        holds!(listed == expected, "it is listed as {listed:?}");
        let claimed = self.engine.claim("w", &ClaimFilter::Run(run.clone()), LEASE_TIME).await;
        holds!(claimed == Ok(None), "a removed run was claimed: {claimed:?}");
        let queued = self.engine.queue_again(&run).await;
        holds!(queued == Ok(false), "a removed run was queued: {queued:?}");
        Ok(())
    }

    /// A chain has one receipt at each place.
    async fn receipts(&self) -> Held {
        let receipt = |number: u64, id: &str| SharedReceipt {
            chain: format!("chain-{}", self.salt),
            number,
            id: format!("{id}-{}", self.salt),
            run: "run".to_owned(),
            text: format!("text of {id}"),
        };
        let cases = [
            ((2, "early"), false),
            ((0, "zero"), false),
            ((1, "first"), true),
            ((1, "first"), true),
            ((1, "rival"), false),
            ((3, "gap"), false),
            ((2, "second"), true),
        ];
        for ((number, id), expected) in cases {
            let added = self.engine.add_receipt(&receipt(number, id)).await;
            holds!(added == Ok(expected), "{id} as number {number}: {added:?}");
        }
        let chain = receipt(1, "").chain;
        let found = self.engine.receipts(&chain, 1, 9).await.map_err(broken)?;
        let expected = [receipt(1, "first"), receipt(2, "second")];
        holds!(found == expected, "the receipts are {found:?}");
        let found = self.engine.receipts(&chain, 1, 1).await.map_err(broken)?;
        holds!(found == expected[..1], "the first receipt is {found:?}");
        let found = self.engine.receipts(&chain, 2, 9).await.map_err(broken)?;
        holds!(found == expected[1..], "the last receipt is {found:?}");
        let chains = self.engine.chains().await.map_err(broken)?;
        holds!(chains.contains(&(chain, 2)), "the chains are {chains:?}");
        Ok(())
    }
}
