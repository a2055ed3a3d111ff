//! Runs the program at a pseudo terminal, made by `script` of util-linux, and finds its processes. Every
//! wait is for an event, and has a limit.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::{Protocol, Server};
use crate::test::Test;

/// The time limit for an expected event. Generous, because a busy machine is no failure.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs the program and records the settings of the terminal before and after.
const SCRIPT: &str = "trap : INT\ntty > home/tty\nstty rows $ROWS cols $COLUMNS\n\
    stty -g > home/before\nsh home/program\ncode=$?\nstty -g > home/after\nexit $code\n";

/// The lines of the scrollback that a test can look at.
const SCROLLBACK: usize = 5_000;

/// How a terminal looks and what it can do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) rows: u16,
    pub(crate) columns: u16,
    pub(crate) color: bool,
    /// The value of `TERM`.
    pub(crate) term: &'static str,
    /// The value of `LANG`; not set if it is empty.
    pub(crate) locale: &'static str,
}

impl Default for Window {
    fn default() -> Self {
        Self { rows: 24, columns: 80, color: false, term: "xterm", locale: "" }
    }
}

/// Waits until the condition holds.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The program at a terminal.
pub(crate) struct Terminal<'a> {
    test: &'a Test,
    child: Child,
    output: Receiver<Vec<u8>>,
    shown: String,
    /// All that was sent to the terminal.
    sent: Vec<u8>,
    /// The terminal as a person sees it.
    emulator: vt100::Parser,
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(test: &'a Test, server: &Server, args: &str) -> Self {
        Self::in_window(test, server, args, Window::default())
    }

    pub(crate) fn in_window(test: &'a Test, server: &Server, args: &str, window: Window) -> Self {
        let program = env!("CARGO_BIN_EXE_agentry");
        test.write("home/program", format!("echo $$ > home/pid\nexec {program} {args}\n"));
        test.write("home/script", SCRIPT);
        // Under `nohup` the program would inherit that SIGHUP is ignored.
        let mut command = Command::new("env");
        command.args([
            "--default-signal=HUP",
            "script",
            "-qec",
            "exec sh home/script",
            "/dev/null",
        ]);
        command.current_dir(test.path(""));
        command.env_clear().env("HOME", test.path("home"));
        if !window.color {
            command.env("NO_COLOR", "1");
        }
        let (rows, columns) = (window.rows, window.columns);
        command.env("ROWS", rows.to_string()).env("COLUMNS", columns.to_string());
        command.env("TERM", window.term).env("SHELL", "/bin/sh").env("PATH", "/usr/bin:/bin");
        if !window.locale.is_empty() {
            command.env("LANG", window.locale);
        }
        command.env("ANTHROPIC_API_KEY", "key-of-the-test");
        command.env("ANTHROPIC_BASE_URL", server.base(Protocol::Anthropic));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("`script` runs");
        let mut out = child.stdout.take().expect("its output");
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let emulator = vt100::Parser::new(rows, columns, SCROLLBACK);
        Self { test, child, output, shown: String::new(), sent: Vec::new(), emulator }
    }

    /// Waits until the condition holds for the lines of the screen; returns the screen.
    #[track_caller]
    pub(crate) fn shows_that(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        // A spinner never falls silent, so the whole wait has a limit.
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(Instant::now() < until && self.read_output(), "never {what}:\n{screen}");
        }
    }

    /// Waits until the program has drawn this many frames more.
    #[track_caller]
    pub(crate) fn shows_frames(&mut self, more: usize) {
        const END: &[u8] = b"\x1b[?2026l";
        let count = |sent: &[u8]| sent.windows(END.len()).filter(|it| *it == END).count();
        let wanted = count(&self.sent) + more;
        while count(&self.sent) < wanted {
            assert!(self.read_output(), "no frame:\n{}", self.screen());
        }
    }

    /// Waits until the screen has this text; returns the screen.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> String {
        self.shows_that(&format!("`{text}`"), |screen| screen.contains(text))
    }

    /// The rows of the screen now.
    pub(crate) fn screen(&self) -> String {
        self.emulator.screen().contents()
    }

    /// The screen with colours, for a picture.
    pub(crate) fn emulated(&self) -> &vt100::Screen {
        self.emulator.screen()
    }

    /// All lines that were ever shown, with those that have been scrolled away.
    pub(crate) fn scrollback(&mut self) -> String {
        let (rows, columns) = self.emulator.screen().size();
        let mut all = String::new();
        self.emulator.screen_mut().set_scrollback(SCROLLBACK);
        let mut above = self.emulator.screen().scrollback();
        loop {
            self.emulator.screen_mut().set_scrollback(above);
            let screen = self.emulator.screen();
            let count = if above > 0 { above.min(usize::from(rows)) } else { usize::from(rows) };
            for (row, text) in (0_u16..).zip(screen.rows(0, columns)).take(count) {
                all.push_str(&text);
                // A row that the terminal wrapped goes on in the next one.
                all.push_str(if screen.row_wrapped(row) { "" } else { "\n" });
            }
            if above == 0 {
                return all;
            }
            above -= count;
        }
    }

    /// All that was sent to the terminal.
    pub(crate) fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// Changes the size of the window.
    pub(crate) fn resizes(&mut self, rows: u16, columns: u16) {
        let tty = self.test.read("home/tty");
        let (rows_text, columns_text) = (rows.to_string(), columns.to_string());
        let args = ["-F", tty.trim(), "rows", &rows_text, "cols", &columns_text];
        assert!(Command::new("stty").args(args).status().is_ok_and(|it| it.success()));
        self.emulator.screen_mut().set_size(rows, columns);
    }

    /// Waits until the text is shown; returns everything shown until then.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            assert!(Instant::now() < until && self.read_output(), "no `{text}` in {}", self.shown);
        }
    }

    /// Reads the next output; returns false at its end.
    fn read_output(&mut self) -> bool {
        let next = self.output.recv_timeout(PATIENCE);
        let Ok(bytes) = next else { return false };
        self.shown.push_str(&String::from_utf8_lossy(&bytes));
        self.sent.extend_from_slice(&bytes);
        self.emulator.process(&bytes);
        true
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) {
        self.presses(&format!("{line}\r"));
    }

    /// Presses keys.
    pub(crate) fn presses(&mut self, keys: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        input.write_all(keys.as_bytes()).expect("it reads");
        input.flush().expect("it reads");
    }

    /// Answers the next question about a call; returns the question.
    #[track_caller]
    pub(crate) fn answers(&mut self, letter: &str) -> String {
        // The prompt is drawn again with every key.
        self.sees("may it run? bash");
        let shown = self.sees("answer › ");
        self.types(letter);
        shown
    }

    /// The process of the program.
    pub(crate) fn pid(&self) -> u32 {
        self.test.read("home/pid").trim().parse().expect("a number")
    }

    /// Waits for the end of the program, whatever its exit code is.
    pub(crate) fn ends_somehow(&mut self) {
        while self.read_output() {}
        let _ = self.child.wait();
    }

    /// The rest of the output, once the program has ended. Checks that the terminal is restored.
    #[track_caller]
    pub(crate) fn ends(mut self, code: i32) -> String {
        self.is_over(code);
        self.shown
    }

    /// Waits for the end of the program. Checks that the terminal is restored.
    #[track_caller]
    pub(crate) fn is_over(&mut self, code: i32) {
        while self.read_output() {}
        // The output may also have ended because the program waits for a key.
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                break status;
            }
            assert!(Instant::now() < until, "it goes on:\n{}", self.screen());
            thread::sleep(Duration::from_millis(2));
        };
        assert_eq!(status.code(), Some(code), "{}", self.shown);
        assert_eq!(self.test.read("home/after"), self.test.read("home/before"), "{}", self.shown);
        let (on, off) = (self.shown.rfind("[?2004h"), self.shown.rfind("[?2004l"));
        assert!(off >= on, "what is pasted comes in brackets: {}", self.shown);
        let (hidden, visible) = (self.shown.rfind("\u{1b}[?25l"), self.shown.rfind("\u{1b}[?25h"));
        assert!(visible >= hidden, "the cursor is hidden: {}", self.shown);
    }

    /// Closes the terminal window.
    pub(crate) fn closes(mut self) {
        self.child.kill().expect("`script` is there");
        self.child.wait().expect("it ends");
    }
}

/// Sends a signal: `-INT`.
pub(crate) fn signal(pid: u32, name: &str) {
    let done = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(done.expect("`kill` runs").success());
}

/// A process, with its start time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    parent: u32,
    began: String,
    /// Its name in the process table.
    pub(crate) name: String,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (front, back) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = back.split_whitespace().collect();
        let name = front.split_once('(')?.1.to_owned();
        let (state, parent, began) = (fields.first()?, fields.get(1)?, fields.get(19)?);
        // A zombie has ended, although its parent has not waited for it yet.
        let lives = !matches!(*state, "Z" | "X");
        lives.then_some(Self {
            pid,
            parent: parent.parse().ok()?,
            began: (*began).to_owned(),
            name,
        })
    }
}

/// A process and all its living descendants.
pub(crate) fn family(pid: u32) -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<Process> = numbers.filter_map(Process::read).collect();
    let mut family: Vec<Process> = Process::read(pid).into_iter().collect();
    let mut at = 0;
    while let Some(parent) = family.get(at).map(|it| it.pid) {
        family.extend(all.iter().filter(|it| it.parent == parent).cloned());
        at += 1;
    }
    family
}

/// Waits until a process has started one of this name; returns the process and its descendants.
#[track_caller]
pub(crate) fn starts(pid: u32, name: &str) -> Vec<Process> {
    let mut found = Vec::new();
    wait_for(name, || {
        found = family(pid);
        found.iter().any(|it| it.name == name)
    });
    found
}

/// Waits until all of these have ended.
#[track_caller]
pub(crate) fn are_gone(family: &[Process]) {
    wait_for(&format!("{family:?} are gone"), || {
        let same = |it: &Process| Process::read(it.pid).is_some_and(|now| now.began == it.began);
        !family.iter().any(same)
    });
}
