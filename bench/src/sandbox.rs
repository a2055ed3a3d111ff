//! Measures the cost of confinement: the sandbox that is built once for a run, and each command in it.

use std::fs::File;
use std::path::Path;
use std::process::{Command as Bare, Stdio};
use std::time::{Duration, Instant};

use agentry_sandbox::{BackEnd, ConfinedCommand, Confinement, Sandbox, support};

use crate::measure::median;
use crate::report::{Row, Table, seconds};

/// The number of started commands, and of sandboxes that are built.
const COMMANDS: usize = 300;
const WORLDS: usize = 30;
/// The time limit of a command confined by namespaces.
const ALONE: Duration = Duration::from_millis(10);
/// The limit of a command confined by Landlock, in multiples of an unconfined one.
const TIMES_BARE: f64 = 2.0;

/// Starts `/bin/true`, unconfined and confined by each back end. This program is also the helper.
pub(crate) fn confining(table: &mut Table) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("who am I: {error}"))?;
    let support = support(&program);
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let folder = folder.path().canonicalize().map_err(|error| error.to_string())?;
    eprintln!("starting {COMMANDS} commands, bare and confined");
    for back_end in [BackEnd::Namespaces, BackEnd::Landlock] {
        let missing = match back_end {
            BackEnd::Namespaces => support.without_namespaces(),
            BackEnd::Landlock => support.without_landlock(&confinement(&folder)),
        };
        if let Some(missing) = missing {
            table.skip(format!("commands confined by {}", back_end.as_str()), missing);
            continue;
        }
        measured(&program, back_end, &folder, table).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn measured(
    program: &Path,
    back_end: BackEnd,
    folder: &Path,
    table: &mut Table,
) -> Result<(), agentry_sandbox::SandboxError> {
    let start =
        || Sandbox::start(program, back_end, confinement(folder), Some(&folder.join("left")));
    let mut worlds = Vec::new();
    for _ in 0..WORLDS {
        let before = Instant::now();
        let sandbox = start()?;
        sandbox.run(nothing()?)?.wait()?;
        worlds.push(before.elapsed());
    }
    let sandbox = start()?;
    let (mut confined, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..COMMANDS {
        let before = Instant::now();
        sandbox.run(nothing()?)?.wait()?;
        confined.push(before.elapsed());
        let before = Instant::now();
        bared()?;
        bare.push(before.elapsed());
    }
    let name = back_end.as_str();
    let (confined, bare) = (median(confined), median(bare));
    let ratio = confined.as_secs_f64() / bare.as_secs_f64();
    let is_second = back_end == BackEnd::Landlock;
    table.add(Row {
        what: format!("`/bin/true` confined by {name}, against a bare one"),
        measured: format!("{} / {}", seconds(confined), seconds(bare)),
        ratio: format!("{ratio:.2}"),
        target: if is_second {
            format!("≤ {TIMES_BARE}")
        } else {
            format!("≤ {}", seconds(ALONE))
        },
        is_met: if is_second { ratio <= TIMES_BARE } else { confined <= ALONE },
    });
    table.note(format!("a world of {name} with its first command: {}", seconds(median(worlds))));
    Ok(())
}

/// A workspace with the usual protected paths, as far as both back ends support them.
fn confinement(folder: &Path) -> Confinement {
    Confinement {
        reads: ["/usr", "/bin", "/lib", "/lib64", "/etc"].map(Into::into).to_vec(),
        writes: vec![folder.to_owned()],
        ..Confinement::default()
    }
}

/// A command that does nothing.
fn nothing() -> Result<ConfinedCommand, std::io::Error> {
    let null = || File::options().read(true).write(true).open("/dev/null");
    Ok(ConfinedCommand {
        argv: vec!["/bin/true".to_owned()],
        directory: "/".into(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        input: null()?.into(),
        output: null()?.into(),
        errors: null()?.into(),
    })
}

fn bared() -> Result<(), std::io::Error> {
    let mut command = Bare::new("/bin/true");
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().map(drop)
}
