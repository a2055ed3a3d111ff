//! Parallel calls, questions to the user, and cancelling.

use super::*;

#[test]
fn conversations_follow_the_script() {
    check_all(&[
        (
            "an answer",
            "begin
             said hi => ask 0
             turn => done
             said more => ask 0
             turn => done",
        ),
        (
            "a call",
            "begin
             runs a
             end a => ask 0
             turn => done",
        ),
        (
            "what is said meanwhile is heard next",
            "begin
             said hi => ask 0
             said and =>
             turn a => judge a
             said then =>
             allow a => run a
             end a => ask 0
             said wait =>
             turn => ask 0
             turn => done",
        ),
        (
            "what nobody waits for changes nothing",
            "begin
             said hi => ask 0
             waited =>
             end a =>
             start a =>
             allow a =>
             yes a =>
             yes =>
             compacted 1 =>
             turn a => judge a
             turn b =>
             fail permanent =>
             deny a => ask 0
             start a =>
             end a =>
             turn => done",
        ),
        (
            "a call that was refused does not start any more",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             deny a =>
             start a =>
             end a =>
             allow b => run b
             end b => ask 0",
        ),
    ]);
}

#[test]
fn reads_run_in_parallel_and_writes_alone() {
    check_all(&[
        (
            "reads run together",
            "begin
             said hi => ask 0
             turn a b c => judge a judge b judge c
             allow a => run a
             allow b => run b
             allow c => run c
             end b =>
             end a =>
             end c => ask 0",
        ),
        (
            "a write waits for the reads before it, and what follows waits for it",
            "begin
             said hi => ask 0
             turn a b c => judge a judge b judge c
             allow c =>
             allow b write =>
             allow a => run a
             end a => run b
             start b =>
             end b => run c
             end c => ask 0",
        ),
        (
            "writes run one after the other",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b external =>
             end a => run b
             end b => ask 0",
        ),
        (
            "a question holds up what changes something, not what looks",
            "begin
             said hi => ask 0
             turn a b c => judge a judge b judge c
             ask a => may? a
             allow b => run b
             allow c write =>
             end b =>
             yes a => run a
             end a => run c
             end c => ask 0",
        ),
    ]);
}

#[test]
fn approval_answers_decide_calls() {
    check_all(&[
        (
            "no",
            "begin
             said hi => ask 0
             turn a => judge a
             ask a write => may? a
             no a => ask 0",
        ),
        (
            "an answer counts once",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             ask a write => may? a
             yes a => run a
             yes a =>
             no a =>
             park a =>
             end a =>
             deny b => ask 0",
        ),
        (
            "put aside, and taken up again",
            "begin
             said hi => ask 0
             turn a => judge a
             ask a write => may? a
             park a => stop parked
             yes a =>
             resume => may? a
             yes a => run a
             end a => ask 0",
        ),
        (
            "what runs is let to its end before the run is put aside",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             start a =>
             ask b write => may? b
             park b =>
             end a => stop parked
             resume => may? b
             no b => ask 0",
        ),
        (
            "put aside over a limit",
            "begin asks steps=1
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             end a => more? 1 step
             park => stop parked
             resume => more? 1 step
             yes => run b",
        ),
    ]);
}

#[test]
fn failed_calls_follow_the_error_strategy() {
    check_all(&[
        (
            "skip",
            "begin\n said hi => ask 0\n turn a => judge a\n allow a => run a\n err a => ask 0",
        ),
        (
            "fail",
            "begin on_error=fail
             launches a
             err a => stop failed",
        ),
        (
            "retry, once",
            "begin on_error=retry
             runs a
             err a => run a
             start a =>
             err a => ask 0",
        ),
        (
            "retry, but nothing that may have changed something",
            "begin on_error=retry
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b external =>
             start a =>
             err a => run b
             start b =>
             err b => ask 0",
        ),
        (
            "ask",
            "begin on_error=ask
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             err a => again? a
             yes a => run a
             err a => again? a
             no a => run b
             end b => ask 0",
        ),
    ]);
}

#[test]
fn cancelling_stops_the_turn_or_the_run() {
    check_all(&[
        (
            "the turn",
            "begin
             said hi => ask 0
             stop => stop
             turn =>
             said more => ask 0
             turn a b => judge a judge b
             allow a => run a
             stop => stop
             end a =>
             said more => ask 0
             fail temporary => wait 1000
             stop => stop
             waited =>
             said more => ask 0",
        ),
        (
            "the turn, with something said meanwhile",
            "begin
             said hi => ask 0
             said no, this =>
             stop => stop ask 0",
        ),
        (
            "the run",
            "begin
             launches a
             cancel => stop cancelled
             end a =>
             said more => ask 0
             cancel => stop cancelled
             resume => ask 0",
        ),
    ]);
}

#[test]
fn call_ids_are_unique_in_a_run() {
    let state = check(
        "the same name twice",
        "begin
         said hi => ask 0
         turn a a => judge a judge call-2
         deny a =>
         deny call-2 => ask 0
         turn a => judge call-3",
    );
    let calls = state.messages.iter().flat_map(|message| message.calls());
    let ids: Vec<_> = calls.map(|call| &call.id).collect();
    assert_eq!(ids, ["a", "call-2", "call-3"]);
}

#[test]
fn the_calls_of_one_answer_are_limited() {
    let mut state = check("a storm", "begin\n said hi => ask 0");
    let ids: Vec<String> = (0..1_000).map(|n| format!("c{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let effects = step(&mut state, TimedEvent { at: 0, event: RunEvent::Turned(turn(&ids)) });
    assert_eq!(effects.len(), MOST_CALLS);
}
