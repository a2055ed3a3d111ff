//! Budgets: hard limits, checked before every effect.

use super::*;

#[test]
fn run_limits_stop_the_run() {
    check_all(&[
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
    ]);
}

#[test]
fn time_limits_stop_the_run() {
    check_all(&[
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
    ]);
}

#[test]
fn failed_requests_are_charged() {
    check_all(&[
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
    ]);
}

#[test]
fn a_cancelled_request_is_charged() {
    check_all(&[
        (
            "by the person",
            "begin tokens=50
             said hi => ask 0
             asking used=50 =>
             stop => stop
             said more => stop over",
        ),
        (
            "with what had come of its answer",
            "begin cost=100
             said hi => ask 0
             asking used=10 cost=60 =>
             asking used=10 cost=160 =>
             stop => stop
             said more => stop over",
        ),
        (
            "with the process",
            "begin tokens=50
             said hi => ask 0
             asking used=50 =>
             resume => stop over",
        ),
        (
            "while it was to be put into fewer words",
            "begin tokens=200 window=100
             said hi => ask 0
             asking used=1 =>
             turn a => judge a
             deny a => ask 0
             turn b used=90 => judge b
             deny b => compact 1
             asking used=100 =>
             stop => stop
             said more => stop over",
        ),
    ]);
    let state = check(
        "not what was answered, failed, or never sent",
        "begin on_error=ask
         said hi => ask 0
         asking used=50 =>
         turn used=60 => done
         said hi => ask 0
         asking used=50 =>
         fail permanent used=7 => models?
         yes => ask 0
         asking used=50 =>
         +7 stop => stop
         said hi => ask 0
         resume => ask 0
         stop => stop
         stop => stop",
    );
    assert_eq!(state.spent.usage.input, 60 + 7 + 50);
}

#[test]
fn a_request_over_the_limit_is_not_sent() {
    check_all(&[
        (
            "tokens",
            "begin tokens=50
             said hi => ask 0
             asking used=51 => stop over
             resume => ask 0
             asking used=51 => stop over
             adjust tokens=51 =>
             resume => ask 0
             asking used=51 =>
             turn => done",
        ),
        ("money", "begin cost=50\n said hi => ask 0\n asking used=1 cost=51 => stop over"),
        (
            "asked, and as much again as it needs",
            "begin asks tokens=50
             said hi => ask 0
             asking used=80 => more? 50 tokens, which the next question would pass
             resume => more? 50 tokens, which the next question would pass
             yes => ask 0
             asking used=80 =>
             turn used=80 => done
             said hi => ask 0
             asking used=81 => more? 160 tokens, which the next question would pass
             no => stop over",
        ),
        (
            "nor to have it put into fewer words",
            "begin tokens=120 window=100
             said hi => ask 0
             turn a => judge a
             deny a => ask 0
             turn b used=90 => judge b
             deny b => compact 1
             asking used=30 => stop over",
        ),
        (
            "what nobody waits for changes nothing",
            "begin tokens=50
             asking used=99 =>
             said hi => ask 0
             turn => done
             asking used=99 =>
             said hi => ask 0",
        ),
    ]);
    let refused = "begin asks tokens=50
        said hi => ask 0
        asking used=80 => more? 50 tokens, which the next question would pass
        stop => stop";
    assert_eq!(check("what was not sent is free", refused).spent.usage.input, 0);
}

#[test]
fn reaching_a_limit_asks_to_raise_it_once() {
    check_all(&[
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
             launches a
             end a => ask 0
             turn b used=90 => judge b
             allow b => run b
             end b => compact 1
             compacted 1 => ask 0
             turn => done",
        ),
    ]);
}
