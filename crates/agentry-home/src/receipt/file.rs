//! The receipts on the disk.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::{Map, Value};

use super::body_text;
use super::sealing::SealedText;
use crate::layout::HomeLayout;

/// The most bytes of a receipt.
pub(super) const MOST_BYTES: u64 = 1024 * 1024;

/// A receipt, as it lies on the disk. Nothing about it is verified.
#[derive(Debug, Clone)]
pub struct ReceiptFile {
    /// Its file.
    pub path: PathBuf,
    /// Its id, as the name of its file has it.
    pub id: String,
    /// The run, as its directory has it.
    pub run: String,
    /// Its text, or why it cannot be read.
    pub text: Result<String, String>,
    /// Its fields without the seal; `None` if they are not as this program writes them.
    pub fields: Option<Map<String, Value>>,
}

impl ReceiptFile {
    fn read(path: PathBuf, id: String, run: String) -> Self {
        let text = read_bounded(&path);
        let body = text.as_ref().ok().and_then(|text| SealedText::split(text));
        let fields = body.and_then(|sealed| body_text::read(sealed.body));
        Self { path, id, run, text, fields }
    }

    /// A field by its path, such as `task/outcome/status`.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&Value> {
        let mut names = path.split('/');
        let first = self.fields.as_ref()?.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name))
    }

    /// A text field by its path; empty if there is none.
    #[must_use]
    pub fn text_field(&self, path: &str) -> &str {
        self.field(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// By the second in which it was written, then by its place in its chain.
    fn order(&self) -> (String, String, Option<u64>, String) {
        let second: String = self.id.chars().take("rcpt_20261115_150033".len()).collect();
        let count = self.field("count").and_then(Value::as_u64);
        (second, self.text_field("session/agent_id").to_owned(), count, self.id.clone())
    }

    /// Whether it is a receipt of this agent: of its chain, its identifier, its name or its path.
    #[must_use]
    pub fn is_of(&self, agent: &str) -> bool {
        let chain = self.text_field("session/agent_id");
        let given = agent.trim_end_matches('/');
        let path = self.text_field("agent/path").trim_end_matches('/');
        let absolute = std::path::absolute(given).unwrap_or_default();
        [chain, chain.split('~').next().unwrap_or_default(), self.text_field("agent/name"), path]
            .contains(&given)
            || (!path.is_empty() && Path::new(path) == absolute)
    }
}

/// All receipts of a home, by id.
#[must_use]
pub fn receipt_files(layout: &HomeLayout) -> Vec<ReceiptFile> {
    let runs = names(&layout.runs());
    let files = runs.into_par_iter().flat_map_iter(|run| {
        let directory = layout.receipts(&run);
        let receipt = |name: String| {
            let id = name.strip_suffix(".yaml").filter(|id| id.starts_with("rcpt_"))?;
            Some(ReceiptFile::read(directory.join(&name), id.to_owned(), run.clone()))
        };
        names(&directory).into_iter().filter_map(receipt).collect::<Vec<_>>()
    });
    let mut files: Vec<_> = files.collect();
    files.sort_by_cached_key(ReceiptFile::order);
    files
}

/// The receipts of one run.
pub(super) fn receipts_of(layout: &HomeLayout, run: &str) -> Vec<String> {
    let is_receipt =
        |name: &String| name.starts_with("rcpt_") && name.strip_suffix(".yaml").is_some();
    names(&layout.receipts(run)).into_iter().filter(is_receipt).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Reads a regular file of bounded size.
fn read_bounded(path: &Path) -> Result<String, String> {
    let found = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if found.len() > MOST_BYTES {
        return Err("it is larger than 1 MiB".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}
