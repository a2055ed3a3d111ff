//! The lint rules of a manifest, beyond the shape of its fields.

use agentry_text::Severity::{Error, Note, Warning};
use agentry_text::{LintRule, RuleExample};

/// Every rule about manifests, in code order.
pub const RULES: &[&LintRule] = &[
    &VERSION_NOT_SEMVER,
    &UNUSABLE_NAME,
    &KEY_NOT_TEXT,
    &YAML_VERSIONS,
    &TEXT_TWICE,
    &EMPTY_TEXT,
    &MISNAMED_FILE,
    &SCOPE_WITHOUT_EFFECT,
    &SCOPED_WITHOUT_SCOPE,
    &HOSTS_WITHOUT_EFFECT,
    &SCOPED_WITHOUT_HOSTS,
    &EXPLICIT_WITHOUT_PROVIDERS,
    &KEY_IN_MANIFEST,
    &PROVIDER_WITHOUT_SOURCE,
    &TAG_TWICE,
    &MODEL_WITHOUT_PROVIDER,
    &FUNCTION_TWICE,
    &UNKNOWN_CALLEE,
    &UNUSABLE_REFERENCE,
    &MERGE_WITHOUT_BASE,
    &SKILL_WITHOUT_NAME,
    &SKILL_TWICE,
    &SERVER_WITHOUT_NAME,
    &SEVERAL_SERVERS,
    &SERVER_TWICE,
    &SERVER_TRANSPORT,
    &TEXT_WITHOUT_EFFECT,
    &NO_SYSTEM_TEXT,
];

/// A version that is not semantic.
pub static VERSION_NOT_SEMVER: LintRule = LintRule {
    code: "AG3001",
    name: "version-not-semver",
    severity: Warning,
    why: "Versions are compared when one manifest builds on another (`base: name@1.2.0`); \
          text that is not a semantic version has no order.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nversion: \"1.2\"\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nversion: 1.2.0\n",
    ),
};

/// A name that cannot be used as a file name.
pub static UNUSABLE_NAME: LintRule = LintRule {
    code: "AG3002",
    name: "unusable-name",
    severity: Error,
    why: "A manifest is stored and fetched under its name. An empty name names nothing, \
          and one with a slash or a control character can lead to another place than it \
          shows.",
    bad: RuleExample::File("helper.agent", "name: ../../helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
    good: RuleExample::File("helper.agent", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
};

/// A key that YAML does not read as a string.
pub static KEY_NOT_TEXT: LintRule = LintRule {
    code: "AG3005",
    name: "key-not-text",
    severity: Error,
    why: "YAML reads the keys `1`, `on` and `null` as a number, a boolean and nothing. \
          Fields, providers, servers and extensions are named by text.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nextensions: {1: fast}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nextensions: {\"1\": fast}\n",
    ),
};

/// A scalar whose value depends on the version of YAML.
pub static YAML_VERSIONS: LintRule = LintRule {
    code: "AG3006",
    name: "yaml-versions-differ",
    severity: Warning,
    why: "Manifests are read as YAML 1.1, where `on` is true, `017` is fifteen and `12:30` \
          is 750; most newer tools read them as YAML 1.2, where these are something else. \
          Quotes, or the plain value, mean the same to all.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nextensions: {x-claude: {mode: on}}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nextensions: {x-claude: {mode: \"on\"}}\n",
    ),
};

/// A text that is both in the manifest and in a file.
pub static TEXT_TWICE: LintRule = LintRule {
    code: "AG3007",
    name: "text-twice",
    severity: Warning,
    why: "In a directory, `SOUL.md` and `RULES.md` win over `soul` and `rules` of the \
          manifest, so an edit of the inline text changes nothing.",
    bad: RuleExample::Files(&[
        ("helper/agent.yaml", "name: helper\ndescription: Answers questions\nsoul: You answer.\n"),
        ("helper/SOUL.md", "You answer questions.\n"),
    ]),
    good: RuleExample::Files(&[
        ("helper/agent.yaml", "name: helper\ndescription: Answers questions\n"),
        ("helper/SOUL.md", "You answer questions.\n"),
    ]),
};

/// An empty text file.
pub static EMPTY_TEXT: LintRule = LintRule {
    code: "AG3008",
    name: "empty-text",
    severity: Warning,
    why: "An empty `SOUL.md` or `RULES.md` still wins over the inline text, so the agent gets no \
          text.",
    bad: RuleExample::Files(&[
        ("helper/agent.yaml", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
        ("helper/RULES.md", "\n"),
    ]),
    good: RuleExample::Files(&[
        ("helper/agent.yaml", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
        ("helper/RULES.md", "- Never guess.\n"),
    ]),
};

/// A file that is not read because of its name.
pub static MISNAMED_FILE: LintRule = LintRule {
    code: "AG3009",
    name: "misnamed-file",
    severity: Warning,
    why: "Only `SOUL.md` and `RULES.md`, spelt so, are read, and of `agent.yaml` and \
          `agent.yml` only the first. Hard rules in `rules.md` never reach the model.",
    bad: RuleExample::Files(&[
        ("helper/agent.yaml", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
        ("helper/rules.md", "- Never guess.\n"),
    ]),
    good: RuleExample::Files(&[
        ("helper/agent.yaml", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
        ("helper/RULES.md", "- Never guess.\n"),
    ]),
};

/// A scope without any effect.
pub static SCOPE_WITHOUT_EFFECT: LintRule = LintRule {
    code: "AG3010",
    name: "scope-without-effect",
    severity: Warning,
    why: "`trust.scope` lists the paths that `filesystem: scoped` opens for writing. With \
          another value it does nothing, which a reader of the file does not see.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {filesystem: read-only, scope: [./notes]}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {filesystem: scoped, scope: [./notes]}\n",
    ),
};

/// `filesystem: scoped` without paths.
pub static SCOPED_WITHOUT_SCOPE: LintRule = LintRule {
    code: "AG3011",
    name: "scoped-without-scope",
    severity: Warning,
    why: "`filesystem: scoped` opens the paths of `trust.scope` for writing. Without any, \
          the agent may write nowhere.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {filesystem: scoped}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {filesystem: scoped, scope: [./notes]}\n",
    ),
};

/// Hosts without any effect.
pub static HOSTS_WITHOUT_EFFECT: LintRule = LintRule {
    code: "AG3012",
    name: "hosts-without-effect",
    severity: Warning,
    why: "`trust.hosts` lists the hosts that `network: scoped` opens. With `none` or \
          `allowed` it does nothing.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {network: allowed, hosts: [example.org]}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {network: scoped, hosts: [example.org]}\n",
    ),
};

/// `network: scoped` without hosts.
pub static SCOPED_WITHOUT_HOSTS: LintRule = LintRule {
    code: "AG3013",
    name: "scoped-without-hosts",
    severity: Warning,
    why: "`network: scoped` opens the hosts of `trust.hosts`, else those of the MCP \
          servers and providers of the manifest. Without any, nothing can be reached.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {network: scoped}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {network: scoped, hosts: [example.org]}\n",
    ),
};

/// `auth.strategy: explicit` without providers.
pub static EXPLICIT_WITHOUT_PROVIDERS: LintRule = LintRule {
    code: "AG3014",
    name: "explicit-without-providers",
    severity: Warning,
    why: "With `strategy: explicit` only the sources under `auth.providers` are used. \
          Without any, no model that needs a key can be used.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nauth: {strategy: explicit}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nauth: {strategy: explicit, providers: {anthropic: {from: env.ANTHROPIC_API_KEY}}}\n",
    ),
};

/// A key source that is not an environment variable.
pub static KEY_IN_MANIFEST: LintRule = LintRule {
    code: "AG3015",
    name: "key-in-manifest",
    severity: Error,
    why: "A manifest is shared and published; a key that stands in it is known to \
          everybody. It names the environment variable that holds the key instead: \
          `env.NAME`. The value found is never shown.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nauth: {providers: {openai: {from: not-a-variable}}}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nauth: {providers: {openai: {from: env.OPENAI_API_KEY}}}\n",
    ),
};

/// A provider without a source for its key.
pub static PROVIDER_WITHOUT_SOURCE: LintRule = LintRule {
    code: "AG3016",
    name: "provider-without-source",
    severity: Warning,
    why: "A provider is listed to say where its key comes from; without `from` it changes \
          nothing.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nauth: {providers: {openai: {}}}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nauth: {providers: {openai: {from: env.OPENAI_API_KEY}}}\n",
    ),
};

/// A tag that is listed twice.
pub static TAG_TWICE: LintRule = LintRule {
    code: "AG3017",
    name: "tag-twice",
    severity: Warning,
    why: "A tag counts once; the second is probably a slip for another.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntags: [help, help]\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntags: [help]\n",
    ),
};

/// A preferred model without a provider.
pub static MODEL_WITHOUT_PROVIDER: LintRule = LintRule {
    code: "AG3018",
    name: "model-without-provider",
    severity: Warning,
    why: "The provider decides which key and which address are used. A bare model name may \
          belong to several; it is skipped unless the catalogue has it from one only.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nmodel: {preferred: [gpt-5]}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nmodel: {preferred: [openai/gpt-5]}\n",
    ),
};

/// Two functions with the same name.
pub static FUNCTION_TWICE: LintRule = LintRule {
    code: "AG3019",
    name: "function-twice",
    severity: Error,
    why: "A function is called by its name; of two, it is not clear which is meant.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nexpose: [{name: ask, output: str}, {name: ask}]\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nexpose: [{name: ask, output: str}]\n",
    ),
};

/// A call of an agent that is not listed.
pub static UNKNOWN_CALLEE: LintRule = LintRule {
    code: "AG3020",
    name: "unknown-callee",
    severity: Warning,
    why: "A stage calls `agent.function`, where the agent is one of `agents`, or a \
          function of the manifest itself.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nagents: {writer: {ref: ./writer.agent}}\npipeline: [{call: writr.draft}]\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nagents: {writer: {ref: ./writer.agent}}\npipeline: [{call: writer.draft}]\n",
    ),
};

/// A reference that cannot be resolved.
pub static UNUSABLE_REFERENCE: LintRule = LintRule {
    code: "AG3021",
    name: "unusable-reference",
    severity: Error,
    why: "`base` and `agents` name other definitions, by a path, `ag1:…`, `sha256:…`, \
          `name@version` or an OCI reference. What lies behind a URL can change at any \
          time, so a URL needs the digest of what is expected there.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nagents: {writer: {ref: 'https://example.org/writer.agent'}}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nagents: {writer: {ref: 'https://example.org/writer.agent#sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'}}\n",
    ),
};

/// A merge mode without a base.
pub static MERGE_WITHOUT_BASE: LintRule = LintRule {
    code: "AG3022",
    name: "merge-without-base",
    severity: Note,
    why: "`merge` says how a manifest is combined with its `base`; without one it does \
          nothing.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nmerge: {skills: override}\n",
    ),
    good: RuleExample::Files(&[
        ("base.agent", "name: base\ndescription: Answers questions\nsoul: You answer questions.\n"),
        (
            "helper.agent",
            "name: helper\ndescription: Answers questions\nbase: ./base.agent\nmerge: {skills: override}\n",
        ),
    ]),
};

/// A skill without a name.
pub static SKILL_WITHOUT_NAME: LintRule = LintRule {
    code: "AG3023",
    name: "skill-without-name",
    severity: Error,
    why: "A skill is resolved by its name.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nskills: [{optional: true}]\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nskills: [{name: web-search, optional: true}]\n",
    ),
};

/// A skill that is listed twice.
pub static SKILL_TWICE: LintRule = LintRule {
    code: "AG3024",
    name: "skill-twice",
    severity: Warning,
    why: "A skill counts once; the second is probably a slip for another.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nskills: [git, git]\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nskills: [git]\n",
    ),
};

/// An MCP server without a name.
pub static SERVER_WITHOUT_NAME: LintRule = LintRule {
    code: "AG3025",
    name: "server-without-name",
    severity: Error,
    why: "The tools of a server are called by its name.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [{command: serve}]}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [{name: notes, command: serve}]}\n",
    ),
};

/// One entry that names several MCP servers.
pub static SEVERAL_SERVERS: LintRule = LintRule {
    code: "AG3026",
    name: "several-servers",
    severity: Error,
    why: "Of an entry `{name: {settings}}` only the first key is read as a server, so the \
          others are lost without a word.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [{notes: {mode: fast}, files: {mode: slow}}]}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [{notes: {mode: fast}}, {files: {mode: slow}}]}\n",
    ),
};

/// Two MCP servers with the same name.
pub static SERVER_TWICE: LintRule = LintRule {
    code: "AG3027",
    name: "server-twice",
    severity: Error,
    why: "The tools of a server are called by its name; of two servers, it is not clear which is \
          meant.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [notes, {name: notes, command: serve}]}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [{name: notes, command: serve}]}\n",
    ),
};

/// An MCP server whose transport does not fit its address.
pub static SERVER_TRANSPORT: LintRule = LintRule {
    code: "AG3028",
    name: "server-transport",
    severity: Error,
    why: "`stdio` speaks to a program, so it needs `command`; `http` and `sse` speak to an \
          address, so they need `url`. With both, or with the wrong one, it is not clear what is \
          meant.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [{name: notes, transport: http, command: serve}]}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [{name: notes, transport: http, url: https://example.org/mcp}]}\n",
    ),
};

/// A text that never reaches the prompt.
pub static TEXT_WITHOUT_EFFECT: LintRule = LintRule {
    code: "AG3029",
    name: "text-without-effect",
    severity: Note,
    why: "Without a soul, `system_override` replaces persona and traits: these are not sent to the \
          model. Beside a soul it follows them.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nbehavior:\n  persona: helper\n  system_override: You answer.\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nbehavior:\n  system_override: You answer.\n",
    ),
};

/// A manifest without soul, persona and override.
pub static NO_SYSTEM_TEXT: LintRule = LintRule {
    code: "AG3030",
    name: "no-system-text",
    severity: Warning,
    why: "Without a soul, a persona and a `system_override`, the model gets the description as its \
          system text. It was written for people who choose an agent.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n",
    ),
};
