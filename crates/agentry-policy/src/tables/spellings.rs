//! Other spellings of the same command: a rule against one of them holds for all.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Programs of which `PROGRAM-x` is `PROGRAM x`: `/usr/lib/git-core/git-push`.
const DASHED: &[&str] = &["cargo", "docker", "gh", "git", "kubectl", "podman"];

/// The program and the subcommand of a dashed name.
pub fn dashed(name: &str) -> Option<(&'static str, &str)> {
    let (program, subcommand) = name.split_once('-')?;
    let program = DASHED.iter().find(|known| **known == program)?;
    (!subcommand.is_empty()).then_some((*program, subcommand))
}

/// Programs that are installed under several names.
const NAMES: &[&[&str]] = &[
    &["bat", "batcat"],
    &["fd", "fdfind"],
    &["grep", "egrep", "fgrep", "rgrep"],
    &["lua", "luajit"],
    &["make", "gmake"],
    &["node", "nodejs"],
    &["pip", "pip2", "pip3"],
    &["python", "python2", "python3"],
    &["awk", "gawk", "mawk", "nawk"],
    &["rm", "grm"],
    &["cp", "gcp"],
    &["mv", "gmv"],
    &["dd", "gdd"],
    &["chmod", "gchmod"],
    &["chown", "gchown"],
    &["ln", "gln"],
    &["sed", "gsed"],
    &["tar", "gtar", "bsdtar"],
    &["find", "gfind"],
    &["terraform", "tofu"],
    &["vi", "vim", "nvim"],
    &["gpg", "gpg2"],
    &["nc", "ncat", "netcat", "nc.openbsd", "nc.traditional"],
];

/// The names that a program goes by; empty if it has only one.
pub fn names(name: &str) -> &'static [&'static str] {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let plain = plain.strip_suffix('-').unwrap_or(plain);
    BY_NAME.get(name).or_else(|| BY_NAME.get(plain)).copied().unwrap_or(&[])
}

static BY_NAME: LazyLock<HashMap<&str, &'static [&'static str]>> = LazyLock::new(|| {
    NAMES.iter().flat_map(|group| group.iter().map(move |name| (*name, *group))).collect()
});

/// Subcommands with the same meaning, in one word or more: program, spellings.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("apt", &["autoremove", "auto-remove", "autopurge"]),
    ("brew", &["list", "ls"]),
    ("brew", &["uninstall", "remove", "rm"]),
    ("bun", &["add", "a"]),
    ("bun", &["install", "i"]),
    ("bun", &["remove", "rm"]),
    ("cargo", &["build", "b"]),
    ("cargo", &["check", "c"]),
    ("cargo", &["doc", "d"]),
    ("cargo", &["remove", "rm"]),
    ("cargo", &["run", "r"]),
    ("cargo", &["test", "t"]),
    ("composer", &["remove", "rm", "uninstall"]),
    ("composer", &["require", "r"]),
    ("composer", &["update", "u", "upgrade"]),
    ("conda", &["remove", "uninstall"]),
    ("conda", &["update", "upgrade"]),
    ("dnf", &["install", "in", "localinstall"]),
    ("dnf", &["remove", "rm", "erase"]),
    ("dnf", &["upgrade", "up", "update"]),
    ("docker", &["build", "image build", "buildx build", "builder build", "buildx b"]),
    ("docker", &["cp", "container cp"]),
    ("docker", &["create", "container create"]),
    ("docker", &["exec", "container exec"]),
    ("docker", &["images", "image ls", "image list"]),
    ("docker", &["kill", "container kill"]),
    ("docker", &["load", "image load"]),
    ("docker", &["ps", "container ls", "container ps", "container list"]),
    ("docker", &["pull", "image pull"]),
    ("docker", &["push", "image push"]),
    ("docker", &["restart", "container restart"]),
    ("docker", &["rm", "container rm", "container remove"]),
    ("docker", &["rmi", "image rm", "image remove"]),
    ("docker", &["run", "container run"]),
    ("docker", &["save", "image save"]),
    ("docker", &["start", "container start"]),
    ("docker", &["stop", "container stop"]),
    ("docker", &["volume rm", "volume remove"]),
    ("docker", &["network rm", "network remove"]),
    ("gem", &["install", "i"]),
    ("gh", &["issue create", "issue new"]),
    ("gh", &["pr create", "pr new"]),
    ("gh", &["pr checkout", "co"]),
    ("gh", &["release create", "release new"]),
    ("gh", &["repo create", "repo new"]),
    ("git", &["add", "stage"]),
    ("helm", &["uninstall", "un", "del", "delete"]),
    ("hg", &["commit", "ci"]),
    ("hg", &["remove", "rm"]),
    ("hg", &["update", "up", "checkout", "co"]),
    ("npm", &["ci", "clean-install", "ic", "install-clean", "isntall-clean"]),
    ("npm", &["dist-tag", "dist-tags"]),
    ("npm", &["exec", "x"]),
    ("npm", &["init", "create", "innit"]),
    (
        "npm",
        &[
            "install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal",
            "isntall", "add",
        ],
    ),
    ("npm", &["login", "adduser", "add-user"]),
    ("npm", &["owner", "author"]),
    ("npm", &["run", "run-script", "rum", "urn"]),
    ("npm", &["test", "t", "tst"]),
    ("npm", &["uninstall", "un", "unlink", "remove", "rm", "r"]),
    ("npm", &["update", "up", "upgrade", "udpate"]),
    ("npm", &["version", "verison"]),
    ("pnpm", &["install", "i"]),
    ("pnpm", &["remove", "rm", "un", "uninstall"]),
    ("pnpm", &["run", "run-script"]),
    ("pnpm", &["test", "t", "tst"]),
    ("pnpm", &["update", "up", "upgrade"]),
    ("svn", &["checkout", "co"]),
    ("svn", &["commit", "ci"]),
    ("svn", &["copy", "cp"]),
    ("svn", &["delete", "del", "remove", "rm"]),
    ("svn", &["move", "mv", "rename", "ren"]),
    ("svn", &["switch", "sw"]),
    ("svn", &["update", "up"]),
    ("tmux", &["kill-session", "kill-ses"]),
    ("tmux", &["new-session", "new"]),
    ("tmux", &["new-window", "neww"]),
    ("tmux", &["run-shell", "run"]),
    ("tmux", &["send-keys", "send"]),
    ("tmux", &["split-window", "splitw"]),
    ("yarn", &["npm publish", "publish"]),
];

/// Programs that take the subcommands of another one.
const LIKE: &[(&str, &str)] =
    &[("podman", "docker"), ("nerdctl", "docker"), ("yum", "dnf"), ("apt-get", "apt")];

/// The groups of subcommands of a program that mean the same.
pub fn synonyms(program: &str) -> impl Iterator<Item = &'static [&'static str]> {
    let like = LIKE.iter().find(|(name, _)| *name == program).map_or(program, |(_, like)| like);
    let start = SYNONYMS.partition_point(|(name, _)| *name < like);
    let rest = SYNONYMS.get(start..).unwrap_or_default();
    let like = like.to_owned();
    rest.iter().take_while(move |(name, _)| *name == like).map(|(_, group)| *group)
}

/// Which words a program takes in part, as long as they are the start of only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortened {
    /// None.
    No,
    /// Its subcommand: `npm publis`.
    Subcommand,
    /// Every word: `ip a a`.
    All,
}

/// How a program takes shortened subcommands.
pub fn shortened(program: &str) -> Shortened {
    match program {
        "artisan" | "bundle" | "bundler" | "composer" | "drush" | "fossil" | "gem" | "gradle"
        | "gradlew" | "hg" | "mysqladmin" | "npm" | "rails" | "thor" | "tmux" => {
            Shortened::Subcommand
        }
        "bridge" | "ip" | "nmcli" | "tc" => Shortened::All,
        _ => Shortened::No,
    }
}

/// Whether a program takes the start of a long option for the whole: `rm --recurs`. Where nobody
/// knows, it may.
pub fn shortens_options(program: &str) -> bool {
    const EXACT: &[&str] = &[
        "bat",
        "bun",
        "cargo",
        "deno",
        "docker",
        "fd",
        "gh",
        "go",
        "helm",
        "jj",
        "just",
        "kubectl",
        "node",
        "pnpm",
        "podman",
        "rg",
        "rustc",
        "rustup",
        "terraform",
        "tofu",
        "uv",
    ];
    !EXACT.contains(&program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_program_stand_together() {
        assert!(SYNONYMS.is_sorted_by_key(|(name, _)| name));
        assert_eq!(synonyms("podman").count(), synonyms("docker").count());
        assert_eq!(synonyms("ls").count(), 0);
    }

    #[test]
    fn names_of_programs() {
        assert_eq!(dashed("git-push"), Some(("git", "push")));
        assert_eq!(dashed("docker-compose"), Some(("docker", "compose")));
        assert_eq!(dashed("apt-get"), None);
        assert!(names("python3.12").contains(&"python"));
        assert!(names("pip").contains(&"pip3"));
        assert_eq!(names("ls"), [""; 0]);
    }
}
