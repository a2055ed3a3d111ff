//! Installs every package in an empty place, without a network, and runs the first example of the README from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::packages::system;
use super::{PUBLISHED_NAME, Release, remove};
use crate::process::{cargo, output, program, run, shown, succeeds};

/// The first example of the README, and what it prints first.
const EXAMPLE: &str = "examples/agent-toml/release-notes";
const EXPECTED: &str = "The notes of 1.5.0 are in `CHANGELOG.md`:";
/// How often the start of a program is measured.
const STARTS: u32 = 5;

/// A way to install.
struct InstallChannel {
    name: &'static str,
    /// A command that succeeds where the channel can be tried.
    probe: &'static str,
    /// Whether it can be tried with a program for another machine.
    takes_others: bool,
    /// Installs below the directory, and returns the program.
    install: fn(&Release, &Path) -> Result<Command, String>,
}

const CHANNELS: &[InstallChannel] = &[
    channel("tarball", "tar --version", tarball),
    channel("wheel", "python3 -m venv --help", wheel),
    // The package of npm starts the program of the machine that Node is for.
    InstallChannel { takes_others: false, ..channel("npm", "npm --version", npm) },
    channel("debian", "dpkg --version", debian),
    channel("image", "chroot --version", image),
    InstallChannel { takes_others: false, ..channel("cargo", "cargo --version", cargo_install) },
];

const fn channel(
    name: &'static str,
    probe: &'static str,
    install: fn(&Release, &Path) -> Result<Command, String>,
) -> InstallChannel {
    InstallChannel { name, probe, takes_others: true, install }
}

/// Tries every channel. One whose program is missing here is reported as skipped.
pub(super) fn all(release: &Release) -> Result<(), String> {
    let binary = fs::canonicalize(&release.binary).map_err(text)?;
    let plain = start_time(&mut release.starting(&binary))?;
    println!("start of the plain program: {} ms", plain.as_millis());
    for channel in CHANNELS {
        let InstallChannel { name, install, .. } = channel;
        if let Some(why) = channel.obstacle(release) {
            println!("SKIPPED: {name}: {why}");
            continue;
        }
        let place = fs::canonicalize(&release.directory).map_err(text)?.join("trial").join(name);
        remove(&place)?;
        fs::create_dir_all(&place).map_err(text)?;
        let mut command = install(release, &place)?;
        let time = start_time(&mut command)?;
        first_example(&mut command, &place)?;
        println!("{name}: installed, ran the first example; starts in {} ms", time.as_millis());
        remove(&place)?;
    }
    Ok(())
}

impl InstallChannel {
    /// Why it cannot be tried with this release here.
    fn obstacle(&self, release: &Release) -> Option<String> {
        let Self { name, probe, takes_others, .. } = self;
        if !succeeds(&mut program(probe)) {
            return Some(format!("`{probe}` fails"));
        }
        if release.runner.is_some() && !takes_others {
            return Some("the program is for another machine".to_owned());
        }
        match *name {
            "image" if !release.is_static => {
                Some("only a static program gets an image: `--static ARCH`".to_owned())
            }
            "cargo" if profile(release).is_none() => {
                Some("the program was not built here for this machine".to_owned())
            }
            _ => None,
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where a closure takes the error")]
fn text(error: impl ToString) -> String {
    error.to_string()
}

/// The same command without arguments, in an empty environment.
fn fresh(command: &Command) -> Command {
    let mut fresh = Command::new(command.get_program());
    fresh.args(command.get_args()).env_clear().stdin(Stdio::null());
    fresh.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    fresh.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    fresh
}

/// The shortest of some starts.
fn start_time(command: &mut Command) -> Result<Duration, String> {
    let mut best = Duration::MAX;
    for _ in 0..STARTS {
        let began = Instant::now();
        output(fresh(command).arg("--version"))?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}

fn first_example(command: &mut Command, place: &Path) -> Result<(), String> {
    let is_inside = command.get_program() == "chroot";
    let work = place.join("work");
    // The example uses files beside it.
    copy(Path::new("examples"), &work.join("examples"))?;
    fs::create_dir_all(place.join("home")).map_err(text)?;
    let mut command = fresh(command);
    command.args(["run", EXAMPLE]);
    // Inside, the image says where the home is.
    if !is_inside {
        command.env("HOME", place.join("home")).current_dir(&work);
    }
    let printed = output(&mut command)?;
    if printed.starts_with(EXPECTED) {
        return Ok(());
    }
    Err(format!("`{}` printed something else:\n{printed}", shown(&command)))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(text)?;
    for entry in fs::read_dir(from).map_err(text)? {
        let entry = entry.map_err(text)?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to).map_err(text)?;
        }
    }
    Ok(())
}

/// The package whose name has these ends, as an absolute path.
fn package(release: &Release, start: &str, end: &str) -> Result<PathBuf, String> {
    for entry in fs::read_dir(&release.directory).map_err(text)? {
        let entry = entry.map_err(text)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(start) && name.ends_with(end) {
            return fs::canonicalize(entry.path()).map_err(text);
        }
    }
    Err(format!("no package `{start}…{end}`"))
}

fn tarball(release: &Release, place: &Path) -> Result<Command, String> {
    let file = package(release, "agentry-", ".tar.gz")?;
    run(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(place))?;
    let Release { version, arch, .. } = release;
    let root = place.join(format!("agentry-{version}-{arch}-{}", system(release)));
    for path in ["share/man/man1/agentry.1", "share/bash-completion/completions/agentry"] {
        if !root.join(path).is_file() {
            return Err(format!("the tarball has no `{path}`"));
        }
    }
    Ok(release.starting(&root.join("bin/agentry")))
}

/// The profile with which Cargo built the program into `target`.
fn profile(release: &Release) -> Option<&'static str> {
    let profiles = [("debug", "dev"), ("release", "release"), ("dist", "dist")];
    let binary = fs::canonicalize(&release.binary).ok()?;
    let is_of = |directory: &str| {
        let built = Path::new("target").join(directory).join("agentry");
        fs::canonicalize(built).is_ok_and(|built| built == binary)
    };
    profiles.into_iter().find(|(directory, _)| is_of(directory)).map(|(_, profile)| profile)
}

/// Installs from the source as the README says. What the program was built from is there, so little is compiled.
fn cargo_install(release: &Release, place: &Path) -> Result<Command, String> {
    let mut command = cargo("install --quiet --offline --locked --no-track --path crates/agentry");
    command.args(["--profile", profile(release).unwrap_or("dev"), "--target-dir", "target"]);
    if profile(release) != Some("dev") {
        super::without_paths(&mut command, &std::env::current_dir().map_err(text)?, false);
    }
    run(command.arg("--root").arg(place.join("prefix")))?;
    Ok(Command::new(place.join("prefix/bin/agentry")))
}

fn wheel(release: &Release, place: &Path) -> Result<Command, String> {
    let file = package(release, &PUBLISHED_NAME.replace('-', "_"), ".whl")?;
    if release.runner.is_some() {
        return foreign_wheel(release, place, &file);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(place.join("venv")))?;
    let mut pip = Command::new(place.join("venv/bin/pip"));
    // Without an index: whatever the package would fetch, it does not get.
    run(pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check"]).arg(file))?;
    Ok(Command::new(place.join("venv/bin/agentry")))
}

/// Unpacks a wheel for another machine, as pip does for a directory that is copied there.
fn foreign_wheel(release: &Release, place: &Path, file: &Path) -> Result<Command, String> {
    run(Command::new("python3").args(["-m", "venv"]).arg(place.join("venv")))?;
    let mut pip = Command::new(place.join("venv/bin/pip"));
    pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary=:all:", "--platform", &format!("manylinux2014_{}", release.arch)]);
    run(pip.arg("--target").arg(place.join("files")).arg(file))?;
    Ok(release.starting(&place.join("files/bin/agentry")))
}

fn npm(release: &Release, place: &Path) -> Result<Command, String> {
    let main = package(release, &format!("{PUBLISHED_NAME}-{}", release.version), ".tgz")?;
    let platform = package(release, &format!("{PUBLISHED_NAME}-linux"), ".tgz")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
    // The packages of other platforms are not there; npm leaves optional ones out.
    run(npm.arg("--prefix").arg(place).arg(main).arg(platform).stdout(Stdio::null()))?;
    Ok(Command::new(place.join("node_modules/.bin/agentry")))
}

fn debian(release: &Release, place: &Path) -> Result<Command, String> {
    let file = package(release, "agentry_", ".deb")?;
    let root = place.join("root");
    for directory in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        fs::create_dir_all(root.join(directory)).map_err(text)?;
    }
    fs::write(root.join("var/lib/dpkg/status"), "").map_err(text)?;
    let mut dpkg = Command::new("dpkg");
    // The empty root has no libraries to depend on; the program uses those of this machine.
    dpkg.args(["--force-depends", "--force-not-root", "--force-script-chrootless"]);
    dpkg.args(release.runner.as_ref().map(|_| "--force-architecture"));
    dpkg.arg(format!("--root={}", root.display())).arg("--install").arg(file);
    run(dpkg.stdout(Stdio::null()).stderr(Stdio::null()))?;
    Ok(release.starting(&root.join("usr/bin/agentry")))
}

/// Unpacks the one layer of the image, and starts the program with that as its root.
fn image(release: &Release, place: &Path) -> Result<Command, String> {
    let file = package(release, "agentry-", ".oci.tar")?;
    let layout = place.join("layout");
    fs::create_dir_all(&layout).map_err(text)?;
    run(Command::new("tar").arg("-xf").arg(file).arg("-C").arg(&layout))?;
    let read = |path: &Path| -> Result<serde_json::Value, String> {
        serde_json::from_slice(&fs::read(path).map_err(text)?).map_err(text)
    };
    let blob = |digest: &serde_json::Value| {
        layout.join("blobs").join(digest.as_str().unwrap_or_default().replace(':', "/"))
    };
    let index = read(&layout.join("index.json"))?;
    let manifest = read(&blob(&index["manifests"][0]["digest"]))?;
    let root = place.join("work");
    fs::create_dir_all(&root).map_err(text)?;
    let layer = blob(&manifest["layers"][0]["digest"]);
    run(Command::new("tar").arg("-xzf").arg(layer).arg("-C").arg(&root))?;
    // As a container would: the user and the variables of the image.
    let config = read(&blob(&manifest["config"]["digest"]))?["config"].clone();
    let mut command = Command::new("chroot");
    command.arg(format!("--userspec={}", config["User"].as_str().unwrap_or_default()));
    command.arg(&root);
    if let Some(runner) = &release.runner {
        let found = output(&mut program(&format!("which {runner}")))?;
        fs::copy(found.trim(), root.join("runner")).map_err(text)?;
        command.arg("/runner");
    }
    command.arg(config["Entrypoint"][0].as_str().unwrap_or_default());
    let variables = config["Env"].as_array().into_iter().flatten();
    for (name, value) in variables.filter_map(|it| it.as_str()?.split_once('=')) {
        command.env(name, value);
    }
    Ok(command)
}
