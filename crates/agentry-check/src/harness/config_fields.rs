//! AG7097, AG7098 and AG7100: fields, secrets and words in the settings files of harnesses.

use agentry_formats::mcp;
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, Span, TreeEntry, TreeMap, TreeNode, credentials, rules};

use super::{HarnessSubject, SettingsFile, servers};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        MISSPELT_SETTING: "AG7097",
        SETTINGS_SECRET: "AG7098",
        SETTING_VALUE: "AG7100",
    ]
}

/// The fields of one map of a settings file. Harnesses ignore every other name (OpenCode 1.18 and Codex 0.169
/// were tried on 2026-11-18) and new versions have new fields, so only a near miss is reported.
struct ConfigFields {
    /// The path of the map: the keys above it.
    path: &'static [&'static str],
    names: &'static [&'static str],
}

/// A field that takes one of a few words.
struct WordField {
    name: &'static str,
    words: &'static [&'static str],
    effect: &'static str,
}

// Tried with OpenCode 1.18.33 and Codex 0.169.0 on 2026-11-18.
const OPENCODE_REFUSES: &str = "OpenCode does not start with another word";
const CODEX_REFUSES: &str = "Codex does not start with another word";

const OPENCODE: &[ConfigFields] = &[ConfigFields {
    path: &[],
    names: &[
        "$schema",
        "theme",
        "keybinds",
        "logLevel",
        "tui",
        "server",
        "command",
        "watcher",
        "plugin",
        "snapshot",
        "share",
        "autoshare",
        "autoupdate",
        "disabled_providers",
        "enabled_providers",
        "model",
        "small_model",
        "default_agent",
        "username",
        "mode",
        "agent",
        "provider",
        "mcp",
        "formatter",
        "lsp",
        "instructions",
        "layout",
        "permission",
        "tools",
        "enterprise",
        "compaction",
        "experimental",
        "skills",
    ],
}];

const CLAUDE: &[ConfigFields] = &[
    ConfigFields {
        path: &[],
        names: &[
            "permissions",
            "hooks",
            "env",
            "model",
            "sandbox",
            "disableAllHooks",
            "apiKeyHelper",
            "statusLine",
            "outputStyle",
            "agent",
            "enabledPlugins",
            "enableAllProjectMcpServers",
            "enabledMcpjsonServers",
            "disabledMcpjsonServers",
        ],
    },
    ConfigFields {
        path: &["permissions"],
        names: &[
            "allow",
            "ask",
            "deny",
            "defaultMode",
            "additionalDirectories",
            "disableBypassPermissionsMode",
        ],
    },
];

const GEMINI: &[ConfigFields] = &[ConfigFields {
    path: &[],
    names: &[
        "mcpServers",
        "hooks",
        "tools",
        "model",
        "context",
        "security",
        "general",
        "agents",
        "experimental",
        "mcp",
        "privacy",
        "telemetry",
        "advanced",
        "policyPaths",
    ],
}];

const CODEX: &[ConfigFields] = &[ConfigFields {
    path: &[],
    names: &[
        "model",
        "model_provider",
        "model_providers",
        "approval_policy",
        "sandbox_mode",
        "sandbox_workspace_write",
        "mcp_servers",
        "agents",
        "profile",
        "profiles",
        "projects",
        "features",
        "web_search",
        "notify",
        "history",
        "model_reasoning_effort",
        "shell_environment_policy",
        "project_doc_max_bytes",
    ],
}];

const OPENCODE_WORDS: &[WordField] = &[
    WordField { name: "share", words: &["manual", "auto", "disabled"], effect: OPENCODE_REFUSES },
    WordField {
        name: "logLevel",
        words: &["DEBUG", "INFO", "WARN", "ERROR"],
        effect: OPENCODE_REFUSES,
    },
];

const CODEX_WORDS: &[WordField] = &[
    WordField {
        name: "approval_policy",
        // Codex 0.169 refuses `untrusted`, which earlier versions had.
        words: &["on-failure", "on-request", "never"],
        effect: CODEX_REFUSES,
    },
    WordField {
        name: "sandbox_mode",
        words: &["read-only", "workspace-write", "danger-full-access"],
        effect: CODEX_REFUSES,
    },
];

/// Checks the fields and the secrets of a settings file.
pub(super) fn check(
    subject: &HarnessSubject<'_>,
    file: SettingsFile,
    map: &TreeMap,
    findings: &mut Findings,
) {
    let (fields, words): (_, &[WordField]) = match file {
        SettingsFile::Opencode => (OPENCODE, OPENCODE_WORDS),
        SettingsFile::Claude => (CLAUDE, &[]),
        SettingsFile::Gemini => (GEMINI, &[]),
        SettingsFile::Codex => (CODEX, CODEX_WORDS),
        SettingsFile::GeminiPolicy => return,
    };
    for known in fields {
        let inner = known.path.iter().try_fold(map, |map, key| map.get(key)?.as_map());
        inner.into_iter().for_each(|map| names(known, map, findings));
    }
    words.iter().for_each(|field| word(field, map, findings));
    secrets(subject, map, findings);
}

fn names(known: &ConfigFields, map: &TreeMap, findings: &mut Findings) {
    for TreeEntry { key, .. } in &map.entries {
        let name = key.text.as_str();
        if known.names.contains(&name) || name.starts_with("x-") || name.starts_with('$') {
            continue;
        }
        // The right field beside it shows that this one is something else.
        let near =
            nearest(name, known.names.iter().copied()).filter(|near| map.get(near).is_none());
        let Some(near) = near else { continue };
        findings
            .add(&MISSPELT_SETTING, key.span, format!("there is no field `{name}`"))
            .hint(format!("did you mean `{near}`? the harness ignores other names"))
            .fix(Fix::word(format!("write `{near}`"), key.span, near));
    }
}

fn word(field: &WordField, map: &TreeMap, findings: &mut Findings) {
    let Some(node) = map.get(field.name) else { return };
    let Some(word) = node.as_str().filter(|word| !field.words.contains(word)) else { return };
    let hint = nearest(word, field.words.iter().copied()).map_or_else(
        || format!("use one of {};", field.words.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    let message = format!("`{word}` is not a `{}`", field.name);
    findings.add(&SETTING_VALUE, node.span, message).hint(format!("{hint} {}", field.effect));
}

/// Reports secrets that are written out in a file of the repository. The user's own files are not shared.
fn secrets(subject: &HarnessSubject<'_>, map: &TreeMap, findings: &mut Findings) {
    let source = subject.source;
    if subject.is_personal || source.path.ends_with("settings.local.json") {
        return;
    }
    let mut spans: Vec<Span> = Vec::new();
    for (_, range) in credentials::find(&source.text) {
        spans.push(Span::new(source.id, range.start, range.end));
    }
    let env = map.get("env").and_then(TreeNode::as_map);
    for TreeEntry { key, value } in env.iter().flat_map(|env| &env.entries) {
        let is_secret =
            |text: &str| mcp::looks_secret(&key.text, text) && !servers::is_placeholder(text);
        if value.as_str().is_some_and(is_secret) {
            spans.push(value.span);
        }
    }
    spans.sort_by_key(|span| (span.start, span.end));
    let mut last = 0;
    for span in spans {
        let is_known = |found: &agentry_text::Diagnostic| {
            found.span.start <= span.start && span.end <= found.span.end
        };
        // The checks of servers have reported their own values.
        if span.start < last || findings.iter().any(is_known) {
            continue;
        }
        last = span.end;
        findings
            .add(&SETTINGS_SECRET, span, "this looks like a secret written out")
            .secret()
            .hint("revoke it, and set the variable outside the repository");
    }
}
