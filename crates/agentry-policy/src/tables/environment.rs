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

/// What the variable `name` is. A name listed exactly among the harmless ones is harmless even if
/// a pattern of the dangerous ones covers it.
pub fn setting(name: &str) -> Setting {
    if HARMLESS.contains(&name) {
        return Setting::Harmless;
    }
    if DANGEROUS.iter().any(|pattern| matches(pattern, name)) {
        return Setting::Dangerous;
    }
    if HARMLESS.iter().any(|pattern| matches(pattern, name)) {
        return Setting::Harmless;
    }
    Setting::Other
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
const HARMLESS: &[&str] = &[
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CARGO_TERM_PROGRESS_WIDTH",
    "CARGO_TERM_QUIET",
    "CARGO_TERM_VERBOSE",
    "CGO_ENABLED",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "CONTINUOUS_INTEGRATION",
    "DEBIAN_FRONTEND",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
    "DOTNET_NOLOGO",
    "DO_NOT_TRACK",
    "FORCE_COLOR",
    "FORCE_HYPERLINK",
    "GCC_COLORS",
    "GOARCH",
    "GOMAXPROCS",
    "GOOS",
    "GREP_COLOR",
    "GREP_COLORS",
    "HOMEBREW_NO_ANALYTICS",
    "HOMEBREW_NO_AUTO_UPDATE",
    "HOMEBREW_NO_ENV_HINTS",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LINES",
    "LS_COLORS",
    "MALLOC_ARENA_MAX",
    "MKL_NUM_THREADS",
    "NEXT_TELEMETRY_DISABLED",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "NO_COLOR",
    "NO_UPDATE_NOTIFIER",
    "NPM_CONFIG_COLOR",
    "NPM_CONFIG_FUND",
    "NPM_CONFIG_LOGLEVEL",
    "NPM_CONFIG_PROGRESS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_COLOR",
    "PIP_NO_INPUT",
    "PIP_PROGRESS_BAR",
    "PIP_QUIET",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONNOUSERSITE",
    "PYTHONTRACEMALLOC",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHON_COLORS",
    "PY_COLORS",
    "RAYON_NUM_THREADS",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "RUST_LOG_STYLE",
    "RUST_MIN_STACK",
    "RUST_TEST_NOCAPTURE",
    "RUST_TEST_THREADS",
    "SOURCE_DATE_EPOCH",
    "SYSTEMD_COLORS",
    "TERM",
    "TOKIO_WORKER_THREADS",
    "TZ",
    "UV_NO_PROGRESS",
    "npm_config_color",
    "npm_config_fund",
    "npm_config_loglevel",
    "npm_config_progress",
];

/// Names and patterns, sorted.
const DANGEROUS: &[&str] = &[
    "*EDITOR",
    "*PAGER",
    "*PROXY",
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
    "DENO_*",
    "DISPLAY",
    "DISTCC_*",
    "DOCKER_*",
    "DOTNET_ADDITIONAL_DEPS",
    "DOTNET_ROOT*",
    "DOTNET_STARTUP_HOOKS",
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
    "GTK_*",
    "GUILE_*",
    "GZIP",
    "HELM_*",
    "HG*",
    "HISTFILE",
    "HOME",
    "HOMEBREW_*",
    "HOSTALIASES",
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
    "LOCALDOMAIN",
    "LOCPATH",
    "LUA_*",
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
        for table in [HARMLESS, DANGEROUS] {
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
                assert_eq!(setting(name), expected, "{name}");
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
