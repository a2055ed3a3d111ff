//! Environment variables that change nothing that matters, and those that change what runs.

/// What it means that a command line sets a variable for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// It changes how something looks, or how much is said: free.
    Harmless,
    /// It may change what runs, what is loaded, or where data goes: never allowed by a plain rule.
    Dangerous,
    /// The `env` section decides.
    Other,
}

/// What the variable `name` is when nobody knows its value: the worst that any value makes of it.
pub fn setting(name: &str) -> Setting {
    setting_to(name, None)
}

/// What the variable `name` is with this value, or with one that nobody knows. A harmless name with
/// a value that is not harmless for it is dangerous. A name listed exactly among the harmless ones
/// counts as such even if a pattern of the dangerous ones covers it.
pub fn setting_to(name: &str, value: Option<&str>) -> Setting {
    let exactly = HARMLESS.iter().find(|(pattern, _)| *pattern == name);
    let dangerous = || DANGEROUS.iter().any(|pattern| matches(pattern, name));
    let covered = || HARMLESS.iter().find(|(pattern, _)| matches(pattern, name));
    let harmless = match exactly {
        None if dangerous() => return Setting::Dangerous,
        None => covered(),
        found => found,
    };
    match harmless {
        Some((_, values)) if values.take(value) => Setting::Harmless,
        Some(_) => Setting::Dangerous,
        None => Setting::Other,
    }
}

/// Which values of a variable are harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    /// All: what reads it takes it apart and does nothing else with it.
    Any,
    /// Letters, digits and `_`, because something evaluates it as code.
    Word,
    /// Also `.`, `@`, `:`, `+` and `-`: no path, nothing that a script evaluates.
    Plain,
    /// A time zone, by its name below the directory of them: `Europe/Berlin`.
    Zone,
}

impl Values {
    fn take(self, value: Option<&str>) -> bool {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let plain = |c: char| word(c) || ".@:+-".contains(c);
        match (self, value) {
            (Self::Any, _) => true,
            (_, None) => false,
            (Self::Word, Some(value)) => value.chars().all(word),
            (Self::Plain, Some(value)) => value.chars().all(plain),
            (Self::Zone, Some(value)) => value.split('/').enumerate().all(|(at, part)| {
                let named = part.starts_with(|c: char| c.is_ascii_alphabetic());
                (named || (at == 0 && value.is_empty())) && part.chars().all(plain)
            }),
        }
    }
}

/// Whether `name` is what `pattern` says, where `*` is any number of characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<_> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, after)) = name.split_once(piece) else { return false };
        name = after;
    }
    name.ends_with(last)
}

/// Names and patterns, sorted.
const HARMLESS: &[(&str, Values)] = &[
    ("CARGO_BUILD_JOBS", Values::Plain),
    ("CARGO_INCREMENTAL", Values::Plain),
    ("CARGO_NET_OFFLINE", Values::Plain),
    ("CARGO_TERM_COLOR", Values::Plain),
    ("CARGO_TERM_PROGRESS_WHEN", Values::Plain),
    ("CARGO_TERM_PROGRESS_WIDTH", Values::Plain),
    ("CARGO_TERM_QUIET", Values::Plain),
    ("CARGO_TERM_VERBOSE", Values::Plain),
    ("CGO_ENABLED", Values::Plain),
    ("CI", Values::Plain),
    ("CLICOLOR", Values::Plain),
    ("CLICOLOR_FORCE", Values::Plain),
    ("COLORTERM", Values::Plain),
    ("COLUMNS", Values::Plain),
    ("CONTINUOUS_INTEGRATION", Values::Plain),
    ("DEBIAN_FRONTEND", Values::Word),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", Values::Plain),
    ("DOTNET_NOLOGO", Values::Plain),
    ("DO_NOT_TRACK", Values::Plain),
    ("FORCE_COLOR", Values::Plain),
    ("FORCE_HYPERLINK", Values::Plain),
    ("GCC_COLORS", Values::Any),
    ("GOARCH", Values::Plain),
    ("GOMAXPROCS", Values::Plain),
    ("GOOS", Values::Plain),
    ("GREP_COLOR", Values::Any),
    ("GREP_COLORS", Values::Any),
    ("HOMEBREW_NO_ANALYTICS", Values::Plain),
    ("HOMEBREW_NO_AUTO_UPDATE", Values::Plain),
    ("HOMEBREW_NO_ENV_HINTS", Values::Plain),
    ("LANG", Values::Plain),
    ("LANGUAGE", Values::Plain),
    ("LC_*", Values::Plain),
    ("LINES", Values::Plain),
    ("LS_COLORS", Values::Any),
    ("MALLOC_ARENA_MAX", Values::Plain),
    ("MKL_NUM_THREADS", Values::Plain),
    ("NEXT_TELEMETRY_DISABLED", Values::Plain),
    ("NODE_ENV", Values::Plain),
    ("NODE_NO_WARNINGS", Values::Plain),
    ("NO_COLOR", Values::Plain),
    ("NO_UPDATE_NOTIFIER", Values::Plain),
    ("NPM_CONFIG_COLOR", Values::Plain),
    ("NPM_CONFIG_FUND", Values::Plain),
    ("NPM_CONFIG_LOGLEVEL", Values::Plain),
    ("NPM_CONFIG_PROGRESS", Values::Plain),
    ("OMP_NUM_THREADS", Values::Plain),
    ("OPENBLAS_NUM_THREADS", Values::Plain),
    ("PIP_DISABLE_PIP_VERSION_CHECK", Values::Plain),
    ("PIP_NO_COLOR", Values::Plain),
    ("PIP_NO_INPUT", Values::Plain),
    ("PIP_PROGRESS_BAR", Values::Plain),
    ("PIP_QUIET", Values::Plain),
    ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", Values::Plain),
    ("PYTHONDONTWRITEBYTECODE", Values::Plain),
    ("PYTHONFAULTHANDLER", Values::Plain),
    ("PYTHONHASHSEED", Values::Plain),
    ("PYTHONIOENCODING", Values::Plain),
    ("PYTHONNOUSERSITE", Values::Plain),
    ("PYTHONTRACEMALLOC", Values::Plain),
    ("PYTHONUNBUFFERED", Values::Plain),
    ("PYTHONUTF8", Values::Plain),
    ("PYTHON_COLORS", Values::Plain),
    ("PY_COLORS", Values::Plain),
    ("RAYON_NUM_THREADS", Values::Plain),
    ("RUST_BACKTRACE", Values::Plain),
    ("RUST_LIB_BACKTRACE", Values::Plain),
    ("RUST_LOG", Values::Any),
    ("RUST_LOG_STYLE", Values::Plain),
    ("RUST_MIN_STACK", Values::Plain),
    ("RUST_TEST_NOCAPTURE", Values::Plain),
    ("RUST_TEST_THREADS", Values::Plain),
    ("SOURCE_DATE_EPOCH", Values::Plain),
    ("SYSTEMD_COLORS", Values::Plain),
    ("TERM", Values::Plain),
    ("TOKIO_WORKER_THREADS", Values::Plain),
    ("TZ", Values::Zone),
    ("UV_NO_PROGRESS", Values::Plain),
    ("npm_config_color", Values::Plain),
    ("npm_config_fund", Values::Plain),
    ("npm_config_loglevel", Values::Plain),
    ("npm_config_progress", Values::Plain),
];

/// Names and patterns, sorted.
const DANGEROUS: &[&str] = &[
    "*EDITOR",
    "*PAGER",
    "*PROXY",
    "*SAN_OPTIONS",
    "*_ASKPASS",
    "*_BROWSER",
    "*_COMMAND",
    "*_COMPILER",
    "*_LAUNCHER",
    "*_LINKER",
    "*_PROGRAM",
    "*_RUNNER",
    "*_WRAPPER",
    "*_proxy",
    "ACK_OPTIONS",
    "AGENTRY_*",
    "ANSIBLE_*",
    "ANTHROPIC_*",
    "APT_CONFIG",
    "AR",
    "AS",
    "AWKLIBPATH",
    "AWKPATH",
    "AWS_*",
    "AZURE_*",
    "BASHOPTS",
    "BASH_*",
    "BAT_CONFIG_*",
    "BAT_OPTS",
    "BROWSER",
    "BUILDKIT_HOST",
    "BUNDLE_*",
    "BUN_*",
    "CARGO",
    "CARGO_*",
    "CC",
    "CCACHE_*",
    "CC_*",
    "CDPATH",
    "CFLAGS",
    "CGO_*",
    "CHROOT",
    "CLANG_*",
    "CLASSPATH",
    "CLOUDSDK_*",
    "CMAKE_*",
    "COMPILER_PATH",
    "COMPOSER_*",
    "COMSPEC",
    "CORECLR_*",
    "COREPACK_*",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "CPP",
    "CPPFLAGS",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    "CVS_RSH",
    "CXX",
    "CXXFLAGS",
    "CXX_*",
    "C_INCLUDE_PATH",
    "DBUS_*",
    "DEBCONF_*",
    "DENO_*",
    "DISPLAY",
    "DISTCC_*",
    "DOCKER_*",
    "DOTNET_ADDITIONAL_DEPS",
    "DOTNET_ROOT*",
    "DOTNET_STARTUP_HOOKS",
    "DPKG_*",
    "DYLD_*",
    "EMACSLOADPATH",
    "ENV",
    "ERL_*",
    "ESLINT_*",
    "EXINIT",
    "FCEDIT",
    "FPATH",
    "FZF_*",
    "GCC_EXEC_PREFIX",
    "GCONV_PATH",
    "GDBHISTFILE",
    "GEM_*",
    "GETCONF_DIR",
    "GH_*",
    "GITHUB_*",
    "GIT_*",
    "GLIBC_TUNABLES",
    "GLOBIGNORE",
    "GNUMAKEFLAGS",
    "GNUPGHOME",
    "GO*",
    "GPG_AGENT_INFO",
    "GRADLE_*",
    "GREP_OPTIONS",
    "GROFF_*",
    "GST_*",
    "GS_*",
    "GTK_*",
    "GUILE_*",
    "GZIP",
    "HELM_*",
    "HG*",
    "HISTFILE",
    "HOME",
    "HOMEBREW_*",
    "HOSTALIASES",
    "I18NPATH",
    "IBUS_*",
    "IFS",
    "INPUTRC",
    "JAVA_*",
    "JDK_*",
    "JQ_LIBRARY_PATH",
    "JULIA_*",
    "KRB5*",
    "KUBECONFIG",
    "KUBECTL_*",
    "KUBE_*",
    "LD",
    "LDFLAGS",
    "LD_*",
    "LESS",
    "LESSCHARSET",
    "LESSCLOSE",
    "LESSKEY*",
    "LESSOPEN",
    "LIBPATH",
    "LIBRARY_PATH",
    "LIBS",
    "LLVM_*",
    "LOCALDOMAIN",
    "LOCALE_ARCHIVE*",
    "LOCPATH",
    "LUA_*",
    "MAGICK_*",
    "MAIL",
    "MAILCAPS",
    "MAILCHECK",
    "MAILPATH",
    "MAIL_*",
    "MAKE",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAKEOBJDIR*",
    "MALLOC_TRACE",
    "MANOPT",
    "MANPATH",
    "MAVEN_*",
    "MFLAGS",
    "MORE",
    "MYSQL_*",
    "NETRC",
    "NIS_PATH",
    "NIX_*",
    "NLSPATH",
    "NODE",
    "NODE_*",
    "NPM_CONFIG_*",
    "NVM_*",
    "OBJCOPY",
    "OCAML*",
    "OLDPWD",
    "OPENAI_*",
    "OPENSSL_*",
    "PATH",
    "PATHEXT",
    "PERL*",
    "PGPASSFILE",
    "PGSERVICEFILE",
    "PGSYSCONFDIR",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_*",
    "PKG_CONFIG",
    "PKG_CONFIG_*",
    "PNPM_*",
    "PODMAN_*",
    "POETRY_*",
    "POSIXLY_CORRECT",
    "PROMPT_*",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PSQLRC",
    "PSQL_*",
    "PWD",
    "PYENV_*",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHON*",
    "QT_*",
    "RANLIB",
    "READELF",
    "REQUESTS_CA_BUNDLE",
    "RESOLV_*",
    "RES_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "RPM_*",
    "RSYNC_*",
    "RUBYLIB",
    "RUBYOPT",
    "RUBYPATH",
    "RUBYSHELL",
    "RUSTC",
    "RUSTC_*",
    "RUSTDOC*",
    "RUSTFLAGS",
    "RUSTFMT",
    "RUSTUP_*",
    "RUST_GDB",
    "RUST_LLDB",
    "R_*",
    "SASL_*",
    "SBT_*",
    "SCREENRC",
    "SHELL",
    "SHELLOPTS",
    "SSH_*",
    "SSLKEYLOGFILE",
    "SSL_*",
    "STRIP",
    "SUDO_*",
    "SVN_*",
    "SWIFT_EXEC",
    "SYSTEMD_*",
    "TAR_OPTIONS",
    "TCLLIBPATH",
    "TERMCAP",
    "TERMINFO*",
    "TERRAFORM_*",
    "TEXEDIT",
    "TEXINPUTS",
    "TEXMF*",
    "TEXTDOMAINDIR",
    "TF_*",
    "TMUX*",
    "TZDIR",
    "UNZIP",
    "UNZIPOPT",
    "UV_*",
    "VAULT_*",
    "VIM",
    "VIMINIT",
    "VIMRUNTIME",
    "VIRTUAL_ENV",
    "VISUAL",
    "WGETRC",
    "WINEPREFIX",
    "XAUTHORITY",
    "XDG_*",
    "XZ_DEFAULTS",
    "XZ_OPT",
    "YARN_*",
    "ZDOTDIR",
    "ZIPOPT",
    "ZSH*",
    "_JAVA_OPTIONS",
    "cdpath",
    "fpath",
    "npm_*",
    "path",
    "rvm_*",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_unique() {
        let harmless: Vec<&str> = HARMLESS.iter().map(|(name, _)| *name).collect();
        for table in [&harmless, DANGEROUS] {
            for pair in table.windows(2) {
                assert!(pair[0] < pair[1], "{pair:?}");
            }
        }
    }

    #[test]
    fn settings() {
        let harmless = "RUST_BACKTRACE RUST_LOG CI NO_COLOR FORCE_COLOR CARGO_TERM_COLOR LANG LC_ALL \
                        LC_CTYPE TZ TERM NODE_ENV PYTHONUNBUFFERED COLUMNS GOOS DEBIAN_FRONTEND";
        let dangerous = "PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV IFS PYTHONPATH \
                         PYTHONSTARTUP NODE_OPTIONS NODE_PATH GIT_SSH_COMMAND GIT_PAGER GIT_DIR GIT_CONFIG_COUNT \
                         PROMPT_COMMAND RSYNC_CONNECT_PROG PAGER MANPAGER EDITOR VISUAL BROWSER PERL5OPT PERL5LIB \
                         RUBYOPT RUSTC RUSTC_WRAPPER CARGO_BUILD_RUSTC CARGO_HOME \
                         CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER RUSTFLAGS CC CXX MAKEFLAGS \
                         JAVA_TOOL_OPTIONS HTTP_PROXY https_proxy ALL_PROXY HOME SHELL PS4 SHELLOPTS BASHOPTS \
                         BASH_FUNC_ls%% TERMINFO LESSOPEN LESS SSH_ASKPASS XDG_CONFIG_HOME GOFLAGS ZDOTDIR \
                         npm_config_script_shell VIMINIT KUBECONFIG DOCKER_HOST AGENTRY_HOME TAR_OPTIONS \
                         GREP_OPTIONS RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND SYSTEMD_EDITOR";
        let other =
            "FOO MY_VAR DATABASE_URL DEBUG VERBOSE TMPDIR PORT x _ LCALL ENVIRONMENT PATHS XPATH";
        let groups = [
            (harmless, Setting::Harmless),
            (dangerous, Setting::Dangerous),
            (other, Setting::Other),
        ];
        for (names, expected) in groups {
            for name in names.split_whitespace() {
                assert_eq!(setting_to(name, Some("C")), expected, "{name}");
                let worst = if expected == Setting::Harmless && name != "RUST_LOG" {
                    Setting::Dangerous
                } else {
                    expected
                };
                assert_eq!(setting(name), worst, "{name}");
            }
        }
    }

    #[test]
    fn values() {
        let harmless = [
            ("CI", ""),
            ("LC_ALL", "de_DE.UTF-8@euro"),
            ("LANGUAGE", "en_GB:en"),
            ("TZ", ""),
            ("TZ", "UTC"),
            ("TZ", "America/Argentina/Buenos_Aires"),
            ("TERM", "xterm-256color"),
            ("DEBIAN_FRONTEND", "noninteractive"),
            ("RUST_LOG", "a::b=debug,[span{x=1}]=info"),
            ("LS_COLORS", "di=1;34:*.rs=0;31"),
        ];
        let dangerous = [
            ("CI", "a[$(id)]"),
            ("CI", "1 2"),
            ("COLUMNS", "a[$(id)]"),
            ("LANG", "../evil"),
            ("LANGUAGE", "../../tmp/evil"),
            ("LC_MESSAGES", "/tmp/evil"),
            ("TERM", "../x"),
            ("TZ", ":/etc/shadow"),
            ("TZ", "/etc/shadow"),
            ("TZ", "./x"),
            ("TZ", "Europe/../../x"),
            ("TZ", "a//b"),
            ("NODE_ENV", "../evil"),
            ("DEBIAN_FRONTEND", "x; system(1)"),
            ("DEBIAN_FRONTEND", "Noninteractive-exec@ARGV"),
            ("DEBIAN_FRONTEND", "A::B"),
            ("NPM_CONFIG_LOGLEVEL", "${X}"),
        ];
        for (cases, expected) in
            [(&harmless[..], Setting::Harmless), (&dangerous[..], Setting::Dangerous)]
        {
            for (name, value) in cases {
                assert_eq!(setting_to(name, Some(value)), expected, "{name}={value}");
            }
        }
    }

    #[test]
    fn patterns() {
        let cases = [
            ("A", "A", true),
            ("A", "AB", false),
            ("A*", "AB", true),
            ("*B", "AB", true),
            ("A*C", "ABC", true),
            ("A*C", "AC", true),
            ("AB*BC", "ABC", false),
            ("A*B*C", "AxByC", true),
            ("A*B*C", "AxyC", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
