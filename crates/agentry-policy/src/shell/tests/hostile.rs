//! Long, deep and broken lines: the analysis neither panics nor takes too long.

use proptest::prelude::*;

use super::{check, context, render_bare};
use crate::shell::analyser::ShellAnalyser;
use crate::shell::{PartEffect, analyse};

/// Returns the parts of a line as text.
fn parts(line: &str) -> Vec<String> {
    analyse(line, &context()).iter().map(render_bare).collect()
}

fn is_unclear(line: &str) -> bool {
    analyse(line, &context()).iter().any(|part| matches!(part.what, PartEffect::Unclear { .. }))
}

#[test]
fn long_command_chains_are_analysed_completely() {
    for separator in ["; ", " && ", " || ", " | ", " & ", "\n"] {
        let mut line = vec!["true"; 10_000].join(separator);
        line.push_str(separator);
        line.push_str("curl x");
        let parts = parts(&line);
        // A job of builtins in the background is one more part.
        let jobs = usize::from(separator == " & ");
        assert_eq!(parts.len(), 10_001 + jobs, "{separator:?}");
        assert_eq!(parts.last().map(String::as_str), Some("run curl x"), "{separator:?}");
        assert!(!parts.contains(&"unclear".to_owned()), "{separator:?}");
    }
}

#[test]
fn analysis_takes_linear_time() {
    let lines: [fn(usize) -> String; 8] = [
        |n| "ls a > b; ".repeat(n),
        |n| vec!["ls"; n].join(" | "),
        |n| vec!["ls"; n].join(" && "),
        |n| format!("cat <<EOF\n{}EOF", "a line\n".repeat(n)),
        |n| "x=$(date); echo $x; ".repeat(n),
        |n| "(cd a && ls); ".repeat(n),
        |n| "if a; then b; fi\n".repeat(n),
        |n| format!("x=a; ls {}", "$x ".repeat(n)),
    ];
    for (index, line) in lines.iter().enumerate() {
        let steps = |n| {
            let line = line(n);
            ShellAnalyser::new(&line, &context()).run(&line).1
        };
        let (few, many) = (steps(100), steps(10_000));
        assert!(many <= 120 * few, "line {index}: {few} steps, then {many}");
    }
}

#[test]
fn long_words_and_documents_are_analysed() {
    let body = "line of text\n".repeat(10_000);
    assert_eq!(parts(&format!("cat <<EOF\n{body}EOF")), ["run cat"]);
    let words = "a ".repeat(10_000);
    assert_eq!(parts(&format!("ls {words}")).len(), 1);
    let substitutions = "$(date) ".repeat(2_000);
    assert_eq!(parts(&format!("echo {substitutions}")).len(), 2_001);
}

#[test]
fn deep_and_broken_lines_are_unclear() {
    let lines = [
        format!("{}ls{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("{}ls{}", "( ".repeat(500), " )".repeat(500)),
        "(".repeat(5_000),
        ")".repeat(5_000),
        format!("echo {}", "$(".repeat(1_000)),
        format!("echo {}ls{}", "$(echo ".repeat(200), ")".repeat(200)),
        format!("echo {}", "${".repeat(1_000)),
        format!("echo {}", "$((".repeat(1_000)),
        format!("echo {}", "\"$(".repeat(1_000)),
        format!("echo {}", "`\\`".repeat(1_000)),
        format!("{}true", "if ".repeat(1_000)),
        format!("{}true", "case a in a) ".repeat(1_000)),
        format!("{}true", "while ".repeat(1_000)),
        "{ ".repeat(1_000),
        format!("{}true", "coproc ".repeat(1_000)),
        format!("{}true", "f() ".repeat(1_000)),
        format!("[[ {} a ]]", "! ".repeat(1_000)),
        format!("[[ a =~ {} ]]", "( ".repeat(1_000)),
        format!("a{}=1", "[a".repeat(1_000)),
        format!("{}ls", "< <(".repeat(500)),
        format!("{}ls{}", "{ echo $(".repeat(38), "); }".repeat(38)),
        format!("{}ls{}", "if { env echo \"$(".repeat(38), ")\"; }; then a; fi".repeat(38)),
        "99999999999999999999>x".to_owned(),
        format!("{}x", "env ".repeat(1_000)),
        "'".repeat(100_001),
        "\"".repeat(100_001),
    ];
    for line in lines {
        let start: String = line.chars().take(40).collect();
        assert!(is_unclear(&line), "{start}");
    }
}

#[test]
fn many_quotes_are_fine() {
    assert_eq!(parts(&format!("echo {}", "''".repeat(50_000))), ["run echo ''"]);
    assert_eq!(parts(&format!("echo {}", "\"a\"".repeat(20_000))).len(), 1);
}

#[test]
fn values_do_not_grow_without_bound() {
    let doubled = "x=$x$x; ".repeat(100);
    let parts = parts(&format!("x=aaaaaaaa; {doubled} echo $x"));
    assert_eq!(parts.last().map(String::as_str), Some("run echo **"));
    let repeated = format!("x={}; echo {}", "a".repeat(4_000), "$x ".repeat(10_000));
    let total: usize =
        analyse(&repeated, &context()).iter().map(|part| format!("{:?}", part.what).len()).sum();
    assert!(total < 40 * repeated.len(), "{total}");
}

#[test]
fn nested_loops_are_analysed_once() {
    let mut line = "echo $a".to_owned();
    for _ in 0..12 {
        line = format!("for a in 1 2 3 4; do {line}; done");
    }
    assert!(parts(&line).len() <= 16);
}

#[test]
fn comments_and_quotes_are_told_apart() {
    check(&[
        ("ls # ; rm x", &["run ls"]),
        ("ls # '\nrm x # '", &["run ls", "run rm x"]),
        ("echo '# ' ; rm x", &["run echo '# '", "run rm x"]),
        ("echo a#b; rm x", &["run echo a#b", "run rm x"]),
        ("echo '\n' ; rm x", &["run echo '\n'", "run rm x"]),
    ]);
}

/// The scanner of the grammar looks up characters in a table of the C library, and reads far beyond its end
/// for these. Without the mask the process crashes.
#[test]
fn characters_outside_the_scanner_table_do_not_crash() {
    for c in ['\u{e9}', '\u{4e00}', '\u{fffd}', '\u{1f600}', '\u{10ffff}'] {
        for line in
            ["{@", "echo {@", "echo {1..@", "echo {1..2@}", "cat <<@\nx\n@", "x=@; $@ ${x#@}"]
        {
            let _ = analyse(&line.replace('@', &c.to_string()), &context());
        }
    }
}

#[test]
fn unicode_words_are_analysed() {
    check(&[
        ("echo grün 日本 😀; rm x", &["run echo grün 日本 😀", "run rm x"]),
        ("git log -- 'straße.md'", &["run git log -- straße.md"]),
        ("x=é; ls $x", &["set= x=é", "run ls é"]),
        ("ls ${x#é}\nrm ö", &["run ls **", "run rm ö"]),
    ]);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(line in any::<String>()) {
        let _ = analyse(&line, &context());
    }

    #[test]
    fn arbitrary_syntax_never_panics(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..24)
    ) {
        let _ = analyse(&words.concat(), &context());
    }

    #[test]
    fn a_command_after_understood_text_is_found(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..8)
    ) {
        let line = format!("{}\nrm -rf hidden", words.concat());
        let parts = parts(&line);
        let is_found = parts.iter().any(|part| part.contains("rm -rf hidden"));
        let is_data = line.contains("<<") || line.contains(['\'', '"', '`', '\\', '#', '(', '{', '[']);
        prop_assert!(is_found || is_data || parts.contains(&"unclear".to_owned()), "{:?}", parts);
    }
}

const WORDS: &[&str] = &[
    " ",
    "\n",
    "\t",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    "((",
    "))",
    "$(",
    "${",
    "$((",
    "`",
    "'",
    "\"",
    "\\",
    "$'",
    "$x",
    "$@",
    "<",
    ">",
    "<<",
    "<<EOF",
    "<<'EOF'",
    "EOF",
    "<(",
    ">(",
    "<<<",
    ">&",
    "&>",
    "2>",
    "!",
    "=",
    "x=",
    "x=(",
    "a[",
    "#",
    "*",
    "?",
    "~",
    "if",
    "then",
    "else",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "case",
    "esac",
    ";;",
    "function",
    "f()",
    "time",
    "coproc",
    "select",
    "ls",
    "rm",
    "echo a",
    "env",
    "sudo",
    "bash -c",
    "eval",
    "xargs",
    "find . -exec",
    "cd",
    "export",
    "é",
    "\u{10ffff}",
    "\r",
    "-",
    "--",
    "{a,b}",
    "{1..9}",
    ",",
    "..",
];
