//! Stores of memories on a real disk.

use agentry_posix::unix::fs::{PermissionsExt as _, symlink};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use agentry_compile::model::{MemoryImportance, MemorySource, MemoryType};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::layout::HomeLayout;
use crate::user::UserName;

const NOW: i64 = 1_800_000_000;

/// A home with one installed agent.
struct TestHome {
    directory: TempDir,
}

impl TestHome {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("agents/bot")).unwrap();
        Self { directory }
    }

    fn layout(&self) -> HomeLayout {
        HomeLayout::new(self.directory.path())
    }

    fn store_of(&self, id: &str, user: &str, is_shared: bool) -> MemoryStore {
        MemoryStore::new(&MemoryPlaces {
            layout: self.layout(),
            id: id.to_owned(),
            directory: Some(self.layout().agent(id)),
            is_installed: true,
            user: UserName::new(user).unwrap(),
            is_shared,
        })
    }

    fn store(&self, user: &str) -> MemoryStore {
        self.store_of("bot", user, false)
    }

    /// Writes a file of the home by hand.
    fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn index(&self, user: &str) -> PathBuf {
        self.layout().memory_index(Some(user), "bot")
    }
}

fn draft(text: &str) -> MemoryDraft {
    MemoryDraft {
        text: text.to_owned(),
        kind: MemoryType::Fact,
        importance: MemoryImportance::Medium,
        source: MemorySource::Interaction,
        is_pinned: false,
    }
}

/// The texts that a search finds.
fn found(store: &MemoryStore, query: &str) -> Vec<String> {
    let found = store.search(query, 50, RefreshEffort::Bounded, NOW).unwrap();
    found.into_iter().map(|found| found.entry.text).collect()
}

fn listed(store: &MemoryStore) -> Vec<String> {
    let mut texts: Vec<_> = store.list().unwrap().0.into_iter().map(|it| it.text).collect();
    texts.sort();
    texts
}

fn prompt(store: &MemoryStore, prompt: &str) -> String {
    in_prompt(store, Some(prompt), None, NOW).unwrap().map_or(String::new(), |it| it.text)
}

#[test]
fn a_memory_is_a_file_that_a_person_can_read() {
    let home = TestHome::new();
    let store = home.store("ann");
    let entry = store.remember(&draft("  The build needs Rust 1.95.\n"), NOW).unwrap();
    let path = home.directory.path().join("users/ann/agents/bot/memory");
    assert_eq!(entry.path.parent(), Some(path.as_path()));
    assert_eq!(
        fs::read_to_string(&entry.path).unwrap(),
        "---\ntype: fact\nimportance: medium\ncreated: \"2027-01-15T08:00:00Z\"\nsource: interaction\n---\n\n\
         The build needs Rust 1.95.\n"
    );
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&entry.path), mode(&path)), (0o600, 0o700));
    assert!(is_written_at_run_time(&format!("{}.md", entry.id)), "{}", entry.id);
    assert_eq!(found(&store, "rust build"), ["The build needs Rust 1.95."]);
    let own = store.add(&draft("Known to all."), NOW).unwrap();
    assert!(own.path.starts_with(home.directory.path().join("agents/bot/memory")), "{own:?}");
    assert_eq!(own.user, None);
}

#[test]
fn memory_front_matter_is_read_leniently() {
    let table: [(&str, &str, &str, &[&str]); 14] = [
        ("plain text", "fact medium false", "plain text", &[]),
        ("---\ntype: rule\nimportance: high\npinned: true\n---\nx", "rule high true", "x", &[]),
        ("\u{feff}---\r\ntype: preference\r\n---\r\nx\r\n", "preference medium false", "x", &[]),
        ("---\ntype: milestone\n---\nx", "milestone medium false", "x", &["line 2: "]),
        ("---\nimportance: huge\n---\nx", "fact medium false", "x", &["line 2: "]),
        ("---\nimportance: [high]\n---\nx", "fact medium false", "x", &["line 2: "]),
        ("---\ncreated: yesterday\n---\nx", "fact medium false", "x", &["line 2: "]),
        ("---\npinned: maybe\n---\nx", "fact medium false", "x", &["line 2: "]),
        ("---\nmood: good\n---\nx", "fact medium false", "x", &["line 2: "]),
        ("---\n- a\n---\nx", "fact medium false", "x", &["line 2: "]),
        ("---\ntype: [\n---\nx", "fact medium false", "x", &["line "]),
        ("---\ntype: fact\nx", "fact medium false", "---\ntype: fact\nx", &["line 1: "]),
        ("", "fact medium false", "", &["the memory has no text"]),
        ("---\ntype: fact\n---\n", "fact medium false", "", &["the memory has no text"]),
    ];
    for (content, expected, text, problems) in table {
        let home = TestHome::new();
        let path = home.write("agents/bot/memory/a.md", content);
        let (entries, _) = home.store("ann").list().unwrap();
        let entry = &entries[0];
        let MemoryEntry { kind, importance, is_pinned, .. } = entry;
        assert_eq!(format!("{kind} {} {is_pinned}", importance.as_str()), expected, "{content:?}");
        assert_eq!(entry.text, text, "{content:?}");
        assert_eq!(entry.problems.is_empty(), problems.is_empty(), "{:?}", entry.problems);
        for (problem, start) in entry.problems.iter().zip(problems) {
            assert!(problem.starts_with(start), "{content:?}: {problem}");
        }
        if text.ends_with('x') {
            assert_eq!(found(&home.store("ann"), "x"), [text], "{content:?}");
        }
        assert_eq!(fs::read_to_string(path).unwrap(), content, "the file is never changed");
    }
}

#[test]
fn a_damaged_file_is_reported_and_its_text_found() {
    let home = TestHome::new();
    let path = home.directory.path().join("agents/bot/memory/latin.md");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, b"caf\xe9 opens at nine").unwrap();
    home.write("agents/bot/memory/big.md", &format!("start {}", "x".repeat(2 << 20)));
    let store = home.store("ann");
    assert_eq!(found(&store, "nine"), ["caf\u{fffd} opens at nine"]);
    assert_eq!(found(&store, "start").len(), 1);
    let problems: Vec<_> =
        store.list().unwrap().0.into_iter().flat_map(|entry| entry.problems).collect();
    assert!(problems.contains(&"it is not UTF-8".to_owned()), "{problems:?}");
    assert!(problems.contains(&"only its first 1048576 bytes are used".to_owned()), "{problems:?}");
    // What was repaired while it was read is never written back.
    let error = store.replace_text("latin", "new").unwrap_err().to_string();
    assert!(error.contains("is broken: it is not UTF-8"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"caf\xe9 opens at nine");
}

#[test]
fn other_files_beside_memories_are_ignored() {
    let home = TestHome::new();
    for path in ["_index.md", "README.md", ".hidden.md", "notes.txt", ".md", ".git/x.md"] {
        home.write(&format!("agents/bot/memory/{path}"), "word");
    }
    home.write("agents/bot/memory/topics/law.md", "word of law");
    home.write("agents/bot/memory/pinned/first.md", "word of honour");
    let store = home.store("ann");
    let mut texts = found(&store, "word");
    texts.sort();
    assert_eq!(texts, ["word of honour", "word of law"]);
    let (entries, _) = store.list().unwrap();
    let ids: Vec<_> = entries.iter().map(|it| (it.id.as_str(), it.is_pinned)).collect();
    assert!(ids.contains(&("pinned/first", true)) && ids.contains(&("topics/law", false)));
}

#[test]
fn symlinks_in_memory_directories_are_refused() {
    let home = TestHome::new();
    home.store("ann").teach(&draft("the secret of ann"), NOW).unwrap();
    let private = home.layout().user_memory("ann", "bot");
    let secret = fs::read_dir(&private).unwrap().next().unwrap().unwrap().path();
    let own = home.layout().agent_memory("bot");
    fs::create_dir_all(&own).unwrap();
    symlink(&secret, own.join("file.md")).unwrap();
    symlink(&private, own.join("folder")).unwrap();
    agentry_posix::fs::mkfifoat(agentry_posix::fs::CWD, own.join("pipe.md"), 0o600.into()).unwrap();
    let bob = home.store("bob");
    assert_eq!(found(&bob, "secret"), Vec::<String>::new());
    assert_eq!(listed(&bob), Vec::<String>::new());
    for id in ["file", "folder/x", "../../../users/ann/agents/bot/memory/x", "/etc/passwd"] {
        assert!(matches!(bob.forget(id), Err(MemoryError::Unknown(_))), "{id}");
        assert!(matches!(bob.content(id), Err(MemoryError::Unknown(_))), "{id}");
    }
    // The memory of the agent as a whole, and the user's directory.
    fs::remove_dir_all(&own).unwrap();
    symlink(&private, &own).unwrap();
    let error = bob.search("secret", 9, RefreshEffort::Full, NOW).unwrap_err().to_string();
    assert!(error.ends_with("memories are not read through links"), "{error}");
    assert!(bob.list().is_err() && bob.add(&draft("x"), NOW).is_err());
    fs::remove_file(&own).unwrap();
    fs::create_dir_all(home.layout().users()).unwrap();
    symlink(home.layout().users().join("ann"), home.layout().users().join("bob")).unwrap();
    assert!(bob.list().is_err() && bob.teach(&draft("x"), NOW).is_err());
    assert!(bob.search("secret", 9, RefreshEffort::Full, NOW).is_err());
}

#[test]
fn the_index_follows_the_files() {
    let home = TestHome::new();
    let store = home.store("ann");
    let path = home.write("agents/bot/memory/a.md", "alpha");
    assert_eq!(found(&store, "alpha"), ["alpha"]);
    // Changed in place, of the same length, within the same tick.
    fs::write(&path, "gamma").unwrap();
    assert_eq!((found(&store, "alpha").len(), found(&store, "gamma").len()), (0, 1));
    home.write("agents/bot/memory/new/b.md", "gamma too");
    assert_eq!(found(&store, "gamma").len(), 2);
    fs::rename(&path, path.with_file_name("c.md")).unwrap();
    assert_eq!(found(&store, "gamma").len(), 2);
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_eq!(found(&store, "gamma"), Vec::<String>::new());
}

#[test]
fn a_large_store_follows_its_files() {
    let home = TestHome::new();
    let store = home.store("ann");
    for at in 0..420 {
        home.write(&format!("agents/bot/memory/{}/{at}.md", at % 7), &format!("number{at} common"));
    }
    assert_eq!(found(&store, "number411"), ["number411 common"]);
    assert_eq!(found(&store, "common").len(), 50, "a word that all have");
    assert_eq!(found(&store, "common number17"), ["number17 common"], "the rarer word decides");
    home.write("agents/bot/memory/3/new.md", "fresh");
    assert_eq!(found(&store, "fresh"), ["fresh"]);
    home.write("agents/bot/memory/8/other.md", "elsewhere");
    assert_eq!(found(&store, "elsewhere"), ["elsewhere"]);
    fs::remove_file(home.directory.path().join("agents/bot/memory/3/new.md")).unwrap();
    assert_eq!(found(&store, "fresh"), Vec::<String>::new());
    // What is found is always what the file has now.
    home.write("agents/bot/memory/0/7.md", "changed");
    assert_eq!(found(&store, "number7"), Vec::<String>::new());
    assert_eq!(found(&store, "changed"), ["changed"]);
}

/// A user who waits for an import knows why, also where there is an index already.
#[test]
fn indexing_many_files_is_announced() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static ANNOUNCED: AtomicUsize = AtomicUsize::new(0);
    let home = TestHome::new();
    let store = home.store("ann").noticing(|count| ANNOUNCED.store(count, Ordering::SeqCst));
    let import = |from: usize, to: usize| {
        for at in from..to {
            home.write(&format!("agents/bot/memory/{at}.md"), &format!("number{at}"));
        }
        ANNOUNCED.store(0, Ordering::SeqCst);
        assert_eq!(found(&store, &format!("number{from}")).len(), 1);
        ANNOUNCED.load(Ordering::SeqCst)
    };
    assert_eq!(import(0, 9), 0);
    // Files that are so new that they may change again are read again.
    assert_eq!(import(9, 300), 300);
}

#[test]
fn a_damaged_memory_index_is_rebuilt() {
    let home = TestHome::new();
    let store = home.store("ann");
    store.teach(&draft("alpha"), NOW).unwrap();
    assert_eq!(found(&store, "alpha"), ["alpha"]);
    let index = home.index("ann");
    assert!(index.is_file());
    fs::remove_file(&index).unwrap();
    assert_eq!(found(&store, "alpha"), ["alpha"], "deleted");
    for damage in [&b"not a database"[..], &[0; 4096], b"", &vec![0xff; 100_000]] {
        fs::write(&index, damage).unwrap();
        assert_eq!(found(&store, "alpha"), ["alpha"], "{:?}", damage.get(..8));
    }
    // Damaged in its middle, page by page.
    let good = fs::read(&index).unwrap();
    for page in (0..good.len()).step_by(4096) {
        let mut bad = good.clone();
        bad[page..(page + 4096).min(good.len())].fill(0x5a);
        fs::write(&index, &bad).unwrap();
        assert_eq!(found(&store, "alpha"), ["alpha"], "page {}", page / 4096);
    }
    fs::remove_file(&index).unwrap();
    let other = rusqlite::Connection::open(&index).unwrap();
    other.execute_batch("CREATE TABLE files (x); PRAGMA user_version = 99;").unwrap();
    drop(other);
    assert_eq!(found(&store, "alpha"), ["alpha"], "another version");
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(found(&store, "alpha"), ["alpha"], "a directory in its place");
}

#[test]
fn another_memory_directory_resets_the_index() {
    let home = TestHome::new();
    home.write("one/memory/a.md", "alpha");
    home.write("two/memory/b.md", "beta");
    let store = |directory: &str| {
        MemoryStore::new(&MemoryPlaces {
            layout: home.layout(),
            id: "bot".to_owned(),
            directory: Some(home.directory.path().join(directory)),
            is_installed: false,
            user: UserName::new("ann").unwrap(),
            is_shared: false,
        })
    };
    assert_eq!(found(&store("one"), "alpha beta"), ["alpha"]);
    assert_eq!(found(&store("two"), "alpha beta"), ["beta"]);
    let kept = store("one").add(&draft("gamma"), NOW).unwrap();
    assert_eq!(kept.user.as_deref(), Some("ann"), "an agent elsewhere is never written to");
}

#[test]
fn an_unwritable_home_can_still_be_searched() {
    let home = TestHome::new();
    let store = home.store("ann");
    store.add(&draft("alpha"), NOW).unwrap();
    // A file where the cache should be: even the superuser cannot create a directory there.
    home.write("cache", "");
    assert_eq!(found(&store, "alpha"), ["alpha"]);
    home.write("users", "");
    let error = store.teach(&draft("x"), NOW).unwrap_err();
    assert!(matches!(error, MemoryError::Link(_)), "{error}");
}

#[test]
fn query_operators_are_searched_as_plain_words() {
    let home = TestHome::new();
    let store = home.store("ann");
    store.teach(&draft("deploy near the river and not on friday"), NOW).unwrap();
    let one_megabyte = "deploy ".repeat(150_000);
    let queries = [
        "deploy",
        "DEPLOY friday",
        "deploy AND missing",
        "NEAR(deploy friday)",
        "text:deploy",
        "\"deploy",
        "deploy*",
        "-deploy",
        "^deploy",
        "deploy')--",
        "{text}: deploy",
        "deploy\0",
        "deploys",
        "\u{202e}deploy",
        one_megabyte.as_str(),
    ];
    for query in queries {
        let shown: String = query.chars().take(40).collect();
        assert_eq!(found(&store, query).len(), 1, "{shown:?}");
    }
    for query in ["", "*", "\"", "()", "absent", "\0", &"x".repeat(1 << 20)] {
        let shown: String = query.chars().take(40).collect();
        assert_eq!(found(&store, query).len(), 0, "{shown:?}");
    }
    store.teach(&draft("用户喜欢绿茶"), NOW).unwrap();
    assert_eq!(found(&store, "绿茶"), ["用户喜欢绿茶"]);
    assert_eq!(found(&store, "茶"), ["用户喜欢绿茶"]);
    assert_eq!(found(&store, "红酒").len(), 0);
}

#[test]
fn the_order_is_by_relevance_importance_and_age() {
    let home = TestHome::new();
    let day = 86_400;
    let write = |name: &str, importance: &str, age: i64, text: &str| {
        let created = super::entry::written(NOW - age * day);
        let head = format!("---\nimportance: {importance}\ncreated: {created}\n---\n");
        home.write(&format!("agents/bot/memory/{name}.md"), &(head + text));
    };
    write("old", "medium", 700, "tea is green");
    write("new", "medium", 1, "tea is green");
    write("important", "high", 1, "tea is green");
    write("trivial", "low", 1, "tea is green");
    write("both", "medium", 1, "green tea with milk, no sugar");
    for at in 0..20 {
        write(&format!("filler{at}"), "high", 0, "something else entirely");
    }
    let store = home.store("ann");
    let found = store.search("tea milk", 50, RefreshEffort::Full, NOW).unwrap();
    let ids: Vec<_> = found.iter().map(|found| found.entry.id.as_str()).collect();
    assert_eq!(ids, ["both", "important", "new", "old", "trivial"]);
    assert!(found.windows(2).all(|pair| pair[0].score > pair[1].score), "{found:?}");
}

#[test]
fn prompt_memories_are_ranked_and_limited() {
    let home = TestHome::new();
    let store = home.store("ann");
    let keep = |text: &str, importance, is_pinned, age: i64| {
        let draft = MemoryDraft { importance, is_pinned, ..draft(text) };
        store.teach(&draft, NOW - age * 86_400).unwrap();
    };
    keep("pinned low", MemoryImportance::Low, true, 900);
    keep("high old", MemoryImportance::High, false, 500);
    keep("about tea", MemoryImportance::Low, false, 400);
    keep("unrelated new", MemoryImportance::Medium, false, 0);
    let text = prompt(&store, "make some tea");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(at("pinned low") < at("high old") && at("high old") < at("about tea"), "{text}");
    assert!(at("about tea") < at("unrelated new"), "{text}");
    for at in 0..300 {
        let important = MemoryImportance::High;
        keep(&format!("{at} {}", "long words ".repeat(40)), important, false, at);
    }
    for (window, most) in [(None, 16_000), (Some(1_000_000), 16_000), (Some(20_000), 4_000)] {
        let part = in_prompt(&store, Some("tea"), window, NOW).unwrap().unwrap();
        assert!(part.text.len() <= most && part.text.len() > most / 2, "{}", part.text.len());
        assert_eq!(part.shown + part.left_out, 304);
        assert!(part.text.contains("| pinned low\n"), "{window:?}");
        let note = format!("\n{} more can be found with the tool `recall`.", part.left_out);
        assert!(part.text.ends_with(&note), "{}", part.text);
    }
    for window in [0, 1, 1_000, 2_000] {
        assert_eq!(in_prompt(&store, Some("tea"), Some(window), NOW).unwrap(), None, "{window}");
    }
    assert_eq!(in_prompt(&home.store("bob"), Some("tea"), None, NOW).unwrap(), None);
}

#[test]
fn shared_memories_reach_only_agents_that_share() {
    let home = TestHome::new();
    let first = home.store_of("bot", "ann", true);
    first.teach(&draft("private of bot"), NOW).unwrap();
    first.remember(&draft("shared by bot"), NOW).unwrap();
    assert_eq!(found(&home.store_of("other", "ann", true), "bot"), ["shared by bot"]);
    assert_eq!(found(&home.store_of("third", "ann", false), "bot"), Vec::<String>::new());
    assert_eq!(found(&home.store_of("other", "bob", true), "bot"), Vec::<String>::new());
    assert_eq!(found(&home.store_of("bot", "ann", false), "bot"), ["private of bot"]);
}

#[test]
fn without_a_user_only_shared_memories_are_read() {
    let home = TestHome::new();
    let store = home.store("ann");
    store.add(&draft("known to all"), NOW).unwrap();
    store.teach(&draft("known to ann"), NOW).unwrap();
    let plain = store.without_user(&home.layout(), "bot");
    assert_eq!(found(&plain, "known"), ["known to all"]);
    assert!(!prompt(&plain, "known").contains("ann"));
    assert_eq!(plain.remember(&draft("more"), NOW).unwrap().user.as_deref(), Some("ann"));
}

#[test]
fn memories_are_edited_and_forgotten() {
    let home = TestHome::new();
    let store = home.store("ann");
    let path = home.write("agents/bot/memory/a.md", "---\ntype: rule\nmood: good\n---\n\nold\n");
    let entry = store.replace_text("a", "--- new").unwrap();
    assert_eq!(entry.text, "--- new");
    assert_eq!(fs::read_to_string(&path).unwrap(), "---\ntype: rule\nmood: good\n---\n\n--- new\n");
    home.write("agents/bot/memory/b.md", "plain");
    assert_eq!(store.replace_text("b", "---\nx").unwrap().text, "---\nx");
    let broken = home.write("agents/bot/memory/c.md", "---\ntype: fact\nnever closed");
    let error = store.replace_text("c", "new").unwrap_err().to_string();
    assert!(error.ends_with("is broken: line 1: the metadata block is never closed"), "{error}");
    assert_eq!(fs::read_to_string(&broken).unwrap(), "---\ntype: fact\nnever closed");
    let before = store.content("c").unwrap();
    let fixed = "---\ntype: fact\n---\nclosed";
    assert_eq!(store.replace_content("c", &before, fixed).unwrap().text, "closed");
    let late = store.replace_content("c", &before, "later").unwrap_err().to_string();
    assert!(late.ends_with("was changed by another program in the meantime"), "{late}");
    for (text, error) in [
        ("  \n", "a memory needs a text"),
        (&"x".repeat(20_000), "a memory has at most 16384 bytes; this one has 20000"),
    ] {
        assert_eq!(store.replace_text("a", text).unwrap_err().to_string(), error);
        assert_eq!(store.teach(&draft(text), NOW).unwrap_err().to_string(), error);
    }
    home.write("users/ann/agents/bot/memory/a.md", "twice");
    let error = store.forget("a").unwrap_err().to_string();
    assert!(error.starts_with("`a` is the id of more than one memory: `/"), "{error}");
    store.forget(path.to_str().unwrap()).unwrap();
    assert_eq!(store.forget("a").unwrap().text, "twice");
    assert_eq!(store.forget("a").unwrap_err().to_string(), "there is no memory `a`");
}

#[test]
fn names_of_run_time_memories() {
    let table = [
        ("mem_20261116_232402_0123456789abcdef.md", true),
        ("mem_20261116_232402_0123456789abcdeg.md", false),
        ("mem_20261116_232402_0123456789abcdef", false),
        ("x/mem_20261116_232402_0123456789abcdef.md", false),
        ("mem_2026_232402_0123456789abcdef.md", false),
        ("notes.md", false),
    ];
    for (path, expected) in table {
        assert_eq!(is_written_at_run_time(path), expected, "{path}");
    }
}

/// The process that `parallel_processes_lose_no_memory` starts: it remembers, and searches in between.
#[test]
fn remember_in_a_process() {
    let Some(home) = std::env::var_os("AGENTRY_TEST_HOME") else { return };
    let number = std::env::var("AGENTRY_TEST_NUMBER").unwrap();
    let layout = HomeLayout::new(home);
    let store = MemoryStore::new(&MemoryPlaces {
        directory: Some(layout.agent("bot")),
        layout,
        id: "bot".to_owned(),
        is_installed: true,
        user: UserName::new("ann").unwrap(),
        is_shared: false,
    });
    for at in 0..5 {
        let text = format!("process{number} note{at}");
        store.remember(&draft(&text), NOW).unwrap();
        assert!(found(&store, &format!("process{number}")).contains(&text));
    }
}

#[test]
fn parallel_processes_lose_no_memory() {
    let home = TestHome::new();
    let start = |number: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory::tests::remember_in_a_process"])
            .env("AGENTRY_TEST_HOME", home.directory.path())
            .env("AGENTRY_TEST_NUMBER", number.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let processes: Vec<_> = (0..24).map(start).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let store = home.store("ann");
    assert_eq!(listed(&store).len(), 24 * 5);
    for number in 0..24 {
        assert_eq!(found(&store, &format!("process{number}")).len(), 5, "{number}");
    }
}

/// One step of a random history.
#[derive(Debug, Clone)]
enum Step {
    Teach(usize),
    Remember(usize, bool),
    Add(usize),
    Forget(usize),
    Edit(usize),
    Search(usize),
    Prompt(usize),
    RemoveIndex(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let user = 0..USERS.len();
    prop_oneof![
        user.clone().prop_map(Step::Teach),
        (user.clone(), any::<bool>()).prop_map(|(user, shares)| Step::Remember(user, shares)),
        user.clone().prop_map(Step::Add),
        user.clone().prop_map(Step::Forget),
        user.clone().prop_map(Step::Edit),
        user.clone().prop_map(Step::Search),
        user.clone().prop_map(Step::Prompt),
        user.prop_map(Step::RemoveIndex),
    ]
}

const USERS: [&str; 3] = ["ann", "ann-", "bob"];

/// Every private text has the mark of its user; whatever one user sees has no mark of another.
fn check_privacy(home: &TestHome, user: usize) {
    for is_shared in [false, true] {
        let store = home.store_of("bot", USERS[user], is_shared);
        let mut seen = found(&store, "secret");
        seen.extend(listed(&store));
        seen.push(prompt(&store, "secret"));
        for (other, _) in USERS.iter().enumerate().filter(|(other, _)| *other != user) {
            let mark = format!("mark{other}");
            assert!(seen.iter().all(|text| !text.contains(&mark)), "{user} {other}: {seen:?}");
            let found = found(&store, &mark);
            assert!(found.is_empty(), "{found:?}");
        }
        let index = home.index(USERS[user]);
        let bytes = fs::read(&index).unwrap_or_default();
        for (other, _) in USERS.iter().enumerate().filter(|(other, _)| *other != user) {
            let mark = format!("mark{other}");
            assert!(!bytes.windows(mark.len()).any(|part| part == mark.as_bytes()), "in the index");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn private_memories_are_hidden_from_other_users(steps in proptest::collection::vec(step(), 1..14)) {
        let home = TestHome::new();
        for (at, step) in steps.iter().enumerate() {
            let secret = |user: usize| draft(&format!("secret mark{user} number{at}"));
            let first = |user: usize| {
                let (entries, _) = home.store(USERS[user]).list().unwrap();
                entries.into_iter().next().map(|entry| (entry.id, entry.user))
            };
            match *step {
                Step::Teach(user) => drop(home.store(USERS[user]).teach(&secret(user), NOW).unwrap()),
                Step::Remember(user, shares) => {
                    let store = home.store_of("bot", USERS[user], shares);
                    drop(store.remember(&secret(user), NOW).unwrap());
                }
                Step::Add(user) => drop(home.store(USERS[user]).add(&draft("secret of all"), NOW)),
                Step::Forget(user) => {
                    if let Some((id, _)) = first(user) {
                        home.store(USERS[user]).forget(&id).unwrap();
                    }
                }
                Step::Edit(user) => {
                    if let Some((id, Some(_))) = first(user) {
                        let text = secret(user).text;
                        home.store(USERS[user]).replace_text(&id, &text).unwrap();
                    }
                }
                Step::Search(user) | Step::Prompt(user) => check_privacy(&home, user),
                Step::RemoveIndex(user) => drop(fs::remove_file(home.index(USERS[user]))),
            }
        }
        (0..USERS.len()).for_each(|user| check_privacy(&home, user));
    }
}
