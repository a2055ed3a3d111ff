//! What the analysis knows about variables, directories and functions, and when they become unknown.

use super::{Cases, check};

const CASES: Cases = &[
    ("x=a; true && x=b; rm $x", &["set= x=a", "free true", "set= x=b", "run rm **"]),
    ("x=a; if t; then x=b; fi; rm \"$x\"", &["set= x=a", "run t", "set= x=b", "run rm …"]),
    ("x=a; (x=b); rm $x", &["set= x=a", "set= x=b", "run rm a"]),
    ("x=a; x=b | cat; rm \"$x\"", &["set= x=a", "set= x=b", "run cat", "run rm a"]),
    ("x=a; x=b & rm $x", &["set= x=a", "set= x=b", "run rm a"]),
    ("x=a; while t; do rm $x; x=b; done", &["set= x=a", "run t", "run rm **", "set= x=b"]),
    (
        "x=a; for i in 1 2; do rm $x; x=b; done",
        &["set= x=a", "run rm **", "set= x=b", "run rm **", "set= x=b"],
    ),
    (
        "i=0; while t; do rm $i; i=$((i + 1)); i=$x; done",
        &["set= i=0", "run t", "run rm **", "unclear", "set= i=…", "set= i=…"],
    ),
    ("x=a; x=b rm $x", &["set= x=a", "set x=b", "run rm a"]),
    ("x=a; x=b eval 'rm $x'", &["set= x=a", "set x=b", "run rm **"]),
    ("x=a; read x; rm \"$x\"", &["set= x=a", "free read x", "run rm …"]),
    ("x=a; unset x; rm \"$x\"", &["set= x=a", "free unset x", "run rm …"]),
    ("x=a; : ${x:=b}; rm \"$x\"", &["set= x=a", "free : ** b**", "run rm …"]),
    ("x=a; x+=b; rm \"$x\"", &["set= x=a", "set= x=…", "run rm …"]),
    ("x=a; export x; rm \"$x\"", &["set= x=a", "set! x=a", "run rm a"]),
    ("x=a; f() { x=b; }; f; rm \"$x\"", &["set= x=a", "set= x=b in ?", "run rm … in ?"]),
    ("x=a; bash -c 'rm $x'", &["set= x=a", "run rm **"]),
    ("x=a; echo $(rm $x)", &["set= x=a", "run rm a", "run echo **"]),
    ("x=a; x=$x$x; rm $x", &["set= x=a", "set= x=aa", "run rm aa"]),
    ("x='*'; rm $x \"$x\"", &["set= x=*", "run rm *+ *"]),
    ("x='[a'; rm $x]", &["set= x=[a", "run rm …+ **"]),
    ("x=~/a; rm $x", &["set= x=/home/user/a", "run rm /home/user/a"]),
    ("HOME=/x; rm ~", &["set= HOME=/x", "run rm /x"]),
    ("HOME=$y; rm ~/z", &["set= HOME=…", "run rm …/z"]),
    (
        "for x in a b; do for y in c d; do rm $x$y; done; done",
        &["run rm ac", "run rm ad", "run rm bc", "run rm bd"],
    ),
    ("for x in *; do rm -- \"$x\"; done", &["run rm -- *"]),
    ("for x in a; do :; done; rm \"$x\"", &["free :", "run rm …"]),
    ("cd a; cd b; ls", &["enter a", "enter b in a|.", "run ls in a/b|b|a|."]),
    ("cd /etc && cat passwd", &["enter /etc", "run cat passwd in /etc"]),
    ("cd && ls", &["enter /home/user", "run ls in /home/user"]),
    ("cd ~/x && ls", &["enter /home/user/x", "run ls in /home/user/x"]),
    ("cd - && ls", &["enter …", "run ls in ?"]),
    ("cd \"$x\" && ls", &["enter …", "run ls in ?"]),
    ("cd -P a && ls", &["enter a", "run ls in ?"]),
    ("cd a && cat x > y", &["enter a", "write y in a", "run cat x in a"]),
    ("cd a && cd ../.. && ls", &["enter a", "enter ../.. in a", "run ls in .."]),
    ("if cd a; then ls; else pwd; fi", &["enter a", "run ls in a", "free pwd"]),
    ("while t; do cd a; ls; done", &["run t in ?", "enter a in ?", "run ls in ?"]),
    ("(cd a; ls) && ls", &["enter a", "run ls in a|.", "run ls"]),
    ("cd a & ls", &["enter a", "run ls"]),
    ("pushd a; ls", &["enter a", "run ls in a|."]),
    ("! cd a && ls", &["enter a", "run ls"]),
    ("cd a; echo $PWD", &["enter a", "run echo ** in a|."]),
    ("cd a && echo $PWD", &["enter a", "run echo /srv/space/a in a"]),
    ("git() { rm x; }; git log", &["run rm x in ?"]),
    ("if t; then git() { rm x; }; fi; git log", &["run t", "run rm x in ?", "run git log"]),
    ("git() { rm x; }; command git log", &["run rm x in ?", "run git log"]),
    ("git() { rm x; }; env git log", &["run rm x in ?", "run git log"]),
    ("cd() { rm x; }; cd a; ls", &["run rm x in ?", "run ls in ?"]),
];

#[test]
fn shell_state_is_tracked_until_unknown() {
    check(CASES);
}
