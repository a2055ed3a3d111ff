//! Hostile files: the program neither hangs nor panics, and never prints them raw.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::test::{BROKEN, Test, WARNED};

/// Longer than any of these runs may take, also on a busy machine and without optimisation.
const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_closed_output_pipe_ends_quietly() {
    let mut test = Test::new();
    for number in 0..300 {
        test = test.file(format!("{number}.agent"), BROKEN);
    }
    for args in [&["check"][..], &["check", "--format", "github"], &["rules"], &["--help"]] {
        let mut command = test.command(args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut first = String::new();
        let mut stdout = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut first).expect("a line");
        drop(stdout);
        let mut stderr = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
        child.wait().expect("it ends");
        assert_eq!(stderr, "", "{args:?}");
        assert!(!first.is_empty(), "{args:?}");
    }
}

#[test]
fn an_oversized_file_is_reported_without_reading_it() {
    let test = Test::new().file("helper.agent", "");
    let file = std::fs::File::options().write(true).open(test.path("helper.agent"));
    file.expect("a file").set_len(100 * 1024 * 1024).expect("a sparse file");
    let start = Instant::now();
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0002]: the file has 104857600 bytes; at most 1048576 are read
     --> helper.agent:1:1
      |
      = help: move data out of the definition

    checked 1 agent: 1 error
    --- exit 1
    "#);
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
}

#[test]
fn deep_and_wide_files_are_bounded() {
    let deep = format!("name: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned()
        + &(0..9)
            .map(|level| format!("b{level}: &b{level} [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"))
            .collect::<String>();
    let line = format!("name: \"{}\"\n", "x".repeat(500_000));
    for (name, text) in [("deep", deep), ("bomb", bomb), ("line", line)] {
        let test = Test::new().file("x.agent", text);
        let start = Instant::now();
        let ran = test.run("check");
        assert!(matches!(ran.code, Some(0 | 1)), "{name}: {:?}", ran.code);
        assert!(start.elapsed() < LONG, "{name}: {:?}", start.elapsed());
        assert!(ran.stdout.len() < 20_000, "{name}: {}", ran.stdout.len());
        assert_eq!(ran.stderr, "", "{name}");
    }
}

#[test]
fn hidden_characters_in_files_are_escaped() {
    let agent = "name: \"a\u{1b}[2J\u{202e}b\"\ndescription: x\u{9b}31m\nsoul: s\n";
    let test = Test::new().file("x.agent", agent);
    for format in ["human", "json", "sarif", "github"] {
        let ran = test.run(&format!("check --format {format}"));
        assert_clean(&ran.stdout, format);
    }
    assert_clean(&test.run("show x.agent").stderr, "show");
    assert_clean(&test.run("hash x.agent").stderr, "hash");
}

fn assert_clean(text: &str, case: &str) {
    let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(bad), "{case}: {text:?}");
}

#[test]
fn hidden_characters_in_arguments_are_escaped() {
    let test = Test::new();
    for args in [
        ["check", "no\u{1b}[2J\n\u{202e}where"],
        ["show", "no\u{1b}[2J\n\u{202e}where"],
        ["hash", "no\u{1b}[2J\n\u{202e}where"],
        ["rules", "no\u{1b}[2J\n\u{202e}rule"],
        ["--format", "\u{1b}[2J"],
    ] {
        let ran = test.run_args(&args).exits(2);
        assert_clean(&ran.stderr, args[0]);
    }
    insta::assert_snapshot!(test.run_args(&["check", "no\u{1b}[2J\n\u{202e}where"]).stderr, @r"
    error: `no\u{1b}[2J\n\u{202e}where` does not exist
      = help: name a file or a directory; `agentry agents` lists installed agents
    ");
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn hidden_characters_in_file_names_are_escaped() {
        let test = Test::new()
            .file("a\nb\u{1b}[2J.agent", WARNED)
            .file("\u{202e}c.agent", WARNED.replace("warned", "other"));
        insta::assert_snapshot!(test.run("check"), @r#"
        $ agentry check
        --- stdout
        warning[AG0101]: the manifest has no field `team`
         --> a\nb\u{1b}[2J.agent:4:1
          |
        4 | team: support
          | ^^^^

        warning[AG0101]: the manifest has no field `team`
         --> \u{202e}c.agent:4:1
          |
        4 | team: support
          | ^^^^

        checked 2 agents: 2 warnings
        --- exit 0
        "#);
        insta::assert_snapshot!(test.run("check --format github"), @r#"
        $ agentry check --format github
        --- stdout
        ::warning file=a%0Ab\u{1b}[2J.agent,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
        ::warning file=\u{202e}c.agent,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
        --- exit 0
        "#);
        assert_clean(&test.run("hash . --format json").stdout, "hash as JSON");
        assert_clean(&test.run("hash .").stdout, "hash");
        assert_clean(&test.run_args(&["show", "a\nb\u{1b}[2J.agent"]).stdout, "show");
    }

    #[test]
    fn an_agent_name_that_is_not_utf8_is_an_error() {
        let test = Test::new().file(OsStr::from_bytes(b"caf\xe9.agent"), WARNED);
        insta::assert_snapshot!(test.run("check"), @r#"
        $ agentry check
        --- stdout
        error[AG0001]: this cannot be looked into: its name is not UTF-8
         --> caf�.agent:1:1

        checked 0 agents: 1 error
        --- exit 1
        "#);
        let named = test.run_args(&[OsStr::new("check"), OsStr::from_bytes(b"caf\xe9.agent")]);
        insta::assert_snapshot!(named, @r#"
        $ agentry check caf�.agent
        --- stderr
        error: invalid UTF-8 was detected in one or more arguments

        Usage: agentry check [OPTIONS] [PATHS]...

        For more information, try '--help'.
        --- exit 2
        "#);
    }

    #[test]
    fn other_file_names_that_are_not_utf8_are_ignored() {
        let test = Test::new()
            .file(OsStr::from_bytes(b"caf\xe9.txt"), "")
            .file("warned.agent", crate::test::HELPER);
        insta::assert_snapshot!(test.run("check"), @r#"
        $ agentry check
        --- stdout
        checked 1 agent: all good
        --- exit 0
        "#);
    }

    #[test]
    fn an_unreadable_file_is_an_error() {
        let test = Test::new().file("helper.agent", WARNED).file("shut/a.agent", WARNED);
        for path in ["helper.agent", "shut"] {
            let shut = std::fs::Permissions::from_mode(0o000);
            std::fs::set_permissions(test.path(path), shut).expect("a file of ours");
        }
        if std::fs::read(test.path("helper.agent")).is_ok() {
            let _ = report_skipped();
        } else {
            insta::assert_snapshot!(test.run("check"), @r#"
            $ agentry check
            --- stdout
            error[AG0001]: this cannot be looked into: permission denied
             --> shut:1:1

            error[AG0001]: the file cannot be read: permission denied
             --> helper.agent:1:1

            checked 1 agent: 2 errors
            --- exit 1
            "#);
        }
        let open = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(test.path("shut"), open).expect("a folder of ours");
    }

    /// Reports a skipped test: this user can read every file.
    fn report_skipped() -> std::io::Result<()> {
        use std::io::Write as _;
        writeln!(std::io::stderr(), "SKIPPED: this user may read every file")
    }

    #[test]
    fn symlink_loops_are_errors() {
        let test = Test::new()
            .link("loop", ".")
            .link("a.agent", "b.agent")
            .link("b.agent", "a.agent")
            .link("gone.agent", "nowhere")
            .file("helper.agent", crate::test::HELPER);
        insta::assert_snapshot!(test.run("check"), @r#"
        $ agentry check
        --- stdout
        error[AG0001]: the file cannot be read: too many levels of symbolic links
         --> a.agent:1:1

        error[AG0001]: the file cannot be read: too many levels of symbolic links
         --> b.agent:1:1

        error[AG0001]: there is no `gone.agent` to read
         --> gone.agent:1:1

        checked 4 agents: 3 errors
        --- exit 1
        "#);
        insta::assert_snapshot!(test.run("check a.agent"), @r#"
        $ agentry check a.agent
        --- stdout
        error[AG0001]: the file cannot be read: too many levels of symbolic links
         --> a.agent:1:1

        checked 1 agent: 1 error
        --- exit 1
        "#);
        insta::assert_snapshot!(test.run("check gone.agent"), @r#"
        $ agentry check gone.agent
        --- stderr
        error: `gone.agent` does not exist
          = help: name a file or a directory; `agentry agents` lists installed agents
        --- exit 2
        "#);
    }

    #[test]
    fn a_symlink_out_of_the_agent_is_refused() {
        let test = Test::new()
            .file("helper/agent.yaml", "name: helper\ndescription: Answers questions\n")
            .link("helper/SOUL.md", "/etc/hostname");
        insta::assert_snapshot!(test.run("check"), @r#"
        $ agentry check
        --- stdout
        error[AG0004]: this link leads out of the agent's directory
         --> helper/SOUL.md:1:1
          |
          = help: copy the file to where the link is

        checked 1 agent: 1 error
        --- exit 1
        "#);
        // No content of the file is shown, digested or converted.
        insta::assert_snapshot!(test.run("show helper --prompt"), @r#"
        $ agentry show helper --prompt
        --- stderr
        error[AG0004]: this link leads out of the agent's directory
         --> helper/SOUL.md:1:1
          |
          = help: copy the file to where the link is

        error: `helper` has errors
          = help: `agentry check` shows all findings
        --- exit 1
        "#);
        test.run("hash helper").exits(1);
        test.run("convert helper --to agent-toml -o out").exits(1);
        assert!(!test.has("out"));
    }

    #[test]
    fn a_symlink_inside_the_agent_is_followed() {
        let test = Test::new()
            .file("helper/agent.yaml", "name: helper\ndescription: Answers questions\n")
            .file("helper/texts/soul.md", "You answer questions.\n")
            .link("helper/SOUL.md", "texts/soul.md");
        insta::assert_snapshot!(test.run("check"), @r#"
        $ agentry check
        --- stdout
        checked 1 agent: all good
        --- exit 0
        "#);
    }

    #[test]
    fn pipes_are_reported_without_reading_them() {
        let test = Test::new().file("helper/agent.yaml", "name: helper\ndescription: d\n");
        for path in ["x.agent", "helper/SOUL.md"] {
            let made = Command::new("mkfifo").arg(test.path(path)).status();
            assert!(made.expect("`mkfifo` is there").success());
        }
        let _socket = UnixListener::bind(test.path("y.agent")).expect("a socket");
        let start = Instant::now();
        insta::assert_snapshot!(test.run("check"), @r#"
        $ agentry check
        --- stdout
        error[AG0001]: this is not a file
         --> helper/SOUL.md:1:1
          |
          = help: put a text file in its place

        error[AG0001]: this is not a file
         --> x.agent:1:1
          |
          = help: put a text file in its place

        error[AG0001]: this is not a file
         --> y.agent:1:1
          |
          = help: put a text file in its place

        checked 3 agents: 3 errors
        --- exit 1
        "#);
        insta::assert_snapshot!(test.run("check x.agent"), @r#"
        $ agentry check x.agent
        --- stdout
        error[AG0001]: this is not a file
         --> x.agent:1:1
          |
          = help: put a text file in its place

        checked 1 agent: 1 error
        --- exit 1
        "#);
        assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    }
}

/// Two links that lead to each other make ever more paths; only a limited number is followed.
#[cfg(unix)]
#[test]
fn circular_directory_links_are_skipped() {
    let test = Test::new()
        .file(
            "a/agent.json",
            r#"{"name": "A", "version": "1.0.0", "role": "x", "description": "y"}"#,
        )
        .file("a/persona.md", "You help.\n")
        .file("a/principles.md", "## Must Do\n- x\n\n## Never Do\n- y\n\n## Escalation Path\n- z\n")
        .file("a/memory/x.md", "Something.\n")
        .link("a/memory/b", ".")
        .link("a/memory/c", ".")
        .link("a/skills/b", ".")
        .link("a/skills/c", ".");
    test.run("check a").exits(0);
}

/// A link to a directory inside an agent is followed; a loop, or a link out of the agent, is
/// reported.
#[cfg(unix)]
#[test]
fn links_to_skill_directories_are_followed() {
    let skill = "---\nname: greet\ndescription: Greets somebody\n---\nSay hello.\n";
    let agent = || {
        Test::new()
            .file("helper/instructions.md", "You answer questions.\n")
            .file("helper/agent.acl", "")
            .file("helper/shared/greet/SKILL.md", skill)
            .file("outside/leave/SKILL.md", skill)
    };
    let shown = |test: Test| test.run("show helper --format json").json();
    let followed = shown(agent().link("helper/skills", "shared"));
    assert_eq!(followed["skill_packs"][0]["name"], "greet");
    let cases = [
        ("helper/skills/loop", "..", "warning[AG0001]"),
        ("helper/skills/loop", "../skills", "warning[AG0001]"),
        ("helper/skills/away", "../../outside/leave", "error[AG0004]"),
    ];
    for (link, target, expected) in cases {
        let test = agent().file("helper/skills/greet/SKILL.md", skill).link(link, target);
        let shown = test.run("check helper").stdout;
        assert_eq!(shown.matches("[AG").count(), 1, "{link} -> {target}\n{shown}");
        assert!(shown.contains(expected), "{link} -> {target}\n{shown}");
    }
    let circle = agent()
        .file("helper/skills/a/c/greet/SKILL.md", skill)
        .link("helper/skills/a/b", "../../shared")
        .link("helper/shared/back", "../skills/a");
    let shown = circle.run("check helper").stdout;
    assert_eq!(shown.matches("warning[AG0001]").count(), 1, "{shown}");
}
