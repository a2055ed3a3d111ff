//! Writes a lock: one table an agent, one list item a line, in a fixed order. So branches that change
//! different agents or files merge without conflicts.

use std::fmt::Write as _;

use super::delegates;
use super::{FILE, LockedAgent, LockedServer, Lockfile, ServerPinLine, VERSION};
use crate::resolve::PlannedFile;

impl Lockfile {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        let mut out = format!(
            "# {FILE} pins what the agents of this workspace are. `agentry lock` writes it; commit it.\n\
             version = {VERSION}\n"
        );
        for section in self.sections.values() {
            out.push('\n');
            out.push_str(&section.text);
        }
        out
    }
}

/// The table of one agent.
pub(super) fn section(key: &str, locked: &LockedAgent) -> String {
    // No `..`: a new field of the entry must be written here or it does not compile.
    let LockedAgent {
        name,
        format,
        digest,
        bases,
        files,
        base_files,
        models,
        skills,
        policy_digest,
        policy,
        servers,
        delegates,
    } = locked;
    let mut out = format!("[agents.{}]\n", quoted(key));
    if servers.is_none() {
        out.push_str("version = 0\n");
    }
    let _ = writeln!(out, "name = {}", quoted(name));
    let _ = writeln!(out, "format = {}", quoted(format.as_str()));
    let _ = writeln!(out, "digest = {}", quoted(digest));
    list(&mut out, "bases", bases, |base| quoted(base));
    list(&mut out, "files", files, file);
    list(&mut out, "base_files", base_files, file);
    list(&mut out, "models", models, |model| quoted(model));
    list(&mut out, "skills", skills, |(name, found)| quoted(&format!("{name}: {found}")));
    let _ = writeln!(out, "policy_digest = {}", quoted(policy_digest));
    list(&mut out, "policy", policy, |line| quoted(line));
    list(&mut out, "servers", servers.as_deref().unwrap_or_default(), server);
    list(&mut out, "delegates", delegates, delegates::text);
    out
}

fn list<T>(out: &mut String, key: &str, items: &[T], text: impl Fn(&T) -> String) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "{key} = [");
    for item in items {
        let _ = writeln!(out, "  {},", text(item));
    }
    out.push_str("]\n");
}

fn file(PlannedFile { path, digest }: &PlannedFile) -> String {
    quoted(&format!("{path} {digest}"))
}

fn server(server: &LockedServer) -> String {
    let LockedServer { name, command, args, url, env, headers, pins } = server;
    let mut fields = vec![format!("name = {}", quoted(name))];
    fields.extend(command.iter().map(|command| format!("command = {}", quoted(command))));
    fields.extend(names("args", args));
    fields.extend(url.iter().map(|url| format!("url = {}", quoted(url))));
    fields.extend(names("env", env));
    fields.extend(names("headers", headers));
    if let Some(pins) = pins {
        let line = |ServerPinLine { what, digest }: &ServerPinLine| format!("{what} {digest}");
        fields.extend(names("pins", &pins.iter().map(line).collect::<Vec<_>>()));
    }
    format!("{{ {} }}", fields.join(", "))
}

pub(super) fn names(key: &str, items: &[String]) -> Option<String> {
    let all: Vec<_> = items.iter().map(|item| quoted(item)).collect();
    (!all.is_empty()).then(|| format!("{key} = [{}]", all.join(", ")))
}

/// A text as a TOML string on one line. Characters that a terminal or editor does not show are escaped.
pub(super) fn quoted(text: &str) -> String {
    // Fast path: most texts need no escapes.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        return format!("\"{text}\"");
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            char if char.is_control() || is_hidden(char) => {
                let _ = write!(out, "\\U{:08X}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

/// Whether a character is invisible but changes how others are shown.
fn is_hidden(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
