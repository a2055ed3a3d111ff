//! Finds the files that the program of a server needs: the program itself, its interpreter and the package
//! that it was installed with. A server sees these, read-only, and nothing else that the policy does not
//! open. `npx`, `uvx` and the like are replaced by the installed program, because they would download it.

mod launcher;
mod node;
mod python;
mod tree;

use agentry_posix::unix::fs::PermissionsExt as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use launcher::PackageLaunch;
use tree::FileTrees;

/// The most interpreters of interpreters, and the most links in a row.
const MOST_HOPS: usize = 8;
/// The most bytes of the first line of a script.
const FIRST_LINE: u64 = 512;

/// Where programs are looked for.
#[derive(Debug, Clone, Default)]
pub struct ProgramPlaces {
    /// The directories of `PATH`.
    pub path: Vec<PathBuf>,
    /// The home directory of the user.
    pub home: Option<PathBuf>,
    /// The workspace.
    pub workspace: PathBuf,
    /// Where the program starts, and with it relative paths.
    pub directory: PathBuf,
    /// Directories that no program is installed in, such as Agentry's home.
    pub closed: Vec<PathBuf>,
    /// Whether the server has a network, so that a launcher can download what is missing.
    pub has_network: bool,
}

/// A program as it is started here, and the files that it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledProgram {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directories and files of its package and its interpreter, outside the workspace.
    pub files: ProgramFiles,
}

/// The files of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ProgramFiles {
    /// Installed packages and interpreters.
    pub packages: Vec<PathBuf>,
    /// The source trees of programs that run where they are developed. They may have secrets in them.
    pub projects: Vec<PathBuf>,
}

impl ProgramFiles {
    /// All paths.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.packages.iter().chain(&self.projects)
    }
}

/// Finds a program by its command line; returns the reason if it is not installed.
pub fn locate(argv: &[String], places: &ProgramPlaces) -> Result<InstalledProgram, String> {
    let argv = match PackageLaunch::read(argv) {
        Some(launch) => match launch.installed(places) {
            Some(argv) => argv,
            None if places.has_network => argv.to_vec(),
            None => return Err(launch.missing()),
        },
        None => argv.to_vec(),
    };
    let name = argv.first().map(String::as_str).unwrap_or_default();
    let program =
        find(name, places).ok_or_else(|| format!("the program `{name}` is not installed"))?;
    let mut trees = FileTrees::new(places);
    trees.add_program(&program);
    if let Some(script) = script(&argv, places) {
        trees.add_script(&script);
    }
    Ok(InstalledProgram { argv, files: trees.into_files() })
}

/// Finds a program as a shell would: by its path, or in the directories of `PATH`.
fn find(name: &str, places: &ProgramPlaces) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(places.directory.join(name)).filter(|path| is_executable(path));
    }
    let found = places.path.iter().map(|directory| directory.join(name));
    found.into_iter().find(|path| !name.is_empty() && is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// The script that an interpreter is started with: its first argument that is no option.
fn script(argv: &[String], places: &ProgramPlaces) -> Option<PathBuf> {
    const INTERPRETERS: &[&str] =
        &["bun", "deno", "java", "node", "nodejs", "perl", "php", "python", "ruby", "tsx"];
    let (program, arguments) = argv.split_first()?;
    let name = Path::new(program).file_name()?.to_str()?;
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&base) {
        return None;
    }
    // `-m` and `-c` of Python: what follows is no file.
    let is_code = |word: &&String| matches!(word.as_str(), "-m" | "-c" | "-e" | "--eval");
    let words = arguments.iter().take_while(|word| !is_code(word));
    let files = words.filter(|word| !word.starts_with('-')).map(|word| places.directory.join(word));
    // `bun run x.ts`: a word before the file is a command of the interpreter.
    files.take(2).find(|path| path.is_file()).filter(|path| is_code_file(path))
}

/// Whether a file is code, by its name and by that of the file that it leads to: a definition cannot open a
/// document by calling it a script.
fn is_code_file(path: &Path) -> bool {
    const CODE: &[&str] = &[
        "cjs", "cts", "jar", "js", "jsx", "mjs", "mts", "php", "pl", "py", "pyz", "rb", "ts", "tsx",
    ];
    let has_ending = |path: &Path| {
        path.extension().and_then(|it| it.to_str()).is_some_and(|it| CODE.contains(&it))
    };
    has_ending(path) && fs::canonicalize(path).is_ok_and(|real| has_ending(&real))
}

/// The interpreter in the first line of a script, found on this machine.
fn interpreter(script: &Path, places: &ProgramPlaces) -> Option<PathBuf> {
    let mut start = Vec::new();
    fs::File::open(script).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if Path::new(first).file_name()? != "env" {
        return find(first, places);
    }
    find(words.find(|word| !word.starts_with('-') && !word.contains('='))?, places)
}

#[cfg(test)]
mod tests;
