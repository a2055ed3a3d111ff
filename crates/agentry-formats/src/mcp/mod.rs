//! MCP servers: the block that describes one, read into the model and written from it. Several formats
//! share it: `tools/*.md` and `agent.acl` of an agent directory, and `mcp_servers` of AgentFS.
//!
//! | field of the block | field of [`McpServer`] |
//! | --- | --- |
//! | `transport` (or `type`), as a word or as a block with a `type` | `transport` |
//! | `command`, `args`, `env` | the same |
//! | `url`, `headers` | the same |
//! | `enabled`, or the opposite as `disabled` | `enabled` |
//! | `tool_timeout_secs`, or `timeout` as `.mcp.json` files have it | `timeout` |
//! | `optional`, `cwd`, `requires`, `oauth` and everything unknown | `options` |

mod rules;
mod secret;

use agentry_model::{Agent, Declared, DeclaredList, McpServer, McpTransport};
use agentry_text::data::MapBuilder;
use agentry_text::suggestion::nearest;
use agentry_text::table::rules::SAME_FIELD_TWICE;
use agentry_text::table::{KeyMatching, UnknownKeys};
use agentry_text::{
    Data, Diagnostic, Field, FieldKind, FieldTable, FileId, Findings, Fix, Severity, Span, Spanned,
    TableRecord, TreeEntry, TreeMap,
};

pub use rules::{
    FOREIGN_VARIABLE, LITERAL_SECRET, NO_ADDRESS, NOT_A_WEB_ADDRESS, ODD_SERVER_NAME, RULES,
    SAME_SERVER_NAME, TRANSPORT_MISMATCH, TWO_ADDRESSES, UNUSED_FIELD,
};
pub use secret::{is_reference, looks_secret};

/// The accepted names of a transport; a writer uses only the first three.
pub const TRANSPORTS: &[&str] =
    &["stdio", "streamable-http", "http", "streamable_http", "streamableHttp", "sse"];

const TRANSPORT_KINDS: &[FieldKind] =
    &[FieldKind::Choice(TRANSPORTS), FieldKind::Block(&TRANSPORT_BLOCK)];

/// The transport.
pub const TRANSPORT: Field = Field::optional(
    "transport",
    FieldKind::Either(TRANSPORT_KINDS),
    "How the server is spoken to; may be left out when `command` or `url` decides it.",
)
.or(&["type"]);
/// The program to start as the server.
pub const COMMAND: Field =
    Field::optional("command", FieldKind::Line, "The program that is the server (stdio).");
/// The program's arguments.
pub const ARGS: Field =
    Field::optional("args", FieldKind::List(&FieldKind::Str), "The program's arguments (stdio).");
/// The server's address.
pub const URL: Field = Field::optional("url", FieldKind::Line, "The server's address (http).");
/// HTTP headers of every request.
pub const HEADERS: Field = Field::optional(
    "headers",
    FieldKind::Map(&FieldKind::Line),
    "Headers sent with every request (http); `${env:NAME}` is expanded.",
);
/// Environment variables of the program.
pub const ENV: Field = Field::optional(
    "env",
    FieldKind::Map(&FieldKind::Str),
    "Environment variables for the program (stdio); `${env:NAME}` is expanded.",
);
/// Whether the server is used.
pub const ENABLED: Field =
    Field::default("enabled", FieldKind::Bool, "true", "Whether the server is used.");
/// The opposite of `enabled`, which some files of other clients have.
pub const DISABLED: Field = Field::optional(
    "disabled",
    FieldKind::Bool,
    "The opposite of `enabled`, as some `.mcp.json` files have it.",
);
/// Whether a run starts without the server.
pub const OPTIONAL: Field = Field::default(
    "optional",
    FieldKind::Bool,
    "false",
    "Whether a run goes on without the server if it is not ready.",
);
/// Where the program starts.
pub const CWD: Field = Field::optional(
    "cwd",
    FieldKind::Line,
    "The directory that the program starts in (stdio); the workspace unless written.",
);
/// What the server needs.
pub const REQUIRES: Field = Field::optional(
    "requires",
    FieldKind::Block(&REQUIRES_BLOCK),
    "What the server needs; without it the server is not ready.",
);
/// The fields that the model keeps as options.
const OPTIONS: [&str; 4] = ["optional", "cwd", "requires", "oauth"];
/// The time limit of a call.
pub const TIMEOUT: Field = Field::default(
    "tool_timeout_secs",
    FieldKind::Int(1, 86_400),
    "60",
    "How long one call may take, in seconds.",
)
.or(&["tool_timeout_sec"]);
/// The time limit of a call, in the units of other clients.
pub const OTHER_TIMEOUT: Field = Field::optional(
    "timeout",
    FieldKind::Int(1, 86_400 * MILLISECONDS),
    "The same as `.mcp.json` files have it: milliseconds from 1,000 on, as in most clients, and seconds below.",
);
/// How a token for the server is obtained.
pub const OAUTH: Field = Field::optional(
    "oauth",
    FieldKind::Block(&OAUTH_BLOCK),
    "How a token for the server is obtained with OAuth.",
);

/// The block of one server, without its name.
pub static SERVER: FieldTable = FieldTable::new(
    "the MCP server",
    &[
        TRANSPORT,
        COMMAND,
        ARGS,
        CWD,
        URL,
        HEADERS,
        ENV,
        ENABLED,
        DISABLED,
        OPTIONAL,
        TIMEOUT,
        OTHER_TIMEOUT,
        REQUIRES,
        OAUTH,
    ],
)
.keys(KeyMatching::SnakeOrCamel);

/// `transport` written as a block.
static TRANSPORT_BLOCK: FieldTable = FieldTable::new(
    "`transport`",
    &[
        Field::required("type", FieldKind::Choice(TRANSPORTS), "How the server is spoken to."),
        COMMAND,
        ARGS,
        URL,
        HEADERS,
    ],
)
.keys(KeyMatching::SnakeOrCamel);

/// The block `requires`. In manifests it has more, which nothing installs here.
static REQUIRES_BLOCK: FieldTable = FieldTable::new(
    "`requires`",
    &[Field::optional(
        "env",
        FieldKind::Map(&FieldKind::Str),
        "Environment variables that must be set, with what each is for.",
    )],
)
.unknown(UnknownKeys::Silent);

/// The block `oauth`.
static OAUTH_BLOCK: FieldTable = FieldTable::new(
    "`oauth`",
    &[
        Field::optional("auth_url", FieldKind::Line, "Where the person is asked."),
        Field::optional("token_url", FieldKind::Line, "Where the token is fetched."),
        Field::optional("client_id", FieldKind::Line, "Who asks."),
        Field::optional(
            "client_secret",
            FieldKind::Line,
            "The secret of who asks; use a variable.",
        ),
        Field::optional("scopes", FieldKind::List(&FieldKind::Str), "What is asked for."),
        Field::optional("redirect_uri", FieldKind::Line, "Where the person is sent back to."),
        Field::optional("access_token", FieldKind::Line, "A token; use a variable."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

/// The default time limit of a call, in seconds.
const TIMEOUT_SECONDS: i64 = 60;
/// The milliseconds of a second, and the first `timeout` that is in milliseconds: no server is given less than
/// a second, and hardly one a quarter of an hour.
const MILLISECONDS: i64 = 1_000;

/// Reports servers of one agent that have the same name, wherever they are declared.
pub fn check_names(agent: &Agent, findings: &mut Findings) {
    let mut known: Vec<&Spanned<McpServer>> = Vec::new();
    for server in agent.tools.mcp.iter().flatten() {
        let Some(first) = known.iter().find(|it| it.name.eq_ignore_ascii_case(&server.name)) else {
            known.push(server);
            continue;
        };
        // Some formats have a rule of their own about their own field.
        let is_reported =
            |found: &Diagnostic| found.span == server.span && found.severity == Severity::Error;
        if !findings.iter().any(is_reported) {
            let message = format!("two MCP servers are called `{}`", server.name);
            let found = findings.add(&SAME_SERVER_NAME, server.span, message);
            found.hint("rename one").related(first.span, "the other one");
        }
    }
}

/// Fills in the defaults of every server of `agent`.
pub fn defaults(agent: &mut Agent) {
    let nowhere = Span::start_of(FileId::BUILT_IN);
    for server in agent.tools.mcp.iter_mut().flatten() {
        server.value.enabled.get_or_insert(Spanned::new(true, nowhere));
        server.value.timeout.get_or_insert(Spanned::new(TIMEOUT_SECONDS, nowhere));
        if server.transport.is_none() {
            server.value.transport = derived_transport(server);
        }
    }
}

/// Reads the server `name` from a record that was validated against a table with the fields above.
/// Never fails: a part that is wrong is reported and left out.
pub fn read(record: TableRecord<'_>, name: &Spanned<String>, findings: &mut Findings) -> McpServer {
    let reader = McpReader { record, nested: record.record("transport", &TRANSPORT_BLOCK) };
    reader.written_twice(findings);
    let server = McpServer {
        name: name.value.clone(),
        transport: reader.transport(),
        command: reader.text("command"),
        args: reader.args(),
        url: reader.text("url"),
        headers: reader.pick("headers").map(pairs).unwrap_or_default(),
        env: record.map("env").map(strings).unwrap_or_default(),
        enabled: is_enabled(&record, findings),
        timeout: reader.timeout(findings),
        options: reader.options(),
    };
    check(&server, name.span, findings);
    secrets(&reader, findings);
    server
}

/// Reads `enabled` and its opposite. A server that one of them turns off is off.
pub fn is_enabled(record: &TableRecord<'_>, findings: &mut Findings) -> Declared<bool> {
    let disabled = record.bool("disabled").map(|off| off.map(|off| !off));
    written_once(record, ["enabled", "disabled"], findings);
    [record.bool("enabled"), disabled].into_iter().flatten().min_by_key(|on| on.value)
}

/// Reports two fields that say the same.
fn written_once(record: &TableRecord<'_>, [first, second]: [&str; 2], findings: &mut Findings) {
    if let (Some(one), Some(other)) = (record.entry(first), record.entry(second)) {
        let message = format!("`{second}` says the same as `{first}`");
        findings
            .add(&SAME_FIELD_TWICE, other.key.span, message)
            .related(one.key.span, "also written here")
            .hint("keep one of them");
    }
}

/// Returns the fields of `server` except its name, in the documented order.
pub fn to_data(server: &McpServer) -> MapBuilder {
    let McpServer {
        name: _,
        transport,
        command,
        args,
        url,
        headers,
        env,
        enabled,
        timeout,
        options,
    } = server;
    let texts = |pairs: &[(String, Spanned<String>)]| {
        let text = |(key, text): &(String, Spanned<String>)| (key.clone(), Data::str(&text.value));
        Data::Map(pairs.iter().map(text).collect())
    };
    let mut out = MapBuilder::new();
    out.str_opt("transport", transport.as_ref().map(|transport| transport.as_str()));
    out.str_opt("command", command.as_ref().map(|text| &text.value));
    out.set_opt("args", args.as_ref().map(|args| Data::strings(args.iter().map(|arg| &arg.value))));
    out.str_opt("url", url.as_ref().map(|text| &text.value));
    out.set_full("headers", texts(headers));
    out.set_full("env", texts(env));
    out.set_opt("enabled", enabled.as_ref().map(|enabled| Data::Bool(enabled.value)));
    out.set_opt("tool_timeout_secs", timeout.as_ref().map(|secs| Data::Int(secs.value)));
    for (key, value) in options {
        out.set(key, value.clone());
    }
    out
}

/// Derives the transport of a server that declares none.
pub fn derived_transport(server: &McpServer) -> Declared<McpTransport> {
    match (&server.command, &server.url) {
        (Some(command), None) => Some(Spanned::new(McpTransport::Stdio, command.span)),
        (None, Some(url)) => Some(Spanned::new(McpTransport::StreamableHttp, url.span)),
        // Both or neither: the address check reports it, and a guess could start a program.
        _ => None,
    }
}

/// A server's block, with its nested `transport` block.
struct McpReader<'t> {
    record: TableRecord<'t>,
    nested: Option<TableRecord<'t>>,
}

impl<'t> McpReader<'t> {
    /// Returns the entry of `field`, which may also be in the `transport` block.
    fn pick(&self, field: &str) -> Option<&'t TreeEntry> {
        let nested = self.nested.and_then(|nested| nested.entry(field));
        self.record.entry(field).or(nested)
    }

    fn text(&self, field: &str) -> Declared<String> {
        let text = self.pick(field)?.value.to_spanned()?;
        (!text.trim().is_empty()).then_some(text)
    }

    fn args(&self) -> DeclaredList<String> {
        let items = self.pick("args")?.value.as_list()?;
        Some(items.iter().filter_map(agentry_text::TreeNode::to_spanned).collect())
    }

    /// Returns the time limit in seconds. The field table already reported a value out of range.
    fn timeout(&self, findings: &mut Findings) -> Declared<i64> {
        written_once(&self.record, ["tool_timeout_secs", "timeout"], findings);
        let within = |most: i64| move |time: &Spanned<i64>| (1..=most).contains(&time.value);
        let own = self.record.int("tool_timeout_secs").filter(within(86_400));
        let other = self.record.int("timeout").filter(within(86_400 * MILLISECONDS));
        let in_seconds = |time: i64| match time {
            MILLISECONDS.. => time.div_euclid(MILLISECONDS),
            seconds => seconds,
        };
        own.or_else(|| other.map(|time| time.map(in_seconds)))
    }

    fn transport(&self) -> Declared<McpTransport> {
        let word = match self.nested {
            Some(nested) => nested.str("type")?,
            None => self.record.str("transport")?,
        };
        let transport = match word.value.as_str() {
            "stdio" => McpTransport::Stdio,
            // The older transport: HTTP with server-sent events.
            "http" | "sse" => McpTransport::Http,
            "streamable-http" | "streamable_http" | "streamableHttp" => {
                McpTransport::StreamableHttp
            }
            _ => return None,
        };
        Some(Spanned::new(transport, word.span))
    }

    /// Returns what has no field in the model, and unknown keys.
    fn options(&self) -> Vec<(String, Data)> {
        let option = |key: &str| Some((key.to_owned(), self.record.data(key)?.value));
        let known = OPTIONS.into_iter().filter_map(option);
        let unknown = self.record.unknown();
        let unknown = unknown.map(|entry| (entry.key.text.clone(), entry.value.to_data()));
        known.chain(unknown).collect()
    }

    fn written_twice(&self, findings: &mut Findings) {
        let Some(nested) = self.nested else { return };
        for field in ["command", "args", "url", "headers"] {
            if let (Some(outer), Some(inner)) = (self.record.entry(field), nested.entry(field)) {
                let message = format!("`{field}` is written twice, here and in `transport`");
                findings
                    .add(&SAME_FIELD_TWICE, inner.key.span, message)
                    .related(outer.key.span, "also written here")
                    .hint("keep one of them");
            }
        }
    }
}

fn pairs(entry: &TreeEntry) -> Vec<(String, Spanned<String>)> {
    entry.value.as_map().map(strings).unwrap_or_default()
}

/// Returns the entries of a map whose values are texts; of a repeated key, the last.
fn strings(map: &TreeMap) -> Vec<(String, Spanned<String>)> {
    let mut out: Vec<(String, Spanned<String>)> = Vec::with_capacity(map.entries.len());
    for entry in &map.entries {
        let Some(text) = entry.value.to_spanned() else { continue };
        out.retain(|(key, _)| *key != entry.key.text);
        out.push((entry.key.text.clone(), text));
    }
    out
}

/// Checks whether transport, command and address fit together.
fn check(server: &McpServer, place: Span, findings: &mut Findings) {
    address(server, place, findings);
    check_name(&server.name, place, findings);
    if let Some(url) = &server.url {
        web_address(url, findings);
    }
    unused(server, findings);
}

fn address(server: &McpServer, place: Span, findings: &mut Findings) {
    let name = &server.name;
    match (&server.command, &server.url, &server.transport) {
        // A disabled server is never contacted, so it needs no address.
        (None, None, _) if server.enabled.is_some_and(|enabled| !enabled.value) => {}
        (None, None, transport) => {
            let (missing, hint) = match transport.as_ref().map(|transport| transport.value) {
                Some(McpTransport::Stdio) => ("no `command`", "add `command`"),
                Some(McpTransport::Http | McpTransport::StreamableHttp) => {
                    ("no `url`", "add `url`")
                }
                None => ("neither `command` nor `url`", "add `command` (stdio) or `url` (http)"),
            };
            let message = format!("the MCP server `{name}` has {missing}");
            findings.add(&NO_ADDRESS, place, message).hint(hint).absent();
        }
        (Some(command), Some(url), _) => {
            let message = format!("the MCP server `{name}` has both `command` and `url`");
            findings
                .add(&TWO_ADDRESSES, url.span, message)
                .related(command.span, "the command")
                .hint("keep `command` for a local server, `url` for a remote one");
        }
        (Some(_), None, Some(transport)) if transport.value != McpTransport::Stdio => {
            mismatch(transport, "`command`, which is `stdio`", "stdio", findings);
        }
        (None, Some(_), Some(transport)) if transport.value == McpTransport::Stdio => {
            mismatch(transport, "`url`, which is `streamable-http`", "streamable-http", findings);
        }
        _ => {}
    }
}

fn mismatch(transport: &Spanned<McpTransport>, has: &str, fits: &str, findings: &mut Findings) {
    let message = format!("transport `{}` does not fit a server with {has}", transport.value);
    findings
        .add(&TRANSPORT_MISMATCH, transport.span, message)
        .hint(format!("write `{fits}`, or leave `transport` out"))
        .fix(Fix::unsafe_(format!("write `{fits}`"), transport.span, format!("\"{fits}\"")));
}

/// Checks a server name: tools are called `mcp__<server>__<tool>`, so the name must not contain `__`.
pub fn check_name(name: &str, place: Span, findings: &mut Findings) {
    let sign = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let fits = !name.is_empty() && name.chars().all(sign) && !name.contains("__");
    if !fits {
        findings
            .add(&ODD_SERVER_NAME, place, format!("`{name}` is not a good name for an MCP server"))
            .hint("use letters, digits, `-`, `.` and single `_`");
    }
}

fn web_address(url: &Spanned<String>, findings: &mut Findings) {
    let text = url.trim();
    let after = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    // The value of a variable is unknown here, so it may be a whole address.
    let whole_reference = is_reference(text) || text.starts_with("${env:");
    if whole_reference || after.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) {
        return;
    }
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let hint = match scheme.and_then(|scheme| nearest(scheme, ["https", "http"])) {
        Some(near) => format!("did you mean `{near}://…`?"),
        None => "write the whole address: `https://…`".to_owned(),
    };
    findings.add(&NOT_A_WEB_ADDRESS, url.span, format!("`{text}` is not a web address")).hint(hint);
}

/// Reports fields that have no effect on this kind of server.
fn unused(server: &McpServer, findings: &mut Findings) {
    let mut report = |span: Span, field: &str, kind: &str| {
        let message = format!("`{field}` has no effect on {kind} server");
        findings.add(&UNUSED_FIELD, span, message).hint(format!("remove `{field}`"));
    };
    match (&server.command, &server.url) {
        (Some(_), None) => {
            if let Some((_, first)) = server.headers.first() {
                report(first.span, "headers", "a stdio");
            }
        }
        (None, Some(_)) => {
            if let Some(first) = server.args.as_ref().and_then(|args| args.first()) {
                report(first.span, "args", "an http");
            }
            if let Some((_, first)) = server.env.first() {
                report(first.span, "env", "an http");
            }
        }
        _ => {}
    }
}

/// Reports a literal secret, or a reference that only other tools expand, in the value of one key.
pub fn check_secret(entry: &TreeEntry, findings: &mut Findings) {
    if let Some(text) = entry.value.to_spanned() {
        secret::check(&entry.key.text, &text, findings);
    }
}

/// Reports literal secrets and references of other tools in headers, variables and OAuth settings.
fn secrets(reader: &McpReader<'_>, findings: &mut Findings) {
    let maps = [reader.pick("headers"), reader.record.entry("env"), reader.record.entry("oauth")];
    for entry in maps.into_iter().flatten() {
        let items = entry.value.as_map().map(|map| map.entries.as_slice()).unwrap_or_default();
        items.iter().for_each(|item| check_secret(item, findings));
    }
    // Arguments and address have no key that names a secret, so only references are checked.
    let args = reader.args().unwrap_or_default();
    args.iter().chain(&reader.text("url")).for_each(|text| secret::variables(text, findings));
}

#[cfg(test)]
mod tests;
