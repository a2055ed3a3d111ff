//! OpenCode with the guard enforces the source exactly. Its rules deny nothing that the source permits, since
//! the guard cannot lift a denial, and allow nothing more. If they ask about a denied call, that is
//! reported.

use agentry_compile::policy::{Action, RuleList, Section};
use agentry_compile::targets::memo::RenderMemo;
use agentry_compile::targets::proof::{PolicyProof, within};
use agentry_compile::targets::{HarnessTool, LossKind, RenderSubject, RenderedAgent, target};

use crate::property::read_back;
use crate::{GUARD, Wish, agent, file, one, rendering, report_of, section, subjects};

/// The sections that are compared by name: an automaton cannot know which names exist.
const NAMES: [Section; 3] = [Section::Mcp, Section::Tool, Section::Skill];

/// Compares OpenCode's model of a rendered agent with its source.
fn is_exact(lines: &str) -> RenderedAgent {
    let files = agent("helper", lines);
    let mut rendering = rendering("opencode", &files, GUARD);
    let model = read_back(target("opencode").expect("a target"), &rendering).expect("an agent");
    let subject = subjects(&files, None).remove(0);
    let rendered = rendering.agents.remove(0);
    assert_eq!(rendered.refused, None, "{lines}");
    for way in model.ways.iter() {
        denies_nothing_more(&subject, way, lines);
        let bounds = subject.bounds(way.section);
        let guarded = rendered.guarded.contains(&way.section);
        let holds = within(&RenderMemo::default(), &way.layers, &bounds) == PolicyProof::Holds;
        assert!(holds || guarded, "{lines}{} relies on the guard", way.tool);
        let milder = changed(&bounds, Action::Deny, Action::Ask);
        assert_eq!(
            within(&RenderMemo::default(), &way.layers, &milder),
            PolicyProof::Holds,
            "{lines}{}",
            way.tool
        );
    }
    let narrowed: Vec<_> =
        rendered.losses.iter().filter(|loss| loss.kind == LossKind::Narrowed).collect();
    assert!(narrowed.is_empty(), "{lines}{narrowed:?}");
    rendered
}

/// The guard may allow what is asked, so nothing is lost.
fn denies_nothing_more(subject: &RenderSubject, way: &HarnessTool, lines: &str) {
    if NAMES.contains(&way.section) {
        return;
    }
    let lifted = changed(&way.layers, Action::Ask, Action::Allow);
    let proof = within(&RenderMemo::default(), &subject.bounds(way.section), &lifted);
    assert_eq!(proof, PolicyProof::Holds, "{lines}{}", way.tool);
}

fn changed(layers: &[RuleList], from: Action, to: Action) -> Vec<RuleList> {
    let mut layers = layers.to_vec();
    for rule in layers.iter_mut().flat_map(RuleList::all_mut).filter(|rule| rule.action == from) {
        rule.action = to;
    }
    layers
}

#[test]
fn with_the_guard_allows_are_written_as_ask() {
    let outside = section("external_directory", "allow", &[]);
    let cases: &[(String, &str, &str)] = &[
        (
            section("edit", "deny", &["src/*:allow"]),
            "edit:\n    \"*\": deny\n    src/*: ask\n    src/*/*: deny\n",
            "",
        ),
        (
            section("edit", "allow", &["src/*:deny"]),
            "edit:\n    \"*\": ask\n    src/*: deny\n    src/*/*: ask\n",
            "",
        ),
        (
            section("edit", "ask", &["src/*:deny", "src/a/*:allow"]),
            "edit:\n    \"*\": ask\n    src/*: deny\n    src/*/*: ask\n",
            "",
        ),
        (
            section("edit", "allow", &["src/**:deny"]),
            "edit:\n    \"*\": ask\n    src/*: deny\n",
            "",
        ),
        (
            section("edit", "deny", &["src/**:allow"]),
            "edit:\n    \"*\": deny\n    src/*: ask\n",
            "",
        ),
        (
            section("edit", "ask", &["**/lock/**:deny"]),
            "edit:\n    \"*\": ask\n    \"*/lock/*\": deny\n    lock/*: deny\n    ../*: ask\n",
            "",
        ),
        (
            section("edit", "deny", &["src/**:allow", "/tmp/**:allow"]) + &outside,
            "edit:\n    \"*\": deny\n    src/*: ask\n    ../*: ask\n",
            "edit",
        ),
        (section("read", "deny", &["docs/*:allow"]), "grep: ask\n", "read"),
        (
            section("read", "deny", &["docs/*:allow"]),
            "read:\n    \"*\": deny\n    docs/*: ask\n",
            "read",
        ),
        (section("read", "allow", &["secret/**:deny"]), "glob: ask\n", "read"),
        (section("read", "deny", &[]), "glob: deny\n", ""),
        (
            section("external_directory", "deny", &["/tmp/*:allow"]),
            "external_directory:\n    \"*\": deny\n    /tmp/*: ask\n",
            "edit read external_directory",
        ),
        (
            section("external_directory", "allow", &["/tmp/*:deny"]),
            "external_directory: ask\n",
            "edit read external_directory",
        ),
        (
            section("edit", "allow", &["/etc/**:deny"]) + &outside,
            "external_directory: ask\n",
            "edit",
        ),
        (
            section("bash", "deny", &["git * main:allow"]),
            "bash:\n    \"*\": deny\n    git * main: ask\n",
            "bash",
        ),
        (section("bash", "allow", &["git * main:deny"]), "bash: ask\n", "bash"),
        (
            section("bash", "deny", &["echo 'a b':allow"]),
            "bash:\n    \"*\": deny\n    echo*: ask\n",
            "bash",
        ),
        (
            section("bash", "deny", &["frob*:allow"]),
            "bash:\n    \"*\": deny\n    frob*: ask\n",
            "bash",
        ),
        (section("bash", "allow", &["rm *:deny"]), "bash:\n    \"*\": ask\n    rm *: deny\n", ""),
        (
            section("mcp", "deny", &["git/*:allow"]) + &section("tool", "deny", &[]),
            "git_*: allow\n",
            "",
        ),
        (section("mcp", "deny", &[]), "\"*\": ask\n", "mcp"),
        (section("tool", "deny", &["my*:allow"]), "\"*\": ask\n", "tool"),
        (
            section("skill", "deny", &["pdf*:allow"]),
            "skill:\n    \"*\": deny\n    pdf*: allow\n",
            "",
        ),
        (
            section("delegate", "deny", &["a*b*:allow"]),
            "task:\n    \"*\": deny\n    a*b*: ask\n",
            "delegate",
        ),
        (section("webfetch", "deny", &["docs.example.org:allow"]), "webfetch: ask\n", "webfetch"),
        (section("websearch", "allow", &["*rust*:deny"]), "websearch: ask\n", "websearch"),
        (section("question", "ask", &[]), "question: ask\n", ""),
    ];
    let mut wrong = Vec::new();
    for (lines, expected, relies) in cases {
        let rendered = is_exact(lines);
        let text = file(&rendered, "helper.md");
        let report = report_of(&rendered);
        let has_verdict = |section: &&Section| {
            report.contains(&format!("without the plugin, OpenCode asks where {section} is denied"))
        };
        let found: Vec<&str> =
            Section::ALL.iter().filter(has_verdict).map(|section| section.as_str()).collect();
        if found.join(" ") != *relies || !text.contains(&format!("\n  {expected}")) {
            wrong.push(format!("{lines}relies on the guard for {found:?}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn with_the_guard_every_pattern_is_exact() {
    let patterns: &[(&str, &[&str])] = &[
        (
            "bash",
            &["git * main", "git ** push", "frob*", "echo \"x\"", "./run.sh *", "* qux", "a?b"],
        ),
        ("edit", &["src/*", "**/*.rs", "**/x", "/tmp/**", "../x", "~/p/*", "a/**/b", "$HOME/x"]),
        ("read", &["docs/*", "**/.env*", "/etc/passwd", "*", "x/**/*.md"]),
        ("external_directory", &["/tmp/*", "~/p/**", "/a/**/b", "/etc/x"]),
        ("mcp", &["git/*", "*/read", "a_b/c", "git/x"]),
        ("tool", &["my_tool", "t*", "todowrite"]),
        ("skill", &["pdf", "p*"]),
        ("delegate", &["general", "a*"]),
        ("webfetch", &["example.org", "*.example.org"]),
        ("websearch", &["*rust*"]),
    ];
    let actions = ["allow", "ask", "deny"];
    for (name, patterns) in patterns {
        for (pattern, intent) in patterns.iter().flat_map(|it| actions.map(|intent| (it, intent))) {
            for action in actions.iter().filter(|action| **action != intent) {
                is_exact(&section(name, intent, &[&format!("{pattern}:{action}")]));
            }
        }
    }
}

#[test]
fn without_the_guard_narrowings_suggest_it() {
    let cases = [
        section("bash", "deny", &["git * main:allow"]),
        section("read", "deny", &["docs/*:allow"]),
        section("external_directory", "deny", &["/tmp/*:allow"]),
        section("webfetch", "deny", &["docs.example.org:allow"]),
        section("websearch", "deny", &["*rust*:allow"]),
        section("mcp", "deny", &["git/*:allow"]),
        section("tool", "deny", &["my_tool:allow"]),
        section("delegate", "deny", &["a*b*:allow"]),
    ];
    for lines in cases {
        let rendered = one("opencode", &lines, Wish::default());
        let narrowed: Vec<_> =
            rendered.losses.iter().filter(|loss| loss.kind == LossKind::Narrowed).collect();
        assert!(!narrowed.is_empty(), "{lines}");
        for loss in narrowed {
            assert!(loss.detail.ends_with("; `--guard` makes it exact"), "{lines}{loss:?}");
        }
    }
}

#[test]
fn with_the_guard_no_loss_suggests_it() {
    let cases = [
        section("tool", "ask", &["my_tool:allow"]),
        section("read", "allow", &["secret/**:deny"]),
        section("bash", "deny", &["git * main:allow"]),
    ];
    for lines in cases {
        for harness in ["claude-code", "opencode"] {
            let report = report_of(&one(harness, &lines, GUARD));
            assert!(!report.contains("--guard` makes"), "{harness} {lines}{report}");
        }
    }
}
