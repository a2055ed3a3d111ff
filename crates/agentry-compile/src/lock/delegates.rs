//! The delegates of an agent in its lock: every agent that it names and those below them, each with its digest and
//! all that it may do.

use agentry_formats::agentry_block::declares_ceiling;
use agentry_text::path::join;
use agentry_text::report::visible;
use agentry_text::table::Coercion;
use agentry_text::{Field, FieldKind, FieldTable, TableRecord};

use super::compare::{LockChange, LockChangeKind, policy_changes};
use super::policy;
use super::write::{names, quoted};
use crate::delegates::{MOST_DELEGATES, MOST_DEPTH, named};
use crate::digest::digest;
use crate::pipeline::{CompiledAgent, read_openly};
use crate::show::resolved;
use crate::world::World;

/// The digest of a delegate that was not found.
const MISSING: &str = "missing";
/// The ceiling of a delegate that works under its own policy.
const DECLARED: &str = "declared";

/// An agent that works for the locked one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedDelegate {
    /// The names that lead to it: `helper › finder`.
    pub name: String,
    /// Its digest, or the reference to the store.
    pub digest: String,
    /// Whether it works under its own policy, and not within that of its parent.
    pub has_own_policy: bool,
    /// Its policy, one rule a line.
    pub policy: Vec<String>,
}

pub(super) static DELEGATE: FieldTable = FieldTable::new(
    "the locked delegate",
    &[
        Field::required("name", FieldKind::Str, "The names that lead to it."),
        Field::required("digest", FieldKind::Str, "Its digest."),
        Field::optional("ceiling", FieldKind::Choice(&[DECLARED]), "Under its own policy."),
        Field::optional("policy", FieldKind::List(&FieldKind::Str), "What it may do."),
    ],
);

/// The delegates of an agent, and those below them.
pub(super) fn delegates(world: &dyn World, compiled: &CompiledAgent) -> Vec<LockedDelegate> {
    let mut out = Vec::new();
    let mut chain = vec![main_file(world, compiled)];
    collect(world, compiled, "", &mut chain, &mut out);
    out
}

fn main_file(world: &dyn World, compiled: &CompiledAgent) -> String {
    world.absolute(&join(&compiled.found.dir, &compiled.found.main))
}

fn collect(
    world: &dyn World,
    compiled: &CompiledAgent,
    prefix: &str,
    chain: &mut Vec<String>,
    out: &mut Vec<LockedDelegate>,
) {
    if chain.len() > MOST_DEPTH {
        return;
    }
    let has_own_policy = declares_ceiling(compiled.whole());
    for (name, found) in named(world, compiled) {
        if out.len() >= MOST_DELEGATES {
            return;
        }
        let name = if prefix.is_empty() { name } else { format!("{prefix} › {name}") };
        let Ok(found) = found.map_err(|reference| {
            let digest = if reference.contains(':') { reference } else { MISSING.to_owned() };
            let (name, policy) = (name.clone(), Vec::new());
            out.push(LockedDelegate { name, digest, has_own_policy, policy });
        }) else {
            continue;
        };
        let child = read_openly(world, &found);
        let identity = main_file(world, &child);
        // A circle is refused when the agent runs.
        if chain.contains(&identity) {
            continue;
        }
        out.push(LockedDelegate {
            name: name.clone(),
            digest: digest(world, &child),
            has_own_policy,
            policy: policy::lines(&resolved(&child), &child.dir),
        });
        chain.push(identity);
        collect(world, &child, &name, chain, out);
        chain.pop();
    }
}

/// A delegate as an inline table.
pub(super) fn text(delegate: &LockedDelegate) -> String {
    let LockedDelegate { name, digest, has_own_policy, policy } = delegate;
    let mut fields = vec![format!("name = {}", quoted(name))];
    fields.push(format!("digest = {}", quoted(digest)));
    fields.extend(has_own_policy.then(|| format!("ceiling = {}", quoted(DECLARED))));
    fields.extend(names("policy", policy));
    format!("{{ {} }}", fields.join(", "))
}

/// Reads a delegate.
pub(super) fn read(node: &agentry_text::TreeNode) -> Option<LockedDelegate> {
    let record = TableRecord::new(&DELEGATE, node, Coercion::Strict);
    let text = |name: &str| record.str(name).map(|text| text.value);
    let policy = record.strings("policy").unwrap_or_default();
    Some(LockedDelegate {
        name: text("name")?,
        digest: text("digest")?,
        has_own_policy: text("ceiling").is_some(),
        policy: policy.into_iter().map(|line| line.value).collect(),
    })
}

/// Adds what changed.
pub(super) fn changes(old: &[LockedDelegate], new: &[LockedDelegate], found: &mut Vec<LockChange>) {
    let find = |list: &[LockedDelegate], name: &str| {
        list.iter().find(|delegate| delegate.name == name).cloned()
    };
    let change = |name: &str, what: &str, widens: bool| {
        let message = format!("its delegate `{}` {what}", visible(name));
        let change = LockChange::new(LockChangeKind::Delegate, name, message);
        LockChange { widens, ..change }
    };
    for was in old {
        let name = &was.name;
        let Some(is) = find(new, name) else {
            found.push(change(name, "is gone", false));
            continue;
        };
        if was.digest != is.digest {
            found.push(change(name, "changed", false));
        }
        if !was.has_own_policy && is.has_own_policy {
            found.push(change(name, "works under its own policy now", true));
        }
        let whose = format!("its delegate `{}`", visible(name));
        for (message, widens) in policy_changes(&whose, &was.policy, &is.policy) {
            let change = LockChange::new(LockChangeKind::Delegate, name.clone(), message);
            found.push(LockChange { widens, ..change });
        }
    }
    for is in new.iter().filter(|is| find(old, &is.name).is_none()) {
        found.push(change(&is.name, "is new", is.has_own_policy));
    }
}
