//! Benchmarks: ratios that are measured side by side in one run, so that they mean the same on any
//! machine. `cargo xtask bench` runs them; a missed target ends with exit code 1.
//!
//! Each section measures one thing and prints its table when it is done. One that cannot be measured does not
//! stop the others.

mod channels;
mod corpus;
mod engine;
mod growing;
mod guard;
mod importing;
mod javascript;
mod locking;
mod measure;
mod memory;
mod policy;
#[path = "../../crates/agentry-engine/tests/postgres_server/mod.rs"]
mod postgres_server;
mod program;
mod pulling;
mod receipts;
mod reference;
mod render;
mod report;
mod running;
mod sandbox;
mod screen;
mod servers;
mod serving;
mod targets;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use corpus::{Corpus, Kind};
use report::Table;

/// A part of the measurements that can be run alone.
struct Section {
    name: &'static str,
    /// What it measures, for the list of commands.
    what: &'static str,
    measure: fn(&Bench, &mut Table) -> Result<(), String>,
}

/// What a section measures with: the program and an empty folder of its own.
struct Bench<'program> {
    program: &'program OnceCell<PathBuf>,
    folder: PathBuf,
}

impl Bench<'_> {
    /// The optimised program, built on the first use.
    fn program(&self) -> Result<&Path, String> {
        if self.program.get().is_none() {
            let _ = self.program.set(program::build()?);
        }
        self.program.get().map(PathBuf::as_path).ok_or_else(|| "no program".to_owned())
    }

    fn corpus(&self, name: &str, count: usize, kind: Kind) -> Result<Corpus, String> {
        Corpus::write(&self.folder.join(name), count, kind)
    }
}

const SECTIONS: &[Section] = &[
    section("check", "reading and checking many agents, and starting the program", check),
    section("channels", "the start of what was installed by npm", |bench, table| {
        channels::starting(bench.program()?, &bench.folder, table)
    }),
    section("lock", "locking and the store", |bench, table| {
        let inherited = bench.corpus("inherited", 1_000, Kind::Inherited)?;
        locking::locking(bench.program()?, &inherited, table)?;
        locking::storing(bench.program()?, &inherited, &bench.folder, table)
    }),
    section("pull", "a pull from a registry", |bench, table| {
        pulling::pulling(bench.program()?, &bench.folder, table)
    }),
    section("render", "rendering", |bench, table| {
        render::rendering(bench.program()?, &bench.folder, table)
    }),
    section("import", "importing agents and rendering them", |bench, table| {
        importing::importing(bench.program()?, &bench.folder, table)
    }),
    section("guard", "an answer of the guard", |bench, table| {
        guard::guarding(bench.program()?, &bench.folder, table)
    }),
    section("run", "running, against the real clients", |bench, table| {
        running::racing(table)?;
        growing::growing(bench.program()?, &bench.folder, table)
    }),
    section("screen", "the screen of a run", |bench, table| {
        screen::screen(bench.program()?, &bench.folder, table)
    }),
    section("policy", "verdicts and comparisons of policies", |_, table| {
        policy::verdicts(table);
        policy::comparisons(table);
        Ok(())
    }),
    section("sandbox", "confined commands", |_, table| sandbox::confining(table)),
    section("javascript", "JavaScript tools", |_, table| javascript::calling(table)),
    section("memory", "the search in memories", |bench, table| {
        memory::recalling(&bench.folder, table)
    }),
    section("receipts", "receipts and schedules", |bench, table| {
        receipts::chaining(&bench.folder, table)?;
        receipts::scheduling(bench.program()?, &bench.folder, table)
    }),
    section("servers", "MCP servers", |bench, table| {
        servers::serving(bench.program()?, &bench.folder, table)
    }),
    section("serve", "`agentry serve`", |bench, table| {
        serving::measuring(bench.program()?, &bench.folder, table)
    }),
    section("engine", "runs on a Postgres engine", |bench, table| {
        engine::measuring(bench.program()?, &bench.folder, table)
    }),
];

const fn section(
    name: &'static str,
    what: &'static str,
    measure: fn(&Bench, &mut Table) -> Result<(), String>,
) -> Section {
    Section { name, what, measure }
}

fn check(bench: &Bench, table: &mut Table) -> Result<(), String> {
    let program = bench.program()?;
    eprintln!("writing 1,000 and 10,000 agents");
    let small = bench.corpus("small", 1_000, Kind::Mixed)?;
    let large = bench.corpus("large", 10_000, Kind::Mixed)?;
    let manifests = bench.corpus("manifests", 1_000, Kind::Manifests)?;
    targets::checking(program, &small, &large, table)?;
    targets::reference(program, (&small, &manifests), &bench.folder, table)?;
    targets::starting(program, &small, table)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["corpus", count, dir] => write_corpus(count, Path::new(dir)),
        // This program is also a worker, and the helper of the sandbox.
        [agentry_javascript::WORKER] => return agentry_javascript::serve().into(),
        [agentry_sandbox::HELPER] => return agentry_sandbox::serve().into(),
        [servers::SERVER, start] => servers::serve(start),
        [measure::CHILD, program, arguments @ ..] => measure::child(program, arguments),
        names => chosen(names).and_then(|sections| measure_all(&sections)),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The named sections, or all if no name is given.
fn chosen(names: &[&str]) -> Result<Vec<&'static Section>, String> {
    if names.is_empty() {
        return Ok(SECTIONS.iter().collect());
    }
    let find = |name: &&str| SECTIONS.iter().find(|section| section.name == *name).ok_or_else(usage);
    names.iter().map(find).collect()
}

fn usage() -> String {
    let lines = SECTIONS.iter().map(|it| format!("  {:<17}measures {}\n", it.name, it.what));
    let sections: String = lines.collect();
    format!(
        "usage: cargo xtask bench [SECTION...]\n\n  (nothing)        measures everything; 1 if a target is missed\n\
         {sections}  corpus COUNT DIR writes the agents that are measured, for a profiler"
    )
}

/// Measures sections one after the other; returns whether every target was met.
fn measure_all(sections: &[&Section]) -> Result<bool, String> {
    let program = OnceCell::new();
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut is_met = true;
    for section in sections {
        let own = folder.path().join(section.name);
        std::fs::create_dir_all(&own).map_err(|error| format!("no folder: {error}"))?;
        let bench = Bench { program: &program, folder: own };
        let mut table = Table::default();
        let result = (section.measure)(&bench, &mut table);
        print!("\n{}\n{table}", section.name);
        if let Err(message) = &result {
            println!("FAILED: {}: {message}", section.name);
        }
        is_met &= result.is_ok() && table.is_met();
    }
    Ok(is_met)
}

fn write_corpus(count: &str, dir: &Path) -> Result<bool, String> {
    let count = count.parse().map_err(|_| format!("`{count}` is not a number of agents"))?;
    let corpus = Corpus::write(dir, count, Kind::Together)?;
    println!("{} files, {} bytes", corpus.files.len(), corpus.bytes);
    Ok(true)
}
