//! Words of made-up commands: names, arguments, and everything that may become either.

use super::grammar;
use super::random::Random;

/// Commands that the rules allow, some with what makes them harmful.
const ALLOWED: &[&str] = &[
    "git log", "git log", "git status", "git diff", "ls", "ls", "cat", "cat", "grep", "head", "echo",
    "echo", "wc", "printf", "find", "sort", "sed", "true", ":",
];
/// Commands that they do not.
const OTHERS: &[&str] =
    &["rm", "curl", "touch", "tee", "git push", "./ls", "/bin/ls", "./git log", "x", "git", "/bin/rm"];
/// The same names, spelled oddly.
const SPELLINGS: &[&str] = &[
    "\\ls", "l''s", "\"cat\"", "c\\at", "$'ls'", "'git' log", "g\"i\"t log", "{ls,-l}", "{git,log}",
    "l\\\ns", "$'\\x6cs'", "$'\\154s'", "r''m", "\\rm", "$'rm'", "{rm,x}", "ls{,}", "$\"ls\"",
];
/// Plain arguments.
const PLAIN: &[&str] = &[
    "-l", "-n", "5", "a", "src", "README.md", "x", "notes.txt", "--oneline", "-5", "src/main.rs", ".",
    "--", "-", "-a", "foo", "a,b", "x=1", "FOO=1", "..", "/tmp", "~", "~/x", "-p", "{}", "-name",
    "--output=x", "-delete", "--force", "-o", "-exec", "!", "-c", "%s", "-v", "-r", "-R", "HEAD~1",
    "s/a/b/", "1d", "-i", "@{u}", "HEAD^", "rm", "x=y", "--help", "-print", "2", "1",
];
/// Text that would be harmful if it were not quoted.
const PAYLOADS: &[&str] = &[
    "; rm x", "$(rm x)", "`rm x`", "| rm x", "&& rm x", "\nrm x\n", "> evil", "& rm x", "rm x", "a b",
    "*", "~", "$x", "$HOME", "a|b;c", "--output=x", "-delete", "<(rm x)", "{a,b}", "#", "a'b", "a\"b",
    "${x:-$(rm x)}", "$((1+1))", "!x", "é", "\\", "a\\", "EOF", "(", ")", "{", "}", "'", "\"", "",
    " ", "x y", "$1", "done", "fi", "\t", "${x}", "\\\"; rm x; \\\"", "'; rm x; '", "\"; rm x; \"",
];
/// Expansions.
const EXPANSIONS: &[&str] = &[
    "$x", "${x}", "\"$x\"", "\"${x}\"", "$HOME", "\"$HOME\"/x", "$PWD", "$?", "$$", "$#", "$!", "$-",
    "$0", "$1", "\"$1\"", "$@", "\"$@\"", "$*", "${x:-a}", "\"${x:-a b}\"", "${x:=y}", "${x+z}", "${#x}",
    "${x%a}", "${x#a}", "${x/a/b}", "${x^^}", "${x,,}", "${x:0:1}", "${!x}", "${x@Q}", "${x@P}",
    "${x[0]}", "${x[@]}", "$((1+2))", "$((x))", "$[1+1]", "$y", "${y}z", "a$x", "$x$y", "\"a$x b\"",
    "${x:-$(rm x)}", "${x:-`rm x`}", "$RANDOM", "$IFS", "${IFS}", "$_", "$BASH", "$FUNCNAME", "$f",
    "${x:?}", "${x-rm}", "\"${x:-\"a\"}\"", "\"${x:-'a'}\"", "${x:-'a b'}", "$'a\\'b'", "$x[0]",
];
/// Patterns of file names, and braces.
const GLOBS: &[&str] = &[
    "*", "*.md", "src/*", "?", "[a-z]", "[!a]*", "**", "-*", "./*", "*/", "~/*", "a*b", "{a,b}",
    "{1..3}", "{a,b}{c,d}", "x{,y}", "{rm,-rf,x}", "{--output=,x}y", "\\*", "'*'", "a{b", "{a}",
    "{,}", "{a,{b,c}}", "@(a|b)", "!(a)", "*(x)", "?(rm)", "+(a)", "[", "[a", "]", "[[:alpha:]]",
    "{a..c}", "{a,\"b c\"}", "{$x,b}", "src/{main,lib}.rs", "~+", "~-", "~user", "*[x", "a]",
];

/// The name of a command, with its own first words.
pub(super) fn command(random: &mut Random) -> String {
    match random.below(40) {
        0 => random.pick(OTHERS).to_owned(),
        1..4 => random.pick(SPELLINGS).to_owned(),
        4 => argument(0, random),
        _ => random.pick(ALLOWED).to_owned(),
    }
}

/// One argument.
pub(super) fn argument(depth: usize, random: &mut Random) -> String {
    match random.below(16) {
        0..5 => random.pick(PLAIN).to_owned(),
        5..8 => quoted(random),
        8..10 => random.pick(EXPANSIONS).to_owned(),
        10..12 => random.pick(GLOBS).to_owned(),
        12 => format!("{}{}", argument(0, random), argument(0, random)),
        13..15 if depth > 0 => substitution(depth - 1, random),
        _ => random.pick(PLAIN).to_owned(),
    }
}

/// A payload in quotes of some kind.
fn quoted(random: &mut Random) -> String {
    let text = random.pick(PAYLOADS);
    match random.below(7) {
        0..2 => format!("'{}'", text.replace('\'', "'\\''")),
        2 => {
            let escaped = |c: char| if "\"\\$`".contains(c) { format!("\\{c}") } else { c.into() };
            format!("\"{}\"", text.chars().map(escaped).collect::<String>())
        }
        3 => format!("$'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n")),
        4 => {
            let escaped = |c: char| if c == '\n' { "'\n'".into() } else { format!("\\{c}") };
            text.chars().map(escaped).collect()
        }
        5 => format!("\"{text}\""),
        _ => format!("'{text}'"),
    }
}

fn substitution(depth: usize, random: &mut Random) -> String {
    let inside = grammar::list(depth, random);
    match random.below(7) {
        0..2 => format!("$({inside})"),
        2..4 => format!("\"$({inside})\""),
        4 => format!("`{}`", inside.replace('\\', "\\\\").replace('`', "\\`")),
        5 => format!("<({inside})"),
        _ => format!("\"`{}`\"", inside.replace('\\', "\\\\").replace('`', "\\`").replace('"', "\\\"")),
    }
}
