//! Runs that are killed at any moment, and resumed.

use super::*;

#[test]
fn killed_runs_are_resumed() {
    check_all(&[
        ("before anything", "begin\n resume => done"),
        (
            "while the model answers",
            "begin\n said hi => ask 0\n resume => ask 0\n turn => done\n resume => done",
        ),
        (
            "while it is judged",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a =>  run a
             resume => judge b run a",
        ),
        (
            "before the start was written down",
            "begin steps=1
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             resume => run a
             start a =>
             end a => stop over",
        ),
        (
            "a read is repeated",
            "begin
             runs a read
             resume => run a
             end a => ask 0",
        ),
    ]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn killed_writes_are_asked_about_or_skipped() {
    check_all(&[
        (
            "a write is not: skip",
            "begin on_error=skip
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             start a =>
             resume => run b
             end b => ask 0",
        ),
        (
            "a write is put to the person if nothing is written about errors",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             start a =>
             resume => unfinished? a
             park a => stop parked
             resume => unfinished? a
             no a => run b
             start b =>
             end b => ask 0",
        ),
        (
            "an effect beyond this machine too, and a read beside it is repeated",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a external => run a
             allow b read =>
             start a =>
             resume => unfinished? a
             yes a => run a
             start a =>
             end a => run b",
        ),
        (
            "also when the time was up, and the person says something",
            "begin time=500
             runs a write
             +600 late => stop over
             said go on => unfinished? a
             no a => stop over",
        ),
        (
            "a write is not: fail",
            "begin on_error=fail
             runs a external
             resume => stop failed
             resume => failed",
        ),
        (
            "a write is never repeated unasked, whatever the agent says",
            "begin on_error=retry
             runs a write
             resume => unfinished? a
             no a => ask 0",
        ),
        (
            "a write is put to the person, also when killed again",
            "begin on_error=ask
             runs a write
             resume => unfinished? a
             resume => unfinished? a
             park a => stop parked
             resume => unfinished? a
             yes a => run a
             start a =>
             resume => unfinished? a
             no a => ask 0",
        ),
        (
            "over a limit, with a read under way",
            "begin asks steps=1
             said hi => ask 0
             turn a b => judge a judge b
             allow a => run a
             start a =>
             allow b => more? 1 step
             resume => more? 1 step
             yes => run a more? 2 steps",
        ),
        (
            "secrets that were not written down",
            "begin on_error=ask
             said hi => ask 0
             turn secret-a secret-b => judge secret-a judge secret-b
             allow secret-a write => run secret-a
             start secret-a =>
             ask secret-b write => may? secret-b
             resume => unfinished? secret-a
             yes secret-a => ask 0",
        ),
    ]);
}

#[test]
fn ended_runs_are_resumed() {
    check_all(&[
        (
            "a budget that is gone stays gone",
            "begin steps=1
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             start a =>
             end a => stop over
             resume => over
             said more => ask 0
             turn c => judge c
             allow c => stop over",
        ),
        (
            "until there is more of it",
            "begin steps=1
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             start a =>
             end a => stop over
             adjust steps=3 =>
             resume => run b
             end b => ask 0",
        ),
        (
            "what was said to a failed run is heard by the first model",
            "begin models=2
             said hi => ask 0
             fail permanent => ask 1
             fail permanent => stop failed
             said again => ask 0
             turn => done",
        ),
        (
            "a run without an answer is tried again",
            "begin
             said hi => ask 0
             fail permanent => stop failed
             resume => ask 0
             turn => done
             resume => done",
        ),
    ]);
}

#[test]
fn cancelled_runs_are_resumed() {
    check_all(&[
        (
            "a stopped turn goes on",
            "begin
             runs a write
             stop => stop
             resume => ask 0
             turn => done",
        ),
        (
            "a stopped run goes on, and hears what is said",
            "begin
             said hi => ask 0
             cancel => stop cancelled
             resume => ask 0
             cancel => stop cancelled
             said more => ask 0",
        ),
        (
            "fewer models than before",
            "begin models=3
             said hi => ask 0
             fail permanent => ask 1
             fail permanent => ask 2
             adjust models=1 =>
             resume => ask 0",
        ),
        (
            "a call that was under way is not run again unasked",
            "begin on_error=fail
             runs a write
             err a => stop failed
             resume => failed
             said go on => ask 0",
        ),
    ]);
}
