//! `agentry render` with very many agents: the report stays short.

use std::fs;

use crate::render::agent;
use crate::test::{Ran, Test};

const MANY: usize = 44;

/// A workspace of many agents for two targets.
fn workspace() -> Test {
    let targets = "[render]\ntargets = [\"opencode\", \"pi\"]\n";
    let rules = "[permissions.bash]\nintent = \"deny\"\nrules = [\"make test*:ask\"]\n";
    (0..MANY).fold(Test::new().file("agentry.toml", targets), |test, at| {
        agent(test, &format!("agent-{at:02}"), rules)
    })
}

/// Changes the instructions of every agent.
fn change(test: &Test) {
    for at in 0..MANY {
        test.write(format!("agents/agent-{at:02}/system-prompt.md"), "You answer.\n");
    }
}

/// The part of the report about files: behind the counts.
fn files(ran: &Ran) -> &str {
    ran.stdout.split("\n\n").nth(1).unwrap_or_default()
}

#[test]
fn many_files_are_a_line_a_directory() {
    let test = workspace();
    insta::assert_snapshot!(test.run("render --shared").exits(0), @"
    $ agentry render --shared
    --- stdout
    rendered 44 agents for opencode, pi: 89 created; 176 narrowed, 264 gaps
    lost in pi: 44 agents (agent-00, agent-01, agent-02 and 41 more) lose bash, edit, webfetch, websearch; `--guard` keeps them with questions, `--accept pi:permissions.bash,pi:permissions.edit,pi:permissions.webfetch,pi:permissions.websearch` without

    opencode
      created  44 files in .opencode/agents/
    pi
      created  AGENTS.md (shared: holds for every session of the project)
      created  44 files in .pi/agents/
      AGENTS.md changes with agent-00, agent-01, agent-02 and 41 more

    losses
      narrowed  permissions.bash                       Pi checks no call and bash `git status` is deny in the source: `bash` left out; the guard would make it exact (all 44 agents; pi)
      narrowed  permissions.{edit,webfetch,websearch}  Pi checks no call and what is ask in the source: its tools left out; the guard would make it exact (all 44 agents; pi)
      gap       permissions                            OpenCode asks in its ordinary mode, not with `opencode --auto`; a run without a person refuses what is asked about (all 44 agents; opencode)
      gap       permissions.external_directory         OpenCode lets every agent read the output of tools that it has cut off (all 44 agents; opencode)
      gap       permissions.read                       `/tmp/example.txt` is ask in the source, and Pi never asks about it (all 44 agents; pi)
      gap       permissions.read                       secrets: the harness does not check them; e.g. `.envrc` is ask in the source and allow there for agent-00 in opencode (all 44 agents; both targets)
      gap       permissions.webfetch                   private addresses: OpenCode does not check them; `http://localhost:80/` is deny in the source and ask there (all 44 agents; opencode)
      = `--explain` lists all 440, with the rules of both sides

      = help: `agentry render --guard --target opencode,pi` checks each call by these rules
    --- exit 0
    ");
    insta::assert_snapshot!(files(&test.run("render --shared").exits(0)), @"
    opencode
      unchanged  44 files
    pi
      unchanged  45 files
    ");
}

/// Files that the user must look at are always named, however many there are.
#[test]
fn removed_refused_and_replaced_files_are_always_listed() {
    let test = workspace();
    test.run("render --shared").exits(0);
    change(&test);
    test.write(".opencode/agents/agent-07.md", "mine");
    fs::remove_dir_all(test.path("agents/agent-00")).expect("a folder");
    insta::assert_snapshot!(files(&test.run("render --shared --dry-run").exits(1)), @"
    opencode
      would update  42 files in .opencode/agents/
      would remove  .opencode/agents/agent-00.md
      refused       agent-07: `.opencode/agents/agent-07.md` was edited after it was rendered
        = help: take the change over into the definition, or pass `--force` to undo it
    pi
      would update  AGENTS.md (shared: holds for every session of the project)
      would update  43 files in .pi/agents/
      would remove  .pi/agents/agent-00.md
      AGENTS.md changes with agents/agent-00/agent.toml, agent-01, agent-02 and 41 more
    ");
    insta::assert_snapshot!(files(&test.run("render --shared --force").exits(0)), @"
    opencode
      updated  42 files in .opencode/agents/
      updated  .opencode/agents/agent-07.md (by force: not agentry's own text)
      removed  .opencode/agents/agent-00.md
    pi
      updated  AGENTS.md (shared: holds for every session of the project)
      updated  43 files in .pi/agents/
      removed  .pi/agents/agent-00.md
      AGENTS.md changes with agents/agent-00/agent.toml, agent-01, agent-02 and 41 more
    ");
}

/// JSON has every file, and `--check` shows each difference.
#[test]
fn json_and_check_list_every_file() {
    let test = workspace();
    let ran = test.run("render --dry-run --format json").exits(0);
    let check = test.run("render --check").exits(1);
    for at in 0..MANY {
        let path = format!(".opencode/agents/agent-{at:02}.md");
        assert!(ran.stdout.contains(&format!("\"path\": \"{path}\"")), "{path}");
        assert!(check.stdout.contains(&format!("\n+++ {path}\n")), "{path}");
    }
}
