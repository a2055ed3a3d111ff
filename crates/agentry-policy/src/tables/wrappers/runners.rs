//! Programs that run another command somewhere behind their options: which words those take is not
//! told, so every word that may be the command is looked at.

/// One such program, or one of its subcommands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runner {
    /// Its base name.
    pub name: &'static str,
    /// The subcommand, in one word or more; empty if there is none.
    pub subcommand: &'static str,
    /// How many operands may come before the command.
    pub operands: usize,
    /// What a rule for the program itself is worth.
    pub trust: Trust,
}

/// What a rule for such a program says about the command that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nothing: the command is judged as well.
    Same,
    /// Nothing either, and the command runs in another place.
    Elsewhere,
    /// Whoever allows it allows what it runs: only rules against the command count.
    Package,
}

/// The rows of a program, by its base name.
pub fn runners(name: &str) -> impl Iterator<Item = &'static Runner> {
    let is_loader =
        name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld64.so.2";
    let name = if is_loader { "ld.so".to_owned() } else { name.to_owned() };
    RUNNERS.iter().filter(move |runner| runner.name == name)
}

const fn same(name: &'static str, operands: usize) -> Runner {
    Runner { name, subcommand: "", operands, trust: Trust::Same }
}

const fn sub(name: &'static str, subcommand: &'static str, operands: usize) -> Runner {
    Runner { name, subcommand, operands, trust: Trust::Same }
}

const fn elsewhere(name: &'static str, subcommand: &'static str, operands: usize) -> Runner {
    Runner { name, subcommand, operands, trust: Trust::Elsewhere }
}

const fn package(name: &'static str, subcommand: &'static str, operands: usize) -> Runner {
    Runner { name, subcommand, operands, trust: Trust::Package }
}

/// Options with several values: every word may be the command.
const ANY: usize = 64;

/// The table.
pub const RUNNERS: &[Runner] = &[
    // The same command with other limits, another name or another keyboard.
    same("arch", 0),
    sub("asdf", "exec", 0),
    same("capsh", 0),
    same("cgexec", 0),
    same("choom", 0),
    same("catchsegv", 0),
    same("chpst", 0),
    same("chronic", 0),
    same("cpulimit", 0),
    same("daemonize", 0),
    same("dbus-launch", 0),
    same("dbus-run-session", 0),
    same("dotenv", 0),
    sub("dotenvx", "run", 0),
    same("dumb-init", 0),
    same("eatmydata", 0),
    same("entr", 0),
    same("env-cmd", 0),
    same("envdir", 1),
    same("envuidgid", 1),
    same("fakeroot", 0),
    same("firejail", 0),
    same("gdb", 0),
    same("i386", 0),
    same("ld.so", 0),
    same("linux32", 0),
    same("linux64", 0),
    same("lldb", 0),
    sub("nodenv", "exec", 0),
    same("numactl", 0),
    sub("perf", "record", 0),
    sub("perf", "stat", 0),
    sub("perf", "trace", 0),
    same("prlimit", 0),
    same("proxychains", 0),
    same("proxychains4", 0),
    sub("pyenv", "exec", 0),
    sub("rbenv", "exec", 0),
    same("rlwrap", 0),
    sub("rr", "record", 0),
    same("runcon", ANY),
    same("s6-setsid", 0),
    same("s6-softlimit", 0),
    same("setarch", 1),
    same("setlock", 1),
    same("setpriv", 0),
    same("setuidgid", 1),
    same("sg", 1),
    same("softlimit", 0),
    same("ssh-agent", 0),
    same("sshpass", 0),
    same("start-stop-daemon", 0),
    same("systemd-inhibit", 0),
    same("tini", 0),
    same("torify", 0),
    same("torsocks", 0),
    same("trickle", 0),
    same("uclampset", 0),
    same("valgrind", 0),
    same("with-contenv", 0),
    same("x86_64", 0),
    same("xcrun", 0),
    same("xvfb-run", 0),
    // Somebody else, or somewhere else.
    elsewhere("aws-vault", "exec", 1),
    elsewhere("bwrap", "", ANY),
    elsewhere("chamber", "exec", 1),
    elsewhere("direnv", "exec", 1),
    elsewhere("distrobox", "enter", 1),
    elsewhere("docker-compose", "exec", 1),
    elsewhere("docker-compose", "run", 1),
    elsewhere("doppler", "run", 0),
    elsewhere("fakechroot", "", 0),
    elsewhere("gosu", "", 1),
    elsewhere("ip", "netns exec", 1),
    elsewhere("lxc", "exec", 1),
    elsewhere("launchctl", "submit", 0),
    elsewhere("machinectl", "shell", 1),
    elsewhere("mosh", "", 1),
    elsewhere("op", "run", 0),
    elsewhere("proot", "", 0),
    elsewhere("rsh", "", 1),
    elsewhere("s6-setuidgid", "", 1),
    elsewhere("sandbox-exec", "", 0),
    elsewhere("sops", "exec-env", 1),
    elsewhere("sops", "exec-file", 1),
    elsewhere("su-exec", "", 1),
    elsewhere("systemd-nspawn", "", 0),
    elsewhere("toolbox", "run", 0),
    elsewhere("wsl", "", 0),
    // Terminals and tools with a language of options of their own.
    package("flatpak", "run", 1),
    package("hyperfine", "", ANY),
    package("kubectl", "debug", 1),
    package("kubectl", "run", 1),
    package("screen", "", 0),
    package("tmux", "new", 0),
    package("tmux", "new-session", 0),
    package("tmux", "new-window", 0),
    package("tmux", "neww", 0),
    package("tmux", "respawn-pane", 0),
    package("tmux", "run-shell", 0),
    package("tmux", "split-window", 0),
    package("vagrant", "ssh", 1),
    package("xterm", "", 0),
    // Programs of packages, of a project or of a tool chain.
    package("bun", "x", 0),
    package("bundle", "exec", 0),
    package("bunx", "", 0),
    package("conda", "run", 0),
    package("hatch", "run", 0),
    package("mamba", "run", 0),
    package("mise", "exec", 1),
    package("mise", "x", 1),
    package("nix", "develop", 1),
    package("nix", "run", 1),
    package("nix", "shell", ANY),
    package("nix-shell", "", ANY),
    package("npm", "exec", 0),
    package("npm", "x", 0),
    package("npx", "", 0),
    package("pdm", "run", 0),
    package("pipenv", "run", 0),
    package("pipx", "run", 0),
    package("pnpm", "dlx", 0),
    package("pnpm", "exec", 0),
    package("pnpx", "", 0),
    package("poetry", "run", 0),
    package("rustup", "run", 1),
    package("uv", "run", 0),
    package("uv", "tool run", 0),
    package("uvx", "", 0),
    package("yarn", "dlx", 0),
    package("yarn", "exec", 0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_unique() {
        for (at, row) in RUNNERS.iter().enumerate() {
            let same =
                |other: &&Runner| (other.name, other.subcommand) == (row.name, row.subcommand);
            assert_eq!(RUNNERS.iter().filter(same).count(), 1, "{at} {}", row.name);
        }
        assert_eq!(runners("ld-linux-x86-64.so.2").count(), 1);
        assert_eq!(runners("ls").count(), 0);
    }
}
