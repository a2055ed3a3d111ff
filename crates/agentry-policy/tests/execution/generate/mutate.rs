//! Small mutations of a line, as an attacker or a bad quoting function would make them.

use super::random::Random;

/// What shells look at.
const PIECES: &[&str] = &[
    "'",
    "\"",
    "\\",
    "`",
    "$",
    "$(",
    "${",
    ")",
    "}",
    "{",
    "(",
    ";",
    "&",
    "|",
    "<",
    ">",
    "#",
    "!",
    "~",
    "*",
    "?",
    "[",
    "]",
    "=",
    ",",
    "-",
    "--",
    " ",
    "\t",
    "\n",
    "\\\n",
    "$'",
    "$\"",
    "((",
    "))",
    "[[",
    "]]",
    "<<",
    "<<<",
    "<<-",
    ">>",
    "<(",
    ">(",
    "&&",
    "||",
    ";;",
    "|&",
    "&>",
    ">&",
    "2>&1",
    ">|",
    "<>",
    "rm x",
    "; rm x",
    "\nrm x\n",
    "$(rm x)",
    "`rm x`",
    "EOF",
    "\nEOF\n",
    "'EOF'",
    "do",
    "done",
    "in",
    "then",
    "fi",
    "esac",
    "case",
    "if",
    "for",
    "time",
    "!",
    "function",
    "eval",
    "exec",
    "--output=x",
    "-delete",
    "-exec",
    "-c",
    "{a,b}",
    "$x",
    "${x}",
    "$@",
    "$IFS",
    "x=rm",
    "x=",
    "FOO=1",
    "+=",
    "\\'",
    "\\\"",
    "\\\\",
    "\\$",
    "\\`",
    "\\ ",
    "é",
    "@",
    "^",
    "%",
    ":",
    "/",
    "./",
    "../",
    "~/",
    "/bin/",
    "-",
    "PATH",
    "DEBUG",
    "wait -p x",
    "\\\nEOF",
    "+",
    "x=ls; $x ",
    "\nrm x #",
];

/// One small change.
pub(crate) fn mutated(line: &str, random: &mut Random) -> String {
    let chars: Vec<char> = line.chars().collect();
    let at = random.below(chars.len() + 1);
    let piece = random.pick(PIECES);
    let (before, after) = chars.split_at(at);
    let text = |chars: &[char]| chars.iter().collect::<String>();
    match random.below(9) {
        0..3 => text(before) + piece + &text(after),
        3 => text(before) + &text(after.get(1..).unwrap_or_default()),
        4 => text(before) + piece + &text(after.get(1..).unwrap_or_default()),
        5 => {
            let length = random.below(after.len().min(12) + 1);
            text(before) + &text(after.get(length..).unwrap_or_default())
        }
        6 => {
            let length = random.below(after.len().min(20) + 1);
            let part = text(after.get(..length).unwrap_or_default());
            let to = random.below(chars.len() + 1);
            let (before, after) = chars.split_at(to);
            text(before) + &part + &text(after)
        }
        7 => {
            let length = random.below(after.len().min(20) + 1);
            let (part, after) = after.split_at(length);
            let quote = random.pick(&["'", "\"", "$'", "`", "$(", "{", "("]);
            let close = match quote {
                "$(" | "(" => ")",
                "{" => "; }",
                "$'" => "'",
                quote => quote,
            };
            text(before) + quote + &text(part) + close + &text(after)
        }
        _ => wrapped(line, random),
    }
}

/// The line inside of another.
fn wrapped(line: &str, random: &mut Random) -> String {
    let single = line.replace('\'', "'\\''");
    match random.below(12) {
        0 => format!("sh -c '{single}'"),
        1 => format!("bash -c '{single}'"),
        2 => format!("eval '{single}'"),
        3 => format!("bash -c \"{line}\""),
        4 => format!("sh -c \"{line}\""),
        5 => format!("eval \"{line}\""),
        6 => format!("echo \"$({line})\""),
        7 => format!("echo `{line}`"),
        8 => format!("bash <<'EOF'\n{line}\nEOF"),
        9 => format!("cat <<EOF\n{line}\nEOF"),
        10 => format!("({line})"),
        _ => format!("{{ {line}\n}}"),
    }
}

/// The start of one line and the end of another.
pub(crate) fn spliced(first: &str, second: &str, random: &mut Random) -> String {
    let start: String = first.chars().take(random.below(first.chars().count() + 1)).collect();
    let end: String = second.chars().skip(random.below(second.chars().count() + 1)).collect();
    start + &end
}
