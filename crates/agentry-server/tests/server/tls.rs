//! With a certificate the server speaks TLS and nothing else.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use agentry_server::TlsFiles;

use crate::scripted_host::{LIMIT, TestServer};

#[test]
fn with_a_certificate_only_tls_is_served() {
    let directory = tempfile::tempdir().expect("a writable directory");
    let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    let mut openssl = Command::new("openssl");
    openssl.args(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(' '),
    );
    openssl
        .args(["-subj", "/CN=agents.example", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate);
    openssl.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !openssl.status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: `openssl` is missing, so there is no certificate to test with");
        return;
    }
    let server = TestServer::with_tls(TlsFiles { certificate, key });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let client = reqwest::Client::builder().no_proxy().danger_accept_invalid_certs(true);
    let client = client.timeout(LIMIT).build().expect("a client");
    let url = format!("https://{}/healthz", server.address);
    let answer = runtime.block_on(async { client.get(url).send().await });
    assert_eq!(answer.expect("an answer").status().as_u16(), 200);
    // A client that speaks plainly gets no answer, and the server goes on.
    let mut plain = TcpStream::connect(server.address).expect("a server");
    plain.set_read_timeout(Some(LIMIT)).expect("a socket");
    // In one write: the server may close the connection after the first bytes.
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    plain.write_all(request.as_bytes()).expect("a connection");
    let mut reply = Vec::new();
    let _ = plain.read_to_end(&mut reply);
    assert!(!reply.starts_with(b"HTTP/1.1 200"), "{reply:?}");
}

#[test]
fn invalid_certificate_files_are_reported() {
    let directory = tempfile::tempdir().expect("a writable directory");
    let path = directory.path().join("cert.pem");
    std::fs::write(&path, "no certificate").expect("a writable directory");
    let files = TlsFiles { certificate: path.clone(), key: path.clone() };
    let error = TestServer::try_with_tls(files).err().expect("no certificate");
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
}
