//! The help texts, and the messages for unknown arguments.

#[path = "../../build/source_commit.rs"]
mod source_commit;

use std::path::Path;

use source_commit::{git, source_commit};

use crate::test::Test;

#[test]
fn the_help_text_is_as_recorded() {
    insta::assert_snapshot!(Test::new().run("--help"), @"
    $ agentry --help
    --- stdout
    A compiler and a runtime for AI-agent definitions

    Usage: agentry [OPTIONS] <COMMAND>

    Run agents:
      run          Run an agent
      resume       Continue a run
      runs         List runs; show one, follow it, undo its changes
      tools        List the tools of an agent, or call one
      consent      List or revoke your consent to runs
      receipts     List, show and verify the receipts of runs; statistics over them

    Write and check agents:
      new          Start a new agent
      check        Find agents and report their problems
      show         Show an agent: every value and where it comes from
      resolve      Show which model, tools and skills an agent gets here, and why
      test         Replay recorded runs, and check the examples of policies
      convert      Write an agent in another format and list what is lost
      hash         Print the digest of an agent
      schema       Print the JSON Schema of a format, for editors
      rules        List every rule, or explain one

    See what agents may do:
      policy       Show what an agent may do, why, and what a change allows
      sandbox      Show what confines an agent's commands, or run one like that
      lock         Pin the agents of a workspace, or list what changed since
      audit        List all that takes part in a workspace, and what is suspicious

    Use them in other programs:
      render       Write agents for the harnesses that run them
      import       Read the agents of a harness into a definition format
      guard        Answer the hook of a harness: may the agent make this call?
      acp          Offer an agent to an editor that speaks the protocol ACP
      mcp          Offer agents as tools to other programs, as an MCP server
      serve        Serve a page and an API for runs and approvals; fire schedules
      schedule     List schedules and their next times; run, pause or resume one

    Keep them for months:
      install      Install an agent in your home, or update the installed one
      agents       List the installed agents
      history      List the changes of an installed agent, with their reasons
      diff         Compare two commits of an installed agent, and what they may do
      rollback     Restore an earlier state of an installed agent, as a new commit
      memory       Show and change what agents remember between runs
      proposals    Accept or reject changes that agents propose to themselves
      teach        Teach an installed agent a fact or a rule, in a sentence
      export       Write out an installed agent, without what belongs to users
      uninstall    Remove an installed agent and its history

    Share them:
      push         Add an agent to the store or to a registry, and print its digest
      pull         Write an agent of the store or a registry to files
      search       Search the store for agents by words
      list         List the agents of the store, or the tags in a registry
      verify       Verify an agent of the store or a registry, and its signatures
      sign         Sign an agent of the store
      keygen       Create a signing key
      gc           Remove agents from the store that nothing refers to

    This machine and repository:
      init         Set up a repository: configuration, baseline, hook, workflow
      doctor       Show what this machine supports, and how to get the rest
      models       List the models that can be used here, and why others cannot
      config       Show the settings in force, and the file that each comes from
      completions  Print a completion script for a shell
      man          Print a manual page, or write all of them
      help         Explain a command

    Options:
          --color <WHEN>       When to use colours; `auto`: on a terminal, unless `NO_COLOR` is set
                               [default: auto] [possible values: auto, always, never]
      -C <DIR>                 Run as if the program was started in this directory
      -q, --quiet              Print no progress and no notes; results, warnings and errors stay
          --require-signature  Refuse agents and bases of the store, a registry or the web without a
                               signature of a key that you trust
      -h, --help               Print help
      -V, --version            Print version

    To begin: `agentry new agent-toml NAME` writes an agent, `agentry check` finds its mistakes,
    `agentry run NAME` runs it. `agentry help COMMAND` explains a command.

    Exit codes: 0 done; 1 findings, or a failed run; 2 bad usage or unreadable input; 3 refused; 130
    interrupted.
    --- exit 0
    ");
    // Without a command, the same text is an error.
    let ran = Test::new().run("").exits(2);
    assert_eq!((ran.stdout.as_str(), ran.stderr), ("", Test::new().run("-h").stdout));
}

#[test]
fn version_names_the_commit() {
    let ran = Test::new().run("--version").exits(0);
    let plain = concat!("agentry ", env!("CARGO_PKG_VERSION"));
    let commit = git(Path::new(env!("CARGO_MANIFEST_DIR")), &["rev-parse", "--short=12", "HEAD"]);
    // Files that were changed since the commit are not committed yet: the program says so.
    let shown = ran.stdout.trim_end().replace("-modified)", ")");
    assert_eq!(shown, commit.map_or(plain.to_owned(), |commit| format!("{plain} ({commit})")));
}

#[test]
fn source_commit_marks_modified_checkouts() {
    let test = Test::outside_git();
    let run = |arguments: &[&str]| git(&test.path("checkout"), arguments).expect("git");
    let sources = |place: &str| {
        test.write(format!("{place}/crates/agentry/Cargo.toml"), "[package]\n");
        test.write(format!("{place}/crates/agentry/src/main.rs"), "fn main() {}\n");
        test.path(format!("{place}/crates/agentry"))
    };
    // Sources from a package, which no repository is around.
    assert_eq!(source_commit(&sources("package")), None);
    let package = sources("checkout");
    run(&["init", "-q"]);
    assert_eq!(source_commit(&package), None, "a repository without a commit");
    run(&["add", "."]);
    run(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"]);
    let commit = run(&["rev-parse", "--short=12", "HEAD"]);
    assert_eq!(source_commit(&package), Some(commit.clone()));
    // A file beside the sources is no part of the program, a changed source is.
    test.write("checkout/notes.md", "Later.\n");
    assert_eq!(source_commit(&package), Some(commit.clone()));
    // Sources that were unpacked into the repository of something else.
    assert_eq!(source_commit(&sources("checkout/vendor")), None);
    test.write("checkout/crates/agentry/src/main.rs", "fn main() { other() }\n");
    assert_eq!(source_commit(&package), Some(format!("{commit}-modified")));
}

#[test]
fn unknown_arguments_are_usage_errors() {
    insta::assert_snapshot!(Test::new().run("frobnicate"), @"
    $ agentry frobnicate
    --- stderr
    error: unrecognized subcommand 'frobnicate'

    Usage: agentry [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(Test::new().run("chekc"), @"
    $ agentry chekc
    --- stderr
    error: unrecognized subcommand 'chekc'

      tip: some similar subcommands exist: 'schema', 'check'

    Usage: agentry [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(Test::new().run("check --dney-warnings"), @r#"
    $ agentry check --dney-warnings
    --- stderr
    error: unexpected argument '--dney-warnings' found

      tip: a similar argument exists: '--deny-warnings'

    Usage: agentry check --deny-warnings [PATHS]...

    For more information, try '--help'.
    --- exit 2
    "#);
    insta::assert_snapshot!(Test::new().run("check --format yaml"), @r#"
    $ agentry check --format yaml
    --- stderr
    error: invalid value 'yaml' for '--format <FORMAT>'
      [possible values: human, json, sarif, github]

    For more information, try '--help'.
    --- exit 2
    "#);
    insta::assert_snapshot!(Test::new().run("convert x"), @r#"
    $ agentry convert x
    --- stderr
    error: the following required arguments were not provided:
      --to <FORMAT>
      --output <PATH>

    Usage: agentry convert --to <FORMAT> --output <PATH> <AGENT>

    For more information, try '--help'.
    --- exit 2
    "#);
}

#[test]
fn colours_are_off_without_a_terminal() {
    for (name, value) in [("CLICOLOR_FORCE", "0"), ("TERM", "xterm-256color"), ("LC_ALL", "tr_TR")]
    {
        let test = Test::new().env(name, value).file("broken.agent", crate::test::BROKEN);
        for args in ["check", "show broken.agent", "--help", "nonsense"] {
            let ran = test.run(args);
            assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{ran}");
        }
    }
}

#[test]
fn guard_help_lists_its_harnesses() {
    let help = Test::new().run("guard --help").exits(0);
    assert!(help.stdout.contains("[possible values: opencode, claude-code, pi]"), "{help}");
    let near = Test::new().run("guard opencod agent").exits(2);
    assert!(near.stderr.contains("a similar value exists: 'opencode'"), "{near}");
}
