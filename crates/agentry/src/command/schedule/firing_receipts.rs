//! The receipts of firings that made no run: skipped, refused, or dead before a run began.

use std::collections::BTreeMap;

use agentry_compile::{FileTree as _, digest, resolved};
use agentry_home::HomeLayout;
use agentry_home::receipt::{ReceiptAgent, ReceiptDraft, ReceiptFiring, ReceiptStatus, first_line};
use agentry_home::schedule::{FiringState, KeeperReport, ScheduleLedger};
use agentry_runtime::redact::Redactor;

use super::fire::ELSEWHERE;
use crate::command::receipts::recording;
use crate::command::run::session::now;
use crate::command::{find_one, usable};
use crate::disk::DiskWorld;
use crate::home::{agentry_home, recorded_user};

/// The most firings of the ledger that are looked at after a restart.
const MOST_LOOKED_AT: u32 = 1_000;

/// Writes the receipts of firings that are over and have none.
pub(crate) fn record(reports: &[KeeperReport]) {
    let Some(home) = agentry_home() else { return };
    let layout = HomeLayout::new(home);
    // A planned time has one receipt, on the machine that started the run.
    let own = reports.iter().filter(|it| it.reason.as_deref() != Some(ELSEWHERE));
    let ended: Vec<_> = own.filter_map(|it| Some((it, status(it.state)?))).collect();
    if ended.is_empty() {
        return;
    }
    // The journal of a killed firing has more details than the ledger.
    if ended.iter().any(|(_, status)| *status == ReceiptStatus::Killed) {
        recording::collect(&layout);
    }
    let at = now();
    let mut agents = BTreeMap::new();
    let drafts = ended.into_iter().map(|(report, status)| {
        let path = &report.identity.agent;
        let agent = agents.entry(path.clone()).or_insert_with(|| agent_at(&layout, path));
        draft(report, status, (agent.clone(), at))
    });
    recording::write_unbegun(&layout, drafts.collect(), at);
}

/// Writes the receipts that a killed `serve` did not write.
pub(crate) fn record_missing(ledger: &ScheduleLedger) {
    let rows = ledger.last_firings(MOST_LOOKED_AT).unwrap_or_default();
    let reports = rows.into_iter().rev().map(|row| KeeperReport {
        identity: row.identity,
        state: row.state,
        reason: row.reason,
    });
    record(&reports.collect::<Vec<_>>());
}

/// The status of a firing that is over.
fn status(state: FiringState) -> Option<ReceiptStatus> {
    match state {
        FiringState::Waiting | FiringState::Claimed | FiringState::Running => None,
        FiringState::Done => Some(ReceiptStatus::Completed),
        FiringState::Failed => Some(ReceiptStatus::Failed),
        FiringState::Killed => Some(ReceiptStatus::Killed),
        FiringState::Skipped => Some(ReceiptStatus::Skipped),
    }
}

fn draft(
    report: &KeeperReport,
    status: ReceiptStatus,
    (agent, at): (ReceiptAgent, u64),
) -> ReceiptDraft {
    let identity = report.identity.clone();
    let reason = report.reason.as_ref();
    ReceiptDraft {
        agent,
        user: recorded_user(),
        status,
        reason: reason.map(|why| first_line(&Redactor::default().text(why))),
        firing: Some(ReceiptFiring {
            agent: identity.agent,
            schedule: identity.schedule,
            planned: identity.planned,
        }),
        started: at,
        ended: at,
        ..ReceiptDraft::default()
    }
}

/// The agent at a path; one that cannot be read has the name of its file.
fn agent_at(layout: &HomeLayout, path: &str) -> ReceiptAgent {
    let disk = DiskWorld::default();
    let compiled = find_one(&disk, path, None).and_then(|found| usable(&disk, &found));
    let Ok(compiled) = compiled else {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        return ReceiptAgent::new(layout, path, name, "");
    };
    let full = disk.absolute(path);
    ReceiptAgent::new(layout, &full, resolved(&compiled).name(), &digest(&disk, &compiled))
}
