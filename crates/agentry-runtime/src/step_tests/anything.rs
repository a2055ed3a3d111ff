//! Any events, in any order.

use proptest::prelude::*;

use super::*;

/// Returns any line of a script.
fn any_event() -> impl Strategy<Value = String> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let class = || prop::sample::select(vec!["read", "write", "external"]);
    let judged = prop::sample::select(vec!["allow", "allow", "allow", "ask", "deny"]);
    let about = vec!["start", "start", "end", "end", "end", "err", "yes", "no"];
    let alone = vec![
        "said x",
        "turn",
        "yes",
        "no",
        "waited",
        "stop",
        "resume",
        "compacted 3",
        "asking used=9",
        "compact!",
        "clear!",
        "switch 1",
        "undone x",
    ];
    let failing = vec!["fail temporary", "fail permanent", "fail too-long"];
    prop_oneof![
        2 => prop::sample::select(alone).prop_map(str::to_owned),
        1 => prop::sample::select(failing).prop_map(str::to_owned),
        3 => prop::collection::vec(id(), 1..4).prop_map(|ids| format!("turn {}", ids.join(" "))),
        9 => (judged, id(), class()).prop_map(|(v, id, class)| format!("{v} {id} {class}")),
        9 => (prop::sample::select(about), id()).prop_map(|(verb, id)| format!("{verb} {id}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any events in any order: a call that changes something runs alone and only if it is allowed,
    /// and every call has one result.
    #[test]
    fn invariants_hold_for_any_event_order(
        begin in prop::sample::select(vec![
            "begin", "begin on_error=ask asks steps=3 models=2", "begin on_error=retry window=50",
        ]),
        events in prop::collection::vec(any_event(), 1..60),
    ) {
        let mut state = StepState::default();
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let borrowed = words(begin);
        let borrowed: Vec<&str> = borrowed.iter().map(String::as_str).collect();
        step(&mut state, TimedEvent { at: 0, event: began(&borrowed) });
        for (number, line) in events.iter().enumerate() {
            let words = words(line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let before = state.clone();
            let at = u64::try_from(number).expect("few");
            let effects = step(&mut state, TimedEvent { at, event: event_of(&words) });
            check_conversation(&state, &effects, line);
            check_runs(&before, &state, &effects, line);
        }
    }
}

fn check_runs(before: &StepState, after: &StepState, effects: &[RunEffect], line: &str) {
    let runs =
        |call: &CallState| matches!(call.progress, CallProgress::Launched | CallProgress::Running);
    let running: Vec<&CallState> = after.calls.iter().filter(|call| runs(call)).collect();
    let alone = running.iter().all(|call| call.class == CallClass::Read) || running.len() == 1;
    assert!(alone, "{line}: {running:?}");
    for effect in effects {
        let RunEffect::Run { id } = effect else { continue };
        let call = after.call(id).expect("a call of the last answer");
        assert_eq!(call.progress, CallProgress::Launched, "{line}");
        let was = before.call(id).map(|call| &call.progress);
        if line != "resume" && !line.starts_with("err ") {
            assert_ne!(was, Some(&CallProgress::Launched), "{line}: started twice");
        }
    }
}
