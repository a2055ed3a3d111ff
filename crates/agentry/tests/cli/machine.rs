//! What is true of this machine: `models`, `config`, `doctor`; and the options of every command, `-C` and `-q`.

use serde_json::Value;

use crate::run::{with, write, writer};
use crate::server::{Server, Turn};
use crate::test::{BROKEN, HELPER, Ran, Test};

const CONFIG: &str = "home/.config/agentry/config.toml";
/// Nothing listens at this port of the machine.
const NO_SERVER: &str = "[providers.ollama]\nbase_url = \"http://127.0.0.1:9\"\n";

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The entry of a list whose field has this text.
fn entry<'a>(list: &'a [Value], field: &str, text: &str) -> &'a Value {
    list.iter().find(|it| it[field] == text).unwrap_or(&Value::Null)
}

#[test]
fn models_lists_missing_requirements() {
    let test = Test::new().file(CONFIG, NO_SERVER).env("MOONSHOT_API_KEY", "secret-of-the-test");
    let ran = test.run("models").exits(0);
    let (usable, others) = ran.stdout.split_once("\ncannot be used\n").expect("both lists");
    assert!(usable.contains("\n  moonshot/kimi-k3  "), "{ran}");
    assert!(usable.contains(", key in MOONSHOT_API_KEY"), "{ran}");
    assert!(!usable.contains("anthropic"), "{ran}");
    for expected in [
        " models)  `ANTHROPIC_API_KEY` is not set\n",
        " models)  neither `GEMINI_API_KEY` nor `GOOGLE_API_KEY` is set\n",
        "no server answers at `http://127.0.0.1:9`\n",
        "\n`agentry run AGENT -m moonshot/",
    ] {
        assert!(others.contains(&expected.replace(" models)  ", "")), "{expected}: {ran}");
    }
    assert!(!ran.stdout.contains("secret-of-the-test"), "{ran}");
    let found = test.run("models --format json").json();
    let models = list(&found, "models");
    assert!(models.len() > 50, "{found}");
    assert_eq!(entry(models, "id", "moonshot/kimi-k3")["outcome"], "usable");
    let skipped = models.iter().find(|it| it["provider"] == "anthropic").expect("one");
    assert_eq!(skipped["outcome"], "skipped");
    assert_eq!(skipped["reason"], "`ANTHROPIC_API_KEY` is not set");
}

/// Models that the catalogue does not have are listed if a server on this machine has them.
#[test]
fn models_lists_those_of_local_servers() {
    let body = r#"{"models": [{"name": "own-model:latest"}]}"#;
    let (url, _asked) = crate::resolve::server("200 OK", body);
    let config = format!("[providers.ollama]\nbase_url = \"{url}\"\n");
    let found = Test::new().file(CONFIG, config).run("models --format json").json();
    let own = entry(list(&found, "models"), "id", "ollama/own-model:latest");
    assert_eq!(own["outcome"], "usable", "{found}");
}

#[test]
fn models_reports_that_none_is_usable() {
    let config = format!(
        "{NO_SERVER}[providers.lab]\nbase_url = \"https://lab.example/v1\"\nkey_env = \"LAB_KEY\"\n"
    );
    let test = Test::new().file(CONFIG, config);
    let ran = test.run("models").exits(0);
    assert!(ran.stdout.contains("\nnone can be used\n"), "{ran}");
    assert!(ran.stdout.contains("`LAB_KEY` is not set\n"), "{ran}");
    let ran = Test::new().file(CONFIG, "[providers\n").run("models").exits(2);
    assert!(ran.stderr.contains("your configuration has errors"), "{ran}");
}

#[test]
fn config_names_the_file_of_each_setting() {
    let test = Test::new()
        .file(CONFIG, "[run]\nmax_cost = 0.5\n\n[mcp_servers.x]\ncommand = \"x\"\nenv = { K = \"hunter2\" }\n")
        .file("agentry.toml", "[run]\nmax_cost = 2\nmax_steps = 9\n\n[notify]\nbell = false\n");
    insta::assert_snapshot!(test.run("config"), @"
    $ agentry config
    --- stdout
    user       [DIR]/home/.config/agentry/config.toml
    workspace  agentry.toml

    evolution.memory       auto     default
    evolution.persona      ask      default
    evolution.principles   ask      default
    evolution.skills       ask      default
    mcp_servers.x.command  x        [DIR]/home/.config/agentry/config.toml:5
    mcp_servers.x.env.K    ***      [DIR]/home/.config/agentry/config.toml:6
    notify.bell            false    agentry.toml:6
    notify.message         true     default
    prompt.agents_md       true     default
    prompt.environment     true     default
    prompt.memory          true     default
    prompt.persona         true     default
    prompt.rules           true     default
    prompt.traits          true     default
    render.close_gaps      false    default
    render.guard           false    default
    render.scope           project  default
    render.shared          false    default
    run.max_cost           0.5      [DIR]/home/.config/agentry/config.toml:2
    run.max_cost           2        agentry.toml:2 (not used: the other one is stricter)
    run.max_steps          9        agentry.toml:3
    serve.park_after       10m      default
    --- exit 0
    ");
    let ran = test.run("config --format json");
    assert!(!ran.stdout.contains("hunter2"), "{ran}");
    let found = ran.json();
    let costs: Vec<_> =
        list(&found, "settings").iter().filter(|it| it["name"] == "run.max_cost").collect();
    let row = |it: &Value| (it["origin"].clone(), it["value"].clone(), it["counts"].clone());
    assert_eq!(row(costs[0]), ("user".into(), 0.5.into(), true.into()));
    assert_eq!(row(costs[1]), ("workspace".into(), 2.into(), false.into()));
    assert_eq!(costs[1]["line"], 2);
    assert_eq!(entry(list(&found, "files"), "origin", "user")["exists"], true);
}

#[test]
fn settings_with_errors_are_refused() {
    for path in [CONFIG, "agentry.toml"] {
        let ran = Test::new().file(path, "[run]\nmax_cost = \"much\"\n").run("config").exits(2);
        assert!(ran.stderr.contains("a configuration has errors"), "{ran}");
        assert!(ran.stderr.contains(&format!("{path}:2:")), "{ran}");
    }
}

#[test]
fn the_directory_option_changes_the_start_directory() {
    let test = Test::new().file("deep/helper.agent", HELPER).file("broken.agent", BROKEN);
    for args in ["-C deep check helper.agent", "check -C deep helper.agent", "-C deep/ check ."] {
        let ran = test.run(args).exits(0);
        assert!(ran.stdout.contains("checked 1 agent"), "{ran}");
    }
    // The settings of the other workspace count, not those of this one.
    let test =
        test.file("other/.git/HEAD", "").file("other/agentry.toml", "[run]\nmax_steps = 4\n");
    let ran = test.run("-C other config").exits(0);
    assert!(ran.stdout.contains("run.max_steps"), "{ran}");
    for (directory, why) in [("missing", "no such file"), ("broken.agent", "not a directory")] {
        let ran = test.run(&format!("-C {directory} check")).exits(2);
        assert!(ran.stderr.contains(&format!("`{directory}` cannot be entered: {why}")), "{ran}");
    }
    // A guard that cannot start must not let a call pass.
    test.run("-C missing guard claude-code helper.agent").exits(2);
}

/// The outputs of a command with and without `-q`.
fn quietly(test: &Test, args: &str) -> (Ran, Ran) {
    (test.run(args), test.run(&format!("{args} -q")))
}

#[test]
fn quiet_leaves_results_and_errors() {
    let test = Test::new().file("helper.agent", HELPER).file("broken.agent", BROKEN);
    let (loud, quiet) = quietly(&test, "check");
    assert!(loud.stdout.contains("checked 2 agents"), "{loud}");
    assert!(quiet.stdout.contains("error[") && !quiet.stdout.contains("checked"), "{quiet}");
    assert_eq!((loud.code, quiet.code), (Some(1), Some(1)));
    let quiet = test.run("check helper.agent --quiet").exits(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    for args in ["runs", "list", "agents"] {
        let (loud, quiet) = quietly(&test, args);
        assert_ne!(loud.stderr, "", "{loud}");
        assert_eq!((quiet.stderr.as_str(), quiet.code), ("", loud.code), "{quiet}");
    }
    let (loud, quiet) = quietly(&test, "show nothing.agent");
    assert_eq!(loud.stderr, quiet.stderr, "errors stay");
    // Commands with an option of this name of their own hear the general one, too.
    let args = "render helper.agent --target opencode --dry-run";
    assert_eq!(test.run(&format!("-q {args}")).stdout, test.run(&format!("{args} -q")).stdout);
}

#[test]
fn a_quiet_run_prints_its_answer_and_refusals() {
    for (path, is_reported) in [("out.txt", false), ("secret/x", true)] {
        let server = Server::playing([write(path).into(), Turn::text("All done.").into()]);
        let test = writer();
        let ran = with(&test, &server, &["run", "writer", "go", "--yes", "-q"]).exits(0);
        assert_eq!(ran.stdout, "All done.\n");
        // What the user agrees to is printed all the same.
        assert_eq!(ran.stderr.contains("write path="), is_reported, "{ran}");
        assert!(!ran.stderr.contains(": done,"), "{ran}");
    }
}

#[test]
fn doctor_looks_at_models_keys_and_editors() {
    let test = Test::new()
        .file(CONFIG, NO_SERVER)
        .file("bin/nvim", "")
        .env("MOONSHOT_API_KEY", "secret-of-the-test");
    let doctor = |test: &Test| {
        let mut command = test.command(["doctor", "--format", "json"]);
        command.env("PATH", test.path("bin"));
        let output = command.output().expect("the program runs");
        test.ended("doctor --format json", &output)
    };
    let ran = doctor(&test);
    assert!(!ran.stdout.contains("secret-of-the-test"), "{ran}");
    let found = ran.json();
    let check = |what: &str| entry(list(&found, "checks"), "what", what).clone();
    assert_eq!(check("keys")["found"], "MOONSHOT_API_KEY");
    assert_eq!(check("models")["well"], true);
    assert_eq!(check("editors")["found"], "Neovim");
    let found = doctor(&Test::new().file(CONFIG, NO_SERVER)).json();
    let check = |what: &str| entry(list(&found, "checks"), "what", what).clone();
    assert_eq!(check("models")["found"], "none can be used");
    // Not «missing»: checks and renderings need no model.
    assert_eq!(check("models")["well"], Value::Null);
    assert_eq!(check("editors")["found"], "none found");
}
