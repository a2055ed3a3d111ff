//! Measures the start of the program as it was installed, compared with the program itself. Only npm puts something in
//! between; every other package has the program as it is.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::measure::{medians, quiet};
use crate::report::{Row, Table, seconds};

/// What the package of npm starts the program with.
const SHIM: &str = include_str!("../../xtask/src/dist/shim.js");
const NAME: &str = "agentry-cli";
/// How much later the program may start.
const LATER: Duration = Duration::from_millis(80);

pub(crate) fn starting(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    let what = "--version through the package of npm";
    let node =
        Command::new("node").args(["-p", "`${process.platform}-${process.arch}`"]).output();
    let Ok(node) = node else {
        table.skip(what.to_owned(), "`node` is not installed".to_owned());
        return Ok(());
    };
    let failed = |error: std::io::Error| error.to_string();
    let platform = String::from_utf8_lossy(&node.stdout).trim().to_owned();
    let modules = folder.join("channels/node_modules");
    let (main, own) =
        (modules.join(NAME).join("bin"), modules.join(format!("{NAME}-{platform}")).join("bin"));
    fs::create_dir_all(&main).and_then(|()| fs::create_dir_all(&own)).map_err(failed)?;
    let shim = main.join("agentry.js");
    fs::write(&shim, SHIM.replace("PUBLISHED_NAME", NAME)).map_err(failed)?;
    fs::copy(program, own.join("agentry")).map_err(failed)?;
    let through = quiet("node", [shim.as_os_str(), "--version".as_ref()]);
    let [plain, through] = medians(40, [quiet(program, ["--version"]), through])?;
    let later = through.saturating_sub(plain);
    table.add(Row {
        what: what.to_owned(),
        measured: format!("{} to {} of the program", seconds(through), seconds(plain)),
        ratio: format!("+{}", seconds(later)),
        target: format!("≤ +{}", seconds(LATER)),
        is_met: later <= LATER,
    });
    Ok(())
}
