//! A command in its own network namespace reaches named hosts through the proxy, and nothing else.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use agentry_sandbox::proxy::{HostReach, NetworkProxy, ProxyGate};
use agentry_sandbox::{BackEnd, ConfinedCommand, Confinement, NetworkAccess, Sandbox, support};

const HELPER: &str = env!("CARGO_BIN_EXE_confined-helper");

/// Opens one host, which resolves to a server on this machine.
struct Named(SocketAddr);

impl ProxyGate for Named {
    fn open(&self, _: &str, host: &str, _: u16) -> Result<HostReach, String> {
        if host == "named.example" { Ok(HostReach::Private) } else { Err(format!("not {host}")) }
    }

    fn is_private(&self, address: IpAddr) -> bool {
        address.is_loopback()
    }

    fn look_up(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![self.0])
    }
}

#[test]
fn a_sandboxed_command_reaches_only_named_hosts() {
    if let Some(missing) = support(Path::new(HELPER)).without_namespaces() {
        eprintln!("SKIPPED: {missing}");
        return;
    }
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let address = server.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in server.incoming().filter_map(Result::ok) {
            let _ = stream.write_all(b"welcome\n");
        }
    });
    let confinement = Confinement {
        reads: ["/usr", "/bin", "/lib", "/lib64", "/etc"].map(Into::into).to_vec(),
        network: NetworkAccess::Proxy(8118),
        ..Confinement::default()
    };
    let sandbox = Sandbox::start(Path::new(HELPER), BackEnd::Namespaces, confinement, None);
    let sandbox = sandbox.expect("a sandbox");
    let listener = sandbox.listener().expect("a listener");
    let _proxy = NetworkProxy::start(listener, Named(address)).expect("a proxy");
    let ask = |host: &str| {
        let to = "exec 3<>/dev/tcp/127.0.0.1/8118 || exit";
        let line = format!("{to}; printf 'CONNECT {host} HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3");
        shell(&sandbox, &line)
    };
    assert!(ask("named.example:443").ends_with("welcome\n"));
    assert!(ask("other.example:443").contains("403 Forbidden"));
    assert!(ask("127.0.0.1:443").contains("403 Forbidden"));
    let direct = format!("echo x > /dev/tcp/127.0.0.1/{}", address.port());
    assert!(shell(&sandbox, &direct).contains("Connection refused"));
}

fn shell(sandbox: &Sandbox, line: &str) -> String {
    let (mut reader, writer) = io::pipe().expect("a pipe");
    let errors = writer.try_clone().expect("a copy");
    let running = sandbox.run(ConfinedCommand {
        argv: ["/bin/bash", "-c", line].map(str::to_owned).to_vec(),
        directory: "/".into(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        input: File::open("/dev/null").expect("null").into(),
        output: writer.into(),
        errors: errors.into(),
    });
    let running = running.expect("sent");
    let mut output = String::new();
    reader.read_to_string(&mut output).expect("text");
    running.wait().expect("an end");
    output
}
