//! `agentry render` on existing files: no work of the user is lost.

use std::fs;

use crate::render::{agent, workspace};
use crate::test::Test;

const HELPER: &str = ".opencode/agents/helper.md";
const PUSHER: &str = ".opencode/agents/pusher.md";
const LEDGER: &str = ".agentry/rendered.json";

/// Claude Code, with the rules that hold for every session.
const SHARED: &str = "[render]\ntargets = [\"claude-code\"]\nshared = true\n";

/// A file that the tool did not produce is never removed; one that it produced goes with its agent.
#[test]
fn t54_only_stale_rendered_files_are_removed() {
    let test = workspace();
    test.run("render").exits(0);
    test.write(".opencode/agents/mine.md", "mine");
    fs::remove_dir_all(test.path("agents/pusher")).expect("a folder");
    insta::assert_snapshot!(test.run("render").exits(0), @"
    $ agentry render
    --- stdout
    opencode
      removed    .opencode/agents/pusher.md
      unchanged  1 file

      gap  permissions                     OpenCode asks in its ordinary mode, not with `opencode --auto`; a run without a person refuses what is asked about
      gap  permissions.external_directory  OpenCode lets every agent read the output of tools that it has cut off
      gap  permissions.read                secrets: OpenCode does not check them; `.envrc` is ask in the source and allow there
      gap  permissions.webfetch            private addresses: OpenCode does not check them; `http://localhost:80/` is deny in the source and ask there

    rendered 1 agent for opencode: 1 unchanged, 1 removed; 4 gaps
      = help: `agentry render --guard --target opencode` checks each call by these rules
    --- exit 0
    ");
    assert!(!test.has(PUSHER) && test.has(HELPER) && test.has(".opencode/agents/mine.md"));
    assert!(!test.read(LEDGER).contains("pusher"));
}

#[test]
fn removing_all_agents_removes_all_rendered_files() {
    let test = workspace();
    test.run("render").exits(0);
    fs::remove_dir_all(test.path("agents")).expect("a folder");
    test.run("render --check").exits(1);
    test.run("render").exits(0);
    assert!(!test.has(".opencode") && !test.has(".agentry"));
}

#[test]
fn files_of_a_removed_target_are_kept() {
    let test = workspace();
    test.run("render").exits(0);
    test.write("agentry.toml", "[render]\ntargets = []\n");
    // An agent that is only not named in this run keeps its files.
    let ran = test.run("render").exits(2);
    assert!(ran.stderr.contains("no target"), "{ran}");
    assert!(test.has(HELPER));
}

#[test]
fn rendering_one_agent_keeps_files_of_others() {
    let test = workspace();
    test.run("render agents/helper").exits(0);
    assert!(test.has(HELPER) && !test.has(PUSHER));
    test.run("render agents/pusher").exits(0);
    assert!(test.has(HELPER) && test.has(PUSHER));
    fs::remove_dir_all(test.path("agents/pusher")).expect("a folder");
    test.run("render agents/helper").exits(0);
    assert!(test.has(PUSHER));
    test.run("render agents").exits(0);
    assert!(!test.has(PUSHER));
}

#[test]
fn edited_files_are_kept_without_force() {
    let test = workspace();
    test.run("render").exits(0);
    test.write(HELPER, "mine");
    test.write("agents/pusher/system-prompt.md", "You push.\n");
    insta::assert_snapshot!(test.run("render").exits(1), @"
    $ agentry render
    --- stdout
    rendered 1 of 2 agents for opencode: 1 updated, 1 refused; 7 gaps

    opencode
      updated  .opencode/agents/pusher.md
      refused  helper: `.opencode/agents/helper.md` was edited after it was rendered
        = help: take the change over into the definition, or pass `--force` to undo it

      gap  permissions                     OpenCode asks in its ordinary mode, not with `opencode --auto`; a run without a person refuses what is asked about (pusher)
      gap  permissions.bash                OpenCode does not check nested shells, other spellings and variables; `sh -c 'git push'` is deny in the source and ask there (pusher)
      gap  permissions.external_directory  OpenCode lets every agent read the output of tools that it has cut off (pusher)
      gap  permissions.read                secrets: OpenCode does not check them; `.envrc` is ask in the source and allow there (pusher)
      gap  permissions.webfetch            private addresses: OpenCode does not check them; `http://localhost:80/` is deny in the source and ask there (pusher)
      = `--explain` lists all 7, with the rules of both sides

      = help: `agentry render --guard --target opencode` checks each call by these rules
    --- exit 1
    ");
    assert_eq!(test.read(HELPER), "mine");
    assert!(test.read(PUSHER).contains("You push."), "the others are written");
    let ran = test.run("render --check").exits(1);
    assert!(ran.stdout.contains("\n-mine\n"), "{ran}");
    assert!(ran.stdout.contains("\n+You answer questions.\n"), "{ran}");
    test.run("render --force").exits(0);
    assert!(test.read(HELPER).contains("You answer questions."));
}

#[test]
fn stale_edited_files_are_kept_without_force() {
    let test = workspace();
    test.run("render").exits(0);
    test.write(PUSHER, "mine");
    fs::remove_dir_all(test.path("agents/pusher")).expect("a folder");
    test.run("render").exits(1);
    assert_eq!(test.read(PUSHER), "mine");
    test.run("render --force").exits(0);
    assert!(!test.has(PUSHER));
}

#[test]
fn foreign_files_are_kept_without_force() {
    let test = workspace().file(HELPER, "mine");
    insta::assert_snapshot!(test.run("render").exits(1), @"
    $ agentry render
    --- stdout
    rendered 1 of 2 agents for opencode: 1 created, 1 refused; 7 gaps

    opencode
      created  .opencode/agents/pusher.md
      refused  helper: `.opencode/agents/helper.md` is there already, and agentry did not write it
        = help: pass `--force` once to replace it, if the definition was imported from it; else move it away

      gap  permissions                     OpenCode asks in its ordinary mode, not with `opencode --auto`; a run without a person refuses what is asked about (pusher)
      gap  permissions.bash                OpenCode does not check nested shells, other spellings and variables; `sh -c 'git push'` is deny in the source and ask there (pusher)
      gap  permissions.external_directory  OpenCode lets every agent read the output of tools that it has cut off (pusher)
      gap  permissions.read                secrets: OpenCode does not check them; `.envrc` is ask in the source and allow there (pusher)
      gap  permissions.webfetch            private addresses: OpenCode does not check them; `http://localhost:80/` is deny in the source and ask there (pusher)
      = `--explain` lists all 7, with the rules of both sides

      = help: `agentry render --guard --target opencode` checks each call by these rules
    --- exit 1
    ");
    assert_eq!(test.read(HELPER), "mine");
    assert!(test.has(PUSHER));
    test.run("render --force").exits(0);
    assert_ne!(test.read(HELPER), "mine");
}

/// A clone without the ledger: unchanged files are adopted.
#[test]
fn a_missing_ledger_is_rebuilt() {
    let test = workspace();
    test.run("render").exits(0);
    let list = test.read(LEDGER);
    fs::remove_dir_all(test.path(".agentry")).expect("a folder");
    test.run("render").exits(0);
    assert_eq!(test.read(LEDGER), list);
    for broken in ["", "{", "[]", "{\"version\": 9, \"files\": []}"] {
        test.write(LEDGER, broken);
        let ran = test.run("render").exits(2);
        assert!(ran.stderr.contains("is not a list of rendered files"), "{ran}");
        assert_eq!(test.read(LEDGER), broken);
    }
}

#[cfg(unix)]
#[test]
fn rendering_through_a_symlink_is_refused() {
    let outside = Test::new().file("keep", "outside");
    let target = outside.path("").to_string_lossy().into_owned();
    let file = outside.path("keep").to_string_lossy().into_owned();
    let cases = [(".opencode", target.as_str()), (".opencode/agents", &target), (HELPER, &file)];
    for (link, target) in cases {
        let test = workspace().link(link, target);
        for args in ["render", "render --force"] {
            let ran = test.run(args).exits(1);
            assert!(ran.stdout.contains("link"), "{ran}");
        }
        assert_eq!(outside.read("keep"), "outside");
        let left = fs::read_dir(outside.path("")).expect("a folder").count();
        assert_eq!(left, 2, "{link}");
    }
    // Not even the ledger is written through a link.
    let test = workspace().link(".agentry", &target);
    test.run("render").exits(2);
    assert!(!test.has(".opencode") && !outside.has("rendered.json"));
}

#[test]
fn a_directory_in_place_of_a_file_is_refused() {
    let test = workspace();
    fs::create_dir_all(test.path(HELPER)).expect("a folder");
    let ran = test.run("render --force").exits(1);
    assert!(ran.stdout.contains("is a directory"), "{ran}");
    assert!(test.has(PUSHER));
    let test = workspace().file(".opencode", "a file");
    let ran = test.run("render --force").exits(1);
    assert!(ran.stdout.contains("lies below the file"), "{ran}");
    assert_eq!(test.read(".opencode"), "a file");
}

#[cfg(unix)]
#[test]
fn an_unwritable_directory_changes_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let test = workspace();
    test.run("render").exits(0);
    let dir = test.path(".opencode/agents");
    let before = (test.read(HELPER), test.read(LEDGER));
    test.write("agents/helper/system-prompt.md", "Something else.\n");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).expect("our folder");
    // Root can write anywhere; then the test shows nothing.
    let is_root = fs::write(dir.join("probe"), "").is_ok();
    let ran = test.run("render");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("our folder");
    if !is_root {
        let ran = ran.exits(2);
        assert!(ran.stderr.contains("permission denied"), "{ran}");
        assert_eq!((test.read(HELPER), test.read(LEDGER)), before);
    }
}

/// If one file cannot be written, none is; the ledger is the last of them.
#[test]
fn an_unwritable_ledger_writes_no_file() {
    let test = workspace();
    fs::create_dir_all(test.path(LEDGER)).expect("a folder");
    test.run("render").exits(2);
    assert!(!test.has(".opencode"));
}

#[test]
fn two_agents_with_the_same_name_are_refused() {
    let test = agent(Test::new(), "helper", "");
    let test = test.file("helper.agent", crate::test::HELPER);
    let ran = test.run("render --target opencode").exits(1);
    assert!(ran.stdout.contains("would be written for"), "{ran}");
    assert!(!test.has(HELPER));
    // Names that differ only by case are one file on many systems.
    let config = "[render]\ntargets = [\"opencode\"]\naliases = { a = \"x\", b = \"x\" }\n";
    let test = agent(agent(Test::new().file("agentry.toml", config), "a", ""), "b", "");
    test.run("render").exits(1);
    assert!(!test.has(".opencode"));
}

#[test]
fn special_texts_are_rendered_unchanged() {
    let long = "All work and no play makes a dull agent.\n".repeat(2500);
    let prompts =
        [long.as_str(), "---\nname: x\n---\n", "a\r\nb\r\n", "{{ x }} $HOME `x` \u{1F600}\n"];
    let descriptions = ["say \\\"hi\\\": now", "a # b", "- x", "yes", "*", "@x", "it's --- so"];
    for (at, description) in descriptions.iter().enumerate() {
        let prompt = prompts[at % prompts.len()];
        let definition = format!("name = \"helper\"\ndescription = \"{description}\"\n");
        let test = Test::new()
            .file("agents/helper/agent.toml", definition)
            .file("agents/helper/system-prompt.md", prompt);
        test.run("render --target opencode").exits(0);
        let file = test.read(HELPER);
        let last = prompt.trim().lines().last().expect("a line");
        assert!(file.contains(last), "{description}");
        test.run("render --target opencode --check").exits(0);
    }
}

#[test]
fn a_forged_ledger_changes_no_other_file() {
    let forged = r#"{"version":1,"files":[{"path":".git/config","target":"claude-code","agent":"","sha256":"","merge":[{"at":0,"removed":["evil\n"],"added":["[core]\n"]}]}]}"#;
    let test = workspace().file(".git/config", "[core]\n").file(".agentry/rendered.json", forged);
    let report = test.run("render").exits(2).to_string();
    assert!(
        report.contains("`.git/config` is not a file that is rendered for claude-code"),
        "{report}"
    );
    assert_eq!(test.read(".git/config"), "[core]\n");
}

#[test]
fn a_broken_definition_keeps_its_shared_denials() {
    let rules = "[permissions.bash]\nintent = \"allow\"\nrules = [\"git push*:deny\"]\n";
    let test = agent(Test::new().file("agentry.toml", SHARED), "b", rules);
    test.run("render").exits(0);
    let before = test.read(".claude/settings.json");
    assert!(before.contains("git push"), "{before}");
    let broken = format!("{}oops = [\n", test.read("agents/b/agent.toml"));
    let test = test.file("agents/b/agent.toml", &broken);
    test.run("render").exits(1);
    assert_eq!(test.read(".claude/settings.json"), before);
}

#[test]
fn an_edited_file_of_a_removed_agent_keeps_its_denials() {
    let test = Test::new().file("agentry.toml", SHARED);
    let rules = "[permissions.bash]\nintent = \"allow\"\nrules = [\"git push*:deny\"]\n";
    let test = agent(test, "one", rules);
    test.run("render").exits(0);
    let (file, settings) = (".claude/agents/one.md", ".claude/settings.json");
    let before = test.read(settings);
    test.write(file, format!("{}mine\n", test.read(file)));
    fs::remove_dir_all(test.path("agents/one")).expect("a folder");
    let test = agent(test, "three", "[permissions.bash]\nintent = \"allow\"\n");
    let ran = test.run("render").exits(1);
    let expected =
        "`.claude/settings.json` is for `.claude/agents/one.md` too, which stays as it is";
    assert!(ran.stdout.contains(expected), "{ran}");
    assert_eq!(test.read(settings), before);
    assert!(test.has(file) && !test.has(".claude/agents/three.md"));
    fs::remove_file(test.path(file)).expect("a file");
    test.run("render").exits(0);
    assert!(!test.read(settings).contains("git push") && test.has(".claude/agents/three.md"));
}

#[test]
fn an_edited_file_keeps_its_shared_denials() {
    let (file, settings) = (".claude/agents/one.md", ".claude/settings.json");
    for lost in [false, true] {
        let test = Test::new().file("agentry.toml", SHARED);
        let rules = "[permissions.bash]\nintent = \"allow\"\nrules = [\"git push*:deny\"]\n";
        let test = agent(test, "one", rules);
        test.run("render").exits(0);
        let before = test.read(settings);
        test.write(file, format!("{}mine\n", test.read(file)));
        if lost {
            fs::remove_file(test.path(LEDGER)).expect("a file");
        }
        let test = agent(test, "one", "[permissions.bash]\nintent = \"allow\"\n");
        let ran = test.run("render").exits(1);
        let expected = "`.claude/settings.json` is for `.claude/agents/one.md` too";
        assert!(ran.stdout.contains(expected), "{ran}");
        assert_eq!(test.read(settings), before);
        test.run("render --force").exits(0);
        assert!(!test.read(settings).contains("git push"), "{}", test.read(settings));
    }
}

#[test]
fn no_shared_allow_is_written_beside_a_foreign_file() {
    let (file, settings) = (".claude/agents/one.md", ".claude/settings.json");
    let mine = "---\nname: one\ndescription: mine\ntools: Bash\n---\nx\n";
    let test = Test::new().file("agentry.toml", SHARED).file(file, mine);
    let test = agent(test, "one", "[permissions.bash]\nintent = \"allow\"\n");
    let test = agent(test, "two", "[permissions.bash]\nintent = \"allow\"\n");
    test.run("render").exits(1);
    assert_eq!(test.read(file), mine);
    assert!(test.has(".claude/agents/two.md"));
    assert!(!test.has(settings) || !test.read(settings).contains("\"Bash\""));
    test.run("render --force").exits(0);
    assert_ne!(test.read(file), mine);
    assert!(test.read(settings).contains("\"Bash\""));
}

#[test]
fn user_agents_affected_by_a_shared_allow_are_listed() {
    let test = Test::new()
        .file("agentry.toml", SHARED)
        .file("home/.claude/agents/other.md", "---\nname: other\ntools: Bash\n---\nx\n");
    let test = agent(test, "one", "[permissions.bash]\nintent = \"allow\"\n");
    let ran = test.run("render").exits(0);
    let expected = "yours and those of your own agents (`other`) included: `Bash`";
    assert!(ran.stdout.contains(expected), "{ran}");
}

#[test]
fn an_agent_that_differs_from_the_lock_is_not_rendered() {
    let test = workspace();
    test.run("lock agents/pusher").exits(0);
    let ran = test.run("render --target claude-code --shared").exits(0);
    insta::assert_snapshot!(ran.stderr, @"
    note: `agents/helper` is not in `agentry.lock`
      = help: run `agentry lock agents/helper` after a look
    ");
    let file = ".claude/agents/pusher.md";
    let (settings, list) = (test.read(".claude/settings.json"), test.read(LEDGER));
    let before = test.read(file);
    let head = "name = \"pusher\"\ndescription = \"Answers questions\"\n";
    test.write(
        "agents/pusher/agent.toml",
        format!("{head}[permissions.bash]\nintent = \"allow\"\n"),
    );
    for args in ["", "--check", "--force", "agents/pusher"] {
        let ran = test.run(&format!("render --target claude-code --shared {args}")).exits(3);
        assert!(
            ran.stderr.contains("error: `agents/pusher` is not as `agentry.lock` says: it gained"),
            "{ran}"
        );
        assert!(ran.stderr.contains("`agentry lock --update agents/pusher` after a look"), "{ran}");
        assert_eq!(test.read(file), before, "{args}");
        // The rules that it needs stay with it.
        assert_eq!(test.read(".claude/settings.json"), settings, "{args}");
        assert_eq!(test.read(LEDGER), list, "{args}");
    }
    test.run("lock --update agents/pusher").exits(0);
    test.run("render --target claude-code --shared").exits(0);
    // The denial goes only now; the tool stood in its file before, with questions.
    assert!(settings.contains("git push") && !test.has(".claude/settings.json"));
    test.write("agentry.lock", "nonsense");
    let ran = test.run("render --target claude-code --shared").exits(3);
    assert!(ran.stdout.contains("0 agents"), "{ran}");
}

/// Two workspaces that render to one directory: neither removes or weakens the files of the other.
#[test]
fn files_of_another_workspace_are_kept() {
    let test = Test::new();
    let rules = "[permissions.bash]\nintent = \"allow\"\nrules = [\"git push*:deny\"]\n";
    for (place, name, lines) in [("one", "first", rules), ("two", "second", rules)] {
        let head = format!("name = \"{name}\"\ndescription = \"Answers questions\"\n");
        test.write(format!("{place}/agentry.toml"), "");
        test.write(format!("{place}/agents/{name}/agent.toml"), format!("{head}{lines}"));
        test.write(format!("{place}/agents/{name}/system-prompt.md"), "You answer questions.\n");
    }
    let settings = ".claude/settings.json";
    test.run_in("one", "render --target claude-code --shared -o ../out").exits(0);
    let first = test.read(format!("out/{settings}"));
    assert!(first.contains("Bash(git push*)"), "{first}");
    let ran = test.run_in("two", "render --target claude-code --shared -o ../out").exits(0);
    assert!(!ran.stdout.contains("removed"), "{ran}");
    assert!(test.has("out/.claude/agents/first.md") && test.has("out/.claude/agents/second.md"));
    let both = test.read(format!("out/{settings}"));
    assert!(both.contains("Bash(git push*)"), "{both}");
    let ledger = test.read(format!("out/{LEDGER}"));
    assert!(ledger.contains("\"../one/agents/first/agent.toml\""), "{ledger}");
    assert!(ledger.contains("\"../two/agents/second/agent.toml\""), "{ledger}");
    // This run does not render for Claude Code.
    test.run_in("two", "render --target opencode -o ../out").exits(0);
    assert_eq!(test.read(format!("out/{settings}")), both);
    // The rules of a removed workspace are unknown, so they stay.
    fs::remove_dir_all(test.path("one")).expect("a folder");
    test.write("two/agents/second/agent.toml", "name = \"second\"\ndescription = \"Asks\"\n");
    let before = test.read("out/.claude/agents/second.md");
    let ran = test.run_in("two", "render --target claude-code --shared -o ../out").exits(1);
    assert!(ran.stdout.contains("is for `../one/agents/first/agent.toml` too"), "{ran}");
    assert!(test.read(format!("out/{settings}")).contains("Bash(git push*)"));
    // What is allowed there would hold for the new rules of the other agent.
    assert_eq!(test.read("out/.claude/agents/second.md"), before);
    fs::remove_file(test.path("out/.claude/agents/first.md")).expect("a file");
    test.run_in("two", "render --target claude-code --shared -o ../out").exits(0);
    assert!(!test.has(&format!("out/{settings}")));
}

/// What was allowed to an agent that is refused now does not hold for another one, which must ask.
#[test]
fn a_shared_allow_of_a_refused_agent_is_removed() {
    let allows = "[permissions.bash]\nintent = \"allow\"\n";
    let test = agent(Test::new().file("agentry.toml", SHARED), "one", allows);
    test.run("render").exits(0);
    assert!(test.read(".claude/settings.json").contains("\"Bash\""));
    let test = agent(test, "two", "");
    let built_in = format!("name = \"explore\"\ndescription = \"Answers questions\"\n{allows}");
    test.write("agents/one/agent.toml", built_in);
    let ran = test.run("render").exits(1);
    assert!(ran.stdout.contains("refused  explore: `explore` is built into Claude Code"), "{ran}");
    assert!(test.has(".claude/agents/two.md"), "{ran}");
    assert!(!test.has(".claude/settings.json") && !test.has(".claude/agents/one.md"), "{ran}");
}
