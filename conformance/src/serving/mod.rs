//! Drives agents with the official clients: an editor (ACP), and programs (MCP) of both eras, with and
//! without a user who can be asked.
//!
//! The clients are the scripts in `conformance/serving`. The model is a script on loopback, as for the other
//! suites. The user agrees to the agents before, as at a terminal; no client can.

mod scenes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::{install, shown};
use crate::process;
use crate::script::{Call, Script};
use crate::server::Server;
use crate::suite::{End, House};
use scenes::SCENES;

const PACKAGES: &str = include_str!("../../serving/package.json");
const LIMIT: Duration = Duration::from_mins(1);

const WRITER: &str = "name = \"writer\"\ndescription = \"Writes files\"\n\n\
    [permissions.edit]\nintent = \"ask\"\nrules = [\"out.txt:allow\", \"secret/**:deny\"]\n\n\
    [permissions.bash]\nintent = \"deny\"\nrules = [\"echo shown:allow\"]\n";
const COUNTER: &str = "name: counter\nversion: 1.0.0\ndescription: Counts\nsoul: You count.\n\
    trust: {filesystem: none, network: none, exec: none}\n\
    expose:\n  - name: count\n    description: Counts words\n    input: {text: str}\n    output: int\n";

/// Drives all clients; without npm nothing is tested, and the reason is shown.
pub(crate) fn run(house: &House) -> End {
    let start = Instant::now();
    let modules = match install::node_modules(&house.target, "serving-npm", PACKAGES) {
        Ok(modules) => modules,
        Err(why) => {
            println!("SKIPPED: the clients of ACP and MCP cannot be had: {why}");
            return if house.required { End::Defects } else { End::Skipped };
        }
    };
    let (mut defects, count) = (Vec::new(), SCENES.len());
    for (at, scene) in SCENES.iter().enumerate() {
        let directory =
            std::env::temp_dir().join(format!("agentry-serving-{}-{at}", std::process::id()));
        let ground = SceneGround { house, modules: &modules, directory };
        let found = ground
            .play(scene.script, scene.words)
            .and_then(|seen| (scene.check)(&seen, &ground.directory));
        defects.extend(found.err().map(|why| format!("{}: {why}", scene.name)));
        let _ = fs::remove_dir_all(&ground.directory);
    }
    let time = start.elapsed().as_secs_f32();
    println!(
        "serving: {} of {count} clients see what is expected ({time:.1} s)",
        count - defects.len()
    );
    if shown(&defects) { End::Well } else { End::Defects }
}

/// Where a client works.
struct SceneGround<'a> {
    house: &'a House,
    modules: &'a Path,
    directory: PathBuf,
}

impl SceneGround<'_> {
    /// Runs a client; returns what it saw.
    fn play(&self, script: &str, words: &[&str]) -> Result<Value, String> {
        self.prepare().map_err(|error| format!("`{}`: {error}", self.directory.display()))?;
        let write = |path: &str| Call::new("write", json!({"path": path, "content": "hello\n"}));
        let calls = vec![write("out.txt"), write("a.txt"), write("secret/b.txt"), write("c.txt")];
        let count = Call::new("result", json!({"result": 3}));
        let more = Script::new("more", vec![write("d.txt")]);
        let edit = json!({"path": "open.txt", "old_string": "not saved", "new_string": "edited"});
        let open =
            vec![Call::new("edit", edit), Call::new("bash", json!({"command": "echo shown"}))];
        let open = Script::new("open", open);
        let files = Script::new("files", calls);
        let scripts = vec![files, Script::new("count", vec![count]), more, open];
        let server = Server::start(scripts, &self.directory.join("log"))?;
        let played = self.consent(&server.address()).and_then(|()| {
            let mut client = self.command(&self.modules.join(".bin/node"), &server.address());
            client.arg(self.directory.join(script)).arg(&self.house.agentry);
            let place = self.directory.display().to_string();
            client.args(words.iter().map(|word| word.replace("DIRECTORY", &place)));
            process::run(&mut client, LIMIT)
        });
        let _ = server.finish();
        let finished = played?;
        let line = finished.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|_| format!("{}{}", finished.stdout, finished.stderr))
    }

    fn prepare(&self) -> std::io::Result<()> {
        let _ = fs::remove_dir_all(&self.directory);
        // The root of a repository, so that it is the workspace.
        for name in ["home", ".git", "writer"] {
            fs::create_dir_all(self.directory.join(name))?;
        }
        fs::write(self.directory.join("writer/agent.toml"), WRITER)?;
        fs::write(self.directory.join("writer/system-prompt.md"), "You write files.\n")?;
        fs::write(self.directory.join("counter.agent"), COUNTER)?;
        fs::write(self.directory.join("open.txt"), "on disk\n")?;
        // Beside the packages, by which a script finds them.
        std::os::unix::fs::symlink(self.modules, self.directory.join("node_modules"))?;
        for script in ["editor.mjs", "program.mjs", "suite.mjs"] {
            fs::copy(self.house.home.join("serving").join(script), self.directory.join(script))?;
        }
        Ok(())
    }

    /// The user agrees to both agents.
    fn consent(&self, model: &str) -> Result<(), String> {
        for agent in ["writer", "counter.agent"] {
            let mut command = self.command(&self.house.agentry, model);
            command.args(["run", agent, "hello", "--yes"]);
            let finished = process::run(&mut command, LIMIT)?;
            if finished.code != Some(0) {
                return Err(format!("`{agent}` cannot be run: {}", finished.stderr));
            }
        }
        Ok(())
    }

    fn command(&self, program: &Path, model: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory).env_clear();
        command
            .env("HOME", self.directory.join("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("ANTHROPIC_API_KEY", "key-of-the-suite").env("ANTHROPIC_BASE_URL", model);
        command
    }
}
