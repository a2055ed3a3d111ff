//! Models that fail, are cut off, or hear too much.

use super::*;

#[test]
fn models_that_do_not_answer() {
    let cases = [
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
             fail temporary after=99999999 => wait 600000",
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
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn answers_that_are_cut_off() {
    let cases = [
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
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn fewer_words() {
    let cases = [
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
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn a_long_result_counts_before_the_model_reads_it() {
    let begin = "begin window=1000
        said hi => ask 0
        turn a => judge a
        allow a => run a
        end a => ask 0
        turn b => judge b
        allow b => run b";
    let mut state = check("a long result", begin);
    let event = Event::Ended { id: "b".to_owned(), text: "x".repeat(4_000), failed: false };
    let effects = step(&mut state, Happened { at: 0, event });
    assert_eq!(shown(&effects), "compact 1");
}
