//! The environment of commands: only what they are granted.
//!
//! `PATH`, `LANG` and `TERM` come from the user. `HOME` and `TMPDIR` are private directories of the run,
//! empty at first and removed with it. With a proxy, its address is in the usual variables, and git
//! ignores the placeholders of the sandbox. Every other variable needs a grant.

use agentry_sandbox::{PrivateDirectories, Sandbox};

/// The default of `PATH`.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The variables in which programs look for a proxy.
const PROXIES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// Variables that a grant cannot change.
const OWN: &[&str] = &["HOME", "TMPDIR", "NO_PROXY", "no_proxy"];

/// Returns the whole environment of the commands in a sandbox. `granted` are the granted names, `lookup`
/// gives their values, and `proxy` is the port of the proxy.
pub fn environment(
    granted: &[String],
    lookup: &dyn Fn(&str) -> Option<String>,
    sandbox: &Sandbox,
    proxy: Option<u16>,
) -> Vec<(String, String)> {
    variables(granted, lookup, sandbox.private(), proxy)
}

fn variables(
    granted: &[String],
    lookup: &dyn Fn(&str) -> Option<String>,
    private: &PrivateDirectories,
    proxy: Option<u16>,
) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    // The first value of a name counts, so a grant cannot replace a variable that is set here.
    let mut set = |name: &str, value: String| {
        if !out.iter().any(|(other, _)| other == name) {
            out.push((name.to_owned(), value));
        }
    };
    let either = |name: &str, otherwise: &str| lookup(name).unwrap_or_else(|| otherwise.to_owned());
    set("PATH", either("PATH", PATH));
    set("HOME", private.home.display().to_string());
    set("TMPDIR", private.temporary.display().to_string());
    set("LANG", either("LANG", "C.UTF-8"));
    set("TERM", either("TERM", "dumb"));
    if let Some(port) = proxy {
        PROXIES.iter().for_each(|name| set(name, format!("http://127.0.0.1:{port}")));
        ["NO_PROXY", "no_proxy"]
            .iter()
            .for_each(|name| set(name, "localhost,127.0.0.1".to_owned()));
    }
    if let Some(list) = &private.unseen_by_git {
        set("GIT_CONFIG_COUNT", "1".to_owned());
        set("GIT_CONFIG_KEY_0", "core.excludesFile".to_owned());
        set("GIT_CONFIG_VALUE_0", list.display().to_string());
    }
    for name in granted.iter().filter(|name| !OWN.contains(&name.as_str())) {
        if let Some(value) = lookup(name) {
            set(name, value);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_get_only_granted_variables() {
        let private = PrivateDirectories {
            home: "/own/home".into(),
            temporary: "/tmp".into(),
            unseen_by_git: Some("/tmp/list".into()),
        };
        let known =
            [("PATH", "/bin"), ("TOKEN", "t"), ("SECRET", "s"), ("HOME", "/h"), ("LANG", "de")];
        let lookup = |name: &str| {
            known.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        let granted = ["TOKEN", "HOME", "MISSING"].map(str::to_owned);
        let found = variables(&granted, &lookup, &private, None);
        let found: Vec<String> =
            found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "PATH=/bin",
            "HOME=/own/home",
            "TMPDIR=/tmp",
            "LANG=de",
            "TERM=dumb",
            "GIT_CONFIG_COUNT=1",
            "GIT_CONFIG_KEY_0=core.excludesFile",
            "GIT_CONFIG_VALUE_0=/tmp/list",
            "TOKEN=t",
        ];
        assert_eq!(found, expected);
    }
}
