//! Reads keys while a run works, on a thread of its own. It pauses while the line editor has the terminal.

use agentry_posix::fd::OwnedFd;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use agentry_posix::event::{PollFd, PollFlags, Timespec, poll};
use agentry_posix::terminal::read_single_keys;

use super::keys::{KeyDecoder, PressedKey};

/// The time that the rest of an escape sequence may take.
const SEQUENCE_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What receives the keys. The first argument is what `before` returned: when the keys were read.
pub(in crate::command::run) struct KeyListener {
    /// Called when bytes have arrived, before they are read.
    pub(in crate::command::run) before: Box<dyn Fn() -> u64 + Send>,
    /// Called with the keys. `None` is the end of the input.
    pub(in crate::command::run) hears: Box<dyn Fn(u64, Option<PressedKey>) + Send>,
}

/// The keys of the terminal at standard input.
pub(in crate::command::run) struct Keyboard {
    shared: Arc<KeyboardState>,
    /// Ends the wait of the thread.
    waker: OwnedFd,
}

#[derive(Default)]
struct KeyboardState {
    modes: Mutex<KeyboardModes>,
    changed: Condvar,
}

#[derive(Default)]
struct KeyboardModes {
    /// Whether keys are wanted.
    wanted: bool,
    /// Whether the thread may be reading.
    reading: bool,
    /// Whether the input has ended.
    ended: bool,
}

impl Keyboard {
    /// Starts the thread, paused.
    pub(in crate::command::run) fn new(listener: KeyListener) -> io::Result<Self> {
        let (woken, waker) = io::pipe()?;
        let (woken, waker) = (OwnedFd::from(woken), OwnedFd::from(waker));
        let shared: Arc<KeyboardState> = Arc::default();
        let state = Arc::clone(&shared);
        std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            while state.wait_until_wanted() {
                let has_ended = read_keys(&woken, &listener);
                state.pause(has_ended);
            }
        })?;
        Ok(Self { shared, waker })
    }

    /// Reads keys from now on, one by one and without showing them. Ctrl-C is still a signal.
    pub(in crate::command::run) fn resume(&self) {
        read_single_keys();
        self.shared.modes().wanted = true;
        self.shared.changed.notify_all();
    }

    /// Reads no more keys. What was typed and not read yet is left to the next reader.
    pub(in crate::command::run) fn pause(&self) {
        let mut modes = self.shared.modes();
        modes.wanted = false;
        while modes.reading && !modes.ended {
            let _ = agentry_posix::io::write(&self.waker, b"x");
            modes = self.shared.changed.wait(modes).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl KeyboardState {
    fn modes(&self) -> MutexGuard<'_, KeyboardModes> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until keys are wanted; returns false if none can come any more.
    fn wait_until_wanted(&self) -> bool {
        let mut modes = self.modes();
        while !modes.wanted {
            modes = self.changed.wait(modes).unwrap_or_else(PoisonError::into_inner);
        }
        modes.reading = true;
        !modes.ended
    }

    fn pause(&self, has_ended: bool) {
        let mut modes = self.modes();
        (modes.reading, modes.ended) = (false, has_ended);
        self.changed.notify_all();
    }
}

/// Reads keys until the thread is woken; returns whether the input has ended.
fn read_keys(woken: &OwnedFd, listener: &KeyListener) -> bool {
    let stdin = io::stdin();
    let mut decoder = KeyDecoder::default();
    loop {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
        let time = decoder.is_at_escape().then_some(&SEQUENCE_TIME);
        let count = match poll(&mut ready, time) {
            Ok(count) => count,
            Err(agentry_posix::io::Errno::INTR) => continue,
            Err(_) => return true,
        };
        let [input, wake] = ready.map(|it| it.revents());
        let at = (listener.before)();
        if count == 0 {
            decoder.finish().into_iter().for_each(|key| (listener.hears)(at, Some(key)));
            continue;
        }
        if !wake.is_empty() {
            let _ = agentry_posix::io::read(woken, &mut [0; 64]);
            return false;
        }
        let mut bytes = [0; 1024];
        let count = agentry_posix::io::read(&stdin, &mut bytes).unwrap_or(0);
        for key in decoder.push(bytes.get(..count).unwrap_or_default()) {
            (listener.hears)(at, Some(key));
        }
        // Nothing to read is no end here: the keys may have been discarded in between.
        if count == 0 && input.intersects(PollFlags::HUP | PollFlags::ERR) {
            (listener.hears)(at, None);
            return true;
        }
    }
}
