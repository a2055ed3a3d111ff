//! Agents from bytes: every byte string gives an agent, so that a failing case can be shrunk.

use agentry_compile::model::{
    Agent, AgentBehaviour, AgentIdentity, AgentInstructions, AgentMemory, AgentMode, AgentRef,
    AgentRequirements, AgentRole, AgentStatus, AgentTools, AuthStrategy, Declared, DeclaredList,
    ErrorReaction, ExposedFunction, Format, Inheritance, JavaScriptFunction, LimitReaction,
    ListMerge, LongTermMemory, McpServer, McpTransport, MemoryFile, MemoryImportance, MergeModes,
    MisfirePolicy, ModelChoice, ModelTier, OverlapPolicy, PipelineStage, ProviderAuth, RiskLevel,
    RunBudget, Schedule, ScriptLimits, ScriptTool, SkillPack, SkillRef, TextMerge, WorkingMemory,
};
use agentry_compile::policy::{
    Abilities, Ability, Action, ExecTrust, ExpectedVerdict, FilesystemTrust, NetworkTrust,
    PatternRule, Permissions, Policy, PolicyTest, Section, SectionRules, ToolPermissions, Trust,
};
use agentry_compile::text::{Data, FileId, Span, Spanned};

/// Texts that data languages easily misread.
const NASTY: &[&str] = &[
    "yes",
    "017",
    "1.0",
    "12:30",
    "null",
    "a: b",
    "- x",
    "# x",
    "it's",
    "say \"hi\"",
    "a\\b",
    "{{x}}",
    "*",
    "&x",
    "%TAG",
    "@x",
    "`x`",
    "é ü 漢字",
    "🚀",
    "[x]",
    "{x}",
    "a, b",
    "x #y",
    "<<",
    "=",
    "~",
    "!x",
    "|",
    ">",
    "2024-02-29",
    "1e3",
    "0x1F",
    "on: off",
    "$HOME",
    "${env:X}",
    "---",
    "...",
    "?",
    "a\tb",
];

const WORDS: &[&str] = &["alpha", "beta", "gamma", "delta", "review", "search", "files", "web"];

/// Draws decisions from bytes, one after the other.
pub(crate) struct Gen<'a> {
    bytes: &'a [u8],
    count: usize,
}

fn at<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::start_of(FileId::BUILT_IN))
}

impl<'a> Gen<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, count: 0 }
    }

    fn byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        *first
    }

    fn below(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % most.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn field<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Declared<T> {
        (self.byte() % 2 == 1).then(|| at(make(self)))
    }

    fn list<T>(&mut self, make: impl Fn(&mut Self) -> T) -> DeclaredList<T> {
        (self.byte() % 2 == 1).then(|| (0..=self.below(3)).map(|_| at(make(self))).collect())
    }

    fn many<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.below(3)).map(|_| make(self)).collect()
    }

    /// A unique name. Names sort in the order of creation, like files in a folder.
    fn name(&mut self) -> String {
        self.count += 1;
        let word = self.pick(WORDS);
        format!("a{:03}-{word}", self.count)
    }

    /// Text on one line.
    fn line(&mut self) -> String {
        match self.below(3) {
            0 => self.pick(NASTY).to_owned(),
            1 => format!("{} {}", self.pick(WORDS), self.pick(NASTY)),
            _ => format!("{} {} {}", self.pick(WORDS), self.pick(WORDS), self.pick(WORDS)),
        }
        .trim()
        .to_owned()
    }

    /// Text on several lines, like Markdown that users write.
    fn text(&mut self) -> String {
        let blocks = [
            "## Heading",
            "# Top",
            "- item",
            "  indented",
            "```sh\nls\n```",
            "| a |",
            "> q",
            "~~~",
            "===",
            "\ttab",
        ];
        let mut lines = vec![format!("{} {}.", self.pick(WORDS), self.pick(WORDS))];
        for _ in 0..self.below(4) {
            let line = if self.byte().is_multiple_of(2) {
                self.pick(&blocks).to_owned()
            } else {
                self.line()
            };
            lines.push(line);
            if self.byte().is_multiple_of(3) {
                lines.push(String::new());
            }
        }
        lines.join("\n").trim().to_owned()
    }

    fn env(&mut self) -> String {
        self.name().to_uppercase().replace('-', "_")
    }

    fn data(&mut self) -> Data {
        match self.below(6) {
            0 => Data::Bool(self.byte().is_multiple_of(2)),
            1 => Data::Int(i64::from(self.byte()) - 100),
            2 => Data::Float(f64::from(self.byte()) / 4.0 + 0.25),
            3 => Data::List(vec![Data::str(self.line()), Data::Int(1)]),
            4 => Data::Map(vec![(self.name(), Data::str(self.line()))]),
            _ => Data::str(self.line()),
        }
    }

    fn pairs(&mut self) -> Vec<(String, Spanned<String>)> {
        self.many(|g| (g.env(), at(format!("${{env:{}}}", g.env()))))
    }

    pub(crate) fn agent(&mut self) -> Agent {
        Agent {
            identity: self.identity(),
            inheritance: self.inheritance(),
            instructions: self.instructions(),
            model: self.model(),
            auth: self.auth(),
            behaviour: AgentBehaviour {
                temperature: self.field(|g| f64::from(g.byte() % 8) / 4.0),
                max_turns: self.field(|g| 1 + i64::from(g.byte())),
                on_error: self.field(|g| g.pick(ErrorReaction::ALL)),
            },
            budget: RunBudget {
                trace: self.field(|g| g.byte().is_multiple_of(2)),
                cost_limit: self.field(|g| f64::from(g.byte()) / 4.0),
                step_limit: self.field(|g| 1 + i64::from(g.byte())),
                on_exceed: self.field(|g| g.pick(LimitReaction::ALL)),
            },
            requirements: AgentRequirements { env: self.list(Self::env), startup: None },
            policy: self.policy(),
            access_control: self.field(|g| {
                Data::Map(vec![
                    ("owner".to_owned(), Data::str(g.name())),
                    ("visibility".to_owned(), Data::str("private")),
                ])
            }),
            skills: self.list(|g| SkillRef {
                name: g.name(),
                optional: false,
                options: Vec::new(),
            }),
            skill_packs: self.many(Self::skill_pack),
            tools: self.tools(),
            memory: AgentMemory {
                working: self.field(|g| g.pick(WorkingMemory::ALL)),
                long_term: self.field(|g| g.pick(LongTermMemory::ALL)),
                shared: self.field(|g| g.byte().is_multiple_of(2)),
            },
            memories: self.many(Self::memory_file),
            expose: self.list(|g| ExposedFunction {
                name: Some(at(g.name())),
                description: g.field(Self::line),
                input: g.many(|g| (g.name(), at("str".to_owned()))),
                output: g.field(|_| "Report".to_owned()),
            }),
            agents: self.list(|g| AgentRef {
                name: g.name(),
                reference: Some(at(format!("./{}.agent", g.name()))),
                role: g.field(|g| g.pick(AgentRole::ALL)),
            }),
            pipeline: None::<Vec<Spanned<PipelineStage>>>,
            schedules: self.many(Self::schedule),
            settings: Vec::new(),
            extensions: self.many(|g| (format!("x-{}", g.name()), at(g.data()))),
            unknown: Vec::new(),
        }
    }

    fn identity(&mut self) -> AgentIdentity {
        AgentIdentity {
            name: Some(at(self.name())),
            display_name: self.field(Self::line),
            description: self.field(Self::line),
            version: self.field(|g| format!("{}.{}.0", g.byte(), g.byte())),
            category: self.field(|g| g.pick(WORDS).to_owned()),
            author: self.field(Self::line),
            license: self.field(|_| "MIT".to_owned()),
            tags: self.list(Self::line),
            icon: self.field(|g| g.pick(&["🤖", "🧭", "👩‍🔬", "🇩🇪"]).to_owned()),
            avatar: self.field(|g| format!("images/{}.png", g.name())),
            status: self.field(|g| g.pick(AgentStatus::ALL)),
            mode: self.field(|g| g.pick(AgentMode::ALL)),
            role: self.field(Self::line),
            greeting: self.field(Self::line),
            risk_level: self.field(|g| g.pick(RiskLevel::ALL)),
        }
    }

    fn inheritance(&mut self) -> Inheritance {
        let base = self.field(|g| format!("./{}.agent", g.name()));
        if base.is_none() {
            return Inheritance::default();
        }
        let merge = MergeModes {
            skills: self.field(|g| g.pick(ListMerge::ALL)),
            tools: self.field(|g| g.pick(ListMerge::ALL)),
            behavior: self.field(|g| g.pick(TextMerge::ALL)),
            trust: self.field(|_| "restrict".to_owned()),
        };
        Inheritance { base, merge }
    }

    fn instructions(&mut self) -> AgentInstructions {
        AgentInstructions {
            system: self.field(Self::text),
            rules: self.field(Self::text),
            base_rules: Vec::new(),
            system_override: self.field(Self::text),
            traits: self.list(Self::line),
            // A line that is a heading would start its own section.
            notes: self.field(|g| format!("## {}\n\n.{}", g.name(), g.line())),
            context: self.list(|g| format!("{}.md", g.name())),
            rule_files: self.list(|g| format!("languages/{}", g.name())),
        }
    }

    fn model(&mut self) -> ModelChoice {
        ModelChoice {
            capability: self.field(|g| g.pick(ModelTier::ALL)),
            preferred: self.list(|g| format!("claude/{}", g.name())),
            fallback: self.field(|g| g.pick(ModelTier::WORDS).to_owned()),
            context: self.field(|g| g.pick(&["full", "128k", "32k", "8k"]).to_owned()),
            capabilities: self.list(Self::line),
        }
    }

    fn auth(&mut self) -> ProviderAuth {
        let providers =
            (self.byte() % 2 == 1).then(|| vec![(self.name(), at(format!("env.{}", self.env())))]);
        ProviderAuth { strategy: self.field(|g| g.pick(AuthStrategy::ALL)), providers }
    }

    /// At most one layer: what a file of one format can express.
    fn policy(&mut self) -> Policy {
        let mut policy = Policy::default();
        match self.below(6) {
            0 => policy.permissions = Some(self.permissions()),
            1 => policy.trust = Some(self.trust()),
            2 => policy.abilities = Some(self.abilities()),
            3 => {
                policy.tool_permissions = Some(ToolPermissions {
                    allowed: Some(vec![at("Read".to_owned()), at(self.name())]),
                    denied: self.list(Self::name),
                });
            }
            _ => {}
        }
        policy.tests = self.many(|g| {
            let subject = format!("{} 'a: b' \"c\"", g.name());
            let (section, expected) = (g.pick(Section::ALL), g.pick(ExpectedVerdict::ALL));
            at(PolicyTest { section, subject, expected })
        });
        policy.tests.sort_by_key(|test| (test.section, test.expected));
        policy
    }

    fn permissions(&mut self) -> Permissions {
        let start = self.below(6);
        let sections = Section::ALL.iter().skip(start).take(1 + self.below(4));
        let sections = sections.copied().collect::<Vec<_>>();
        let sections = sections.into_iter().map(|section| SectionRules {
            section: at(section),
            intent: Some(at(self.pick(Action::ALL))),
            rules: self.many(|g| {
                at(PatternRule { pattern: format!("{} *", g.name()), action: g.pick(Action::ALL) })
            }),
        });
        Permissions { sections: sections.collect() }
    }

    fn trust(&mut self) -> Trust {
        let filesystem = self.pick(FilesystemTrust::ALL);
        let network = self.pick(NetworkTrust::ALL);
        let scope =
            (filesystem == FilesystemTrust::Scoped).then(|| vec![at(format!("./{}", self.name()))]);
        let hosts = (network == NetworkTrust::Scoped).then(|| vec![at("example.org".to_owned())]);
        Trust {
            filesystem: Some(at(filesystem)),
            network: Some(at(network)),
            exec: Some(at(self.pick(ExecTrust::ALL))),
            scope,
            hosts,
        }
    }

    fn abilities(&mut self) -> Abilities {
        let ability = |text: &str| at(text.parse::<Ability>().expect("an ability"));
        let allow = self.pick(&[&["fs", "sh:git"][..], &["network"], &["sh", "tool", "env"]]);
        let deny = self.pick(&[&["mcp"][..], &["sh:rm"], &[]]);
        let deny: Vec<_> = deny.iter().map(|text| ability(text)).collect();
        Abilities {
            allow: Some(allow.iter().map(|text| ability(text)).collect()),
            deny: (!deny.is_empty()).then_some(deny),
        }
    }

    fn skill_pack(&mut self) -> SkillPack {
        let (name, description) = (self.name(), self.pick(WORDS));
        let text = format!(
            "---\nname: {name}\ndescription: Does {description}\n---\n\n# Steps\n\nDo it.\n"
        );
        SkillPack {
            path: format!("{name}/SKILL.md"),
            name: Some(at(name)),
            description: Some(at(format!("Does {description}"))),
            text: Some(at(text)),
            ..SkillPack::default()
        }
    }

    fn tools(&mut self) -> AgentTools {
        AgentTools {
            native: self.list(|g| g.pick(&["bash", "browser"]).to_owned()),
            mcp: (self.byte() % 2 == 1)
                .then(|| (0..=self.below(2)).map(|_| at(self.server())).collect()),
            scripts: self.many(|g| at(g.script())),
            functions: Vec::<Spanned<JavaScriptFunction>>::new(),
            source: Vec::new(),
        }
    }

    fn server(&mut self) -> McpServer {
        let stdio = self.byte().is_multiple_of(2);
        McpServer {
            name: self.name(),
            transport: Some(at(if stdio {
                McpTransport::Stdio
            } else {
                McpTransport::StreamableHttp
            })),
            command: stdio.then(|| at("server".to_owned())),
            args: if stdio { self.list(|g| format!("--{}", g.name())) } else { None },
            url: (!stdio).then(|| at("https://mcp.example.org/x".to_owned())),
            headers: if stdio { Vec::new() } else { self.pairs() },
            env: if stdio { self.pairs() } else { Vec::new() },
            enabled: self.field(|g| g.byte().is_multiple_of(2)),
            timeout: self.field(|g| 1 + i64::from(g.byte())),
            options: Vec::new(),
        }
    }

    fn script(&mut self) -> ScriptTool {
        let name = self.name();
        ScriptTool {
            path: Some(at(format!("scripts/{name}.js"))),
            name: Some(at(name)),
            description: Some(at(self.line())),
            allowed_tools: self.list(|g| g.pick(&["read", "grep"]).to_owned()),
            limits: ScriptLimits {
                timeout_ms: self.field(|g| 1 + i64::from(g.byte())),
                max_tool_calls: self.field(|g| 1 + i64::from(g.byte())),
                max_output_bytes: self.field(|g| 1 + i64::from(g.byte())),
            },
            inputs: None,
            source: Some(at("async function run(ctx, inputs) {\n  return inputs;\n}\n".to_owned())),
            ..ScriptTool::default()
        }
    }

    fn memory_file(&mut self) -> MemoryFile {
        MemoryFile {
            path: format!("{}.md", self.name()),
            kind: self.field(|_| "fact".to_owned()),
            importance: self.field(|g| g.pick(MemoryImportance::ALL)),
            created: self.field(|_| "2026-01-15T10:30:00Z".to_owned()),
            source: self.field(|_| "user_teaching".to_owned()),
            pinned: self.field(|_| true),
            text: Some(at(self.text())),
        }
    }

    fn schedule(&mut self) -> Schedule {
        Schedule {
            name: Some(at(self.name())),
            cron: Some(at(self.pick(&["0 9 * * *", "@daily", "30 4 1 * *"]).to_owned())),
            enabled: self.field(|g| g.byte().is_multiple_of(2)),
            timezone: self.field(|_| "Europe/Berlin".to_owned()),
            overlap: self.field(|g| g.pick(OverlapPolicy::ALL)),
            misfire: self.field(|g| g.pick(MisfirePolicy::ALL)),
            jitter: self.field(|_| "30s".to_owned()),
            prompt: Some(at(self.text())),
        }
    }
}

/// An agent with every field set but its policy, for the support matrix.
pub(crate) fn full_agent() -> Agent {
    let ones = [1_u8; 4096];
    let mut agent = Gen::new(&ones).agent();
    agent.policy = Policy::default();
    let call = agent
        .agents
        .as_ref()
        .and_then(|agents| agents.first())
        .map(|first| format!("{}.do", first.name));
    agent.pipeline =
        Some(vec![at(PipelineStage { call: call.map(at), output: Some(at("draft".to_owned())) })]);
    agent
}

/// Fields that a generated agent never has, because only files of one format can have them.
pub(crate) fn particulars() -> Vec<(&'static str, Agent)> {
    const CODE: &str = "const scheme = {\n  name: \"greet\",\n  description: \"Greets.\",\n  \
        parameters: { type: \"object\", properties: {} },\n};\n\
        return { greet: { fn: () => \"hello\", scheme } };\n";
    let with = |change: fn(&mut Agent)| {
        let mut agent = full_agent();
        agent.tools.functions = vec![at(JavaScriptFunction {
            name: "greet".to_owned(),
            description: Some(at("Greets.".to_owned())),
            parameters: Some(at(Data::Map(vec![
                ("type".to_owned(), Data::str("object")),
                ("properties".to_owned(), Data::Map(Vec::new())),
            ]))),
        })];
        agent.tools.source = vec![at(CODE.to_owned())];
        change(&mut agent);
        agent
    };
    let team = |agent: &mut Agent| {
        agent.unknown.push(("team".to_owned(), at(Data::str("support"))));
    };
    vec![
        (
            "required.startup",
            with(|agent| agent.requirements.startup = Some(at("greet".to_owned()))),
        ),
        ("tools.functions", with(|_| ())),
        ("tools.source", with(|_| ())),
        ("unknown", with(team)),
    ]
}

/// A setting that only `format` has, or one of another format.
pub(crate) fn with_setting(format: Format) -> Agent {
    let flag = |name: &str| Data::Map(vec![(name.to_owned(), Data::Bool(true))]);
    let (name, value) = match format {
        Format::AgentFs => ("env", flag("includeOs")),
        _ => ("queue", flag("enable_dlq")),
    };
    Agent { settings: vec![(name.to_owned(), at(value))], ..full_agent() }
}

/// Each way to write a policy, with the name of its field.
pub(crate) fn policies() -> [(&'static str, Policy); 4] {
    let ones = [1_u8; 64];
    let tools = ToolPermissions {
        allowed: Some(vec![at("Read".to_owned())]),
        denied: Some(vec![at("Bash".to_owned())]),
    };
    [
        (
            "permissions",
            Policy { permissions: Some(Gen::new(&ones).permissions()), ..Policy::default() },
        ),
        ("trust", Policy { trust: Some(Gen::new(&ones).trust()), ..Policy::default() }),
        ("abilities", Policy { abilities: Some(Gen::new(&ones).abilities()), ..Policy::default() }),
        ("tool_permissions", Policy { tool_permissions: Some(tools), ..Policy::default() }),
    ]
}
