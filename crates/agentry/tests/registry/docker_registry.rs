//! The registry of the Docker project with TLS and a login, and `skopeo`, which copies between registries.

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::test::{HELPER, Test};

/// `alice:wonderland`, by bcrypt.
const USERS: &str = "alice:$2y$04$zPiukpvBnTv/SDZ329U3QeJ8F/hmaBYcsxe1fN4/CXGJoGuj9ku1C\n";
const AUTH: &str = "YWxpY2U6d29uZGVybGFuZA==";

/// A registry that runs until it is dropped.
struct DockerRegistry {
    child: Child,
    port: u16,
}

impl DockerRegistry {
    /// Starts one with its own certificate; `None` where the programs are missing.
    fn start(dir: &Path) -> Option<Self> {
        for program in ["docker-registry", "openssl", "skopeo"] {
            if Command::new(program)
                .arg("--help")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_err()
            {
                let mut stderr = std::io::stderr();
                let skipped = format!(
                    "SKIPPED: `{program}` is missing: no agent goes through a real registry"
                );
                writeln!(stderr, "{skipped}").expect("a stream");
                return None;
            }
        }
        fs::create_dir_all(dir).expect("a directory");
        certificates(dir);
        let port = TcpListener::bind("127.0.0.1:0")
            .expect("a port")
            .local_addr()
            .expect("an address")
            .port();
        fs::write(dir.join("users"), USERS).expect("a file");
        let at = dir.display();
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {at}/data}}}}\n\
             http: {{addr: '127.0.0.1:{port}', tls: {{certificate: {at}/server.pem, key: {at}/server.key}}}}\n\
             auth: {{htpasswd: {{realm: test, path: {at}/users}}}}\n"
        );
        fs::write(dir.join("config.yml"), config).expect("a file");
        let mut command = Command::new("docker-registry");
        command
            .arg("serve")
            .arg(dir.join("config.yml"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().expect("a registry");
        let registry = Self { child, port };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_mins(1), "the registry does not start");
            std::thread::yield_now();
        }
        Some(registry)
    }

    fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A certificate authority, and a certificate for this machine.
fn certificates(dir: &Path) {
    let openssl = |args: &str| {
        let output = Command::new("openssl")
            .args(args.split(' '))
            .current_dir(dir)
            .output()
            .expect("openssl");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    fs::write(dir.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n").expect("a file");
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem",
    );
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout server.key -out server.csr",
    );
    openssl(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
    );
}

/// Runs the program with the certificate authority of the test.
fn run(test: &Test, ca: &Path, args: &str) -> crate::test::Ran {
    let output = test.command(args.split(' ')).env("SSL_CERT_FILE", ca).output();
    test.ended(args, &output.expect("the program runs"))
}

fn skopeo(args: &[&str]) -> Output {
    Command::new("skopeo").args(args).output().expect("skopeo")
}

#[test]
fn push_and_pull_work_with_tls_login_and_mirror() {
    let test = Test::new().file("helper.agent", HELPER);
    let (Some(first), Some(second)) =
        (DockerRegistry::start(&test.path("first")), DockerRegistry::start(&test.path("second")))
    else {
        return;
    };
    let ca = test.path("first/ca.pem");
    let place = format!("oci://{}/team/helper:0.1.0", first.host());
    let push = format!("push helper.agent {place}");
    // A certificate of nobody known, then no login, then both.
    let unknown = test.run(&push).exits(2);
    assert!(unknown.stderr.contains("certificate"), "{unknown}");
    let anonymous = run(&test, &ca, &push).exits(2);
    assert!(anonymous.stderr.contains("wants a user and a password"), "{anonymous}");
    let auths = [&first, &second].map(|it| format!("\"{}\": {{\"auth\": \"{AUTH}\"}}", it.host()));
    test.write(
        "home/.config/containers/auth.json",
        format!("{{\"auths\": {{{}}}}}", auths.join(", ")),
    );
    run(&test, &ca, "push helper.agent").exits(0);
    let key = run(&test, &ca, "keygen").exits(0).stdout.trim().to_owned();
    run(&test, &ca, "sign helper").exits(0);
    let pushed = run(&test, &ca, &format!("{push} --format json")).exits(0).json();
    let digest = pushed["artifact"].as_str().expect("a digest").to_owned();
    assert_eq!(
        run(&test, &ca, &format!("list oci://{}/team/helper", first.host())).exits(0).stdout,
        "0.1.0\n"
    );
    run(&test, &ca, &format!("verify {place} --key {key}")).exits(0);
    // The tag and the index of its signatures, as other tools copy them.
    for tag in ["0.1.0".to_owned(), digest.replace(':', "-")] {
        let from = format!("docker://{}/team/helper:{tag}", first.host());
        let to = format!("docker://{}/mirror/helper:{tag}", second.host());
        let login = [
            "--src-tls-verify=false",
            "--dest-tls-verify=false",
            "--src-creds=alice:wonderland",
            "--dest-creds=alice:wonderland",
        ];
        let output = skopeo(&[&["copy", "--all", "-q"], &login[..], &[&from, &to]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let other = Test::new();
    other
        .write("home/.config/containers/auth.json", test.read("home/.config/containers/auth.json"));
    let trust = format!("[signing.repositories]\n\"{}/mirror\" = [\"{key}\"]\n", second.host());
    other.write("home/.config/agentry/config.toml", trust);
    let ca = test.path("second/ca.pem");
    let mirror = format!("oci://{}/mirror/helper@{digest}", second.host());
    run(&other, &ca, &format!("verify {mirror}")).exits(0);
    run(&other, &ca, &format!("pull {mirror} -o out")).exits(0);
    assert_eq!(other.read("out/helper.agent"), HELPER);
    // The same holds for a user who knows no key, in every command.
    let stranger = Test::new();
    stranger
        .write("home/.config/containers/auth.json", test.read("home/.config/containers/auth.json"));
    for command in ["show", "hash --full", "install"] {
        run(&other, &ca, &format!("{command} {mirror} --require-signature")).exits(0);
        let refused = run(&stranger, &ca, &format!("{command} {mirror} --require-signature"));
        assert!(refused.stderr.contains("is refused: "), "{refused}");
        assert_ne!(refused.code, Some(0), "{refused}");
    }
    run(&stranger, &ca, &format!("show {mirror}")).exits(0);
}
