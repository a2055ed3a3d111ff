//! Options that may stand between a command and its subcommand.
//!
//! A rule `git push *:deny` has to hold for `git -C elsewhere push` too: to see it, these options
//! are taken away.

/// One option that may stand before the subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalOption {
    /// With its dashes: `--git-dir`, `-C`. For [`Takes::Plus`] only `+`.
    pub spelling: &'static str,
    /// Where its value stands. An option with an optional value has two entries, `Nothing` and
    /// `Joined`.
    pub takes: Takes,
}

/// Where the value of an option stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It has none: `--no-pager`.
    Nothing,
    /// In the next word only: `-C dir`.
    Next,
    /// In the same word only: `--exec-path=dir`, and after a single dash `-j4`.
    Joined,
    /// In the next word or in the same: `--git-dir dir`, `--git-dir=dir`, `-n name`, `-nname`.
    Either,
    /// The word begins with it, and no dash does: `+nightly`.
    Plus,
}

/// The global options of a command, by its base name; none for a command that is not known.
pub fn global_options(command: &str) -> &'static [GlobalOption] {
    let found = GLOBAL_OPTIONS.binary_search_by_key(&command, |(name, _)| name);
    found.ok().and_then(|at| GLOBAL_OPTIONS.get(at)).map_or(&[], |(_, options)| options)
}

/// The table: commands, sorted, and their options.
pub const GLOBAL_OPTIONS: &[(&str, &[GlobalOption])] = &[
    ("adb", ADB),
    ("apt", APT),
    ("apt-cache", APT),
    ("apt-get", APT),
    ("aws", AWS),
    ("az", AZ),
    ("brew", BREW),
    ("bun", BUN),
    ("bundle", BUNDLE),
    ("bundler", BUNDLE),
    ("cargo", CARGO),
    ("composer", COMPOSER),
    ("deno", DENO),
    ("dnf", DNF),
    ("docker", DOCKER),
    ("docker-compose", DOCKER_COMPOSE),
    ("dotnet", DOTNET),
    ("flatpak", FLATPAK),
    ("gcloud", GCLOUD),
    ("gh", GH),
    ("git", GIT),
    ("gmake", MAKE),
    ("go", GO),
    ("helm", HELM),
    ("hg", HG),
    ("ip", IP),
    ("jj", JJ),
    ("journalctl", JOURNALCTL),
    ("just", JUST),
    ("kubectl", KUBECTL),
    ("kustomize", KUSTOMIZE),
    ("make", MAKE),
    ("nerdctl", NERDCTL),
    ("npm", NPM),
    ("oc", OC),
    ("pip", PIP),
    ("pip3", PIP),
    ("pnpm", PNPM),
    ("podman", PODMAN),
    ("poetry", POETRY),
    ("rustup", RUSTUP),
    ("svn", SVN),
    ("systemctl", SYSTEMCTL),
    ("terraform", TERRAFORM),
    ("tmux", TMUX),
    ("tofu", TERRAFORM),
    ("uv", UV),
    ("vagrant", VAGRANT),
    ("yarn", YARN),
    ("yum", DNF),
];

/// Reads lines of `Takes: spellings;`.
macro_rules! options {
    ($name:ident $($takes:ident: $($spelling:literal)+;)+) => {
        const $name: &[GlobalOption] = &[
            $($(GlobalOption { spelling: $spelling, takes: Takes::$takes },)+)+
        ];
    };
}

options! {
    ADB
        Nothing: "-a" "-d" "-e" "--exit-on-write-error";
        Next: "-s" "-t" "-H" "-P" "-L" "--one-device";
}

options! {
    APT
        Nothing: "-q" "--quiet" "-qq" "-y" "--yes" "--assume-yes" "--assume-no" "-s" "--simulate"
        "--just-print" "--dry-run" "--recon" "--no-act" "-d" "--download-only" "-f" "--fix-broken"
        "-m" "--ignore-missing" "--fix-missing" "--no-download" "-u" "--show-upgraded" "-V"
        "--verbose-versions" "-b" "--compile" "--build" "--ignore-hold" "--with-new-pkgs"
        "--no-upgrade" "--only-upgrade" "--allow-downgrades" "--allow-remove-essential"
        "--allow-change-held-packages" "--force-yes" "--print-uris" "--purge" "--reinstall"
        "--list-cleanup" "--no-list-cleanup" "--trivial-only" "--mark-auto" "--no-remove"
        "--auto-remove" "--autoremove" "--only-source" "--diff-only" "--dsc-only" "--tar-only"
        "--arch-only" "--indep-only" "--allow-unauthenticated" "--no-allow-insecure-repositories"
        "--allow-insecure-repositories" "--allow-releaseinfo-change" "--show-progress"
        "--no-show-progress" "--no-install-recommends" "--install-recommends" "--install-suggests"
        "--no-install-suggests" "-v" "--version" "-h" "--help";
        Joined: "-q" "--quiet";
        Either: "-c" "--config-file" "-o" "--option" "-a" "--host-architecture" "-P"
        "--build-profiles" "-t" "--target-release" "--default-release" "--with-source";
}

options! {
    AWS
        Nothing: "--debug" "--no-verify-ssl" "--no-paginate" "--version" "--no-sign-request"
        "--no-cli-pager" "--cli-auto-prompt" "--no-cli-auto-prompt" "--v2-debug";
        Either: "--endpoint-url" "--output" "--query" "--profile" "--region" "--color"
        "--ca-bundle" "--cli-read-timeout" "--cli-connect-timeout" "--cli-binary-format"
        "--cli-error-format";
}

options! {
    AZ
        Nothing: "--debug" "--help" "-h" "--only-show-errors" "--verbose" "--version";
        Either: "--output" "-o" "--query" "--subscription";
}

options! {
    BREW
        Nothing: "-d" "--debug" "-q" "--quiet" "-v" "--verbose" "-h" "--help" "--version";
}

options! {
    BUN
        Nothing: "-b" "--bun" "--silent" "--if-present" "--inspect" "--inspect-wait"
        "--inspect-brk" "--smol" "--hot" "--watch" "--no-clear-screen" "--no-install" "-i"
        "--prefer-offline" "--prefer-latest" "-v" "--version" "--revision" "-h" "--help";
        Joined: "--inspect" "--inspect-wait" "--inspect-brk";
        Either: "--cwd" "-c" "--config" "--env-file" "-F" "--filter" "--preload" "-r" "--require"
        "--import" "--install" "--port" "--conditions" "--define" "-d" "--loader" "-l"
        "--main-fields" "--tsconfig-override" "--jsx-factory" "--shell" "--elide-lines";
}

options! {
    BUNDLE
        Nothing: "--no-color" "-V" "--verbose" "--no-verbose" "-v" "--version" "-h" "--help";
        Either: "-r" "--retry";
}

options! {
    CARGO
        Nothing: "--list" "--locked" "--offline" "--frozen" "-q" "--quiet" "-v" "-vv" "-vvv"
        "--verbose" "-V" "--version" "-h" "--help";
        Either: "--config" "-Z" "-C" "--color" "--explain";
        Plus: "+";
}

options! {
    COMPOSER
        Nothing: "-n" "--no-interaction" "-q" "--quiet" "-v" "-vv" "-vvv" "--verbose" "--ansi"
        "--no-ansi" "--profile" "--no-plugins" "--no-scripts" "--no-cache" "-V" "--version" "-h"
        "--help";
        Either: "-d" "--working-dir";
}

options! {
    DENO
        Nothing: "-q" "--quiet" "-V" "--version" "-h" "--help" "--unstable";
        Either: "-L" "--log-level";
}

options! {
    DNF
        Nothing: "-y" "--assumeyes" "--assumeno" "-q" "--quiet" "-v" "--verbose" "-C"
        "--cacheonly" "-b" "--best" "--nobest" "--allowerasing" "--enable" "--disable"
        "--skip-broken" "--nogpgcheck" "--refresh" "-4" "-6" "--downloadonly" "--noplugins"
        "--obsoletes" "--showduplicates" "--security" "--bugfix" "--enhancement" "--newpackage"
        "--version" "-h" "--help";
        Either: "-c" "--config" "-d" "--debuglevel" "-e" "--errorlevel" "--rpmverbosity" "-R"
        "--randomwait" "-x" "--exclude" "--excludepkgs" "--enablerepo" "--disablerepo" "--repo"
        "--repoid" "--installroot" "--releasever" "--setopt" "--color" "--destdir" "--downloaddir"
        "--comment" "--disableplugin" "--enableplugin" "--forcearch" "--advisory" "--cve"
        "--sec-severity";
}

options! {
    DOCKER
        Nothing: "-D" "--debug" "--tls" "--tlsverify" "-v" "--version" "--help";
        Joined: "--tlsverify";
        Either: "--config" "-c" "--context" "-H" "--host" "-l" "--log-level" "--tlscacert"
        "--tlscert" "--tlskey";
}

options! {
    DOCKER_COMPOSE
        Nothing: "--all-resources" "--compatibility" "--dry-run" "--verbose" "--no-ansi" "-v"
        "--version" "-h" "--help";
        Either: "--ansi" "--env-file" "-f" "--file" "--parallel" "--profile" "--progress"
        "--project-directory" "-p" "--project-name" "-H" "--host" "-c" "--context" "--workdir";
}

options! {
    DOTNET
        Nothing: "-d" "--diagnostics" "--info" "--list-sdks" "--list-runtimes" "--version" "-h"
        "--help";
        Next: "--additionalprobingpath" "--additional-deps" "--depsfile" "--fx-version"
        "--roll-forward" "--runtimeconfig";
}

options! {
    FLATPAK
        Nothing: "-v" "--verbose" "-vv" "--ostree-verbose" "--user" "--system" "--version"
        "--default-arch" "--supported-arches" "--gl-drivers" "--installations"
        "--print-updated-env" "--print-system-only" "-h" "--help";
        Either: "--installation";
}

options! {
    GCLOUD
        Nothing: "--help" "-h" "--log-http" "--quiet" "-q" "--user-output-enabled"
        "--no-user-output-enabled" "--version" "-v";
        Either: "--account" "--access-token-file" "--billing-project" "--configuration"
        "--flags-file" "--flatten" "--format" "--impersonate-service-account" "--project"
        "--trace-token" "--verbosity" "--capture-session-file" "--credential-file-override"
        "--document" "--http-timeout";
}

options! {
    GH
        Nothing: "--help" "--version";
        Either: "-R" "--repo";
}

options! {
    GIT
        Nothing: "--exec-path" "--html-path" "--man-path" "--info-path" "-p" "--paginate" "-P"
        "--no-pager" "--bare" "--no-replace-objects" "--no-lazy-fetch" "--no-optional-locks"
        "--no-advice" "--literal-pathspecs" "--glob-pathspecs" "--noglob-pathspecs"
        "--icase-pathspecs" "-v" "--version" "-h" "--help";
        Next: "-C" "-c" "--shallow-file";
        Joined: "--exec-path" "--list-cmds";
        Either: "--git-dir" "--work-tree" "--namespace" "--config-env" "--super-prefix"
        "--attr-source";
}

options! {
    GO
        Next: "-C";
}

options! {
    HELM
        Nothing: "--debug" "--kube-insecure-skip-tls-verify" "-h" "--help";
        Joined: "--debug" "--kube-insecure-skip-tls-verify";
        Either: "--burst-limit" "--color" "--colour" "--kube-apiserver" "--kube-as-group"
        "--kube-as-user" "--kube-ca-file" "--kube-context" "--kube-tls-server-name" "--kube-token"
        "--kubeconfig" "-n" "--namespace" "--qps" "--registry-config" "--repository-cache"
        "--repository-config" "--content-cache";
}

options! {
    HG
        Nothing: "-y" "--noninteractive" "-q" "--quiet" "-v" "--verbose" "--debug" "--debugger"
        "--traceback" "--time" "--profile" "--version" "--hidden" "-h" "--help";
        Either: "-R" "--repository" "--repo" "--cwd" "--color" "--config" "--encoding"
        "--encodingmode" "--pager";
}

options! {
    IP
        Nothing: "-4" "-6" "-0" "-B" "-M" "-D" "-I" "-s" "-stats" "-statistics" "-d" "-details"
        "-o" "-oneline" "-r" "-resolve" "-N" "-Numeric" "-a" "-all" "-c" "-color" "-t"
        "-timestamp" "-ts" "-tshort" "-j" "-json" "-p" "-pretty" "-br" "-brief" "-h" "-human"
        "-human-readable" "-iec" "-echo" "-force" "-V" "-Version";
        Next: "-n" "-netns" "-f" "-family" "-l" "-loops" "-b" "-batch" "-rc" "-rcvbuf";
}

options! {
    JJ
        Nothing: "--ignore-working-copy" "--ignore-immutable" "--debug" "--quiet" "--no-pager"
        "-V" "--version" "-h" "--help";
        Either: "-R" "--repository" "--at-operation" "--at-op" "--color" "--config"
        "--config-toml" "--config-file";
}

options! {
    JOURNALCTL
        Nothing: "--no-pager" "-q" "--quiet" "--system" "--user";
        Either: "-M" "--machine" "-D" "--directory" "--file" "--root" "--image";
}

options! {
    JUST
        Nothing: "-q" "--quiet" "-v" "--verbose" "--no-dotenv" "--clear-shell-args"
        "--shell-command" "-n" "--dry-run" "--highlight" "--no-highlight" "--unsorted" "-u"
        "--unstable" "--yes" "--timestamp" "--one" "--explain" "--no-deps" "--no-aliases"
        "--global-justfile" "-g";
        Either: "-f" "--justfile" "-d" "--working-directory" "--color" "--dotenv-path" "-E"
        "--dotenv-filename" "--shell" "--shell-arg" "--timestamp-format" "--tempdir" "--chooser"
        "--command-color" "--list-heading" "--list-prefix" "--ceiling" "--alias-style" "--cygpath"
        "--dump-format";
}

options! {
    KUBECTL
        Nothing: "--disable-compression" "--insecure-skip-tls-verify" "--logtostderr"
        "--alsologtostderr" "--add-dir-header" "--skip-headers" "--skip-log-headers"
        "--one-output" "--match-server-version" "--warnings-as-errors" "-h" "--help";
        Joined: "--disable-compression" "--insecure-skip-tls-verify" "--logtostderr"
        "--alsologtostderr" "--add-dir-header" "--skip-headers" "--skip-log-headers"
        "--one-output" "--match-server-version" "--warnings-as-errors";
        Either: "--as" "--as-group" "--as-uid" "--as-user-extra" "--cache-dir"
        "--certificate-authority" "--client-certificate" "--client-key" "--cluster" "--context"
        "--kubeconfig" "--kuberc" "--log-backtrace-at" "--log-dir" "--log-file"
        "--log-file-max-size" "--log-flush-frequency" "--stderrthreshold" "-n" "--namespace"
        "--password" "--username" "--profile" "--profile-output" "--request-timeout" "-s"
        "--server" "--tls-server-name" "--token" "--user" "-v" "--v" "--vmodule";
}

options! {
    KUSTOMIZE
        Nothing: "--stack-trace" "-h" "--help";
}

options! {
    MAKE
        Nothing: "-b" "-m" "-B" "--always-make" "-d" "--debug" "-e" "--environment-overrides" "-i"
        "--ignore-errors" "-j" "--jobs" "-k" "--keep-going" "-l" "--load-average" "--max-load"
        "-L" "--check-symlink-times" "-n" "--just-print" "--dry-run" "--recon" "-O"
        "--output-sync" "-p" "--print-data-base" "-q" "--question" "-r" "--no-builtin-rules" "-R"
        "--no-builtin-variables" "-s" "--silent" "--quiet" "--no-silent" "-S" "--no-keep-going"
        "--stop" "--shuffle" "-t" "--touch" "--trace" "-v" "--version" "-w" "--print-directory"
        "--no-print-directory" "--warn-undefined-variables" "-h" "--help";
        Joined: "--debug" "-j" "--jobs" "-l" "--load-average" "--max-load" "-O" "--output-sync"
        "--shuffle";
        Either: "-C" "--directory" "-E" "--eval" "-f" "--file" "--makefile" "-I" "--include-dir"
        "--jobserver-style" "-o" "--old-file" "--assume-old" "-W" "--what-if" "--new-file"
        "--assume-new";
}

options! {
    NERDCTL
        Nothing: "-D" "--debug" "--tls" "--tlsverify" "-v" "--version" "--help"
        "--insecure-registry" "--experimental" "--debug-full";
        Joined: "--tlsverify" "--insecure-registry" "--experimental";
        Either: "--config" "-c" "--context" "-H" "--host" "-l" "--log-level" "--tlscacert"
        "--tlscert" "--tlskey" "-a" "--address" "-n" "--namespace" "--snapshotter"
        "--storage-driver" "--cni-path" "--cni-netconfpath" "--data-root" "--cgroup-manager"
        "--hosts-dir" "--host-gateway-ip" "--bridge-ip";
}

options! {
    NPM
        Nothing: "-g" "--global" "-ws" "--workspaces" "--include-workspace-root" "-s" "--silent"
        "-q" "--quiet" "-d" "-dd" "-ddd" "--verbose" "--offline" "--prefer-offline"
        "--prefer-online" "--no-audit" "--no-fund" "--audit" "--fund" "--no-color" "--json"
        "--production" "--ignore-scripts" "--foreground-scripts" "--if-present"
        "--legacy-peer-deps" "--strict-ssl" "--long" "-l" "--parseable" "-p" "--dry-run" "-y"
        "--yes" "--force" "-f" "--no-progress" "--progress" "--timing" "--unicode" "--usage"
        "--package-lock" "--no-package-lock" "--package-lock-only" "-S" "-D" "-E" "-O" "-B" "-v"
        "--version" "-h" "--help";
        Joined: "--workspaces" "--include-workspace-root" "--offline" "--prefer-offline"
        "--prefer-online" "--audit" "--fund" "--json" "--ignore-scripts" "--foreground-scripts"
        "--if-present" "--legacy-peer-deps" "--strict-ssl" "--long" "--parseable" "--dry-run"
        "--yes" "--force" "--progress" "--timing" "--unicode" "--package-lock"
        "--package-lock-only";
        Either: "-C" "--prefix" "-w" "--workspace" "--loglevel" "--registry" "--userconfig"
        "--globalconfig" "--cache" "--tag" "--otp" "--scope" "--color" "--omit" "--include"
        "--only" "--script-shell" "--proxy" "--https-proxy" "--noproxy" "--cafile"
        "--node-options" "--location" "-L";
}

options! {
    OC
        Nothing: "--disable-compression" "--insecure-skip-tls-verify" "--logtostderr"
        "--alsologtostderr" "--add-dir-header" "--skip-headers" "--skip-log-headers"
        "--one-output" "--match-server-version" "--warnings-as-errors" "-h" "--help";
        Joined: "--disable-compression" "--insecure-skip-tls-verify" "--logtostderr"
        "--alsologtostderr" "--add-dir-header" "--skip-headers" "--skip-log-headers"
        "--one-output" "--match-server-version" "--warnings-as-errors";
        Either: "--as" "--as-group" "--as-uid" "--as-user-extra" "--cache-dir"
        "--certificate-authority" "--client-certificate" "--client-key" "--cluster" "--context"
        "--kubeconfig" "--kuberc" "--log-backtrace-at" "--log-dir" "--log-file"
        "--log-file-max-size" "--log-flush-frequency" "--stderrthreshold" "-n" "--namespace"
        "--password" "--username" "--profile" "--profile-output" "--request-timeout" "-s"
        "--server" "--tls-server-name" "--token" "--user" "-v" "--v" "--vmodule" "--loglevel"
        "--config";
}

options! {
    PIP
        Nothing: "-h" "--help" "--debug" "--isolated" "--require-virtualenv" "-v" "-vv" "-vvv"
        "--verbose" "-V" "--version" "-q" "-qq" "-qqq" "--quiet" "--no-input" "--no-cache-dir"
        "--disable-pip-version-check" "--no-color" "--no-python-version-warning";
        Either: "--python" "--log" "--log-file" "--local-log" "--keyring-provider" "--proxy"
        "--retries" "--timeout" "--default-timeout" "--exists-action" "--trusted-host" "--cert"
        "--client-cert" "--cache-dir" "--use-feature" "--use-deprecated" "--resume-retries";
}

options! {
    PNPM
        Nothing: "-w" "--workspace-root" "-r" "--recursive" "--fail-if-no-match" "-g" "--global"
        "--color" "--no-color" "--silent" "-s" "--stream" "--aggregate-output" "--use-stderr"
        "--offline" "--prefer-offline" "--if-present" "--parallel" "--sequential"
        "--ignore-scripts" "--shell-mode" "-c" "-y" "--yes" "-v" "--version" "-h" "--help";
        Either: "-C" "--dir" "-F" "--filter" "--filter-prod" "--changed-files-ignore-pattern"
        "--test-pattern" "--prefix" "--loglevel" "--reporter" "--store-dir" "--registry"
        "--workspace-concurrency" "--script-shell" "--global-dir" "--virtual-store-dir"
        "--modules-dir" "--lockfile-dir";
}

options! {
    PODMAN
        Nothing: "--noout" "-r" "--remote" "--syslog" "--transient-store" "--trace" "-v"
        "--version" "-h" "--help";
        Joined: "--remote" "--syslog" "--transient-store" "--trace";
        Either: "--cgroup-manager" "--conmon" "-c" "--connection" "--config" "--context"
        "--default-mounts-file" "--events-backend" "--hooks-dir" "--identity" "--imagestore"
        "--log-level" "--module" "--network-cmd-path" "--network-config-dir" "--out" "--root"
        "--runroot" "--runtime" "--runtime-flag" "--ssh" "--storage-driver" "--storage-opt"
        "--tls-ca" "--tls-cert" "--tls-key" "--tmpdir" "--url" "-H" "--host" "--volumepath";
}

options! {
    POETRY
        Nothing: "-q" "--quiet" "-v" "-vv" "-vvv" "--verbose" "--ansi" "--no-ansi" "-n"
        "--no-interaction" "--no-plugins" "--no-cache" "-V" "--version" "-h" "--help";
        Either: "-P" "--project" "-C" "--directory";
}

options! {
    RUSTUP
        Nothing: "-q" "--quiet" "-v" "--verbose" "-V" "--version" "-h" "--help";
        Plus: "+";
}

options! {
    SVN
        Nothing: "--password-from-stdin" "--no-auth-cache" "--non-interactive"
        "--force-interactive" "--trust-server-cert" "-q" "--quiet" "-v" "--verbose" "--version"
        "-h" "--help";
        Either: "--username" "--password" "--trust-server-cert-failures" "--config-dir"
        "--config-option";
}

options! {
    SYSTEMCTL
        Nothing: "-a" "--all" "-l" "--full" "-r" "--recursive" "--reverse" "--with-dependencies"
        "--after" "--before" "--user" "--system" "--failed" "--global" "--runtime" "--no-block"
        "--wait" "--no-wall" "--no-reload" "--no-warn" "--no-legend" "--no-pager"
        "--no-ask-password" "--show-types" "--value" "-f" "--force" "--now" "-i"
        "--ignore-inhibitors" "--dry-run" "-q" "--quiet" "--plain" "-T" "--show-transaction"
        "--firmware-setup" "--mkdir" "--marked" "--read-only" "--stdin" "-v" "--verbose"
        "--version" "-h" "--help";
        Either: "-t" "--type" "--state" "-p" "--property" "-P" "--kill-whom" "--kill-who"
        "--kill-value" "-s" "--signal" "--what" "--root" "--image" "--image-policy"
        "--preset-mode" "--message" "--job-mode" "--check-inhibitors" "-n" "--lines" "-o"
        "--output" "--boot-loader-menu" "--boot-loader-entry" "--timestamp" "--drop-in" "--when"
        "-H" "--host" "-M" "--machine" "-C" "--capsule" "--legend";
}

options! {
    TERRAFORM
        Nothing: "-help" "--help" "-version" "--version" "-v" "-h";
        Joined: "-chdir" "--chdir";
}

options! {
    TMUX
        Nothing: "-2" "-C" "-CC" "-D" "-l" "-N" "-u" "-U" "-v" "-q" "-V";
        Either: "-c" "-f" "-L" "-S" "-T";
}

options! {
    UV
        Nothing: "-q" "--quiet" "-v" "--verbose" "--native-tls" "--no-native-tls" "--offline"
        "--no-offline" "--no-progress" "--no-config" "-n" "--no-cache" "--managed-python"
        "--no-managed-python" "--no-python-downloads" "--allow-python-downloads" "--preview"
        "--no-preview" "--isolated" "-V" "--version" "-h" "--help";
        Either: "--color" "--allow-insecure-host" "--directory" "--project" "--config-file"
        "--cache-dir" "--python-preference" "--preview-features";
}

options! {
    VAGRANT
        Nothing: "--color" "--no-color" "--machine-readable" "--debug" "--timestamp"
        "--debug-timestamp" "--no-tty" "-v" "--version" "-h" "--help";
}

options! {
    YARN
        Nothing: "-s" "--silent" "--verbose" "--json" "--offline" "--prefer-offline"
        "--strict-semver" "--ignore-scripts" "--har" "--ignore-platform" "--ignore-engines"
        "--ignore-optional" "--force" "--skip-integrity-check" "--check-files" "--no-bin-links"
        "--emoji" "--no-progress" "--non-interactive" "--scripts-prepend-node-path"
        "--no-node-version-check" "--focus" "--no-default-rc" "--prod" "--production"
        "--no-lockfile" "--pure-lockfile" "--frozen-lockfile" "--update-checksums" "--flat" "-v"
        "--version" "-h" "--help";
        Joined: "--emoji" "--scripts-prepend-node-path" "--prod" "--production";
        Either: "--cwd" "--link-folder" "--global-folder" "--modules-folder"
        "--preferred-cache-folder" "--cache-folder" "--mutex" "--network-concurrency"
        "--network-timeout" "--otp" "--use-yarnrc" "--registry" "--proxy" "--https-proxy";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn options_are_unique_and_spelled_well() {
        assert!(GLOBAL_OPTIONS.is_sorted_by_key(|(command, _)| command));
        for (command, options) in GLOBAL_OPTIONS {
            let mut seen = HashSet::new();
            assert!(!options.is_empty(), "{command}");
            for option in *options {
                let GlobalOption { spelling, takes } = option;
                assert!(seen.insert((spelling, format!("{takes:?}"))), "{command} {option:?}");
                let start = if *takes == Takes::Plus { '+' } else { '-' };
                assert!(spelling.starts_with(start), "{command} {option:?}");
                assert!(!spelling.contains(['=', ' ']), "{command} {option:?}");
            }
        }
    }

    #[test]
    fn options_of_a_command() {
        let cases = [
            ("git", "-C", Takes::Next),
            ("git", "-c", Takes::Next),
            ("git", "--git-dir", Takes::Either),
            ("git", "--exec-path", Takes::Joined),
            ("git", "--no-pager", Takes::Nothing),
            ("docker", "--context", Takes::Either),
            ("kubectl", "-n", Takes::Either),
            ("npm", "--prefix", Takes::Either),
            ("cargo", "+", Takes::Plus),
            ("terraform", "-chdir", Takes::Joined),
            ("make", "-C", Takes::Either),
        ];
        for (command, spelling, takes) in cases {
            let option = GlobalOption { spelling, takes };
            assert!(global_options(command).contains(&option), "{command} {spelling}");
        }
        assert_eq!(global_options("ls"), []);
    }
}
