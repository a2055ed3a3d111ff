//! `agentry doctor`: reports what this machine supports, and how to fix the rest.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use agentry_compile::text::report::counted;
use agentry_compile::{ModelLookup, ResolveSettings, World as _, survey_models};
use agentry_home::agent_home::refuse_foreign;
use agentry_home::repository::AgentRepository;
use agentry_home::{AgentRecord, HomeError, HomeLayout};
use agentry_sandbox::{BackEnd, Confinement, SandboxSupport, support};
use serde_json::{Value, json};

use crate::args::{DoctorArguments, ResultFormat};
use crate::command::models::{is_usable, machine_settings};
use crate::command::sandbox::this_program;
use crate::disk::DiskWorld;
use crate::home::{agentry_home, sweep};
use crate::output::{CliOutcome, ExitKind, columns, print, print_json};

/// The result of one check of the machine.
struct DoctorFinding {
    what: &'static str,
    /// Whether the check passed; `None` if it does not apply here.
    well: Option<bool>,
    found: String,
    /// How to fix it.
    help: Option<String>,
}

pub(crate) fn run(args: &DoctorArguments) -> CliOutcome {
    sweep();
    let support = support(&this_program()?);
    let back_end = support.choose(&usual()).map(|(back_end, _)| back_end);
    let mut looked = sandbox(&support);
    looked.push(confining(&back_end));
    looked.push(home());
    looked.extend(agents());
    looked.push(shell());
    looked.extend(models());
    looked.push(editors());
    match args.format {
        ResultFormat::Json => print_json(&to_json(&looked, &support, &back_end)),
        ResultFormat::Human => print(&to_text(&looked)),
    }
    let well = looked.iter().all(|it| it.well != Some(false));
    Ok(if well { ExitKind::Done } else { ExitKind::Findings })
}

/// A typical confinement of an agent, except for its network.
fn usual() -> Confinement {
    Confinement { reads: vec!["/usr".into()], ..Confinement::default() }
}

fn sandbox(support: &SandboxSupport) -> Vec<DoctorFinding> {
    let needed = support.without_namespaces().is_some();
    let namespaces = support.without_namespaces();
    let landlock = support.landlock.map_or("none".to_owned(), |it| format!("version {it}"));
    let alone = support.without_landlock(&usual());
    vec![
        DoctorFinding {
            what: "namespaces",
            // A missing back end is a problem only if the other one cannot replace it.
            well: Some(namespaces.is_none()).filter(|well| *well || alone.is_some()),
            found: namespaces.clone().unwrap_or_else(|| "can be made".to_owned()),
            help: namespaces.and_then(|_| namespaces_help()),
        },
        DoctorFinding {
            what: "Landlock",
            well: Some(alone.is_none()).filter(|well| *well || needed),
            found: landlock,
            help: alone.map(|why| format!("alone it is not a sandbox here: {why}")),
        },
        DoctorFinding {
            what: "seccomp",
            well: Some(support.seccomp),
            found: if support.seccomp { "filters system calls" } else { "none" }.to_owned(),
            help: (!support.seccomp)
                .then(|| "a kernel with CONFIG_SECCOMP_FILTER is needed".to_owned()),
        },
        DoctorFinding {
            what: "control groups",
            // Never «missing»: without control groups the sandbox still works.
            well: support.control_groups.then_some(true),
            found: if support.control_groups { "can be made" } else { "cannot be made" }.to_owned(),
            help: (!support.control_groups)
                .then(|| "memory is limited for each process, not for all together".to_owned()),
        },
    ]
}

/// The system setting that blocks user namespaces, on systems that have one.
fn namespaces_help() -> Option<String> {
    let file_contains =
        |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|it| it.trim() == value);
    let sysctl = |name: &str| format!("the administrator can permit them: `sysctl -w {name}`");
    if file_contains("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return Some(sysctl("kernel.apparmor_restrict_unprivileged_userns=0"));
    }
    if file_contains("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return Some(sysctl("kernel.unprivileged_userns_clone=1"));
    }
    if file_contains("/proc/sys/user/max_user_namespaces", "0") {
        return Some(sysctl("user.max_user_namespaces=10000"));
    }
    let contained = Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    contained.then(|| {
        "a container needs `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`"
            .to_owned()
    })
}

fn confining(back_end: &Result<BackEnd, String>) -> DoctorFinding {
    let (found, help) = match back_end {
        Ok(BackEnd::Namespaces) => ("confined by namespaces".to_owned(), None),
        Ok(BackEnd::Landlock) => {
            let help = "hosts cannot be let through one by one, and nothing new can be made in a \
                        directory beside something protected";
            ("confined by Landlock".to_owned(), Some(help.to_owned()))
        }
        Err(why) => {
            let help = "`agentry run --unconfined` runs them all the same".to_owned();
            (format!("refused: {why}"), Some(help))
        }
    };
    DoctorFinding { what: "commands", well: Some(back_end.is_ok()), found, help }
}

fn home() -> DoctorFinding {
    let Some(home) = agentry_home() else {
        let help = Some("set AGENTRY_HOME to a directory".to_owned());
        return DoctorFinding { what: "home", well: Some(false), found: "none".to_owned(), help };
    };
    if let Err(error) = refuse_foreign(&home) {
        let (found, help) = (error.to_string(), error.hint());
        return DoctorFinding { what: "home", well: Some(false), found, help };
    }
    // The home may not exist yet; then its nearest parent must be writable.
    let nearest = home.ancestors().find(|path| path.is_dir());
    let writable = nearest.is_some_and(|path| tempfile::tempfile_in(path).is_ok());
    let help = (!writable).then(|| "make it writable, or set AGENTRY_HOME".to_owned());
    DoctorFinding { what: "home", well: Some(writable), found: home.display().to_string(), help }
}

/// The installed agents and their repositories; nothing if the home has no record.
fn agents() -> Option<DoctorFinding> {
    let layout = HomeLayout::new(agentry_home()?);
    let finding = |well: bool, found: String, help: Option<String>| {
        Some(DoctorFinding { what: "agents", well: Some(well), found, help })
    };
    let agents = match AgentRecord::open_if_any(&layout)
        .and_then(|record| record.map(|record| record.all()).transpose())
    {
        Ok(agents) => agents?,
        Err(error) => return finding(false, error.to_string(), HomeError::from(error).hint()),
    };
    let wrong = agents.iter().find_map(|agent| {
        let error = AgentRepository::open(&agent.path).err()?;
        Some((format!("`{}`: {error}", agent.id), error.hint().map(str::to_owned)))
    });
    match wrong {
        Some((found, help)) => finding(false, found, help),
        None => finding(true, counted(agents.len(), "installed agent"), None),
    }
}

fn shell() -> DoctorFinding {
    let found = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists());
    let help = found.is_none().then(|| "the tool `bash` needs one".to_owned());
    let path = found.unwrap_or("none").to_owned();
    DoctorFinding { what: "bash", well: Some(found.is_some()), found: path, help }
}

/// The language models that can be used, and the variables that hold their keys.
fn models() -> Vec<DoctorFinding> {
    let disk = DiskWorld::default();
    let settings = match machine_settings(&disk) {
        Ok(settings) => settings,
        Err(failure) => {
            let (found, help) = (failure.message, failure.hint);
            return vec![DoctorFinding { what: "models", well: Some(false), found, help }];
        }
    };
    let survey = survey_models(&disk, &settings, ModelLookup::Local);
    let usable = survey.models.iter().filter(|model| is_usable(model)).count();
    let has_any = usable > 0;
    let found = match usable {
        0 => "none can be used".to_owned(),
        count => format!("{} can be used", counted(count, "model")),
    };
    let help = (!has_any).then(|| "`agentry models` says what each one needs".to_owned());
    // Never «missing»: checks and renderings need no model.
    let models = DoctorFinding { what: "models", well: has_any.then_some(true), found, help };
    vec![models, keys(&disk, &settings)]
}

/// The names of the variables with keys. Their values are not read.
fn keys(disk: &DiskWorld, settings: &ResolveSettings) -> DoctorFinding {
    let named: BTreeSet<&String> = settings.providers.iter().flat_map(|it| &it.keys).collect();
    let set = named.into_iter().filter(|name| disk.services().has_env(name));
    let set: Vec<&str> = set.map(String::as_str).collect();
    let found = if set.is_empty() { "none is set".to_owned() } else { set.join(", ") };
    DoctorFinding { what: "keys", well: (!set.is_empty()).then_some(true), found, help: None }
}

/// Editors that can use an agent, by their programs.
const EDITORS: &[(&str, &[&str])] = &[
    ("Zed", &["zed", "zeditor"]),
    ("Neovim", &["nvim"]),
    ("Emacs", &["emacs"]),
    ("IntelliJ IDEA", &["idea"]),
    ("PyCharm", &["pycharm"]),
];

fn editors() -> DoctorFinding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &&str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    let found = EDITORS.iter().filter(|(_, programs)| programs.iter().any(&is_there));
    let found: Vec<&str> = found.map(|(name, _)| *name).collect();
    let help = (!found.is_empty())
        .then(|| "`agentry acp AGENT` offers an agent to an editor that speaks ACP".to_owned());
    let well = (!found.is_empty()).then_some(true);
    let found = if found.is_empty() { "none found".to_owned() } else { found.join(", ") };
    DoctorFinding { what: "editors", well, found, help }
}

fn to_text(looked: &[DoctorFinding]) -> String {
    let word = |well: Option<bool>| match well {
        Some(true) => "ok",
        Some(false) => "missing",
        None => "-",
    };
    let row =
        |it: &DoctorFinding| vec![it.what.to_owned(), word(it.well).to_owned(), it.found.clone()];
    let mut out = columns(&looked.iter().map(row).collect::<Vec<_>>());
    for it in looked {
        if let Some(help) = &it.help {
            let _ = writeln!(out, "\n{}: {help}", it.what);
        }
    }
    out
}

fn to_json(
    looked: &[DoctorFinding],
    support: &SandboxSupport,
    back_end: &Result<BackEnd, String>,
) -> Value {
    let each = |it: &DoctorFinding| json!({"what": it.what, "well": it.well, "found": it.found, "help": it.help});
    json!({
        "back_end": back_end.as_ref().ok().map(|it| it.as_str()),
        "landlock": support.landlock,
        "namespaces": support.without_namespaces().is_none(),
        "seccomp": support.seccomp,
        "control_groups": support.control_groups,
        "checks": looked.iter().map(each).collect::<Vec<_>>(),
    })
}
