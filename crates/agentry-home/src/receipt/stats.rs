//! Figures over receipts: how much was done without a person, and what it cost.

use std::collections::{BTreeMap, BTreeSet};

use agentry_runtime::StepCounts;
use serde_json::Value;

use super::draft::ReceiptStatus;
use super::file::ReceiptFile;

/// Figures over the runs that some receipts are about. A run that was parked and continued counts once, as it
/// stands; a skipped firing is not a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReceiptStats {
    /// How many runs there are.
    pub total: u64,
    /// How many were completed without a person.
    pub auto_completed: u64,
    /// How many wrote files that a person changed afterwards.
    pub reworked: u64,
    /// The steps of skills.
    pub steps: StepCounts,
    /// The time that was saved, in seconds: estimates less the time of people, where an estimate was given.
    pub time_saved: Option<f64>,
    /// What they cost, in US dollars.
    pub cost: f64,
    /// The runs of each day, the oldest first.
    pub days: Vec<DayCount>,
}

/// The runs of one day.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DayCount {
    /// The day in UTC: `2026-11-15`.
    pub day: String,
    /// How many runs began.
    pub runs: u64,
    /// How many of them were completed.
    pub completed: u64,
    /// What they cost, in US dollars.
    pub cost: f64,
}

impl ReceiptStats {
    /// Computes the figures.
    #[must_use]
    pub fn of<'a>(files: impl IntoIterator<Item = &'a ReceiptFile>) -> Self {
        let (mut last, mut reworked) = (BTreeMap::new(), BTreeSet::new());
        for file in files.into_iter().filter(|file| file.fields.is_some()) {
            let key = (file.text_field("session/agent_id").to_owned(), file.run.clone());
            if file.field("amends").is_some() {
                reworked.insert(key);
            } else if status(file) != ReceiptStatus::Skipped.as_str() {
                let count = file.field("count").and_then(Value::as_u64);
                let newest = last.entry(key).or_insert((count, file));
                if count > newest.0 {
                    *newest = (count, file);
                }
            }
        }
        let mut stats = Self::default();
        let mut days: BTreeMap<String, DayCount> = BTreeMap::new();
        for (key, (_, file)) in &last {
            stats.add(file, reworked.contains(key));
            add_day(&mut days, file);
        }
        stats.days = days.into_values().collect();
        stats
    }

    fn add(&mut self, file: &ReceiptFile, is_reworked: bool) {
        self.total += 1;
        let auto = file.field("task/outcome/auto_completed").and_then(Value::as_bool);
        self.auto_completed += u64::from(auto == Some(true));
        let edits = file.field("task/outcome/user_edits").and_then(Value::as_u64).unwrap_or(0);
        self.reworked += u64::from(is_reworked || edits > 0);
        let count = |name: &str| file.field(&format!("step_types/{name}")).and_then(Value::as_u64);
        self.steps.deterministic += count("deterministic").unwrap_or(0);
        self.steps.adaptive += count("adaptive").unwrap_or(0);
        self.steps.human_gate += count("human_gate").unwrap_or(0);
        self.cost += cost(file);
        let time = |name: &str| file.field(&format!("time_metrics/{name}")).and_then(Value::as_f64);
        if let Some(estimate) = time("estimated_human_time") {
            let saved = estimate - time("actual_human_time").unwrap_or(0.0);
            self.time_saved = Some(self.time_saved.unwrap_or(0.0) + saved);
        }
    }

    /// The part of the runs that was completed without a person.
    #[must_use]
    pub fn auto_completion(&self) -> Option<f64> {
        ratio(self.auto_completed, self.total)
    }

    /// The part of the runs whose files a person changed afterwards.
    #[must_use]
    pub fn rework(&self) -> Option<f64> {
        ratio(self.reworked, self.total)
    }

    /// The part of the steps about which the agent decided.
    #[must_use]
    pub fn autonomy(&self) -> Option<f64> {
        let StepCounts { deterministic, adaptive, human_gate } = self.steps;
        ratio(adaptive, deterministic + adaptive + human_gate)
    }
}

fn add_day(days: &mut BTreeMap<String, DayCount>, file: &ReceiptFile) {
    let day: String = file.text_field("run/started").chars().take("2026-11-15".len()).collect();
    let entry = days.entry(day.clone()).or_insert_with(|| DayCount { day, ..DayCount::default() });
    entry.runs += 1;
    entry.completed += u64::from(status(file) == ReceiptStatus::Completed.as_str());
    entry.cost += cost(file);
}

fn status(file: &ReceiptFile) -> &str {
    file.text_field("task/outcome/status")
}

fn cost(file: &ReceiptFile) -> f64 {
    file.field("cost").and_then(Value::as_f64).unwrap_or(0.0)
}

#[expect(clippy::cast_precision_loss, reason = "no home has 2^53 runs")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
