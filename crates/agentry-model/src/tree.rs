//! The agent as a tree with fixed field names: the canonical form, for output, digests and comparison.
//!
//! Every struct is destructured without `..`, so a new field does not compile until it is in the tree.
//! The losses of a conversion are the difference of two trees, so no field can be lost unnoticed.

use agentry_policy::{
    Abilities, ExpectedVerdict, Permissions, Policy, PolicyTest, Section, SectionRules,
    ToolPermissions, Trust,
};
use agentry_text::{Data, FileId, Span, Spanned, TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue};

use crate::{
    Agent, AgentBehaviour, AgentIdentity, AgentInstructions, AgentMemory, AgentRef,
    AgentRequirements, AgentTools, Declared, DeclaredList, ExposedFunction, Inheritance,
    JavaScriptFunction, McpServer, MemoryFile, MergeModes, ModelChoice, PipelineStage,
    ProviderAuth, RunBudget, Schedule, ScriptLimits, ScriptModule, ScriptTool, SkillPack, SkillRef,
    SkillStep,
};

/// Converts an agent to a tree of its declared values, each with its span.
pub fn tree(agent: &Agent) -> TreeNode {
    let Agent {
        identity,
        inheritance,
        instructions,
        model,
        auth,
        behaviour,
        budget,
        requirements,
        policy,
        access_control,
        skills,
        skill_packs,
        tools,
        memory,
        memories,
        expose,
        agents,
        pipeline,
        schedules,
        settings,
        extensions,
        unknown,
    } = agent;
    let mut out = EntryBuilder::default();
    out.identity(identity);
    out.inheritance(inheritance);
    out.instructions(instructions);
    out.block("model", |out| out.model(model));
    out.block("auth", |out| out.auth(auth));
    out.behaviour(behaviour);
    out.block("budget", |out| out.budget(budget));
    out.block("required", |out| out.requirements(requirements));
    out.policy(policy);
    out.data("access_control", access_control.as_ref());
    out.items("skills", skills.as_deref(), skill_ref);
    out.each("skill_packs", skill_packs, skill_pack);
    out.block("tools", |out| out.tools(tools));
    out.block("memory", |out| out.memory(memory));
    out.each("memories", memories, memory_file);
    out.items("expose", expose.as_deref(), exposed);
    out.agents(agents.as_deref());
    out.items("pipeline", pipeline.as_deref(), stage);
    out.each("schedules", schedules, schedule);
    out.named("settings", settings);
    out.named("extensions", extensions);
    out.named("unknown", unknown);
    out.build()
}

/// Collects the entries of one map.
#[derive(Default)]
struct EntryBuilder {
    entries: Vec<TreeEntry>,
}

impl EntryBuilder {
    fn identity(&mut self, identity: &AgentIdentity) {
        let AgentIdentity {
            name,
            display_name,
            description,
            version,
            category,
            author,
            license,
            tags,
            icon,
            avatar,
            status,
            mode,
            role,
            greeting,
            risk_level,
        } = identity;
        self.field("name", name);
        self.field("display_name", display_name);
        self.field("description", description);
        self.field("version", version);
        self.field("category", category);
        self.field("author", author);
        self.field("license", license);
        self.list("tags", tags);
        self.field("icon", icon);
        self.field("avatar", avatar);
        self.field("status", status);
        self.field("mode", mode);
        self.field("role", role);
        self.field("greeting", greeting);
        self.field("risk_level", risk_level);
    }

    fn inheritance(&mut self, Inheritance { base, merge }: &Inheritance) {
        let MergeModes { skills, tools, behavior, trust } = merge;
        self.field("base", base);
        self.block("merge", |out| {
            out.field("skills", skills);
            out.field("tools", tools);
            out.field("behavior", behavior);
            out.field("trust", trust);
        });
    }

    fn instructions(&mut self, instructions: &AgentInstructions) {
        let AgentInstructions {
            system,
            rules,
            base_rules,
            system_override,
            traits,
            notes,
            context,
            rule_files,
        } = instructions;
        self.field("system", system);
        if let Some(rules) = full(base_rules) {
            self.texts("base_rules", Some(rules));
        }
        self.field("rules", rules);
        self.field("system_override", system_override);
        self.list("traits", traits);
        self.field("notes", notes);
        self.list("context", context);
        self.list("rule_files", rule_files);
    }

    fn model(&mut self, model: &ModelChoice) {
        let ModelChoice { capability, preferred, fallback, context, capabilities } = model;
        self.field("capability", capability);
        self.list("preferred", preferred);
        self.field("fallback", fallback);
        self.field("context", context);
        self.list("capabilities", capabilities);
    }

    fn auth(&mut self, ProviderAuth { strategy, providers }: &ProviderAuth) {
        self.field("strategy", strategy);
        if let Some(providers) = providers {
            self.pairs("providers", providers);
        }
    }

    fn behaviour(&mut self, behaviour: &AgentBehaviour) {
        let AgentBehaviour { temperature, max_turns, on_error } = behaviour;
        self.field("temperature", temperature);
        self.field("max_turns", max_turns);
        self.field("on_error", on_error);
    }

    fn budget(&mut self, budget: &RunBudget) {
        let RunBudget { trace, cost_limit, step_limit, on_exceed } = budget;
        self.field("trace", trace);
        self.field("cost_limit", cost_limit);
        self.field("step_limit", step_limit);
        self.field("on_exceed", on_exceed);
    }

    fn requirements(&mut self, AgentRequirements { env, startup }: &AgentRequirements) {
        self.list("env", env);
        self.field("startup", startup);
    }

    fn policy(&mut self, policy: &Policy) {
        let Policy { permissions, trust, abilities, tool_permissions, bases, tests } = policy;
        if let Some(Permissions { sections }) = permissions {
            self.block("permissions", |out| sections.iter().for_each(|rules| out.section(rules)));
        }
        if let Some(Trust { filesystem, network, exec, scope, hosts }) = trust {
            self.block("trust", |out| {
                out.field("filesystem", filesystem);
                out.field("network", network);
                out.field("exec", exec);
                out.list("scope", scope);
                out.list("hosts", hosts);
            });
        }
        if let Some(Abilities { allow, deny }) = abilities {
            self.block("abilities", |out| {
                out.texts("allow", allow.as_deref());
                out.texts("deny", deny.as_deref());
            });
        }
        if let Some(ToolPermissions { allowed, denied }) = tool_permissions {
            self.block("tool_permissions", |out| {
                out.list("allowed", allowed);
                out.list("denied", denied);
            });
        }
        self.each("base_permissions", bases, |Permissions { sections }, out| {
            sections.iter().for_each(|rules| out.section(rules));
        });
        self.block("policy_tests", |out| out.tests(tests));
    }

    /// The test calls of a policy, by section and expected verdict.
    fn tests(&mut self, tests: &[Spanned<PolicyTest>]) {
        for section in Section::ALL {
            self.block(section.as_str(), |out| {
                for expected in ExpectedVerdict::ALL {
                    let calls: Vec<_> = tests
                        .iter()
                        .filter(|test| test.section == *section && test.expected == *expected)
                        .map(|test| Spanned::new(test.subject.clone(), test.span))
                        .collect();
                    out.list(expected.as_str(), &(!calls.is_empty()).then_some(calls));
                }
            });
        }
    }

    fn section(&mut self, SectionRules { section, intent, rules }: &SectionRules) {
        self.block(section.as_str(), |out| {
            out.field("intent", intent);
            if !rules.is_empty() {
                out.texts("rules", Some(rules));
            }
        });
    }

    fn tools(&mut self, tools: &AgentTools) {
        let AgentTools { native, mcp, scripts, functions, source } = tools;
        self.list("native", native);
        self.items("mcp", mcp.as_deref(), mcp_server);
        self.items("scripts", full(scripts), script);
        self.items("functions", full(functions), function);
        if let Some(source) = full(source) {
            self.texts("source", Some(source));
        }
    }

    fn memory(&mut self, AgentMemory { working, long_term, shared }: &AgentMemory) {
        self.field("working", working);
        self.field("long_term", long_term);
        self.field("shared", shared);
    }

    fn agents(&mut self, agents: Option<&[Spanned<AgentRef>]>) {
        let Some(agents) = agents else { return };
        self.block("agents", |out| {
            for agent in agents {
                let AgentRef { name, reference, role } = &agent.value;
                out.block_at(name, agent.span, |out| {
                    out.field("ref", reference);
                    out.field("role", role);
                });
            }
        });
    }

    fn field<T: Clone + Into<TreeValue>>(&mut self, key: &str, field: &Declared<T>) {
        if let Some(field) = field {
            self.push(key, TreeNode::new(field.value.clone().into(), field.span));
        }
    }

    fn list<T: Clone + Into<TreeValue>>(&mut self, key: &str, list: &DeclaredList<T>) {
        let node = |item: &Spanned<T>| TreeNode::new(item.value.clone().into(), item.span);
        if let Some(list) = list {
            self.push_list(key, list.iter().map(node).collect());
        }
    }

    /// A list of values that are written as text.
    fn texts<T: ToString>(&mut self, key: &str, list: Option<&[Spanned<T>]>) {
        let node =
            |item: &Spanned<T>| TreeNode::new(TreeValue::Str(item.value.to_string()), item.span);
        if let Some(list) = list {
            self.push_list(key, list.iter().map(node).collect());
        }
    }

    fn items<T>(
        &mut self,
        key: &str,
        list: Option<&[Spanned<T>]>,
        build: fn(&T, &mut EntryBuilder),
    ) {
        let Some(list) = list else { return };
        let node = |item: &Spanned<T>| {
            let mut out = EntryBuilder::default();
            build(&item.value, &mut out);
            TreeNode { span: item.span, ..out.build() }
        };
        self.push_list(key, list.iter().map(node).collect());
    }

    /// A list of values without spans, such as files; left out if it is empty.
    fn each<T>(&mut self, key: &str, list: &[T], build: fn(&T, &mut EntryBuilder)) {
        let node = |item: &T| {
            let mut out = EntryBuilder::default();
            build(item, &mut out);
            out.build()
        };
        if !list.is_empty() {
            self.push_list(key, list.iter().map(node).collect());
        }
    }

    fn pairs(&mut self, key: &str, pairs: &[(String, Spanned<String>)]) {
        self.block(key, |out| {
            for (name, text) in pairs {
                out.push(name, TreeNode::new(TreeValue::Str(text.value.clone()), text.span));
            }
        });
    }

    fn full_pairs(&mut self, key: &str, pairs: &[(String, Spanned<String>)]) {
        if !pairs.is_empty() {
            self.pairs(key, pairs);
        }
    }

    fn data(&mut self, key: &str, data: Option<&Spanned<Data>>) {
        if let Some(data) = data {
            self.push(key, TreeNode::from_data(&data.value, data.span));
        }
    }

    fn named(&mut self, key: &str, blocks: &[(String, Spanned<Data>)]) {
        if !blocks.is_empty() {
            self.block(key, |out| {
                blocks.iter().for_each(|(name, data)| out.data(name, Some(data)));
            });
        }
    }

    /// Settings of a definition that have no field in the model.
    fn options(&mut self, options: &[(String, Data)]) {
        let span = Span::start_of(FileId::BUILT_IN);
        if !options.is_empty() {
            self.push("options", TreeNode::from_data(&Data::Map(options.to_vec()), span));
        }
    }

    fn block(&mut self, key: &str, build: impl FnOnce(&mut EntryBuilder)) {
        let mut out = EntryBuilder::default();
        build(&mut out);
        if !out.entries.is_empty() {
            self.push(key, out.build());
        }
    }

    fn block_at(&mut self, key: &str, span: Span, build: impl FnOnce(&mut EntryBuilder)) {
        let mut out = EntryBuilder::default();
        build(&mut out);
        self.push(key, TreeNode { span, ..out.build() });
    }

    fn push_list(&mut self, key: &str, items: Vec<TreeNode>) {
        // A list has no span in the model, so that of its first item is used.
        let span = items.first().map_or(Span::start_of(FileId::BUILT_IN), |first| first.span);
        self.push(key, TreeNode::new(TreeValue::List(items), span));
    }

    fn push(&mut self, key: &str, value: TreeNode) {
        self.entries.push(TreeEntry { key: TreeKey::string(key, value.span), value });
    }

    fn build(self) -> TreeNode {
        let span = self.entries.first().map_or(Span::start_of(FileId::BUILT_IN), |e| e.value.span);
        TreeNode::new(TreeValue::Map(TreeMap::from(self.entries)), span)
    }
}

fn full<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

fn skill_ref(SkillRef { name, optional, options }: &SkillRef, out: &mut EntryBuilder) {
    let span = Span::start_of(FileId::BUILT_IN);
    out.push("name", TreeNode::new(TreeValue::Str(name.clone()), span));
    if *optional {
        out.push("optional", TreeNode::new(TreeValue::Bool(true), span));
    }
    out.options(options);
}

fn skill_pack(pack: &SkillPack, out: &mut EntryBuilder) {
    let SkillPack {
        path,
        name,
        display_name,
        description,
        version,
        risk_level,
        allowed_tools,
        steps,
        text,
    } = pack;
    out.push("path", TreeNode::new(TreeValue::Str(path.clone()), Span::start_of(FileId::BUILT_IN)));
    out.field("name", name);
    out.field("display_name", display_name);
    out.field("description", description);
    out.field("version", version);
    out.field("risk_level", risk_level);
    out.list("allowed_tools", allowed_tools);
    out.items("steps", full(steps), |SkillStep { title, kind }, out| {
        let span = Span::start_of(FileId::BUILT_IN);
        out.push("title", TreeNode::new(TreeValue::Str(title.clone()), span));
        out.push("kind", TreeNode::new((*kind).into(), span));
    });
    out.field("text", text);
}

fn mcp_server(server: &McpServer, out: &mut EntryBuilder) {
    let McpServer { name, transport, command, args, url, headers, env, enabled, timeout, options } =
        server;
    out.push("name", TreeNode::new(TreeValue::Str(name.clone()), Span::start_of(FileId::BUILT_IN)));
    out.field("transport", transport);
    out.field("command", command);
    out.list("args", args);
    out.field("url", url);
    out.full_pairs("headers", headers);
    out.full_pairs("env", env);
    out.field("enabled", enabled);
    out.field("timeout", timeout);
    out.options(options);
}

fn script(script: &ScriptTool, out: &mut EntryBuilder) {
    let ScriptTool {
        name,
        description,
        path,
        allowed_tools,
        limits,
        inputs,
        source,
        modules,
        runtime,
        executor,
        confirms,
        files,
    } = script;
    let ScriptLimits { timeout_ms, max_tool_calls, max_output_bytes } = limits;
    out.field("name", name);
    out.field("description", description);
    out.field("path", path);
    out.list("allowed_tools", allowed_tools);
    out.block("limits", |out| {
        out.field("timeout_ms", timeout_ms);
        out.field("max_tool_calls", max_tool_calls);
        out.field("max_output_bytes", max_output_bytes);
    });
    out.data("inputs", inputs.as_ref());
    out.field("source", source);
    out.block("modules", |out| {
        for ScriptModule { path, source } in modules {
            out.field(path, &Some(source.clone()));
        }
    });
    out.field("runtime", runtime);
    out.field("executor", executor);
    out.field("confirms", confirms);
    out.data("files", files.as_ref());
}

fn function(
    JavaScriptFunction { name, description, parameters }: &JavaScriptFunction,
    out: &mut EntryBuilder,
) {
    out.push("name", TreeNode::new(TreeValue::Str(name.clone()), Span::start_of(FileId::BUILT_IN)));
    out.field("description", description);
    out.data("parameters", parameters.as_ref());
}

fn memory_file(file: &MemoryFile, out: &mut EntryBuilder) {
    let MemoryFile { path, kind, importance, created, source, pinned, text } = file;
    out.push("path", TreeNode::new(TreeValue::Str(path.clone()), Span::start_of(FileId::BUILT_IN)));
    out.field("type", kind);
    out.field("importance", importance);
    out.field("created", created);
    out.field("source", source);
    out.field("pinned", pinned);
    out.field("text", text);
}

fn exposed(
    ExposedFunction { name, description, input, output }: &ExposedFunction,
    out: &mut EntryBuilder,
) {
    out.field("name", name);
    out.field("description", description);
    out.full_pairs("input", input);
    out.field("output", output);
}

fn stage(PipelineStage { call, output }: &PipelineStage, out: &mut EntryBuilder) {
    out.field("call", call);
    out.field("output", output);
}

fn schedule(schedule: &Schedule, out: &mut EntryBuilder) {
    let Schedule { name, cron, enabled, timezone, overlap, misfire, jitter, prompt } = schedule;
    out.field("name", name);
    out.field("cron", cron);
    out.field("enabled", enabled);
    out.field("timezone", timezone);
    out.field("overlap", overlap);
    out.field("misfire", misfire);
    out.field("jitter", jitter);
    out.field("prompt", prompt);
}
