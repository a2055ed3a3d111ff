//! Shows an agent: every value with its origin.

use agentry_formats::info;
use agentry_model::{Agent, Format, Inheritance, tree};
use agentry_policy::flattened;
use agentry_text::{Data, FileId, SourceFiles, Span, Spanned, TreeNode, TreeValue};

use crate::pipeline::{CarriedFile, CompiledAgent};
use crate::prompt::CONTEXT;
use crate::relocate::{is_relative_reference, relative};
use crate::secret_mask::SecretMask;
use agentry_text::path::absolute as normal;

/// One value of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowRow {
    /// The field: `model.preferred[0]`.
    pub field: String,
    /// The value in one line.
    pub value: String,
    /// `path:line`, or `default`.
    pub origin: String,
}

/// The agent with the defaults of its format filled in.
pub fn resolved(compiled: &CompiledAgent) -> Agent {
    with_defaults(compiled.whole().clone(), compiled.found.format)
}

/// An agent with the defaults of its format filled in.
pub(crate) fn with_defaults(mut agent: Agent, format: Format) -> Agent {
    (info(format).defaults)(&mut agent);
    agent
}

/// The agent merged with its bases into one definition, for formats that cannot name a base.
pub fn flat(compiled: &CompiledAgent) -> Agent {
    let mut agent = compiled.whole().clone();
    if compiled.whole.is_some() {
        agent.inheritance = Inheritance::default();
        agent.policy = flattened(&agent.policy);
    }
    write_out(&mut agent, &compiled.carried);
    join_rules(&mut agent);
    agent
}

/// Copies the carried files of bases into the texts of an agent that no longer has a base.
fn write_out(agent: &mut Agent, carried: &[CarriedFile]) {
    let instructions = &mut agent.instructions;
    let nowhere = Span::start_of(FileId::BUILT_IN);
    for CarriedFile { name, path, text } in carried {
        if *name != CONTEXT {
            instructions.base_rules.push(Spanned::new(text.clone(), nowhere));
            continue;
        }
        // A raw override replaces the system text, so the context must go there.
        let raw = instructions.system.is_none() && instructions.system_override.is_some();
        let place = if raw { &mut instructions.system_override } else { &mut instructions.system };
        let system = place.get_or_insert_with(|| Spanned::new(String::new(), nowhere));
        let gap = if system.value.is_empty() { "" } else { "\n\n" };
        system.value.truncate(system.value.trim_end().len());
        system.value.extend([gap, "<context path=\"", path, "\">\n", text, "\n</context>\n"]);
    }
}

/// Joins the hard rules of the bases and of the agent into one text.
pub(crate) fn join_rules(agent: &mut Agent) {
    let instructions = &mut agent.instructions;
    let own = instructions.rules.take();
    let all = std::mem::take(&mut instructions.base_rules).into_iter().chain(own);
    instructions.rules = all.reduce(|base, own| {
        let text = format!("{}\n\n{}", base.value.trim_end(), own.value.trim_start());
        Spanned::new(text, own.span)
    });
}

/// The agent to convert. Its policy is written out, because formats have different defaults. A manifest
/// without `trust` trusts its agent with nothing.
pub fn convertible(compiled: &CompiledAgent, to: Format, keep_base: bool) -> Agent {
    let mut agent = if keep_base { with_base(compiled, to) } else { flat(compiled) };
    if compiled.found.format != to {
        agent.policy = with_defaults(agent.clone(), compiled.found.format).policy;
        if info(compiled.found.format).denies_without_policy.is_some() && compiled.whole.is_none() {
            agent.policy.trust.get_or_insert_default();
        }
    }
    agent
}

/// The agent without its base, which it names relative to its own directory.
fn with_base(compiled: &CompiledAgent, to: Format) -> Agent {
    let mut agent = compiled.agent.clone();
    // In another format, the policy is merged with the base's, so that the result is within it.
    if compiled.found.format != to && !agent.policy.is_empty() {
        agent.policy = flat(compiled).policy;
    }
    let elsewhere = compiled.base_dir != compiled.found.dir;
    if let Some(base) = agent.inheritance.base.as_mut().filter(|_| elsewhere) {
        base.value = renamed(&base.value, &compiled.dir);
    }
    agent
}

/// Changes a path relative to the workspace root into one relative to the directory `dir`.
fn renamed(reference: &str, dir: &str) -> String {
    let (path, pin) = reference.split_once('#').map_or((reference, ""), |parts| parts);
    if !is_relative_reference(path) {
        return reference.to_owned();
    }
    let sign = if pin.is_empty() { "" } else { "#" };
    let path = relative(&format!("/{dir}"), &normal(&format!("/{path}")));
    let start = if path.starts_with('.') { "" } else { "./" };
    format!("{start}{path}{sign}{pin}")
}

/// The agent as data with secrets masked. With its defaults, this is the canonical form.
pub fn declared(agent: &Agent, sources: &SourceFiles) -> Data {
    SecretMask::new(sources).node(tree::tree(agent)).to_data()
}

/// Every value of `agent`, a form of `compiled`, in the order of the model, with secrets masked.
pub fn rows(agent: &Agent, compiled: &CompiledAgent) -> Vec<ShowRow> {
    let mut out = Vec::new();
    let CompiledAgent { sources, origins, .. } = compiled;
    let tree = SecretMask::new(sources).node(tree::tree(agent));
    walk(String::new(), &tree, None, &mut |field, node, span| {
        let within = |(path, _): &&(String, Span)| is_within(&field, path);
        let span = origins.iter().find(within).map_or(span, |(_, span)| *span);
        out.push(ShowRow { field, value: line(&node.to_data()), origin: origin(span, sources) });
    });
    out
}

/// Whether a field equals `path`, or lies below it.
fn is_within(field: &str, path: &str) -> bool {
    let rest = field.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Visits the values below `node`. A value without a span (the name of a skill) gets the span of its list
/// item.
fn walk(
    field: String,
    node: &TreeNode,
    item: Option<Span>,
    visit: &mut dyn FnMut(String, &TreeNode, Span),
) {
    match &node.value {
        TreeValue::Map(map) if !map.is_empty() => {
            for entry in &map.entries {
                let key = &entry.key.text;
                let name = if field.is_empty() { key.clone() } else { format!("{field}.{key}") };
                walk(name, &entry.value, item, visit);
            }
        }
        TreeValue::List(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                walk(format!("{field}[{at}]"), item, place(item), visit);
            }
        }
        _ => {
            let built_in = node.span.file == FileId::BUILT_IN;
            let span = item.filter(|_| built_in).unwrap_or(node.span);
            visit(field, node, span);
        }
    }
}

/// The span of a list item: its own, or that of its first value with one.
fn place(item: &TreeNode) -> Option<Span> {
    if item.span.file != FileId::BUILT_IN {
        return Some(item.span);
    }
    let values = item.as_map()?.entries.iter().map(|entry| entry.value.span);
    values.into_iter().find(|span| span.file != FileId::BUILT_IN)
}

fn origin(span: Span, sources: &SourceFiles) -> String {
    if span.file == FileId::BUILT_IN {
        return "default".to_owned();
    }
    format!("{}:{}", sources.path(span), sources.start(span).line)
}

/// A value in one line: the first line of a text with the number of further lines, or else JSON.
fn line(data: &Data) -> String {
    let Some(text) = data.as_str() else { return data.to_json().to_string() };
    let mut lines = text.lines();
    let first = lines.next().unwrap_or("");
    match lines.count() {
        0 => first.to_owned(),
        1 => format!("{first} (+1 line)"),
        more => format!("{first} (+{more} lines)"),
    }
}
