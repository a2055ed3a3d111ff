//! `agentry serve pair`: tokens for other devices and for programs.

use std::net::IpAddr;

use agentry_compile::text::report::visible;
use agentry_runtime::journal::DisplayTime;
use agentry_server::PairedToken;
use serde_json::{Value, json};

use super::tokens;
use crate::args::{PairArguments, PairCommand, ResultFormat};
use crate::output::{
    CliFailure, CliOutcome, ExitKind, columns, error_text, note, print, print_json,
};

pub(super) fn run(args: &PairArguments) -> CliOutcome {
    match &args.command {
        Some(PairCommand::List { format }) => list(*format),
        Some(PairCommand::Revoke { id }) => revoke(id),
        None => match (&args.program, &args.public_url) {
            (Some(name), _) => pair_program(args, name),
            (None, Some(url)) => pair_device(args, url),
            (None, None) => Err(CliFailure::new(
                "it is not known where the device reaches the server",
            )
            .hint("name it with `--public-url https://…`; `--program NAME` is for a program")),
        },
    }
}

/// Prints a token once.
fn pair_program(args: &PairArguments, name: &str) -> CliOutcome {
    let (paired, token) = tokens()?.issue(name, args.scope).map_err(|error| failed(&error))?;
    print(&format!("{token}\n"));
    note(&format!("it is shown only now; `agentry serve pair revoke {}` revokes it", paired.id));
    Ok(ExitKind::Done)
}

/// Shows a link as a QR code. A camera elsewhere cannot reach this machine by its own name, and others on the way
/// could read what is not encrypted.
fn pair_device(args: &PairArguments, url: &str) -> CliOutcome {
    let host = url.split_once("://").map_or("", |(_, host)| host);
    if is_loopback(host) {
        let message = format!("`{url}` is this machine, which another device cannot reach");
        return Err(CliFailure::new(message)
            .hint("name the address by which the device reaches it, with TLS"));
    }
    if !url.starts_with("https://") {
        let message = format!("`{url}` is not encrypted: others could read the token");
        return Err(CliFailure::new(message).hint("serve it with TLS, and name it as `https://…`"));
    }
    let code = tokens()?.issue_code(&args.name, args.scope).map_err(|error| failed(&error))?;
    let link = format!("{url}/#code={code}");
    let picture = qrcode::QrCode::new(&link)
        .map_err(|error| CliFailure::new(format!("the link cannot be drawn: {error}")))?;
    let picture = picture.render::<qrcode::render::unicode::Dense1x2>().build();
    print(&format!("{picture}\n{link}\n"));
    let scope = args.scope;
    note(&format!("valid once and for a minute; the device may then {}", scope_text(scope)));
    Ok(ExitKind::Done)
}

fn scope_text(scope: agentry_server::TokenScope) -> &'static str {
    use agentry_server::TokenScope::{Admin, Approve, Read, Run};
    match scope {
        Read => "read everything",
        Approve => "read everything and answer approvals",
        Run => "read everything and start runs",
        Admin => "do everything",
    }
}

/// Whether a host with or without a port is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.');
    let address = name.parse::<IpAddr>().map(|it| it.to_canonical());
    let is_own = |it: IpAddr| it.is_loopback() || it.is_unspecified();
    // Browsers read `127.1`, `0x7f.1` and `2130706433` as addresses, too.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|c: char| c.is_ascii_digit()) && !name.contains(':');
    name == "localhost" || name.ends_with(".localhost") || address.map_or(is_number, is_own)
}

fn list(format: ResultFormat) -> CliOutcome {
    let paired = tokens()?.list();
    let created = |it: &PairedToken| DisplayTime(it.created.saturating_mul(1_000)).to_string();
    match format {
        ResultFormat::Json => {
            let entry = |it: &PairedToken| json!({ "id": it.id, "name": it.name, "scope": it.scope.as_str(), "created": created(it) });
            print_json(&Value::Array(paired.iter().map(entry).collect()));
        }
        ResultFormat::Human if paired.is_empty() => note("no device and no program is paired"),
        ResultFormat::Human => {
            let row = |it: &PairedToken| {
                let name = visible(&it.name).into_owned();
                vec![it.id.clone(), name, it.scope.to_string(), created(it)]
            };
            print(&columns(&paired.iter().map(row).collect::<Vec<_>>()));
        }
    }
    Ok(ExitKind::Done)
}

fn revoke(id: &str) -> CliOutcome {
    if tokens()?.revoke(id).map_err(|error| failed(&error))? {
        note(&format!("`{id}` is revoked"));
        return Ok(ExitKind::Done);
    }
    Err(CliFailure::new(format!("there is no token `{}`", visible(id)))
        .hint("`agentry serve pair list` lists them"))
}

fn failed(error: &std::io::Error) -> CliFailure {
    CliFailure::new(error_text(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_recognised() {
        let own = [
            "localhost",
            "localhost:80",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]:80",
            "x.localhost",
            "0.0.0.0",
            "localhost.",
            "127.1",
            "2130706433:80",
            "0x7f.0.0.1",
            "[::ffff:127.0.0.1]",
            "[::]",
        ];
        let others = [
            "agents.example",
            "7.agents.example",
            "10.0.0.1:8080",
            "[2001:db8::1]",
            "localhost.example",
        ];
        for host in own {
            assert!(is_loopback(host), "{host}");
        }
        for host in others {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
