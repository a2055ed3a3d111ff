//! Seals a process that only computes: it keeps its open streams, and can open nothing more.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::{landlock_rules, system};

/// System calls for memory, time, random numbers, waiting, and the streams that are open. None of them
/// opens a file or a socket, starts a process or a thread, or reaches another process.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
];

/// Leaves this process its three standard streams, `memory` bytes of data, and nothing else, for good.
/// Must be called while the process has one thread and no descriptor has an owner.
pub fn seal(memory: u64) -> io::Result<()> {
    system::close_from(3)?;
    system::limit(libc::RLIMIT_DATA, memory)?;
    system::limit(libc::RLIMIT_FSIZE, 0)?;
    // Not 0, which does not stop a core dump that is piped to a program; 1 does.
    system::limit(libc::RLIMIT_CORE, 1)?;
    system::drop_privileges()?;
    system::close_to_others()?;
    landlock_rules::apply(&[], &[])?;
    apply_filter(&program()?).map_err(io::Error::other)
}

fn program() -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    // Memory may never become code.
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![without_execution()?]);
    }
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch);
    filter.and_then(TryInto::try_into).map_err(io::Error::other)
}

/// Matches calls whose third argument does not ask for executable memory.
fn without_execution() -> io::Result<SeccompRule> {
    let mask = u64::from(libc::PROT_EXEC.unsigned_abs());
    let operation = SeccompCmpOp::MaskedEq(mask);
    let condition = SeccompCondition::new(2, SeccompCmpArgLen::Dword, operation, 0);
    condition.and_then(|it| SeccompRule::new(vec![it])).map_err(io::Error::other)
}
