//! Environment variables of commands: allow rules grant them, and consent lists them.
#![cfg(target_os = "linux")]

use crate::confined::{WORKER, cannot_be_confined};
use crate::run::keyed;
use crate::run_person::bash;
use crate::server::{Server, Turn};
use crate::test::Test;

fn worker(rules: &str) -> Test {
    Test::new()
        .file("worker/agent.toml", format!("{WORKER}\n[permissions.env]\n{rules}"))
        .file("worker/system-prompt.md", "You work.\n")
}

#[test]
fn allow_rules_grant_variables_and_consent_lists_them() {
    // The rules, what consent lists, what the command sees.
    let cases = [
        ("intent = \"deny\"\nrules = [\"STAGE:allow\"]\n", "STAGE", "blue - -"),
        ("intent = \"ask\"\nrules = [\"APP_*:allow\"]\n", "APP_*", "- web -"),
        (
            "intent = \"deny\"\nrules = [\"APP_NAME:deny\", \"APP_*:allow\", \"STAGE:allow\"]\n",
            "not APP_NAME, APP_*, STAGE",
            "blue - -",
        ),
        ("intent = \"allow\"\n", "every variable but credentials", "blue web -"),
        ("intent = \"ask\"\n", "nothing", "- - -"),
        ("intent = \"deny\"\n", "nothing", "- - -"),
        (
            "intent = \"deny\"\nrules = [\"OTHER_API_KEY:allow\"]\n",
            "OTHER_API_KEY",
            "- - [OTHER_API_KEY]",
        ),
    ];
    for (rules, consent, seen) in cases {
        let test = worker(rules);
        let flags: &[&[&str]] = if cannot_be_confined(&test) {
            &[&["--unconfined"]]
        } else {
            &[&[], &["--unconfined"]]
        };
        for more in flags {
            let line = "echo ${STAGE:--} ${APP_NAME:--} ${OTHER_API_KEY:--}";
            let server = Server::answering(move |asked| match asked.results.last() {
                Some((_, result)) => Turn::text(result.clone()).into(),
                None => bash(line).into(),
            });
            let args = [&["run", "worker", "go", "--yes"], *more].concat();
            let mut command = keyed(&test, &server, &args);
            command.env("STAGE", "blue").env("APP_NAME", "web");
            command.env("OTHER_API_KEY", "long-secret-value");
            let output = command.output().expect("the program runs");
            let ran = test.ended("run", &output).exits(0);
            let listed = ran.stderr.lines().find(|it| it.trim_start().starts_with("variables"));
            let listed = listed.unwrap_or_default().trim_start().trim_start_matches("variables");
            assert_eq!(listed.trim(), consent, "{rules}: {ran}");
            assert!(!ran.stdout.contains("long-secret-value"), "{rules}: {ran}");
            let seen = seen.replace("[OTHER_API_KEY]", "");
            assert!(ran.stdout.starts_with(seen.trim_end()), "{rules}: {ran}");
            // Consent is asked for once; forget it for the next flags.
            test.run("consent revoke worker").exits(0);
        }
    }
}
