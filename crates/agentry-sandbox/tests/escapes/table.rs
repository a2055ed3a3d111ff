//! The escapes that a shell can try.

use agentry_sandbox::BackEnd;

/// One way out. It worked if the line says `ESCAPED`, if it says a secret, or if the world is damaged.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) only: Option<BackEnd>,
    pub(crate) directory: Option<&'static str>,
    pub(crate) line: &'static str,
}

const fn row(name: &'static str, line: &'static str) -> Row {
    Row { name, only: None, directory: None, line }
}

/// One against what is protected inside of what may be written.
const fn inside(name: &'static str, line: &'static str) -> Row {
    Row { name, only: Some(BackEnd::Namespaces), directory: None, line }
}

pub(crate) const ROWS: &[Row] = &[
    row("write outside", "echo x > $OUT/new; echo x >> $OUT/secret; touch $OUT/deep/new"),
    row("write into the system", "echo x > /usr/agentry-test && echo ESCAPED"),
    row("write into /etc", "echo x > /etc/agentry-test && echo ESCAPED"),
    row("remove outside", "rm -rf $OUT/deep $OUT/secret"),
    row("chmod outside", "chmod 777 $OUT/secret && echo ESCAPED"),
    row(
        "change times and owners outside",
        "touch -d 2001-01-01 $OUT/secret && echo ESCAPED; chown 1 $OUT/secret && echo ESCAPED; setfattr -n user.x -v y $OUT/secret && echo ESCAPED",
    ),
    row(
        "limits of another process",
        "prlimit --pid $VICTIM --nofile=8:8 && echo ESCAPED; renice -n 5 -p $VICTIM && echo ESCAPED",
    ),
    row("shared memory", "try shared-memory $SHARED"),
    row("read outside", "cat $OUT/secret; cat < $OUT/secret; cp $OUT/secret free/s; cat free/s"),
    row("list outside", "ls $OUT/deep && echo ESCAPED"),
    row("read by a link", "ln -s $OUT/secret free/l; cat free/l; echo x > free/l"),
    row("read by a hard link", "ln $OUT/secret free/h && cat free/h"),
    row("read by dots", "cat $WORK/free/../../outside/secret; cd free; cat ../../outside/secret"),
    row(
        "read a secret inside",
        "cat .env; cat free/../.env; cat $WORK/.env; cat /proc/self/cwd/.env",
    ),
    row("read a secret directory", "ls vault && echo ESCAPED; cat vault/key; grep -r . vault"),
    inside("link to a secret", "ln -s .env e; cat e; ln .env h; cat h; ln -L .env g; cat g"),
    inside("move a secret", "mv .env e; cat e; mv vault v; cat v/key"),
    inside("chmod a secret", "chmod 777 .env vault; cat .env vault/key"),
    inside("replace a secret", "rm -f .env; echo x > .env; rm -rf vault; mkdir vault"),
    inside(
        "change what is read-only",
        "echo x > agentry.toml; echo x >> agentry.toml; sed -i s/c/d/ agentry.toml",
    ),
    inside(
        "truncate it",
        "truncate -s 0 agentry.toml; : > agentry.toml; dd if=/dev/null of=agentry.toml",
    ),
    inside(
        "chmod and change it",
        "chmod 777 agentry.toml; chown 0 agentry.toml; echo x > agentry.toml",
    ),
    inside("remove it", "rm -f agentry.toml; unlink agentry.toml"),
    inside(
        "rename it",
        "mv agentry.toml free/t; mv -f free/t agentry.toml; try rename agentry.toml t",
    ),
    inside(
        "rename over it",
        "echo x > n; mv -f n agentry.toml; cp -f --remove-destination n agentry.toml",
    ),
    inside("exchange it", "echo x > n; try exchange n agentry.toml"),
    inside("hard link to it", "ln agentry.toml h && echo x > h"),
    inside("symbolic link to it", "ln -s agentry.toml s; echo x > s; ln -sf free agentry.toml"),
    inside(
        "write by descriptor",
        "exec 3<agentry.toml; echo x > /proc/self/fd/3; echo x > /dev/fd/3",
    ),
    inside("make what is missing", "echo x > agentry.lock; touch agentry.lock; mkdir agentry.lock"),
    inside(
        "rename to what is missing",
        "echo x > n; mv -f n agentry.lock; ln -f free/x agentry.lock; ln -sf n agentry.lock",
    ),
    inside(
        "remove the placeholder",
        "rm -f agentry.lock; echo x > agentry.lock; mv agentry.lock l; echo x > agentry.lock",
    ),
    inside(
        "make a missing directory",
        "mkdir -p deep/missing && echo x > deep/missing/file.toml; mv deep d; mkdir -p deep/missing && echo x > deep/missing/file.toml",
    ),
    inside(
        "rename the parent",
        "mv agents a2; mkdir -p agents; echo x > agents/own.md; try rename agents a3",
    ),
    inside(
        "settings of a nested repository",
        "git -C repo config core.fsmonitor x; echo x > repo/.git/config; mv repo/.git repo/g; mkdir -p repo/.git; echo x > repo/.git/config; mv repo r; cp -r r repo; echo x > repo/.git/config; try exchange repo free",
    ),
    inside(
        "where a file `.git` leads",
        "echo gitdir: ../free > tree/.git; mv tree/.git tree/g; rm -f tree/.git; mkdir tree/.git; ln -sfn ../free tree/.git; mv tree t; mkdir tree",
    ),
    inside("exchange the parent", "mkdir -p fake; echo x > fake/own.md; try exchange fake agents"),
    inside("remove the parent", "rm -rf agents; mkdir -p agents; echo x > agents/own.md"),
    inside("link over the parent", "mkdir -p fake; echo x > fake/own.md; ln -sfn fake agents"),
    inside(
        "replace a link",
        "rm -f link.toml; echo x > link.toml; ln -sf n link.toml; mv -f n link.toml",
    ),
    inside(
        "write through a link",
        "echo x > link.toml; echo x > real/conf.toml; mv real r; mkdir -p real; echo x > real/conf.toml",
    ),
    row("rename the root", "cd ..; mv work w2; try rename $WORK ../w2; rmdir $WORK"),
    row(
        "a directory becomes a link",
        "rm -rf sub; ln -sfn $OUT sub; cat sub/secret; echo x > sub/new",
    ),
    Row {
        name: "and the next command starts there",
        only: None,
        directory: Some("work/sub"),
        line: "cat secret; echo x > new",
    },
    row(
        "environment of others",
        "cat /proc/*/environ /proc/*/task/*/environ | tr '\\0' '\\n'; cat /proc/$VICTIM/environ",
    ),
    row(
        "look into the helper",
        "cat /proc/$PPID/maps /proc/$PPID/environ | grep . && echo ESCAPED; try read /proc/$PPID/mem",
    ),
    row(
        "root of another process",
        "for p in 1 $PPID $VICTIM self; do cat /proc/$p/root$OUT/secret; ls /proc/$p/root$OUT/deep && echo ESCAPED; done",
    ),
    row(
        "directory of another process",
        "ls /proc/$VICTIM/cwd/ && echo ESCAPED; ls /proc/$PPID/cwd/ && echo ESCAPED",
    ),
    row(
        "descriptors of another process",
        "for p in $PPID $VICTIM; do for d in 0 1 2 3 4 5; do readlink /proc/$p/fd/$d && echo ESCAPED; done; done",
    ),
    row(
        "set the kernel",
        "v=$(cat /proc/sys/vm/swappiness); echo $v > /proc/sys/vm/swappiness && echo ESCAPED",
    ),
    row(
        "set where cores go",
        "v=$(cat /proc/sys/kernel/core_pattern); echo \"$v\" > /proc/sys/kernel/core_pattern && echo ESCAPED",
    ),
    row("magic keys", "echo h > /proc/sysrq-trigger && echo ESCAPED"),
    row(
        "control groups",
        "for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ > $f && echo ESCAPED; done",
    ),
    row(
        "devices",
        "head -c1 /dev/vda && echo ESCAPED; head -c1 /dev/sda && echo ESCAPED; head -c1 /dev/mem && echo ESCAPED",
    ),
    row(
        "make a device",
        "mknod free/d b 252 0 && head -c1 free/d && echo ESCAPED; mknod free/c c 1 1 && head -c1 free/c && echo ESCAPED",
    ),
    row("TCP", "(echo x > /dev/tcp/127.0.0.1/$TCP) && echo ESCAPED"),
    row("TCP beyond", "(echo x > /dev/tcp/1.1.1.1/53) && echo ESCAPED"),
    row("UDP", "(echo x > /dev/udp/127.0.0.1/$UDP)"),
    row("UDP beyond", "(echo x > /dev/udp/1.1.1.1/53) && echo ESCAPED"),
    row("DNS", "getent hosts example.org && echo ESCAPED"),
    row("unix socket", "try unix free/socket"),
    row("abstract socket", "try abstract $ABSTRACT"),
    row("netlink", "try netlink"),
    row("packets", "try packet"),
    row("vsock", "try vsock"),
    row("ptrace", "try ptrace $VICTIM; try ptrace $PPID"),
    row("memory of another process", "try memory-of $VICTIM; try memory-of $PPID; try memory-of 1"),
    row("descriptor of another process", "try descriptor-of $VICTIM; try descriptor-of $PPID"),
    row("mount", "mount -t tmpfs none free && echo ESCAPED; mount --bind / free && echo ESCAPED"),
    row("mount anew", "try new-mount; try open-tree; try mount-attributes free"),
    row(
        "unmount",
        "umount $WORK && echo ESCAPED; umount -l agentry.toml && echo ESCAPED; try unmount .",
    ),
    row(
        "unshare",
        "unshare -Ur true && echo ESCAPED; unshare -m true && echo ESCAPED; try unshare",
    ),
    row("clone", "try clone; try clone3"),
    row("enter a namespace", "nsenter -t 1 -m true && echo ESCAPED; try enter-namespace"),
    row("chroot", "chroot / true && echo ESCAPED; try chroot"),
    row("pivot", "try pivot"),
    row("open by handle", "try handle ."),
    row("signal a process outside", "kill -9 $VICTIM; kill -STOP $VICTIM; kill -TERM -- -$VICTIM"),
    inside("signal the helper", "kill -9 1; kill -STOP 1; kill -TERM $PPID; kill -9 -- -1"),
    row("fork past the limit", "try fork"),
    row("memory past the limit", "try memory"),
    row(
        "a file past the limit",
        "head -c 2000000 /dev/zero > free/big; [ $(stat -c %s free/big) -gt 1048576 ] && echo ESCAPED; rm -f free/big",
    ),
    row(
        "raise the limits",
        "ulimit -Hf unlimited && echo ESCAPED; ulimit -f unlimited && echo ESCAPED; ulimit -Hd unlimited && echo ESCAPED",
    ),
    row(
        "core dump",
        "cd free; ulimit -c unlimited && echo ESCAPED; sh -c 'kill -SEGV $$'; ls core* && echo ESCAPED",
    ),
    row("io_uring", "try io-uring"),
    row("x32 numbers", "try x32"),
    row("32-bit numbers", "try int80"),
    row("keys", "try keys"),
    row("bpf", "try bpf"),
    row("performance events", "try perf"),
    row("user faults", "try user-fault"),
    row("type into the terminal", "try type"),
    row("the terminal of the user", "(: > /dev/tty) && echo ESCAPED"),
    row("inherited descriptors", "try descriptors"),
    row(
        "capabilities",
        "grep -E '^Cap(Eff|Prm|Inh|Amb)' /proc/self/status | grep -v 0000000000000000 && echo ESCAPED",
    ),
    row("new privileges", "grep -q '^NoNewPrivs:.*1' /proc/self/status || echo ESCAPED"),
    row("setuid programs", "su -s /bin/sh -c 'echo ESCAPED' nobody </dev/null; try become"),
    row("the filter is there", "grep -q '^Seccomp:.*2' /proc/self/status || echo ESCAPED"),
    row("trace by a filter", "strace -f true && echo ESCAPED"),
    row("the name of the machine", "hostname agentry-test && echo ESCAPED"),
    row("the clock", "date -s '2001-01-01' && echo ESCAPED; try clock"),
];
