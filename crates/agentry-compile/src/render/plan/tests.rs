use super::super::merge_record::MergeRecord;
use super::*;

fn wanted(path: &str, text: &str, agent: &str) -> WantedFile {
    let target = "opencode".to_owned();
    let (path, bytes, agent) = (path.to_owned(), text.into(), agent.to_owned());
    WantedFile { path, bytes, target, shared: agent.is_empty(), agent }
}

fn entry(path: &str, text: &str, agent: &str) -> LedgerEntry {
    LedgerEntry {
        path: path.to_owned(),
        target: "opencode".to_owned(),
        agent: agent.to_owned(),
        sha256: sha256(text.as_bytes()),
        merge: None,
    }
}

type Disk<'a> = &'a [(&'a str, &'a str)];
type Wished<'a> = (&'a str, &'a [LedgerEntry], Disk<'a>, bool, &'a str);
type Unwished<'a> = (&'a str, Disk<'a>, &'a str, bool, &'a str);

/// What a plan does, in short: `+` new, `~` changed, `=` kept, `-` removed, `!` refused, `^`
/// by force, and `#` for each line of the ledger.
fn planned_changes(
    wanted: &[WantedFile],
    ledger: &[LedgerEntry],
    disk: &[(&str, &str)],
    (covered, force): (&str, bool),
) -> String {
    let present = |path: &str| match disk.iter().find(|(known, _)| *known == path) {
        Some((_, "-> link")) => PresentFile::Blocked("is a link".to_owned()),
        Some((_, text)) => PresentFile::File(text.as_bytes().to_vec()),
        None => PresentFile::Nothing,
    };
    let ledger = RenderLedger::new(ledger.to_vec());
    let covers = |entry: &LedgerEntry| entry.agent.starts_with(covered);
    let (present, covers, held) = (&present, &covers, &BTreeSet::from(["held".to_owned()]));
    let replaced: &[ReplacedFile] = &[];
    let situation = PlanSituation { ledger: &ledger, present, covers, held, force, replaced };
    let plan = plan(wanted, &situation);
    let sign = |kind| match kind {
        PlannedChangeKind::Create => '+',
        PlannedChangeKind::Update => '~',
        PlannedChangeKind::Keep => '=',
        PlannedChangeKind::Remove => '-',
    };
    let force = |it: &PlannedChange| if it.forced { "^" } else { "" };
    let changes =
        plan.changes.iter().map(|it| format!("{}{}{}", sign(it.kind), it.path, force(it)));
    let refused = plan.refused.iter().map(|it| format!("!{}", it.path));
    let kept = plan.ledger.entries().iter().map(|it| format!("#{}", it.path));
    changes.chain(refused).chain(kept).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_plan_adds_updates_or_keeps_files_of_an_agent() {
    let new = [wanted("a", "new", "x")];
    let old = [entry("a", "old", "x")];
    let cases: [Wished<'_>; 9] = [
        ("nothing there", &[], &[], false, "+a #a"),
        ("removed by somebody", &old, &[], false, "+a #a"),
        ("ours", &old, &[("a", "old")], false, "~a #a"),
        ("as it should be", &old, &[("a", "new")], false, "=a #a"),
        ("the same by chance", &[], &[("a", "new")], false, "=a #a"),
        ("edited", &old, &[("a", "mine")], false, "!a #a"),
        ("edited, by force", &old, &[("a", "mine")], true, "~a^ #a"),
        ("somebody else's", &[], &[("a", "mine")], false, "!a"),
        ("a link", &old, &[("a", "-> link")], true, "!a #a"),
    ];
    for (case, ledger, disk, force, expected) in cases {
        assert_eq!(planned_changes(&new, ledger, disk, ("", force)), expected, "{case}");
    }
}

#[test]
fn files_no_longer_rendered_are_removed() {
    let old = [entry("a", "old", "x"), entry("b", "old", "y")];
    let cases: [Unwished<'_>; 6] = [
        ("ours", &[("a", "old"), ("b", "old")], "", false, "-a -b"),
        ("gone", &[], "", false, ""),
        ("of another run", &[("a", "old"), ("b", "old")], "y", false, "-b #a"),
        ("edited", &[("a", "mine"), ("b", "old")], "", false, "-b !a #a"),
        ("edited, by force", &[("a", "mine"), ("b", "old")], "", true, "-a^ -b"),
        ("a link", &[("a", "-> link")], "", true, "!a #a"),
    ];
    for (case, disk, covered, force, expected) in cases {
        assert_eq!(planned_changes(&[], &old, disk, (covered, force)), expected, "{case}");
    }
}

#[test]
fn an_agent_is_written_whole_or_not_at_all() {
    let new = [wanted("a", "1", "x"), wanted("b", "2", "x"), wanted("c", "3", "y")];
    assert_eq!(planned_changes(&new, &[], &[("b", "mine")], ("", false)), "+c !b #c");
    let old = [entry("a", "0", "x"), entry("old", "0", "x")];
    let disk = [("a", "0"), ("b", "mine"), ("old", "0")];
    assert_eq!(planned_changes(&new, &old, &disk, ("", false)), "+c !b #a #c #old");
    // Without the settings that all agents share, none of them is safe.
    let shared = [wanted("s", "1", ""), wanted("a", "1", "x")];
    assert_eq!(planned_changes(&shared, &[], &[("s", "-> link")], ("", false)), "!s");
}

#[test]
fn a_failed_agent_keeps_its_files_and_shared_files() {
    let old = [entry("h", "0", "held"), entry("a", "0", "x"), entry("s", "0", "")];
    let disk = [("h", "0"), ("a", "0"), ("s", "0")];
    let new = [wanted("s", "1", ""), wanted("a", "1", "x")];
    assert_eq!(planned_changes(&new, &old, &disk, ("", false)), "!s #a #h #s");
    let same = [wanted("s", "0", ""), wanted("a", "1", "x")];
    assert_eq!(planned_changes(&same, &old, &disk, ("", false)), "=s ~a #a #h #s");
    // The others were rendered as if what is shared were gone, so they wait too.
    assert_eq!(planned_changes(&[wanted("a", "1", "x")], &old, &disk, ("", false)), "!s #a #h #s");
    let gone = [("h", "0"), ("a", "0")];
    assert_eq!(planned_changes(&[wanted("a", "1", "x")], &old, &gone, ("", false)), "~a #a #h #s");
}

#[test]
fn an_edited_file_keeps_its_agents_shared_files() {
    let old = [entry("e", "0", "x"), entry("a", "0", "y"), entry("s", "0", "")];
    let disk = [("e", "mine"), ("a", "0"), ("s", "0")];
    let settings = wanted("s", "1", "");
    let others = [settings.clone(), wanted("a", "1", "y")];
    assert_eq!(planned_changes(&others, &old, &disk, ("", false)), "!s #a #e #s");
    assert_eq!(planned_changes(&others, &old, &disk, ("", true)), "~s ~a -e^ #a #s");
    let skill = [entry("x/skills/e", "0", "x"), entry("s", "0", "")];
    let edited = [("x/skills/e", "mine"), ("a", "0"), ("s", "0")];
    let expected = "~s ~a !x/skills/e #a #s #x/skills/e";
    let known: Vec<LedgerEntry> = skill.into_iter().chain([entry("a", "0", "y")]).collect();
    assert_eq!(planned_changes(&others, &known, &edited, ("", false)), expected);
    let without = [wanted("a", "1", "y")];
    assert_eq!(planned_changes(&without, &old, &disk, ("", false)), "!s #a #e #s");
    // Its definition changed with what is shared.
    let both = [settings.clone(), wanted("e", "1", "x"), wanted("a", "1", "y")];
    assert_eq!(planned_changes(&both, &old, &disk, ("", false)), "!e !s #a #e #s");
    // It did not, but rules that are shared are no part of its file.
    let same = [settings.clone(), wanted("e", "0", "x"), wanted("a", "1", "y")];
    assert_eq!(planned_changes(&same, &old, &disk, ("", false)), "!e !s #a #e #s");
    assert_eq!(planned_changes(&same, &old, &disk, ("", true)), "~s ~e^ ~a #a #e #s");
    let kept = [wanted("s", "0", ""), wanted("e", "0", "x"), wanted("a", "1", "y")];
    assert_eq!(planned_changes(&kept, &old, &disk, ("", false)), "=s ~a !e #a #e #s");
    // The ledger is lost: the mark distinguishes rendered files from the user's.
    let marked = [("e", "---\n# rendered by agentry from x\n"), ("s", "0")];
    assert_eq!(planned_changes(&same, &[], &marked, ("", false)), "!e !s");
    assert_eq!(planned_changes(&same, &[], &disk, ("", false)), "~s !e !a #s");
    let added = [settings, wanted("e", "0", "x"), wanted("b", "1", "y")];
    assert_eq!(planned_changes(&added, &[], &disk, ("", false)), "~s +b !e #b #s");
}

#[test]
fn clashing_files_of_two_agents_are_refused() {
    let mut other = wanted("A", "2", "y");
    other.target = "pi".to_owned();
    let first = wanted("a", "1", "x");
    assert_eq!(planned_changes(&[first.clone(), other.clone()], &[], &[], ("", false)), "+a !A #a");
    other.path = "a".to_owned();
    assert_eq!(planned_changes(&[first.clone(), other.clone()], &[], &[], ("", false)), "+a !a #a");
    other.bytes = b"1".to_vec();
    assert_eq!(planned_changes(&[first.clone(), other.clone()], &[], &[], ("", false)), "+a #a");
    other.path = "a/b".to_owned();
    assert_eq!(planned_changes(&[first, other], &[], &[], ("", false)), "+a !a/b #a");
}

#[test]
fn shared_files_are_merged_and_unmerged() {
    let users = "{\n}\n";
    let both = "{\n  1\n}\n";
    let disk = [("s", users)];
    assert_eq!(planned_changes(&[wanted("s", both, "")], &[], &disk, ("", false)), "~s #s");
    let hunks = super::super::merge_record::merge(Some(users), both);
    let merged = LedgerEntry { merge: Some(hunks), ..entry("s", both, "") };
    let ledger = RenderLedger::new(vec![merged.clone()]);
    let there = |text: &str| PresentFile::File(text.as_bytes().to_vec());
    assert_eq!(existing(&ledger, &there(both), "s").as_deref(), Some(users));
    assert_eq!(existing(&ledger, &there("{\n  2\n}\n"), "s").as_deref(), Some("{\n  2\n}\n"));
    let none: &[WantedFile] = &[];
    assert_eq!(
        planned_changes(none, std::slice::from_ref(&merged), &[("s", both)], ("", false)),
        "~s"
    );
    let lines = [("s", "// mine\n{\n  1\n}\n")];
    assert_eq!(planned_changes(none, std::slice::from_ref(&merged), &lines, ("", false)), "~s");
    assert_eq!(planned_changes(none, &[merged], &[("s", "{\n  2\n}\n")], ("", false)), "!s #s");
    let created = LedgerEntry { merge: Some(MergeRecord::Created), ..entry("s", both, "") };
    assert_eq!(planned_changes(none, &[created], &[("s", both)], ("", false)), "-s");
}
