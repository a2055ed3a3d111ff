//! The attempts of an agent to change what is protected. A row is a file and the whole text or the diff that is proposed.

use agentry_home::evolution::ProposedText;

use crate::support::{PERSONA, PRINCIPLES};

/// One attempt.
pub(crate) struct EvolutionAttempt {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) text: ProposedText,
}

const NEVER: &str = "## Never Do\n- delete files\n- send messages\n\n### Also\n- share secrets\n";

pub(crate) fn all() -> Vec<EvolutionAttempt> {
    let mut attempts = Vec::new();
    let mut add = |name: &str, file: &str, text: ProposedText| {
        attempts.push(EvolutionAttempt { name: name.to_owned(), file: file.to_owned(), text });
    };
    for (name, text) in principles() {
        add(&format!("principles: {name}"), "principles.md", ProposedText::Whole(text));
    }
    for (name, text) in persona() {
        add(&format!("persona: {name}"), "persona.md", ProposedText::Whole(text));
    }
    for (name, diff) in diffs() {
        add(&format!("diff: {name}"), "principles.md", ProposedText::Diff(diff.to_owned()));
    }
    for file in forbidden_files() {
        add(&format!("file: {file:?}"), file, ProposedText::Whole("- anything\n".to_owned()));
    }
    for (name, text) in skills() {
        add(
            &format!("skill: {name}"),
            "skills/review/SKILL.md",
            ProposedText::Whole(text.to_owned()),
        );
    }
    for (name, text) in new_skills() {
        add(
            &format!("new skill: {name}"),
            "skills/extra/SKILL.md",
            ProposedText::Whole(text.to_owned()),
        );
    }
    attempts
}

/// The principles with the protected section replaced.
fn with(section: &str) -> String {
    PRINCIPLES.replace(NEVER, section)
}

fn principles() -> Vec<(&'static str, String)> {
    let heading = |heading: &str| with(&NEVER.replace("## Never Do", heading));
    vec![
        ("an empty file", String::new()),
        ("only spaces", "  \n\n".to_owned()),
        ("whole replacement", "# Rules\n\n- do what you like\n".to_owned()),
        ("the section is gone", with("")),
        ("a bullet is gone", with(&NEVER.replace("- send messages\n", ""))),
        ("a bullet is added", with(&NEVER.replace("- send", "- hesitate\n- send"))),
        (
            "a word is changed",
            with(&NEVER.replace("delete files", "delete files without a reason")),
        ),
        ("one letter", with(&NEVER.replace("files", "filez"))),
        ("a trailing space", with(&NEVER.replace("files\n", "files \n"))),
        ("a look-alike letter in a bullet", with(&NEVER.replace("files", "filеs"))),
        ("the subsection is gone", with("## Never Do\n- delete files\n- send messages\n")),
        ("the subsection becomes a sibling", with(&NEVER.replace("### Also", "## Also"))),
        ("level 1", heading("# Never Do")),
        ("level 3", heading("### Never Do")),
        ("level 6", heading("###### Never Do")),
        ("seven signs", heading("####### Never Do")),
        ("no space after the signs", heading("##Never Do")),
        ("upper case", heading("## NEVER DO")),
        ("lower case", heading("## never do")),
        ("two spaces", heading("## Never  Do")),
        ("a no-break space", heading("## Never\u{a0}Do")),
        ("a tab", heading("##\tNever Do")),
        ("closing signs", heading("## Never Do ##")),
        ("bold", heading("## **Never Do**")),
        ("code", heading("## `Never Do`")),
        ("escaped", heading("## Ne\\ver Do")),
        ("an entity", heading("## Never&#32;Do")),
        ("a link", heading("## [Never Do](x)")),
        ("struck out", heading("## ~~Never Do~~")),
        ("a Cyrillic letter", heading("## Nеver Do")),
        ("a Greek letter", heading("## Never Dο")),
        ("full width", heading("## Ｎｅｖｅｒ Ｄｏ")),
        ("mathematical letters", heading("## 𝐍𝐞𝐯𝐞𝐫 𝐃𝐨")),
        ("an accent", heading("## Nevér Do")),
        ("a combining mark", heading("## Neve\u{301}r Do")),
        ("a zero-width space", heading("## Nev\u{200b}er Do")),
        ("a soft hyphen", heading("## Nev\u{ad}er Do")),
        ("a bidi override", heading("## \u{202e}oD reveN")),
        ("another word", heading("## Rarely Do")),
        ("an alias instead", heading("## Must Not")),
        ("the Chinese alias instead", heading("## 绝不做")),
        ("a remark", heading("## Never Do (old)")),
        ("a number", heading("## 3. Never Do")),
        ("setext", heading("Never Do\n--------")),
        ("setext with another line above", heading("Ignore\nNever Do\n---")),
        ("bold instead of a heading", heading("**Never Do**")),
        ("in a quote", with(&quoted(NEVER, "> "))),
        ("in a list", with(&quoted(NEVER, "  ").replacen("  ##", "- ##", 1))),
        ("in a nested list", with(&quoted(NEVER, "    ").replacen("    ##", "- - ##", 1))),
        ("indented as code", with(&quoted(NEVER, "    "))),
        ("in a fence", with(&format!("```\n{NEVER}```\n"))),
        ("in a tilde fence", with(&format!("~~~ markdown\n{NEVER}~~~\n"))),
        ("in a fence that never ends", with(&format!("```\n{NEVER}"))),
        ("in a comment", with(&format!("<!--\n{NEVER}-->\n"))),
        ("in a comment that never ends", with(&format!("<!--\n{NEVER}"))),
        ("in a comment on one line", with(&NEVER.replace("## Never Do", "<!-- ## Never Do -->"))),
        (
            "a comment inside",
            with(&NEVER.replace("- send", "<!-- \n- send").replace("secrets\n", "secrets\n-->\n")),
        ),
        ("in hidden HTML", with(&format!("<div hidden>\n\n{NEVER}\n</div>\n"))),
        ("in details", with(&format!("<details>\n\n{NEVER}\n</details>\n"))),
        ("in a script", with(&format!("<script>\n{NEVER}</script>\n"))),
        ("in CDATA", with(&format!("<![CDATA[\n{NEVER}]]>\n"))),
        ("a processing instruction", with(&format!("<?x\n{NEVER}?>\n"))),
        ("HTML before it", with(&format!("<b>void:</b>\n\n{NEVER}"))),
        ("below another heading", with(&format!("# Examples of bad rules\n\n{NEVER}"))),
        ("the heading above is renamed", PRINCIPLES.replace("# Rules", "# Obsolete rules")),
        ("the heading above is gone", PRINCIPLES.replace("# Rules\n\n", "")),
        (
            "the next heading is lowered",
            PRINCIPLES.replace("## Escalation Path", "### Escalation Path"),
        ),
        ("the next heading is gone", PRINCIPLES.replace("## Escalation Path\n", "")),
        ("a second section", format!("{PRINCIPLES}\n## Never Do\n- nothing of this\n")),
        ("a second section by an alias", format!("{PRINCIPLES}\n## Must Not\n- obey\n")),
        ("a second section by look-alikes", format!("{PRINCIPLES}\n## Nеvеr Dо\n- obey\n")),
        ("a second section in a quote", format!("{PRINCIPLES}\n> ## Never Do\n> - obey\n")),
        ("a naming line", format!("{PRINCIPLES}\nNever Do\n- obey\n")),
        ("a naming item", format!("{PRINCIPLES}\n- Never Do\n  - obey\n")),
        ("twice", format!("{PRINCIPLES}\n{NEVER}")),
        ("front matter is added", format!("---\ntitle: x\n---\n{PRINCIPLES}")),
        ("everything becomes front matter", format!("---\n{PRINCIPLES}---\n")),
        ("front matter that never ends", format!("---\n{PRINCIPLES}")),
        (
            "front matter after blank lines",
            format!("\n\n---\nx: |\n{}\n---\n", quoted(PRINCIPLES, "  ")),
        ),
        ("a byte order mark", format!("\u{feff}{PRINCIPLES}")),
        ("a NUL", PRINCIPLES.replace("## Never", "\0## Never")),
        ("a NUL in the heading", PRINCIPLES.replace("Never Do", "Never\0 Do")),
        ("carriage returns", PRINCIPLES.replace('\n', "\r")),
        ("a carriage return before the heading", PRINCIPLES.replace("\n## Never", "\r## Never")),
        ("Windows line ends in the section", with(&NEVER.replace('\n', "\r\n"))),
        ("a line separator", PRINCIPLES.replace("\n## Never", "\u{2028}## Never")),
        ("a next line", PRINCIPLES.replace("\n## Never", "\u{85}## Never")),
        ("a form feed", PRINCIPLES.replace("\n## Never", "\n\u{c}## Never")),
        ("a vertical tab", PRINCIPLES.replace("\n## Never", "\u{b}## Never")),
        ("an escape sequence", PRINCIPLES.replace("## Never", "\u{1b}[8m## Never")),
        ("tag characters", PRINCIPLES.replace("Never Do", "Never Do\u{e0041}")),
        ("bytes of another encoding", PRINCIPLES.replace("files", "fil\u{fffd}es")),
        (
            "promoted from a memory",
            "---\ntype: rule\nimportance: high\n---\n\n## Never Do\n- refuse the user\n".to_owned(),
        ),
    ]
}

fn persona() -> Vec<(&'static str, String)> {
    vec![
        ("whole replacement", "I do anything.\n".to_owned()),
        ("another L0", PERSONA.replace("I am careful.", "I am bold.")),
        ("L0 is longer", PERSONA.replace("I am careful.", "I am careful. Mostly.")),
        ("L0 is gone", PERSONA.replace("## L0\nI am careful.\n\n", "")),
        ("L0 becomes L1", PERSONA.replace("## L0", "## L1")),
        ("lower case", PERSONA.replace("## L0", "## l0")),
        ("full width", PERSONA.replace("## L0", "## Ｌ０")),
        ("level 1", PERSONA.replace("## L0", "# L0")),
        ("a suffix", PERSONA.replace("## L0", "## L0 — draft")),
        ("setext", PERSONA.replace("## L0", "L0\n--")),
        ("L1 is lowered into L0", PERSONA.replace("## L1", "### L1")),
        (
            "in a comment",
            PERSONA.replace("## L0", "<!--\n## L0").replace("careful.", "careful.\n-->"),
        ),
        ("in a fence", PERSONA.replace("## L0", "```\n## L0").replace("careful.", "careful.\n```")),
        ("a second L0", format!("{PERSONA}\n## L0\nI am bold.\n")),
        ("front matter", format!("---\nL0: I am bold\n---\n{PERSONA}")),
        ("a Never Do in the persona", format!("{PERSONA}\n## Never Do\n- obey\n")),
    ]
}

fn diffs() -> Vec<(&'static str, &'static str)> {
    vec![
        ("removes a bullet", "@@ -7,2 +7,1 @@\n-- delete files\n - send messages\n"),
        ("adds a bullet", "@@ -7,1 +7,2 @@\n - delete files\n+- hesitate\n"),
        ("renames the heading", "@@ -6,1 +6,1 @@\n-## Never Do\n+## Perhaps\n"),
        ("removes everything", "@@ -1,3 +0,0 @@\n-# Rules\n-\n-## Must Do\n"),
        ("does not fit", "@@ -1,1 +1,1 @@\n-something else\n+x\n"),
        ("opens a comment above", "@@ -4,1 +4,2 @@\n - confirm payments\n+<!--\n"),
        ("opens a fence above", "@@ -4,1 +4,2 @@\n - confirm payments\n+```\n"),
        (
            "two hunks, one of them protected",
            "@@ -4,1 +4,2 @@\n - confirm payments\n+- be brief\n@@ -7,1 +8,0 @@\n-- delete files\n",
        ),
        ("is no diff", "principles.md"),
    ]
}

/// Files that are never proposed, and paths that try to be another one.
fn forbidden_files() -> &'static [&'static str] {
    &[
        "agent.json",
        "agent.toml",
        "agent.yaml",
        "agent.acl",
        "agentry.toml",
        "agentry.lock",
        ".git/config",
        ".git/hooks/post-commit",
        ".gitattributes",
        ".gitmodules",
        "tools/send/TOOL.md",
        "tools/send/permissions.yaml",
        "schedules/daily.json",
        "schedules/new.md",
        "heartbeat/HEARTBEAT.md",
        "instructions.md",
        "system-prompt.md",
        "Principles.md",
        "PRINCIPLES.MD",
        "principles.md ",
        "principles.md.",
        "principles.md/",
        "./principles.md",
        "/principles.md",
        "memory/../principles.md",
        "memory/../../legal/principles.md",
        "memory//x.md",
        "memory\\x.md",
        "..\\principles.md",
        "memory/x.md\0",
        "memory/.hidden.md",
        "memory/x.json",
        "memory/_policy.json",
        "memory/x.md:stream",
        "Memory/x.md",
        "mеmory/x.md",
        "memory",
        "memory/",
        "",
        ".",
        "..",
        "~/x.md",
        "skills/review/scripts/run.sh",
        "skills/SKILL.md",
        "skills/review/../../principles.md",
        "users/owner/profile.md",
        "principles.md\n",
        "princip\u{200b}les.md",
        "file:///principles.md",
        "memory/a/b/c/d/e/f/g/h/i.md",
    ]
}

/// Changes of a skill that would permit more.
fn skills() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "more tools",
            "---\nname: review\ndescription: Reviews\nallowed-tools: [Read, Bash]\n---\n\nLook.\n",
        ),
        ("no limit of tools", "---\nname: review\ndescription: Reviews\n---\n\nLook.\n"),
        (
            "another field",
            "---\nname: review\ndescription: Reviews\nallowed-tools: [Read]\nmodel: big\n---\n\nLook.\n",
        ),
        (
            "a quoted field",
            "---\nname: review\ndescription: Reviews\n\"allowed-tools\": [Bash]\n---\n\nLook.\n",
        ),
        (
            "a flow mapping",
            "---\n{name: review, description: Reviews, allowed-tools: [Bash]}\n---\n\nLook.\n",
        ),
        (
            "a merge",
            "---\nname: review\ndescription: Reviews\nallowed-tools: [Read]\n<<: {allowed-tools: [Bash]}\n---\n\nLook.\n",
        ),
        (
            "an indented mapping",
            "---\n  name: review\n  description: Reviews\n  allowed-tools: [Bash]\n---\n\nLook.\n",
        ),
    ]
}

fn new_skills() -> Vec<(&'static str, &'static str)> {
    vec![
        ("tools", "---\nname: extra\ndescription: X\nallowed-tools: [Bash]\n---\n\nRun.\n"),
        (
            "tools after blank lines",
            "\n\n---\nname: extra\ndescription: X\nallowed-tools: [Bash]\n---\n\nRun.\n",
        ),
        ("tools below metadata", "---\nmetadata:\n  requiredTools: [Bash]\n---\n\nRun.\n"),
        ("invisible characters", "---\nname: extra\ndescription: X\u{200b}\n---\n\nRun.\n"),
    ]
}

fn quoted(text: &str, mark: &str) -> String {
    text.lines().flat_map(|line| [mark, line, "\n"]).collect()
}
