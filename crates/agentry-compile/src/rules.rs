//! The rules about files, before a format reads their text.

use agentry_text::{LintRule, RuleExample, Severity};

/// Every rule about files, in code order.
pub(crate) const RULES: &[&LintRule] = &[
    &UNREADABLE,
    &TOO_LARGE,
    &NOT_UTF8,
    &LEAVES_ROOT,
    &TOO_MANY_FILES,
    &AMBIGUOUS_DIRECTORY,
    &BAD_SUPPRESSION,
    &UNUSED_SUPPRESSION,
    &NAME_TAKEN,
    &UNSET_VARIABLE,
    &FAILED_POLICY_TEST,
];

const GOOD: RuleExample = RuleExample::File(
    "helper.agent",
    "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n",
);

pub(crate) static UNREADABLE: LintRule = LintRule {
    code: "AG0001",
    name: "unreadable-file",
    severity: Severity::Error,
    why: "A file that cannot be read (no permission, a directory or a device in its place, an \
          error of the disk) may say anything; the agent is not used without it.",
    bad: RuleExample::Made("`SOUL.md` is a directory", || {
        let manifest = b"name: helper\ndescription: Answers questions\n".to_vec();
        vec![
            ("helper/agent.yaml".to_owned(), manifest),
            ("helper/SOUL.md/x".to_owned(), Vec::new()),
        ]
    }),
    good: GOOD,
};

pub(crate) static TOO_LARGE: LintRule = LintRule {
    code: "AG0002",
    name: "file-too-large",
    severity: Severity::Error,
    why: "No file of an agent may be larger than 1 MiB. What is larger is data, not a definition, \
          and would fill the context of every model.",
    bad: RuleExample::Made("a manifest of more than 1 MiB", || {
        vec![("helper.agent".to_owned(), vec![b'#'; 1024 * 1024 + 1])]
    }),
    good: GOOD,
};

pub(crate) static NOT_UTF8: LintRule = LintRule {
    code: "AG0003",
    name: "not-utf8",
    severity: Severity::Error,
    why: "Definitions are UTF-8 text. Bytes in another encoding would be read as other characters \
          by other programs.",
    bad: RuleExample::Made("a manifest with the byte 0xE9, which is `é` in Latin-1", || {
        vec![("helper.agent".to_owned(), b"name: helper\ndescription: caf\xe9\n".to_vec())]
    }),
    good: GOOD,
};

pub(crate) static LEAVES_ROOT: LintRule = LintRule {
    code: "AG0004",
    name: "link-leaves-agent",
    severity: Severity::Error,
    why: "A link that leads out of the agent's directory would pull any file of the machine into \
          the agent, and its digest would not cover it.",
    bad: RuleExample::Made("`SOUL.md` is a link to `/etc/passwd`", || {
        vec![
            (
                "helper/agent.yaml".to_owned(),
                b"name: helper\ndescription: Answers questions\n".to_vec(),
            ),
            ("helper/SOUL.md".to_owned(), b"-> /etc/passwd".to_vec()),
        ]
    }),
    good: GOOD,
};

pub(crate) static TOO_MANY_FILES: LintRule = LintRule {
    code: "AG0005",
    name: "too-many-files",
    severity: Severity::Error,
    why: "More than 10,000 files take part in the agent; something that is not an agent was taken \
          for one.",
    bad: RuleExample::Made("a directory with 10,001 skills", || {
        let skill = |at| {
            let text =
                format!("---\nname: s{at}\ndescription: Answers question {at}\n---\nAnswer it.\n");
            (format!("helper/skills/s{at}.md"), text.into_bytes())
        };
        let mut files: Vec<_> = (0..10_001).map(skill).collect();
        files.push(("helper/instructions.md".to_owned(), b"You answer questions.\n".to_vec()));
        files
    }),
    good: GOOD,
};

pub(crate) static AMBIGUOUS_DIRECTORY: LintRule = LintRule {
    code: "AG0006",
    name: "ambiguous-directory",
    severity: Severity::Error,
    why: "A directory with the main files of two formats could be either agent; which one runs \
          must not depend on the program that looks.",
    bad: RuleExample::Files(&[
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
        ("helper/agent.yaml", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
    ]),
    good: RuleExample::Files(&[
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
};

pub(crate) static BAD_SUPPRESSION: LintRule = LintRule {
    code: "AG0007",
    name: "bad-suppression",
    severity: Severity::Error,
    why: "A suppression names a rule that exists and says why: `# agentry: allow(unknown-field) read \
          by our own tooling`. Without a reason it is not clear later whether it still holds.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n# agentry: allow(unknown-field)\nteam: support\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n# agentry: allow(unknown-field) read by our own tooling\nteam: support\n",
    ),
};

pub(crate) static UNUSED_SUPPRESSION: LintRule = LintRule {
    code: "AG0008",
    name: "unused-suppression",
    severity: Severity::Warning,
    why: "The suppression hides nothing any more; left in place it would hide the next finding.",
    bad: RuleExample::File(
        "helper.agent",
        "# agentry: allow(unknown-field) read by our own tooling\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n",
    ),
    good: GOOD,
};

pub(crate) static UNSET_VARIABLE: LintRule = LintRule {
    code: "AG0010",
    name: "unset-variable",
    severity: Severity::Warning,
    why: "`env(\"NAME\")` takes the value of a variable when the agent runs. Where it is not set the \
          field has no value, and running the agent is an error.",
    bad: RuleExample::Files(&[
        ("helper/instructions.md", "You answer questions.\n"),
        ("helper/agent.acl", "sessions_dir = env(\"UNSET_SESSIONS\")\n"),
    ]),
    good: RuleExample::Files(&[
        ("helper/instructions.md", "You answer questions.\n"),
        ("helper/agent.acl", "sessions_dir = \"sessions\"\n"),
    ]),
};

pub(crate) static NAME_TAKEN: LintRule = LintRule {
    code: "AG0009",
    name: "name-taken",
    severity: Severity::Error,
    why: "Agents are called by their names; two agents of one name in a workspace cannot both be \
          meant.",
    bad: RuleExample::Files(&[
        ("agents/helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("agents/helper/system-prompt.md", "You answer questions.\n"),
        (
            "more/helper/agent.toml",
            "name = \"helper\"\ndescription = \"Answers other questions\"\n",
        ),
        ("more/helper/system-prompt.md", "You answer other questions.\n"),
    ]),
    good: RuleExample::Files(&[
        ("agents/helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("agents/helper/system-prompt.md", "You answer questions.\n"),
    ]),
};

pub(crate) static FAILED_POLICY_TEST: LintRule = LintRule {
    code: "AG0016",
    name: "failed-policy-test",
    severity: Severity::Error,
    why: "An example beside the rules says what the author meant. Where the rules answer otherwise, \
          one of the two is wrong.",
    bad: RuleExample::Files(&[
        (
            "helper/agent.toml",
            "name = \"helper\"\ndescription = \"Answers questions\"\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push ** --force*:deny\"]\n[policy-tests.bash]\nallow = [\"git push\"]\n",
        ),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
    good: RuleExample::Files(&[
        (
            "helper/agent.toml",
            "name = \"helper\"\ndescription = \"Answers questions\"\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push ** --force*:deny\"]\n[policy-tests.bash]\nask = [\"git push\"]\ndeny = [\"git push origin --force\"]\n",
        ),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
};
