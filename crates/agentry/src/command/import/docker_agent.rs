//! Imports an agent of Docker Agent from a registry: its description, instruction and model. It gets no rights;
//! its tools and all other fields are listed as lost.

use agentry_compile::text::yaml::{self, YamlVersion};
use agentry_compile::text::{Data, Findings, Severity, SourceFiles};
use agentry_registry::oci::OciReference;
use serde_json::{Value, json};

use crate::args::{ConvertArguments, ImportArguments};
use crate::command::convert;
use crate::command::registry::remote_failed;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, remark};
use crate::registries::remote_agents;

/// Whether the paths mean an agent in a registry.
pub(super) fn is_meant(args: &ImportArguments) -> bool {
    args.paths.iter().any(|path| OciReference::is_meant(path))
}

pub(super) fn run(args: &ImportArguments) -> CliOutcome {
    let [path] = args.paths.as_slice() else {
        return Err(CliFailure::new("an agent of a registry is imported alone"));
    };
    let reference: OciReference = path.parse().map_err(remote_failed)?;
    let yaml = remote_agents().and_then(|remote| remote.docker_agent(&reference));
    let (manifest, losses) = translated(path, &yaml.map_err(remote_failed)?, &name_of(&reference))?;
    for loss in &losses {
        remark(&format!("lost: `{loss}`"));
    }
    if args.strict && !losses.is_empty() {
        remark("error: something would be lost; nothing was written (`--strict`)");
        return Ok(ExitKind::Findings);
    }
    let failed = |error: std::io::Error| CliFailure::new(error_text(&error));
    // Its own workspace: no file of the user's becomes a part of the agent.
    let dir = tempfile::tempdir().map_err(failed)?;
    let file = dir.path().join(format!("{}.agent", name_of(&reference)));
    std::fs::write(dir.path().join("agentry.toml"), "").map_err(failed)?;
    std::fs::write(&file, format!("{manifest:#}\n")).map_err(failed)?;
    convert::run(&ConvertArguments {
        agent: file.to_string_lossy().into_owned(),
        to: args.to,
        output: args.output.clone(),
        resolved: false,
        strict: args.strict,
        force: args.force,
        dry_run: args.dry_run,
        format_override: None,
        format: args.format,
    })
}

/// The last part of the repository, as the name of an agent.
fn name_of(reference: &OciReference) -> String {
    let last = reference.repository.rsplit('/').next().unwrap_or_default();
    last.replace(['.', '_'], "-")
}

/// The agent as a manifest, which is JSON and so YAML too, and the paths of what it does not have.
fn translated(path: &str, text: &str, name: &str) -> Result<(Value, Vec<String>), CliFailure> {
    let refused =
        |why: String| CliFailure::new(format!("`{path}` cannot be imported: {why}")).finding();
    let (mut sources, mut findings) = (SourceFiles::default(), Findings::default());
    let source = sources.add(path, text);
    let data = yaml::parse(&source, 0..text.len(), YamlVersion::V1_2, &mut findings).to_data();
    if let Some(error) = findings.iter().find(|found| found.severity == Severity::Error) {
        return Err(refused(error.message.clone()));
    }
    let Some(Data::Map(agents)) = data.get("agents") else {
        return Err(refused("it has no `agents`".to_owned()));
    };
    let [(key, Data::Map(fields))] = agents.as_slice() else {
        return Err(refused(format!("it has {} agents, and one can be imported", agents.len())));
    };
    let mut manifest = json!({"apiVersion": "agent/v1", "name": name});
    let mut losses: Vec<String> = Vec::new();
    for (field, value) in fields {
        match (field.as_str(), value.as_str()) {
            ("description", Some(text)) => manifest["description"] = json!(text),
            ("instruction", Some(text)) => manifest["soul"] = json!(text),
            ("model", Some(model)) => match model_of(&data, model) {
                Some(model) => manifest["model"] = json!({"preferred": [model]}),
                None => losses.push(format!("agents.{key}.model")),
            },
            _ => losses.push(format!("agents.{key}.{field}")),
        }
    }
    if manifest.get("soul").is_none() {
        return Err(refused(format!("`agents.{key}` has no `instruction`")));
    }
    losses.extend(others(&data));
    Ok((manifest, losses))
}

/// `provider/model`, of the name itself or of the entry of `models`.
fn model_of(data: &Data, model: &str) -> Option<String> {
    if model.contains('/') {
        return Some(model.to_owned());
    }
    let entry = data.get("models")?.get(model)?;
    Some(format!("{}/{}", entry.get("provider")?.as_str()?, entry.get("model")?.as_str()?))
}

/// The other fields of the file; `version` is that of its format.
fn others(data: &Data) -> Vec<String> {
    let Data::Map(entries) = data else { return Vec::new() };
    let known = |name: &String| matches!(name.as_str(), "agents" | "version");
    let mut losses = Vec::new();
    for (name, value) in entries.iter().filter(|(name, _)| !known(name)) {
        match (name.as_str(), value) {
            ("models", Data::Map(models)) => {
                for (model, fields) in models {
                    let Data::Map(fields) = fields else { continue };
                    let more =
                        fields.iter().filter(|(field, _)| field != "provider" && field != "model");
                    losses.extend(more.map(|(field, _)| format!("models.{model}.{field}")));
                }
            }
            _ => losses.push(name.clone()),
        }
    }
    losses
}
