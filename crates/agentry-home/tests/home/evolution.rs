//! Evolution under protection: no attempt succeeds on an automatic path, and the same change by a person does.

use std::os::unix::fs::symlink;

use agentry_compile::{EvolutionMode, EvolutionRules};
use agentry_home::evolution::{
    ProposalError, ProposalLedger, ProposalState, ProposedChange, ProposedText, protected_change,
};
use agentry_home::repository::CommitKind;

use crate::attempts;
use crate::support::{PERSONA, PRINCIPLES, TestHome};

/// Rules that apply every change at once.
const AUTO: EvolutionRules = EvolutionRules {
    memory: EvolutionMode::Auto,
    persona: EvolutionMode::Auto,
    principles: EvolutionMode::Auto,
    skills: EvolutionMode::Auto,
};

fn change(file: &str, text: ProposedText) -> ProposedChange {
    ProposedChange {
        file: file.to_owned(),
        text,
        reason: "it works better".to_owned(),
        run: Some("run-1".to_owned()),
        author: "legal".to_owned(),
        kind: CommitKind::Agent,
        private_to: None,
    }
}

fn whole(file: &str, text: &str) -> ProposedChange {
    change(file, ProposedText::Whole(text.to_owned()))
}

/// The check of the whole agent permits everything here: the protection must not depend on it.
fn ledger(test: &TestHome) -> ProposalLedger<'_> {
    ProposalLedger::open(&test.home, &|_, _, _| Ok(())).expect("a ledger")
}

#[test]
fn no_automatic_attempt_changes_protected_parts() {
    let test = TestHome::with_agent();
    let ledger = ledger(&test);
    let before = test.home.lock("legal").expect("locked").tree().expect("a tree");
    let attempts = attempts::all();
    assert!(attempts.len() >= 150, "{}", attempts.len());
    for attempt in &attempts {
        let proposal = ledger
            .propose("legal", &change(&attempt.file, attempt.text.clone()), AUTO)
            .expect("handled");
        assert_eq!(proposal.state, ProposalState::Refused, "{}", attempt.name);
        let error = ledger.accept(&proposal.id).expect_err("nobody accepts it by a command");
        assert!(matches!(error, ProposalError::Refused(_)), "{}: {error}", attempt.name);
    }
    let locked = test.home.lock("legal").expect("locked");
    assert_eq!(locked.tree().expect("a tree"), before);
    assert_eq!(locked.history().expect("a history").len(), 1, "nothing was committed");
    let log = std::fs::read_to_string(test.home.layout().audit_log()).expect("an audit log");
    assert_eq!(log.lines().count(), attempts.len(), "each attempt is in the audit log");
    assert!(
        log.lines()
            .all(|line| line.contains("\"outcome\":\"refused\"")
                && line.contains("\"run\":\"run-1\""))
    );
}

/// What nobody can do by hand in the directory of an agent: no file can have such a name there, or the diff fits nothing.
const IMPOSSIBLE: &[&str] = &[
    "diff: does not fit",
    "diff: is no diff",
    "file: \"\"",
    "file: \".\"",
    "file: \"..\"",
    "file: \"/principles.md\"",
    "file: \"memory\"",
    "file: \"memory/\"",
    "file: \"memory/x.md\\0\"",
    "file: \"principles.md/\"",
];

/// The files of Git itself are not those of the agent: what a person does there is no change of it.
const OF_GIT: &[&str] = &["file: \".git/config\"", "file: \".git/hooks/post-commit\""];

/// A diff as a person would carry it out: each hunk replaces lines at its place.
fn edited(text: &str, diff: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let (mut more, mut fewer) = (0, 0);
    for hunk in diff.split("@@ -").skip(1) {
        let (place, body) = hunk.split_once('\n').expect("a hunk");
        let start: usize = place.split(',').next().and_then(|it| it.parse().ok()).expect("a line");
        let old = body.lines().filter(|line| !line.starts_with('+')).count();
        let new: Vec<&str> =
            body.lines().filter(|line| !line.starts_with('-')).map(|line| &line[1..]).collect();
        let from = start - 1 + more - fewer;
        (more, fewer) = (more + new.len(), fewer + old);
        lines.splice(from..from + old, new);
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_same_changes_by_a_person_are_accepted() {
    let test = TestHome::with_agent();
    let attempts = attempts::all();
    let is_possible = |name: &str| !IMPOSSIBLE.contains(&name) && !OF_GIT.contains(&name);
    for attempt in attempts.iter().filter(|attempt| is_possible(&attempt.name)) {
        let written = match &attempt.text {
            ProposedText::Whole(whole) => whole.clone(),
            ProposedText::Diff(diff) => edited(PRINCIPLES, diff),
        };
        let path: std::path::PathBuf = test.root().join(&attempt.file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(&path, &written).expect("a person may");
        let locked = test.home.lock("legal").expect("a person may");
        // Ways around a directory lead to the file.
        let real = std::fs::canonicalize(&path).expect("a file");
        let root = std::fs::canonicalize(test.home.layout().agents()).expect("agents");
        let inner = real.strip_prefix(root.join("legal")).expect("within the agent");
        let tree = locked.tree().expect("a tree");
        let committed = tree.get(inner.to_str().expect("Unicode"));
        assert_eq!(committed, Some(written.as_bytes()), "{}", attempt.name);
        let last = locked.history().expect("a history").into_iter().next().expect("a commit");
        assert_eq!(last.kind, CommitKind::Person, "{}", attempt.name);
    }
    let all: Vec<&str> = attempts.iter().map(|attempt| attempt.name.as_str()).collect();
    assert!(IMPOSSIBLE.iter().chain(OF_GIT).all(|name| all.contains(name)), "{all:?}");
}

#[test]
fn proposals_do_not_write_through_symlinks() {
    let test = TestHome::with_agent();
    let outside = test.directory.path().join("outside.md");
    std::fs::write(&outside, "outside\n").expect("written");
    std::fs::remove_file(test.root().join("persona.md")).expect("removed");
    symlink(&outside, test.root().join("persona.md")).expect("a link");
    symlink("../principles.md", test.root().join("memory/rules.md")).expect("a link");
    symlink(test.directory.path(), test.root().join("skills/out")).expect("a link");
    let ledger = ledger(&test);
    for file in ["persona.md", "memory/rules.md", "skills/out/SKILL.md"] {
        let skill = "---\nname: out\ndescription: x\n---\n\nnew\n";
        let proposal = ledger.propose("legal", &whole(file, skill), AUTO).expect("handled");
        assert_eq!(proposal.state, ProposalState::Refused, "{file}");
    }
    assert_eq!(std::fs::read_to_string(outside).expect("a file"), "outside\n");
    assert_eq!(test.read("principles.md"), PRINCIPLES);
}

#[test]
fn unprotected_files_follow_the_evolution_rules() {
    let test = TestHome::with_agent();
    let ledger = ledger(&test);
    let rules = EvolutionRules::default();
    let more = PRINCIPLES.replace("- confirm payments\n", "- confirm payments\n- be brief\n");
    let cases = [
        (
            whole("memory/habit.md", "---\ntype: fact\n---\n\nA habit.\n"),
            ProposalState::Applied,
            "low",
        ),
        (
            ProposedChange {
                private_to: Some("owner".to_owned()),
                ..whole("memory/told.md", "Told.\n")
            },
            ProposalState::Pending,
            "low",
        ),
        (
            whole("persona.md", &PERSONA.replace("briefly", "very briefly")),
            ProposalState::Pending,
            "medium",
        ),
        (whole("principles.md", &more), ProposalState::Pending, "high"),
        (
            whole("skills/new/SKILL.md", "---\nname: new\ndescription: New\n---\n\nDo.\n"),
            ProposalState::Pending,
            "medium",
        ),
        (
            change(
                "persona.md",
                ProposedText::Diff(
                    "@@ -6,1 +6,1 @@\n ## L1\n@@ -7,1 +7,1 @@\n-I answer briefly.\n+Short.\n"
                        .to_owned(),
                ),
            ),
            ProposalState::Pending,
            "medium",
        ),
    ];
    let mut ids = Vec::new();
    for (change, state, risk) in cases {
        let proposal = ledger.propose("legal", &change, rules).expect("handled");
        assert_eq!(
            (proposal.state, proposal.risk.as_str()),
            (state, risk),
            "{}: {:?}",
            change.file,
            proposal.outcome
        );
        ids.push(proposal.id);
    }
    ids.remove(0);
    let accepted = ledger.accept(ids.get(2).expect("an id")).expect("accepted");
    assert_eq!(test.read("principles.md"), more);
    let locked = test.home.lock("legal").expect("locked");
    let history = locked.history().expect("a history");
    let last = history.first().expect("a commit");
    assert_eq!(
        (Some(&last.commit), last.kind, last.run.as_deref()),
        (accepted.outcome.as_ref(), CommitKind::Agent, Some("run-1"))
    );
    assert!(last.message.contains("Accepted by owner"), "{}", last.message);
    drop(locked);
    ledger.accept(ids.get(2).expect("an id")).expect_err("once");
    ledger.accept(ids.get(1).expect("an id")).expect("accepted");
    let stale = ledger.accept(ids.get(4).expect("an id")).expect_err("the file changed since");
    assert!(matches!(stale, ProposalError::Stale(_)), "{stale}");
    ledger.reject(ids.get(3).expect("an id"), "no").expect("rejected");
    assert!(!test.root().join("skills/new").exists());
    let taught =
        ProposedChange { kind: CommitKind::Person, ..whole("memory/taught.md", "Taught.\n") };
    let taught = ledger.propose("legal", &taught, rules).expect("handled");
    assert_eq!(taught.state, ProposalState::Applied);
    let never = EvolutionRules { memory: EvolutionMode::Never, ..rules };
    let refused = ledger.propose("legal", &whole("memory/x.md", "x\n"), never).expect("handled");
    assert_eq!(refused.state, ProposalState::Refused);
}

#[test]
fn a_proposal_that_widens_the_agent_is_refused() {
    let test = TestHome::with_agent();
    let ledger = ProposalLedger::open(&test.home, &|_, _, _| Err("it could do more".to_owned()))
        .expect("a ledger");
    let proposal = ledger.propose("legal", &whole("memory/x.md", "x\n"), AUTO).expect("handled");
    assert_eq!(proposal.outcome.as_deref(), Some("it could do more"));
}

#[test]
fn changes_of_access_control_are_protected() {
    let old = br#"{"name": "x", "access_control": {"owner": "me"}}"#;
    let cases: [(&[u8], bool); 4] = [
        (br#"{"name": "y", "access_control": {"owner": "me"}}"#, false),
        (br#"{"name": "x", "access_control": {"owner": "you"}}"#, true),
        (br#"{"name": "x"}"#, true),
        (b"", true),
    ];
    for (new, is_protected) in cases {
        let found = protected_change("agent.json", Some(old), Some(new));
        assert_eq!(found.is_some(), is_protected, "{}: {found:?}", String::from_utf8_lossy(new));
    }
}
