//! A wire between workers and their database that a test cuts and holds.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often a connection looks at what happens to it.
const LOOK: Duration = Duration::from_millis(10);

/// Passes bytes on to a port of loopback.
pub(crate) struct FaultyWire {
    port: u16,
    state: Arc<WireState>,
}

#[derive(Default)]
struct WireState {
    /// Connections of an earlier number are cut.
    cuts: AtomicU64,
    is_held: AtomicBool,
}

impl FaultyWire {
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let state = Arc::new(WireState::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let cuts = shared.cuts.load(Ordering::SeqCst);
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let both = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = both else { continue };
                    let state = Arc::clone(&shared);
                    std::thread::spawn(move || pass(from, to, &state, cuts));
                }
            }
        });
        Self { port: own, state }
    }

    /// The address of a database as it is reached through the wire.
    pub(crate) fn url(&self) -> String {
        format!("postgres://agentry@127.0.0.1:{}/postgres", self.port)
    }

    /// Cuts all connections; new ones are made.
    pub(crate) fn cut(&self) {
        self.state.cuts.fetch_add(1, Ordering::SeqCst);
    }

    /// Lets nothing through, and keeps what is sent, until it is let go.
    pub(crate) fn hold(&self, holds: bool) {
        self.state.is_held.store(holds, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &WireState, cuts: u64) {
    let _ = from.set_read_timeout(Some(LOOK));
    let mut buffer = [0; 16 << 10];
    while state.cuts.load(Ordering::SeqCst) == cuts {
        if state.is_held.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK);
            continue;
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            Err(error) if is_patience(&error) => {}
            Err(_) => break,
        }
    }
    for stream in [from, to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn is_patience(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
