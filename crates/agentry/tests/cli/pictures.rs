//! Situations on the screen, each from a real run. With `AGENTRY_PICTURES=DIR` their pictures are written
//! there; those of the README and the guides are in `docs/pictures`, and fail these tests when they are stale.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::run_person::{asked, bash, make_fifo, reader};
use crate::server::{Server, Turn};
use crate::terminal::{Terminal, Window, wait_for};
use crate::test::Test;

/// The size of a character cell.
const CELL: (f32, f32) = (8.4, 18.0);
const COLORS: [&str; 8] =
    ["#1e1e1e", "#f14c4c", "#23d18b", "#e5c07b", "#3b8eea", "#d670d6", "#29b8db", "#e5e5e5"];
const PLAIN: &str = "#d4d4d4";

/// The screen as a picture: one text element for each run of equal cells.
fn svg(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let last = (0..rows).rev().find(|row| (0..columns).any(|at| text_of(screen, *row, at) != " "));
    let rows = last.map_or(1, |row| row + 1);
    let (width, height) = (f32::from(columns) * CELL.0 + 20.0, f32::from(rows) * CELL.1 + 20.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"6\" \
         fill=\"#1e1e1e\"/>\n"
    );
    for row in 0..rows {
        let mut at = 0;
        while at < columns {
            let look = look_of(screen, row, at);
            let start = at;
            let mut text = String::new();
            // A wide character begins a run of its own, so that every font keeps the columns.
            while at < columns && look_of(screen, row, at) == look {
                let cell = screen.cell(row, at);
                let is_wide = cell.is_some_and(vt100::Cell::is_wide);
                if is_wide && at > start {
                    break;
                }
                text += &text_of(screen, row, at);
                at += if is_wide { 2 } else { 1 };
                if is_wide {
                    break;
                }
            }
            if !text.trim().is_empty() {
                out += &element(&text, look, (row, start));
            }
        }
    }
    out + "</svg>\n"
}

fn text_of(screen: &vt100::Screen, row: u16, at: u16) -> String {
    let text = screen.cell(row, at).map_or("", vt100::Cell::contents);
    if text.is_empty() { " ".to_owned() } else { text.to_owned() }
}

fn look_of(screen: &vt100::Screen, row: u16, at: u16) -> (&'static str, bool, bool) {
    let Some(cell) = screen.cell(row, at) else { return (PLAIN, false, false) };
    let color = match cell.fgcolor() {
        vt100::Color::Idx(index) => COLORS.get(usize::from(index)).copied().unwrap_or(PLAIN),
        _ => PLAIN,
    };
    (color, cell.bold(), cell.dim())
}

fn element(text: &str, look: (&str, bool, bool), (row, at): (u16, u16)) -> String {
    let (x, y) = (f32::from(at) * CELL.0 + 10.0, f32::from(row) * CELL.1 + 24.0);
    let (color, is_bold, is_dim) = look;
    let weight = if is_bold { " font-weight=\"bold\"" } else { "" };
    let opacity = if is_dim { " opacity=\"0.6\"" } else { "" };
    let text = text.trim_end().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{color}\" xml:space=\"preserve\"{weight}{opacity}>{text}</text>\n"
    )
}

/// Writes a picture if it is asked for, and compares it with the one in the repository if there is one.
fn save(test: &Test, terminal: &Terminal<'_>, name: &str) {
    let picture = svg(terminal.emulated());
    assert!(picture.contains("<text "), "{name} is empty");
    let picture = test.filtered(&picture).replace("[DIR]", "/home/me/project");
    if let Some(folder) = std::env::var_os("AGENTRY_PICTURES") {
        let path = Path::new(&folder).join(format!("{name}.svg"));
        return fs::write(path, picture).expect("a writable folder");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    if let Ok(kept) = fs::read_to_string(root.join(format!("{name}.svg"))) {
        let renew = "`AGENTRY_PICTURES=docs/pictures cargo test --test cli pictures` renews it";
        assert_eq!(lasting(&kept), lasting(&picture), "docs/pictures/{name}.svg is stale: {renew}");
    }
}

/// The texts of a picture without what differs from run to run: times, the sign of life and ids.
fn lasting(picture: &str) -> Vec<String> {
    let texts = picture.lines().filter_map(|line| line.strip_prefix("<text ")?.split_once('>'));
    let texts = texts.map(|(_, text)| text.trim_end_matches("</text>"));
    let is_lasting = |c: &char| !(c.is_ascii_digit() || *c == '.' || ('⠀'..='⣿').contains(c));
    let texts = texts.map(|text| text.chars().filter(is_lasting).collect::<String>());
    texts.filter(|text| !text.trim().is_empty()).collect()
}

const COLOR: Window = Window { rows: 30, columns: 100, color: true, term: "xterm", locale: "" };

fn edit() -> Turn {
    Turn::call(
        "edit",
        json!({ "path": "README.md", "old_string": "Run `make`.", "new_string": "Run `cargo build`.\nThen `cargo test`." }),
    )
}

const README: &str = "# Example\n\nA small program.\n\nRun `make`.\n\nMIT.\n";

#[test]
fn pictures_of_approvals() {
    for (name, window) in [
        ("approval", Window { rows: 20, ..COLOR }),
        ("narrow", Window { columns: 44, ..COLOR }),
        ("no-colour", Window { rows: 20, color: false, ..COLOR }),
    ] {
        let server = Server::playing([edit().into(), Turn::text("Done.").into()]);
        let test = asked().file("README.md", README);
        let args = "run asked 'Use cargo in the README' --yes";
        let mut terminal = Terminal::in_window(&test, &server, args, window);
        terminal.shows("█");
        save(&test, &terminal, name);
        terminal.types("l");
        terminal.is_over(3);
    }
}

#[test]
fn pictures_of_a_conversation() {
    let two = bash("git push").and_call("bash", json!({ "command": "rm -r build" }));
    let answer = "## Result\n\nThe tests **pass**. I changed `README.md`:\n\n* it names `cargo`\n* 日本語 is kept\n";
    let server = Server::playing([
        bash("cat lines gate").and_call("edit", edit().calls[0].1.clone()).into(),
        two.into(),
        Turn::text(answer).into(),
    ]);
    let lines: String = (1..=40).map(|at| format!("test number {at} ... ok\n")).collect();
    let test = reader().file("README.md", README).file("lines", lines);
    make_fifo(&test.path("gate"));
    let mut terminal = Terminal::in_window(&test, &server, "run asked --yes --unconfined", COLOR);
    terminal.shows("› ");
    save(&test, &terminal, "banner");
    terminal.types("Use cargo in the README, and run the tests");
    terminal.shows("test number 40");
    terminal.shows("answer › █");
    terminal.types("d");
    terminal.shows(" works · ");
    save(&test, &terminal, "working");
    fs::write(test.path("gate"), "all pass\n").expect("the command reads it");
    terminal.shows("2 calls wait for you");
    terminal.shows("answer › █");
    save(&test, &terminal, "two-approvals");
    terminal.types("n not from here");
    terminal.shows("may it run? bash rm -r build");
    terminal.shows_that("a question", |screen| screen.trim_end().ends_with('█'));
    terminal.types("n");
    terminal.shows("README.md  +2 −1");
    save(&test, &terminal, "answer");
    terminal.types("/exit");
    terminal.is_over(0);
    wait_for("all requests", || server.count() == 3);
}

#[test]
fn pictures_of_run_endings() {
    let server = Server::answering(|_| bash("cat lines").into());
    let test = reader().file("lines", "1\n");
    let mut terminal =
        Terminal::in_window(&test, &server, "run asked go --yes --unconfined --max-turns 2", COLOR);
    terminal.is_over(3);
    save(&test, &terminal, "budget");
    let server = Server::answering(|_| {
        crate::server::Reply::status(400)
            .body(json!({ "error": { "message": "no such model" } }).to_string())
    });
    let mut terminal =
        Terminal::in_window(&test, &server, "run asked go --yes --unconfined", COLOR);
    terminal.is_over(1);
    save(&test, &terminal, "error");
}

#[test]
fn streaming_and_resume() {
    let answer = "## Plan\n\nI read **three** files; `src/main.rs` is the entry:\n\n\
        - it parses the [arguments](docs/args.md)\n- it calls `run`, which returns an error that \
        nobody shows, so that the program ends without a word\n\n\
        | file | lines |\n| --- | --- |\n| `src/main.rs` | 120 |\n| `src/run.rs` | 340 |\n\n\
        ```rust\nfn main() -> ExitCode {\n    run().unwrap_or_else(report)\n}\n```\n\n";
    let server = Server::answering(move |asked| match asked.user_texts.last() {
        Some(text) if text.starts_with("What") => Turn::text(answer).into(),
        _ => Turn::text(
            "日本語のファイルも読みました。とても長い行は画面の幅で折り返されます。\n\n- 한국어\n",
        )
        .into(),
    });
    let test = asked();
    let mut terminal = Terminal::in_window(
        &test,
        &server,
        "run asked --yes --unconfined",
        Window { rows: 24, ..COLOR },
    );
    terminal.shows("› ");
    terminal.types("What does this program do?");
    terminal.shows("unwrap_or_else");
    terminal.shows("tokens · $");
    save(&test, &terminal, "streaming");
    terminal.shows_that("the prompt", |screen| screen.trim_end().ends_with('›'));
    terminal.types("/exit");
    terminal.is_over(0);
    let mut terminal = Terminal::in_window(&test, &server, "resume", COLOR);
    terminal.shows("the last turn:");
    terminal.shows_that("the prompt", |screen| screen.trim_end().ends_with('›'));
    save(&test, &terminal, "resume");
    terminal.types("And the others?");
    terminal.shows("한국어");
    terminal.shows_that("the prompt", |screen| screen.trim_end().ends_with('›'));
    save(&test, &terminal, "wide");
    terminal.types("/exit");
    terminal.is_over(0);
}
