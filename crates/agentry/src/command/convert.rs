//! `agentry convert`: an agent in another format, and what is lost on the way.

use std::path::Path;

use agentry_compile::convertible;
use agentry_compile::formats::{Converted, Shape, Target, convert};
use agentry_compile::model::{Format, Loss, LossKind};
use agentry_compile::policy::Place;
use agentry_compile::text::report::visible;
use serde_json::{Value, json};

use crate::args::{Convert, ResultFormat};
use crate::command::{find_one, usable};
use crate::disk::Disk;
use crate::output::{Exit, Failure, Outcome, columns, print, print_json, remark};
use crate::save::{self, Replace};

pub(crate) fn run(args: &Convert) -> Outcome {
    let disk = Disk::default();
    let found = find_one(&disk, &args.agent, args.format_override)?;
    let compiled = usable(&disk, &found)?;
    if compiled.agent.inheritance.base.is_some() && args.to != Format::Manifest {
        let message = format!("`{}` has a base, and only a manifest can say so", found.path);
        return Err(Failure::new(message).hint("convert its base into it by hand first").finding());
    }
    let target = target(args, compiled.dir.clone());
    let mut converted = convert(&convertible(&compiled, args.to), args.to, &target);
    if args.to == Format::Manifest
        && compiled.found.format != Format::Manifest
        && compiled.agent.policy.is_empty()
    {
        converted.losses.push(says_nothing());
    }
    if let Some(widened) = &converted.widened {
        let message = format!(
            "`{}` cannot be written as {} without widening it: {widened}",
            found.path, args.to
        );
        return Err(Failure::new(message)
            .hint("choose a format that can say it, such as agent-toml")
            .finding());
    }
    if let Some(defect) = converted
        .findings
        .iter()
        .find(|found| found.severity == agentry_compile::text::Severity::Error)
    {
        let message =
            format!("`{}` cannot be written as {}: {}", found.path, args.to, defect.message);
        return Err(Failure::new(message).hint_opt(defect.hint.clone()).finding());
    }
    let refused = args.strict && !converted.losses.is_empty();
    if !refused && !args.dry_run {
        write(args, &target, &converted)?;
    }
    report(args, &target, &converted);
    if args.to == Format::AgentMd && !target.name.ends_with(".agent.md") {
        remark(&format!(
            "note: a search passes over `{}`; its name lacks `.agent.md`",
            args.output
        ));
    }
    if refused {
        remark("error: something would be lost; nothing was written (`--strict`)");
    }
    Ok(if refused { Exit::Findings } else { Exit::Done })
}

/// A manifest that says nothing about trust means less than every other format that says nothing.
fn says_nothing() -> Loss {
    let detail = "what was asked about is denied: a manifest without `trust` has none".to_owned();
    Loss { field: "permissions".to_owned(), kind: LossKind::Narrowed, detail }
}

fn target(args: &Convert, dir: String) -> Target {
    let output = Path::new(&args.output);
    let name = output.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let shape = match args.to {
        Format::AgentMd => Shape::File,
        Format::Manifest if output.extension().is_some_and(|end| end == "agent") => Shape::File,
        Format::Manifest | Format::AgentToml | Format::AgentFs | Format::AgentDir => {
            Shape::Directory
        }
    };
    Target { name, shape, place: Place { dir } }
}

fn write(args: &Convert, target: &Target, converted: &Converted) -> Result<(), Failure> {
    let mode = if args.force { Replace::Force } else { Replace::Refuse };
    match target.shape {
        Shape::Directory => save::create(&args.output, &converted.files, mode),
        Shape::File => {
            let text = converted.files.first().map_or(String::new(), |(_, text)| text.clone());
            save::create("", &[(args.output.clone(), text)], mode)
        }
    }
}

fn report(args: &Convert, target: &Target, converted: &Converted) {
    let path = |file: &String| match target.shape {
        Shape::Directory => format!("{}/{file}", args.output.trim_end_matches('/')),
        Shape::File => args.output.clone(),
    };
    let files: Vec<_> = converted.files.iter().map(|(file, _)| path(file)).collect();
    match args.format {
        ResultFormat::Json => {
            let losses: Vec<Value> = converted.losses.iter().map(loss).collect();
            print_json(&json!({"files": files, "losses": losses}));
        }
        ResultFormat::Human => {
            let verb = if args.dry_run || (args.strict && !converted.losses.is_empty()) {
                "would write"
            } else {
                "wrote"
            };
            files.iter().for_each(|file| print(&format!("{verb} {}\n", visible(file))));
            if converted.losses.is_empty() {
                print("nothing is lost\n");
                return;
            }
            let row = |loss: &Loss| {
                vec![
                    format!("  {}", visible(&loss.field)),
                    loss.kind.to_string(),
                    visible(&loss.detail).into_owned(),
                ]
            };
            let rows: Vec<_> = converted.losses.iter().map(row).collect();
            print(&format!("lost in {}:\n{}", args.to, columns(&rows)));
        }
    }
}

fn loss(loss: &Loss) -> Value {
    json!({"field": loss.field, "kind": loss.kind.as_str(), "detail": loss.detail})
}
