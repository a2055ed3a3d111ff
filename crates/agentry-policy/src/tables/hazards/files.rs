//! Finding, packing and copying files.

use super::Sign::{Prefix, Short, Unless, Word};
use super::harmless::{TAR, TAR_HERE};
use super::{DELETE, Group, RUN, SEND, WRITE, exact, long};

super::groups! {
    ["7z" "7za" "7zr" "7zz"] [] DELETE [Prefix("-sdel")];
    ["7z" "7za" "7zr" "7zz"] [] WRITE [Prefix("-o"), Prefix("-w")];
    ["cpio"] [] WRITE [
        Short('i'), Short('p'), Short('O'), Short('F'), long("--extract"), long("--pass-through"),
        long("--file")
    ];
    ["cpio"] [] RUN [long("--rsh-command")];
    ["dd"] [] WRITE [Prefix("of=")];
    ["fd" "fdfind"] [] RUN [Short('x'), Short('X'), exact("--exec"), exact("--exec-batch")];
    ["file"] [] WRITE [Short('C'), long("--compile")];
    ["file"] [] RUN [Short('z'), long("--uncompress"), long("--uncompress-noreport"), Short('Z')];
    ["find" "gfind"] [] DELETE [Word("-delete")];
    ["find" "gfind"] [] RUN [Word("-exec"), Word("-execdir"), Word("-ok"), Word("-okdir")];
    ["find" "gfind"] [] WRITE [Prefix("-fprint"), Word("-fls")];
    ["lsof"] [] WRITE [Short('D')];
    ["rsync"] [] RUN [
        Short('e'), Short('M'), exact("--rsh"), exact("--rsync-path"), exact("--remote-option"),
        exact("--daemon"), exact("--config")
    ];
    ["rsync"] [] DELETE [exact("--remove-source-files"), Prefix("--delete"), exact("--del")];
    ["rsync"] [] WRITE [
        exact("--log-file"), exact("--write-batch"), exact("--only-write-batch"),
        exact("--backup-dir"), exact("--partial-dir"), exact("--temp-dir"), Short('T')
    ];
    ["rsync"] [] SEND [exact("--password-file"), exact("--early-input")];
    ["tar" "gtar" "bsdtar"] [] RUN [
        long("--checkpoint-action"), long("--to-command"), long("--use-compress-program"),
        long("--rsh-command"), long("--rmt-command"), long("--info-script"),
        long("--new-volume-script"), Short('I'), Short('F'), Unless(TAR_HERE)
    ];
    ["tar" "gtar" "bsdtar"] [] WRITE [
        Unless(TAR), long("--index-file"), long("--volno-file"), long("--listed-incremental"),
        Short('g'), long("--overwrite"), long("--absolute-names"), Short('P')
    ];
    ["tar" "gtar" "bsdtar"] [] DELETE [
        long("--remove-files"), long("--unlink-first"), long("--recursive-unlink")
    ];
    ["install" "ginstall"] [] RUN [long("--strip-program")];
    ["tree"] [] WRITE [Short('o'), Short('R')];
    ["unzip"] [] WRITE [Short(':'), Short('o')];
    ["zip"] [] RUN [long("--unzip-command"), Short('T')];
    ["zip"] [] DELETE [Short('m'), long("--move")];
    ["zip"] [] WRITE [Prefix("-lf"), long("--logfile-path")];
    ["zstd"] [] WRITE [Short('o'), exact("--output-dir-flat"), exact("--output-dir-mirror")];
    ["zstd"] [] DELETE [exact("--rm")];
}
