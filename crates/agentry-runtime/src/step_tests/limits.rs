//! Budgets: hard stops, looked at before every effect.

use super::*;

#[test]
fn limits() {
    let cases = [
        (
            "turns",
            "begin turns=1
             said hi => ask 0
             turn a => judge a
             allow a => stop over
             resume => over",
        ),
        (
            "steps",
            "begin steps=2
             said hi => ask 0
             turn a b c => judge a judge b judge c
             allow a => run a
             allow b => run b
             allow c => stop over",
        ),
        (
            "after the last step the model says what came of it",
            "begin steps=1
             said hi => ask 0
             turn a => judge a
             allow a => run a
             end a => ask 0
             turn => done
             said more => ask 0
             turn b => judge b
             allow b => stop over
             resume => over",
        ),
        ("a model without steps answers", "begin steps=0\n said hi => ask 0\n turn => done"),
        (
            "nothing is begun only to be stopped",
            "begin steps=2
             said hi => ask 0
             turn a b c => judge a judge b judge c
             allow a write => run a
             allow b =>
             allow c =>
             end a => stop over",
        ),
        ("tokens", "begin tokens=10\n said hi => ask 0\n turn => done\n said more => stop over"),
        (
            "time",
            "begin time=500
             said hi => ask 0
             +600 turn a => judge a
             allow a => stop over",
        ),
        (
            "time that is over while a model is asked",
            "begin time=500\n said hi => ask 0\n +400 late =>\n +100 late => stop over",
        ),
        (
            "time that is over in the last step",
            "begin time=500 steps=1
             said hi => ask 0
             turn a => judge a
             allow a => run a
             +600 late => stop over",
        ),
        (
            "time in which a person is asked does not count",
            "begin time=500 on_error=ask
             +9000 said hi => ask 0
             turn a b => judge a judge b
             ask a write => may? a
             allow b write =>
             +9000 yes a => run a
             err a => again? a
             +9000 yes a => run a
             end a => run b",
        ),
        (
            "time in which nobody runs it does not count",
            "begin time=500
             said hi => ask 0
             +400 resume => ask 0
             +90000 resume => ask 0
             +400 turn a => judge a
             +90 allow a => run a
             +90 end a => stop over",
        ),
        (
            "a clock that is set back stands still",
            "begin time=500
             +1000 said hi => ask 0
             turn => done",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn what_was_asked_in_vain_counts() {
    let cases = [
        (
            "answers that break off are not free",
            "begin cost=100
             said hi => ask 0
             fail temporary used=10 cost=40 => wait 1000
             waited => ask 0
             fail temporary used=10 cost=40 => wait 2000
             waited => ask 0
             fail temporary used=10 cost=40 => wait 4000
             waited => stop over",
        ),
        (
            "nor the tokens of what was stopped meanwhile",
            "begin tokens=50
             said hi => ask 0
             stop => stop
             fail temporary used=50 =>
             said more => stop over",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn more_than_the_limit() {
    let cases = [
        (
            "asked once, although calls still end",
            "begin asks steps=2
             said hi => ask 0
             turn a b c d => judge a judge b judge c judge d
             allow a => run a
             allow b => run b
             allow c => more? 2 steps
             end a =>
             allow d =>
             end b =>
             yes => run c run d
             end d =>
             end c => ask 0
             turn e => judge e
             allow e => more? 4 steps
             no => stop over",
        ),
        (
            "as much again, and then asked again",
            "begin asks turns=1
             said hi => ask 0
             turn => done
             said hi => more? 1 turn
             yes => ask 0
             turn => done
             said hi => more? 2 turns",
        ),
        (
            "time is over while a model is asked: it is asked anew, if at all",
            "begin asks time=500
             said hi => ask 0
             +600 late => stop more? 0 s
             late =>
             +9000 yes => ask 0
             +100 turn => done",
        ),
        (
            "time is over while a model is waited for, and nobody wants more",
            "begin asks time=500
             said hi => ask 0
             fail temporary => wait 1000
             +600 late => stop more? 0 s
             no => stop over",
        ),
        (
            "time is over while a call runs: it goes on until there is an answer",
            "begin asks time=500
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             +600 late => more? 0 s
             end a =>
             yes => run b
             +700 late => more? 1 s
             no => stop over",
        ),
        (
            "fewer words are no turn",
            "begin turns=4 window=100
             said hi => ask 0
             turn a => judge a
             allow a => run a
             end a => ask 0
             turn b used=90 => judge b
             allow b => run b
             end b => compact 1
             compacted 1 => ask 0
             turn => done",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}
