//! The guard's look at protected files before and after a call. A command that merely could touch them, such as
//! `git pull`, is not asked about. If it did change one, every further call in the workspace is denied until
//! a person has looked.
//!
//! ```text
//! $AGENTRY_HOME/guard/<workspace>/
//!   before-<call>.json   what the protected files were before a call that has not ended
//!   changed.json         what calls have changed; removed by `agentry guard … --accept`
//! ```

use agentry_posix::unix::fs::DirBuilderExt as _;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agentry_compile::text::digest::sha256;
use agentry_compile::text::report::visible;
use serde_json::Value;

/// The most files that are looked at.
const MOST_FILES: usize = 5_000;
/// Of a larger file, only size and time are compared.
const MOST_BYTES: u64 = 4 << 20;
/// A look before a call that never ended, for example because the user refused it.
const OLD: Duration = Duration::from_hours(24);
/// Paths of the workspace that harnesses and Agentry change by themselves.
const OTHERS_WRITE: &[&str] = &[".agentry", ".opencode/node_modules"];
/// Settings to which Claude Code adds the answers of its user. Hooks, modes and denials in them count; the
/// answers do not, because they cannot overrule the hook of the guard.
const WITH_ANSWERS: &str = ".claude/settings.local.json";

/// Protected files, each with what it holds.
type SeenFiles = BTreeMap<String, String>;

/// The looks at the protected files of one workspace.
pub struct GuardLook {
    workspace: PathBuf,
    /// Agentry's own directory, which may lie in the workspace.
    home: PathBuf,
    directory: PathBuf,
}

impl GuardLook {
    /// The looks at this workspace, which must be a real path.
    pub fn new(home: &Path, workspace: &str) -> Self {
        let name = sha256(workspace);
        let name = name.get(..32).unwrap_or(&name);
        let directory = home.join("guard").join(name);
        Self { workspace: workspace.into(), home: home.to_owned(), directory }
    }

    /// Why every call is denied: an earlier one changed protected files.
    pub fn blocked(&self) -> Option<String> {
        let changed = self.changed();
        (!changed.is_empty()).then(|| {
            format!(
                "a call changed protected files ({}); look at them, then run `agentry guard HARNESS \
                 AGENT --accept`",
                listed(&changed)
            )
        })
    }

    /// Remembers the protected files before a call.
    pub fn before(&self, call: &str, protected: &[String]) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        self.sweep();
        let seen = serde_json::to_vec(&self.seen(protected))?;
        fs::write(self.file(call), seen)
    }

    /// Returns the protected files that a call has changed, and blocks all further calls if there are any.
    pub fn after(&self, call: &str, protected: &[String]) -> io::Result<Vec<String>> {
        let file = self.file(call);
        let before: SeenFiles = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            // Nothing is known about a call that the guard was not asked about.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let now = self.seen(protected);
        let paths = before.keys().chain(now.keys());
        let mut changed: Vec<String> =
            paths.filter(|path| before.get(*path) != now.get(*path)).cloned().collect();
        changed.sort();
        changed.dedup();
        if !changed.is_empty() {
            let mut all = self.changed();
            all.extend(changed.iter().cloned());
            all.sort();
            all.dedup();
            fs::write(self.directory.join("changed.json"), serde_json::to_vec(&all)?)?;
        }
        fs::remove_file(file)?;
        Ok(changed)
    }

    /// Lets calls through again; returns what they had changed.
    pub fn accept(&self) -> io::Result<Vec<String>> {
        let changed = self.changed();
        match fs::remove_file(self.directory.join("changed.json")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(changed),
        }
    }

    fn changed(&self) -> Vec<String> {
        let path = self.directory.join("changed.json");
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| vec!["the list of them cannot be read".to_owned()]),
            Err(_) => Vec::new(),
        }
    }

    /// The file of a call. Its name comes from the harness, so only its digest is used.
    fn file(&self, call: &str) -> PathBuf {
        let name = sha256(call);
        self.directory.join(format!("before-{}.json", name.get(..32).unwrap_or(&name)))
    }

    /// Removes looks before calls that never ended.
    fn sweep(&self) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        for entry in entries {
            let is_look = entry.file_name().to_string_lossy().starts_with("before-");
            let changed = entry.metadata().and_then(|found| found.modified());
            let age = changed.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
            if is_look && age.is_some_and(|age| age > OLD) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// What the protected files of the workspace are now. Links are not followed.
    fn seen(&self, protected: &[String]) -> SeenFiles {
        let mut seen = SeenFiles::new();
        let hooks = self.workspace.join(".git/hooks");
        let mut open: Vec<PathBuf> = protected.iter().map(PathBuf::from).chain([hooks]).collect();
        open.retain(|path| path.starts_with(&self.workspace));
        while let Some(path) = open.pop() {
            let below = path.strip_prefix(&self.workspace).unwrap_or(&path);
            let by_others = OTHERS_WRITE.iter().any(|other| below.starts_with(other));
            if by_others || path.starts_with(&self.home) || seen.len() >= MOST_FILES {
                continue;
            }
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if found.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()));
                continue;
            }
            let held = if below.ends_with(WITH_ANSWERS) && found.is_file() {
                held_settings(&path, &found)
            } else {
                Some(held(&path, &found))
            };
            seen.extend(held.map(|held| (below.to_string_lossy().into_owned(), held)));
        }
        seen
    }
}

/// What a file holds, in a few letters.
fn held(path: &Path, found: &fs::Metadata) -> String {
    if found.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return format!("link {}", target.display());
    }
    if found.len() > MOST_BYTES {
        return format!("{} bytes, {:?}", found.len(), found.modified().ok());
    }
    fs::read(path).map_or_else(|error| error.to_string(), sha256)
}

/// What settings hold without the answers of the user; `None` if that is nothing.
fn held_settings(path: &Path, found: &fs::Metadata) -> Option<String> {
    let whole = || Some(held(path, found));
    let bytes = fs::read(path).ok().filter(|bytes| bytes.len() as u64 <= MOST_BYTES);
    let settings = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(Value::Object(mut settings)) = settings else { return whole() };
    if let Some(Value::Object(permissions)) = settings.get_mut("permissions") {
        permissions.remove("allow");
        permissions.remove("additionalDirectories");
        if permissions.is_empty() {
            settings.remove("permissions");
        }
    }
    let text = Value::Object(settings.clone()).to_string();
    (!settings.is_empty()).then(|| sha256(text))
}

/// The first paths, for a message.
pub fn listed(paths: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> =
        paths.iter().take(SHOWN).map(|path| format!("`{}`", visible(path))).collect();
    match paths.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", shown.join(", ")),
        None => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change<'a> = (&'a str, &'a dyn Fn(&Path), &'a [&'a str]);

    #[test]
    fn a_changed_file_blocks_until_a_person_accepts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = root.join("w");
        fs::create_dir_all(workspace.join("agents/a")).unwrap();
        fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
        fs::write(workspace.join("agents/a/agent.toml"), "a").unwrap();
        let look = GuardLook::new(&root.join("home"), workspace.to_str().unwrap());
        let protected: Vec<String> =
            ["agents/a", "agentry.toml", ".agentry", ".claude", "/etc/hosts"]
                .map(|path| workspace.join(path).to_str().unwrap().to_owned())
                .to_vec();
        let write = |path: &'static str, text: &'static str| {
            move |workspace: &Path| {
                let path = workspace.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        };
        let local = ".claude/settings.local.json";
        let cases: [Change<'_>; 12] = [
            ("nothing", &|_| {}, &[]),
            ("the same again", &write("agents/a/agent.toml", "a"), &[]),
            ("another file", &write("src/main.rs", "x"), &[]),
            ("what others write", &write(".agentry/cache", "x"), &[]),
            ("an answer", &write(local, r#"{"permissions": {"allow": ["Bash(ls)"]}}"#), &[]),
            ("another answer", &write(local, r#"{"permissions": {"allow": ["Bash"]}}"#), &[]),
            ("no hooks", &write(local, r#"{"disableAllHooks": true}"#), &[local]),
            (
                "a mode",
                &write(local, r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#),
                &[local],
            ),
            ("no JSON", &write(local, "{"), &[local]),
            ("changed", &write("agents/a/agent.toml", "b"), &["agents/a/agent.toml"]),
            ("created", &write("agentry.toml", ""), &["agentry.toml"]),
            ("a hook", &write(".git/hooks/pre-commit", "x"), &[".git/hooks/pre-commit"]),
        ];
        for (name, change, expected) in cases {
            look.before("call", &protected).unwrap();
            change(&workspace);
            assert_eq!(look.after("call", &protected).unwrap(), expected, "{name}");
            assert_eq!(look.blocked().is_some(), !expected.is_empty(), "{name}");
            // A second look at the same call knows nothing.
            assert_eq!(look.after("call", &protected).unwrap(), [""; 0], "{name}");
            assert_eq!(look.accept().unwrap(), expected, "{name}");
            assert_eq!(look.blocked(), None, "{name}");
        }
        // Calls at the same time are told apart.
        look.before("one", &protected).unwrap();
        fs::remove_file(workspace.join("agentry.toml")).unwrap();
        look.before("two", &protected).unwrap();
        assert_eq!(look.after("two", &protected).unwrap(), [""; 0]);
        assert_eq!(look.after("one", &protected).unwrap(), ["agentry.toml"]);
        // A damaged list still blocks.
        fs::write(look.directory.join("changed.json"), "nonsense").unwrap();
        assert!(look.blocked().is_some());
    }
}
