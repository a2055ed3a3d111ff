//! Completions and manual pages.

use crate::test::Test;

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = Test::new().run(&format!("completions {shell}")).exits(0);
        assert!(ran.stdout.contains("agentry") && ran.stdout.contains("convert"), "{shell}");
        assert!(ran.stdout.ends_with('\n'), "{shell}");
        assert_eq!(ran.stderr, "", "{shell}");
    }
    insta::assert_snapshot!(Test::new().run("completions tcsh"), @"
    $ agentry completions tcsh
    --- stderr
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn man_writes_the_manual_pages() {
    let test = Test::new();
    insta::assert_snapshot!(test.run("man -o share/man"), @"
    $ agentry man -o share/man
    --- stdout
    wrote the pages to share/man
    --- exit 0
    ");
    let names = std::fs::read_dir(test.path("share/man")).expect("a folder");
    let mut names: Vec<_> = names
        .map(|name| name.expect("a name").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    insta::assert_snapshot!(names.join("\n"), @"
    agentry-acp.1
    agentry-agents.1
    agentry-audit.1
    agentry-check.1
    agentry-completions.1
    agentry-config.1
    agentry-consent-list.1
    agentry-consent-revoke.1
    agentry-consent.1
    agentry-convert.1
    agentry-diff.1
    agentry-doctor.1
    agentry-export.1
    agentry-gc.1
    agentry-guard.1
    agentry-hash.1
    agentry-history.1
    agentry-import.1
    agentry-init.1
    agentry-install.1
    agentry-keygen.1
    agentry-list.1
    agentry-lock.1
    agentry-man.1
    agentry-mcp.1
    agentry-memory-add.1
    agentry-memory-edit.1
    agentry-memory-forget.1
    agentry-memory-list.1
    agentry-memory-search.1
    agentry-memory.1
    agentry-models.1
    agentry-new.1
    agentry-policy-diff.1
    agentry-policy-show.1
    agentry-policy-test.1
    agentry-policy-why.1
    agentry-policy.1
    agentry-proposals-accept.1
    agentry-proposals-list.1
    agentry-proposals-reject.1
    agentry-proposals-show.1
    agentry-proposals.1
    agentry-pull.1
    agentry-push.1
    agentry-receipts-list.1
    agentry-receipts-show.1
    agentry-receipts-stats.1
    agentry-receipts-verify.1
    agentry-receipts.1
    agentry-render.1
    agentry-resolve.1
    agentry-resume.1
    agentry-rollback.1
    agentry-rules.1
    agentry-run.1
    agentry-runs-prune.1
    agentry-runs-result.1
    agentry-runs-show.1
    agentry-runs-tail.1
    agentry-runs-undo.1
    agentry-runs.1
    agentry-sandbox-exec.1
    agentry-sandbox-explain.1
    agentry-sandbox.1
    agentry-schedule-list.1
    agentry-schedule-next.1
    agentry-schedule-pause.1
    agentry-schedule-resume.1
    agentry-schedule-run.1
    agentry-schedule.1
    agentry-schema.1
    agentry-search.1
    agentry-serve-migrate.1
    agentry-serve-pair-list.1
    agentry-serve-pair-revoke.1
    agentry-serve-pair.1
    agentry-serve.1
    agentry-show.1
    agentry-sign.1
    agentry-teach.1
    agentry-test.1
    agentry-tools-call.1
    agentry-tools-login.1
    agentry-tools.1
    agentry-uninstall.1
    agentry-verify.1
    agentry.1
    ");
    let page = test.read("share/man/agentry-check.1");
    assert!(page.contains(".SH SYNOPSIS") && page.contains("deny\\-warnings"), "{page}");
    let test = Test::new().file("taken", "");
    insta::assert_snapshot!(test.run("man -o taken"), @"
    $ agentry man -o taken
    --- stderr
    error: `taken` cannot be written: file exists
    --- exit 2
    ");
}

/// Without a directory the page is printed, and nothing is written.
#[test]
fn man_prints_one_page() {
    let test = Test::new();
    let page = test.run("man policy why").exits(0).stdout;
    assert!(page.contains(".TH agentry-policy-why 1"), "{page}");
    assert!(test.run("man").exits(0).stdout.contains(".TH agentry 1"));
    assert!(!test.path("agentry.1").exists());
    insta::assert_snapshot!(test.run("man polcy"), @"
    $ agentry man polcy
    --- stderr
    error: `agentry` has no command `polcy`
      = help: did you mean `policy`?
    --- exit 2
    ");
}

/// `help COMMAND` is the help of the command.
#[test]
fn help_command_equals_the_help_option() {
    let test = Test::new();
    assert_eq!(test.run("help policy why").exits(0).stdout, test.run("policy why --help").stdout);
}

/// `--color` wins over `NO_COLOR` and over the kind of the output; it stands before or behind the command.
#[test]
fn the_color_option_overrides_the_environment() {
    let test = Test::new().file("x.agent", "nothing\n");
    let has_color = |arguments: &str| test.run(arguments).stdout.contains("\u{1b}[");
    assert!(has_color("check x.agent --color always"));
    assert!(has_color("--color always check x.agent"));
    assert!(!has_color("check x.agent --color never"));
    assert!(!has_color("check x.agent"));
}
