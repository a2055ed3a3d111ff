//! Servers that people use, declared in a definition and called through `agentry tools call`, confined and
//! without a network.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process;
use crate::suite::House;

const LIMIT: Duration = Duration::from_mins(1);
/// The time that a server gets until it listens.
const START: Duration = Duration::from_secs(30);
/// A variable of the user that no server may see.
const SECRET: (&str, &str) = ("HOST_SECRET", "value-of-the-host");

/// The version of the protocol that a server speaks.
const OLDER: &str = "initialized";
const NEWER: &str = "stateless";

/// How a server is started.
#[derive(Clone, Copy)]
enum ServerKind {
    /// By the agent, with this command line. `NPM` and `PYPI` are the directories of the packages.
    Program(&'static [&'static str]),
    /// By this program, on a port; the agent has this path.
    Listener(&'static [&'static str], &'static str),
}

/// One call of one server.
struct ServerCase {
    name: &'static str,
    kind: ServerKind,
    tool: &'static str,
    arguments: &'static str,
    /// What the result must have in it; nothing if the call must fail.
    expected: Option<&'static str>,
    era: &'static str,
}

const EVERYTHING: &str = "NPM/@modelcontextprotocol/server-everything/dist/index.js";

const CASES: &[ServerCase] = &[
    ServerCase {
        name: "everything, by its program",
        kind: ServerKind::Program(&["NPM/.bin/mcp-server-everything"]),
        tool: "echo",
        arguments: "{\"message\":\"hi\"}",
        expected: Some("Echo: hi"),
        era: OLDER,
    },
    ServerCase {
        name: "everything, by node",
        kind: ServerKind::Program(&["node", EVERYTHING]),
        tool: "get-env",
        arguments: "{}",
        expected: Some("PATH"),
        era: OLDER,
    },
    ServerCase {
        name: "memory, by npx",
        kind: ServerKind::Program(&["npx", "-y", "@modelcontextprotocol/server-memory"]),
        tool: "read_graph",
        arguments: "{}",
        expected: Some("entities"),
        era: OLDER,
    },
    ServerCase {
        name: "filesystem",
        kind: ServerKind::Program(&["NPM/.bin/mcp-server-filesystem", "."]),
        tool: "read_text_file",
        arguments: "{\"path\":\"note.txt\"}",
        expected: Some("a note of the workspace"),
        era: OLDER,
    },
    ServerCase {
        name: "time, by its program",
        kind: ServerKind::Program(&["PYPI/bin/mcp-server-time"]),
        tool: "get_current_time",
        arguments: "{\"timezone\":\"UTC\"}",
        expected: Some("UTC"),
        era: NEWER,
    },
    ServerCase {
        name: "time, by python -m",
        kind: ServerKind::Program(&["PYPI/bin/python", "-m", "mcp_server_time"]),
        tool: "convert_time",
        arguments: "{\"source_timezone\":\"UTC\",\"time\":\"12:00\",\"target_timezone\":\"Asia/Tokyo\"}",
        expected: Some("21:00"),
        era: NEWER,
    },
    ServerCase {
        name: "fetch, which has no network",
        kind: ServerKind::Program(&["PYPI/bin/mcp-server-fetch"]),
        tool: "fetch",
        arguments: "{\"url\":\"https://example.com\"}",
        expected: None,
        era: NEWER,
    },
    ServerCase {
        name: "everything, over streamable HTTP",
        kind: ServerKind::Listener(&["NPM/.bin/node", EVERYTHING, "streamableHttp"], "/mcp"),
        tool: "get-sum",
        arguments: "{\"a\":2,\"b\":3}",
        expected: Some("5"),
        era: OLDER,
    },
    ServerCase {
        name: "everything, over the older HTTP",
        kind: ServerKind::Listener(&["NPM/.bin/node", EVERYTHING, "sse"], "/sse"),
        tool: "echo",
        arguments: "{\"message\":\"hi\"}",
        expected: Some("Echo: hi"),
        era: OLDER,
    },
    ServerCase {
        name: "the Python SDK, over streamable HTTP",
        kind: ServerKind::Listener(&["PYPI/bin/python", "MCP/sdk_server.py", "PORT"], "/mcp"),
        tool: "add",
        arguments: "{\"a\":2,\"b\":3}",
        expected: Some("sum 5"),
        era: NEWER,
    },
];

/// Calls every server whose packages are there; returns what is not as expected.
pub(super) fn run(house: &House, npm: Option<&PathBuf>, pypi: Option<&PathBuf>) -> Vec<String> {
    let start = Instant::now();
    let (mut defects, mut count) = (Vec::new(), 0);
    for (at, case) in CASES.iter().enumerate() {
        let (ServerKind::Program(words) | ServerKind::Listener(words, _)) = case.kind;
        let needs = |what: &str| words.iter().any(|word| word.starts_with(what));
        let has_all = (pypi.is_some() || !needs("PYPI"))
            && (npm.is_some() || !(needs("NPM") || needs("node") || needs("npx")));
        if !has_all {
            continue;
        }
        count += 1;
        let ground = CaseGround {
            house,
            npm: npm.cloned().unwrap_or_default(),
            pypi: pypi.cloned().unwrap_or_default(),
            // Outside the repository, which would be the workspace.
            directory: std::env::temp_dir()
                .join(format!("agentry-mcp-{}-{at}", std::process::id())),
        };
        if let Err(why) = ground.run(case) {
            defects.push(format!("{}: {why}", case.name));
        }
        let _ = fs::remove_dir_all(&ground.directory);
    }
    let time = start.elapsed().as_secs_f32();
    println!(
        "mcp servers: {} of {count} calls are as expected ({time:.1} s)",
        count - defects.len()
    );
    defects
}

/// Where one case runs.
struct CaseGround<'a> {
    house: &'a House,
    npm: PathBuf,
    pypi: PathBuf,
    directory: PathBuf,
}

/// A started server; killed on drop.
struct StartedServer(Child);

impl Drop for StartedServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl CaseGround<'_> {
    fn run(&self, case: &ServerCase) -> Result<(), String> {
        self.prepare().map_err(|error| format!("`{}`: {error}", self.directory.display()))?;
        let (definition, _server) = match case.kind {
            ServerKind::Program(words) => {
                let words: Vec<String> = words.iter().map(|word| self.expanded(word, 0)).collect();
                let (command, args) = words.split_first().ok_or("no command")?;
                let args = serde_json::to_string(args).map_err(|error| error.to_string())?;
                (format!("{{name: real, command: {command}, args: {args}}}"), None)
            }
            ServerKind::Listener(words, path) => {
                let port = free_port()?;
                let server = self.listener(words, port)?;
                (format!("{{name: real, url: 'http://127.0.0.1:{port}{path}'}}"), Some(server))
            }
        };
        let network = if definition.contains("url:") { "allowed" } else { "none" };
        let text = format!(
            "name: real\nversion: 1.0.0\ndescription: Calls a real server\nsoul: You help.\n\
             trust: {{filesystem: read-only, network: {network}, exec: sandboxed}}\n\
             tools: {{mcp: [{definition}]}}\n"
        );
        fs::write(self.directory.join("real.agent"), text).map_err(|error| error.to_string())?;
        self.check(case)
    }

    /// A new directory with a workspace and a home.
    fn prepare(&self) -> std::io::Result<()> {
        let _ = fs::remove_dir_all(&self.directory);
        let kept = self.directory.join("home/.npm/_npx/kept");
        fs::create_dir_all(&kept)?;
        // As if `npx` had fetched the packages before.
        std::os::unix::fs::symlink(&self.npm, kept.join("node_modules"))?;
        fs::write(self.directory.join("note.txt"), "a note of the workspace\n")
    }

    fn expanded(&self, word: &str, port: u16) -> String {
        let mcp = self.house.home.join("mcp");
        let word = word.replace("PORT", &port.to_string());
        let places = [("NPM/", &self.npm), ("PYPI/", &self.pypi), ("MCP/", &mcp)];
        let found = places.iter().find_map(|(mark, at)| Some(at.join(word.strip_prefix(mark)?)));
        found.map_or(word, |path| path.display().to_string())
    }

    fn listener(&self, words: &[&str], port: u16) -> Result<StartedServer, String> {
        let words: Vec<String> = words.iter().map(|word| self.expanded(word, port)).collect();
        let (program, arguments) = words.split_first().ok_or("no command")?;
        let mut command = Command::new(program);
        command.args(arguments).env("PORT", port.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = StartedServer(command.spawn().map_err(|error| error.to_string())?);
        let until = Instant::now() + START;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > until {
                return Err(format!("it does not listen within {} s", START.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let rules = format!(
            "[policy.webfetch]\nintent = \"ask\"\nrules = [\"http://127.0.0.1:{port}:allow\"]\n"
        );
        let config = self.directory.join("home/.config/agentry");
        fs::create_dir_all(&config).map_err(|error| error.to_string())?;
        fs::write(config.join("config.toml"), rules).map_err(|error| error.to_string())?;
        Ok(server)
    }

    fn check(&self, case: &ServerCase) -> Result<(), String> {
        let tool = format!("real__{}", case.tool);
        let mut command = Command::new(&self.house.agentry);
        command.args(["tools", "call", "real.agent", &tool, case.arguments, "--yes"]);
        command.args(["--format", "json"]).current_dir(&self.directory).env_clear();
        let path = format!("{}/.bin:/usr/local/bin:/usr/bin:/bin", self.npm.display());
        command.env("HOME", self.directory.join("home")).env("PATH", path).envs([SECRET]);
        let done = process::run(&mut command, LIMIT)?;
        let output_text = || format!("{}{}", done.stdout, done.stderr);
        let answer: Value = serde_json::from_str(&done.stdout)
            .map_err(|error| format!("{error}: {}", output_text()))?;
        let result = answer.get("result").map(ToString::to_string);
        if output_text().contains(SECRET.1) {
            return Err("it sees a variable of the host".to_owned());
        }
        let is_as_expected = match (case.expected, &result) {
            (Some(expected), Some(result)) => result.contains(expected),
            (None, None) => true,
            _ => false,
        };
        let era = self.era().unwrap_or_default();
        match (is_as_expected, era == case.era) {
            (true, true) => Ok(()),
            (true, false) => Err(format!("it speaks `{era}` and not `{}`", case.era)),
            (false, _) => Err(output_text()),
        }
    }

    /// The era that was kept with the consent.
    fn era(&self) -> Option<String> {
        let agents = fs::read_dir(self.directory.join("home/.agentry/consent/servers")).ok()?;
        let servers = agents.flatten().filter_map(|agent| fs::read_dir(agent.path()).ok());
        let pin = servers.flatten().flatten().next()?;
        let pin: Value = serde_json::from_slice(&fs::read(pin.path()).ok()?).ok()?;
        pin.get("era")?.as_str().map(str::to_owned)
    }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|error| error.to_string())
}
