//! Measures a pull from a registry, compared with `skopeo copy` of the same artifact.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::{medians, quiet};
use crate::report::Table;
use crate::targets::ratio;

/// How many files the agent has beside its own.
const FILES: usize = 300;
/// The longest time until the registry listens.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pulls an agent of many files into an empty home.
pub(crate) fn pulling(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let dir = folder.join("pulling");
    write_agent(&dir.join("big")).map_err(failed)?;
    let Some(mut registry) = start(&dir)? else {
        table.note("a pull was not measured: `docker-registry` or `skopeo` is missing".to_owned());
        return Ok(());
    };
    let measured = (|| {
        let place = format!("localhost:{}/big:1", registry.1);
        let mut push = quiet(program, ["push", "big", &format!("oci://{place}")]);
        push.current_dir(&dir).env("AGENTRY_HOME", dir.join("pusher"));
        if !push.status().map_err(failed)?.success() {
            return Err("the agent cannot be pushed".to_owned());
        }
        // An empty home and an empty directory each time: nothing may come from a cache.
        let pull = r#"rm -rf home out && exec "$0" pull "oci://$1" -o out"#;
        let copy =
            r#"rm -rf copy && exec skopeo copy -q --src-tls-verify=false "docker://$0" dir:copy"#;
        let mut pull =
            quiet("sh", ["-c".as_ref(), pull.as_ref(), program.as_os_str(), place.as_ref()]);
        let mut copy = quiet("sh", ["-c", copy, &place]);
        pull.current_dir(&dir).env("AGENTRY_HOME", dir.join("home"));
        copy.current_dir(&dir);
        let [pull, copy] = medians(7, [pull, copy])?;
        table.add(ratio(format!("pull {FILES} files / skopeo copy"), pull, copy, "skopeo", 1.5));
        Ok(())
    })();
    let _ = registry.0.kill();
    let _ = registry.0.wait();
    measured
}

fn write_agent(dir: &Path) -> std::io::Result<()> {
    let skill = dir.join("skills/review");
    fs::create_dir_all(&skill)?;
    fs::write(dir.join("agent.yaml"), "name: big\nversion: 1.0.0\ndescription: Has many files\n")?;
    fs::write(dir.join("SOUL.md"), "You have many files.\n")?;
    fs::write(
        skill.join("SKILL.md"),
        "---\nname: review\ndescription: Reviews\n---\n\nLook at it.\n",
    )?;
    (0..FILES).try_for_each(|at| {
        fs::write(skill.join(format!("{at}.txt")), format!("This is line {at}.\n").repeat(200))
    })
}

/// A registry without TLS and its port; `None` if a program is missing.
fn start(dir: &Path) -> Result<Option<(Child, u16)>, String> {
    let mut needed = ["docker-registry", "skopeo"].iter();
    if needed.any(|program| quiet(program, ["--help"]).status().is_err()) {
        return Ok(None);
    }
    let failed = |error: std::io::Error| error.to_string();
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).map_err(failed)?.port();
    let config = format!(
        "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\n\
         http: {{addr: '127.0.0.1:{port}'}}\n",
        dir.join("data").display()
    );
    fs::write(dir.join("registry.yml"), config).map_err(failed)?;
    let mut command = Command::new("docker-registry");
    command.arg("serve").arg(dir.join("registry.yml")).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().map_err(failed)?;
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if started.elapsed() > PATIENCE {
            return Err("the registry does not start".to_owned());
        }
        std::thread::yield_now();
    }
    Ok(Some((child, port)))
}
