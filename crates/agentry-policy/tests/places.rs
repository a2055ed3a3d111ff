//! Start directories and case: lines that start outside the workspace, and a file system that treats `.ENV`
//! and `.env` as the same name.

use agentry_policy::path::NoLinks;
use agentry_policy::{
    Action, Judge, LayerSource, PathAnchors, PatternRule, Permissions, Section, SectionCall,
    SectionRules, layer,
};
use agentry_text::{FileId, Span, Spanned};

#[test]
fn path_case_follows_the_file_system() {
    let cases = [
        (Section::Read, ".env", Action::Deny, Action::Deny),
        (Section::Read, ".ENV", Action::Deny, Action::Ask),
        (Section::Read, "SRC/a.rs", Action::Allow, Action::Deny),
        (Section::Bash, "cat .ENV", Action::Deny, Action::Ask),
        (Section::Bash, "cat .E*", Action::Deny, Action::Ask),
        (Section::Bash, "cat SRC/*.rs", Action::Allow, Action::Deny),
        (Section::Bash, "cat src/a.rs", Action::Allow, Action::Allow),
    ];
    for (section, subject, ignoring, regarding) in cases {
        for (ignores_case, expected) in [(true, ignoring), (false, regarding)] {
            let call = SectionCall { section, subject, directory: "/workspace" };
            let found = judge(ignores_case).judge(call, &NoLinks).action;
            let at_least_as_strict = found >= expected;
            assert!(at_least_as_strict, "{subject} {ignores_case}: {found}, not {expected}");
            assert_eq!(
                found == Action::Allow,
                expected == Action::Allow,
                "{subject} {ignores_case}"
            );
        }
    }
}

/// A start outside the workspace needs an approval, like a `cd` to that directory.
#[test]
fn a_start_outside_the_workspace_needs_approval() {
    let cases = [
        ("/workspace", "cat", Action::Allow),
        ("/workspace/src", "cat", Action::Allow),
        ("/elsewhere", "cat", Action::Ask),
        ("/workspace", "cd /elsewhere && cat", Action::Ask),
        ("/elsewhere", "cd /workspace && cat", Action::Ask),
    ];
    for (directory, subject, expected) in cases {
        let call = SectionCall { section: Section::Bash, subject, directory };
        let found = judge(false).judge(call, &NoLinks).action;
        assert_eq!(found, expected, "{subject} in {directory}");
    }
}

/// A command with many directory options is judged in reasonable time.
#[test]
fn many_directory_options_are_judged_quickly() {
    let subject = format!("git {}push", "-C x ".repeat(50_000));
    let call = SectionCall { section: Section::Bash, subject: &subject, directory: "/workspace" };
    assert_eq!(judge(false).judge(call, &NoLinks).action, Action::Ask);
}

fn judge(ignores_case: bool) -> Judge {
    let places = PathAnchors { ignores_case, ..PathAnchors::default() };
    let here = Span::start_of(FileId(0));
    let rule = |pattern: &str, action| {
        Spanned::new(PatternRule { pattern: pattern.to_owned(), action }, here)
    };
    let section = |section, intent, rules| SectionRules {
        section: Spanned::new(section, here),
        intent: Some(Spanned::new(intent, here)),
        rules,
    };
    let read = vec![rule(".env", Action::Deny), rule("src/**", Action::Allow)];
    let sections = vec![
        section(Section::Bash, Action::Ask, vec![rule("cat *", Action::Allow)]),
        section(Section::Read, Action::Deny, read),
    ];
    let layers = vec![layer(LayerSource::Permissions, &Permissions { sections }, &places)];
    Judge::new(layers, places)
}
