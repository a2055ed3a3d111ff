//! Measures the start of the program and `check`, with the target of each ratio.

use std::path::Path;
use std::time::Duration;

use crate::corpus::Corpus;
use crate::measure::{medians, peak_memory, quiet};
use crate::program::confirm;
use crate::reference::Reference;
use crate::report::{Row, Table, bytes, seconds};

/// The memory limit of a check, in bytes.
const MEMORY: u64 = 100_000_000;
/// A program that does nothing.
const NOTHING: &str = "/bin/true";

/// Checking many agents: compared with reading the same bytes, how it grows, and its memory.
pub(crate) fn checking(
    program: &Path,
    small: &Corpus,
    large: &Corpus,
    table: &mut Table,
) -> Result<(), String> {
    confirm(program, &small.dir, small.agents)?;
    confirm(program, &large.dir, large.agents)?;
    eprintln!("checking them");
    let check = |corpus: &Corpus| quiet(program, ["check".as_ref(), corpus.dir.as_os_str()]);
    let [few, cat] = medians(15, [check(small), quiet("cat", &small.files)])?;
    let what = format!("check {} agents / cat", small.agents);
    table.add(ratio(what, few, cat, "cat", 10.0));
    // Measured again beside the large corpus: only values of the same rounds are compared.
    let [few, many] = medians(7, [check(small), check(large)])?;
    let what = format!("check {} agents / {}", large.agents, small.agents);
    table.add(ratio(what, many, few, "agentry", 11.0));
    let memory = peak_memory(program, &large.dir)?;
    table.add(Row {
        what: format!("memory to check {} agents", large.agents),
        measured: bytes(memory),
        ratio: String::new(),
        target: format!("< {}", bytes(MEMORY)),
        is_met: memory < MEMORY,
    });
    table.note(cost(small, few));
    table.note(cost(large, many));
    Ok(())
}

/// Checking agents of all formats, and manifests alone, compared with the reference implementation of the
/// manifest format on as many manifests.
pub(crate) fn reference(
    program: &Path,
    (small, manifests): (&Corpus, &Corpus),
    folder: &Path,
    table: &mut Table,
) -> Result<(), String> {
    confirm(program, &manifests.dir, manifests.agents)?;
    eprintln!("installing the reference implementation of the manifest format");
    let reference = match Reference::install(folder) {
        Ok(reference) => reference,
        Err(why) => {
            table.skip(format!("check {} agents, manifests / reference", small.agents), why);
            return Ok(());
        }
    };
    let theirs = reference.load(&manifests.dir)?;
    let check = quiet(program, ["check".as_ref(), manifests.dir.as_os_str()]);
    let mixed = quiet(program, ["check".as_ref(), small.dir.as_os_str()]);
    let [ours, mixed] = medians(9, [check, mixed])?;
    let what = format!("check {} agents / reference", small.agents);
    table.add(ratio(what, mixed, theirs, "reference", 1.0 / 50.0));
    let what = format!("check {} manifests / reference", manifests.agents);
    table.add(ratio(what, ours, theirs, "reference", 1.0 / 50.0));
    Ok(())
}

/// Starting the program, compared with a program that does nothing.
pub(crate) fn starting(program: &Path, small: &Corpus, table: &mut Table) -> Result<(), String> {
    eprintln!("starting it");
    let file = small.files.iter().find(|path| path.extension().is_some_and(|end| end == "agent"));
    let file = file.ok_or("no agent of one file")?;
    let nothing = quiet(NOTHING, [""; 0]);
    let version = quiet(program, ["--version"]);
    let one = quiet(program, ["check".as_ref(), file.as_os_str()]);
    let [nothing, version, one] = medians(300, [nothing, version, one])?;
    table.add(ratio("--version / nothing".to_owned(), version, nothing, NOTHING, 3.0));
    table.add(ratio("check one agent / nothing".to_owned(), one, nothing, NOTHING, 5.0));
    Ok(())
}

pub(crate) fn ratio(what: String, ours: Duration, theirs: Duration, name: &str, most: f64) -> Row {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let shown = |ratio: f64| {
        // «1/50» reads better than «0.02».
        if ratio < 1.0 { format!("1/{:.0}", 1.0 / ratio) } else { format!("{ratio:.1}") }
    };
    Row {
        what,
        measured: format!("{} to {} of {name}", seconds(ours), seconds(theirs)),
        ratio: shown(ratio),
        target: format!("≤ {}", shown(most)),
        is_met: ratio <= most,
    }
}

fn cost(corpus: &Corpus, time: Duration) -> String {
    let count = u32::try_from(corpus.agents).unwrap_or(u32::MAX);
    let (files, size) = (corpus.files.len(), bytes(corpus.bytes));
    format!("{} agents in {files} files, {size}: {} each", corpus.agents, seconds(time / count))
}
