//! Models that fail, truncate their answers, or get too long a conversation.

use super::*;

#[test]
fn unreachable_servers_are_retried_then_skipped() {
    let cases = [
        (
            "nobody ever was there",
            "begin models=2
             said hi => ask 0
             fail temporary unreachable => wait 1000
             waited => ask 0
             fail temporary unreachable => ask 1
             fail temporary unreachable => wait 1000
             waited => ask 1
             fail temporary unreachable => stop failed",
        ),
        (
            "somebody was there before",
            "begin
             said hi => ask 0
             turn => done
             said more => ask 0
             fail temporary unreachable => wait 1000
             waited => ask 0
             fail temporary unreachable => wait 2000",
        ),
    ];
    check_all(&cases);
}

#[test]
fn failing_models_are_retried_then_skipped() {
    check_all(&[
        (
            "asked again, each time later, then the next one",
            "begin models=2
             said hi => ask 0
             fail temporary => wait 1000
             waited => ask 0
             fail temporary => wait 2000
             waited => ask 0
             fail temporary => wait 4000
             waited => ask 0
             fail temporary => wait 8000
             waited => ask 0
             fail temporary => ask 1
             turn model=1 => done
             said more => ask 1",
        ),
        (
            "as late as the server wants",
            "begin
             said hi => ask 0
             fail temporary after=45000 => wait 45000
             waited => ask 0
             fail temporary after=300000 => wait 300000
             waited => ask 0
             fail temporary after=600000 => wait 600000",
        ),
        (
            "never earlier than the server wants",
            "begin
             said hi => ask 0
             fail temporary after=600001 => stop failed",
        ),
        (
            "the person may decide about a very long wait",
            "begin on_error=ask
             said hi => ask 0
             fail temporary after=99999999 => models?
             yes => ask 0",
        ),
        (
            "another model rather than a long wait",
            "begin models=2
             said hi => ask 0
             fail temporary after=300000 => ask 1",
        ),
        (
            "nothing helps",
            "begin models=2\n said hi => ask 0\n fail permanent => ask 1\n fail permanent => stop failed",
        ),
        (
            "the person decides",
            "begin models=2 on_error=ask
             said hi => ask 0
             fail permanent => ask 1
             fail permanent => models?
             resume => models?
             yes => ask 0
             fail permanent => ask 1
             fail permanent => models?
             park => stop parked
             resume => ask 0
             fail permanent => ask 1
             fail permanent => models?
             no => stop failed",
        ),
        (
            "killed while it waits",
            "begin
             said hi => ask 0
             fail temporary => wait 1000
             resume => ask 0",
        ),
    ]);
}

#[test]
fn a_long_retry_delay_fails_with_the_time() {
    let script = "begin\n said hi => ask 0\n fail temporary after=900000 => stop failed";
    let state = check("a quarter of an hour", script);
    let why = "no; retry in 15 minutes".to_owned();
    assert_eq!(state.phase, RunPhase::Ended(RunEnding::Failed { why }));
}

#[test]
fn truncated_answers_are_requested_again() {
    check_all(&[
        (
            "cut off again and again",
            "begin
             said hi => ask 0
             turn a cut => ask 0
             turn b cut => ask 0
             turn c cut => ask 0
             turn d cut => stop failed",
        ),
        (
            "cut off now and then",
            "begin
             said hi => ask 0
             turn a cut => ask 0
             turn b cut => ask 0
             turn c cut => ask 0
             turn d => judge d
             deny d => ask 0
             turn e cut => ask 0
             turn cut => done",
        ),
    ]);
}

#[test]
fn conversations_are_compacted_near_the_window() {
    check_all(&[
        (
            "nothing to shorten",
            "begin window=100
             said hi => ask 0
             turn used=90 => done
             said more => ask 0
             fail too-long => stop failed",
        ),
        (
            "a call is not parted from its result",
            "begin window=100
             said hi => ask 0
             turn a => judge a
             deny a => ask 0
             turn b => judge b
             deny b => ask 0
             turn c used=80 => judge c
             deny c => compact 3
             compacted 3 => ask 0
             turn used=90 => done
             said more => ask 0",
        ),
        (
            "too long although nobody knew",
            "begin models=2
             said hi => ask 0
             turn a => judge a
             deny a => ask 0
             turn b => judge b
             deny b => ask 0
             fail too-long => compact 1
             fail too-long => ask 1
             fail too-long => compact 1
             resume => ask 1
             fail too-long => compact 1
             compacted 1 => ask 1
             fail too-long => compact 3
             compacted 3 => ask 1
             fail too-long => stop failed",
        ),
        (
            "a server that is busy while it shortens",
            "begin window=100
             said hi => ask 0
             turn a => judge a
             deny a => ask 0
             turn b used=90 => judge b
             deny b => compact 1
             fail temporary => wait 1000
             waited => compact 1
             compacted 1 => ask 0",
        ),
    ]);
}

#[test]
fn a_long_result_triggers_compaction_early() {
    let begin = "begin window=1000
        launches a
        end a => ask 0
        turn b used=600 => judge b
        allow b => run b";
    let mut state = check("a long result", begin);
    let event = RunEvent::Ended { id: "b".to_owned(), text: "x".repeat(4_000), failed: false };
    let effects = step(&mut state, TimedEvent { at: 0, event });
    assert_eq!(shown(&effects), "compact 1");
}

/// Runs calls whose results have that many bytes each, until the model is asked.
fn run_with_long_results(begin: &str, calls: usize, bytes: usize) -> (StepState, String) {
    let mut state = check("much", &format!("{begin}\n said hi => ask 0"));
    let ids: Vec<String> = (0..calls).map(|number| format!("c{number}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    step(&mut state, TimedEvent { at: 0, event: RunEvent::Turned(turn(&names)) });
    for id in &names {
        step(&mut state, TimedEvent { at: 0, event: event_of(&["allow", id]) });
    }
    let mut shows = String::new();
    for id in ids {
        let event = RunEvent::Ended { id, text: "x".repeat(bytes), failed: false };
        shows = shown(&step(&mut state, TimedEvent { at: 0, event }));
    }
    (state, shows)
}

fn weight(state: &StepState) -> usize {
    crate::context_window::weight(&state.messages)
}

#[test]
fn the_results_of_one_answer_share_a_limit() {
    let cases = [
        ("begin window=100000", 64, 40_000, 100_000),
        ("begin window=8000", 64, 40_000, 64 * 200),
        ("begin", 64, 40_000, 64_000),
        ("begin window=100000", 2, 40_000, 80_000),
    ];
    for (begin, calls, bytes, most) in cases {
        let (state, shows) = run_with_long_results(begin, calls, bytes);
        assert_eq!(shows, "ask 0", "{begin}");
        let weight = weight(&state);
        assert!((most / 2..most + 1_000).contains(&weight), "{begin}: {weight}");
    }
}

/// The last messages are cut if nothing else helps, so that the run continues.
#[test]
fn an_overlong_conversation_is_cut_until_it_fits() {
    let (mut state, _) = run_with_long_results("begin", 10, 6_000);
    let mut fail =
        || step(&mut state, TimedEvent { at: 0, event: event_of(&["fail", "too-long"]) });
    let mut shows = shown(&fail());
    assert_eq!(shows, "ask 0");
    let mut asked = 1;
    while shows == "ask 0" {
        shows = shown(&fail());
        asked += 1;
    }
    assert_eq!(shows, "stop failed");
    assert!((4..12).contains(&asked), "{asked}");
    let after = weight(&state);
    assert!(after < 3_000, "{after}");
    // The same before the request is sent, if the context window is known.
    let (mut state, _) = run_with_long_results("begin window=10000", 1, 9_000);
    let event = RunEvent::Turned(turn(&["d", "used=9500"]));
    step(&mut state, TimedEvent { at: 0, event });
    step(&mut state, TimedEvent { at: 0, event: event_of(&["allow", "d"]) });
    let event = RunEvent::Ended { id: "d".to_owned(), text: "y".repeat(9_000), failed: false };
    let effects = step(&mut state, TimedEvent { at: 0, event });
    assert_eq!(shown(&effects), "compact 1");
    let effects = step(&mut state, TimedEvent { at: 0, event: event_of(&["compacted", "1"]) });
    assert_eq!(shown(&effects), "ask 0");
    // After that the estimate fits: nothing is cut without need.
    assert!(weight(&state) > 18_000);
    let event = RunEvent::Turned(turn(&["e", "used=9900"]));
    step(&mut state, TimedEvent { at: 0, event });
    let effects = step(&mut state, TimedEvent { at: 0, event: event_of(&["deny", "e"]) });
    assert_eq!(shown(&effects), "ask 0", "too few messages to put into fewer words");
    assert!(weight(&state) < 8_000, "{}", weight(&state));
}
