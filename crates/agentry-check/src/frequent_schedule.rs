//! AG9022: a schedule that fires every minute.

use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9022");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for schedule in &subject.agent.schedules {
        let Some(cron) = &schedule.cron else { continue };
        let on = schedule.enabled.is_none_or(|enabled| enabled.value);
        if on && every_minute(cron) {
            let message = format!("`{}` fires every minute", cron.value);
            findings.add(&RULE, cron.span, message).hint("`0 * * * *` is once an hour");
        }
    }
}

/// Reports whether the minute field of a cron expression matches every minute.
fn every_minute(cron: &str) -> bool {
    let fields: Vec<_> = cron.split_whitespace().collect();
    let minutes = match fields.len() {
        5 => fields.first(),
        // With six fields the first one is seconds.
        6 => fields.get(1),
        _ => None,
    };
    minutes.is_some_and(|minutes| matches!(*minutes, "*" | "*/1" | "?" | "0-59"))
}

#[cfg(test)]
mod tests {
    use agentry_model::{Agent, Schedule};

    use super::*;
    use crate::testing::{at, count, text};

    #[test]
    fn schedules_that_fire_every_minute_are_reported() {
        let cases = [
            ("* * * * *", true, 1),
            ("* 9-17 * * 1-5", true, 1),
            ("*/1 * * * *", true, 1),
            ("0 * * * * *", true, 1),
            ("*/10 * * * * *", true, 1),
            ("* * * * *", false, 0),
            ("*/5 * * * *", true, 0),
            ("0 0 * * * *", true, 0),
            ("@daily", true, 0),
            ("", true, 0),
        ];
        for (cron, enabled, expected) in cases {
            let mut agent = Agent::default();
            let schedule = Schedule {
                cron: Some(text(cron)),
                enabled: Some(at(enabled)),
                ..Schedule::default()
            };
            agent.schedules.push(schedule);
            assert_eq!(count(&CHECK, &agent), expected, "{cron}");
        }
    }
}
