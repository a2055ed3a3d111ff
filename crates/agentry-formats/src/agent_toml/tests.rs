//! Tests of the whole format: every rule by name, fixtures, fixes and conversions.

use agentry_model::{Agent, ConversionLoss, Format, tree};
use agentry_text::edit::apply;
use agentry_text::{Data, Diagnostic, Findings, SourceFile, SourceFiles, path};

use super::{INFO, RULES};
use crate::{
    AgentPackage, ListedName, OutputShape, PackageFiles, PathBase, PathPresence, WriteTarget,
    convert,
};

/// A workspace in memory, seen from the directory of its only agent.
struct Workspace {
    files: Vec<(String, String)>,
    dir: String,
    sources: SourceFiles,
}

impl Workspace {
    fn new(files: Vec<(String, String)>) -> Self {
        let main = files.iter().find_map(|(path, _)| path.strip_suffix("agent.toml"));
        let dir = main.unwrap_or("").trim_end_matches('/').to_owned();
        Self { files, dir, sources: SourceFiles::default() }
    }

    fn read(mut self) -> Outcome {
        let dir = self.dir.clone();
        let dir_name = path::name(&dir).to_owned();
        let mut findings = Findings::default();
        let main = "agent.toml".to_owned();
        let mut package = AgentPackage { main, dir_name, dir, files: &mut self };
        let agent = (INFO.read)(&mut package, &mut findings);
        Outcome { agent, found: findings.into_sorted(), sources: self.sources }
    }

    /// Returns the path from the root of the workspace; `None` if it leaves the workspace.
    fn full(&self, base: PathBase, path: &str) -> Option<String> {
        let start = if base == PathBase::Agent { self.dir.as_str() } else { "" };
        if path.starts_with('/') { None } else { path::normal(&path::join(start, path)) }
    }
}

impl PackageFiles for Workspace {
    fn read(&mut self, path: &str, _: &mut Findings) -> Option<SourceFile> {
        let full = self.full(PathBase::Agent, path)?;
        let (_, text) = self.files.iter().find(|(name, _)| *name == full)?;
        Some(self.sources.add(path, text))
    }

    fn list(&mut self, _: &str, _: &mut Findings) -> Vec<ListedName> {
        let prefix = format!("{}/", self.dir);
        let names = self.files.iter().filter_map(|(name, _)| name.strip_prefix(&prefix));
        names.map(|name| ListedName { name: name.to_owned(), is_dir: false }).collect()
    }

    fn probe(&mut self, base: PathBase, path: &str) -> PathPresence {
        let Some(full) = self.full(base, path) else { return PathPresence::Outside };
        let below = format!("{full}/");
        if self.files.iter().any(|(name, _)| *name == full) {
            PathPresence::File
        } else if self.files.iter().any(|(name, _)| name.starts_with(&below)) {
            PathPresence::Directory
        } else {
            PathPresence::Missing
        }
    }
}

struct Outcome {
    agent: Agent,
    found: Vec<Diagnostic>,
    sources: SourceFiles,
}

impl Outcome {
    /// Returns one line for each finding: position, code and message.
    fn lines(&self) -> Vec<String> {
        let line = |found: &Diagnostic| {
            let at = self.sources.start(found.span);
            let Diagnostic { rule, severity, message, .. } = found;
            format!("{}:{} {severity} {}: {message}", at.line, at.column, rule.code)
        };
        self.found.iter().map(line).collect()
    }
}

/// Reads an agent `helper` with these lines after its name and description.
fn helper(more: &str) -> Outcome {
    agent(&format!("name = \"helper\"\ndescription = \"Answers questions\"\n{more}"))
}

fn agent(text: &str) -> Outcome {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    Workspace::new(vec![
        file("agents/helper/agent.toml", text),
        file("agents/helper/system-prompt.md", "You answer questions.\n"),
        file("agents/helper/skills/own.md", "Own.\n"),
        file("context/profile.md", "Short answers.\n"),
        file("rules/languages/nix.md", "Use flakes.\n"),
        file("skills/git-master/SKILL.md", "Commit.\n"),
        file(".agents/skills/one/SKILL.md", "One.\n"),
        file(".claude/skills/two.md", "Two.\n"),
    ])
    .read()
}

fn data(agent: &Agent) -> Data {
    tree::tree(agent).to_data()
}

#[test]
fn name_findings_have_positions() {
    let cases = [
        ("name = \"helper\"", vec![]),
        ("", vec!["1:1 error AG0102: `agent.toml` has no `name`"]),
        ("name = 7", vec!["1:8 error AG0103: `name` is a whole number, expected a string"]),
        ("name = \"Helper\"", vec!["1:8 error AG2001: name `Helper` is not kebab-case"]),
        (
            "name = \"code reviewer\"",
            vec!["1:8 error AG2001: name `code reviewer` is not kebab-case"],
        ),
        ("name = \"-helper\"", vec!["1:8 error AG2001: name `-helper` is not kebab-case"]),
        ("name = \"helper-\"", vec!["1:8 error AG2001: name `helper-` is not kebab-case"]),
        ("name = \"hélper\"", vec!["1:8 error AG2001: name `hélper` is not kebab-case"]),
        ("name = \"\"", vec!["1:8 error AG2001: name `` is not kebab-case"]),
        (
            "name = \"helper-2\"",
            vec!["1:8 warning AG2002: name `helper-2` is not the directory's, `helper`"],
        ),
    ];
    for (line, expected) in cases {
        let found = agent(&format!("{line}\ndescription = \"Answers questions\"\n")).lines();
        let expected: Vec<_> = expected
            .iter()
            .map(|it| it.replace("1:1 ", if line.is_empty() { "2:1 " } else { "1:1 " }))
            .collect();
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn description_findings_have_positions() {
    let cases = [
        ("description = \"Answers questions\"", vec![]),
        ("", vec!["1:1 error AG0102: `agent.toml` has no `description`"]),
        ("description = \"a\\nb\"", vec!["2:15 error AG0108: `description` has several lines"]),
        (
            "description = \"\"\"\na\nb\n\"\"\"",
            vec!["2:15 error AG0108: `description` has several lines"],
        ),
        ("description = \"\"", vec!["2:15 error AG2004: the description is empty"]),
        ("description = \"  \"", vec!["2:15 error AG2004: the description is empty"]),
        (
            "description = \"A. B.\"",
            vec!["2:15 warning AG2003: the description ends with a full stop"],
        ),
        ("description = \"Plan Mode. Read-only\"", vec![]),
    ];
    for (line, expected) in cases {
        assert_eq!(agent(&format!("name = \"helper\"\n{line}\n")).lines(), expected, "{line}");
    }
}

#[test]
fn invalid_optional_fields_are_reported() {
    let cases = [
        ("display_name = \"Helper (Assistant)\"", vec![]),
        ("mode = \"primary\"", vec![]),
        ("mode = \"subagent\"", vec![]),
        ("mode = \"all\"", vec![]),
        ("mode = \"Primary\"", vec!["3:8 error AG0104: `mode` cannot be `Primary`"]),
        ("tags = [\"a\", \"b\"]", vec![]),
        ("tags = \"a\"", vec!["3:8 error AG0103: `tags` is a string, expected a list"]),
        ("tags = [1]", vec!["3:9 error AG0103: `tags` is a whole number, expected a string"]),
        ("max_turns = 1", vec![]),
        ("max_turns = 0", vec!["3:13 error AG0106: `max_turns` is out of range"]),
        ("max_turns = -5", vec!["3:13 error AG0106: `max_turns` is out of range"]),
        (
            "max_turns = \"50\"",
            vec!["3:13 error AG0103: `max_turns` is a string, expected a whole number"],
        ),
        ("colour = \"red\"", vec!["3:1 warning AG0101: `agent.toml` has no field `colour`"]),
        ("x-team = \"support\"", vec![]),
        ("extensions = { team = \"support\" }", vec![]),
    ];
    for (line, expected) in cases {
        assert_eq!(helper(&format!("{line}\n")).lines(), expected, "{line}");
    }
}

#[test]
fn excluded_fields_are_errors() {
    for field in ["model", "prompt", "mcp", "hooks"] {
        let found = helper(&format!("{field} = \"x\"\n"));
        let [line] = found.lines().try_into().expect("one finding");
        assert!(line.starts_with("3:1 error AG0107: "), "{line}");
        assert!(line.contains(&format!("`{field}` is not part of this format: ")), "{line}");
    }
    let cases = [
        (
            "x-created = 2026-04-13",
            "3:13 error AG2007: `2026-04-13` is a date, which this format has not",
        ),
        ("x-at = [07:32:00]", "3:9 error AG2007: `07:32:00` is a date, which this format has not"),
        (
            "tags = [2026-04-13]",
            "3:9 error AG2007: `2026-04-13` is a date, which this format has not",
        ),
        (
            "x-a = { b = 2026-04-13T07:32:00Z }",
            "3:13 error AG2007: `2026-04-13T07:32:00Z` is a date, which this format has not",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(helper(&format!("{line}\n")).lines(), [expected], "{line}");
    }
}

#[test]
fn missing_named_files_are_reported() {
    let cases = [
        ("context = [\"../../context/profile.md\"]", vec![]),
        (
            "context = [\"profile.md\"]",
            vec!["3:12 error AG2008: there is no context file `profile.md`"],
        ),
        (
            "context = [\"../../context\"]",
            vec!["3:12 error AG2008: `../../context` is a directory"],
        ),
        ("context = [\"\"]", vec!["3:12 error AG2008: there is no context file ``"]),
        (
            "context = [\"../../../x.md\"]",
            vec!["3:12 error AG2010: `../../../x.md` is outside the workspace"],
        ),
        (
            "context = [\"/etc/passwd\"]",
            vec!["3:12 error AG2010: `/etc/passwd` is outside the workspace"],
        ),
        ("rules = [\"languages/nix\"]", vec![]),
        (
            "rules = [\"languages/go\"]",
            vec![
                "3:10 error AG2009: there is no rule file `rules/languages/go.md` in the workspace",
            ],
        ),
        (
            "rules = [\"rules/languages/nix.md\"]",
            vec![
                "3:10 error AG2009: there is no rule file `rules/rules/languages/nix.md.md` in the workspace",
            ],
        ),
        (
            "rules = [\"../context/profile\"]",
            vec!["3:10 error AG2010: `../context/profile` is outside the workspace"],
        ),
        ("skills = [\"own\", \"git-master\", \"one\", \"two\"]", vec![]),
        (
            "skills = [\"none\"]",
            vec![
                "3:11 warning AG2011: skill `none` is neither with the agent nor in the workspace",
            ],
        ),
        (
            "skills = [\"../skills/git-master\"]",
            vec![
                "3:11 warning AG2011: skill `../skills/git-master` is neither with the agent nor in the workspace",
            ],
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(helper(&format!("{line}\n")).lines(), expected, "{line}");
    }
}

#[test]
fn prompt_file_findings_have_positions() {
    let toml = "name = \"helper\"\ndescription = \"Answers questions\"\n";
    let cases = [
        (vec![("system-prompt.md", "Hello.\n")], vec![], None),
        (
            vec![],
            vec!["1:1 error AG2005: there is no `system-prompt.md`"],
            Some("write the instructions into `system-prompt.md` beside it"),
        ),
        (
            vec![("prompt.md", "Hello.\n")],
            vec!["1:1 error AG2005: there is no `system-prompt.md`"],
            Some("rename `prompt.md` to `system-prompt.md`"),
        ),
        (
            vec![("system-prompt.md", " \n")],
            vec!["1:1 error AG2006: the system prompt is empty"],
            Some("say who the agent is and what it does"),
        ),
    ];
    for (files, expected, hint) in cases {
        let mut all = vec![("helper/agent.toml".to_owned(), toml.to_owned())];
        all.extend(files.iter().map(|(path, text)| (format!("helper/{path}"), (*text).to_owned())));
        let found = Workspace::new(all).read();
        assert_eq!(found.lines(), expected, "{files:?}");
        let hints = found.found.first().and_then(|found| found.hint.as_deref());
        assert_eq!(hints, hint, "{files:?}");
    }
}

#[test]
fn permission_section_findings_have_positions() {
    let all = agentry_policy::Section::WORDS.iter();
    let all = all.map(|tool| format!("[permissions.{tool}]\nintent = \"deny\"\n"));
    assert_eq!(helper(&all.collect::<String>()).lines(), Vec::<String>::new());
    let cases = [
        ("[permissions.bash]", "3:1 error AG0102: the permission has no `intent`"),
        (
            "[permissions.bsh]\nintent = \"ask\"",
            "3:14 error AG0101: `[permissions]` has no field `bsh`",
        ),
        (
            "[permissions.write]\nintent = \"ask\"",
            "3:14 error AG0101: `[permissions]` has no field `write`",
        ),
        ("[permissions.bash]\nintent = \"Allow\"", "4:10 error AG0104: `intent` cannot be `Allow`"),
        ("[permissions.bash]\nintent = \"block\"", "4:10 error AG0104: `intent` cannot be `block`"),
        (
            "[permissions.bash]\nintent = \"ask\"\nrule = []",
            "5:1 warning AG0101: the permission has no field `rule`",
        ),
        ("[permissions]\nbash = \"allow\"", "4:8 error AG0103: `bash` is a string, expected a map"),
    ];
    for (text, expected) in cases {
        assert_eq!(helper(&format!("{text}\n")).lines(), [expected], "{text}");
    }
    let hint = helper("[permissions.write]\nintent = \"ask\"\n").found[0].hint.clone();
    assert!(hint.is_some_and(|hint| hint.starts_with("use one of `bash`, `edit`")));
}

/// Reads a `bash` section with these rules, whose first one is at line 5, column 10.
fn bash(rules: &[&str]) -> Outcome {
    let rules: Vec<_> = rules.iter().map(|rule| format!("  \"{rule}\",\n")).collect();
    helper(&format!("[permissions.bash]\nintent = \"allow\"\nrules = [\n{}]\n", rules.concat()))
}

#[test]
fn permission_rule_findings_have_positions() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["npm run test:unit:allow"], &[]),
        (&["npm run test:unit"], &["6:17 error AG2013: `unit` is not an action"]),
        (&["git push"], &["6:3 error AG2012: rule `git push` has no action"]),
        (&[":allow"], &["6:3 error AG2012: rule `:allow` has no pattern"]),
        (&["ls *:Allow"], &["6:9 error AG2013: `Allow` is not an action"]),
        (&["ls *: allow"], &["6:9 error AG2013: ` allow` is not an action"]),
        (&["ls *:alow"], &["6:9 error AG2013: `alow` is not an action"]),
        (&["ls *:allow", "ls *:allow"], &["7:3 warning AG2015: rule `ls *:allow` is there twice"]),
        (
            &["ls *:allow", "ls *:deny"],
            &["7:3 warning AG2016: `ls *` is both `allow` and `deny`; the first one holds"],
        ),
        // The order of a harness in which the last match wins.
        (
            &[
                "rm -rf *:ask",
                "git reset --hard*:ask",
                "git push*:ask",
                "git push --force*:deny",
                "git push -f *:deny",
            ],
            &[
                "9:3 warning AG2014: rule `git push --force*:deny` never decides: `git push*:ask` comes first",
                "10:3 warning AG2014: rule `git push -f *:deny` never decides: `git push*:ask` comes first",
            ],
        ),
    ];
    for (rules, expected) in cases {
        assert_eq!(bash(rules).lines(), *expected, "{rules:?}");
    }
    let hint = bash(&["git push*:ask", "git push --force*:deny"]).found[0].hint.clone();
    assert_eq!(hint.as_deref(), Some("put it first; as it is, `git push --force` is asked about"));
}

#[test]
fn fixes_produce_the_expected_text() {
    let cases = [
        (
            "name = \"helper\"\ndescription = \"A. B. \"\n",
            "name = \"helper\"\ndescription = \"A. B\"\n",
        ),
        (
            "name = \"helper\"\ndescription = '''A...'''\n",
            "name = \"helper\"\ndescription = '''A'''\n",
        ),
        ("name = \"My Agent\"\ndescription = \"A\"\n", "name = \"helper\"\ndescription = \"A\"\n"),
        ("name = \"other\"\ndescription = \"A\"\n", "name = \"helper\"\ndescription = \"A\"\n"),
        (
            "name = \"helper\"\ndescription = \"A\"\nx-at = 2026-04-13\n",
            "name = \"helper\"\ndescription = \"A\"\nx-at = \"2026-04-13\"\n",
        ),
        (
            "name = \"helper\"\ndescription = \"A\"\nrules = [\"languages/nix.md\"]\n",
            "name = \"helper\"\ndescription = \"A\"\nrules = [\"languages/nix\"]\n",
        ),
        (
            "name = \"helper\"\ndescription = \"A\"\n[permissions.bash]\nintent = \"ask\"\nrules = [\n  \"ls *:allow\", # first\n  \"ls *:allow\",\n]\n",
            "name = \"helper\"\ndescription = \"A\"\n[permissions.bash]\nintent = \"ask\"\nrules = [\n  \"ls *:allow\", # first\n  \"ls *:allow\",\n]\n",
        ),
        (
            "name = \"helper\"\ndescription = \"A\"\npermissions.bash = { intent = \"ask\", rules = [\"a:ask\", \"b:ask\", \"a:ask\"] }\n",
            "name = \"helper\"\ndescription = \"A\"\npermissions.bash = { intent = \"ask\", rules = [\"a:ask\", \"b:ask\"] }\n",
        ),
        (
            "name = \"helper\"\ndescription = \"A\"\npermissions.bash = { intent = \"ask\", rules = [\"a *:ask\", \"b:ALLOW\", 'a x:deny'] }\n",
            "name = \"helper\"\ndescription = \"A\"\npermissions.bash = { intent = \"ask\", rules = ['a x:deny', \"b:allow\", \"a *:ask\"] }\n",
        ),
    ];
    for (before, after) in cases {
        let mut text = before.to_owned();
        for _ in 0..3 {
            let found = agent(&text).found;
            text = apply(&text, found.iter().filter_map(|found| found.fix.as_ref())).0;
        }
        assert_eq!(text, after, "{before}");
    }
}

#[test]
fn every_rule_matches_its_examples() {
    for rule in RULES {
        let codes = |example: &agentry_text::RuleExample| -> Vec<&str> {
            let text = |bytes| String::from_utf8(bytes).expect("text");
            let files = example.files().into_iter().map(|(path, bytes)| (path, text(bytes)));
            let found = Workspace::new(files.collect()).read().found;
            found.iter().map(|found| found.rule.code).collect()
        };
        assert_eq!(codes(&rule.bad), [rule.code], "{}: the bad example", rule.name);
        assert_eq!(codes(&rule.good), Vec::<&str>::new(), "{}: the good example", rule.name);
    }
}

#[test]
fn unknown_fields_and_extensions_are_kept() {
    let read = helper(
        "colour = \"red\"\nx-team = \"a\"\n[permissions.bash]\nintent = \"ask\"\nwhy = \"b\"\n\
         [permissions.zsh]\nintent = \"ask\"\n[extensions]\nother = 1\n",
    );
    let names = |list: &[(String, agentry_text::Spanned<Data>)]| -> Vec<String> {
        list.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&read.agent.unknown), ["colour", "permissions.zsh", "permissions.bash.why"]);
    assert_eq!(names(&read.agent.extensions), ["x-team", "other"]);
}

#[test]
fn defaults_fill_only_what_was_not_written() {
    let mut plain = helper("tags = [\"a\"]\n").agent;
    (INFO.defaults)(&mut plain);
    let mode = plain.identity.mode.map(|mode| mode.as_str());
    assert_eq!(mode, Some("all"));
    assert_eq!(plain.identity.tags.map(|tags| tags.len()), Some(1));
    assert_eq!(plain.skills.map(|skills| skills.len()), Some(0));
}

/// Tests every fixture: its findings, its model, and the lossless result of writing it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its fixtures")]
fn fixtures_match_their_snapshots() {
    crate::tests::each_fixture("agent_toml/fixtures", "txt", |path| {
        let text = std::fs::read_to_string(path).expect("a readable fixture");
        let read = Workspace::new(split(&text)).read();
        let hints = read.found.iter().filter_map(|found| found.hint.clone());
        let hints: Vec<_> = hints.map(|hint| format!("  {hint}")).collect();
        let tree = data(&read.agent).to_json();
        let mut parts = vec!["--- findings".to_owned()];
        let lines = read.lines();
        parts.extend(lines.into_iter().zip(hints).flat_map(|(line, hint)| [line, hint]));
        parts.push(format!("--- agent\n{tree:#}"));
        let target = WriteTarget {
            name: "helper".to_owned(),
            shape: OutputShape::Directory,
            ..WriteTarget::default()
        };
        let written = convert(&read.agent, Format::AgentToml, &target);
        let losses = written.losses.iter();
        parts.push("--- losses".to_owned());
        parts.extend(
            losses
                .map(|ConversionLoss { field, kind, detail }| format!("{field} {kind}: {detail}")),
        );
        parts.extend(written.files.iter().map(|(path, text)| format!("--- {path}\n{text}")));
        insta::assert_snapshot!(parts.join("\n"));
    });
}

/// Splits a fixture into files; each starts with a line `=== path`.
fn split(text: &str) -> Vec<(String, String)> {
    let files = text.split("=== ").skip(1).filter_map(|part| part.split_once('\n'));
    files.map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
}
