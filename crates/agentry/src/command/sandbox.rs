//! `agentry sandbox`: shows how the commands of an agent are confined on this machine, and runs one so.

mod exec;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agentry_compile::judge;
use agentry_compile::text::report::visible;
use agentry_runtime::confine::{PlannedConfinement, confinement};
use agentry_sandbox::{BackEnd, Confinement, EnforcedRule, NetworkAccess, explain, support};
use serde_json::{Value, json};

use crate::args::{ResultFormat, SandboxArguments, SandboxCommand, SandboxExplainArguments};
use crate::command::guard::protected_paths;
use crate::command::run::prepared_agent::surroundings;
use crate::command::{find_one, reported, usable, work_here};
use crate::disk::DiskWorld;
use crate::home::home;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, print, print_json};

pub(crate) fn run(args: &SandboxArguments) -> CliOutcome {
    match &args.command {
        SandboxCommand::Explain(args) => explained(args),
        SandboxCommand::Exec(args) => exec::run(args),
    }
}

fn explained(args: &SandboxExplainArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let found = find_one(&disk, &args.agent, args.format_override)?;
    let mut compiled = usable(&disk, &found)?;
    work_here(&disk, &mut compiled);
    let judge = judge(&disk, &mut compiled).map_err(|findings| {
        reported(&findings, &compiled.sources, "the user's policy has errors")
    })?;
    home()?;
    let protected = protected_paths(&disk, &compiled);
    let confined = confinement(&judge, &surroundings(&disk, &compiled, &protected));
    let program = this_program()?;
    let chosen = support(&program).choose(&confined.confinement);
    match args.format {
        ResultFormat::Json => print_json(&to_json(&confined, &chosen)),
        ResultFormat::Human => print(&to_text(&confined, &chosen)),
    }
    Ok(ExitKind::Done)
}

/// The path of the running program, which is also the helper of the sandbox.
pub(crate) fn this_program() -> Result<PathBuf, CliFailure> {
    std::env::current_exe().map_err(|_| CliFailure::new("the path of this program is not known"))
}

type SandboxChoice = Result<(BackEnd, Confinement), String>;

fn to_text(confined: &PlannedConfinement, chosen: &SandboxChoice) -> String {
    let mut out = match chosen {
        Ok((back_end, _)) => format!("commands are confined by {}\n\n", back_end.as_str()),
        Err(why) => format!(
            "commands are refused: this machine cannot confine them: {}\n  = help: `agentry doctor` \
             says what to do; `agentry run --unconfined` runs them all the same\n\n",
            visible(why)
        ),
    };
    let enforced = enforced(confined, chosen);
    let row = |it: &EnforcedRule| vec![format!("  {}", visible(&it.what)), it.by.to_owned()];
    out.push_str(&columns(&enforced.iter().map(row).collect::<Vec<_>>()));
    if let NetworkAccess::Proxy(_) = confined.confinement.network {
        let names = confined.hosts.names();
        let all = confined.hosts.is_everything();
        let names = if all { "every public host".to_owned() } else { names.join(", ") };
        let _ = writeln!(out, "\nthe proxy lets through: {}", visible(&names));
    }
    for what in &confined.narrowed {
        let _ = writeln!(out, "\nnote: {}", visible(what));
    }
    out
}

/// The rules that are enforced here, or that namespaces would enforce.
fn enforced(confined: &PlannedConfinement, chosen: &SandboxChoice) -> Vec<EnforcedRule> {
    match chosen {
        Ok((back_end, confinement)) => explain(confinement, *back_end),
        Err(_) => explain(&confined.confinement, BackEnd::Namespaces),
    }
}

fn to_json(confined: &PlannedConfinement, chosen: &SandboxChoice) -> Value {
    let enforced = enforced(confined, chosen);
    let enforced: Vec<Value> =
        enforced.iter().map(|it| json!({"what": it.what, "by": it.by})).collect();
    let (back_end, confinement) = match chosen {
        Ok((back_end, confinement)) => (Some(back_end.as_str()), confinement),
        Err(_) => (None, &confined.confinement),
    };
    let Confinement {
        reads,
        writes,
        read_only,
        hidden,
        directories: _,
        private,
        empty: _,
        network,
        limits,
    } = confinement;
    let texts =
        |paths: &[PathBuf]| -> Vec<String> { paths.iter().map(|path| text(path)).collect() };
    let network = match network {
        NetworkAccess::Off => "off",
        NetworkAccess::Proxy(_) => "proxy",
        NetworkAccess::Full => "full",
    };
    json!({
        "back_end": back_end,
        "refused": chosen.as_ref().err(),
        "reads": texts(reads),
        "writes": texts(writes),
        "read_only": texts(read_only),
        "hidden": texts(hidden),
        "private": texts(private),
        "network": network,
        "hosts": confined.hosts.names(),
        "every_public_host": confined.hosts.is_everything(),
        "limits": {
            "processes": limits.processes,
            "memory": limits.memory,
            "file_size": limits.file_size,
        },
        "enforced": enforced,
        "narrowed": confined.narrowed,
    })
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
