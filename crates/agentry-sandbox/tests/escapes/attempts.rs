//! Escapes that a shell cannot try: system calls. Each prints `ESCAPED` if it succeeds.

use std::ffi::CString;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};

/// Makes the attempt with this name and argument, and ends.
pub(crate) fn make(what: &str) -> ! {
    let mut words = what.split_whitespace();
    let name = words.next().unwrap_or_default();
    let arguments: Vec<&str> = words.collect();
    let first = arguments.first().copied().unwrap_or_default();
    let second = arguments.get(1).copied().unwrap_or_default();
    let pid: i64 = first.parse().unwrap_or(1);
    let let_through = match name {
        "unix" => UnixStream::connect(first).is_ok(),
        "abstract" => SocketAddr::from_abstract_name(first)
            .and_then(|address| UnixStream::connect_addr(&address))
            .is_ok(),
        "read" => std::fs::File::open(first).is_ok(),
        "rename" => rename(first, second, 0),
        "exchange" => rename(first, second, libc::RENAME_EXCHANGE),
        "fork" => forks() > limit() + 8,
        "memory" => memory(),
        "descriptors" => descriptors(),
        "type" => errno(call(libc::SYS_ioctl, [0, 0x5412, 0, 0, 0])) != Some(libc::EPERM),
        "x32" => call(0x4000_0000 | libc::SYS_getpid, [0; 5]) >= 0,
        "int80" => int80(),
        "become" => become_another(),
        "handle" => handle(first),
        "unmount" => path_call(libc::SYS_umount2, first),
        "chroot" => path_call(libc::SYS_chroot, "/"),
        "pivot" => path_call(libc::SYS_pivot_root, "."),
        "enter-namespace" => enter_namespace(),
        _ => call(number(name), arguments_of(name, pid)) >= 0,
    };
    println!("{}", if let_through { "ESCAPED" } else { "no" });
    std::process::exit(0)
}

fn number(name: &str) -> i64 {
    match name {
        "netlink" | "packet" | "vsock" => libc::SYS_socket,
        "ptrace" => libc::SYS_ptrace,
        "shared-memory" => libc::SYS_shmat,
        "memory-of" => libc::SYS_process_vm_readv,
        "descriptor-of" => libc::SYS_pidfd_getfd,
        "new-mount" => libc::SYS_fsopen,
        "open-tree" => libc::SYS_open_tree,
        "mount-attributes" => libc::SYS_mount_setattr,
        "unshare" => libc::SYS_unshare,
        "clone" => libc::SYS_clone,
        "clone3" => libc::SYS_clone3,
        "io-uring" => libc::SYS_io_uring_setup,
        "keys" => libc::SYS_keyctl,
        "bpf" => libc::SYS_bpf,
        "perf" => libc::SYS_perf_event_open,
        "user-fault" => libc::SYS_userfaultfd,
        "clock" => libc::SYS_clock_settime,
        other => panic!("no attempt is called {other}"),
    }
}

/// Arguments that would be let through without a filter, or fail for another reason than it.
fn arguments_of(name: &str, pid: i64) -> [i64; 5] {
    static ZEROES: [u64; 32] = [0; 32];
    static ROOT: &[u8] = b"/\0";
    static TMPFS: &[u8] = b"tmpfs\0";
    let at = |pointer: *const u8| pointer as i64;
    let zeroes = at(ZEROES.as_ptr().cast());
    match name {
        "netlink" => [libc::AF_NETLINK.into(), libc::SOCK_RAW.into(), 0, 0, 0],
        "packet" => [libc::AF_PACKET.into(), libc::SOCK_RAW.into(), 0, 0, 0],
        "vsock" => [libc::AF_VSOCK.into(), libc::SOCK_STREAM.into(), 0, 0, 0],
        "ptrace" => [libc::PTRACE_SEIZE.into(), pid, 0, 0, 0],
        "shared-memory" => [pid, 0, 0, 0, 0],
        // Without anything to read it succeeds wherever it is permitted.
        "memory-of" => [pid, zeroes, 0, zeroes, 0],
        "descriptor-of" => [call(libc::SYS_pidfd_open, [pid, 0, 0, 0, 0]), 0, 0, 0, 0],
        "new-mount" => [at(TMPFS.as_ptr()), 0, 0, 0, 0],
        "open-tree" => [libc::AT_FDCWD.into(), at(ROOT.as_ptr()), 1, 0, 0],
        "mount-attributes" => [libc::AT_FDCWD.into(), at(ROOT.as_ptr()), 0, zeroes, 32],
        "unshare" => [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0],
        "clone" => [i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD), 0, 0, 0, 0],
        "clone3" => [zeroes, 64, 0, 0, 0],
        "io-uring" => [1, zeroes, 0, 0, 0],
        // The number of the session's keys.
        "keys" => [0, -3, 1, 0, 0],
        "perf" => [zeroes, 0, -1, -1, 0],
        "bpf" | "clock" => [0, zeroes, 0, 0, 0],
        _ => [0; 5],
    }
}

fn call(number: i64, arguments: [i64; 5]) -> i64 {
    let [first, second, third, fourth, fifth] = arguments;
    // SAFETY: pointers among the arguments are to statics that are large enough for the call.
    unsafe { libc::syscall(number, first, second, third, fourth, fifth) }
}

fn errno(result: i64) -> Option<i32> {
    (result < 0).then(|| std::io::Error::last_os_error().raw_os_error()).flatten()
}

fn path_call(number: i64, path: &str) -> bool {
    let path = CString::new(path).expect("a path");
    let pointer = path.as_ptr() as i64;
    call(number, [pointer, if number == libc::SYS_pivot_root { pointer } else { 2 }, 0, 0, 0]) >= 0
}

fn rename(from: &str, to: &str, flags: u32) -> bool {
    let [from, to] = [from, to].map(|path| CString::new(path).expect("a path"));
    let here = i64::from(libc::AT_FDCWD);
    let arguments = [here, from.as_ptr() as i64, here, to.as_ptr() as i64, flags.into()];
    call(libc::SYS_renameat2, arguments) >= 0
}

fn enter_namespace() -> bool {
    use std::os::fd::AsRawFd as _;
    let Ok(file) = std::fs::File::open("/proc/self/ns/user") else { return false };
    let arguments = [file.as_raw_fd().into(), 0, 0, 0, 0];
    // Its own is refused by the system; only the filter says this.
    errno(call(libc::SYS_setns, arguments)) != Some(libc::EPERM)
}

fn handle(path: &str) -> bool {
    let path = CString::new(path).expect("a path");
    let mut space = [0_u32; 64];
    space[0] = 128;
    let mut mount = 0_i32;
    let arguments = [
        i64::from(libc::AT_FDCWD),
        path.as_ptr() as i64,
        space.as_mut_ptr() as i64,
        (&raw mut mount) as i64,
        0,
    ];
    call(libc::SYS_name_to_handle_at, arguments) >= 0
}

fn limit() -> usize {
    std::env::var("PROCESSES").ok().and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// Starts processes that wait until there can be no more.
fn forks() -> usize {
    let mut children = Vec::new();
    while children.len() < 1_000 {
        // SAFETY: the child does nothing but wait.
        match unsafe { libc::fork() } {
            0 => loop {
                // SAFETY: takes no pointers.
                unsafe { libc::pause() };
            },
            pid if pid > 0 => children.push(pid),
            _ => break,
        }
    }
    for pid in &children {
        // SAFETY: these are children of this process.
        unsafe {
            libc::kill(*pid, libc::SIGKILL);
            libc::waitpid(*pid, std::ptr::null_mut(), 0);
        }
    }
    println!("{} processes", children.len());
    children.len()
}

/// Takes twice the memory that there may be.
fn memory() -> bool {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for _ in 0..64 {
        let mut part = Vec::new();
        if part.try_reserve_exact(16 << 20).is_err() {
            return false;
        }
        part.resize(16 << 20, 1);
        all.push(part);
    }
    all.len() == 64
}

/// Descriptors beyond the standard streams.
fn descriptors() -> bool {
    // SAFETY: takes no pointers.
    let open: Vec<i32> =
        (3..4096).filter(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0).collect();
    for fd in &open {
        println!("{fd}: {:?}", std::fs::read_link(format!("/proc/self/fd/{fd}")));
    }
    !open.is_empty()
}

/// Becomes another user, as a setuid program would.
fn become_another() -> bool {
    let other = i64::from(rustix::process::getuid().is_root());
    call(libc::SYS_setuid, [other, 0, 0, 0, 0]) >= 0
}

/// The system calls of 32-bit programs have other numbers, which the filter must not mistake.
#[cfg(target_arch = "x86_64")]
fn int80() -> bool {
    let result: i64;
    // SAFETY: number 20 is `getpid` there and takes nothing.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("rax") 20_i64 => result,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
        );
    }
    result > 0
}

#[cfg(not(target_arch = "x86_64"))]
fn int80() -> bool {
    false
}
