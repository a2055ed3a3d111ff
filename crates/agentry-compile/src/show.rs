//! The agent as a person looks at it: every value with the place it came from.

use agentry_formats::info;
use agentry_model::{Agent, Format, Inheritance, tree};
use agentry_policy::{Action, Permissions, Section, SectionRules, flattened};
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

/// The agent and its bases as one definition that has none: for formats without a word for a base.
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

/// Writes the files that bases bring into the texts of an agent that has no base any more.
fn write_out(agent: &mut Agent, carried: &[CarriedFile]) {
    let instructions = &mut agent.instructions;
    let nowhere = Span::start_of(FileId::BUILT_IN);
    for CarriedFile { name, path, text } in carried {
        if *name != CONTEXT {
            instructions.base_rules.push(Spanned::new(text.clone(), nowhere));
            continue;
        }
        let raw = instructions.system.is_none() && instructions.system_override.is_some();
        let place = if raw { &mut instructions.system_override } else { &mut instructions.system };
        let system = place.get_or_insert_with(|| Spanned::new(String::new(), nowhere));
        let gap = if system.value.is_empty() { "" } else { "\n\n" };
        system.value.truncate(system.value.trim_end().len());
        system.value.extend([gap, "<context path=\"", path, "\">\n", text, "\n</context>\n"]);
    }
}

/// Makes the hard rules of the bases and its own one text.
pub(crate) fn join_rules(agent: &mut Agent) {
    let instructions = &mut agent.instructions;
    let own = instructions.rules.take();
    let all = std::mem::take(&mut instructions.base_rules).into_iter().chain(own);
    instructions.rules = all.reduce(|base, own| {
        let text = format!("{}\n\n{}", base.value.trim_end(), own.value.trim_start());
        Spanned::new(text, own.span)
    });
}

/// The agent to convert: what it may do is written out, since formats differ in what they mean by
/// saying nothing. A manifest that says nothing trusts its agent with nothing.
pub fn convertible(compiled: &CompiledAgent, to: Format, keep_base: bool) -> Agent {
    let mut agent = if keep_base { with_base(compiled, to) } else { flat(compiled) };
    if compiled.found.format != to {
        agent.policy = with_defaults(agent.clone(), compiled.found.format).policy;
        if info(compiled.found.format).denies_without_policy.is_some() && compiled.whole.is_none() {
            agent.policy.trust.get_or_insert_default();
        }
        if asks_before_writing(&agent) && agent.policy.permissions.is_none() {
            agent.policy.permissions = Some(ask_before_edit());
        }
    }
    agent
}

/// The agent alone, its base named from its own directory.
fn with_base(compiled: &CompiledAgent, to: Format) -> Agent {
    let mut agent = compiled.agent.clone();
    // Another notation is translated together with the base's, so that the result stays within it.
    if compiled.found.format != to && !agent.policy.is_empty() {
        agent.policy = flat(compiled).policy;
    }
    let elsewhere = compiled.base_dir != compiled.found.dir;
    if let Some(base) = agent.inheritance.base.as_mut().filter(|_| elsewhere) {
        base.value = renamed(&base.value, &compiled.dir);
    }
    agent
}

/// A path from the root of the workspace, as seen from the directory `dir` in it.
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

/// Whether a trait of the agent turns writing into asking.
pub(crate) fn asks_before_writing(agent: &Agent) -> bool {
    agent.instructions.traits.iter().flatten().any(|name| name.value == "ask-before-writing")
}

/// The layer that the trait `ask-before-writing` stands for; every other answer is left to the rest.
fn ask_before_edit() -> Permissions {
    let nowhere = Span::start_of(FileId::BUILT_IN);
    let rules = |section: &Section| SectionRules {
        section: Spanned::new(*section, nowhere),
        intent: Some(Spanned::new(
            if *section == Section::Edit { Action::Ask } else { Action::Allow },
            nowhere,
        )),
        rules: Vec::new(),
    };
    Permissions { sections: Section::ALL.iter().map(rules).collect() }
}

/// The agent as plain data without its secrets: with `defaults`, its canonical form.
pub fn declared(agent: &Agent, sources: &SourceFiles) -> Data {
    SecretMask::new(sources).node(tree::tree(agent)).to_data()
}

/// Every value of `agent`, which is `compiled` in one of its forms, in the order of the model,
/// secrets masked.
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

/// Whether a field is another one, or a part of it.
fn is_within(field: &str, path: &str) -> bool {
    let rest = field.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Visits the values below `node`. What has no place of its own (the name of a skill) is where the
/// list item is that it belongs to.
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

/// Where a list item was written: its own place, or that of the first of its values that has one.
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

/// A value in one line: text as it is (its first line, and how many follow), the rest as JSON.
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
