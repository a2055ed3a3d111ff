//! Files whose contents are secrets: reading one is at least a question.
//!
//! Names are compared without regard to case, because many file systems do so.

/// A kind of file that holds secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    /// The last parts of its path, in lower case; a `*` in one is any number of characters.
    pub path: &'static str,
    /// Whether the path starts at the root.
    pub rooted: bool,
    /// Whether all that lies below it is secret too.
    pub tree: bool,
}

impl Secret {
    /// One such file.
    pub fn example(self) -> String {
        let root = if self.rooted { "/" } else { "" };
        format!("{root}{}", self.path.replace('*', "x"))
    }
}

/// Every kind of file that is known to hold secrets.
pub fn all() -> impl Iterator<Item = Secret> {
    let tables = [(NAMES, false, false), (PLACES, false, true), (ABSOLUTE, true, true)];
    tables.into_iter().flat_map(|(table, rooted, tree)| {
        table.iter().map(move |(path, _)| Secret { path, rooted, tree })
    })
}

/// What secret the file at `path` holds, if it is known to hold one. The path is absolute and
/// resolved; a directory of secrets counts as one.
pub fn is_secret(path: &str, home: Option<&str>) -> Option<&'static str> {
    let path = path.to_lowercase();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let name = original(segments.last()?);
    let public = is_public(name);
    let counts = |what: &str| !public || what != SSH;
    let place = match shared(&segments) {
        None => by_place(&segments, counts),
        Some((above, below)) => by_place(above, counts).or_else(|| by_place(below, counts)),
    };
    let place = place.or_else(|| by_absolute_path(&segments, counts));
    let named = || by_name(name).or_else(|| in_home(&path, home, name));
    place.or_else(|| named().filter(|_| !public))
}

/// The same for one of the paths that a word with wildcards may become: a name that starts with a
/// dot may also go on like the name of a secret.
pub fn may_be_secret(path: &str, home: Option<&str>) -> Option<&'static str> {
    is_secret(path, home).or_else(|| {
        let name = path.rsplit('/').next().unwrap_or_default().trim_end_matches('x').to_lowercase();
        let longer = |(pattern, _): &&(&str, &str)| pattern.starts_with(&name);
        let found = NAMES.iter().filter(|_| name.starts_with('.')).find(longer);
        found.map(|(_, what)| *what)
    })
}

/// What lies above and below a directory whose files are made to be shared with a project, though it
/// holds secrets in a home: the list of rendered files, agents and skills.
fn shared<'a, 'p>(segments: &'a [&'p str]) -> Option<(&'a [&'p str], &'a [&'p str])> {
    const SHARED: &[&str] = &["agents", "agentry-policies", "skills"];
    let is_shared = |pair: &[&str]| match pair {
        [".agentry", name] => *name == "rendered.json",
        [".gemini", name] => SHARED.contains(name),
        _ => false,
    };
    let at = segments.windows(2).position(is_shared)?;
    Some((segments.get(..at)?, segments.get(at + 1..)?))
}

/// The name of the file that `name` is a copy of, as editors and people call copies.
fn original(name: &str) -> &str {
    const COPIES: &[&str] =
        &["~", ".bak", ".backup", ".old", ".orig", ".save", ".copy", ".tmp", ".swp", ".swo"];
    let mut original = name.trim_matches('#');
    // The copies of `x` are `.#x` and `.x.swp`; with the dot, `.env` and its like stay as they are.
    original = original.strip_prefix(".#").unwrap_or(original);
    while let Some(shorter) = COPIES.iter().find_map(|end| original.strip_suffix(end)) {
        let is_swap = fits("*.swp", original) || fits("*.swo", original);
        let below = shorter.strip_prefix('.').filter(|below| is_swap && by_name(below).is_some());
        original = below.unwrap_or(shorter);
    }
    if original.is_empty() { name } else { original }
}

/// Examples, and the public halves of keys; the places of other secrets count all the same.
fn is_public(name: &str) -> bool {
    const EXAMPLES: &[&str] = &[".example", ".sample", ".template", ".dist"];
    let is_example = name.starts_with(".env.") && EXAMPLES.iter().any(|end| name.ends_with(end));
    is_example || fits("*.pub", name) || name == "known_hosts"
}

fn by_name(name: &str) -> Option<&'static str> {
    let found = NAMES.iter().find(|(pattern, _)| fits(pattern, name));
    found.map(|(_, what)| *what)
}

/// Finds the segments of an entry that counts next to each other anywhere; what lies below is secret
/// too.
fn by_place(segments: &[&str], counts: impl Fn(&str) -> bool) -> Option<&'static str> {
    let found = PLACES.iter().filter(|(_, what)| counts(what)).find(|(place, _)| {
        let starts = (0..segments.len()).filter_map(|at| segments.get(at..));
        starts.into_iter().any(|rest| agree(place, rest))
    });
    found.map(|(_, what)| *what)
}

fn by_absolute_path(segments: &[&str], counts: impl Fn(&str) -> bool) -> Option<&'static str> {
    let found =
        ABSOLUTE.iter().filter(|(_, what)| counts(what)).find(|(place, _)| agree(place, segments));
    found.map(|(_, what)| *what)
}

/// Programs keep their keys in hidden directories of the home, under telling names.
fn in_home(path: &str, home: Option<&str>, name: &str) -> Option<&'static str> {
    const TELLING: &[&str] = &["credential", "token", "secret", "passwd", "password", "apikey"];
    let below = path.strip_prefix(&home?.to_lowercase())?.strip_prefix("/.")?;
    let telling = below.contains('/') && TELLING.iter().any(|part| name.contains(part));
    telling.then_some("credentials of a program")
}

/// Whether the segments start like the place.
fn agree(place: &str, segments: &[&str]) -> bool {
    let first = |text: &str| text.bytes().next();
    if segments.first().is_none_or(|name| first(name) != first(place)) && !place.starts_with('*') {
        return false;
    }
    let mut names = segments.iter();
    place.split('/').all(|pattern| names.next().is_some_and(|name| fits(pattern, name)))
}

/// Whether `name` is what `pattern` says, where one `*` is any number of characters.
fn fits(pattern: &str, name: &str) -> bool {
    let first = pattern.bytes().next();
    if first != Some(b'*') && first != name.bytes().next() {
        return false;
    }
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    }
}

const CLOUD: &str = "cloud credentials";
const HISTORY: &str = "a command history";
const KEY: &str = "a private key";
const PACKAGES: &str = "credentials of a package manager";
const PASSWORDS: &str = "stored passwords";
const SETTINGS: &str = "an environment file";
const SSH: &str = "SSH keys and settings";
const TOKEN: &str = "an access token";

/// The last segment, in lower case.
const NAMES: &[(&str, &str)] = &[
    (".env", SETTINGS),
    (".env.*", SETTINGS),
    (".env-*", SETTINGS),
    (".env_*", SETTINGS),
    (".envrc", SETTINGS),
    ("*.env", SETTINGS),
    ("id_rsa*", KEY),
    ("id_dsa*", KEY),
    ("id_ecdsa*", KEY),
    ("id_ed25519*", KEY),
    ("id_xmss*", KEY),
    ("identity.age", KEY),
    ("*.pem", KEY),
    ("*.key", KEY),
    ("*.p8", KEY),
    ("*.p12", KEY),
    ("*.pfx", KEY),
    ("*.ppk", KEY),
    ("*.jks", KEY),
    ("*.keystore", KEY),
    ("*.keytab", KEY),
    ("*.ovpn", KEY),
    ("*.agekey", KEY),
    ("*.kdb", PASSWORDS),
    ("*.kdbx", PASSWORDS),
    ("*.keychain", PASSWORDS),
    ("*.keychain-db", PASSWORDS),
    (".htpasswd", PASSWORDS),
    (".pgpass", PASSWORDS),
    ("pgpass.conf", PASSWORDS),
    (".my.cnf", PASSWORDS),
    (".mylogin.cnf", PASSWORDS),
    (".netrc", PASSWORDS),
    ("_netrc", PASSWORDS),
    (".authinfo", PASSWORDS),
    (".authinfo.gpg", PASSWORDS),
    (".git-credentials", PASSWORDS),
    (".cvspass", PASSWORDS),
    (".smbcredentials", PASSWORDS),
    ("wp-config.php", PASSWORDS),
    (".vault-token", TOKEN),
    (".vault_pass*", PASSWORDS),
    (".npmrc", PACKAGES),
    (".yarnrc.yml", PACKAGES),
    (".pypirc", PACKAGES),
    (".gemrc", PACKAGES),
    (".dockercfg", PACKAGES),
    (".dockerconfigjson", PACKAGES),
    (".s3cfg", CLOUD),
    (".boto", CLOUD),
    (".terraformrc", CLOUD),
    ("terraform.rc", CLOUD),
    ("*.tfstate", CLOUD),
    ("*.tfstate.backup", CLOUD),
    ("*.tfvars", CLOUD),
    ("*.tfvars.json", CLOUD),
    (".databrickscfg", CLOUD),
    (".rclone.conf", CLOUD),
    ("rclone.conf", CLOUD),
    ("kubeconfig", CLOUD),
    ("*.kubeconfig", CLOUD),
    ("application_default_credentials.json", CLOUD),
    ("service-account*.json", CLOUD),
    ("service_account*.json", CLOUD),
    ("serviceaccount*.json", CLOUD),
    ("*-service-account.json", CLOUD),
    ("*_service_account.json", CLOUD),
    ("*serviceaccountkey.json", CLOUD),
    ("client_secret*.json", CLOUD),
    ("credentials", TOKEN),
    ("credentials.json", TOKEN),
    ("credentials.toml", TOKEN),
    ("credentials.db", TOKEN),
    (".credentials", TOKEN),
    (".credentials.json", TOKEN),
    ("oauth_creds.json", TOKEN),
    ("secrets.yml", TOKEN),
    ("secrets.yaml", TOKEN),
    ("secrets.json", TOKEN),
    ("secrets.toml", TOKEN),
    (".secrets", TOKEN),
    (".secrets.*", TOKEN),
    (".bash_history", HISTORY),
    (".zsh_history", HISTORY),
    (".zhistory", HISTORY),
    (".sh_history", HISTORY),
    (".ash_history", HISTORY),
    (".ksh_history", HISTORY),
    (".histfile", HISTORY),
    (".history", HISTORY),
    ("fish_history", HISTORY),
    ("history.nu", HISTORY),
    (".python_history", HISTORY),
    (".node_repl_history", HISTORY),
    (".irb_history", HISTORY),
    (".psql_history", HISTORY),
    (".mysql_history", HISTORY),
    (".sqlite_history", HISTORY),
    (".rediscli_history", HISTORY),
    (".dbshell", HISTORY),
    ("consolehost_history.txt", HISTORY),
];

/// Segments next to each other, in lower case; what lies below counts.
const PLACES: &[(&str, &str)] = &[
    (".agentry", "Agentry's own home"),
    (".config/agentry", "Agentry's own settings"),
    (".ssh", SSH),
    (".gnupg", KEY),
    (".aws", CLOUD),
    (".azure", CLOUD),
    (".config/gcloud", CLOUD),
    (".oci", CLOUD),
    (".aliyun", CLOUD),
    (".bluemix", CLOUD),
    (".kube", CLOUD),
    (".fly", CLOUD),
    (".config/doctl", CLOUD),
    (".config/hcloud", CLOUD),
    (".config/rclone", CLOUD),
    (".config/scw", CLOUD),
    (".snowsql", CLOUD),
    (".terraform.d/credentials.tfrc.json", CLOUD),
    (".pulumi/credentials.json", CLOUD),
    (".docker/config.json", PACKAGES),
    (".config/containers/auth.json", PACKAGES),
    ("containers/auth.json", PACKAGES),
    (".cargo/credentials*", PACKAGES),
    (".gem/credentials", PACKAGES),
    (".bundle/config", PACKAGES),
    (".composer/auth.json", PACKAGES),
    (".config/composer/auth.json", PACKAGES),
    (".m2/settings*.xml", PACKAGES),
    (".gradle/gradle.properties", PACKAGES),
    (".nuget/nuget.config", PACKAGES),
    (".config/pip/pip.conf", PACKAGES),
    (".pip/pip.conf", PACKAGES),
    (".config/pypoetry/auth.toml", PACKAGES),
    (".config/gh", TOKEN),
    (".config/glab-cli", TOKEN),
    (".config/hub", TOKEN),
    (".config/github-copilot", TOKEN),
    (".config/git/credentials", PASSWORDS),
    (".config/op", PASSWORDS),
    (".config/bitwarden*", PASSWORDS),
    (".config/keepassxc", PASSWORDS),
    (".config/sops", KEY),
    (".config/age", KEY),
    (".claude/.credentials.json", TOKEN),
    (".codex/auth.json", TOKEN),
    (".gemini", TOKEN),
    (".local/share/opencode/auth.json", TOKEN),
    (".subversion/auth", PASSWORDS),
    (".password-store", PASSWORDS),
    (".local/share/keyrings", PASSWORDS),
    (".local/share/kwalletd", PASSWORDS),
    ("library/keychains", PASSWORDS),
    (".mozilla/firefox", "a browser's profile"),
    (".thunderbird", "a mail profile"),
    (".config/google-chrome*", "a browser's profile"),
    (".config/chromium", "a browser's profile"),
    (".config/bravesoftware", "a browser's profile"),
    (".config/microsoft-edge*", "a browser's profile"),
    (".config/vivaldi", "a browser's profile"),
    (".config/opera", "a browser's profile"),
    ("application support/google/chrome", "a browser's profile"),
    ("application support/firefox", "a browser's profile"),
    ("application support/bravesoftware", "a browser's profile"),
    ("application support/microsoft edge", "a browser's profile"),
    ("library/safari", "a browser's profile"),
    ("library/cookies", "a browser's profile"),
    (".electrum", "a wallet"),
    (".bitcoin", "a wallet"),
    (".ethereum/keystore", "a wallet"),
];

/// From the root, in lower case; what lies below counts.
const ABSOLUTE: &[(&str, &str)] = &[
    ("etc/shadow*", PASSWORDS),
    ("etc/gshadow*", PASSWORDS),
    ("etc/master.passwd", PASSWORDS),
    ("etc/security/opasswd", PASSWORDS),
    ("etc/sudoers*", "who may become root"),
    ("etc/ssh/ssh_host_*", SSH),
    ("etc/ssl/private", KEY),
    ("etc/pki/tls/private", KEY),
    ("etc/letsencrypt/archive", KEY),
    ("etc/letsencrypt/live", KEY),
    ("etc/wireguard", KEY),
    ("etc/ppp/*-secrets", PASSWORDS),
    ("etc/networkmanager/system-connections", PASSWORDS),
    ("etc/kubernetes", CLOUD),
    ("etc/rancher", CLOUD),
    ("proc/*/environ", "the environment of a process"),
    ("proc/*/task/*/environ", "the environment of a process"),
    ("proc/*/mem", "the memory of a process"),
    ("proc/*/task/*/mem", "the memory of a process"),
    ("proc/*/fd", "the open files of a process"),
    ("proc/*/maps", "the memory of a process"),
    ("proc/kcore", "the memory of the machine"),
    ("dev/mem", "the memory of the machine"),
    ("dev/kmem", "the memory of the machine"),
    ("run/secrets", TOKEN),
    ("var/run/secrets", TOKEN),
    ("run/credentials", TOKEN),
    ("var/lib/docker", "the files of containers"),
    ("var/lib/kubelet", CLOUD),
    ("var/log/auth.log*", "a log of logins"),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn entries_are_unique_and_in_lower_case() {
        for table in [NAMES, PLACES, ABSOLUTE] {
            let mut seen = HashSet::new();
            for (pattern, _) in table {
                assert!(seen.insert(pattern), "{pattern}");
                assert_eq!(*pattern, pattern.to_lowercase());
                let stars = pattern.split('/').map(|segment| segment.matches('*').count());
                assert!(stars.max() <= Some(1), "{pattern}");
            }
        }
    }

    #[test]
    fn examples_are_secrets() {
        for secret in all() {
            let root = if secret.rooted { "" } else { "/workspace/" };
            let path = format!("{root}{}", secret.example());
            assert!(is_secret(&path, None).is_some(), "{path}");
            assert!(!secret.tree || is_secret(&format!("{path}/x"), None).is_some(), "{path}");
        }
    }

    #[test]
    fn secrets() {
        let secret = "/workspace/.env /workspace/.env.local /workspace/a/.ENV /workspace/.env.production \
                      /workspace/.envrc /workspace/prod.env /workspace/server.key /workspace/tls/cert.pem \
                      /workspace/x.p12 /workspace/x.pfx /workspace/x.jks /workspace/x.keystore /x/y.kdbx \
                      /home/user/.ssh /home/user/.ssh/id_rsa /home/user/.ssh/config /home/user/.SSH/ID_ED25519 \
                      /home/user/.aws/credentials /home/user/.aws/config /home/user/.azure/x \
                      /home/user/.config/gcloud/credentials.db /home/user/.kube/config \
                      /home/user/.docker/config.json /home/user/.netrc /home/user/.npmrc /workspace/.npmrc \
                      /home/user/.pypirc /home/user/.cargo/credentials /home/user/.cargo/credentials.toml \
                      /home/user/.gem/credentials /home/user/.git-credentials /home/user/.gnupg/secring.gpg \
                      /home/user/.password-store/a/b.gpg /home/user/.mozilla/firefox/x/logins.json \
                      /home/user/.config/google-chrome/Default/Cookies /home/user/.bash_history \
                      /home/user/.zsh_history /home/user/.local/share/fish/fish_history /etc/shadow /etc/shadow- \
                      /etc/gshadow /proc/1/environ /proc/self/environ /proc/1234/mem /home/user/.agentry \
                      /home/user/.agentry/runs/x /home/user/.config/agentry/config.toml \
                      /workspace/service-account-prod.json /workspace/config/secrets.yml \
                      /home/user/.config/gh/hosts.yml /home/user/.someprogram/api-token \
                      /workspace/.env~ /workspace/.env.bak /workspace/#.env# /workspace/.#.env \
                      /workspace/server.key~ /workspace/server.key.old /workspace/.server.key.swp \
                      /workspace/id_rsa.bak /workspace/prod.env.orig /workspace/.npmrc.bak~ \
                      /home/user/.aws/x.pub /home/user/.aws/known_hosts /home/user/.agentry/x.pub \
                      /home/user/.agentry/.env.example /home/user/.ssh/.aws/x.pub \
                      /workspace/.agentry /workspace/.agentry/x /workspace/.gemini/settings.json \
                      /home/user/.agentry/x/.agentry/rendered.json /workspace/.gemini/agents/.ssh/x \
                      /workspace/.gemini/skills/x/.env /home/user/.gemini/oauth.json \
                      /workspace/id_rsa /workspace/terraform.tfstate /run/secrets/db";
        let plain = "/workspace/.env.example /workspace/.env.sample /workspace/.env.template \
                     /workspace/.env.dist /workspace/src/main.rs /workspace/README.md /home/user/.ssh/known_hosts \
                     /home/user/.ssh/id_rsa.pub /home/user/.ssh/known_hosts.old \
                     /home/user/.ssh/known_hosts~ /workspace/.env.example~ /workspace/main.rs~ \
                     /workspace/notes.bak /workspace/# /workspace/~ /etc/ssh/ssh_host_rsa_key.pub \
                     /etc/passwd /etc/hosts /proc/cpuinfo /proc/1/status /workspace \
                     / /workspace/environment.rs /workspace/keys.rs /workspace/token.rs /home/user/.cargo/config.toml \
                     /home/user/.gitconfig /workspace/.github/workflows/ci.yml /workspace/package.json \
                     /workspace/tokens.json /home/user/tokens.txt /workspace/src/secrets.rs \
                     /workspace/.agentry/rendered.json /workspace/.gemini/agents/x.md \
                     /workspace/.gemini/skills/pdf/SKILL.md";
        for (paths, expected) in [(secret, true), (plain, false)] {
            for path in paths.split_whitespace() {
                assert_eq!(is_secret(path, Some("/home/user")).is_some(), expected, "{path}");
            }
        }
        assert_eq!(is_secret("/home/user/.x/api-token", None), None);
    }
}
