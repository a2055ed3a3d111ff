//! The machine itself: clock, services, packages, tracing.

use super::Sign::{Prefix, Short, Unless, Word};
use super::harmless::{CRONTAB, DATE, HOSTNAME, NO_EQUALS, NOTHING};
use super::{DELETE, Group, OPTIONS, RUN, VERB, WRITE, exact, long};

super::groups! {
    ["apt" "apt-get" "apt-cache"] [] RUN [
        Short('o'), Short('c'), long("--option"), long("--config-file")
    ];
    ["brew"] ["ruby" "irb"] RUN [VERB];
    ["crontab"] [] RUN [Unless(CRONTAB)];
    ["date" "gdate"] [] WRITE [
        long("--set"), Unless(DATE), Prefix("-s"), Prefix("-us"), Prefix("-Rs")
    ];
    ["dmesg"] [] WRITE [
        Short('C'), Short('c'), Short('D'), Short('E'), Short('n'), long("--clear"),
        long("--read-clear"), long("--console-off"), long("--console-on"), long("--console-level")
    ];
    ["dpkg"] [] RUN [
        Prefix("--pre-invoke"), Prefix("--post-invoke"), Prefix("--status-logger"),
        Prefix("--root"), Prefix("--instdir"), Prefix("--admindir"), Prefix("--log"),
        Prefix("--unpack"), Prefix("--configure"), Prefix("--install"), Prefix("--remove"),
        Prefix("--purge"), Prefix("--force"), Prefix("--set-selections"),
        Prefix("--clear-selections"), Prefix("-i"), Prefix("-r"), Prefix("-P"), Prefix("-x"),
        Prefix("-X"), Prefix("-e"), Prefix("-R")
    ];
    ["dpkg-query"] [] OPTIONS [Prefix("--admindir"), Prefix("--root")];
    ["flatpak"] [] RUN [exact("--command")];
    ["flatpak"] [] WRITE [exact("--filesystem")];
    ["hostname"] [] WRITE [Unless(HOSTNAME)];
    ["journalctl"] [] DELETE [Prefix("--vacuum")];
    ["journalctl"] [] WRITE [
        long("--rotate"), long("--flush"), long("--sync"), long("--relinquish-var"),
        long("--smart-relinquish-var"), long("--setup-keys"), long("--update-catalog"),
        long("--cursor-file")
    ];
    ["mount"] [] WRITE [Unless(NOTHING)];
    ["nix"] [] RUN [
        exact("--impure"), exact("--option"), exact("--expr"), exact("--file"), exact("--store"),
        exact("--eval-store"), exact("--builders"), exact("--command"), exact("--include"),
        exact("--override-input"), exact("--post-build-hook"), exact("--plugin-files"),
        exact("--extra-plugin-files"), exact("--extra-sandbox-paths"), exact("--out-link"),
        exact("--write-to"), exact("--profile"), exact("--accept-flake-config"), Short('c'),
        Short('f'), Short('o'), Short('I')
    ];
    ["parallel"] [] RUN [
        Short('S'), long("--sshlogin"), long("--ssh"), long("--results"), long("--joblog"),
        long("--tmpdir"), long("--profile"), long("--sshloginfile"), long("--workdir"),
        long("--compress-program"), long("--transferfile"), long("--return"), long("--cleanup"),
        long("--basefile"), long("--tmux"), long("--filter-hosts"), long("--sqlworker"),
        long("--sql"), long("--shebang")
    ];
    ["parallel"] [] OPTIONS [Short('J')];
    ["rpm"] [] RUN [
        Prefix("--eval"), Prefix("-E"), Prefix("--define"), Prefix("-D"), Prefix("--pipe"),
        Prefix("--root"), Prefix("--dbpath"), Prefix("--macros"), Prefix("--rcfile"),
        Prefix("--load"), Prefix("--import"), Prefix("-U"), Prefix("-F"), Prefix("-e"),
        Prefix("--install"), Prefix("--upgrade"), Prefix("--freshen"), Prefix("--erase"),
        Prefix("--rebuilddb"), Prefix("--initdb"), Prefix("--restore"), Prefix("--setperms"),
        Prefix("--setugids"), Prefix("--predefine"), Word("-i"), Prefix("-iv"), Prefix("-ih"),
        Prefix("-ivh")
    ];
    ["perf"] ["script"] RUN [Short('s'), long("--script")];
    ["strace" "ltrace" "perf"] [] WRITE [Short('o')];
    ["sysctl"] [] WRITE [
        Short('w'), Short('p'), Short('f'), long("--write"), long("--load"), long("--system"),
        Unless(NO_EQUALS)
    ];
    ["systemctl"] [] RUN [
        Short('H'), Short('M'), long("--host"), long("--machine"), long("--root"), long("--image")
    ];
    ["systemctl"] ["edit"] WRITE [VERB];
    ["tmux"] [] RUN [Short('f'), Short('c')];
}
