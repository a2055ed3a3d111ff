//! Bases on a real disk: hostile ones, ones from other directories, and `push` of an agent with a base.

use std::fs;

use crate::test::{HELPER, Test};

const BASE: &str = "name: base\nversion: 1.0.0\ndescription: Answers questions\n\
    soul: You answer questions.\ntrust: {filesystem: read-only}\n";
const CHILD: &str =
    "name: child\nversion: 1.0.0\ndescription: Answers hard questions\nbase: ./base.agent\n";
const TOML: &str = "name = \"writer\"\ndescription = \"Writes texts\"\n";

/// A base of one gigabyte is reported by its size, not read.
#[test]
fn an_oversized_base_is_reported_without_reading_it() {
    let test = Test::new().file("child.agent", CHILD);
    let file = fs::File::create(test.path("base.agent")).expect("a file");
    file.set_len(1 << 30).expect("a file system with holes");
    let ran = test.run("check child.agent").exits(1);
    assert!(ran.stdout.contains("the file has 1073741824 bytes; at most 1048576"), "{ran}");
    assert!(ran.stdout.contains("`child.agent` → `base.agent`"), "{ran}");
}

#[test]
fn a_base_that_is_no_text_file_is_an_error() {
    let test = Test::new().file("child.agent", CHILD);
    fs::create_dir(test.path("base.agent")).expect("a folder");
    let ran = test.run("check child.agent").exits(1);
    assert!(ran.stdout.contains("AG0031") && ran.stdout.contains("is a directory"), "{ran}");
    fs::remove_dir(test.path("base.agent")).expect("a folder");
    test.write("base.agent", b"\x7fELF\x02\x01\x01\x00\xff\xfe");
    let ran = test.run("check child.agent").exits(1);
    assert!(ran.stdout.contains("AG0036"), "{ran}");
    fs::remove_file(test.path("base.agent")).expect("a file");
    #[cfg(unix)]
    {
        let made = std::process::Command::new("mkfifo").arg(test.path("base.agent")).status();
        assert!(made.expect("a program").success());
        let ran = test.run("check child.agent").exits(1);
        assert!(ran.stdout.contains("AG0036") || ran.stdout.contains("AG0031"), "{ran}");
    }
}

/// Context and rule files belong to the directory of the base, not to that of the agent that inherits.
#[test]
fn files_of_a_base_resolve_from_its_directory() {
    let test = Test::new()
        .file("shared/agentry.toml", "")
        .file(
            "shared/writer/agent.toml",
            format!("{TOML}rules = [\"style\"]\ncontext = [\"../house.md\"]\n"),
        )
        .file("shared/writer/system-prompt.md", "You write.\n")
        .file("shared/rules/style.md", "Be brief.\n")
        .file("shared/house.md", "The house is old.\n")
        .file("own/agentry.toml", "")
        .file("own/child.agent", CHILD.replace("./base.agent", "../shared/writer"));
    let prompt = test.run("show --prompt own/child.agent").exits(0).stdout;
    assert!(prompt.contains("Be brief.") && prompt.contains("The house is old."), "{prompt}");
    test.run("lock own/child.agent").exits(0);
    let lock = test.read("own/agentry.lock");
    for path in ["../shared/house.md", "../shared/rules/style.md", "../shared/writer/agent.toml"] {
        assert!(lock.contains(&format!("\"{path} sha256:")), "{path}: {lock}");
    }
    test.write("shared/house.md", "The house is new.\n");
    let ran = test.run("lock --check own/child.agent").exits(1);
    assert!(ran.stdout.contains("its base's file `../shared/house.md` changed"), "{ran}");
    let written = test.run("convert own/child.agent --to agent-toml -o out").exits(0);
    let prompt = test.read("out/system-prompt.md");
    assert!(
        prompt.contains("The house is new.") && prompt.contains("Be brief."),
        "{written}{prompt}"
    );
    // The same from the store: the files cannot be reached there later.
    test.run_in("shared", "push writer --version 1.0.0").exits(0);
    test.write("own/child.agent", CHILD.replace("./base.agent", "writer@1.0.0"));
    let prompt = test.run("show --prompt own/child.agent").exits(0).stdout;
    assert!(prompt.contains("Be brief.") && prompt.contains("The house is new."), "{prompt}");
}

/// A pushed agent is complete: its bases by path are included, and it is the same agent elsewhere.
#[test]
fn an_agent_with_a_base_is_pushed_with_it() {
    let digest = |test: &Test, path: &str| {
        test.run(&format!("hash --full {path}")).exits(0).stdout.trim().to_owned()
    };
    let test = Test::new()
        .file("shared/base.agent", BASE)
        .file("team/child.agent", CHILD.replace("./", "../shared/"))
        .file("agentry.toml", "[bases]\n\"writer\" = \"./shared/base.agent\"\n")
        .file("writer/agent.toml", TOML)
        .file("writer/system-prompt.md", "You write.\n");
    for (path, name) in [("team/child.agent", "child"), ("writer", "writer")] {
        let full = digest(&test, path);
        assert_eq!(test.run(&format!("push {path}")).exits(0).stdout.trim(), full, "{name}");
        let other = Test::new();
        fs::create_dir_all(other.path("home")).expect("a folder");
        copy(&test.path("home/.agentry"), &other.path("home/.agentry"));
        let pulled = other.run(&format!("pull {name} -o out --format json")).exits(0);
        let main = if name == "child" { "out/team/child.agent" } else { "out/writer" };
        assert_eq!(digest(&other, main), full, "{name}: {pulled}");
    }
    // A base outside of the workspace cannot be stored.
    let test = Test::new()
        .file("base.agent", BASE)
        .file("own/agentry.toml", "")
        .file("own/child.agent", CHILD.replace("./", "../"));
    let ran = test.run("push own/child.agent").exits(1);
    assert!(ran.stderr.contains("lies outside its workspace"), "{ran}");
    assert!(ran.stderr.contains("push the base first"), "{ran}");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a file");
        }
    }
}

#[test]
fn an_oci_base_is_found_in_the_store_by_digest() {
    let test = Test::new().file("base.agent", BASE);
    let none = "0".repeat(64);
    let child = |base: &str| CHILD.replace("./base.agent", base);
    // Nothing listens on this port: what the store does not have is asked for there.
    for form in [format!("team/base@sha256:{none}"), "team/base:1".to_owned()] {
        test.write("child.agent", child(&format!("127.0.0.1:1/{form}")));
        let ran = test.run("check child.agent").exits(1);
        assert!(ran.stdout.contains("`127.0.0.1:1` cannot be reached"), "{ran}");
    }
    let digest = test.run("push base.agent").exits(0).stdout.trim().to_owned();
    for form in ["ghcr.io/team/base", "ghcr.io/team/base:1", "oci://ghcr.io/team/base"] {
        test.write("child.agent", child(&format!("{form}@{digest}")));
        let shown = test.run("show child.agent").exits(0).stdout;
        assert!(shown.contains("You answer questions."), "{form}: {shown}");
    }
}

#[test]
fn an_unsigned_base_is_refused() {
    let test = Test::new().file("base.agent", BASE);
    test.run("push base.agent").exits(0);
    test.write("child.agent", CHILD.replace("./base.agent", "base@1.0.0"));
    test.run("check child.agent").exits(0);
    test.write("home/.config/agentry/config.toml", "[signing]\nrequired = true\n");
    for command in ["check child.agent", "lock child.agent", "resolve child.agent"] {
        let ran = test.run(command).exits(1);
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(printed.contains("is refused: it is not signed"), "{ran}");
    }
    test.run("pull base -o out").exits(3);
}

/// Skills of the home are found in `$AGENTRY_HOME`, and pinned from there.
#[test]
fn skills_of_the_home_are_found_and_pinned() {
    let skill = "---\nname: review\ndescription: Reviews a text\n---\nRead it twice.\n";
    let test = Test::new()
        .env("AGENTRY_HOME", "elsewhere")
        .file("elsewhere/skills/review/SKILL.md", skill)
        .file("home/.agentry/skills/other/SKILL.md", skill.replace("review", "other"))
        .file("helper.agent", format!("{HELPER}skills: [review]\n"))
        .file("lost.agent", format!("{}skills: [other]\n", HELPER.replace("helper", "lost")));
    test.run("lock helper.agent").exits(0);
    let lock = test.read("agentry.lock");
    assert!(lock.contains("\"~/.agentry/skills/review/SKILL.md sha256:"), "{lock}");
    assert!(lock.contains("\"review: ~/.agentry/skills/review/SKILL.md\""), "{lock}");
    test.run("lock lost.agent").exits(1);
}

/// A tool that the policy denies completely is in the plan, with the denial.
#[test]
fn resolve_lists_denied_tools() {
    let test = Test::new().env("ANTHROPIC_API_KEY", "x").file(
        "helper.agent",
        format!(
            "{HELPER}tools: {{native: [bash, read]}}\nskills: [code-execution, file-read]\n\
                 trust: {{filesystem: read-only, exec: none}}\n"
        ),
    );
    let plan = test.run("resolve helper.agent --format json").exits(0).json();
    assert_eq!(plan["tools"][0]["denied"], "exec: none", "{plan}");
    assert!(plan["tools"][1]["denied"].is_null(), "{plan}");
    assert_eq!(plan["skills"][0]["denied"], "exec: none", "{plan}");
    assert!(plan["skills"][1]["denied"].is_null(), "{plan}");
    let shown = test.run("resolve helper.agent").exits(0).stdout;
    assert!(shown.contains("every call is denied: exec: none"), "{shown}");
}
