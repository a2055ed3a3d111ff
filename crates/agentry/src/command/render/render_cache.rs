//! Caches the last run that had nothing to do: its inputs and its output. If all inputs are unchanged,
//! the output is printed again and nothing is rendered.
//!
//! The cache lies in the user's cache directory, never in a project. It is sealed with a key from Agentry's
//! home: a cache that is foreign or incomplete only causes a full render.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use agentry_compile::text::digest::{hex, sha256};
use agentry_compile::{AnswerRecord, FileTree as _, is_unchanged};
use serde_json::Value;

use crate::args::RenderArguments;
use crate::disk::DiskWorld;
use crate::home::agentry_home;
use crate::registries::signature_option;
use crate::save;

use super::disk_view;

/// The file of the key, in Agentry's home.
const KEY: &str = "render.key";
/// The most cached runs.
const MOST: usize = 100;

/// The cache entry of one command line in one directory.
#[derive(Debug)]
pub(super) struct RenderCache {
    path: PathBuf,
    /// The version of the program and the arguments.
    head: String,
    key: String,
}

impl RenderCache {
    /// The cache entry of a run, if there is a cache.
    pub(super) fn of(disk: &DiskWorld, args: &RenderArguments) -> Option<Self> {
        let wish = format!("{} {}", disk.absolute(""), wish(args));
        let program = std::env::current_exe().and_then(fs::metadata).ok()?;
        // Size and time too: a development build changes without its version.
        let (version, size) = (env!("CARGO_PKG_VERSION"), program.len());
        let head = format!("agentry {version} {size} {:?} {wish:?}", program.modified().ok()?);
        let path = cache()?.join("render").join(sha256(wish.as_bytes()));
        Some(Self { path, head, key: key()? })
    }

    /// The output of the last run, if all its inputs are unchanged.
    pub(super) fn unchanged(&self, disk: &DiskWorld) -> Option<String> {
        let text = fs::read_to_string(&self.path).ok()?;
        let (seal, rest) = text.split_once('\n')?;
        // Checked before anything of the file is parsed.
        if seal != self.seal(rest) {
            return None;
        }
        let mut lines = rest.lines();
        let head = lines.next()?;
        let cached_answer = serde_json::from_str(lines.next()?).ok()?;
        let asked = |line: &str| {
            let (answer, question) = line.split_once(' ')?;
            Some((question.to_owned(), answer.to_owned()))
        };
        let record: AnswerRecord = lines.map(asked).collect::<Option<_>>()?;
        let same = head == self.head && is_unchanged(disk, &record, &disk_view::again);
        same.then_some(cached_answer)
    }

    /// Caches a run that had nothing to do.
    pub(super) fn store(&self, record: &AnswerRecord, cached_answer: &str) {
        // A record has one line for each question; a question with a line break cannot be stored.
        if record.is_empty() || record.keys().any(|question| question.contains(['\n', '\r'])) {
            return;
        }
        let Some(dir) = self.path.parent().filter(|dir| fs::create_dir_all(dir).is_ok()) else {
            return;
        };
        let mut rest = format!("{}\n{}\n", self.head, Value::from(cached_answer));
        for (question, answer) in record {
            rest.extend([answer, " ", question, "\n"]);
        }
        let text = format!("{}\n{rest}", self.seal(&rest));
        forget_old(dir);
        // A home that is itself a workspace must not find this file in a search for agents.
        let ignore = dir.with_file_name(".gitignore");
        let hidden = ignore.exists() || fs::write(ignore, "*\n").is_ok();
        if let Some(path) = self.path.to_str().filter(|_| hidden) {
            let _ = save::replace(path, text.as_bytes());
        }
    }

    /// The seal of a text: it cannot be forged without the key.
    fn seal(&self, text: &str) -> String {
        // Hashed twice with the key, as in HMAC: a plain hash could be extended without the key.
        let inner = sha256(format!("{}\ninner\n{text}", self.key).as_bytes());
        sha256(format!("{}\nouter\n{inner}", self.key).as_bytes())
    }
}

/// All arguments that change the result, as text.
fn wish(args: &RenderArguments) -> String {
    // No `..`: the compiler then demands that a new option is added here.
    let RenderArguments {
        agents,
        targets,
        output,
        scope,
        check,
        dry_run,
        watch,
        strict,
        explain,
        verbose,
        quiet,
        guard,
        no_guard,
        close_gaps,
        no_close_gaps,
        unattended,
        no_unattended,
        shared,
        accept,
        force,
        format_override,
        format,
    } = args;
    let targets: Vec<&str> = targets.iter().map(|target| target.name).collect();
    let flags = [check, dry_run, watch, strict, explain, verbose, quiet, force];
    let wishes = [guard, no_guard, close_gaps, no_close_gaps, unattended, no_unattended, shared];
    format!(
        "{agents:?} {targets:?} {output:?} {scope:?} {flags:?} {wishes:?} {accept:?} {format_override:?} \
         {format:?} {:?}",
        signature_option()
    )
}

/// The user's cache: `$XDG_CACHE_HOME`, else `~/.cache`.
fn cache() -> Option<PathBuf> {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = given.filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    base.is_absolute().then(|| base.join("agentry"))
}

/// The key of this user on this machine, made if there is none.
fn key() -> Option<String> {
    let path = agentry_home()?.join(KEY);
    let is_key = |text: &String| text.len() == 64 && text.bytes().all(|c| c.is_ascii_hexdigit());
    if let Ok(text) = fs::read_to_string(&path) {
        return Some(text).filter(is_key);
    }
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).ok()?;
    let key = hex(&seed);
    fs::create_dir_all(path.parent()?).ok()?;
    let mut options = fs::OpenOptions::new();
    // If another process creates the key meanwhile, this run works without a cache.
    options.write(true).create_new(true);
    agentry_posix::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path).and_then(|mut file| file.write_all(key.as_bytes())).ok()?;
    Some(key)
}

/// Removes the entries that were unused for longest.
fn forget_old(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let aged = entries.filter_map(|it| Some((it.metadata().ok()?.modified().ok()?, it.path())));
    let mut all: Vec<_> = aged.collect();
    all.sort();
    let many = (all.len() + 1).saturating_sub(MOST);
    all.into_iter().take(many).for_each(|(_, path)| drop(fs::remove_file(path)));
}
