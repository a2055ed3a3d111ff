use agentry_posix::unix::fs::symlink;

use agentry_compile::policy::{Action, Section};
use serde_json::{Value, json};

use super::glob::GlobTool;
use super::grep::GrepTool;
use super::list::ListTool;
use super::testing::TestWorkspace;
use super::{BuiltInTool, output_cap};

fn world() -> TestWorkspace {
    let world = TestWorkspace::new();
    for (name, text) in [
        ("a.rs", "fn main() {}\nlet x = 1;\n"),
        ("src/b.rs", "fn beta() {}\r\nfn BETA() {}\r\n"),
        ("src/deep/c.txt", "grün fn\nzwei\ndrei fn"),
        (".hidden", "fn hidden\n"),
        (".git/config", "fn git\n"),
        (".gitignore", "target/\n*.log\n"),
        ("target/out.rs", "fn built\n"),
        ("x.log", "fn log\n"),
        ("private/key.rs", "fn hush\n"),
        (".env", "fn=hush\n"),
    ] {
        world.file(name, text);
    }
    world.file("binary", b"fn \0 fn\n");
    symlink("/etc", world.path("out")).unwrap();
    world
}

const RULES: &[(Section, Action, &[&str])] =
    &[(Section::Read, Action::Allow, &["private/**:deny"])];

async fn check(tool: &dyn BuiltInTool, cases: &[(Value, &str)]) {
    let world = world();
    for (arguments, expected) in cases {
        let output = world.judged(RULES).call(tool, arguments.clone()).await;
        assert_eq!(output.text, *expected, "{arguments}");
    }
}

#[tokio::test]
async fn list_shows_directories() {
    check(&ListTool, &[
        (json!({}), ".env\n.git/\n.gitignore\n.hidden\na.rs\nbinary\nout@\nprivate/\nsrc/\ntarget/\nx.log\n"),
        (json!({"path": "src"}), "b.rs\ndeep/\n"),
        (json!({"path": "private"}), "Deny: private/**:deny"),
        (json!({"path": "a.rs"}), "`a.rs` is not a directory"),
        (json!({"path": "missing"}), "`missing` is not a directory"),
        (json!({"path": "out"}), "Ask: no rule about external_directory: ask"),
        (json!({"path": "../.."}), "Ask: no rule about external_directory: ask"),
    ])
    .await;
}

#[tokio::test]
async fn files_of_the_agentry_home_are_hidden() {
    let world = world();
    world.file(".own-home/consent/ag1", "fn consent\n");
    world.file(".own-home/runs/r1/journal.db", "fn journal\n");
    symlink(world.path(".own-home"), world.path("way")).unwrap();
    let refused = format!("`{}", world.path(".own-home").display());
    let below = json!({"path": ".own-home/consent"});
    for (tool, arguments, expected) in [
        (&ListTool as &dyn BuiltInTool, json!({}), None),
        (&ListTool, below, Some(refused.as_str())),
        (&ListTool, json!({"path": "way"}), Some(&refused)),
        (&GlobTool, json!({"pattern": "**"}), None),
        (&GlobTool, json!({"pattern": "**", "path": ".own-home"}), Some(&refused)),
        (&GrepTool, json!({"pattern": "fn"}), None),
        (&GrepTool, json!({"pattern": "fn", "path": "way/consent/ag1"}), Some(&refused)),
        (&super::read::ReadTool, json!({"path": "way/consent/ag1"}), Some(&refused)),
    ] {
        let output = world.host().call(tool, arguments.clone()).await;
        let hides = ["own-home", "consent", "journal"];
        match expected {
            None => assert!(!hides.iter().any(|it| output.text.contains(it)), "{}", output.text),
            Some(start) => assert!(
                output.failed && output.text.starts_with(start),
                "{arguments}: {}",
                output.text
            ),
        }
    }
}

#[tokio::test]
async fn control_characters_in_file_names_are_escaped() {
    let world = TestWorkspace::new();
    world.file("a\nb\u{1b}[2J", "fn\n");
    let name = "a\\nb\\u{1b}[2J";
    for (tool, arguments, expected) in [
        (&ListTool as &dyn BuiltInTool, json!({}), format!("{name}\n")),
        (&GlobTool, json!({"pattern": "**"}), format!("{name}\n")),
        (&GrepTool, json!({"pattern": "fn"}), format!("{name}:1:fn\n")),
    ] {
        assert_eq!(world.host().call(tool, arguments.clone()).await.text, expected, "{arguments}");
    }
}

#[tokio::test]
async fn glob_finds_files_by_path() {
    let hidden = "\n[1 file is not shown: the policy does not allow it]";
    check(
        &GlobTool,
        &[
            (json!({"pattern": "*.rs"}), "a.rs\n"),
            (json!({"pattern": "**/*.rs"}), &format!("a.rs\nsrc/b.rs\n{hidden}")),
            (json!({"pattern": "./src/**"}), "src/b.rs\nsrc/deep/c.txt\n"),
            (json!({"pattern": "*.{rs,txt}", "path": "src"}), "src/b.rs\n"),
            (json!({"pattern": "private/*"}), &format!("nothing was found\n{hidden}")),
            (json!({"pattern": "target/*"}), "nothing was found\n"),
            (json!({"pattern": "out/*"}), "nothing was found\n"),
            (
                json!({"pattern": "/etc/*"}),
                "`/etc/*` leads elsewhere: name the directory in `path`",
            ),
            (json!({"pattern": "../*"}), "`../*` leads elsewhere: name the directory in `path`"),
            (
                json!({"pattern": "a{b"}),
                "`a{b` is not a pattern: unclosed alternate group; missing '}' \
                                     (maybe escape '{' with '[{]'?)",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn grep_finds_lines() {
    let hidden = "\n[1 file is not shown: the policy does not allow it]";
    check(
        &GrepTool,
        &[
            (
                json!({"pattern": "fn main"}),
                "a.rs:1:fn main() {}\n\n[2 files are not shown: the policy does not allow it]",
            ),
            (json!({"pattern": "^fn b", "path": "src"}), "src/b.rs:1:fn beta() {}\n"),
            (
                json!({"pattern": "^fn b", "path": "src", "ignore_case": true}),
                "src/b.rs:1:fn beta() {}\nsrc/b.rs:2:fn BETA() {}\n",
            ),
            (
                json!({"pattern": "fn", "path": "src", "files_only": true}),
                "src/b.rs\nsrc/deep/c.txt\n",
            ),
            (
                json!({"pattern": "zwei", "path": "src", "context": 1}),
                "src/deep/c.txt-1-grün fn\nsrc/deep/c.txt:2:zwei\nsrc/deep/c.txt-3-drei fn\n",
            ),
            (json!({"pattern": "fn", "include": "*.rs"}), "a.rs:1:fn main() {}\n"),
            (
                json!({"pattern": "fn", "include": "**/key.rs"}),
                &format!("nothing was found\n{hidden}"),
            ),
            (json!({"pattern": "x = 1", "path": "a.rs"}), "a.rs:2:let x = 1;\n"),
            (json!({"pattern": "hush", "path": "private/key.rs"}), "Deny: private/**:deny"),
            (
                json!({"pattern": "root", "path": "out/passwd"}),
                "Ask: no rule about external_directory: ask",
            ),
            (json!({"pattern": "fn", "path": "missing"}), "`missing`: it does not exist"),
            (json!({"pattern": "fn", "path": "binary"}), "nothing was found\n"),
        ],
    )
    .await;
    let output = world().host().call(&GrepTool, json!({"pattern": "("})).await;
    assert!(output.text.starts_with("`pattern` is not a regular expression: "), "{output:?}");
}

#[tokio::test]
async fn approving_a_directory_does_not_reveal_secrets() {
    let world = world();
    world.file("../else/notes", "hush: fine\n");
    world.file("../else/.env", "hush: secret\n");
    let host = world.judged(RULES);
    let arguments = json!({"pattern": "hush", "path": "../else"});
    host.grant(&GrepTool, &arguments);
    let output = GrepTool.run(arguments, &host).await;
    let notes = world.path("../else/notes").canonicalize().unwrap();
    let hidden = "[1 file is not shown: the policy does not allow it]";
    assert_eq!(output.text, format!("{}:1:hush: fine\n\n{hidden}", notes.display()));
}

#[tokio::test]
async fn a_directory_replaced_by_a_symlink_is_not_walked() {
    let world = world();
    world.file("../else/notes", "hush\n");
    let host = world.host();
    let root = super::walk::WalkRoot::new(Some("src"), &host).unwrap();
    std::fs::remove_dir_all(world.path("src")).unwrap();
    symlink(world.path("../else"), world.path("src")).unwrap();
    assert_eq!(root.seen(&world.path("src/notes")), super::walk::FileVisibility::Nothing);
    assert!(super::files::entries(&world.path("src")).is_err());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_pipe_as_gitignore_can_be_cancelled() {
    let world = TestWorkspace::new();
    let pipe = world.path(".gitignore");
    let mode = agentry_posix::fs::Mode::from_raw_mode(0o644);
    agentry_posix::fs::mkfifoat(agentry_posix::fs::CWD, pipe, mode).unwrap();
    let host = world.host();
    let call = host.call(&GlobTool, json!({"pattern": "*"}));
    let patience = std::time::Duration::from_millis(100);
    assert!(tokio::time::timeout(patience, call).await.is_err());
}

#[tokio::test]
async fn long_search_results_are_cut() {
    let world = TestWorkspace::new();
    world.file("long", "a line with the word in it\n".repeat(400_000));
    world.file("wide", format!("{}word{}", "x".repeat(5 << 20), "y".repeat(5 << 20)));
    for number in 0..2_000 {
        world.file(&format!("many/a-rather-long-name-{number}.txt"), "word");
    }
    let calls: [(&dyn BuiltInTool, Value); 4] = [
        (&GrepTool, json!({"pattern": "word"})),
        (&GrepTool, json!({"pattern": "word", "path": "long"})),
        (&GlobTool, json!({"pattern": "**/*.txt"})),
        (&ListTool, json!({"path": "many"})),
    ];
    for (tool, arguments) in calls {
        let output = world.host().call(tool, arguments.clone()).await;
        assert!(output.text.ends_with("[there is more: narrow the search]"), "{arguments}");
        assert!(output.text.len() < output_cap::MOST + 1_000, "{arguments}");
    }
    let output = world.host().call(&GrepTool, json!({"pattern": "word", "path": "wide"})).await;
    assert!(output.text.ends_with("xxx…\n") && output.text.len() < 1_000, "{}", output.text.len());
}
