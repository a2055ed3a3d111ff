use agentry_model::Format;

use super::*;
use crate::{FoundAgent, MemoryWorld, check, read as read_agent};

const BASE: &str = "name: base\ndescription: Answers questions\nsoul: You answer.\n\
    trust: {filesystem: read-only, network: none}\n";
const CHILD: &str = "name: child\ndescription: Answers questions\nbase: ./base.agent\n\
    model: {preferred: [anthropic/claude-sonnet-4-6]}\nskills: [file-read]\n";

fn world(files: &[(&str, &str)]) -> MemoryWorld {
    MemoryWorld::new(files.iter().map(|(path, text)| ((*path).to_owned(), *text)))
}

fn agent(world: &MemoryWorld, path: &str) -> CompiledAgent {
    let (dir, main) = agentry_text::path::split(path);
    let found = FoundAgent {
        path: path.to_owned(),
        dir: dir.to_owned(),
        main: main.to_owned(),
        format: if main == "agent.toml" { Format::AgentToml } else { Format::Manifest },
    };
    let compiled = read_agent(world, &found);
    assert!(!compiled.has_errors(), "{:?}", compiled.diagnostics);
    compiled
}

fn lock_of(world: &MemoryWorld, path: &str) -> Lockfile {
    let compiled = agent(world, path);
    let mut lock = Lockfile::default();
    lock.set(&key(world, &compiled), &locked(world, &compiled));
    lock
}

/// The changes that a lock of `old` reports for `new`.
fn lock_changes(path: &str, old: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<String> {
    let lock = Lockfile::parse(&lock_of(&world(old), path).to_text()).expect("a lock");
    let now = world(new);
    match verify(&now, &agent(&now, path), &lock) {
        Ok(()) => Vec::new(),
        Err(changes) => changes.into_iter().map(|change| change.message).collect(),
    }
}

#[test]
fn a_written_lock_parses_back() {
    let odd = "name: odd\ndescription: \"Quotes \\\" and \\\\\"\nsoul: You answer.\n\
        tools: {mcp: [{name: 'a \"b\"', command: npx, args: ['-y', \"x\\ty\"], env: {TOKEN: env.T}}, \
        {name: web, url: 'https://a.example/mcp'}]}\nskills: [{name: web-search, optional: true}]\n";
    let world = world(&[("base.agent", BASE), ("child.agent", CHILD), ("a b/odd.agent", odd)]);
    for path in ["base.agent", "child.agent", "a b/odd.agent"] {
        let compiled = agent(&world, path);
        let entry = locked(&world, &compiled);
        let mut lock = Lockfile::default();
        lock.set(path, &entry);
        let again = Lockfile::parse(&lock.to_text()).expect("a lock");
        assert_eq!(again.get(path), Ok(Some(entry)), "{path}");
        assert_eq!(again.to_text(), lock.to_text(), "{path}");
    }
}

#[test]
fn changes_since_the_lock_are_described() {
    let child = |text: &str| format!("{CHILD}{text}");
    let network = BASE.replace("network: none", "network: allowed");
    let cases: &[(&str, (&str, &str), &[&str])] = &[
        ("nothing", (BASE, CHILD), &[]),
        (
            "the base",
            (&network, CHILD),
            &[
                "its base's file `base.agent` changed",
                "its base gained network: webfetch `*` was deny and is allow, as in `https://example.com/`",
                "its base gained web search: websearch `*` was deny and is allow, as in `x`",
            ],
        ),
        (
            "models",
            (BASE, &CHILD.replace("sonnet-4-6", "opus-4-8")),
            &[
                "file `child.agent` changed",
                "it no longer runs on `anthropic/claude-sonnet-4-6`, but on `anthropic/claude-opus-4-8`",
            ],
        ),
        (
            "skills",
            (BASE, &CHILD.replace("file-read", "summarize")),
            &[
                "file `child.agent` changed",
                "it no longer asks for the skill `file-read`",
                "it asks for the skill `summarize` now",
            ],
        ),
        (
            "a server",
            (BASE, &child("tools: {mcp: [{name: tracker, command: npx, args: [-y, tracker]}]}\n")),
            &["file `child.agent` changed", "the MCP server `tracker` is new: `npx -y tracker`"],
        ),
        (
            "no base",
            (
                BASE,
                &CHILD.replace(
                    "base: ./base.agent",
                    "soul: You answer.\ntrust: {filesystem: read-only}",
                ),
            ),
            &[
                "it was built on `base.agent` and is on nothing",
                "file `child.agent` changed",
                "its base's file `base.agent` is gone",
            ],
        ),
        ("a comment", (BASE, &child("# more\n")), &["file `child.agent` changed"]),
    ];
    for (case, (base, text), expected) in cases {
        let old = [("base.agent", BASE), ("child.agent", CHILD)];
        let new = [("base.agent", *base), ("child.agent", *text)];
        assert_eq!(lock_changes("child.agent", &old, &new), *expected, "{case}");
    }
}

#[test]
fn mcp_servers_are_pinned_by_command_or_url() {
    let with = |server: &str| format!("{BASE}tools: {{mcp: [{{name: t, {server}}}]}}\n");
    let cases = [
        (
            "command: npx, args: [-y, t]",
            "command: npx, args: [-y, t2]",
            "the MCP server `t` was `npx -y t` and is `npx -y t2`",
        ),
        (
            "url: 'https://a.example/'",
            "url: 'https://b.example/'",
            "the MCP server `t` was `https://a.example/` and is `https://b.example/`",
        ),
        (
            "command: npx",
            "command: npx, env: {TOKEN: env.T}",
            "the MCP server `t` gets the variable `TOKEN` now",
        ),
        (
            "command: npx, env: {TOKEN: env.T}",
            "command: npx",
            "the MCP server `t` no longer gets the variable `TOKEN`",
        ),
    ];
    for (old, new, expected) in cases {
        let (old, new) = (with(old), with(new));
        let found = lock_changes("a.agent", &[("a.agent", &old)], &[("a.agent", &new)]);
        assert!(found.contains(&expected.to_owned()), "{new}: {found:?}");
    }
    // The value of a variable is not stored, and its change does not change what runs.
    let text = lock_of(
        &world(&[("a.agent", &with("command: npx, env: {TOKEN: env.SECRET_NAME}"))]),
        "a.agent",
    )
    .to_text();
    assert!(!text.contains("SECRET_NAME"), "{text}");
}

#[test]
fn every_contributing_file_is_pinned() {
    let files = [
        (
            "agents/writer/agent.toml",
            "name = \"writer\"\ndescription = \"Writes\"\nskills = [\"style\"]\nrules = [\"plain\"]\ncontext = [\"../../docs/x.md\"]\n",
        ),
        ("agents/writer/system-prompt.md", "You write.\n"),
        ("rules/plain.md", "Be plain.\n"),
        ("docs/x.md", "Background.\n"),
        ("skills/style/SKILL.md", "---\nname: style\ndescription: How to write\n---\nWrite.\n"),
        ("skills/style/examples/one.txt", "An example.\n"),
    ];
    let path = "agents/writer/agent.toml";
    let entry = locked(&world(&files), &agent(&world(&files), path));
    let mut paths: Vec<_> = files.iter().map(|(path, _)| *path).collect();
    paths.sort_unstable();
    let pinned: Vec<_> = entry.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(pinned, paths);
    for (at, (changed, text)) in files.iter().enumerate() {
        let longer = format!("{}\n", text.trim_end().to_owned() + " ");
        let mut new = files;
        new[at].1 = &longer;
        let found = lock_changes(path, &files, &new);
        assert_eq!(found, [format!("file `{changed}` changed")], "{changed}");
    }
    let added = [files.as_slice(), &[("skills/style/new.txt", "New.\n")]].concat();
    assert_eq!(lock_changes(path, &files, &added), ["file `skills/style/new.txt` is new"]);
}

#[test]
fn user_configuration_does_not_change_the_lock() {
    let files = [("base.agent", BASE), ("child.agent", CHILD)];
    let plain = world(&files);
    let mut other = world(&files);
    other.write(
        "home/user/.config/agentry/config.toml",
        "[[models]]\nprovider = \"lab\"\nid = \"big\"\ntier = \"reasoning-mid\"\n\
         [mcp_servers.brave]\ncommand = \"brave\"\n[policy]\nbash = { intent = \"deny\" }\n",
    );
    assert_eq!(lock_of(&plain, "child.agent").to_text(), lock_of(&other, "child.agent").to_text());
}

#[test]
fn malformed_locks_are_refused() {
    let sound = lock_of(&world(&[("base.agent", BASE)]), "base.agent").to_text();
    let twice = format!("{sound}{}", &sound[sound.find("\n[").expect("a table")..]);
    let cases = [
        (String::new(), "`agentry.lock` does not say which version it has"),
        ("version = \"1\"\n".to_owned(), "`agentry.lock` does not say which version it has"),
        (
            "version = 2\n".to_owned(),
            "`agentry.lock` has version 2; this agentry knows versions up to 1",
        ),
        (
            "version = 1\n<<<<<<< HEAD\n".to_owned(),
            "agentry.lock:2: the lock has unresolved merge conflicts",
        ),
        (
            sound.replace("format =", ">>>>>>> other\nformat ="),
            "agentry.lock:6: the lock has unresolved merge conflicts",
        ),
        (twice, "agentry.lock:56: `base.agent` is locked twice"),
        ("version = 1\n[agents.\n".to_owned(), "agentry.lock:2: "),
        ("version\n".to_owned(), "agentry.lock:1: "),
    ];
    for (text, expected) in cases {
        let error = Lockfile::parse(&text).expect_err(&text);
        assert!(error.message.starts_with(expected), "{text}\n{error}");
        assert!(!error.hint.is_empty(), "{text}");
    }
    let entries = [
        ("digest = ", "dijest = ", "agentry.lock:"),
        ("format = \"manifest\"", "format = \"word\"", "agentry.lock:6: "),
        ("models = [", "models = [1,", "agentry.lock:"),
        (" sha256:", "", "`agentry.lock` says nothing sound of \"base.agent\""),
        ("policy = [", "policy = ", "agentry.lock:"),
    ];
    for (from, to, expected) in entries {
        let text = sound.replace(from, to);
        assert_ne!(text, sound, "{from}");
        let lock = Lockfile::parse(&text).expect("tables are told apart");
        let error = lock.get("base.agent").expect_err(&text);
        assert!(error.message.starts_with(expected), "{to}: {error}");
    }
    // A file that is cut off anywhere is never accepted as a valid lock of the same agent.
    for end in 0..sound.len() - 1 {
        let half = Lockfile::parse(&sound[..end]).and_then(|lock| lock.get("base.agent"));
        let whole = Lockfile::parse(&sound).and_then(|lock| lock.get("base.agent"));
        assert_ne!(half, whole, "{end}");
    }
}

#[test]
fn line_ends_and_spacing_do_not_invalidate_a_lock() {
    let files = world(&[("base.agent", BASE)]);
    let text = lock_of(&files, "base.agent").to_text();
    let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let indented = text.replace("  \"", "\t\t\"").replace(" = [", "=[");
    for text in [marked, indented] {
        let lock = Lockfile::parse(&text).expect("a lock");
        assert_eq!(verify(&files, &agent(&files, "base.agent"), &lock), Ok(()), "{text}");
    }
}

#[test]
fn a_lock_of_version_0_is_migrated() {
    let files = world(&[("base.agent", BASE), ("child.agent", CHILD)]);
    let compiled = agent(&files, "child.agent");
    let now = locked(&files, &compiled);
    let digest = |list: &[PlannedFile], path: &str| {
        list.iter().find(|file| file.path == path).expect("a file").digest.clone()
    };
    let models: Vec<_> = now.models.iter().map(|model| format!("\"{model}\"")).collect();
    let old = format!(
        "version = 0\n[[agent]]\npath = \"child.agent\"\nname = \"child\"\nformat = \"manifest\"\n\
         digest = \"{}\"\npolicy = \"{}\"\nmodels = [{}]\n\
         files = {{ \"child.agent\" = \"{}\", \"base.agent\" = \"{}\" }}\n",
        now.digest,
        now.policy_digest,
        models.join(", "),
        digest(&now.files, "child.agent"),
        digest(&now.base_files, "base.agent"),
    );
    let lock = Lockfile::parse(&old).expect("a lock of version 0");
    assert_eq!(verify(&files, &compiled, &lock), Ok(()));
    let migrated = lock.to_text();
    assert!(
        migrated.contains("\nversion = 1\n") && migrated.contains("\nversion = 0\n"),
        "{migrated}"
    );
    assert_eq!(
        Lockfile::parse(&migrated).expect("a lock"),
        Lockfile::parse(&lock.to_text()).expect("a lock")
    );
    let wider = world(&[
        ("base.agent", &BASE.replace("network: none", "network: allowed")),
        ("child.agent", CHILD),
    ]);
    let found = verify(&wider, &agent(&wider, "child.agent"), &lock).expect_err("a change");
    let messages: Vec<_> = found.iter().map(|change| change.message.as_str()).collect();
    assert_eq!(messages, ["file `base.agent` changed", "its policy changed"]);
    for (wrong, why) in [("path = 1", "path"), ("digets = \"\"", "digest"), ("x", "")] {
        let text = old
            .replace(if why == "digest" { "digest = " } else { "path = \"child.agent\"" }, wrong);
        assert!(Lockfile::parse(&text).is_err(), "{wrong}");
    }
}

#[test]
fn locked_policies_parse_back() {
    let cases = [
        "[permissions.bash]\nintent = \"ask\"\nrules = [\"git log *:allow\", \"= x:deny\", \"a: b:allow\"]\n",
        "[permissions.edit]\nintent = \"deny\"\nrules = [\"src/**:ask\"]\n[permissions.webfetch]\nintent = \"allow\"\n",
        "",
    ];
    for text in cases {
        let toml = format!("name = \"writer\"\ndescription = \"Writes\"\n{text}");
        let files =
            world(&[("writer/agent.toml", &toml), ("writer/system-prompt.md", "You write.\n")]);
        let compiled = agent(&files, "writer/agent.toml");
        let lines = locked(&files, &compiled).policy;
        assert_eq!(policy::diff(&lines, &lines), Some(Vec::new()), "{text}");
        let all = vec!["trust: bash = deny".to_owned()];
        let diffs = policy::diff(&all, &lines).expect("lines that can be read");
        let own = crate::policy_diff(&compiled, &compiled);
        assert!(own.is_empty() && !diffs.is_empty(), "{text}");
    }
    for wrong in [
        "bash = allow",
        "trust: bsh = deny",
        "trust: bash",
        "nobody: bash = deny",
        "trust: bash rm *",
    ] {
        assert_eq!(policy::diff(&[wrong.to_owned()], &[]), None, "{wrong}");
    }
}

#[test]
fn agents_with_the_same_name_are_locked_by_path() {
    let files = world(&[("a/x.agent", BASE), ("b/x.agent", BASE)]);
    let mut lock = Lockfile::default();
    for path in ["a/x.agent", "b/x.agent"] {
        let compiled = agent(&files, path);
        lock.set(&key(&files, &compiled), &locked(&files, &compiled));
    }
    assert_eq!(lock.keys().collect::<Vec<_>>(), ["a/x.agent", "b/x.agent"]);
    for path in ["a/x.agent", "b/x.agent"] {
        assert_eq!(verify(&files, &agent(&files, path), &lock), Ok(()), "{path}");
    }
}

/// Checking and locking read the same agent.
#[test]
fn checking_and_locking_read_the_same_agent() {
    let files = world(&[("base.agent", BASE), ("child.agent", CHILD)]);
    let compiled = agent(&files, "child.agent");
    let checked = check(&files, &compiled.found, &crate::WorkspaceConfig::default());
    assert_eq!(locked(&files, &checked), locked(&files, &compiled));
}
