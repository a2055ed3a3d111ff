use agentry_posix::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A machine with a home, a workspace and installed programs.
struct Machine {
    _directory: TempDir,
    root: PathBuf,
    places: ProgramPlaces,
}

impl Machine {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let places = ProgramPlaces {
            path: vec![root.join("sys/bin"), root.join("home/.local/bin")],
            home: Some(root.join("home")),
            workspace: root.join("home/project"),
            directory: root.join("home/project"),
            closed: vec![root.join("home/.agentry")],
            has_network: false,
        };
        let machine = Self { _directory: directory, root, places };
        machine.program("sys/bin/node", "\u{7f}ELF");
        machine.program("sys/bin/npx", "#!/usr/bin/env node\n");
        machine.program("sys/bin/python3", "\u{7f}ELF");
        machine.file("sys/lib/python3/os.py", "");
        fs::create_dir_all(&machine.places.workspace).unwrap();
        machine
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(&self, path: &str, text: &str) {
        self.file(path, text);
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    /// A package of npm in this directory.
    fn package(&self, modules: &str, name: &str, version: &str) {
        let text = format!(
            "{{\"version\":\"{version}\",\"bin\":{{\"run\":\"dist/run.js\",\"other\":\"../../evil.js\"}}}}"
        );
        self.file(&format!("{modules}/{name}/package.json"), &text);
        self.program(&format!("{modules}/{name}/dist/run.js"), "#!/usr/bin/env node\n");
        self.program(&format!("{modules}/evil.js"), "#!/usr/bin/env node\n");
    }

    /// The program and the files of a command line, below the root of this machine.
    fn located(&self, line: &str) -> Result<String, String> {
        let root = self.root.display().to_string();
        let words = line.replace("ROOT", &root);
        let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let InstalledProgram { argv, files } = locate(&argv, &self.places)?;
        let shown =
            files.all().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
        Ok(format!("{} | {shown}", argv.join(" ")).replace(&format!("{root}/"), ""))
    }
}

#[test]
fn installed_npm_packages_are_found() {
    let machine = Machine::new();
    let launch = "npx -y -p @a/server run --x";
    let missing = machine.located(launch).unwrap_err();
    assert!(missing.contains("`@a/server` is not installed"), "{missing}");
    assert!(missing.contains("`npm install -g @a/server`"), "{missing}");
    // What npx fetched before is there for the same words.
    machine.package("home/.npm/_npx/0a/node_modules", "@a/server", "2.0.0");
    machine
        .file("home/.npm/_npx/0a/package.json", "{\"_npx\":{\"packages\":[\"@a/server@next\"]}}");
    let kept = "home/.npm/_npx/0a/node_modules";
    let node = "sys/bin/node sys/lib";
    let cases = [
        (launch, Ok(format!("{kept}/@a/server/dist/run.js --x | {kept} {node}"))),
        ("npx -p @a/server@2.0.0 run", Ok(format!("{kept}/@a/server/dist/run.js | {kept} {node}"))),
        ("npx -p @a/server@next run", Ok(format!("{kept}/@a/server/dist/run.js | {kept} {node}"))),
        ("npx -p @a/server@3.0.0 run", Err(())),
        // A program of another package.
        ("npx -p @a/server other", Err(())),
        ("npx -p @a/server absent", Err(())),
        ("npx ../../x", Err(())),
        ("npx @a/../x", Err(())),
    ];
    for (line, expected) in cases {
        assert_eq!(machine.located(line).map_err(drop), expected, "{line}");
    }
    machine.package("sys/lib/node_modules", "@a/server", "3.0.0");
    let found = machine.located("npx -p @a/server@3.0.0 run").unwrap();
    let modules = "sys/lib/node_modules";
    assert_eq!(found, format!("{modules}/@a/server/dist/run.js | sys/bin/node sys/lib"));
    // The workspace is opened by the policy alone.
    machine.package("home/project/node_modules", "@a/server", "4.0.0");
    let found = machine.located("npx -p @a/server run").unwrap();
    assert_eq!(found, format!("home/project/node_modules/@a/server/dist/run.js | {node}"));
}

#[test]
fn a_launcher_with_a_network_downloads_what_is_missing() {
    let mut machine = Machine::new();
    machine.places.has_network = true;
    let found = machine.located("npx -y @a/server").unwrap();
    assert_eq!(found, "npx -y @a/server | sys/bin/node sys/bin/npx sys/lib");
}

#[test]
fn programs_of_python_are_found_in_their_environments() {
    let machine = Machine::new();
    let tool = "home/.local/share/uv/tools/mcp-server-time";
    machine.file(&format!("{tool}/pyvenv.cfg"), "");
    machine.link(
        &format!("{tool}/bin/python"),
        &format!("{}/sys/bin/python3", machine.root.display()),
    );
    let first = format!("#!{}/{tool}/bin/python\n", machine.root.display());
    machine.program(&format!("{tool}/bin/mcp-server-time"), &first);
    machine.link(
        "home/.local/bin/mcp-server-time",
        "../share/uv/tools/mcp-server-time/bin/mcp-server-time",
    );
    let base = "sys/bin/python3 sys/lib";
    let cases = [
        ("uvx mcp-server-time --x", Ok(format!("{tool}/bin/mcp-server-time --x | {tool} {base}"))),
        (
            "mcp-server-time",
            Ok(format!("mcp-server-time | home/.local/bin/mcp-server-time {tool} {base}")),
        ),
        (
            "ROOT/home/.local/share/uv/tools/mcp-server-time/bin/python -m x",
            Ok(format!("{tool}/bin/python -m x | {tool} {base}")),
        ),
        ("python3 -m absent", Ok(format!("python3 -m absent | {base}"))),
        ("uvx mcp-server-time==1.0", Err(())),
        ("uvx absent", Err(())),
        ("uvx git+https://x.example/y", Err(())),
        ("absent", Err(())),
    ];
    for (line, expected) in cases {
        assert_eq!(machine.located(line).map_err(drop), expected, "{line}");
    }
}

/// Whatever a definition names: no home, no workspace, no consent of the user and no whole disk is opened.
#[test]
fn only_program_directories_are_opened() {
    let machine = Machine::new();
    machine.file("home/package.json", "{}");
    machine.file("home/Downloads/server.js", "");
    machine.file("home/.agentry/x/package.json", "{}");
    machine.file("home/.agentry/x/server.js", "");
    machine.file("home/project/server.js", "");
    machine.file("home/projects/p/package.json", "{}");
    machine.file("home/projects/p/dist/server.js", "");
    machine.file("home/projects/node_modules/q/index.js", "");
    machine.program("home/bin/tool", "\u{7f}ELF");
    machine.file("home/taxes.txt", "");
    machine.link("home/project/taxes.js", "../taxes.txt");
    machine.link("home/project/link.js", "../Downloads/server.js");
    let node = "sys/bin/node sys/lib";
    let cases = [
        ("node ROOT/home/Downloads/server.js", format!("{node} home/Downloads/server.js")),
        ("node ROOT/home/.agentry/x/server.js", node.to_owned()),
        ("node server.js", node.to_owned()),
        ("node link.js", format!("{node} home/Downloads/server.js")),
        (
            "node ROOT/home/projects/p/dist/server.js",
            format!("home/projects/node_modules {node} home/projects/p"),
        ),
        (
            "node --require ROOT/home/Downloads/server.js ROOT/home",
            format!("{node} home/Downloads/server.js"),
        ),
        ("node -e ROOT/home/Downloads/server.js", node.to_owned()),
        ("ROOT/home/bin/tool", "home/bin/tool".to_owned()),
        // A document is no script, whatever it is called.
        ("node ROOT/home/taxes.txt", node.to_owned()),
        ("node taxes.js", node.to_owned()),
        // An argument of a program is data, which the policy decides about.
        ("ROOT/home/bin/tool ROOT/home/Downloads/server.js", "home/bin/tool".to_owned()),
    ];
    for (line, expected) in cases {
        let found = machine.located(line).unwrap();
        let files = found.split(" | ").nth(1).unwrap_or_default();
        assert_eq!(files, expected, "{line}");
    }
}

#[test]
fn shims_of_version_managers_see_their_versions() {
    let machine = Machine::new();
    let shim = "#!/usr/bin/env bash\n";
    machine.program("home/.pyenv/shims/python3", shim);
    machine.file("home/.pyenv/versions/3.12/bin/python3", "");
    machine.program("home/.asdf/shims/node", shim);
    machine.file("home/.asdf/installs/nodejs/22/bin/node", "");
    // A directory of this name without versions, and one whose versions are in the home directory.
    machine.program("home/other/shims/tool", shim);
    machine.program("home/shims/tool", shim);
    machine.file("home/versions/1/tool", "");
    let cases = [
        ("ROOT/home/.pyenv/shims/python3 -m x", "home/.pyenv"),
        ("ROOT/home/.asdf/shims/node -e 1", "home/.asdf"),
        ("ROOT/home/other/shims/tool", "home/other/shims/tool"),
        ("ROOT/home/shims/tool", "home/shims/tool"),
    ];
    for (line, expected) in cases {
        let found = machine.located(line).unwrap();
        assert_eq!(found.split(" | ").nth(1), Some(expected), "{line}");
    }
}
