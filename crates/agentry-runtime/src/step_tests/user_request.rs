//! What the user asks of the run itself between two turns.

use super::*;

#[test]
fn a_model_is_chosen_between_turns() {
    check_all(&[
        (
            "the model that was chosen is used from now on, also after the run was ended",
            "begin models=2
             said hi => ask 0
             turn => done
             switch 1 =>
             said more => ask 1
             turn model=1 => done
             cancel => stop cancelled
             said again => ask 1
             turn model=1 => done
             switch 0 =>
             said last => ask 0",
        ),
        (
            "a model that is not in the plan, or a turn under way, changes nothing",
            "begin models=2
             switch 2 =>
             said hi => ask 0
             switch 1 =>
             clear! =>
             compact! =>
             turn => done
             said more => ask 0",
        ),
    ]);
}

#[test]
fn a_compaction_is_requested_between_turns() {
    check_all(&[
        (
            "a compaction asks for the summary alone",
            "begin
             compact! => done
             said a => ask 0
             turn => done
             compact! => done
             said b => ask 0
             turn => done
             compact! => compact 2
             compacted 2 => done
             compact! => done
             said c => ask 0",
        ),
        (
            "it is tried again, and a stopped one leaves the conversation",
            "begin
             said a => ask 0
             turn => done
             said b => ask 0
             turn => done
             compact! => compact 2
             fail temporary => wait 1000
             waited => compact 2
             stop => stop
             said c => ask 0
             turn => done",
        ),
        (
            "a resumed process carries it out",
            "begin
             said a => ask 0
             turn => done
             said b => ask 0
             turn => done
             compact! => compact 2
             resume => compact 2
             compacted 2 => done",
        ),
        (
            "a message meanwhile is answered after it",
            "begin
             said a => ask 0
             turn => done
             said b => ask 0
             turn => done
             compact! => compact 2
             said c =>
             compacted 2 => ask 0
             turn => done",
        ),
        (
            "it costs, so a limit holds for it, too",
            "begin turns=2
             said a => ask 0
             turn => done
             said b => ask 0
             turn => done
             compact! => stop over",
        ),
    ]);
}

fn texts(state: &StepState) -> Vec<String> {
    state.messages.iter().map(|message| message.text()).collect()
}

#[test]
fn clearing_removes_messages_and_keeps_spending() {
    let state = check(
        "clear",
        "begin
         said a => ask 0
         turn => done
         undone x =>
         clear! =>
         said b => ask 0",
    );
    assert_eq!(texts(&state), ["b"]);
    assert_eq!(state.spent.turns, 1);
}

#[test]
fn the_next_message_reports_undone_changes() {
    let state = check(
        "undone",
        "begin
         said a => ask 0
         turn => done
         undone x =>
         resume => done
         said b => ask 0",
    );
    let note = "(I have undone your changes to `x`: these files are as they were before.)";
    assert_eq!(texts(&state), ["a", "hm", note, "b"]);
}
