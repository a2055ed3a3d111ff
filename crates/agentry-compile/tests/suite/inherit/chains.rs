//! Bases that cannot be used: each is an error where the base is named, with the whole chain.

use agentry_compile::SessionMemo;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentry_compile::model::Format;
use agentry_compile::{
    BaseMemo, DirectoryEntry, EntryKind, FileLayer, FileTree, FoundAgent, MachineFacts,
    MemoryWorld, NoServices, ReadError, StoreRef, StoredAgent, WorkspaceConfig, World,
    WorldServices, check, hash,
};

use super::{checked, errors};

fn agent(name: &str, base: &str) -> (String, Vec<u8>) {
    let text = format!("name: {name}\ndescription: Answers questions\nbase: {base}\n");
    (format!("{name}.agent"), text.into_bytes())
}

#[test]
fn an_unusable_base_is_reported_with_the_chain() {
    let digest = "0".repeat(64);
    let cases = [
        ("./none.agent", "AG0031 the base `./none.agent` does not exist: `c.agent` → `b.agent` → `none.agent`".to_owned()),
        ("./docs", "AG0031 the base `./docs` is a directory without an agent: `c.agent` → `b.agent` → `docs`".to_owned()),
        ("./docs/x.txt", "AG0031 the base `./docs/x.txt` is not an agent definition by its name: `c.agent` → `b.agent` → `docs/x.txt`".to_owned()),
        ("./binary.agent", "AG0036 the base `binary.agent` has an error (the byte 0xFF is not UTF-8): `c.agent` → `b.agent` → `binary.agent`".to_owned()),
        ("./large.agent", "AG0036 the base `large.agent` has an error (the file has 1048577 bytes; at most 1048576 are read): `c.agent` → `b.agent` → `large.agent`".to_owned()),
        ("./c.agent", "AG0032 the bases lead back to `c.agent`: `c.agent` → `b.agent` → `c.agent`".to_owned()),
        ("./b.agent", "AG0032 the bases lead back to `b.agent`: `c.agent` → `b.agent` → `b.agent`".to_owned()),
        ("ghcr.io/team/base:1", "AG0031 the base `ghcr.io/team/base:1` cannot be fetched: the store has no such agent: `c.agent` → `b.agent` → `ghcr.io/team/base:1`".to_owned()),
        ("ag1:0123456789ab", "AG0031 the base `ag1:0123456789ab` cannot be fetched: the store has no such agent: `c.agent` → `b.agent` → `ag1:0123456789ab`".to_owned()),
        ("other@1.0.0", "AG0031 the base `other@1.0.0` cannot be fetched: the store has no such agent: `c.agent` → `b.agent` → `other@1.0.0`".to_owned()),
    ];
    for (base, expected) in cases {
        let world = MemoryWorld::new([
            agent("c", "./b.agent"),
            agent("b", base),
            ("docs/x.txt".to_owned(), b"text".to_vec()),
            ("binary.agent".to_owned(), b"\x7fELF\xff".to_vec()),
            ("large.agent".to_owned(), vec![b'#'; 1024 * 1024 + 1]),
        ]);
        assert_eq!(errors(&checked(&world, "c.agent")), [expected], "{base}");
    }
    let pinned = format!("https://example.org/x.agent#sha256:{digest}");
    let world = MemoryWorld::new([agent("c", &pinned)]);
    assert!(errors(&checked(&world, "c.agent"))[0].contains("cannot be fetched"));
}

#[test]
fn more_than_sixteen_bases_are_an_error() {
    let name = |at: usize| format!("a{at}");
    let mut files: Vec<_> =
        (1..=17).map(|at| agent(&name(at), &format!("./a{}.agent", at - 1))).collect();
    files.push((
        "a0.agent".to_owned(),
        b"name: a0\ndescription: Answers questions\nlicense: MIT\n".to_vec(),
    ));
    let world = MemoryWorld::new(files);
    let sixteen = checked(&world, "a16.agent");
    assert_eq!(errors(&sixteen), Vec::<String>::new());
    assert_eq!(sixteen.bases.len(), 16);
    assert_eq!(sixteen.whole().identity.license.as_ref().map(|it| it.value.as_str()), Some("MIT"));
    let found = errors(&checked(&world, "a17.agent"));
    assert!(
        found[0].starts_with(
            "AG0032 more than 16 bases stand above this agent: `a17.agent` → `a16.agent`"
        ),
        "{found:?}"
    );
    assert!(found[0].ends_with("`a1.agent` → `a0.agent`"), "{found:?}");
}

#[test]
fn a_base_error_points_at_the_base_value() {
    let world = MemoryWorld::new([agent("c", "./b.agent"), agent("b", "./none.agent")]);
    let compiled = checked(&world, "c.agent");
    let found = compiled.diagnostics.iter().find(|found| found.rule.code == "AG0031").expect("one");
    assert_eq!(compiled.sources.slice(found.span), "./b.agent");
    let related: Vec<_> =
        found.related.iter().map(|label| compiled.sources.slice(label.span)).collect();
    assert_eq!(related, ["./none.agent"]);
}

const BASE: &str = "name: base\nversion: 1.0.0\ndescription: Answers questions\nsoul: You answer.\ntrust: {filesystem: scoped, scope: [./w]}\n";

/// A world with `base` in its store under all its names, altered by `change`.
fn store(change: impl Fn(&mut StoredAgent)) -> (MemoryWorld, Vec<String>) {
    let plain = crate::world::world(&[("base.agent", BASE)]);
    let digest = hash(&plain, &checked(&plain, "base.agent"));
    let mut stored = StoredAgent {
        files: vec![("base.agent".to_owned(), BASE.as_bytes().to_vec())],
        main: "base.agent".to_owned(),
        format: Format::Manifest,
        digest: digest.full.clone(),
    };
    change(&mut stored);
    let short = digest.short.expect("a manifest");
    let named = StoreRef::Named { name: "base".to_owned(), version: "1.0.0".to_owned() };
    let references = [StoreRef::Short(short), StoreRef::Full(digest.full), named];
    let mut world = MemoryWorld::default();
    references.iter().for_each(|reference| world.store(reference, stored.clone()));
    (world, references.iter().map(ToString::to_string).collect())
}

#[test]
fn stored_bases_are_verified_by_digest() {
    let (mut world, references) = store(|_| {});
    for reference in &references {
        let (path, bytes) = agent("c", reference);
        world.write(&path, bytes);
        let compiled = checked(&world, "c.agent");
        assert_eq!(errors(&compiled), Vec::<String>::new(), "{reference}");
        let system = compiled.whole().instructions.system.as_ref().expect("a soul");
        assert_eq!(system.value, "You answer.", "{reference}");
        assert!(compiled.sources.path(system.span).starts_with(reference.as_str()));
        // A stored agent has no directory, so its paths start at the child's.
        let trust = compiled.whole().policy.trust.as_ref().expect("trust");
        assert_eq!(trust.scope.as_ref().expect("a scope")[0].value, "./w");
    }
    let (mut world, references) = store(|stored| stored.files[0].1.extend(b"license: MIT\n"));
    for reference in &references {
        let (path, bytes) = agent("c", reference);
        world.write(&path, bytes);
        let found = errors(&checked(&world, "c.agent"));
        assert!(found[0].starts_with("AG0034"), "{reference}: {found:?}");
    }
}

#[test]
fn a_stored_base_cannot_name_files_outside() {
    let (mut world, references) = store(|stored| {
        stored.files[0].1 = b"name: base\nbase: ../secret.agent\n".to_vec();
    });
    world.write("secret.agent", "name: secret\n");
    let (path, bytes) = agent("c", &references[2]);
    world.write(&path, bytes);
    let found = errors(&checked(&world, "c.agent"));
    assert!(found[0].starts_with("AG0031 the base `../secret.agent` does not exist"), "{found:?}");
}

#[test]
fn a_base_path_with_a_digest_is_verified() {
    let plain = crate::world::world(&[("base.agent", BASE)]);
    let digest = hash(&plain, &checked(&plain, "base.agent")).full;
    for (text, fits) in [(BASE.to_owned(), true), (format!("{BASE}license: MIT\n"), false)] {
        let (path, bytes) = agent("c", &format!("./base.agent#{digest}"));
        let world = MemoryWorld::new([(path, bytes), ("base.agent".to_owned(), text.into_bytes())]);
        let found = errors(&checked(&world, "c.agent"));
        assert_eq!(found.is_empty(), fits, "{found:?}");
        assert!(found.iter().all(|error| error.starts_with("AG0034")), "{found:?}");
    }
}

/// A base that is deleted during the work: between finding and reading it, between two of its files, between
/// two of its children.
#[test]
fn a_base_deleted_while_reading_is_an_error() {
    let files = [
        agent("c", "./team"),
        ("team/agent.yaml".to_owned(), b"name: team\ndescription: Answers questions\n".to_vec()),
        ("team/SOUL.md".to_owned(), b"You answer.\n".to_vec()),
        ("team/RULES.md".to_owned(), b"Be kind.\n".to_vec()),
    ];
    let mut outcomes = std::collections::BTreeSet::new();
    for left in 0..40 {
        let world =
            Vanishing { files: MemoryWorld::new(files.clone()), left: AtomicUsize::new(left) };
        let found = FoundAgent {
            path: "c.agent".to_owned(),
            dir: String::new(),
            main: "c.agent".to_owned(),
            format: Format::Manifest,
        };
        let compiled = check(&world, &found, &WorkspaceConfig::default());
        let rules = compiled.whole().instructions.base_rules.len();
        outcomes.insert((errors(&compiled).len().min(1), rules));
        for error in errors(&compiled) {
            assert!(
                error.starts_with("AG003") && error.contains("`c.agent` → "),
                "{left}: {error}"
            );
        }
    }
    assert!(outcomes.contains(&(1, 0)) && outcomes.contains(&(0, 1)), "{outcomes:?}");
}

/// A world in which the directory `team` disappears after so many questions about it.
struct Vanishing {
    files: MemoryWorld,
    left: AtomicUsize,
}

impl Vanishing {
    fn is_gone(&self, path: &str) -> bool {
        let less = |left: usize| Some(left.saturating_sub(1));
        path.starts_with("team")
            && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) == Ok(0)
    }
}

impl FileLayer for Vanishing {
    fn below(&self) -> &dyn FileTree {
        &self.files
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        if self.is_gone(path) {
            Err(ReadError::Missing)
        } else {
            self.files.read(root, path, limit)
        }
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        if self.is_gone(path) { Err(ReadError::Missing) } else { self.files.list(root, path) }
    }

    fn kind(&self, path: &str) -> EntryKind {
        if self.is_gone(path) { EntryKind::Missing } else { self.files.kind(path) }
    }
}

impl World for Vanishing {
    fn machine(&self) -> &MachineFacts {
        self.files.machine()
    }

    fn services(&self) -> &dyn WorldServices {
        &NoServices
    }

    fn memo(&self) -> &SessionMemo {
        self.files.memo()
    }

    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}
