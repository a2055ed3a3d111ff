use agentry_home::schedule::{FiringPlan, PlanProblem};
use chrono::DateTime;

use super::calendar::Calendar;
use super::schedule;

fn instant(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).unwrap().timestamp()
}

/// Zones with clock changes of an hour, of half an hour, at midnight, on the southern half, and none.
pub(crate) const ZONES: [&str; 5] = [
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Kathmandu",
    "America/New_York",
];

#[test]
fn a_year_of_firings_matches_an_independent_calculation() {
    let (from, to) = (instant("2027-01-01T00:00:00Z"), instant("2028-03-02T00:00:00Z"));
    let expressions = [
        "30 2 * * *",
        "0 0 * * *",
        "*/15 0-3 * * *",
        "0 9 * * 1-5",
        "15 1 1,15 * 0",
        "0 12 29 2 *",
        "59 23 31 * *",
        "0 */5 * * *",
    ];
    for zone in ZONES {
        let calendar = Calendar::new(zone, from, to);
        for cron in expressions {
            let plan = FiringPlan::new(&schedule(cron, zone)).unwrap();
            let found: Vec<i64> = plan.from(from).take_while(|time| *time < to).collect();
            assert_eq!(found, calendar.firings(cron), "{cron} in {zone}");
        }
    }
}

/// Beginning anywhere gives the rest of the same times.
#[test]
fn planned_times_are_independent_of_the_start() {
    let from = instant("2027-03-27T20:00:00Z");
    let to = instant("2027-03-28T06:00:00Z");
    for cron in ["*/7 * * * *", "30 2 * * *", "0 3 * * *", "15 2,3 * * *"] {
        for zone in ["Europe/Berlin", "UTC"] {
            let plan = FiringPlan::new(&schedule(cron, zone)).unwrap();
            let all: Vec<i64> = plan.from(from).take_while(|time| *time < to).collect();
            for start in (from..to).step_by(31) {
                let rest: Vec<i64> = all.iter().copied().filter(|time| *time >= start).collect();
                let found: Vec<i64> = plan.from(start).take_while(|time| *time < to).collect();
                assert_eq!(found, rest, "{cron} in {zone} from {start}");
            }
        }
    }
}

#[test]
fn daylight_saving_changes_are_handled() {
    let cases = [
        // Skipped: the first instant after the gap, once for all times in it.
        ("30 2 * * *", "Europe/Berlin", "2027-03-28T00:00:00+01:00", "2027-03-28T03:00:00+02:00"),
        ("*/20 2 * * *", "Europe/Berlin", "2027-03-28T00:00:00+01:00", "2027-03-28T03:00:00+02:00"),
        // Twice: the first of the two.
        ("30 2 * * *", "Europe/Berlin", "2027-10-31T00:00:00+02:00", "2027-10-31T02:30:00+02:00"),
        // In the second pass the next one is that of the next day.
        ("30 2 * * *", "Europe/Berlin", "2027-10-31T02:00:00+01:00", "2027-11-01T02:30:00+01:00"),
        // A midnight that does not exist.
        ("0 0 * * *", "America/Santiago", "2027-09-04T12:00:00-04:00", "2027-09-05T01:00:00-03:00"),
        ("0 12 29 2 *", "UTC", "2027-01-01T00:00:00Z", "2028-02-29T12:00:00Z"),
        ("30 0 9 * * *", "UTC", "2027-01-01T00:00:00Z", "2027-01-01T09:00:30Z"),
    ];
    for (cron, zone, from, expected) in cases {
        let plan = FiringPlan::new(&schedule(cron, zone)).unwrap();
        let next = plan.from(instant(from)).next().unwrap();
        let next = plan.zone().wall(next).unwrap().to_rfc3339();
        assert_eq!(instant(&next), instant(expected), "{cron} in {zone}: {next}");
    }
}

#[test]
fn schedules_without_times_have_a_reason() {
    let never = FiringPlan::new(&schedule("0 0 30 2 *", "UTC")).unwrap();
    assert_eq!(never.from(0).next(), None);
    let zone = FiringPlan::new(&schedule("@daily", "Mars/Olympus")).unwrap_err();
    assert_eq!(zone, PlanProblem::BadZone("Mars/Olympus".to_owned()));
    let bad = FiringPlan::new(&schedule("61 * * * *", "UTC")).unwrap_err();
    assert!(matches!(bad, PlanProblem::BadCron { .. }), "{bad}");
    let none = agentry_compile::model::Schedule::default();
    assert_eq!(FiringPlan::new(&none).unwrap_err(), PlanProblem::NoCron);
}
