//! Measures `recall` over 100,000 memories, compared with `grep -r` over the same files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agentry_home::HomeLayout;
use agentry_home::memory::{MemoryPlaces, MemoryStore, RefreshEffort};
use agentry_home::user::UserName;

use crate::measure::{median, medians, quiet};
use crate::report::{Row, Table, seconds};

const MEMORIES: usize = 100_000;
const ROUNDS: usize = 50;
/// How long a file system may give two changes the same time: until then an index looks at every file.
const SETTLED: Duration = Duration::from_secs(3);

/// The search of the tool `recall`, with one rare word, with common words, and with a whole sentence.
pub(crate) fn recalling(folder: &Path, table: &mut Table) -> Result<(), String> {
    eprintln!("writing {MEMORIES} memories");
    let layout = HomeLayout::new(folder.join("memory-home"));
    let user = UserName::new("bench").map_err(|error| error.to_string())?;
    let directory = layout.user_memory(user.as_str(), "bot");
    write_memories(&directory)?;
    let store = MemoryStore::new(&MemoryPlaces {
        layout,
        id: "bot".to_owned(),
        directory: None,
        is_installed: false,
        user,
        is_shared: false,
    });
    eprintln!("indexing them");
    let start = Instant::now();
    recall(&store, "word1")?;
    table.note(format!("the first search indexes {MEMORIES} memories: {}", seconds(start.elapsed())));
    std::thread::sleep(SETTLED);
    recall(&store, "word1")?;
    let pattern = "word17321";
    let grep = quiet("grep", ["-r".as_ref(), pattern.as_ref(), directory.as_os_str()]);
    let [grep] = medians(3, [grep])?;
    let queries = [
        ("a rare word", pattern.to_owned()),
        ("a word of all", "memory".to_owned()),
        ("a sentence", (0..24).map(|at| format!("word{} ", at * at * 7)).collect()),
    ];
    for (name, query) in queries {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            recall(&store, &query)?;
            times.push(start.elapsed());
        }
        let time = median(times);
        let ratio = time.as_secs_f64() / grep.as_secs_f64();
        table.add(Row {
            what: format!("recall {name} among {MEMORIES} memories / grep -r"),
            measured: format!("{} to {}", seconds(time), seconds(grep)),
            ratio: format!("{ratio:.3}"),
            target: "< 20 ms and ≤ 0.05".to_owned(),
            is_met: time.as_millis() < 20 && ratio <= 0.05,
        });
    }
    Ok(())
}

fn recall(store: &MemoryStore, query: &str) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let found = store.search(query, 10, RefreshEffort::Bounded, now);
    match found.map_err(|error| error.to_string())?.is_empty() {
        false => Ok(()),
        true => Err(format!("nothing was found for `{query}`")),
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is between 0 and 1"
)]
/// Memories of 30 words each. A word is the rarer the higher its number, as in a language.
fn write_memories(directory: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    fs::create_dir_all(directory).map_err(failed)?;
    let mut random: u64 = 1;
    for at in 0..MEMORIES {
        let mut text = format!(
            "---\ntype: fact\nimportance: medium\ncreated: \"2026-01-{:02}T10:30:00Z\"\nsource: interaction\n---\n\n\
             memory word{}",
            at % 28 + 1,
            at % 20_000
        );
        for _ in 0..30 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The square of a number below 1 is small more often than large.
            let share = (random >> 40) as f64 / f64::from(1_u32 << 24);
            let word = (share.powi(4) * 20_000.0) as u32;
            let _ = write!(text, " word{word}");
        }
        text.push('\n');
        fs::write(directory.join(format!("{at:06}.md")), text).map_err(failed)?;
    }
    Ok(())
}
