//! `agentry config`: shows the settings in force and the file that each comes from.

use std::fmt::Write as _;
use std::path::Path;

use agentry_compile::text::path::join;
use agentry_compile::text::report::visible;
use agentry_compile::{EffectiveSetting, FileTree as _, World as _, effective_settings};
use serde_json::{Value, json};

use crate::args::{ConfigArguments, ResultFormat, milliseconds};
use crate::command::reported;
use crate::disk::DiskWorld;
use crate::output::{CliOutcome, ExitKind, columns, print, print_json};

/// A file that settings may come from.
struct SettingsSource {
    whose: &'static str,
    path: String,
    exists: bool,
}

pub(crate) fn run(args: &ConfigArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let root = disk.workspace("");
    let time = |text: &str| milliseconds(text).ok();
    let settings = effective_settings(&disk, &root, &time).map_err(|(findings, sources)| {
        reported(&findings, &sources, "a configuration has errors")
    })?;
    let files = files(&disk, &root);
    match args.format {
        ResultFormat::Human => print(&human(&files, &settings)),
        ResultFormat::Json => print_json(&to_json(&files, &settings)),
    }
    Ok(ExitKind::Done)
}

fn files(disk: &DiskWorld, root: &str) -> Vec<SettingsSource> {
    let file = |whose, path: String| {
        let exists = Path::new(&path).exists();
        SettingsSource { whose, path, exists }
    };
    let user = disk.machine().user_config.clone().map(|path| file("user", path));
    user.into_iter().chain([file("workspace", join(root, "agentry.toml"))]).collect()
}

fn human(files: &[SettingsSource], settings: &[EffectiveSetting]) -> String {
    let file = |it: &SettingsSource| {
        let missing = if it.exists { "" } else { " (does not exist)" };
        vec![it.whose.to_owned(), format!("{}{missing}", visible(&it.path))]
    };
    let mut out = columns(&files.iter().map(file).collect::<Vec<_>>());
    let _ = write!(out, "\n{}", columns(&settings.iter().map(row).collect::<Vec<_>>()));
    out
}

fn row(setting: &EffectiveSetting) -> Vec<String> {
    let place = match &setting.place {
        Some((path, line)) => format!("{path}:{line}"),
        None => setting.origin.as_str().to_owned(),
    };
    let unused = if setting.counts { "" } else { " (not used: the other one is stricter)" };
    let value = setting.value.as_str().map_or_else(|| setting.value.to_string(), str::to_owned);
    [&setting.name, &value, &format!("{place}{unused}")]
        .map(|cell| visible(cell).into_owned())
        .to_vec()
}

fn to_json(files: &[SettingsSource], settings: &[EffectiveSetting]) -> Value {
    let file =
        |it: &SettingsSource| json!({"origin": it.whose, "path": it.path, "exists": it.exists});
    let setting = |it: &EffectiveSetting| {
        json!({
            "name": it.name,
            "value": it.value,
            "origin": it.origin.as_str(),
            "path": it.place.as_ref().map(|(path, _)| path),
            "line": it.place.as_ref().map(|(_, line)| line),
            "counts": it.counts,
        })
    };
    json!({
        "files": files.iter().map(file).collect::<Vec<_>>(),
        "settings": settings.iter().map(setting).collect::<Vec<_>>(),
    })
}
