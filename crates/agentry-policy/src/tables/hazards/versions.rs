//! Version control: what reads history, and what runs hooks, pagers and helpers.

use super::Sign::{Global, Long, Short, Unless, Word};
use super::harmless::HG;
use super::{Group, RUN, SEND, VERB, WRITE, exact, long};

super::groups! {
    ["delta"] [] RUN [exact("--pager"), exact("--config")];
    ["gh"] ["api" "auth"] SEND [VERB];
    ["gh"] ["alias" "extension" "extensions" "ext" "config"] RUN [VERB];
    ["gh"] ["run" "release"] WRITE [Short('D'), exact("--dir"), exact("--output")];
    ["gh"] [] WRITE [exact("--clobber")];
    ["gh"] [] RUN [exact("--web")];
    ["gh"] ["pr" "issue" "repo" "run" "release" "workflow" "gist" "browse"] RUN [Short('w')];
    ["git"] [] RUN [
        Global("-c"), Global("--config-env"), Global("--exec-path="), Global("-C"),
        Global("--git-dir"), Global("--work-tree"), Global("--bare")
    ];
    ["git"] ["grep"] RUN [long("--open-files-in-pager"), Short('O')];
    ["git"] ["rebase" "difftool"] RUN [Short('x')];
    ["git"] ["difftool"] RUN [long("--extcmd")];
    ["git"] ["clone"] RUN [Short('u'), Short('c')];
    ["git"] ["clone" "init"] RUN [long("--config"), long("--template")];
    ["git"] ["clone" "init"] WRITE [long("--separate-git-dir")];
    ["git"] ["bisect" "hook"] RUN [Word("run")];
    ["git"] ["submodule"] RUN [Word("foreach")];
    ["git"] ["filter-branch" "difftool" "mergetool" "for-each-repo" "instaweb" "daemon" "send-email"
    "credential" "http-backend" "p4" "svn" "shell" "upload-pack" "receive-pack" "upload-archive"
    "web--browse" "remote-ext" "remote-fd" "config"] RUN [
        VERB
    ];
    ["git"] ["maintenance"] RUN [Word("start")];
    ["git"] ["maintenance"] WRITE [Word("register")];
    ["git"] ["archive" "format-patch" "bugreport" "diagnose" "mailsplit"] WRITE [Short('o')];
    ["git"] ["format-patch" "bugreport" "diagnose"] WRITE [long("--output-directory")];
    ["git"] ["archive"] SEND [long("--remote")];
    ["git"] ["bundle"] WRITE [Word("create")];
    ["git"] ["fast-export" "fast-import"] WRITE [
        long("--export-marks"), long("--export-pack-edges")
    ];
    ["git"] ["checkout-index"] WRITE [long("--prefix")];
    ["git"] ["interpret-trailers"] WRITE [long("--in-place")];
    ["git"] ["help"] RUN [
        long("--web"), long("--man"), long("--info"), Short('w'), Short('m'), Short('i')
    ];
    ["git"] ["merge" "pull" "rebase" "cherry-pick" "revert"] RUN [long("--strategy")];
    ["git"] ["merge" "pull" "rebase"] RUN [Short('s')];
    ["git"] ["cat-file"] RUN [exact("--filters")];
    ["git"] ["annotate" "archive" "blame" "bundle" "cherry-pick" "diff" "diff-files" "diff-index"
    "diff-pairs" "diff-tree" "difftool" "fast-export" "format-patch" "log" "range-diff" "reflog"
    "replay" "rev-list" "revert" "shortlog" "show" "stash" "whatchanged" "d" "df" "hist" "l" "lg"
    "ll" "lol"] WRITE [
        Long("--output", 5)
    ];
    ["git"] ["annotate" "archive" "blame" "bundle" "cherry-pick" "diff" "diff-files" "diff-index"
    "diff-pairs" "diff-tree" "difftool" "fast-export" "format-patch" "log" "range-diff" "reflog"
    "replay" "rev-list" "revert" "shortlog" "show" "stash" "whatchanged" "d" "df" "hist" "l" "lg"
    "ll" "lol" "grep"] RUN [
        Long("--ext-diff", 5)
    ];
    ["git"] ["annotate" "archive" "blame" "bundle" "cherry-pick" "diff" "diff-files" "diff-index"
    "diff-pairs" "diff-tree" "difftool" "fast-export" "format-patch" "log" "range-diff" "reflog"
    "replay" "rev-list" "revert" "shortlog" "show" "stash" "whatchanged" "d" "df" "hist" "l" "lg"
    "ll" "lol" "cat-file" "grep"] RUN [
        Long("--textconv", 7)
    ];
    ["git"] ["clone" "fetch" "fetch-pack" "ls-remote" "pull" "remote" "submodule" "archive"] RUN [
        long("--upload-pack")
    ];
    ["git"] ["push" "send-pack"] RUN [long("--receive-pack")];
    ["git"] ["archive" "fetch-pack" "ls-remote" "push" "rebase" "send-pack"] RUN [long("--exec")];
    ["hg"] [] RUN [
        Global("--config"), Global("-R"), Unless(HG), long("--ssh"), long("--remotecmd"), long("--debugger"), long("--tool"),
        long("--output"), long("--repository"), long("--cwd"), long("--config")
    ];
    ["hg"] ["clone" "pull" "push" "incoming" "outgoing" "identify"] RUN [Short('e'), Short('o')];
    ["hg"] ["cat" "archive" "export" "bundle"] WRITE [Short('o')];
    ["hg"] ["extdiff" "serve" "debugshell" "debugpython"] RUN [VERB];
    ["jj"] [] RUN [
        exact("--config"), exact("--config-toml"), exact("--config-file"), exact("--tool")
    ];
    ["pre-commit"] [] RUN [long("--config"), Short('c')];
    ["svn"] [] RUN [
        long("--diff-cmd"), long("--diff3-cmd"), long("--editor-cmd"), long("--config-option"),
        long("--config-dir")
    ];
}
