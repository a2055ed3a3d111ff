//! `agentry hash`: the digest of an agent.

use crate::test::{BROKEN, HELPER, Test};

fn helper() -> Test {
    Test::new().file("helper.agent", HELPER)
}

#[test]
fn hash_of_a_manifest() {
    insta::assert_snapshot!(helper().run("hash helper.agent"), @r#"
    $ agentry hash helper.agent
    --- stdout
    ag1:a58b55624512
    --- exit 0
    "#);
    insta::assert_snapshot!(helper().run("hash helper.agent --full"), @r#"
    $ agentry hash helper.agent --full
    --- stdout
    sha256:d77fc6dbfea04b1e27672f5c89d526baa214f5cf90979ac9438b373d25bcedd1
    --- exit 0
    "#);
    insta::assert_snapshot!(helper().run("hash helper.agent --format json"), @r#"
    $ agentry hash helper.agent --format json
    --- stdout
    [
      {
        "path": "helper.agent",
        "format": "manifest",
        "ag1": "ag1:a58b55624512",
        "sha256": "sha256:d77fc6dbfea04b1e27672f5c89d526baa214f5cf90979ac9438b373d25bcedd1"
      }
    ]
    --- exit 0
    "#);
}

#[test]
fn hash_of_an_agent_toml() {
    let test = Test::new()
        .file("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n")
        .file("helper/system-prompt.md", "You answer questions.\n");
    insta::assert_snapshot!(test.run("hash helper"), @r#"
    $ agentry hash helper
    --- stdout
    sha256:ea8f9a3f296115578a242bcd6fdb4d9dc4a8672a56e41ebe4a074c11f5436079
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("hash helper --format json"), @r#"
    $ agentry hash helper --format json
    --- stdout
    [
      {
        "path": "helper",
        "format": "agent-toml",
        "ag1": null,
        "sha256": "sha256:ea8f9a3f296115578a242bcd6fdb4d9dc4a8672a56e41ebe4a074c11f5436079"
      }
    ]
    --- exit 0
    "#);
}

#[test]
fn hash_of_several_agents() {
    let test = helper().file("more/other.agent", HELPER.replace("helper", "other"));
    insta::assert_snapshot!(test.run("hash ."), @r#"
    $ agentry hash .
    --- stdout
    ag1:a58b55624512  helper.agent
    ag1:6a50f255afa6  more/other.agent
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("hash more helper.agent --full"), @r#"
    $ agentry hash more helper.agent --full
    --- stdout
    sha256:d77fc6dbfea04b1e27672f5c89d526baa214f5cf90979ac9438b373d25bcedd1  helper.agent
    sha256:275e7a7a26792c148cdd4375e143dfd1d360521e392a3ea42676afc326f8d445  more/other.agent
    --- exit 0
    "#);
}

/// The digest is of the meaning of an agent, not of its text.
#[test]
fn equal_meaning_has_an_equal_hash() {
    let test = helper().file(
        "other/helper.agent",
        "# A comment\nsoul: 'You answer questions.'\n\"description\": Answers questions\nname: helper\n",
    );
    for flag in ["", "--full"] {
        let first = test.run(&format!("hash helper.agent {flag}")).stdout;
        assert_eq!(first, test.run(&format!("hash other/helper.agent {flag}")).stdout);
    }
}

#[test]
fn an_agent_with_errors_has_no_hash() {
    let test = helper().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("hash broken.agent"), @r#"
    $ agentry hash broken.agent
    --- stderr
    error[AG0104]: `filesystem` cannot be `readwrite`
     --> broken.agent:5:21
      |
    5 | trust: {filesystem: readwrite}
      |                     ^^^^^^^^^
      |
      = help: use one of `none`, `read-only`, `scoped`, `full`

    error: `broken.agent` has errors, so it has no digest
    --- exit 1
    "#);
    // The other agents are still digested.
    insta::assert_snapshot!(test.run("hash . --format json"), @r#"
    $ agentry hash . --format json
    --- stdout
    [
      {
        "path": "helper.agent",
        "format": "manifest",
        "ag1": "ag1:a58b55624512",
        "sha256": "sha256:d77fc6dbfea04b1e27672f5c89d526baa214f5cf90979ac9438b373d25bcedd1"
      }
    ]
    --- stderr
    error[AG0104]: `filesystem` cannot be `readwrite`
     --> broken.agent:5:21
      |
    5 | trust: {filesystem: readwrite}
      |                     ^^^^^^^^^
      |
      = help: use one of `none`, `read-only`, `scoped`, `full`

    error: `broken.agent` has errors, so it has no digest
    --- exit 1
    "#);
}

#[test]
fn hash_without_agents_is_an_error() {
    insta::assert_snapshot!(helper().run("hash"), @r#"
    $ agentry hash
    --- stderr
    error: the following required arguments were not provided:
      <AGENTS>...

    Usage: agentry hash <AGENTS>...

    For more information, try '--help'.
    --- exit 2
    "#);
    insta::assert_snapshot!(helper().run("hash nowhere"), @r#"
    $ agentry hash nowhere
    --- stderr
    error: `nowhere` does not exist
      = help: name a file or a directory; `agentry agents` lists installed agents
    --- exit 2
    "#);
    let test = Test::new().file("notes.txt", "");
    insta::assert_snapshot!(test.run("hash ."), @r#"
    $ agentry hash .
    --- stderr
    error: no agent found in `.`
      = help: looked for `*.agent`, `*.agent.md`, and directories with `agent.toml`, `agent.yaml`, `agent.json` or `instructions.md`
    --- exit 2
    "#);
}

/// A default makes no difference when it is written out.
#[test]
fn written_defaults_do_not_change_the_hash() {
    let acl = "default_model = \"a/b\"\n";
    let manifest = "name: helper\ndescription: Answers questions\nsoul: You answer.\n";
    let json = "{\"name\": \"Helper\", \"version\": \"1.0.0\", \"id\": \"helper\"";
    let cases = [
        ("agent.acl", acl.to_owned(), format!("{acl}queue {{ control_max_concurrency = 2 }}\n")),
        ("agent.acl", acl.to_owned(), format!("{acl}storage_backend = \"file\"\n")),
        (
            "agent.acl",
            format!("{acl}queue {{ enable_dlq = true }}\n"),
            format!("{acl}queue {{ enableDlq = true\n queryMaxConcurrency = 4 }}\n"),
        ),
        ("agent.json", format!("{json}}}"), format!("{json}, \"env\": {{\"enabled\": true}}}}")),
        ("agent.json", format!("{json}}}"), format!("{json}, \"heartbeat\": {{}}}}")),
        (
            "agent.json",
            format!("{json}, \"mcp_servers\": {{\"a\": {{\"command\": \"b\"}}}}}}"),
            format!(
                "{json}, \"mcp_servers\": {{\"a\": {{\"command\": \"b\", \"transport\": \"stdio\", \
                 \"enabled\": true, \"tool_timeout_secs\": 60}}}}}}"
            ),
        ),
        (
            "helper.agent",
            format!("{manifest}trust: {{filesystem: scoped, scope: [w, v]}}\n"),
            format!("{manifest}trust: {{filesystem: scoped, scope: [./v/, ./w]}}\n"),
        ),
    ];
    for (file, first, second) in cases {
        let digest = |text: &str| {
            let test = Test::new().file(format!("helper/{file}"), text);
            let beside = if file == "agent.acl" { "instructions.md" } else { "persona.md" };
            let test = test.file(format!("helper/{beside}"), "You answer.\n");
            let ran = test.run("hash helper --full");
            assert!(ran.stdout.starts_with("sha256:"), "{text}: {}", ran.stderr);
            ran.stdout
        };
        assert_eq!(digest(&first), digest(&second), "{second}");
        let other = digest(
            &first.replace("Answers", "Gives").replace("a/b", "a/c").replace("1.0.0", "2.0.0"),
        );
        assert_ne!(digest(&first), other, "{first}");
    }
}

/// A wrong path does not stop the others from being digested.
#[test]
fn a_missing_path_does_not_stop_other_hashes() {
    let test = helper().file("broken.agent", BROKEN).file("notes.txt", "");
    insta::assert_snapshot!(test.run("hash nowhere helper.agent notes.txt"), @r#"
    $ agentry hash nowhere helper.agent notes.txt
    --- stdout
    ag1:a58b55624512  helper.agent
    --- stderr
    error: `nowhere` does not exist
      = help: name a file or a directory; `agentry agents` lists installed agents
    error: `notes.txt` is not an agent definition
      = help: pass the format with `--as agent-md|agent-toml|manifest|agentfs|agent-dir`
    --- exit 2
    "#);
    let ran = test.run("hash helper.agent nowhere --format json").exits(2);
    assert_eq!(ran.json()[0]["path"], "helper.agent");
    // Bad usage wins over a finding.
    test.run("hash broken.agent nowhere helper.agent").exits(2);
    test.run("hash broken.agent helper.agent").exits(1);
}
