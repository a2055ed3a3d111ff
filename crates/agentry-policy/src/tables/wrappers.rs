//! Programs that run another command, and how to find it among their arguments.

pub mod runners;

/// One such program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapper {
    /// Its base name.
    pub name: &'static str,
    /// Whether it changes who runs the command, or where.
    pub reach: Reach,
    /// Options without a value, separated by spaces.
    pub flags: &'static str,
    /// Options with a value, separated by spaces.
    pub valued: &'static str,
    /// How many operands come before the command.
    pub operands: usize,
    /// Whether `NAME=value` before the command sets a variable.
    pub assigns: bool,
    /// How the command is given.
    pub inner: Inner,
}

/// How far a wrapper reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The same user, machine and files: only the inner command is judged.
    Same,
    /// Another user: the wrapper needs a rule of its own.
    User,
    /// Another machine or other files: so it does, and the directory is unknown.
    Place,
}

/// How a wrapper's command is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// As words.
    Words,
    /// As words that a shell gets, joined by spaces.
    Text,
    /// As words to which unknown ones are added: `xargs`.
    Fed,
    /// By an option with a text: `su -c`.
    Option,
    /// As a template: `parallel`.
    Template,
}

/// What an option of a wrapper does besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// Reads the file that it names.
    Read,
    /// Writes it.
    Write,
    /// Runs the command in this directory.
    Enter,
    /// Runs this text with a shell.
    Text,
    /// Splits this text into further arguments.
    Split,
    /// Replaces this word in the command by input.
    Replace,
    /// Runs no command at all.
    Nothing,
    /// Starts a shell if no command is given.
    Shell,
    /// Does not join the words for a shell.
    Exact,
    /// Names the command, whose arguments come later.
    Entry,
}

/// Options with an effect: wrapper, option, effect.
pub const EXTRAS: &[(&str, &str, Extra)] = &[
    ("env", "-C", Extra::Enter),
    ("env", "--chdir", Extra::Enter),
    ("env", "-S", Extra::Split),
    ("env", "--split-string", Extra::Split),
    ("time", "-o", Extra::Write),
    ("time", "--output", Extra::Write),
    ("strace", "-o", Extra::Write),
    ("ltrace", "-o", Extra::Write),
    ("xargs", "-a", Extra::Read),
    ("xargs", "--arg-file", Extra::Read),
    ("xargs", "-I", Extra::Replace),
    ("parallel", "-a", Extra::Read),
    ("parallel", "--arg-file", Extra::Read),
    ("sudo", "-D", Extra::Enter),
    ("sudo", "--chdir", Extra::Enter),
    ("sudo", "-s", Extra::Shell),
    ("sudo", "--shell", Extra::Shell),
    ("sudo", "-i", Extra::Shell),
    ("sudo", "--login", Extra::Shell),
    ("sudo", "-l", Extra::Nothing),
    ("sudo", "--list", Extra::Nothing),
    ("sudo", "-v", Extra::Nothing),
    ("sudo", "--validate", Extra::Nothing),
    ("sudo", "-K", Extra::Nothing),
    ("sudo", "-V", Extra::Nothing),
    ("sudo", "--version", Extra::Nothing),
    ("doas", "-s", Extra::Shell),
    ("doas", "-L", Extra::Nothing),
    ("su", "-c", Extra::Text),
    ("su", "--command", Extra::Text),
    ("runuser", "-c", Extra::Text),
    ("runuser", "--command", Extra::Text),
    ("script", "-c", Extra::Text),
    ("script", "--command", Extra::Text),
    ("flock", "-c", Extra::Text),
    ("flock", "--command", Extra::Text),
    ("docker", "--entrypoint", Extra::Entry),
    ("watch", "-x", Extra::Exact),
    ("watch", "--exec", Extra::Exact),
    ("ssh", "-E", Extra::Write),
    ("ssh", "-V", Extra::Nothing),
    ("ssh", "-N", Extra::Nothing),
    ("ionice", "-p", Extra::Nothing),
    // With a user, the words behind are the command.
    ("runuser", "-u", Extra::Exact),
    ("runuser", "--user", Extra::Exact),
];

const PLAIN: Wrapper = Wrapper {
    name: "",
    reach: Reach::Same,
    flags: "",
    valued: "",
    operands: 0,
    assigns: false,
    inner: Inner::Words,
};

/// The table.
pub const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "env",
        flags: "-i -0 -v - --ignore-environment --null --debug --block-signal --default-signal --ignore-signal --list-signal-handling",
        valued: "-u --unset -C --chdir -S --split-string -a --argv0",
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        name: "timeout",
        flags: "-f -p -v --foreground --preserve-status --verbose",
        valued: "-s --signal -k --kill-after",
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "nice", flags: "-#", valued: "-n --adjustment", ..PLAIN },
    Wrapper {
        name: "ionice",
        flags: "-t --ignore",
        valued: "-c --class -n --classdata -p --pid -P -u",
        ..PLAIN
    },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper {
        name: "time",
        flags: "-a -p -v -q -l -h --append --portability --verbose --quiet",
        valued: "-f --format -o --output",
        ..PLAIN
    },
    Wrapper { name: "stdbuf", valued: "-i -o -e --input --output --error", ..PLAIN },
    Wrapper { name: "setsid", flags: "-c -f -w --ctty --fork --wait", ..PLAIN },
    Wrapper {
        name: "xargs",
        flags: "-0 -r -t -x -o --null --no-run-if-empty --verbose --exit --open-tty",
        valued: "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars",
        inner: Inner::Fed,
        ..PLAIN
    },
    Wrapper {
        name: "parallel",
        flags: "-0 -k -v -t -X -m -N0 --keep-order --bar --eta --verbose --null --line-buffer --dry-run --no-notice --will-cite",
        valued: "-a --arg-file -j --jobs -n -N -P --max-procs -d --delimiter --delay --timeout --retries -C --colsep --halt",
        inner: Inner::Template,
        ..PLAIN
    },
    Wrapper {
        name: "watch",
        flags: "-b -c -C -d -e -g -p -r -t -w -x --beep --color --no-color --differences --errexit --chgexit --precise --no-rerun --no-title --no-wrap --exec",
        valued: "-n --interval -q --equexit",
        inner: Inner::Text,
        ..PLAIN
    },
    Wrapper {
        name: "chrt",
        flags: "-a -b -f -i -o -r -d -R -v --all-tasks --batch --fifo --idle --other --rr --deadline --reset-on-fork --verbose",
        valued: "-T -P -D",
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "taskset", flags: "-a -c --all-tasks --cpu-list", operands: 1, ..PLAIN },
    Wrapper { name: "unbuffer", flags: "-p", ..PLAIN },
    Wrapper {
        name: "strace",
        flags: "-c -C -d -D -f -ff -i -k -n -q -qq -r -t -tt -ttt -T -v -w -x -xx -y -yy -z -Z -F",
        valued: "-a -e -o -s -S -O -I -b -P -X -U",
        ..PLAIN
    },
    Wrapper {
        name: "ltrace",
        flags: "-b -c -C -f -i -L -r -S -t -tt -ttt -T",
        valued: "-a -A -e -l -n -o -s -w -x",
        ..PLAIN
    },
    Wrapper { name: "caffeinate", flags: "-d -i -m -s -u", valued: "-t -w", ..PLAIN },
    Wrapper {
        name: "faketime",
        flags: "-m -f --exclude-monotonic",
        valued: "-p",
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "catchsegv", ..PLAIN },
    Wrapper { name: "busybox", ..PLAIN },
    Wrapper { name: "toybox", ..PLAIN },
    Wrapper {
        // Writes a transcript as well, so it needs a rule of its own.
        name: "script",
        reach: Reach::User,
        flags: "-a -e -f -q --append --return --flush --quiet",
        valued: "-c --command -E --echo -o --output-limit",
        inner: Inner::Option,
        ..PLAIN
    },
    Wrapper {
        // Makes its lock file, so it needs a rule of its own.
        name: "flock",
        reach: Reach::User,
        flags: "-e -x -n -o -s -u -F --exclusive --nonblock --nb --shared --unlock --close --no-fork --verbose",
        valued: "-E --conflict-exit-code -w --wait --timeout -c --command",
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        reach: Reach::User,
        flags: "-A -b -B -E -H -i -K -k -l -n -N -P -S -s -v -V --askpass --background --bell --preserve-env --set-home --login --remove-timestamp --reset-timestamp --list --non-interactive --preserve-groups --stdin --shell --validate --version",
        valued: "-C --close-from -D --chdir -g --group -h --host -p --prompt -R --chroot -r --role -T --command-timeout -t --type -u --user -U --other-user",
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "doas", reach: Reach::User, flags: "-n -s -L", valued: "-u -C -a", ..PLAIN },
    Wrapper {
        name: "su",
        reach: Reach::User,
        flags: "- -l -m -p -P -f --login --preserve-environment --fast --pty",
        valued: "-c --command -g --group -G --supp-group -s --shell -w --whitelist-environment",
        inner: Inner::Option,
        ..PLAIN
    },
    Wrapper {
        name: "runuser",
        reach: Reach::User,
        flags: "- -l -m -p -f --login --preserve-environment --fast --pty",
        valued: "-c --command -g --group -G --supp-group -s --shell -u --user -w --whitelist-environment",
        ..PLAIN
    },
    Wrapper {
        name: "pkexec",
        reach: Reach::User,
        flags: "--disable-internal-agent --keep-cwd",
        valued: "-u --user",
        ..PLAIN
    },
    Wrapper {
        name: "ssh",
        reach: Reach::Place,
        flags: "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -tt -V -v -vv -vvv -X -x -Y -y",
        valued: "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
        operands: 1,
        inner: Inner::Text,
        ..PLAIN
    },
    Wrapper {
        name: "chroot",
        reach: Reach::Place,
        flags: "--skip-chdir",
        valued: "--userspec --groups -u -g -G",
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "unshare",
        reach: Reach::Place,
        flags: "-m -u -i -n -p -U -C -T -f -r -c --mount --uts --ipc --net --pid --user --cgroup --time --fork --map-root-user --map-current-user --mount-proc --kill-child",
        valued: "-R --root -w --wd -S --setuid -G --setgid --propagation --map-user --map-group",
        ..PLAIN
    },
    Wrapper {
        name: "nsenter",
        reach: Reach::Place,
        flags: "-a -m -u -i -n -p -C -U -T -F -e -Z --all --mount --uts --ipc --net --pid --cgroup --user --time --no-fork --preserve-credentials",
        valued: "-t --target -S --setuid -G --setgid -W --wdns",
        ..PLAIN
    },
    Wrapper {
        name: "systemd-run",
        reach: Reach::Place,
        flags: "-t -P -q -G -d -S --user --system --scope --pty --pipe --quiet --collect --same-dir --wait --no-block --remain-after-exit --send-sighup --no-ask-password",
        valued: "-u --unit -p --property --slice --description -E --setenv --uid --gid --nice -M --machine -H --host --service-type --on-active --on-boot --on-calendar --working-directory",
        ..PLAIN
    },
];

/// Programs whose subcommand runs a command elsewhere: name, subcommand, its options.
pub const CONTAINERS: &[(&str, &str, Wrapper)] = &[
    ("docker", "create", RUN),
    ("docker", "exec", EXEC),
    ("docker", "run", RUN),
    ("podman", "create", RUN),
    ("podman", "exec", EXEC),
    ("podman", "run", RUN),
    ("nerdctl", "exec", EXEC),
    ("nerdctl", "run", RUN),
    ("kubectl", "exec", KUBECTL),
    ("oc", "exec", KUBECTL),
];

const EXEC: Wrapper = Wrapper {
    name: "docker",
    reach: Reach::Place,
    flags: "-d -i -t -it -ti --detach --interactive --tty --privileged",
    valued: "-e --env --env-file -u --user -w --workdir --detach-keys",
    operands: 1,
    ..PLAIN
};

const RUN: Wrapper = Wrapper {
    name: "docker",
    reach: Reach::Place,
    flags: "-d -i -t -it -ti -P --detach --interactive --tty --rm --init --privileged --publish-all --read-only --no-healthcheck --oom-kill-disable --sig-proxy --quiet -q",
    valued: "-a --attach --add-host --cap-add --cap-drop -c --cpu-shares --cpus --cpuset-cpus --device --dns --entrypoint -e --env --env-file --expose --gpus --group-add -h --hostname --ip --ipc -l --label --link --log-driver --log-opt -m --memory --mount --name --net --network --network-alias --pid --pids-limit --platform -p --publish --pull --restart --runtime --security-opt --shm-size --stop-signal --stop-timeout --sysctl --tmpfs --ulimit -u --user --userns --uts -v --volume --volumes-from -w --workdir",
    operands: 1,
    ..PLAIN
};

const KUBECTL: Wrapper = Wrapper {
    name: "kubectl",
    reach: Reach::Place,
    flags: "-i -t -it -ti -q --stdin --tty --quiet",
    valued: "-c --container -n --namespace --context --kubeconfig --cluster -f --filename --pod-running-timeout",
    operands: 1,
    ..PLAIN
};

/// Directories whose programs are what their names say.
pub const SYSTEM: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
];

/// Shells that take a program after `-c`, from a file, or from standard input.
pub const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "yash"];

/// Shells of another language.
pub const OTHER_SHELLS: &[&str] = &["fish", "csh", "tcsh", "nu", "elvish", "xonsh", "pwsh", "rc"];

/// The entry of a program, by its base name.
pub fn wrapper(name: &str) -> Option<&'static Wrapper> {
    // Where other tools have the plain names, those of GNU start with a `g`.
    let gnu = ["genv", "gnice", "gnohup", "gstdbuf", "gtime", "gtimeout", "gxargs"];
    let name = if gnu.contains(&name) { name.get(1..).unwrap_or(name) } else { name };
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// What an option does besides.
pub fn extra(wrapper: &str, option: &str) -> Option<Extra> {
    let mut rows = EXTRAS.iter();
    rows.find(|(name, spelled, _)| *name == wrapper && *spelled == option)
        .map(|(_, _, extra)| *extra)
}
