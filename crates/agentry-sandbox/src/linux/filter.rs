//! The seccomp filter: refuses system calls that no command needs, and some that would allow an escape.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter, sock_filter,
};

use crate::{BackEnd, NetworkAccess};

/// System calls that are refused with any arguments.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    KEXEC_FILE_LOAD,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    OPEN_TREE_ATTR,
];

/// `libc` has no name for it with musl on arm64.
#[cfg(all(target_arch = "aarch64", target_env = "musl"))]
const KEXEC_FILE_LOAD: libc::c_long = 294;
#[cfg(not(all(target_arch = "aarch64", target_env = "musl")))]
const KEXEC_FILE_LOAD: libc::c_long = libc::SYS_kexec_file_load;

/// Newer than the table in `libc`. The number is the same on all architectures, like those below.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// Refused in addition without namespaces, where the machine's files and processes are visible. Landlock
/// checks neither owners and modes of files, nor shared memory and message queues.
const REFUSED_BESIDE_OTHERS: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_ioprio_set,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_removexattr,
    libc::SYS_semget,
    libc::SYS_setpriority,
    libc::SYS_setxattr,
    libc::SYS_shmat,
    libc::SYS_shmget,
    FCHMODAT2,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
];

const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const FILE_SETATTR: libc::c_long = 469;

/// Flags of `clone` that create namespaces.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Filters the system calls of this process and of all processes that it starts.
pub(crate) fn apply(back_end: BackEnd, network: &NetworkAccess) -> io::Result<()> {
    let refused = program(rules(back_end, network)?, libc::EPERM)?;
    // A filter cannot read the flags of `clone3`. With ENOSYS, programs fall back to `clone`.
    let unknown = program([(libc::SYS_clone3, Vec::new())].into(), libc::ENOSYS)?;
    for program in [unknown, without_x32(refused)] {
        apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

fn program(rules: SeccompRules, errno: libc::c_int) -> io::Result<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    filter.and_then(TryInto::try_into).map_err(io::Error::other)
}

fn rules(back_end: BackEnd, network: &NetworkAccess) -> io::Result<SeccompRules> {
    let mut rules: SeccompRules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let flags = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        when(0, SeccompCmpOp::MaskedEq(flag), flag)
    });
    rules.insert(libc::SYS_clone, flags.collect::<io::Result<_>>()?);
    // These requests put input into a terminal, which the user's shell would then run.
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX];
    let terminal = terminal.map(|request| when(1, SeccompCmpOp::Eq, request_number(request)));
    rules.insert(libc::SYS_ioctl, terminal.into_iter().collect::<io::Result<_>>()?);
    rules.insert(libc::SYS_socket, sockets(back_end, network)?);
    if back_end == BackEnd::Landlock {
        rules.extend(REFUSED_BESIDE_OTHERS.iter().map(|call| (*call, Vec::new())));
        // Zero means: set times through a descriptor, and limits of the own process.
        rules.insert(libc::SYS_utimensat, vec![unless_zero(1)?]);
        rules.insert(libc::SYS_prlimit64, vec![unless_zero(0)?]);
    }
    Ok(rules)
}

/// The number of a request, whose type differs between the C libraries.
#[cfg(target_env = "gnu")]
fn request_number(request: libc::Ioctl) -> u64 {
    request
}
#[cfg(not(target_env = "gnu"))]
fn request_number(request: libc::Ioctl) -> u64 {
    u64::from(request.cast_unsigned())
}

/// The socket families that are refused. Unix sockets are always refused, because they reach services of
/// the machine. In its own network namespace, a command may reach itself and the proxy.
fn sockets(back_end: BackEnd, network: &NetworkAccess) -> io::Result<Vec<SeccompRule>> {
    let number = |family: libc::c_int| u64::from(family.unsigned_abs());
    let is_not = |family| condition(0, SeccompCmpOp::Ne, number(family));
    let only = |families: &[libc::c_int]| {
        let others = families.iter().map(|family| is_not(*family)).collect::<io::Result<_>>()?;
        Ok(vec![SeccompRule::new(others).map_err(io::Error::other)?])
    };
    match (network, back_end) {
        (NetworkAccess::Off | NetworkAccess::Proxy(_), BackEnd::Namespaces) => {
            only(&[libc::AF_INET, libc::AF_INET6])
        }
        // A rule without conditions refuses every call.
        (NetworkAccess::Off | NetworkAccess::Proxy(_), BackEnd::Landlock) => Ok(Vec::new()),
        (NetworkAccess::Full, _) => only(&[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]),
    }
}

fn condition(argument: u8, compare: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value)
        .map_err(io::Error::other)
}

fn when(argument: u8, compare: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    SeccompRule::new(vec![condition(argument, compare, value)?]).map_err(io::Error::other)
}

/// Matches every call whose argument is not zero.
fn unless_zero(argument: u8) -> io::Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    condition.and_then(|it| SeccompRule::new(vec![it])).map_err(io::Error::other)
}

/// Kills a process that uses the x32 numbers of system calls, which the filter would not recognise.
fn without_x32(program: BpfProgram) -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    if std::env::consts::ARCH != "x86_64" {
        return program;
    }
    let mut out = vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_KILL_PROCESS },
    ];
    out.extend(program);
    out
}
