//! The lint rules about MCP servers.

use agentry_text::Severity::{Error, Warning};
use agentry_text::{LintRule, RuleExample};

/// Every rule about MCP servers, in code order.
pub const RULES: &[&LintRule] = &[
    &NO_ADDRESS,
    &TWO_ADDRESSES,
    &TRANSPORT_MISMATCH,
    &NOT_A_WEB_ADDRESS,
    &LITERAL_SECRET,
    &FOREIGN_VARIABLE,
    &UNUSED_FIELD,
    &ODD_SERVER_NAME,
];

/// An agent directory with one MCP server.
macro_rules! server {
    ($text:literal) => {
        RuleExample::Files(&[
            ("helper/instructions.md", "You answer questions.\n"),
            ("helper/tools/search.md", concat!("---\nkind: mcp\n", $text, "---\n")),
        ])
    };
}

/// A server that can be neither started nor reached.
pub static NO_ADDRESS: LintRule = LintRule {
    code: "AG0151",
    name: "mcp-without-address",
    severity: Error,
    why: "An MCP server is either a program (`command`) or an address (`url`); with neither there \
          is nothing to talk to.",
    bad: server!("transport: stdio\n"),
    good: server!("transport: stdio\ncommand: search-server\n"),
};

/// A server that is both a program and an address.
pub static TWO_ADDRESSES: LintRule = LintRule {
    code: "AG0152",
    name: "mcp-two-addresses",
    severity: Error,
    why: "With both a `command` and a `url` readers differ in which one they use, and so in what \
          runs on the machine.",
    bad: server!("command: search-server\nurl: https://search.example.com/mcp\n"),
    good: server!("url: https://search.example.com/mcp\n"),
};

/// A transport that contradicts the rest of the server.
pub static TRANSPORT_MISMATCH: LintRule = LintRule {
    code: "AG0153",
    name: "mcp-transport-mismatch",
    severity: Error,
    why: "`stdio` starts a program, the http transports call an address; the other field of the \
          server says the opposite.",
    bad: server!("transport: stdio\nurl: https://search.example.com/mcp\n"),
    good: server!("transport: streamable-http\nurl: https://search.example.com/mcp\n"),
};

/// A `url` that is not a web address.
pub static NOT_A_WEB_ADDRESS: LintRule = LintRule {
    code: "AG0154",
    name: "mcp-url",
    severity: Error,
    why: "A remote server is reached over `http` or `https`; any other address cannot be called.",
    bad: server!("url: search.example.com/mcp\n"),
    good: server!("url: https://search.example.com/mcp\n"),
};

/// A secret written as plain text.
pub static LITERAL_SECRET: LintRule = LintRule {
    code: "AG0155",
    name: "literal-secret",
    severity: Warning,
    why: "Definitions are shared, copied and published; a secret inside one is published with it. \
          The value is never shown in a finding.",
    bad: server!("command: search-server\nenv:\n  SEARCH_API_KEY: 0123456789abcdef\n"),
    good: server!("command: search-server\nenv:\n  SEARCH_API_KEY: ${env:SEARCH_API_KEY}\n"),
};

/// A variable reference that is not expanded.
pub static FOREIGN_VARIABLE: LintRule = LintRule {
    code: "AG0156",
    name: "foreign-variable",
    severity: Warning,
    why: "Only `${env:NAME}` is expanded, because it says that the environment is read; any other \
          `${…}` reaches the server as it is written.",
    bad: server!("command: search-server\nenv:\n  REGION: ${REGION}\n"),
    good: server!("command: search-server\nenv:\n  REGION: ${env:REGION}\n"),
};

/// A field that has no effect on this kind of server.
pub static UNUSED_FIELD: LintRule = LintRule {
    code: "AG0157",
    name: "mcp-unused-field",
    severity: Warning,
    why: "`args` and `env` are for a program, `headers` for an address; on the other kind of server \
          they do nothing.",
    bad: server!("url: https://search.example.com/mcp\nargs: [--fast]\n"),
    good: server!("command: search-server\nargs: [--fast]\n"),
};

/// A server name that makes the names of its tools ambiguous.
pub static ODD_SERVER_NAME: LintRule = LintRule {
    code: "AG0158",
    name: "mcp-server-name",
    severity: Warning,
    why: "Tools are called `mcp__<server>__<tool>`; a server name with spaces, slashes or `__` \
          cannot be distinguished from the rest, and rules for it do not match.",
    bad: server!("name: web search\ncommand: search-server\n"),
    good: server!("name: web-search\ncommand: search-server\n"),
};
