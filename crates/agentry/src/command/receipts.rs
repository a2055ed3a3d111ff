//! `agentry receipts`: lists, shows and verifies receipts, and computes figures over them.

mod bars;
pub(crate) mod recording;

use agentry_compile::text::report::{counted, visible};
use agentry_home::receipt::{
    HeadReferences, NotedHeads, ReceiptFile, ReceiptProblem, ReceiptStats, receipt_files,
    verify_against,
};
use agentry_home::{HomeLayout, receipt::ReceiptError};
use agentry_runtime::StepCounts;
use serde_json::{Value, json};

use crate::args::{ReceiptsAgentArguments, ReceiptsArguments, ReceiptsCommand, ResultFormat};
use crate::command::runs::{admit_owner, described};
use crate::command::suggestion::one_of;
use crate::engine;
use crate::home::home;
use crate::output::{
    CliFailure, CliOutcome, ExitKind, columns, error_text, note, print, print_json, remark,
};

pub(crate) fn run(args: &ReceiptsArguments) -> CliOutcome {
    let layout = layout()?;
    // Without its engine, the receipts of this home are shown.
    if let Err(failure) = engine::refresh(layout.root()) {
        remark(&format!("warning: {}", failure.message));
    }
    recording::collect(&layout);
    match &args.command {
        ReceiptsCommand::List(args) => Ok(list(&layout, args)),
        ReceiptsCommand::Show { id, format } => show(&layout, id, *format),
        ReceiptsCommand::Verify { meant, heads } => {
            let noted = heads.as_deref().map(noted).transpose()?;
            verify(&layout, meant, noted.as_ref())
        }
        ReceiptsCommand::Stats(args) => Ok(stats(&layout, args)),
    }
}

fn layout() -> Result<HomeLayout, CliFailure> {
    let home = home()?;
    Ok(HomeLayout::new(home))
}

/// The receipts of the agent that the user means, the oldest first.
fn meant(layout: &HomeLayout, args: &ReceiptsAgentArguments) -> Vec<ReceiptFile> {
    let mut files = receipt_files(layout);
    if let Some(agent) = &args.agent {
        files.retain(|file| file.is_of(agent));
    }
    files
}

fn list(layout: &HomeLayout, args: &ReceiptsAgentArguments) -> ExitKind {
    let files = meant(layout, args);
    match args.format {
        ResultFormat::Json => print_json(&Value::Array(files.iter().map(entry).collect())),
        ResultFormat::Human if files.is_empty() => note("there are no receipts"),
        ResultFormat::Human => {
            let head = ["receipt", "started", "agent", "status", "cost", "task"];
            let rows = files.iter().map(|file| row(file, admit(layout, file).is_ok()));
            let rows: Vec<_> = [head.map(str::to_owned).to_vec()].into_iter().chain(rows).collect();
            print(&columns(&rows));
        }
    }
    ExitKind::Done
}

/// A row of the list, as JSON.
pub(crate) fn entry(file: &ReceiptFile) -> Value {
    json!({
        "id": file.id,
        "run": file.run,
        "agent": file.field("session/agent_id"),
        "status": status(file),
        "started": file.field("run/started"),
        "cost": file.field("cost"),
        "path": file.path,
    })
}

fn status(file: &ReceiptFile) -> &str {
    match file.text_field("task/outcome/status") {
        "" => "unreadable",
        status => status,
    }
}

fn row(file: &ReceiptFile, is_admitted: bool) -> Vec<String> {
    let cost = file.field("cost").and_then(Value::as_f64).map(|cost| format!("${cost:.4}"));
    let task = match file.field("amends/files").and_then(Value::as_array) {
        Some(files) => format!("{} changed by a person", counted(files.len() as u64, "file")),
        // A firing that made no run has only a reason.
        None if is_admitted => match file.text_field("task/input_summary") {
            "" => file.text_field("run/reason").to_owned(),
            task => task.to_owned(),
        },
        None => "private".to_owned(),
    };
    let cells = [
        &file.id,
        file.text_field("run/started"),
        file.text_field("agent/name"),
        status(file),
        &cost.unwrap_or_default(),
        &crate::output::cut(&task, 60),
    ];
    cells.into_iter().map(|cell| visible(cell).into_owned()).collect()
}

fn show(layout: &HomeLayout, given: &str, format: ResultFormat) -> CliOutcome {
    let files = receipt_files(layout);
    let is_meant =
        |file: &&ReceiptFile| file.id == given || (given.len() >= 4 && file.id.ends_with(given));
    let mut found = files.iter().filter(is_meant);
    let Some(file) = found.next() else {
        let ids = files.iter().map(|file| file.id.as_str());
        let hint = one_of(given, ids, "`agentry receipts list` lists them");
        return Err(CliFailure::new(format!("there is no receipt `{given}`")).hint(hint));
    };
    if let Some(other) = found.next() {
        let message = format!("`{given}` may be {}, {}", file.id, other.id);
        return Err(CliFailure::new(message).hint("write more of the id"));
    }
    admit(layout, file)?;
    let text = file.text.as_ref().map_err(|why| {
        CliFailure::new(format!("`{}` cannot be read: {why}", file.path.display())).finding()
    })?;
    match (format, &file.fields) {
        (ResultFormat::Json, Some(fields)) => print_json(&Value::Object(fields.clone())),
        (ResultFormat::Json, None) => {
            let message = format!("`{}` is altered and cannot be read", file.path.display());
            return Err(CliFailure::new(message).finding());
        }
        (ResultFormat::Human, _) => {
            text.lines().for_each(|line| print(&format!("{}\n", visible(line))));
        }
    }
    Ok(ExitKind::Done)
}

/// Refuses the receipt of a run that read what another user taught in private: its summaries may repeat that. Where the journal
/// is gone, the receipt is shown to its own user only.
fn admit(layout: &HomeLayout, file: &ReceiptFile) -> Result<(), CliFailure> {
    let user = file.text_field("session/user_id");
    let has_output = !file.text_field("task/output_summary").is_empty();
    let owner = match described(layout.root(), &file.run) {
        Some(about) => about.settings.user,
        None => (has_output && !user.is_empty()).then(|| user.to_owned()),
    };
    owner.map_or(Ok(()), |owner| admit_owner(&file.run, &owner))
}

/// What an earlier `verify --format json` printed about the heads.
fn noted(path: &str) -> Result<NotedHeads, CliFailure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        CliFailure::new(format!("`{path}` cannot be read: {}", error_text(&error)))
    });
    serde_json::from_str(&text?).map_err(|error| {
        CliFailure::new(format!("`{path}` has no heads of receipts: {error}"))
            .hint("`agentry receipts verify --format json` prints them")
    })
}

fn verify(
    layout: &HomeLayout,
    args: &ReceiptsAgentArguments,
    noted: Option<&NotedHeads>,
) -> CliOutcome {
    let (agent, copy) = (args.agent.as_deref(), recording::head_copy(layout));
    let references = HeadReferences { copy: copy.as_ref(), noted };
    let check = verify_against(layout, agent, references);
    let check = check.map_err(|error| failed(&error).finding())?;
    let is_ok = check.problems.is_empty();
    match args.format {
        ResultFormat::Json => {
            let problem =
                |it: &ReceiptProblem| json!({ "receipt": it.receipt, "problem": it.problem });
            let problems: Vec<_> = check.problems.iter().map(problem).collect();
            let NotedHeads { key, heads } = &check.heads;
            print_json(&json!({
                "ok": is_ok, "checked": check.checked, "problems": problems, "key": key, "heads": heads,
            }));
        }
        ResultFormat::Human => {
            for it in &check.problems {
                print(&format!("{}: {}\n", visible(&it.receipt), visible(&it.problem)));
            }
            let receipts = counted(check.checked as u64, "receipt");
            let result = match check.problems.len() {
                0 => format!("{receipts} verified\n"),
                some => format!("{receipts} read, {}\n", counted(some as u64, "problem")),
            };
            print(&result);
            if let Some(copy) =
                copy.filter(|_| check.problems.iter().any(ReceiptProblem::is_set_back))
            {
                remark(&format!(
                    "  = help: if you restored the home from a backup yourself, remove `{}`",
                    copy.path().display()
                ));
            }
        }
    }
    Ok(if is_ok { ExitKind::Done } else { ExitKind::Findings })
}

fn stats(layout: &HomeLayout, args: &ReceiptsAgentArguments) -> ExitKind {
    let stats = ReceiptStats::of(&meant(layout, args));
    match args.format {
        ResultFormat::Json => {
            let StepCounts { deterministic, adaptive, human_gate } = stats.steps;
            print_json(&json!({
                "total": stats.total,
                "auto_completion": stats.auto_completion(),
                "rework": stats.rework(),
                "autonomy": stats.autonomy(),
                "time_saved": stats.time_saved,
                "cost": stats.cost,
                "steps": {
                    "deterministic": deterministic, "adaptive": adaptive, "human_gate": human_gate,
                },
            }));
        }
        ResultFormat::Human if stats.total == 0 => note("there are no receipts of runs"),
        ResultFormat::Human => print(&bars::plot(&stats, bars::BarStyle::of_terminal())),
    }
    ExitKind::Done
}

/// Converts an error of receipts to a failure.
pub(crate) fn failed(error: &ReceiptError) -> CliFailure {
    CliFailure::new(error.to_string()).hint_opt(error.hint().map(str::to_owned))
}
