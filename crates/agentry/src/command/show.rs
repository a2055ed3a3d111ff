//! `agentry show`: prints an agent as Agentry reads it.

use agentry_compile::text::report::visible;
use agentry_compile::{PromptPart, declared, prompt, resolved, rows};
use serde_json::{Value, json};

use crate::args::{ResultFormat, ShowArguments};
use crate::command::{find_one, mask_note, usable};
use crate::disk::DiskWorld;
use crate::output::{CliOutcome, ExitKind, columns, cut, print, print_json, remark};

pub(crate) fn run(args: &ShowArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let found = find_one(&disk, &args.agent, args.format_override)?;
    let compiled = usable(&disk, &found)?;
    if args.prompt {
        show_prompt(&prompt(&disk, &compiled), args.format);
        return Ok(ExitKind::Done);
    }
    let agent = if args.declared { compiled.agent.clone() } else { resolved(&compiled) };
    match args.format {
        ResultFormat::Json => print_json(&declared(&agent, &compiled.sources).to_json()),
        ResultFormat::Human => {
            let head = format!("{} ({})\n\n", visible(&found.path), found.format);
            let rows = rows(&agent, &compiled);
            let cell = |text: &str| cut(&visible(text), 72);
            let table: Vec<_> = rows
                .iter()
                .map(|row| {
                    vec![cell(&row.field), cell(&row.value), visible(&row.origin).into_owned()]
                })
                .collect();
            print(&format!("{head}{}", columns(&table)));
        }
    }
    Ok(ExitKind::Done)
}

fn show_prompt(parts: &[PromptPart], format: ResultFormat) {
    for part in parts.iter().filter(|part| part.is_masked) {
        remark(&format!("note: {}", mask_note(&part.origin)));
    }
    match format {
        ResultFormat::Json => {
            let parts: Vec<Value> = parts
                .iter()
                .map(|part| {
                    json!({
                        "name": part.name,
                        "origin": part.origin,
                        "text": part.text,
                        "masked": part.is_masked,
                    })
                })
                .collect();
            print_json(&Value::Array(parts));
        }
        ResultFormat::Human => {
            for part in parts {
                let lines: Vec<_> =
                    part.text.lines().map(|line| visible(line).into_owned()).collect();
                print(&format!(
                    "── {} ({})\n{}\n\n",
                    part.name,
                    visible(&part.origin),
                    lines.join("\n")
                ));
            }
        }
    }
}
