//! The table of calls that every agent tries, as `calls.txt` has it.

use crate::clients::Action;

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// The section of the policy that judges it.
    pub(crate) section: &'static str,
    /// What a client may fail to look at here.
    pub(crate) trap: Option<String>,
    /// The command line, the path or the address.
    pub(crate) subject: String,
}

impl Case {
    /// What the agent does.
    pub(crate) fn action(&self) -> Action {
        let subject = self.subject.clone();
        match self.section {
            "bash" => Action::Bash(subject),
            "read" => Action::Read(subject),
            "edit" => Action::Write(subject),
            "webfetch" => Action::Fetch(subject),
            _ => Action::Search(subject),
        }
    }
}

/// Reads the table; a line that is not understood is an error.
pub(crate) fn read(text: &str) -> Result<Vec<Case>, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| case(line).ok_or_else(|| format!("not a call: `{line}`"))).collect()
}

fn case(line: &str) -> Option<Case> {
    let (tool, rest) = line.split_once(' ')?;
    let section = match tool {
        "bash" => "bash",
        "read" => "read",
        "write" => "edit",
        "webfetch" => "webfetch",
        "websearch" => "websearch",
        _ => return None,
    };
    let trapped = rest.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let (trap, subject) = trapped.map_or((None, rest), |(trap, rest)| (Some(trap), rest));
    Some(Case { section, trap: trap.map(str::to_owned), subject: subject.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::STAND_INS;

    const TABLE: &str = include_str!("../calls.txt");
    /// What does no harm when it really runs.
    const HARMLESS: &[&str] = &["echo", "ls", "sh", "timeout", "gitk"];

    #[test]
    fn lines() {
        let case = |section, trap: Option<&str>, subject: &str| Case {
            section,
            trap: trap.map(str::to_owned),
            subject: subject.to_owned(),
        };
        let cases = [
            ("bash git status", Ok(vec![case("bash", None, "git status")])),
            ("bash [nested] sh -c x", Ok(vec![case("bash", Some("nested"), "sh -c x")])),
            ("# bash x\n\nwrite a b", Ok(vec![case("edit", None, "a b")])),
            ("bash [ -f x ]", Ok(vec![case("bash", None, "[ -f x ]")])),
            ("dance wildly", Err("not a call: `dance wildly`".to_owned())),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    /// A client may run any of them.
    #[test]
    fn no_command_of_the_table_can_do_harm() {
        for case in read(TABLE).expect("a table").iter().filter(|case| case.section == "bash") {
            for part in case.subject.split(['&', '|', ';', '(', '\'']) {
                let mut words = part.split_whitespace();
                let program = words.find(|word| !word.contains('=')).unwrap_or("echo");
                let is_known = STAND_INS.contains(&program) || HARMLESS.contains(&program);
                assert!(is_known, "`{program}` of `{}` has no stand-in", case.subject);
            }
        }
    }
}
