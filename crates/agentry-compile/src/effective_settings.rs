//! The settings that are in force in a workspace, and where each comes from: the user's configuration,
//! `agentry.toml`, or the program. Read from the field tables, so that no setting is forgotten.

use agentry_text::table::FieldNeed;
use agentry_text::tree::TreeEntry;
use agentry_text::{
    Data, Diagnostic, Field, FieldKind, FieldTable, Findings, SourceFiles, Span, TreeNode,
    TreeValue, credentials, toml,
};
use serde_json::Value;

use crate::config::{TABLE, WorkspaceConfig};
use crate::judge::{USER, user_file};
use crate::secret_mask::{MASK, masked};
use crate::world::World;

/// Where a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOrigin {
    /// Nothing sets it.
    Default,
    /// The user's configuration.
    User,
    /// `agentry.toml` of the workspace.
    Workspace,
}

impl SettingOrigin {
    /// The name in the output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }
}

/// One value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveSetting {
    /// The dotted name: `run.max_cost`.
    pub name: String,
    /// The value, without secrets.
    pub value: Value,
    /// Where it comes from.
    pub origin: SettingOrigin,
    /// The file and the line; none for a default.
    pub place: Option<(String, usize)>,
    /// Whether it is in force. The stricter one of two values is.
    pub counts: bool,
}

/// The settings of a workspace, or the findings about a file with errors.
pub type SettingsOutcome = Result<Vec<EffectiveSetting>, (Vec<Diagnostic>, SourceFiles)>;

/// Every setting of the workspace at `root`, by name. `time` reads a length of time, like `10m`.
pub fn effective_settings(
    world: &dyn World,
    root: &str,
    time: &dyn Fn(&str) -> Option<u64>,
) -> SettingsOutcome {
    let (mut sources, mut findings) = (SourceFiles::default(), Findings::default());
    let mut walk = SettingWalk::default();
    if let Some(node) = user_file(world, &mut sources, &mut findings) {
        let place = |span: Span| place(&sources, span);
        walk.file(&USER, &node, SettingOrigin::User, &place);
    }
    if findings.has_errors() {
        return Err((findings.into_sorted(), sources));
    }
    let config = WorkspaceConfig::read(world, root);
    if config.diagnostics.iter().any(|found| found.severity == agentry_text::Severity::Error) {
        return Err((config.diagnostics, config.sources));
    }
    if let Some(source) = config.sources.iter().next() {
        // Its findings were reported above.
        let node = toml::parse(source, &mut Findings::default());
        let place = |span: Span| place(&config.sources, span);
        walk.file(&TABLE, &node, SettingOrigin::Workspace, &place);
    }
    walk.defaults(&USER, "");
    walk.defaults(&TABLE, "");
    let mut all = walk.found;
    all.sort_by(|a, b| (&a.name, a.origin).cmp(&(&b.name, b.origin)));
    weigh(&mut all, time);
    all.retain(|it| it.counts || it.origin != SettingOrigin::Default);
    Ok(all)
}

fn place(sources: &SourceFiles, span: Span) -> (String, usize) {
    (sources.path(span).to_owned(), sources.start(span).line)
}

/// The place of a value in its file.
type PlaceOf<'a> = &'a dyn Fn(Span) -> (String, usize);

#[derive(Default)]
struct SettingWalk {
    found: Vec<EffectiveSetting>,
}

impl SettingWalk {
    fn file(
        &mut self,
        table: &'static FieldTable,
        node: &TreeNode,
        origin: SettingOrigin,
        place: PlaceOf<'_>,
    ) {
        let mut leaves = Vec::new();
        block(table, node, "", &mut leaves);
        self.found.extend(leaves.into_iter().map(|(name, entry)| EffectiveSetting {
            value: shown(&name, &entry.value.to_data()).to_json(),
            place: Some(place(entry.key.span)),
            name,
            origin,
            counts: true,
        }));
    }

    /// Adds the defaults of a table. A value of the workspace may lose against the default.
    fn defaults(&mut self, table: &'static FieldTable, prefix: &str) {
        for field in table.fields {
            let name = format!("{prefix}{}", field.name);
            if let FieldKind::Block(inner) = &field.kind {
                let inside = format!("{name}.");
                // The defaults of a block inside a section, like `[policy.bash]`, hold only if it is written.
                let is_written = || self.found.iter().any(|it| it.name.starts_with(&inside));
                if prefix.is_empty() || is_written() {
                    self.defaults(inner, &inside);
                }
            }
            let FieldNeed::Default(text) = field.need else { continue };
            let is_shared = field_of(&USER, &name).is_some();
            let is_set = self
                .found
                .iter()
                .any(|it| it.name == name && (it.origin != SettingOrigin::Workspace || !is_shared));
            if let Some(value) = serde_json::from_str(text).ok().filter(|_| !is_set) {
                let origin = SettingOrigin::Default;
                self.found.push(EffectiveSetting {
                    name,
                    value,
                    origin,
                    place: None,
                    counts: true,
                });
            }
        }
    }
}

/// The set fields of a block, each with its dotted name.
fn block<'t>(
    table: &'static FieldTable,
    node: &'t TreeNode,
    prefix: &str,
    leaves: &mut Vec<(String, &'t TreeEntry)>,
) {
    for entry in node.as_map().map(|map| &*map.entries).unwrap_or_default() {
        // A name that the table does not have was reported, and sets nothing.
        if let Some(field) = table.field(&entry.key.text) {
            value(&field.kind, entry, format!("{prefix}{}", field.name), leaves);
        }
    }
}

fn value<'t>(
    kind: &'static FieldKind,
    entry: &'t TreeEntry,
    name: String,
    leaves: &mut Vec<(String, &'t TreeEntry)>,
) {
    match (kind, &entry.value.value) {
        (FieldKind::Block(table), TreeValue::Map(_)) => {
            block(table, &entry.value, &format!("{name}."), leaves);
        }
        (FieldKind::Map(kind), TreeValue::Map(map)) => {
            for inner in &map.entries {
                value(kind, inner, format!("{name}.{}", inner.key.text), leaves);
            }
        }
        _ => leaves.push((name, entry)),
    }
}

/// A value without secrets: variables and headers of a server may hold one in any form.
fn shown(name: &str, value: &Data) -> Data {
    let is_of_server = name.starts_with("mcp_servers.");
    let parts = name.split('.').skip(2);
    let is_private =
        is_of_server && parts.into_iter().any(|part| matches!(part, "env" | "headers"));
    without_secrets(value, is_private)
}

fn without_secrets(value: &Data, is_private: bool) -> Data {
    match value {
        Data::Str(_) if is_private => Data::str(MASK),
        Data::Str(text) => {
            let found: Vec<_> =
                credentials::find(text).into_iter().map(|(_, range)| range).collect();
            Data::Str(masked(text, &found))
        }
        Data::List(items) => {
            Data::List(items.iter().map(|item| without_secrets(item, is_private)).collect())
        }
        Data::Map(entries) => {
            let entry = |(key, value): &(String, Data)| {
                let is_private = is_private || matches!(key.as_str(), "env" | "headers");
                (key.clone(), without_secrets(value, is_private))
            };
            Data::Map(entries.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

/// The field of a dotted name, if it is not below a free key.
fn field_of(table: &'static FieldTable, name: &str) -> Option<&'static Field> {
    let (first, rest) = name.split_once('.').map_or((name, None), |(it, rest)| (it, Some(rest)));
    let field = table.field(first)?;
    match (rest, &field.kind) {
        (None, _) => Some(field),
        (Some(rest), FieldKind::Block(table)) => field_of(table, rest),
        (Some(_), _) => None,
    }
}

/// Marks the values that a stricter one of the same setting replaces.
fn weigh(all: &mut [EffectiveSetting], time: &dyn Fn(&str) -> Option<u64>) {
    for pair in all.chunk_by_mut(|a, b| a.name == b.name) {
        if let [base, team] = pair
            && let Some(is_team) = is_workspace_stricter(base, team, time)
        {
            (base.counts, team.counts) = (!is_team, is_team);
        }
    }
}

/// Whether the workspace's value replaces the other one. `None` if both are in force, as for lists of keys.
fn is_workspace_stricter(
    base: &EffectiveSetting,
    team: &EffectiveSetting,
    time: &dyn Fn(&str) -> Option<u64>,
) -> Option<bool> {
    let kind = &field_of(&TABLE, &team.name)?.kind;
    match (kind, &base.value, &team.value) {
        (FieldKind::Int(..) | FieldKind::Float(..), base, team) => {
            Some(team.as_f64()? <= base.as_f64()?)
        }
        // The words stand in the order of their strictness.
        (FieldKind::Choice(words), base, team) => {
            let rank = |it: &Value| words.iter().position(|word| Some(*word) == it.as_str());
            Some(rank(team)? >= rank(base)?)
        }
        // `[signing] required` is strict when it is on, a notification when it is off.
        (FieldKind::Bool, Value::Bool(base), Value::Bool(own)) => {
            Some(base == own || *own == team.name.starts_with("signing."))
        }
        (FieldKind::Line, Value::String(base), Value::String(team)) => {
            Some(time(team)? <= time(base)?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryWorld;

    fn settings(user: &str, team: &str) -> Vec<String> {
        let world = MemoryWorld::new([
            ("home/user/.config/agentry/config.toml".to_owned(), user),
            ("agentry.toml".to_owned(), team),
        ]);
        let minutes = |text: &str| text.strip_suffix('m')?.parse().ok();
        let all = effective_settings(&world, "", &minutes).unwrap();
        let line = |it: &EffectiveSetting| {
            let at = it.place.as_ref().map_or(String::new(), |(_, line)| format!(":{line}"));
            let counts = if it.counts { "" } else { " no" };
            format!("{} {} {}{at}{counts}", it.name, it.value, it.origin.as_str())
        };
        all.iter().map(line).collect()
    }

    /// The lines about settings that start with `name`.
    fn about(name: &str, user: &str, team: &str) -> Vec<String> {
        settings(user, team).into_iter().filter(|line| line.starts_with(name)).collect()
    }

    #[test]
    fn the_stricter_of_user_and_workspace_settings_counts() {
        let cases: [(&str, &str, &str, &[&str]); 10] = [
            (
                "run",
                "[run]\nmax_cost = 1\n",
                "[run]\nmax_cost = 2.5\n",
                &["run.max_cost 1 user:2", "run.max_cost 2.5 workspace:2 no"],
            ),
            ("run", "", "[run]\nmax_steps = 3\n", &["run.max_steps 3 workspace:2"]),
            (
                "evolution.persona",
                "",
                "[evolution]\npersona = \"auto\"\n",
                &["evolution.persona \"ask\" default", "evolution.persona \"auto\" workspace:2 no"],
            ),
            (
                "evolution.memory",
                "[evolution]\nmemory = \"ask\"\n",
                "[evolution]\nmemory = \"never\"\n",
                &["evolution.memory \"ask\" user:2 no", "evolution.memory \"never\" workspace:2"],
            ),
            ("prompt.rules", "", "[prompt]\nrules = false\n", &["prompt.rules false workspace:2"]),
            ("prompt.rules", "", "", &["prompt.rules true default"]),
            (
                "notify.bell",
                "[notify]\nbell = false\n",
                "[notify]\nbell = true\n",
                &["notify.bell false user:2", "notify.bell true workspace:2 no"],
            ),
            (
                "signing.required",
                "[signing]\nrequired = true\n",
                "[signing]\nrequired = false\n",
                &["signing.required true user:2", "signing.required false workspace:2 no"],
            ),
            (
                "serve",
                "",
                "[serve]\npark_after = \"20m\"\n",
                &["serve.park_after \"10m\" default", "serve.park_after \"20m\" workspace:2 no"],
            ),
            (
                "signing.revoked",
                "[signing]\nrevoked = [\"a\"]\n",
                "[signing]\nrevoked = [\"b\"]\n",
                &["signing.revoked [\"a\"] user:2", "signing.revoked [\"b\"] workspace:2"],
            ),
        ];
        for (name, user, team, expected) in cases {
            assert_eq!(about(name, user, team), expected, "{user}{team}");
        }
    }

    #[test]
    fn an_absent_policy_section_lists_no_defaults() {
        assert_eq!(about("policy", "", ""), [""; 0]);
        let user = "[policy.bash]\nrules = [\"ls:allow\"]\n";
        let found = about("policy", user, "");
        assert_eq!(found.first().map(String::as_str), Some("policy.bash.intent \"ask\" default"));
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn secrets_in_settings_are_masked() {
        let user = "[mcp_servers.x]\ncommand = \"x\"\nenv = { A = \"hunter2\" }\n\
                    [mcp_servers.y]\nurl = \"https://y.example\"\nheaders = { Authorization = \"Bearer hunter2\" }\n";
        let found = about("mcp_servers", user, "").join("\n");
        assert!(found.contains("***") && !found.contains("hunter2"), "{found}");
    }
}
