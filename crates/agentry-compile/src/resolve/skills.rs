//! Resolves the skills of an agent. A skill is a pack (`SKILL.md`) of the agent, the workspace or the home
//! directory. An abstract skill such as `web-search` is provided by a built-in tool or an MCP server.
//!
//! The nearest wins: packs of the agent and the workspace, then tools, then packs of the home directory.

use agentry_model::{Agent, McpServer, SkillRef};
use agentry_text::{Diagnostic, Findings, Severity, SourceFiles, Span, Spanned};

use super::packs::{self, InstalledSkill};
use super::rules::UNRESOLVED_SKILL;
use super::tools::{self, AllowedTools, ToolKind};
use crate::pipeline::CompiledAgent;
use crate::world::World;

/// Abstract skills: what provides each, and words in the names of MCP servers that do.
const ABSTRACT: &[(&str, SkillSubstitute, &[&str])] = &[
    (
        "web-search",
        SkillSubstitute::Search,
        &["brave", "serper", "tavily", "exa", "duckduckgo", "searxng"],
    ),
    ("code-execution", SkillSubstitute::Tool("bash"), &["python", "repl"]),
    ("file-read", SkillSubstitute::Tool("read"), &["filesystem"]),
    ("file-write", SkillSubstitute::Tool("write"), &["filesystem"]),
    ("cite-sources", SkillSubstitute::Server, &["zotero", "arxiv", "scholar"]),
    ("data-analysis", SkillSubstitute::Tool("bash"), &["python", "repl", "jupyter"]),
    ("browser", SkillSubstitute::Server, &["playwright", "puppeteer", "browser"]),
    ("git", SkillSubstitute::Tool("bash"), &["git"]),
    ("github", SkillSubstitute::Server, &["github"]),
    ("image-gen", SkillSubstitute::Server, &["dalle", "stability"]),
    ("summarize", SkillSubstitute::Model, &[]),
    ("noether-compose", SkillSubstitute::Server, &["noether"]),
    ("noether-run", SkillSubstitute::Server, &["noether"]),
    ("noether-search", SkillSubstitute::Server, &["noether"]),
    ("noether-serve", SkillSubstitute::Server, &["noether"]),
];

/// What provides an abstract skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SkillSubstitute {
    /// A built-in tool.
    Tool(&'static str),
    /// The built-in tool `websearch`, if a search service is configured, else an MCP server.
    Search,
    /// The model itself.
    Model,
    /// Only an MCP server.
    Server,
}

/// The variables that configure the search service of the tool `websearch`.
pub const SEARCH_VARIABLES: [&str; 3] = ["SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY"];

/// A skill that an agent names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSkill {
    /// Its name.
    pub name: String,
    /// Whether the agent also works without it.
    pub optional: bool,
    /// Where the agent names it.
    pub span: Span,
    /// What it resolves to.
    pub found: SkillResolution,
    /// The policy text that denies every call of its tool, if the agent's policy does.
    pub denied: Option<String>,
}

/// What a skill resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillResolution {
    /// A pack, by the path of its file.
    Pack(String),
    /// A built-in tool.
    Native(&'static str),
    /// An MCP server.
    Mcp(String),
    /// The language model itself.
    Model,
    /// Nothing, with what was searched for.
    Missing(String),
}

impl PlannedSkill {
    /// The error for a required skill that nothing provides.
    pub(super) fn problem(&self) -> Option<Diagnostic> {
        let SkillResolution::Missing(why) = &self.found else { return None };
        if self.optional {
            return None;
        }
        let message = format!("nothing provides the skill `{}`: {why}", self.name);
        let mut found = Diagnostic::new(&UNRESOLVED_SKILL, self.span, message);
        found.severity = Severity::Error;
        found.hint("add what is missing, or mark the skill `optional: true`");
        Some(found)
    }
}

/// A search for skills.
pub(super) struct SkillSearch<'a> {
    pub(super) world: &'a dyn World,
    pub(super) compiled: &'a CompiledAgent,
    pub(super) agent: &'a Agent,
    /// The servers of the user.
    pub(super) servers: &'a [McpServer],
    /// The pack files that were read.
    pub(super) sources: SourceFiles,
    /// Findings about the pack files.
    pub(super) findings: Findings,
    /// Packs that were found, except the agent's own.
    pub(super) packs: Vec<InstalledSkill>,
}

impl<'a> SkillSearch<'a> {
    pub(super) fn new(
        world: &'a dyn World,
        compiled: &'a CompiledAgent,
        agent: &'a Agent,
        servers: &'a [McpServer],
    ) -> Self {
        let (sources, findings) = (SourceFiles::default(), Findings::default());
        Self { world, compiled, agent, servers, sources, findings, packs: Vec::new() }
    }

    /// The skills of the agent, each with what it resolves to.
    pub(super) fn all(&mut self) -> Vec<PlannedSkill> {
        let agent = self.agent;
        let skill = |skill: &Spanned<SkillRef>| PlannedSkill {
            name: skill.name.clone(),
            optional: skill.optional,
            span: skill.span,
            found: self.find(&skill.name),
            denied: None,
        };
        let mut skills: Vec<_> = agent.skills.iter().flatten().map(skill).collect();
        let is_tool = |found: &SkillResolution| {
            matches!(found, SkillResolution::Native(_) | SkillResolution::Mcp(_))
        };
        // The layers are built only if a skill needs them.
        if skills.iter().any(|skill| is_tool(&skill.found)) {
            let allowed = AllowedTools::new(agent, &self.compiled.dir);
            for skill in &mut skills {
                skill.denied = match &skill.found {
                    SkillResolution::Native(tool) => allowed.denied(ToolKind::Native, tool),
                    SkillResolution::Mcp(server) => allowed.denied(ToolKind::Mcp, server),
                    _ => None,
                };
            }
        }
        skills
    }

    fn find(&mut self, name: &str) -> SkillResolution {
        let mut own = packs::own(self.compiled, self.agent);
        if let Some((_, pack)) = own.find(|(own, _)| *own == name) {
            return SkillResolution::Pack(pack.shown);
        }
        // An unusable pack is found too: it must not be replaced by a tool of the same name.
        if let Some(found) = self.pack(name, packs::near(self.world, self.compiled)) {
            return found;
        }
        let known = ABSTRACT.iter().find(|(skill, ..)| is_same(skill, name));
        let tool = known.and_then(|(_, stands, words)| self.tool(*stands, words));
        // A tool may be named as itself. The search tool exists only with a search service.
        let named = || tools::native(name).filter(|tool| *tool != "websearch");
        let tool = tool.or_else(|| named().map(SkillResolution::Native));
        if let Some(found) = tool.or_else(|| self.pack(name, packs::home(self.world))) {
            return found;
        }
        SkillResolution::Missing(match known {
            Some((_, SkillSubstitute::Search, words)) => {
                let [one, two, three] = SEARCH_VARIABLES;
                let words = words.join(", ");
                format!(
                    "`websearch` needs `{one}`, `{two}` or `{three}`; an MCP server would do as well \
                     ({words})"
                )
            }
            Some((_, _, words)) => {
                format!("no built-in tool does it; an MCP server would ({})", words.join(", "))
            }
            None => format!("there is no `skills/{name}/SKILL.md`, and no tool of this name"),
        })
    }

    /// The pack of this name in the first folder that has one. A pack that violates the standard is not used,
    /// and no other one replaces it.
    fn pack(&mut self, name: &str, places: Vec<packs::SkillFolder>) -> Option<SkillResolution> {
        let pack = places.into_iter().find_map(|place| packs::at(self.world, place, name))?;
        let wrong = packs::wrong(self.world, &pack, &mut self.sources, &mut self.findings);
        if let Some(why) = wrong {
            return Some(SkillResolution::Missing(format!(
                "`{}` cannot be used: {why}",
                pack.shown
            )));
        }
        let shown = pack.shown.clone();
        self.packs.push(pack);
        Some(SkillResolution::Pack(shown))
    }

    fn tool(&self, stands: SkillSubstitute, words: &[&str]) -> Option<SkillResolution> {
        match stands {
            SkillSubstitute::Tool(tool) => return Some(SkillResolution::Native(tool)),
            SkillSubstitute::Search => {
                let services = self.world.services();
                if SEARCH_VARIABLES.iter().any(|name| services.has_env(name)) {
                    return Some(SkillResolution::Native("websearch"));
                }
            }
            SkillSubstitute::Model => return Some(SkillResolution::Model),
            SkillSubstitute::Server => {}
        }
        // The agent's servers come before those of the user.
        let own = self.agent.tools.mcp.iter().flatten().map(|server| &server.value);
        let on = |server: &&McpServer| server.enabled.is_none_or(|on| on.value);
        let mut servers = own.chain(self.servers).filter(on);
        let server = servers.find(|server| is_named(&server.name, words))?;
        Some(SkillResolution::Mcp(server.name.clone()))
    }
}

/// Whether two names of a skill differ only in case and separators: `web-search`, `web_search`, `WebSearch`.
fn is_same(skill: &str, name: &str) -> bool {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
        letters.map(|c| c.to_ascii_lowercase()).collect()
    };
    skill == name || plain(skill) == plain(name)
}

/// Whether the name of a server has one of these words: `mcp-brave_search` has `brave`.
fn is_named(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| words.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_match_by_a_word_of_their_name() {
        let cases = [
            ("brave", true),
            ("brave-mcp", true),
            ("mcp_Brave.search", true),
            ("bravery", false),
            ("", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_named(name, &["brave"]), expected, "{name}");
        }
    }

    #[test]
    fn skill_names_match_in_any_spelling() {
        let cases = [
            ("web-search", true),
            ("websearch", true),
            ("web_search", true),
            ("WebSearch", true),
            ("web search", true),
            ("web-searches", false),
            ("web.search", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_same("web-search", name), expected, "{name}");
        }
    }

    #[test]
    fn substitute_tools_of_abstract_skills_exist() {
        for (skill, stands, words) in ABSTRACT {
            if let SkillSubstitute::Tool(tool) = stands {
                assert_eq!(super::super::tools::native(tool), Some(*tool), "{skill}");
            }
            assert_eq!(words.is_empty(), *stands == SkillSubstitute::Model, "{skill}");
        }
    }
}
