use agentry_compile::policy::path::NoLinks;
use agentry_compile::policy::{
    Action, LayerSource, PathAnchors, PatternRule, Permissions, SectionCall, SectionRules, layer,
};
use agentry_compile::text::{FileId, Span, Spanned};
use agentry_sandbox::proxy::{HostReach, ProxyGate as _};
use proptest::prelude::*;

use super::*;

/// A workspace in a home directory, and rules about it.
struct ConfineFixture {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

/// The rules of a section: its intent, and patterns with their verdicts.
type Written<'a> = (Section, Action, &'a [(&'a str, Action)]);

impl ConfineFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        for name in [
            "w/src/deep",
            "w/docs",
            "w/agents/tools/deep",
            "w/.git",
            "other",
            ".tool/bin",
            ".agentry",
        ] {
            fs::create_dir_all(root.join("home").join(name)).expect("a directory");
        }
        for name in ["w/src/a.rs", "w/src/x.lock", "w/docs/b.md", "w/agents/own.md", "w/deploy.pem"]
        {
            fs::write(root.join("home").join(name), "").expect("a file");
        }
        Self { _dir: dir, root: root.join("home") }
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.starts_with('/') { name.into() } else { self.root.join(name) }
    }

    fn judge(&self, sections: &[Written<'_>]) -> Judge {
        let nowhere = Span::start_of(FileId::BUILT_IN);
        let rule = |(pattern, action): &(&str, Action)| {
            Spanned::new(PatternRule { pattern: (*pattern).to_owned(), action: *action }, nowhere)
        };
        let section = |(section, intent, rules): &Written<'_>| SectionRules {
            section: Spanned::new(*section, nowhere),
            intent: Some(Spanned::new(*intent, nowhere)),
            rules: rules.iter().map(rule).collect(),
        };
        let permissions = Permissions { sections: sections.iter().map(section).collect() };
        let text = |path: PathBuf| path.to_str().expect("text").to_owned();
        let places = PathAnchors {
            workspace: text(self.path("w")),
            home: Some(text(self.root.clone())),
            ignores_case: false,
        };
        Judge::new(vec![layer(LayerSource::Permissions, &permissions, &places)], places)
    }

    fn confined(&self, sections: &[Written<'_>]) -> PlannedConfinement {
        let own = |name: &str, is_directory| {
            let path = self.path(name).to_str().expect("text").to_owned();
            DefinitionPart { path, is_directory }
        };
        let surroundings = ConfinementInputs {
            home: Some(self.root.clone()),
            agentry_home: Some(self.path(".agentry")),
            definition: vec![own("w/agents/own.md", false), own("w/agents/tools", true)],
            programs: vec![self.path(".tool/bin"), "/usr/bin".into()],
            top_level: vec![self.root.clone()],
        };
        confinement(&self.judge(sections), &surroundings)
    }

    /// Returns paths relative to the test directory.
    fn names(&self, paths: &[PathBuf]) -> Vec<String> {
        let own = paths.iter().filter_map(|path| path.strip_prefix(&self.root).ok());
        own.map(|path| path.display().to_string()).collect()
    }
}

/// Returns a policy about an imaginary workspace.
pub(super) fn judge_of(sections: &[Written<'_>]) -> Judge {
    ConfineFixture { _dir: tempfile::tempdir().expect("a directory"), root: "/home".into() }
        .judge(sections)
}

const PROTECTED: &[&str] = &[
    "w/.agentry",
    "w/.agents",
    "w/.claude",
    "w/.codex",
    "w/.copilot",
    "w/.cursor",
    "w/.gemini",
    "w/.git/config",
    "w/.git/hooks",
    "w/.opencode",
    "w/.pi",
    "w/agentry.lock",
    "w/agentry.toml",
    "w/agents/own.md",
    "w/agents/tools",
];

#[test]
fn a_policy_becomes_the_coarsest_confinement_within_it() {
    use Action::{Allow, Ask, Deny};
    use Section::{Edit, ExternalDirectory, Read};
    let world = ConfineFixture::new();
    let plus = |more: &[&'static str]| {
        let mut all = [PROTECTED, more].concat();
        all.sort_unstable();
        all
    };
    let none: Vec<&str> = Vec::new();
    // The rules, the writable paths, the read-only paths.
    let cases: [(&[Written<'_>], Vec<&str>, Vec<&str>); 10] = [
        (&[], vec!["w"], plus(&[])),
        (&[(Edit, Ask, &[])], vec!["w"], plus(&[])),
        (&[(Edit, Deny, &[])], none.clone(), none.clone()),
        (&[(Edit, Deny, &[("src/**", Allow)])], vec!["w/src"], none.clone()),
        (&[(Edit, Deny, &[("agents/tools/deep/**", Allow)])], none.clone(), none.clone()),
        (&[(Edit, Allow, &[("docs/**", Deny)])], vec!["w"], plus(&["w/docs"])),
        (&[(Edit, Allow, &[("src/*.lock", Deny)])], vec!["w"], plus(&["w/src"])),
        (&[(Edit, Allow, &[("**/*.lock", Deny)])], none.clone(), none.clone()),
        (&[(Edit, Allow, &[("src/**", Allow), ("**", Deny)])], vec!["w/src"], none.clone()),
        (
            &[
                (Edit, Allow, &[]),
                (Read, Allow, &[]),
                (ExternalDirectory, Deny, &[("~/other/**", Allow)]),
            ],
            vec!["other", "w"],
            plus(&[]),
        ),
    ];
    for (sections, writes, read_only) in cases {
        let found = world.confined(sections).confinement;
        assert_eq!(world.names(&found.writes), writes, "{sections:?}");
        assert_eq!(world.names(&found.read_only), read_only, "{sections:?}");
    }
}

#[test]
fn denied_reads_are_hidden_in_the_sandbox() {
    use Action::{Allow, Deny};
    use Section::Read;
    let world = ConfineFixture::new();
    let always = ["w/.env", "w/deploy.pem"];
    let cases: [(&[Written<'_>], &[&str]); 3] = [
        (&[], &[]),
        (&[(Read, Allow, &[("docs/**", Deny)])], &["w/docs"]),
        (&[(Read, Allow, &[("**/*.lock", Deny)])], &["w/agentry.lock", "w/src/x.lock"]),
    ];
    for (sections, more) in cases {
        let found = world.confined(sections).confinement;
        let mut expected: Vec<&str> = always.iter().chain(more).copied().collect();
        expected.retain(|name| *name != "w/agentry.lock");
        expected.sort_unstable();
        assert_eq!(world.names(&found.hidden), expected, "{sections:?}");
        assert_eq!(world.names(&found.reads), [".tool/bin", "w"], "{sections:?}");
        assert_eq!(world.names(&found.private), [""], "{sections:?}");
    }
}

#[test]
fn only_program_directories_of_the_home_are_readable() {
    let world = ConfineFixture::new();
    for name in
        [".cargo/bin", ".cargo/registry", ".rustup/toolchains", ".foo/bin", ".foo/lib", ".foo/x"]
    {
        std::fs::create_dir_all(world.path(name)).expect("a directory");
    }
    for name in [".foo/token", ".cargo/credentials.toml"] {
        std::fs::write(world.path(name), "hush").expect("written");
    }
    let at = |name: &str| {
        let home = Some(world.root.clone());
        let surroundings = ConfinementInputs { home, ..ConfinementInputs::default() };
        let mut found = world.names(&programs_at(&world.path(name), &surroundings));
        found.retain(|name| world.path(name).exists());
        found
    };
    assert_eq!(at(".foo/bin"), [".foo/bin", ".foo/lib"]);
    assert_eq!(at(".cargo/bin"), [".cargo/bin", ".cargo/registry", ".rustup/toolchains"]);
    assert_eq!(at(".bin"), Vec::<String>::new());
    assert_eq!(at(".local/bin"), Vec::<String>::new());
}

#[test]
fn a_host_is_open_only_if_allowed_completely() {
    use Action::{Allow, Ask, Deny};
    use Section::Webfetch;
    let world = ConfineFixture::new();
    let rules: &[Written<'_>] = &[(
        Webfetch,
        Deny,
        &[
            ("closed.org/secret/**", Deny),
            ("closed.org", Allow),
            ("part.org/docs/**", Allow),
            ("open.org", Allow),
            ("*.wild.org", Allow),
            ("asked.org", Ask),
            ("http://127.0.0.1:8080", Allow),
        ],
    )];
    let found = world.confined(rules);
    assert_eq!(found.confinement.network, NetworkAccess::Proxy(PROXY));
    let cases = [
        ("https", "open.org", 443, Some(HostReach::Public)),
        ("https", "open.org", 8443, None),
        ("http", "open.org", 80, None),
        ("https", "a.wild.org", 443, Some(HostReach::Public)),
        ("https", "wild.org.evil.org", 443, None),
        ("https", "closed.org", 443, None),
        ("https", "part.org", 443, None),
        ("https", "asked.org", 443, None),
        ("http", "127.0.0.1", 8080, Some(HostReach::Private)),
        ("http", "127.0.0.1", 80, None),
        ("https", "other.org", 443, None),
    ];
    for (scheme, host, port, expected) in cases {
        let open = found.hosts.open(scheme, host, port).ok();
        assert_eq!(open, expected, "{scheme}://{host}:{port}");
    }
    assert_eq!(world.confined(&[(Webfetch, Ask, &[])]).confinement.network, NetworkAccess::Off);
    let all = world.confined(&[(Webfetch, Allow, &[])]);
    assert_eq!(all.hosts.open("https", "any.org", 443), Ok(HostReach::Public));
    assert!(all.hosts.open("http", "localhost", 80).is_err());
}

fn below(roots: &[PathBuf], path: &Path) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// Patterns and paths of a small test directory: some exist, some do not.
const PATTERNS: &[&str] = &[
    "**",
    "*",
    "src/**",
    "src/*",
    "src",
    "src/*.lock",
    "**/*.lock",
    "**/deep/**",
    "docs/b.md",
    "docs/**",
    "d*/**",
    "~/other/**",
    "~/**",
    "/**",
    "src/deep/../**",
    "./docs/**",
    "src/a.rs",
    "new/**",
    "new",
];
const PATHS: &[&str] = &[
    "w/new",
    "w/new/file",
    "w/src/a.rs",
    "w/src/x.lock",
    "w/src/new.lock",
    "w/src/deep/new",
    "w/docs/b.md",
    "w/docs/new",
    "w/x.lock",
    "w/agents/own.md",
    "w/agents/tools/deep/new",
    "w/agentry.toml",
    "other/new",
    "other/x.lock",
    "new",
    "/etc/new",
];

fn actions() -> impl Strategy<Value = Action> {
    prop::sample::select(vec![Action::Allow, Action::Ask, Action::Deny])
}

fn rules() -> impl Strategy<Value = (Action, Vec<(&'static str, Action)>)> {
    let rule = (prop::sample::select(PATTERNS), actions());
    (actions(), prop::collection::vec(rule, 0..5))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_sandbox_permits_no_denied_access(edit in rules(), read in rules(), external in rules()) {
        let world = ConfineFixture::new();
        let sections: &[Written<'_>] = &[
            (Section::Edit, edit.0, &edit.1),
            (Section::Read, read.0, &read.1),
            (Section::ExternalDirectory, external.0, &external.1),
        ];
        let judge = world.judge(sections);
        let Confinement { reads, writes, read_only, hidden, .. } = world.confined(sections).confinement;
        let directory = world.path("w");
        let directory = directory.to_str().expect("text");
        for name in PATHS {
            let path = world.path(name);
            let subject = path.to_str().expect("text");
            let verdict = |section| judge.judge(SectionCall { section, subject, directory }, &NoLinks).action;
            let seen = (below(&reads, &path) || below(&writes, &path)) && !below(&hidden, &path);
            if below(&writes, &path) && !below(&read_only, &path) && !below(&hidden, &path) {
                prop_assert!(verdict(Section::Edit) != Action::Deny, "{subject} can be written");
            }
            if seen && path.exists() {
                prop_assert!(verdict(Section::Read) != Action::Deny, "{subject} can be read");
            }
        }
    }
}
