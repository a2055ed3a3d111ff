//! Generates lines from a grammar of the shell: lists, pipelines, compound commands, redirections, wrappers.

use super::random::Random;
use super::words::{argument, command};

/// A whole line.
pub(crate) fn line(random: &mut Random) -> String {
    let depth = 1 + random.below(3);
    let line = list(depth, random);
    match random.below(12) {
        0 => format!("{line} # {}", argument(0, random)),
        1 => format!("x={}; {line}", argument(0, random)),
        2 => format!("x={}\ny={}\n{line}", argument(0, random), argument(0, random)),
        3 => format!("set -e; {line}"),
        _ => line,
    }
}

/// Commands joined by operators.
pub(super) fn list(depth: usize, random: &mut Random) -> String {
    let mut text = pipeline(depth, random);
    for _ in 0..[0, 0, 0, 1, 1, 2][random.below(6)] {
        let next = pipeline(depth, random);
        let operator =
            random.pick(&[" && ", " || ", "; ", ";", " | ", "|", " & ", "\n", " |& ", "&&", "||"]);
        // A here-document ends with its line.
        let operator = if text.ends_with("EOF") { "\n" } else { operator };
        text = text + operator + &next;
    }
    text
}

fn pipeline(depth: usize, random: &mut Random) -> String {
    let one = match random.below(16) {
        0..3 if depth > 0 => compound(depth - 1, random),
        3..6 if depth > 0 => wrapper(depth - 1, random),
        6 if depth > 0 => builtin(depth - 1, random),
        7 => return here_document(depth, random),
        _ => simple(depth, random),
    };
    match random.below(20) {
        0 => format!("! {one}"),
        1 => format!("time {one}"),
        2 => format!("{one} &"),
        _ => one,
    }
}

fn simple(depth: usize, random: &mut Random) -> String {
    let mut text = String::new();
    if random.once_in(14) {
        text += random.pick(&["FOO=1 ", "LANG=C ", "x=1 ", "PATH=. ", "NO_COLOR=1 ", "BAR=$(ls) "]);
    }
    text += &command(random);
    for _ in 0..random.below(4) {
        text += " ";
        text += &argument(depth, random);
    }
    if random.once_in(4) {
        text += &redirection(random);
    }
    text
}

fn redirection(random: &mut Random) -> String {
    let operator = random.pick(&[
        " > ", " >> ", " 2> ", " < ", " &> ", ">", " >| ", " 2>", " <> ", " >& ", " &>> ", " 3> ",
        " {fd}> ", " <<< ",
    ]);
    let target = match random.below(10) {
        0..3 => "/dev/null".to_owned(),
        3..5 => "out/new".to_owned(),
        5 => "src/x".to_owned(),
        6 => "notes.txt".to_owned(),
        7 => return random.pick(&[" 2>&1", " >&2", " 2>&-", " 1>&2", " <&0", " 3>&1"]).to_owned(),
        _ => argument(0, random),
    };
    format!("{operator}{target}")
}

fn here_document(depth: usize, random: &mut Random) -> String {
    let mark = random.pick(&["EOF", "'EOF'", "\"EOF\"", "\\EOF", "E'O'F", "E\"\"OF"]);
    let dash = random.pick(&["", "", "-"]);
    let command = if random.once_in(4) { "bash".to_owned() } else { simple(0, random) };
    let body = match random.below(6) {
        0 => list(depth.saturating_sub(1), random),
        1 => format!("{}\n{}", argument(depth, random), argument(0, random)),
        2 => format!("'{}\n\"{}", argument(depth, random), argument(0, random)),
        3 => format!("a\\\n{}\nEO\\\nF\n{}", argument(0, random), simple(0, random)),
        4 => format!("{}\\", simple(0, random)),
        _ => argument(depth.saturating_sub(1), random),
    };
    let tab = if dash.is_empty() { "" } else { "\t" };
    format!("{command} <<{dash}{mark}\n{tab}{body}\n{tab}EOF")
}

fn compound(depth: usize, random: &mut Random) -> String {
    let (first, second) = (list(depth, random), list(depth, random));
    let word = argument(0, random);
    let text = match random.below(14) {
        0 => format!("({first})"),
        1 => format!("{{ {first}\n}}"),
        2 => format!("if {first}\nthen {second}\nfi"),
        3 => format!("if true; then {first}\nelse {second}\nfi"),
        4 => format!("for x in {word} a; do {first}\ndone"),
        5 => format!("for x in {word} {}; do ls $x; {first}\ndone", argument(0, random)),
        6 => format!("while false; do {first}\ndone"),
        7 => format!("until true; do {first}\ndone"),
        8 => format!("case {word} in a) {first}\n;; *) {second}\n;; esac"),
        9 => format!("f() {{ {first}\n}}; f {word}"),
        10 => format!("f() ({first}); {second}; f"),
        11 => format!("function ls {{ {first}\n}}; ls {word}"),
        12 => format!("[[ {word} == {} ]] && {first}", argument(0, random)),
        _ => format!("while read -r x; do {first}\nls \"$x\"; done < README.md"),
    };
    if random.once_in(5) { text + &redirection(random) } else { text }
}

fn wrapper(depth: usize, random: &mut Random) -> String {
    let inside = simple(0, random);
    let script = list(depth, random);
    let single = script.replace('\'', "'\\''");
    match random.below(40) {
        0 => format!("env {inside}"),
        1 => format!("env FOO=1 {inside}"),
        2 => format!("env -i {inside}"),
        3 => format!("env -u x -- {inside}"),
        4 => format!("ls | xargs {inside}"),
        5 => format!("cat README.md | xargs -n1 {inside}"),
        6 => format!("ls | xargs -I{{}} {inside} {{}}"),
        7 => format!("find . -name '*.md' -exec {inside} {{}} \\;"),
        8 => format!("find . -type f -exec {inside} {{}} +"),
        9 => format!("find src -execdir {inside} \\;"),
        10 => format!("timeout 1 {inside}"),
        11 => format!("timeout -s KILL 1 {inside}"),
        12 => format!("nohup {inside}"),
        13 => format!("nice -n 5 {inside}"),
        14 => format!("sh -c '{single}'"),
        15 => format!("bash -c '{single}'"),
        16 => format!("bash -lc '{single}'"),
        17 => format!("sh -c \"{script}\""),
        18 => format!("bash -c '{single}' a {}", argument(0, random)),
        19 => format!("eval '{single}'"),
        20 => format!("eval \"{script}\""),
        21 => format!("eval {inside}"),
        22 => format!("command {inside}"),
        23 => format!("exec {inside}"),
        24 => format!("env -S '{inside}'"),
        25 => format!("env -- {}=1 {inside}", name(random)),
        26 => format!("env {} {inside}", argument(0, random)),
        27 => format!("timeout {} {inside}", argument(0, random)),
        28 => format!("xargs {} {inside} < README.md", argument(0, random)),
        29 => format!("echo {} | xargs {inside}", argument(0, random)),
        30 => format!("eval -- {inside}"),
        31 => format!("find . {} {inside} \\;", argument(0, random)),
        32 => format!("find . -exec {inside} + \\;"),
        33 => format!("bash {} '{single}'", argument(0, random)),
        34 => {
            format!("sh {} -c '{single}'", random.pick(&["-e", "-x", "-a", "-o posix", "+c", "--"]))
        }
        35 => format!("nice {} {inside}", argument(0, random)),
        36 => format!("env -C src {inside} > x"),
        37 => format!("bash <<< '{single}'"),
        38 => format!("command {} {inside}", random.pick(&["-p", "-v", "--", "-V", "command"])),
        _ => format!("timeout 1 sh -c '{single}'"),
    }
}

/// The name of a variable.
fn name<'a>(random: &mut Random) -> &'a str {
    random.pick(&["x", "x", "PATH", "FOO", "IFS", "HOME", "PWD", "GIT_PAGER", "BASH_ENV", "y"])
}

fn builtin(depth: usize, random: &mut Random) -> String {
    let word = argument(depth, random);
    match random.below(28) {
        0 => format!("cd {word} && {}", simple(0, random)),
        1 => format!("(cd {word}; {})", simple(0, random)),
        2 => format!("export x={word}; {}", simple(0, random)),
        3 => format!("local x={word}"),
        4 => format!("declare x={word}; ls $x"),
        5 => format!("read -r x <<< {word}; ls \"$x\""),
        6 => format!("[ -f {word} ] && {}", simple(0, random)),
        7 => format!("test {word} = a || {}", simple(0, random)),
        8 => format!("printf -v x %s {word}; ls $x"),
        9 => format!("unset x; {}", simple(0, random)),
        10 => format!("x={word}; ls $x \"$x\""),
        11 => format!("x={word} y=$x; cat $y"),
        12 => format!("trap '{}' EXIT; ls", simple(0, random).replace('\'', "'\\''")),
        13 => format!("x+={word}; ls $x"),
        14 => format!("x=({word} b); ls \"${{x[@]}}\""),
        15 => format!("set -- {word}; ls \"$1\""),
        16 => format!(": ${{x:={word}}}; ls $x"),
        17 => format!("trap 'x={word}' {}; $x", random.pick(&["DEBUG", "ERR", "EXIT", "CHLD"])),
        18 => format!("x=ls; wait -p x; $x {word}"),
        19 => format!("read {} <<< {word}; {}", name(random), simple(0, random)),
        20 => format!("for {} in {word} b; do {}; done", name(random), simple(0, random)),
        21 => format!("x=ls; x={word} {}; $x y", simple(0, random)),
        22 => format!("{}={word}; {}", name(random), simple(0, random)),
        23 => format!("unset {}; {}", name(random), simple(0, random)),
        24 => format!("x=ls; {{ x={word}; }} && $x {word}"),
        25 => format!("x=ls y={word}; eval \"$x $y\""),
        26 => format!("getopts a {} -a; {}", name(random), simple(0, random)),
        _ => format!("cd src; cd {word}; ls > x"),
    }
}
