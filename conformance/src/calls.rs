//! The table of calls that every agent tries, parsed from `calls.txt`.

use crate::clients::Action;

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// The tool that is called.
    pub(crate) tool: &'static str,
    /// The section of the policy that judges it.
    pub(crate) section: &'static str,
    /// The blind spot that the call tests, if any.
    pub(crate) trap: Option<String>,
    /// The command line, the path, the address, the glob, or the directory followed by a glob.
    pub(crate) subject: String,
}

/// Every tool, with the section that judges it.
const TOOLS: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("read", "read"),
    ("list", "read"),
    ("glob", "read"),
    ("grep", "read"),
    ("write", "edit"),
    ("webfetch", "webfetch"),
    ("websearch", "websearch"),
];

impl Case {
    /// The action of the agent.
    pub(crate) fn action(&self) -> Action {
        let subject = self.subject.clone();
        match self.tool {
            "bash" => Action::Bash(subject),
            "read" => Action::Read(subject),
            "list" => Action::List(subject),
            "glob" => Action::Glob(subject),
            "grep" => match subject.split_once(' ') {
                Some((directory, glob)) => {
                    Action::Grep(directory.to_owned(), Some(glob.to_owned()))
                }
                None => Action::Grep(subject, None),
            },
            "write" => Action::Write(subject),
            "webfetch" => Action::Fetch(subject),
            _ => Action::Search(subject),
        }
    }

    /// The arguments of `policy why`: the subject, and the pattern of a search through it.
    pub(crate) fn question(&self) -> (String, Option<String>) {
        match self.action() {
            Action::Glob(pattern) => (".".to_owned(), Some(format!("--search={pattern}"))),
            Action::Grep(directory, Some(glob)) => (directory, Some(format!("--search={glob}"))),
            Action::Grep(directory, None) => (directory, Some("--search".to_owned())),
            _ => (self.subject.clone(), None),
        }
    }
}

/// Parses the table; an unknown line is an error.
pub(crate) fn read(text: &str) -> Result<Vec<Case>, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| case(line).ok_or_else(|| format!("not a call: `{line}`"))).collect()
}

fn case(line: &str) -> Option<Case> {
    let (tool, rest) = line.split_once(' ')?;
    let (tool, section) = *TOOLS.iter().find(|(name, _)| *name == tool)?;
    // `[ -f x ]` at the end of a line is a command, not a blind spot.
    let trapped = rest.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let (trap, subject) = trapped.map_or((None, rest), |(trap, rest)| (Some(trap), rest));
    Some(Case { tool, section, trap: trap.map(str::to_owned), subject: subject.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::STAND_INS;

    const TABLE: &str = include_str!("../calls.txt");
    /// Commands that are harmless when they really run.
    const HARMLESS: &[&str] = &["echo", "ls", "sh", "timeout", "gitk"];

    #[test]
    fn call_lines_are_parsed() {
        let case = |tool, trap: Option<&str>, subject: &str| Case {
            tool,
            section: TOOLS.iter().find(|row| row.0 == tool).expect(tool).1,
            trap: trap.map(str::to_owned),
            subject: subject.to_owned(),
        };
        let cases = [
            ("bash git status", Ok(vec![case("bash", None, "git status")])),
            ("bash [nested] sh -c x", Ok(vec![case("bash", Some("nested"), "sh -c x")])),
            ("# bash x\n\nwrite a b", Ok(vec![case("write", None, "a b")])),
            ("bash [ -f x ]", Ok(vec![case("bash", None, "[ -f x ]")])),
            ("grep docs *.md", Ok(vec![case("grep", None, "docs *.md")])),
            ("dance wildly", Err("not a call: `dance wildly`".to_owned())),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    /// A client may really run any of them.
    #[test]
    fn every_command_of_the_table_is_harmless() {
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
