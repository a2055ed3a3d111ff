//! Regular expressions of arguments that are harmless, for programs whose danger lies in the words
//! and not in the options. The arguments are joined by NUL.
//!
//! Options that a rule can name (`sed -i`) are accepted here; they have entries of their own.

/// A bracket expression of `sed` that does not hold the delimiter. A `]` right at its front is text,
/// so something has to stand between that place and the `]` that ends it.
macro_rules! bracket {
    ($delimiter:literal) => {
        concat!(
            r"\[\^?(?:\]|[^\]\[\\\n\x00^",
            $delimiter,
            r"]|\[:[a-z]+:\])(?:[^\]\[\\\n\x00",
            $delimiter,
            r"]|\[:[a-z]+:\])*\]"
        )
    };
}

/// A `sed` substitution or transliteration with one delimiter. A bracket expression must not hold
/// the delimiter, because implementations differ there; escapes that make a character from its
/// number are left out, because they are replaced before the script is read.
macro_rules! replace {
    ($delimiter:literal) => {
        concat!(
            r"[sy][",
            $delimiter,
            r"](?:[^\\\[\n\x00",
            $delimiter,
            r"]|\\[^cdox\n\x00]|",
            bracket!($delimiter),
            ")*[",
            $delimiter,
            r"](?:[^\\\n\x00",
            $delimiter,
            r"]|\\[^cdox\n\x00])*[",
            $delimiter,
            r"][gpIiMm0-9]*"
        )
    };
}

/// A `sed` deletion with brackets that hold nothing but the delimiter, `s/[^/]*$//`. Where such a
/// delimiter ends the pattern, a `/` or a `]` stands for the flags, and nothing is run.
macro_rules! delete {
    () => {
        concat!(r"s/(?:[^\\\[\n\x00/]|\\[^cdox\n\x00]|\[\^?/\]|", bracket!("/"), ")*//[gpIiMm0-9]*")
    };
}

/// One address of a `sed` command. Where a delimiter in brackets ends it, `]` is no command.
macro_rules! address {
    () => {
        concat!(
            r"(?:[0-9]+(?:~[0-9]+)?|\$|/(?:[^/\\\[\n\x00]|\\[^cdox\n\x00]|\[\^?/\]|",
            bracket!("/"),
            ")*/[IM]*)"
        )
    };
}

/// One `sed` command that neither reads, writes nor runs anything.
macro_rules! command {
    () => {
        concat!(
            "(?:",
            delete!(),
            "|",
            replace!("/"),
            "|",
            replace!("|"),
            "|",
            replace!("#"),
            "|",
            replace!(","),
            "|",
            replace!(":"),
            "|",
            replace!("@"),
            "|",
            replace!("%"),
            r"|[dDgGhHlnNpPxz=F]|[qQ][0-9]*)"
        )
    };
}

/// One address or two.
macro_rules! addresses {
    () => {
        concat!(address!(), "(?:,[ ]?[+~]?", address!(), r")?[ \t!]*")
    };
}

/// A command with its addresses, or addresses alone.
macro_rules! order {
    () => {
        concat!("(?:(?:", addresses!(), r"|[ \t!]*)", command!(), "|", addresses!(), ")")
    };
}

/// A label or a jump to one. Some implementations take a brace behind a label for a part of it, and
/// a space for its end, so a new command must not begin before the next `;` or end of a line.
macro_rules! jump {
    () => {
        concat!(
            "(?:",
            addresses!(),
            r"|[ \t!]*)(?::[ ]?[A-Za-z0-9_]+|[btT][ ]?[A-Za-z0-9_]*)[ \t}]*"
        )
    };
}

/// A command whose text takes the rest of its line: `a`, `i` and `c`. Only the end of the line ends
/// it, or else every `;` of the text might begin a command, and no machine could tell.
macro_rules! lines {
    () => {
        concat!("(?:", addresses!(), r"|[ \t!]*)[aic]\\?[ ]?[^\\\n\x00]*")
    };
}

/// A whole `sed` script, not empty: after `-i` an empty word is a suffix for some implementations.
macro_rules! script {
    () => {
        concat!(
            r"(?:[ \t;\n{}]+|[ \t;\n{}]*(?:",
            order!(),
            r"[ \t]*[;\n{}][ \t;\n{}]*|",
            jump!(),
            r"[;\n][ \t;\n{}]*|",
            lines!(),
            r"\n[ \t;\n{}]*)*(?:",
            order!(),
            r"[ \t;\n{}]*|",
            jump!(),
            r"(?:[;\n][ \t;\n{}]*)?|",
            lines!(),
            r"(?:\n[ \t;\n{}]*)?))"
        )
    };
}

/// An option of `sed` that carries no script.
macro_rules! option {
    () => {
        concat!(
            r"-[nErsuz]+|-[nErsuz]*[iI][^\x00]*|--in-place(?:=[^\x00]*)?|--quiet|--silent|--posix",
            r"|--regexp-extended|--separate|--unbuffered|--null-data|--zero-terminated|--sandbox",
            r"|--debug|--follow-symlinks|-l\x00?[0-9]+"
        )
    };
}

/// What stands before a script that is the value of an option.
macro_rules! expression {
    () => {
        r"-[nErsuz]*e\x00?|--expression[=\x00]"
    };
}

/// An option of `sed` with a file of commands, which has an entry of its own.
macro_rules! script_file {
    () => {
        r"(?:-[nErsuz]*f\x00?|--file[=\x00])[^\x00]+"
    };
}

/// `sed`: a script without `w`, `W`, `e`, `r` and `R`, first of all operands or behind `-e`. No
/// operand stands before an `-e`: where options end at the first operand, that one is the script.
pub(super) const SED: &str = concat!(
    "(?:(?:",
    option!(),
    r")\x00)*(?:(?:(?:--\x00|-i\x00\x00|",
    expression!(),
    ")?",
    script!(),
    "|",
    script_file!(),
    r")(?:\x00(?:",
    option!(),
    "|(?:",
    expression!(),
    ")",
    script!(),
    "|",
    script_file!(),
    r"|--?|[^-\x00][^\x00]*))*|--version|--help)"
);

/// Options of `awk` before its program.
macro_rules! awk_options {
    () => {
        r"(?:(?:-[Fv]\x00[^\x00]*|-[Fv][^\x00]+|--posix|--traditional|--re-interval)\x00)*"
    };
}

/// Text of an `awk` program without pipe, indirect call, `system` and `getline`. It is not taken
/// apart, so `sy` and `tl` may stand nowhere; nor what `not` holds, but for the operators.
macro_rules! awk_text {
    ($not:literal, $($operators:tt)+) => {
        concat!(
            "(?:[^st",
            $not,
            "]|[st]*s[^sty",
            $not,
            "]|[st]*t[^stl",
            $not,
            "]|[st]*(?:",
            $($operators)+,
            "))*[st]*"
        )
    };
}

/// Text inside of parentheses, where `>` compares. Without quotes, slashes, comments and ends of
/// lines both parentheses are code, or both are text.
macro_rules! awk_inside {
    ($($operators:tt)+) => {
        awk_text!("()\"/#\\\\{};>|@\\n\\x00", $($operators)+)
    };
}

/// Parentheses with a comparison, one pair inside of another perhaps; or those of a loop, whose
/// first and last parts are statements and may write.
macro_rules! awk_compares {
    () => {
        concat!(
            r"\((?:",
            awk_inside!(concat!(r"\|\||>|\(", awk_inside!(r"\|\||>"), r"\)")),
            "|",
            awk_inside!(r"\|\|"),
            ";",
            awk_inside!(r"\|\||>"),
            ";",
            awk_inside!(r"\|\|"),
            r")\)"
        )
    };
}

/// Text with statements.
macro_rules! awk_statements {
    () => {
        awk_text!(r"|>@\\\x00", concat!(r"\|\||>=|\\[^|>\n\x00]|", awk_compares!()))
    };
}

/// Text of a program at its front: not empty and without a dash, or else it is an option.
macro_rules! awk_front {
    ($not:literal) => {
        concat!("(?:[^-st", $not, "]|[st]*s[^sty", $not, "]|[st]*t[^stl", $not, "])")
    };
}

/// `awk`: a program without redirection, perhaps behind a regular expression; or a condition without
/// any statement; or a condition without strings and slashes, where `>` can only compare.
pub(super) const AWK: &str = concat!(
    awk_options!(),
    r"(?:(?:--\x00)?(?:(?:!?/(?:[^/\\\[\n\x00]|\\[^\n\x00])*/[ ]*|",
    awk_front!(r"|>@\\\x00"),
    "|",
    awk_front!("|@\\\\{}\"/#\\n\\x00"),
    awk_text!("|@\\\\{}\"/#\\n\\x00", r"\|\|"),
    "[{])",
    awk_statements!(),
    "|",
    awk_front!(r"|@\\{}\x00"),
    awk_text!(r"|@\\{}\x00", r"\|\|"),
    r")|-f\x00?[^\x00]+)(?:\x00(?:-?|-f\x00?[^\x00]+|[^-\x00][^\x00]*))*|--version|-W\x00version"
);

/// Any number of words, each like this.
macro_rules! words {
    ($($word:literal),+) => {
        concat!("(?:(?:", $($word),+, r")(?:\x00(?:", $($word),+, "))*)?")
    };
}

/// `uniq`: at most one operand, the second is written to.
pub(super) const UNIQ: &str = concat!(
    r"(?:(?:-[cdDiuz]*[fsw]\x00?[0-9]+|-[cdDiuz]+|-[0-9]+|--[a-z][^\x00]*)\x00)*",
    r"(?:-[cdDiuz]*[fsw]\x00?[0-9]+|-[cdDiuz]+|-[0-9]+|--[a-z][^\x00]*",
    r"|(?:-|[^-\x00][^\x00]*)",
    r"(?:\x00(?:-[cdDiuz]*[fsw]\x00?[0-9]+|-[cdDiuz]+|-[0-9]+|--[a-z][^\x00]*))*)?"
);

/// `xxd`: at most one operand, the second is written to.
pub(super) const XXD: &str = concat!(
    r"(?:(?:-(?:c|cols|g|l|len|n|name|o|s|seek|R)\x00[^\x00]+|-[a-zA-Z][^\x00]*)\x00)*",
    r"(?:-(?:c|cols|g|l|len|n|name|o|s|seek|R)\x00[^\x00]+|-[a-zA-Z][^\x00]*|-|[^-\x00][^\x00]*)?"
);

/// `tar`: no `I`, `F`, `g` or `P` in a first word of options without a dash (`tar xIf`).
pub(super) const TAR: &str = r"(?:-[^\x00]*|[^-IFgP\x00][^IFgP\x00]*)?(?:\x00[^\x00]*)*";

/// `curl`: no `%output{…}` in the format of `-w`, which writes a file.
pub(super) const CURL: &str = r"(?:[^%]|%+[^%o])*%*";

/// `curl`: no `@` at the front of a value, which takes the value from a file.
pub(super) const CURL_AT: &str = words!(r"[^-@\x00][^\x00]*|-(?:[^-@\x00][^@\x00]*)?|--[^\x00]*|");

/// `ssh` and its kin: only settings (`-o`) that run, load and write nothing.
pub(super) const SSH: &str = words!(
    r"[^-\x00][^\x00]*|-[^-o\x00][^o\x00]*|--?|--[^\x00]+|",
    r"-o\x00?(?i:BatchMode|ConnectTimeout|ConnectionAttempts|ServerAliveInterval",
    r"|ServerAliveCountMax|StrictHostKeyChecking|LogLevel|Port|User|IdentitiesOnly",
    r"|PasswordAuthentication|PreferredAuthentications|RequestTTY|Compression|AddressFamily",
    r"|TCPKeepAlive)[= ][^\n\x00]*|"
);

/// `ifconfig`: nothing but the name of an interface.
pub(super) const IFCONFIG: &str = r"(?:-[asv]\x00)*(?:-[asv]|[A-Za-z0-9][A-Za-z0-9.:_-]*)?";

/// An option of `sqlite3` that changes how things look.
macro_rules! sqlite_option {
    () => {
        concat!(
            r"--?(?:readonly|safe|header|noheader|csv|json|line|list|column|table|markdown|box",
            r"|batch|bail|html|quote|tabs|ascii)"
        )
    };
}

/// One SQL statement that opens no other file, and calls well-known functions only.
macro_rules! sql {
    () => {
        concat!(
            r"(?i:select|with|values|explain|insert|update|delete|replace|create|drop|alter|begin",
            r"|commit|rollback|end|analyze|reindex)(?:[^A-Za-z_0-9(;\x00](?:(?i:count|sum|min|max",
            r"|avg|length|lower|upper|total|round|abs|coalesce|ifnull|substr|date|datetime",
            r"|group_concat|in|values)[ ]?[(]|[A-Za-z_0-9]+[^A-Za-z_0-9(;\x00]|[^A-Za-z_0-9(;\x00]",
            r")*[A-Za-z_0-9]*)?"
        )
    };
}

/// `sqlite3`: a database and SQL, or a command that shows something. Without either it reads
/// commands from its input.
pub(super) const SQLITE: &str = concat!(
    "(?:",
    sqlite_option!(),
    r"\x00)*(?:\./)?[^-.\x00][^\x00]*(?:\x00",
    sqlite_option!(),
    r")*(?:\x00(?:",
    r"\.(?:tables|schema|databases|indexes|headers|mode|stats|show)(?:[ ][A-Za-z0-9_ ]*)?",
    r"|[ \n]*",
    sql!(),
    r"(?:;[; \n]*",
    sql!(),
    r")*[; \n]*)(?:\x00",
    sqlite_option!(),
    ")*)+"
);

/// `exiftool`: files and tags to show. A tag with `=` is written, and a condition is Perl.
pub(super) const EXIFTOOL: &str = concat!(
    r"(?:-(?:a|s[0-9]?|S|G[0-9]?|g[0-9]?|j|json|n|r|csv|u|U|e|t|T|q|m|ver|ImageSize|Model|Make",
    r"|FileType|MIMEType|Orientation|CreateDate|DateTimeOriginal|ModifyDate|Title|Author|Duration",
    r"|GPSPosition|LensModel|ISO)\x00|[^-=@\x00][^=\x00]*\x00)*",
    r"(?:-(?:ver|a|s|S|n|j)|[^-=@\x00][^=\x00]*)"
);

/// `make`: no variable is set but a few that only change what is printed.
pub(super) const MAKE: &str = words!(
    r"(?:V|VERBOSE|Q|CI|NO_COLOR)=[0-9A-Za-z]*|[^-=\x00][^=\x00]*|-[^-=\x00][^=\x00]*|--?",
    r"|--[a-z-]+|--(?:jobs|load-average|max-load|output-sync|debug|file|makefile|directory",
    r"|include-dir|eval)=[^\x00]*|"
);

/// `date`: shows a time; an operand without `+` sets the clock.
pub(super) const DATE: &str = words!(
    r"\+[^\x00]*|-[uRjn]+|-I[a-z]*|-[uRjn]*[drvz]\x00?[^\x00]*|-[uR]?s\x00?[^\x00]*",
    r"|--(?:date|iso-8601|rfc-3339|rfc-email|utc|universal|reference|debug|help|version|set)",
    r"(?:=[^\x00]*)?"
);

/// `hostname`: shows a name; an operand sets it.
pub(super) const HOSTNAME: &str = words!(
    r"-[aAdfiIsyV]+|--(?:alias|all-fqdns|all-ip-addresses|domain|fqdn|long|ip-address|short",
    r"|yp|nis|help|version)"
);

/// `sysctl`: shows values; `=` sets one.
pub(super) const NO_EQUALS: &str = r"[^=]*";

/// `crontab`: shows the table.
pub(super) const CRONTAB: &str = r"(?:-u\x00?[^-\x00][^\x00]*\x00)?-l";

/// `mount`: shows what is mounted.
pub(super) const NOTHING: &str = r"(?:-l)?(?:-t\x00[a-z0-9,]+)?";

/// `ip`: shows something, or spells out in full what it changes.
pub(super) const IP: &str = concat!(
    r"(?:-(?:4|6|s|stats|statistics|d|details|o|oneline|br|brief|c|color|j|json|p|pretty|h|human|N",
    r"|a|all|t|r|V|b\x00[^\x00]*|batch\x00[^\x00]*)\x00)*(?:-V|-Version|(?:a|addr|address|l|link|r|route",
    r"|n|neigh|neighbour|rule|netns|maddr|maddress|mroute|tunnel)",
    r"(?:\x00(?:show|list|ls|lst|get|add|del|delete|set|change|replace|flush|append|exec)",
    r"(?:\x00[^\x00]*)*)?)"
);

/// `psql`: no backslash, so no `\!`; and no `prog`, so no `copy x to program`.
pub(super) const PSQL: &str = concat!(
    r"(?:[^pP\\]|[pP]+(?:[rR][oO]?[pP]+)*(?:[^pPrR\\]|[rR][^pPoO\\]|[rR][oO][^pPgG\\]))*",
    r"(?:[pP]+(?:[rR][oO]?[pP]+)*(?:[rR][oO]?)?)?"
);

/// `tar`: no archive on another machine, for which a program is run.
pub(super) const TAR_HERE: &str = concat!(
    r"(?:-[^:\x00]*|--(?:mtime|transform|xform|exclude|newer|owner|group|label|format)=[^\x00]*",
    r"|[^:/\x00-][^:/\x00]*(?:/[^\x00]*)?|/[^\x00]*|)(?:\x00(?:-[^:\x00]*|--(?:mtime|transform|xform",
    r"|exclude|newer|owner|group|label|format)=[^\x00]*|[^:/\x00-][^:/\x00]*(?:/[^\x00]*)?|/[^\x00]*|))*"
);

/// `socat`: addresses that stand alone.
pub(super) const NO_BANG: &str = r"[^!]*";

/// `mysql`: no backslash and no `system`, which run a shell command.
pub(super) const MYSQL: &str = r"(?:[^sS\\]|[sS]+[^sSyY\\])*[sS]*";

/// `npm`: a subcommand that is spelled out, or one of its short names. `npm` takes any beginning of
/// one that is not ambiguous, and no rule about `publish` sees `publis`.
pub(super) const NPM: &str = concat!(
    r"(?:(?:--?[A-Za-z-]+=[^\x00]*|-(?:[sqdyfglpDSEO]|ws|ddd?)|--no-[a-z-]+|--(?:silent|quiet",
    r"|verbose|json|yes|force|global|offline|prefer-offline|dry-run|workspaces|if-present",
    r"|ignore-scripts|legacy-peer-deps|production|long)|(?:-[wCc]|--(?:workspace|prefix|loglevel",
    r"|registry|omit|include|script-shell|node-options|userconfig|globalconfig|cache|location",
    r"|call))\x00[^-\x00][^\x00]*)\x00)*(?:-[hv]|--help|--version|--?[A-Za-z-]+=[^\x00]*|(?:run",
    r"|run-script|rum|test|t|tst|start|stop|restart|install|i|in|add|ci|clean-install|it",
    r"|install-test|update|up|upgrade|outdated|ls|list|ll|la|view|v|info|show|why|explain|audit",
    r"|fund|pack|publish|version|exec|x|config|c|get|set|init|create|cache|prune|dedupe|rebuild",
    r"|link|ln|uninstall|un|remove|rm|r|root|prefix|bin|whoami|ping|doctor|help|search|s|query|diff",
    r"|docs|repo|pkg|edit|explore)(?:\x00[^\x00]*)*)?"
);

/// `hg`: a subcommand that is spelled out, or one of its short names, for the same reason.
pub(super) const HG: &str = concat!(
    r"(?:(?:--[a-z]+=[^\x00]*|-[yqv]|--(?:noninteractive|quiet|verbose|debug|traceback|time|hidden)",
    r"|(?:-R|--(?:repository|cwd|color|config|encoding|pager))\x00[^\x00]*)\x00)*(?:-h|--help",
    r"|--version|(?:add|addremove|annotate|archive|backout|bisect|blame|bookmarks|branch|branches",
    r"|bundle|cat|clone|commit|ci|config|copy|cp|diff|export|extdiff|files|forget|graft|grep|heads",
    r"|help|identify|id|import|incoming|in|init|locate|log|manifest|merge|outgoing|out|parents",
    r"|paths|phase|pull|push|rebase|remove|rm|rename|mv|resolve|revert|root|serve|shelve|status|st",
    r"|summary|tag|tags|tip|unshelve|update|up|verify|version)(?:\x00[^\x00]*)*)?"
);

/// `tsc`: options in letters of either case that write nothing elsewhere, and paths below the
/// directory. Those that an entry names are accepted as it spells them.
pub(super) const TSC: &str = words!(
    r"--?(?i:noEmit|strict|pretty|skipLibCheck|version|v|help|h|showConfig|listFiles|explainFiles",
    r"|diagnostics|incremental|allowJs|checkJs|esModuleInterop|jsx|target|t|module|m",
    r"|moduleResolution|lib|watch|w|project|p)|-b|--(?:build|init)|--(?:outDir|outFile",
    r"|declarationDir|tsBuildInfoFile|generateTrace|generateCpuProfile)\x00[^\x00]*",
    r"|\.|(?:\./|\.?[^-.@/~\x00])(?:\.?[^.\x00])*"
);
