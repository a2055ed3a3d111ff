//! Figures as bars of characters, which need no colour.

use std::fmt::Write as _;

use agentry_home::receipt::{DayCount, ReceiptStats};
use agentry_runtime::StepCounts;

/// The characters of a full bar.
const WIDTH: usize = 30;
/// The most days that are drawn.
const MOST_DAYS: usize = 14;

/// The characters that bars are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BarStyle {
    /// Blocks, to an eighth of a character.
    Blocks,
    /// `#`, for a terminal that knows nothing else.
    Ascii,
}

impl BarStyle {
    /// The style of this terminal.
    pub(super) fn of_terminal() -> Self {
        let is_set_to =
            |name: &str, has: fn(&str) -> bool| std::env::var(name).ok().map(|value| has(&value));
        let is_dumb = is_set_to("TERM", |term| term == "dumb").unwrap_or(true);
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let is_utf8 = |value: &str| value.to_lowercase().replace('-', "").contains("utf8");
        // The first one that is set decides; without any the terminal is taken to be of this age.
        let is_utf8 = names.into_iter().find_map(|name| {
            is_set_to(name, |value| !value.is_empty()).filter(|is_set| *is_set)?;
            is_set_to(name, is_utf8)
        });
        if is_dumb || is_utf8 == Some(false) { Self::Ascii } else { Self::Blocks }
    }

    /// A bar for a part of the whole, between 0 and 1.
    fn bar(self, part: f64) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a bar has at most 240 eighths"
        )]
        let eighths = (part.clamp(0.0, 1.0) * WIDTH as f64 * 8.0).round() as usize;
        match self {
            Self::Blocks => {
                let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
                format!("{}{rest}", "█".repeat(eighths / 8))
            }
            Self::Ascii => "#".repeat(eighths.div_ceil(8)),
        }
    }
}

/// The figures, then the runs of the last days.
pub(super) fn plot(stats: &ReceiptStats, style: BarStyle) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "runs             {}", stats.total);
    let _ = writeln!(text, "cost             ${:.4}", stats.cost);
    if let Some(saved) = stats.time_saved {
        let _ = writeln!(text, "time saved       {:.0} min", saved / 60.0);
    }
    let rates = [
        ("auto-completion", stats.auto_completion()),
        ("rework", stats.rework()),
        ("autonomy", stats.autonomy()),
    ];
    for (name, rate) in rates {
        let Some(rate) = rate else { continue };
        let _ = writeln!(text, "{name:<15} {:>4.0} %  {}", rate * 100.0, style.bar(rate));
    }
    steps(&mut text, stats.steps, style);
    days(&mut text, &stats.days, style);
    text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

fn steps(text: &mut String, counts: StepCounts, style: BarStyle) {
    let StepCounts { deterministic, adaptive, human_gate } = counts;
    let all = deterministic + adaptive + human_gate;
    if all == 0 {
        return;
    }
    text.push_str("\nsteps\n");
    for (name, count) in
        [("deterministic", deterministic), ("adaptive", adaptive), ("human gate", human_gate)]
    {
        let _ = writeln!(text, "{name:<15} {count:>6}  {}", style.bar(part(count, all)));
    }
}

fn days(text: &mut String, days: &[DayCount], style: BarStyle) {
    let shown = days.iter().skip(days.len().saturating_sub(MOST_DAYS));
    let most = shown.clone().map(|day| day.runs).max().unwrap_or(1);
    text.push_str("\nruns per day (completed)\n");
    for DayCount { day, runs, completed, .. } in shown {
        let count = format!("{runs} ({completed})");
        let _ = writeln!(text, "{day:<15} {count:>6}  {}", style.bar(part(*runs, most)));
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs and steps")]
fn part(count: u64, whole: u64) -> f64 {
    count as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_can_be_drawn_in_ascii() {
        let stats = ReceiptStats {
            total: 8,
            auto_completed: 6,
            reworked: 1,
            steps: StepCounts { deterministic: 3, adaptive: 5, human_gate: 1 },
            time_saved: Some(1_680.0),
            cost: 0.25,
            days: vec![
                DayCount { day: "2026-11-14".to_owned(), runs: 2, completed: 2, cost: 0.1 },
                DayCount { day: "2026-11-15".to_owned(), runs: 6, completed: 5, cost: 0.15 },
            ],
        };
        insta::assert_snapshot!(plot(&stats, BarStyle::Ascii), @"
        runs             8
        cost             $0.2500
        time saved       28 min
        auto-completion   75 %  #######################
        rework            12 %  ####
        autonomy          56 %  #################

        steps
        deterministic        3  ##########
        adaptive             5  #################
        human gate           1  ####

        runs per day (completed)
        2026-11-14       2 (2)  ##########
        2026-11-15       6 (5)  ##############################
        ");
        let blocks = plot(&stats, BarStyle::Blocks);
        assert!(blocks.contains("rework            12 %  ███▊\n"), "{blocks}");
        assert!(plot(&stats, BarStyle::Ascii).is_ascii());
    }
}
