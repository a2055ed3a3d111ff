//! Talking to other machines.

use super::Sign::{Long, Prefix, Short, Unless, Word};
use super::harmless::{CURL, CURL_AT, IFCONFIG, IP, NO_BANG, SSH};
use super::{DELETE, Group, LOAD, OPTIONS, RUN, SEND, VERB, WRITE, exact, long};

super::groups! {
    ["age"] [] WRITE [Short('o'), exact("--output")];
    ["aria2c"] [] WRITE [
        long("--log"), long("--save-session"), long("--conf-path"), long("--input-file")
    ];
    ["aria2c"] [] RUN [Prefix("--on-"), Prefix("--enable-rpc")];
    ["arp"] [] WRITE [Short('d'), Short('s'), Short('f')];
    ["curl"] [] WRITE [
        Short('o'), Short('O'), Short('J'), Short('c'), Short('D'), long("--output"),
        long("--output-dir"), long("--remote-name"), long("--remote-name-all"),
        long("--remote-header-name"), long("--dump-header"), long("--trace"), long("--trace-ascii"),
        long("--stderr"), long("--etag-save"), long("--hsts"), long("--alt-svc"), long("--libcurl"),
        Long("--cookie-jar", 9), Unless(CURL)
    ];
    ["curl"] [] SEND [
        Short('T'), Short('d'), Short('F'), Short('X'), long("--upload-file"), long("--data"),
        long("--data-ascii"), long("--data-binary"), long("--data-raw"), long("--data-urlencode"),
        long("--form"), long("--form-string"), long("--json"), long("--request"), long("--quote"),
        long("--mail-from"), long("--mail-rcpt"), long("--telnet-option"), Short('Q'), Short('t'),
        Short('n'), long("--netrc"), long("--netrc-file"), long("--netrc-optional"),
        long("--unix-socket"), long("--abstract-unix-socket"), long("--prequote"),
        long("--postquote"), Short('x'), long("--proxy"), Prefix("--proxy"), Prefix("--preproxy"),
        Prefix("--sock"), long("--connect-to"), long("--resolve"), long("--doh-url"),
        long("--dns-servers"), long("--url-query"), long("--variable"), Prefix("--expand-"),
        Unless(CURL_AT)
    ];
    ["curl"] [] OPTIONS [Short('K'), long("--config")];
    ["curl"] [] LOAD [long("--engine")];
    ["dig"] [] SEND [Short('f')];
    ["gpg" "gpg2"] [] WRITE [
        Short('o'), long("--output"), long("--log-file"), long("--status-file"),
        long("--attribute-file"), long("--logger-file"), Prefix("--delete-"),
        Prefix("--export-secret"), Prefix("--import"), Prefix("--recv-k"), Prefix("--edit-key"),
        Prefix("--gen-key"), Prefix("--full-gen"), Prefix("--quick-"), Prefix("--sign-key"),
        Prefix("--lsign")
    ];
    ["gpg" "gpg2"] [] RUN [
        long("--photo-viewer"), long("--agent-program"), long("--dirmngr-program"),
        long("--exec-path"), long("--keyserver-options")
    ];
    ["gpg" "gpg2"] [] OPTIONS [long("--options"), long("--homedir")];
    ["http" "https" "xh"] [] WRITE [
        Short('o'), Short('d'), long("--output"), long("--download"), long("--session")
    ];
    ["http" "https" "xh"] [] SEND [Prefix("@")];
    ["ifconfig"] [] WRITE [Unless(IFCONFIG)];
    ["ip"] ["netns"] RUN [Word("exec")];
    ["ip"] [] WRITE [
        Word("add"), Word("del"), Word("delete"), Word("set"), Word("change"), Word("replace"),
        Word("flush"), Word("append"), Unless(IP)
    ];
    ["ip"] [] OPTIONS [Word("-b"), Word("--b"), Prefix("-ba"), Prefix("--ba")];
    ["nc" "netcat" "nc.traditional"] [] RUN [Short('e'), Short('c')];
    ["ncat"] [] RUN [Short('e'), Short('c'), long("--exec"), long("--sh-exec"), long("--lua-exec")];
    ["ncat"] [] WRITE [long("--output"), long("--hex-dump"), Short('o'), Short('x')];
    ["nmap"] [] RUN [
        long("--script"), long("--script-args-file"), long("--datadir"), long("--servicedb"),
        long("--resume"), long("--interactive"), Prefix("-sC"), Short('A')
    ];
    ["nmap"] [] WRITE [Prefix("-o")];
    ["openssl"] [] WRITE [
        Prefix("-writerand"), Prefix("--writerand"), Prefix("-keyout"), Prefix("--keyout"),
        Prefix("-CAcreateserial"), Prefix("--CAcreateserial"), Word("-out"), Word("--out")
    ];
    ["openssl"] [] LOAD [
        Prefix("-config"), Prefix("--config"), Word("-engine"), Word("--engine"), Word("-provider"),
        Word("--provider"), Word("-provider-path"), Word("--provider-path")
    ];
    ["openssl"] ["engine"] LOAD [VERB];
    ["route"] [] WRITE [Word("add"), Word("del"), Word("delete"), Word("change"), Word("flush")];
    ["scp"] [] RUN [Short('S'), Short('D'), Unless(SSH)];
    ["scp"] [] OPTIONS [Short('F')];
    ["sftp"] [] RUN [Short('S'), Short('D'), Unless(SSH), Short('s')];
    ["sftp"] [] OPTIONS [Short('F'), Short('b')];
    ["socat"] [] RUN [
        Prefix("EXEC"), Prefix("SYSTEM"), Prefix("SHELL"), Prefix("exec"), Prefix("system"),
        Prefix("shell"), Prefix("Exec"), Prefix("System"), Prefix("Shell"), Unless(NO_BANG)
    ];
    ["socat"] [] WRITE [
        Prefix("OPEN"), Prefix("GOPEN"), Prefix("CREATE"), Prefix("FILE"), Prefix("open"),
        Prefix("gopen"), Prefix("create"), Prefix("file")
    ];
    ["ss"] [] WRITE [Short('K'), Short('D'), long("--kill"), long("--diag")];
    ["ssh"] [] OPTIONS [Short('F')];
    ["ssh"] [] WRITE [Short('E')];
    ["ssh"] [] LOAD [Short('I')];
    ["ssh"] [] RUN [Unless(SSH)];
    ["ssh"] [] SEND [
        Short('L'), Short('R'), Short('D'), Short('W'), Short('w'), Short('M'), Short('O')
    ];
    ["ssh-add"] [] LOAD [Short('s'), Short('S')];
    ["ssh-add"] [] DELETE [Short('d'), Short('D')];
    ["ssh-keygen"] [] WRITE [Short('f'), Short('D'), Short('w'), Short('I'), Short('s')];
    ["ssh-keygen"] [] DELETE [Short('R')];
    ["tcpdump"] [] WRITE [Short('w')];
    ["tcpdump"] [] RUN [Short('z')];
    ["tshark"] [] WRITE [Short('w')];
    ["tshark"] [] RUN [Short('X')];
    ["wget" "wget2"] [] WRITE [
        Short('O'), Short('o'), Short('a'), Short('P'), long("--output-document"),
        long("--output-file"), long("--append-output"), long("--directory-prefix"),
        long("--save-cookies"), long("--rejected-log"), long("--warc-file"), long("--hsts-file")
    ];
    ["wget" "wget2"] [] OPTIONS [
        Short('e'), Short('i'), long("--execute"), long("--config"), long("--input-file")
    ];
    ["wget" "wget2"] [] RUN [long("--use-askpass")];
    ["wget" "wget2"] [] SEND [
        long("--post-data"), long("--post-file"), long("--body-data"), long("--body-file"),
        long("--method")
    ];
    ["wget" "wget2"] [] DELETE [long("--delete-after")];
}
