//! Calls the user to a question at the terminal: a bell, and a desktop notification (OSC 9) where the terminal
//! shows one.

use std::io::{self, IsTerminal as _};

use agentry_compile::NotifySettings;

use crate::output::print;

/// The notification. Nothing of the agent or the model is in it: it leaves the screen.
const MESSAGE: &str = "\x1b]9;Agentry: a run waits for your answer\x07";
const BELL: &str = "\x07";

/// Calls the user, if the output is a terminal.
pub(super) fn call_user(notify: NotifySettings) {
    // A dumb terminal would print the sequence.
    let is_dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
    if io::stdout().is_terminal() && !is_dumb {
        print(&signal(notify));
    }
}

fn signal(notify: NotifySettings) -> String {
    let part = |is_on: bool, text: &'static str| if is_on { text } else { "" };
    [part(notify.message, MESSAGE), part(notify.bell, BELL)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bell_and_notification_can_be_switched_off() {
        let cases = [
            (true, true, format!("{MESSAGE}{BELL}")),
            (true, false, BELL.to_owned()),
            (false, true, MESSAGE.to_owned()),
            (false, false, String::new()),
        ];
        for (bell, message, expected) in cases {
            assert_eq!(signal(NotifySettings { bell, message }), expected);
        }
    }
}
