//! Searching, paging, editing and converting text, documents and data.

use super::Sign::{Prefix, Short, Unless, Word};
use super::harmless::{AWK, EXIFTOOL, MYSQL, PSQL, SED, SQLITE, UNIQ, XXD};
use super::{Group, LOAD, OPTIONS, RUN, VERB, WRITE, exact, long};

super::groups! {
    ["ack"] [] RUN [long("--pager"), long("--output")];
    ["ag"] [] RUN [long("--pager")];
    ["awk" "gawk" "mawk" "nawk" "original-awk"] [] RUN [Prefix("-f"), Unless(AWK)];
    ["bat" "batcat"] [] RUN [exact("--pager"), exact("--generate-config-file")];
    ["bat" "batcat"] ["cache"] WRITE [VERB];
    ["cloc"] [] RUN [
        long("--out"), long("--report-file"), long("--extract-with"), long("--sql"),
        long("--write-lang-def"), long("--ignored"), long("--counted"), long("--found"),
        long("--categorized"), long("--config"), long("--strip-comments"), long("--vcs")
    ];
    ["ctags" "uctags"] [] WRITE [Short('o'), Short('f')];
    ["ctags" "uctags"] [] OPTIONS [long("--options"), long("--filter")];
    ["dasel"] [] WRITE [exact("--out"), Short('o')];
    ["diff3"] [] RUN [long("--diff-program")];
    ["dot" "neato"] [] WRITE [Short('o'), Short('O')];
    ["dot" "neato"] [] LOAD [Short('l'), Short('c')];
    ["duckdb"] [] RUN [
        Word("-c"), Word("--c"), Word("-s"), Word("--s"), Word("-f"), Word("--f"), Word("-cmd"),
        Word("--cmd"), Word("-init"), Word("--init")
    ];
    ["emacs"] [] RUN [
        Prefix("-e"), Prefix("-f"), Prefix("-l"), Prefix("--e"), Prefix("--f"), Prefix("--l"),
        Prefix("--script"), Prefix("-script"), Prefix("--init-directory"),
        Prefix("-init-directory"), Prefix("--batch"), Prefix("-batch")
    ];
    ["emacsclient"] [] RUN [Prefix("-e"), Prefix("--e"), Short('a'), long("--alternate-editor")];
    ["etags"] [] WRITE [Short('o'), Short('f')];
    ["exiftool"] [] WRITE [Unless(EXIFTOOL)];
    ["fzf"] [] RUN [
        exact("--bind"), exact("--preview"), exact("--listen"), exact("--with-shell"),
        exact("--tmux"), exact("--history")
    ];
    ["groff" "troff" "nroff"] [] RUN [Short('U'), Short('M')];
    ["gs"] [] WRITE [Prefix("-sOutputFile"), Prefix("-o"), Prefix("-dNOSAFER")];
    ["gs"] [] RUN [Prefix("-c"), Prefix("@")];
    ["identify"] [] WRITE [Prefix("-write")];
    ["identify"] [] RUN [Prefix("msl:")];
    ["info"] [] WRITE [Short('o'), long("--output"), long("--dribble")];
    ["info"] [] OPTIONS [long("--restore")];
    ["less"] [] WRITE [Short('o'), Short('O'), long("--log-file"), long("--LOG-FILE")];
    ["less"] [] RUN [
        long("--lesskey-file"), long("--lesskey-src"), long("--lesskey-content"), Prefix("+"),
        Short('k')
    ];
    ["man"] [] RUN [
        Short('P'), Short('H'), Short('C'), long("--pager"), long("--html"), long("--config-file")
    ];
    ["mongosh" "mongo"] [] RUN [exact("--eval"), exact("--file"), Short('f')];
    ["more" "most"] [] RUN [Prefix("+")];
    ["mysql" "mariadb"] [] RUN [
        long("--tee"), long("--pager"), long("--init-command"), long("--defaults-file"),
        long("--defaults-extra-file"), long("--plugin-dir"), Unless(MYSQL)
    ];
    ["mysqldump" "mariadb-dump"] [] WRITE [
        Short('r'), Short('T'), long("--result-file"), long("--tab")
    ];
    ["nano" "pico"] [] RUN [
        Short('s'), Short('C'), Short('f'), long("--speller"), long("--backupdir"), long("--rcfile")
    ];
    ["nvim"] [] RUN [
        exact("--cmd"), Prefix("+"), Short('c'), Short('S'), Short('s'), Short('u'), Short('U'),
        Short('l'), Prefix("--remote"), Prefix("--server"), Prefix("--listen"), Prefix("--embed")
    ];
    ["nvim"] [] WRITE [Short('w'), Short('W'), Short('i'), Prefix("--startuptime")];
    ["nvim"] [] OPTIONS [Short('q')];
    ["pandoc"] [] RUN [
        Short('o'), Short('F'), Short('L'), long("--output"), long("--filter"),
        long("--lua-filter"), long("--extract-media"), long("--pdf-engine"),
        long("--pdf-engine-opt"), long("--log"), long("--defaults"), long("--data-dir"),
        long("--template")
    ];
    ["pandoc"] [] OPTIONS [Short('d')];
    ["pandoc"] [] LOAD [Short('t'), Short('w')];
    ["patch" "gpatch"] [] WRITE [Short('o'), Short('r'), long("--output"), long("--reject-file")];
    ["pg_dump" "pg_dumpall"] [] WRITE [Short('f'), long("--file")];
    ["psql"] [] RUN [
        Short('f'), Short('o'), Short('L'), long("--file"), long("--output"), long("--log-file"),
        Unless(PSQL)
    ];
    ["qpdf"] [] WRITE [exact("--replace-input")];
    ["qpdf"] [] OPTIONS [Prefix("@")];
    ["redis-cli"] [] RUN [exact("--eval")];
    ["redis-cli"] [] WRITE [exact("--rdb"), exact("--functions-rdb")];
    ["rg"] [] RUN [exact("--pre"), exact("--hostname-bin"), Short('z'), exact("--search-zip")];
    ["scc"] [] WRITE [Short('o'), exact("--output")];
    ["sdiff"] [] WRITE [Short('o'), long("--output")];
    ["sdiff"] [] RUN [long("--diff-program")];
    ["sed" "gsed"] [] WRITE [Short('i'), long("--in-place"), Short('I')];
    ["sed" "gsed"] [] OPTIONS [Short('f'), long("--file")];
    ["sed" "gsed"] [] RUN [Unless(SED)];
    ["shuf" "gshuf" "iconv"] [] WRITE [Short('o'), long("--output")];
    ["sort" "gsort"] [] WRITE [Short('o'), long("--output")];
    ["sort" "gsort"] [] RUN [long("--compress-program")];
    ["split" "gsplit"] [] RUN [long("--filter")];
    ["sqlite3"] [] RUN [
        Unless(SQLITE), Prefix("-init"), Prefix("--init"), Prefix("-cmd"), Prefix("--cmd")
    ];
    ["tex" "latex" "pdftex" "pdflatex" "xelatex" "lualatex" "luatex"] [] RUN [
        Prefix("-shell-escape"), Prefix("--shell-escape"), Prefix("-enable-write18"),
        Prefix("--enable-write18"), Prefix("-output-directory"), Prefix("--output-directory"),
        Prefix("-fmt"), Prefix("--fmt"), Prefix("-ini"), Prefix("--ini")
    ];
    ["ugrep" "ug"] [] RUN [
        long("--filter"), long("--pager"), long("--view"), long("--config"), long("--save-config"),
        Short('Q')
    ];
    ["uniq" "guniq"] [] WRITE [Unless(UNIQ)];
    ["vi" "vim" "view" "vimdiff" "rvim" "rview" "ex" "gvim" "mvim"] [] RUN [
        exact("--cmd"), Prefix("+"), Short('c'), Short('S'), Short('s'), Short('u'), Short('U'),
        Short('l'), Prefix("--remote"), Prefix("--server")
    ];
    ["vi" "vim" "view" "vimdiff" "rvim" "rview" "ex" "gvim" "mvim"] [] WRITE [
        Short('w'), Short('W'), Short('i'), Prefix("--startuptime")
    ];
    ["vi" "vim" "view" "vimdiff" "rvim" "rview" "ex" "gvim" "mvim"] [] OPTIONS [Short('q')];
    ["xmllint"] [] WRITE [exact("--output"), exact("--shell"), Prefix("-o"), Prefix("-shell")];
    ["xmlstarlet"] [] WRITE [Short('L'), exact("--inplace")];
    ["xsltproc"] [] WRITE [
        Prefix("-o"), Prefix("--o"), Prefix("--writesubtree"), Prefix("-writesubtree")
    ];
    ["xxd"] [] WRITE [Unless(XXD)];
    ["yq"] [] WRITE [
        Short('i'), exact("--inplace"), exact("--in-place"), exact("--split-exp"),
        exact("--split-exp-file"), Prefix("-s")
    ];
}
