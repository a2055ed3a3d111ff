//! Writes an agent directory: the role, and a file for each part that the format can express.

use agentry_model::{
    Agent, AgentIdentity, AgentInstructions, ConversionLoss, ConversionLossKind, Schedule,
    SkillPack,
};
use agentry_model::{AgentTools, McpServer, ScriptLimits, ScriptTool, slug};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{Permissions, Policy, to_permissions};
use agentry_text::data::MapBuilder;
use agentry_text::table::{Coercion, is_extension, validate};
use agentry_text::{Data, FileId, Findings, Span, Spanned, TreeNode, acl, path};

use super::RULES_MARK;
use super::acl::{FILE, OWN_BLOCK, without_calls};
use super::acl_fields::{ACL, LABELLED};
use super::fields::MCP_TOOL;
use super::read::INSTRUCTIONS;
use super::tools::path_problem;
use crate::skill::{self, SkillDialect};
use crate::{WriteTarget, WrittenFiles, agentry_block, front_matter, mcp, policy_tests};

/// Writes `agent`, as far as the format can express it.
pub(super) fn write(agent: &Agent, target: &WriteTarget) -> WrittenFiles {
    // No `..`: a new field of the model must be considered here. The format has no field for those with `_`;
    // reading the result again shows that they are lost.
    let Agent {
        identity,
        inheritance: _,
        instructions,
        model,
        auth: _,
        behaviour,
        budget: _,
        requirements: _,
        policy,
        access_control: _,
        skills: _,
        skill_packs,
        tools,
        memory: _,
        memories: _,
        expose: _,
        agents: _,
        pipeline: _,
        schedules,
        // The `AgentDirWriter` writes these.
        settings: _,
        extensions: _,
        unknown: _,
    } = agent;
    let mut out = AgentDirWriter { files: Vec::new(), notes: Vec::new(), agent };
    out.instructions(identity, instructions);
    let rules = out.policy(policy, target);
    let model = model.preferred.as_ref().and_then(|models| models.first());
    let mut head = MapBuilder::new();
    head.str_opt("default_model", model.map(|model| &model.value));
    head.set_opt(
        "max_tool_rounds",
        behaviour.max_turns.as_ref().map(|turns| Data::Int(turns.value)),
    );
    head.set_opt("policy_tests", policy_tests::to_data(&policy.tests));
    // An empty list of servers differs from no list, and no tool file would show it.
    if tools.mcp.as_ref().is_some_and(Vec::is_empty) {
        head.set("mcp_servers", Data::Map(Vec::new()));
    }
    out.acl(&head.build(), rules.as_ref());
    skill_packs.iter().for_each(|pack| out.skill(pack));
    schedules.iter().for_each(|schedule| out.schedule(schedule));
    out.tools(tools);
    WrittenFiles { files: out.files, notes: out.notes }
}

struct AgentDirWriter<'a> {
    files: Vec<(String, String)>,
    notes: Vec<ConversionLoss>,
    agent: &'a Agent,
}

impl AgentDirWriter<'_> {
    fn instructions(&mut self, identity: &AgentIdentity, instructions: &AgentInstructions) {
        let AgentInstructions {
            system,
            rules,
            // They are in the system text.
            system_override: _,
            traits: _,
            // The format has no fields for these.
            notes: _,
            context: _,
            rule_files: _,
            base_rules: _,
        } = instructions;
        let mut text = match system {
            Some(system) => system.trim().to_owned(),
            None if rules.is_some() => String::new(),
            None => Self::made_up(identity),
        };
        if let Some(rules) = rules {
            // A text that already contains the mark would be split in the wrong place.
            let clash = [&text, &rules.value].iter().any(|text| text.contains(RULES_MARK));
            let heading = if clash { "## Rules" } else { RULES_MARK };
            text = format!("{text}\n\n{heading}\n\n{}", rules.trim());
        }
        self.files.push((INSTRUCTIONS.to_owned(), format!("{}\n", text.trim())));
    }

    /// Returns a role for an agent that has none, because the format requires one.
    fn made_up(identity: &AgentIdentity) -> String {
        let AgentIdentity {
            name,
            display_name,
            description,
            // The format has no fields for these.
            version: _,
            icon: _,
            avatar: _,
            category: _,
            author: _,
            license: _,
            tags: _,
            status: _,
            mode: _,
            role: _,
            greeting: _,
            risk_level: _,
        } = identity;
        match (description, display_name.as_ref().or(name.as_ref())) {
            (Some(description), _) => description.trim().to_owned(),
            (None, Some(name)) => format!("You are {}.", name.trim()),
            (None, None) => "You are a helpful agent.".to_owned(),
        }
    }

    /// Returns the rules for the `x_agentry` block, never wider: the format itself has no permissions.
    fn policy(&mut self, policy: &Policy, target: &WriteTarget) -> Option<Permissions> {
        let Policy { permissions, trust, abilities, tool_permissions, bases: _, tests: _ } = policy;
        let layers = [
            ("permissions", permissions.is_some()),
            ("trust", trust.is_some()),
            ("abilities", abilities.is_some()),
            ("tool_permissions", tool_permissions.is_some()),
        ];
        let written: Vec<_> = layers.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        let kind = if written.len() > 1 {
            ConversionLossKind::Narrowed
        } else {
            ConversionLossKind::Changed
        };
        for name in &written {
            let detail = "kept in `x_agentry` of `agent.acl`, which only Agentry reads";
            self.note(name, kind, detail);
        }
        to_permissions(&PolicyMemo::default(), policy, &target.place)
    }

    fn acl(&mut self, head: &Data, rules: Option<&Permissions>) {
        let agent = self.agent;
        let setting = |name: &str| agent.setting(name).filter(|data| fits(name, data));
        let value = |name: &str| head.get(name).or_else(|| setting(name));
        // Values before blocks, as is usual in such files.
        let values = ACL.fields.iter().filter_map(|field| Some((field.name, value(field.name)?)));
        let is_block = |(_, data): &(&str, &Data)| matches!(data, Data::Map(_));
        let (blocks, lines): (Vec<_>, Vec<_>) = values.partition(is_block);
        let mut out = MapBuilder::new();
        for (name, value) in lines.into_iter().chain(blocks) {
            out.set(name, value.clone());
        }
        for (name, data) in agent.extensions.iter().filter(|(name, _)| is_plain_extension(name)) {
            out.set(name, data.value.clone());
        }
        if let Some(block) = self.own_block(rules) {
            out.set(OWN_BLOCK, block);
        }
        if !out.is_empty() {
            self.files.push((FILE.to_owned(), acl::emit(&out.build(), LABELLED)));
        }
    }

    /// Returns the block that only Agentry reads: the rules, and values that a conversion keeps there.
    fn own_block(&self, rules: Option<&Permissions>) -> Option<Data> {
        let kept =
            self.agent.extension(agentry_block::KEY).cloned().unwrap_or(Data::Map(Vec::new()));
        let rules = agentry_block::AgentryBlock {
            permissions: rules.cloned(),
            ..agentry_block::AgentryBlock::default()
        };
        let block = agentry_block::merged(&kept, &rules);
        (!block.is_empty()).then_some(block)
    }

    fn skill(&mut self, pack: &SkillPack) {
        if path::is_plain(&pack.path) && pack.path.strip_suffix(".md").is_some() {
            self.add(&format!("skills/{}", pack.path), skill::write(pack, SkillDialect::AgentDir));
        }
    }

    fn schedule(&mut self, schedule: &Schedule) {
        let Schedule { name, cron, enabled, timezone, overlap, misfire, jitter, prompt } = schedule;
        let name = name.as_ref().map_or("", |name| name.value.as_str());
        let stem = self.stem("schedules", name, "schedule");
        let mut out = MapBuilder::new();
        out.str_opt("name", (!name.is_empty() && stem != name).then_some(name));
        out.str_opt("cron", cron.as_ref().map(|cron| &cron.value));
        out.set_opt("enabled", enabled.as_ref().map(|enabled| Data::Bool(enabled.value)));
        out.str_opt("timezone", timezone.as_ref().map(|zone| &zone.value));
        out.str_opt("overlap", overlap.as_ref().map(|word| word.as_str()));
        out.str_opt("misfire", misfire.as_ref().map(|word| word.as_str()));
        out.str_opt("jitter", jitter.as_ref().map(|jitter| &jitter.value));
        self.extras(&format!("schedules.{name}"), &mut out);
        let prompt = prompt.as_ref().map_or("", |prompt| prompt.value.trim());
        self.add(&format!("schedules/{stem}.md"), front_matter::write(&out.build(), prompt));
    }

    fn tools(&mut self, tools: &AgentTools) {
        let AgentTools { native: _, mcp, scripts, functions: _, source: _ } = tools;
        mcp.iter().flatten().for_each(|server| self.server(server));
        scripts.iter().for_each(|script| self.script(script));
    }

    /// Writes a server. One that is only a name is left out, because it could not be started.
    fn server(&mut self, server: &McpServer) {
        if server.command.is_none() && server.url.is_none() {
            return;
        }
        let stem = self.stem("tools", &server.name, "server");
        let mut out = MapBuilder::new();
        out.set("kind", Data::str("mcp"));
        out.str_opt("name", (stem != server.name).then_some(&server.name));
        let options = server
            .options
            .iter()
            .filter(|(key, _)| MCP_TOOL.field(key).is_none_or(|field| field.name == "oauth"));
        let server = McpServer { options: options.cloned().collect(), ..server.clone() };
        if let Data::Map(fields) = mcp::to_data(&server).build() {
            for (key, value) in fields {
                out.set(key, value);
            }
        }
        self.add(&format!("tools/{stem}.md"), front_matter::write(&out.build(), ""));
    }

    fn script(&mut self, script: &ScriptTool) {
        let ScriptTool {
            name,
            description,
            path,
            allowed_tools,
            limits,
            inputs,
            source,
            modules,
            // The loss report names these: the format has no such fields.
            runtime: _,
            executor: _,
            confirms: _,
            files: _,
        } = script;
        let Some(path) = path.as_ref().filter(|path| path_problem(path).is_none()) else { return };
        let name = name.as_ref().map_or("", |name| name.value.as_str());
        let stem = self.stem("tools", name, "script");
        let described = description.as_ref().map_or("", |text| text.value.trim());
        let (line, body) = if described.contains('\n') { ("", described) } else { (described, "") };
        let mut out = MapBuilder::new();
        out.set("kind", Data::str("script"));
        out.str_opt("name", (!name.is_empty() && stem != name).then_some(name));
        out.str_opt("description", (!line.is_empty()).then_some(line));
        out.set("path", Data::str(&path.value));
        let tools =
            |tools: &Vec<Spanned<String>>| Data::strings(tools.iter().map(|tool| &tool.value));
        out.set_opt("allowed_tools", allowed_tools.as_ref().map(tools));
        out.set_full("limits", limits_data(limits));
        out.set_opt("inputs", inputs.as_ref().map(|inputs| inputs.value.clone()));
        self.extras(&format!("tools.{name}"), &mut out);
        self.add(&format!("tools/{stem}.md"), front_matter::write(&out.build(), body));
        if let Some(source) = source {
            self.add(&path::shortest(path), source.value.clone());
        }
        for module in modules {
            // Two scripts may import the same file.
            if !self.files.iter().any(|(path, _)| *path == module.path) {
                self.add(&module.path, module.source.value.clone());
            }
        }
    }

    /// Adds the extensions of one file, which the model keeps under its path.
    fn extras(&self, path: &str, out: &mut MapBuilder) {
        let prefix = format!("{path}.");
        for (name, data) in &self.agent.extensions {
            if let Some(key) = name.strip_prefix(&prefix).filter(|key| is_extension(key)) {
                out.set(key, data.value.clone());
            }
        }
    }

    /// Returns a file name without ending that is still free in the folder.
    fn stem(&self, folder: &str, name: &str, fallback: &str) -> String {
        let slug = slug(name);
        let base = match slug.as_str() {
            "" | "readme" => fallback,
            _ if is_file_name(name) => name,
            slug => slug,
        };
        let taken = |stem: &str| {
            let path = format!("{folder}/{stem}.md");
            // Compared without case, because some file systems do so.
            self.files.iter().any(|(other, _)| other.eq_ignore_ascii_case(&path))
        };
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        std::iter::once(base.to_owned())
            .chain(numbered)
            .find(|stem| !taken(stem))
            .unwrap_or_default()
    }

    fn add(&mut self, path: &str, text: String) {
        if !self.files.iter().any(|(other, _)| other == path) {
            self.files.push((path.to_owned(), text));
        }
    }

    fn note(&mut self, field: &str, kind: ConversionLossKind, detail: &str) {
        self.notes.push(ConversionLoss {
            field: field.to_owned(),
            kind,
            detail: detail.to_owned(),
        });
    }
}

/// Whether a name can be used as a file name unchanged.
fn is_file_name(name: &str) -> bool {
    let sign = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    name.len() <= 64 && name.chars().all(sign)
}

/// Whether a setting is valid in this format; other formats have blocks of the same name.
fn fits(name: &str, data: &Data) -> bool {
    let document = Data::Map(vec![(name.to_owned(), data.clone())]);
    let node = TreeNode::from_data(&document, Span::start_of(FileId::BUILT_IN));
    let mut findings = Findings::default();
    validate(&ACL, &without_calls(&node), Coercion::Strict, &mut findings);
    findings.is_empty()
}

/// Whether the name of an extension is valid in `agent.acl`.
fn is_plain_extension(name: &str) -> bool {
    let sign = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    is_extension(name) && name.chars().all(sign) && !super::acl::is_own(name)
}

fn limits_data(limits: &ScriptLimits) -> Data {
    let ScriptLimits { timeout_ms, max_tool_calls, max_output_bytes } = limits;
    let mut out = MapBuilder::new();
    let int = |limit: &Option<Spanned<i64>>| limit.as_ref().map(|limit| Data::Int(limit.value));
    out.set_opt("timeoutMs", int(timeout_ms));
    out.set_opt("maxToolCalls", int(max_tool_calls));
    out.set_opt("maxOutputBytes", int(max_output_bytes));
    out.build()
}
