//! Converts an agent into another format at another place. The result is read again as it would lie on disk,
//! and must allow no more than its source.

use std::collections::BTreeMap;

use agentry_formats::{ConvertedAgent, OutputShape, WriteTarget, convert, gain, info};
use agentry_model::{Agent, ConversionLoss, ConversionLossKind, Format};
use agentry_policy::{Action, Judge, PolicyContext, RuleList, Section};
use agentry_text::path::{join, name, split};
use agentry_text::{Diagnostic, Severity};

use crate::discover::FoundAgent;
use crate::judge::own_judge;
use crate::overlay_world::OverlayWorld;
use crate::pipeline::{CompiledAgent, read_openly};
use crate::prompt::{PromptPart, prompt};
use crate::relocate::relocate;
use crate::show::convertible;
use crate::world::World;

/// What a conversion should make.
#[derive(Debug, Clone, Copy)]
pub struct ConversionRequest<'a> {
    /// The format of the result.
    pub to: Format,
    /// The path of the result: a file for some formats, a directory for the others.
    pub output: &'a str,
    /// Whether inherited values are written out instead of naming the base.
    pub resolved: bool,
}

/// Why an agent cannot be converted.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversionRefusal {
    /// It cannot be moved to the new place, for this reason.
    Moved(String),
    /// The result would allow more than the source; an example as a sentence.
    Widened(String),
    /// The result has an error.
    Broken(Box<Diagnostic>),
}

/// Returns the target at `output`; `dir` is the directory of the source in its workspace.
pub fn write_target(to: Format, output: &str, dir: &str) -> WriteTarget {
    let name = name(output.trim_end_matches('/'));
    // Only the file system knows the names of these.
    let name = if matches!(name, "." | "..") { String::new() } else { name.to_owned() };
    let shape = info(to).files.shape(&name);
    let place = PolicyContext { dir: dir.to_owned(), ..PolicyContext::default() };
    WriteTarget { name, shape, place }
}

/// Converts an agent. The caller writes the files.
pub fn convert_agent(
    world: &dyn World,
    compiled: &CompiledAgent,
    request: ConversionRequest<'_>,
) -> Result<ConvertedAgent, ConversionRefusal> {
    let ConversionRequest { to, output, resolved } = request;
    let (format, target) = (info(to), write_target(to, output, &compiled.dir));
    let has_base = !resolved && !compiled.bases.is_empty();
    // Otherwise the inherited values are written into the result.
    let keep_base = has_base && format.can_express("base");
    let mut agent = convertible(compiled, to, keep_base);
    let dir = directory(&target, output);
    let moved = format.can_express("trust")
        && is_moved(world, dir, compiled)
        && leave_scope_behind(&mut agent);
    let relocated = relocate(world, compiled, &mut agent, (to, dir));
    if let Some(why) = relocated.refused {
        return Err(ConversionRefusal::Moved(why));
    }
    let mut converted = convert(&agent, to, &target);
    converted.losses.extend(relocated.losses);
    // An agent without a policy asks the user; a format that denies instead narrows it.
    let was_asked = compiled.whole().policy.is_empty()
        && info(compiled.found.format).denies_without_policy.is_none();
    if let Some(why) = format.denies_without_policy.filter(|_| was_asked && !keep_base) {
        let detail = format!("what was asked about is denied: {why}");
        converted.losses.push(narrowed("permissions", &detail));
    }
    if moved {
        let detail = "paths relative to the old place would mean others in the new one";
        converted.losses.push(narrowed("trust.scope", detail));
    }
    prove(world, compiled, (request, target.shape), &mut converted)?;
    converted.losses.sort();
    Ok(converted)
}

/// Whether `dir` is another directory than that of the source.
pub fn is_moved(world: &dyn World, dir: &str, compiled: &CompiledAgent) -> bool {
    let absolute = |path: &str| world.absolute(if path.is_empty() { "." } else { path });
    absolute(dir) != absolute(&compiled.found.dir)
}

/// Refuses a result that is wider than its source, or broken. Adds the parts of the prompt that were lost.
fn prove(
    world: &dyn World,
    compiled: &CompiledAgent,
    (request, shape): (ConversionRequest<'_>, OutputShape),
    converted: &mut ConvertedAgent,
) -> Result<(), ConversionRefusal> {
    if let Some(widened) = converted.widened.take() {
        return Err(ConversionRefusal::Widened(widened));
    }
    let error = converted.findings.iter().find(|found| found.severity == Severity::Error);
    if let Some(defect) = error {
        return Err(ConversionRefusal::Broken(Box::new(defect.clone())));
    }
    let (found, files) = placed(request, shape, &converted.files);
    let overlay = OverlayWorld { world, files };
    let result = read_openly(&overlay, &found);
    let after = own_judge(&result);
    if let Some(widened) = gain(&own_judge(compiled), &after) {
        return Err(ConversionRefusal::Widened(widened));
    }
    if leaves_sandbox(compiled, &result, &after) {
        let widened = "commands run only in Agentry's sandbox in the source".to_owned();
        return Err(ConversionRefusal::Widened(widened));
    }
    let (before, after) = (prompt(world, compiled), prompt(&overlay, &result));
    let heading = info(compiled.found.format).prompt.rules_heading;
    prompt_losses(&before, &after, heading, &mut converted.losses);
    added_parts(compiled.found.format, request.to, &mut converted.losses);
    Ok(())
}

/// Whether commands that need the sandbox in the source may run without it in the result.
fn leaves_sandbox(before: &CompiledAgent, result: &CompiledAgent, after: &Judge) -> bool {
    let denies = |rules: &RuleList| rules.all().all(|rule| rule.action == Action::Deny);
    before.whole().policy.needs_sandbox()
        && !result.whole().policy.needs_sandbox()
        && !after.rules(Section::Bash).any(|(_, rules)| denies(rules))
}

/// The result as an agent on disk, with its files by path.
fn placed(
    ConversionRequest { to, output, resolved: _ }: ConversionRequest<'_>,
    shape: OutputShape,
    files: &[(String, String)],
) -> (FoundAgent, BTreeMap<String, Vec<u8>>) {
    let output = output.trim_end_matches('/');
    let main = files.first().map_or("", |(path, _)| path);
    let (dir, main) = match shape {
        OutputShape::Directory => (output, main),
        OutputShape::File => split(output),
    };
    let is_file = shape == OutputShape::File;
    let path = |path: &String| if is_file { output.to_owned() } else { join(dir, path) };
    let files = files.iter().map(|(file, text)| (path(file), text.clone().into_bytes()));
    let found = FoundAgent {
        path: output.to_owned(),
        dir: dir.to_owned(),
        main: main.to_owned(),
        format: to,
    };
    (found, files.collect())
}

/// Lists the parts of the source's prompt that the result does not send, unless a loss names them already.
fn prompt_losses(
    before: &[PromptPart],
    after: &[PromptPart],
    heading: Option<&str>,
    losses: &mut Vec<ConversionLoss>,
) {
    let after: Vec<_> = after.iter().map(|part| part.text.as_str()).collect();
    let after = after.join("\n");
    for PromptPart { name, origin, text, .. } in before {
        let field = part_field(name, origin);
        let is_known = losses.iter().any(|loss| loss.field == field);
        // Each format has its own heading above the rules.
        let text = heading.and_then(|heading| text.strip_prefix(heading)).unwrap_or(text);
        if !is_known && !after.contains(text.trim()) {
            let detail = "this part of the prompt is not in the result".to_owned();
            losses.push(ConversionLoss { field, kind: ConversionLossKind::Dropped, detail });
        }
    }
}

/// Lists the parts that Agentry adds to the prompt of the new format only.
fn added_parts(from: Format, to: Format, losses: &mut Vec<ConversionLoss>) {
    let known = info(from).prompt.fixed_parts;
    for (name, _) in info(to).prompt.fixed_parts.iter().filter(|part| !known.contains(part)) {
        let detail = format!("Agentry adds this part to the prompt of {to}");
        let field = part_field(name, FIXED);
        losses.push(ConversionLoss { field, kind: ConversionLossKind::Added, detail });
    }
}

/// The origin of a part that Agentry adds.
const FIXED: &str = "agentry";

/// The field of the model that a part of a prompt comes from.
fn part_field(name: &str, origin: &str) -> String {
    match name {
        "title" => "display_name".to_owned(),
        "rule file" => "rule_files".to_owned(),
        name if origin == FIXED => format!("prompt.{}", name.replace(' ', "_")),
        name => name.to_owned(),
    }
}

fn narrowed(field: &str, detail: &str) -> ConversionLoss {
    ConversionLoss {
        field: field.to_owned(),
        kind: ConversionLossKind::Narrowed,
        detail: detail.to_owned(),
    }
}

/// The directory that the relative paths of the result start from.
fn directory<'o>(target: &WriteTarget, output: &'o str) -> &'o str {
    match target.shape {
        OutputShape::Directory => output,
        OutputShape::File => split(output).0,
    }
}

/// Removes the relative paths from the scope, and returns whether there were any.
fn leave_scope_behind(agent: &mut Agent) -> bool {
    let Some(scope) = agent.policy.trust.as_mut().and_then(|trust| trust.scope.as_mut()) else {
        return false;
    };
    let before = scope.len();
    // Only these mean the same directory from anywhere.
    scope.retain(|path| path.starts_with('/') || path.starts_with("~/"));
    scope.len() < before
}
