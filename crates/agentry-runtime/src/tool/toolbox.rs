//! The tools that an agent has, and the checks before any of them runs.

use std::sync::{Arc, OnceLock};

use agentry_compile::model::Agent;
use agentry_compile::native_tool;
use agentry_compile::policy::{Action, Judge, PatternSubject, RuleList, Section};
use jsonschema::Validator;
use serde_json::Value;

use super::bash::BashTool;
use super::edit::EditTool;
use super::glob::GlobTool;
use super::grep::GrepTool;
use super::list::ListTool;
use super::patch::PatchTool;
use super::question::QuestionTool;
use super::read::ReadTool;
use super::todo::TodoTool;
use super::webfetch::WebfetchTool;
use super::websearch::{SearchClient, WebsearchTool};
use super::write::WriteTool;
use super::{BuiltInTool, CallLocation, ToolSpec, ToolTouch, output_cap};
use crate::event::CallClass;
use crate::skill::SkillShelf;

/// The tools of one run.
#[derive(Default)]
pub struct Toolbox {
    tools: Vec<OfferedTool>,
}

struct OfferedTool {
    spec: ToolSpec,
    tool: Arc<dyn BuiltInTool>,
    /// Created with the first call of the tool.
    validator: OnceLock<Result<Validator, String>>,
}

/// What decides about tools beside the agent.
#[derive(Debug, Default)]
pub struct ToolExtras {
    /// Whether a user is present.
    pub person: bool,
    /// The user's search service, if there is one.
    pub search: Option<SearchClient>,
    /// The names of the tools that the agent's skills need, in addition to those that it names.
    pub skills: Vec<String>,
}

impl Toolbox {
    /// Returns the tools of an agent: those that its definition names, or all; without those whose every
    /// call the policy denies. `agent` must have its defaults.
    pub fn of(agent: &Agent, judge: &Judge, extras: ToolExtras) -> Self {
        let skills = extras.skills.clone();
        let named: Option<Vec<&str>> = agent.tools.native.as_ref().map(|names| {
            let names = names.iter().map(|name| &name.value).chain(&skills);
            names.filter_map(|name| native_tool(name)).collect()
        });
        let mut toolbox = Self::default();
        for (section, tool) in native(extras) {
            let name = tool.spec().name;
            let wanted = named.as_ref().is_none_or(|named| named.contains(&name.as_str()));
            if wanted && !is_denied(judge, section, &name) {
                toolbox.add(tool.into());
            }
        }
        toolbox
    }

    /// Adds a tool, unless one has the same name.
    pub fn add(&mut self, tool: Arc<dyn BuiltInTool>) {
        let spec = tool.spec();
        if self.get(&spec.name).is_none() {
            self.tools.push(OfferedTool { spec, tool, validator: OnceLock::new() });
        }
    }

    /// Returns what a model gets to know about the tools, in order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|offered| offered.spec.clone()).collect()
    }

    /// Returns the tool with that name.
    pub fn get(&self, name: &str) -> Option<&dyn BuiltInTool> {
        self.offered(name).map(|offered| &*offered.tool)
    }

    /// Returns the name of a tool that may be called by another name, or in another case.
    pub fn name_of(&self, name: &str) -> Result<String, String> {
        let names = || self.tools.iter().map(|offered| &offered.spec.name);
        let own = native_tool(name).filter(|own| names().any(|it| it == own));
        let declared = || names().find(|it| it.to_lowercase() == name.to_lowercase()).cloned();
        own.map(str::to_owned).or_else(declared).ok_or_else(|| self.unknown(name))
    }

    /// Returns what a call changes; the strictest class for an unknown tool.
    pub fn class(&self, name: &str, arguments: &Value) -> CallClass {
        self.get(name).map_or(CallClass::External, |tool| tool.class(arguments))
    }

    /// Returns everything that a call would touch, if its arguments fit the schema; else an error for the
    /// model.
    pub fn checked_touches(
        &self,
        name: &str,
        arguments: &Value,
        place: &CallLocation,
    ) -> Result<Vec<ToolTouch>, String> {
        let Some(offered) = self.offered(name) else {
            return Err(self.unknown(name));
        };
        if !offered.tool.checks_itself() {
            offered.check(arguments)?;
        }
        offered.tool.touches(arguments, place)
    }

    /// Returns the skills that a tool of the box loads.
    pub(crate) fn skills(&self) -> Option<&Arc<SkillShelf>> {
        self.tools.iter().find_map(|offered| offered.tool.skills())
    }

    fn offered(&self, name: &str) -> Option<&OfferedTool> {
        self.tools.iter().find(|offered| offered.spec.name == name)
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<_> = self.tools.iter().map(|tool| format!("`{}`", tool.spec.name)).collect();
        let name = output_cap::start(name, 100);
        if names.is_empty() {
            return format!("there is no tool `{name}`, and no other one either");
        }
        format!("there is no tool `{name}`; there are {}", names.join(", "))
    }
}

impl OfferedTool {
    /// Checks arguments against the schema; returns the first few problems.
    fn check(&self, arguments: &Value) -> Result<(), String> {
        if !arguments.is_object() {
            return Err(format!("the arguments of `{}` are no JSON object", self.spec.name));
        }
        // Compiling a schema is slow, and most tools are never called in a run.
        let validator = self.validator.get_or_init(|| validator(&self.spec.schema)).as_ref()?;
        let problems = misfits(validator, arguments);
        if problems.is_empty() {
            return Ok(());
        }
        let name = &self.spec.name;
        Err(format!("the arguments of `{name}` do not fit: {}", problems.join("; ")))
    }
}

/// Returns the first few problems of a value, as text.
pub(crate) fn misfits(validator: &Validator, value: &Value) -> Vec<String> {
    let problem = |error: jsonschema::ValidationError<'_>| {
        // The message is masked, because the value may be very long.
        let message = error.masked().to_string();
        let at = error.instance_path().to_string();
        let at = if at.is_empty() { String::new() } else { format!("`{at}`: ") };
        format!("{at}{}", output_cap::start(&message, 300))
    };
    validator.iter_errors(value).take(5).map(problem).collect()
}

/// Compiles a schema. Its patterns are matched in linear time, because a schema is not trusted.
pub(crate) fn validator(schema: &Value) -> Result<Validator, String> {
    let options = jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex());
    options.build(schema).map_err(|error| error.to_string())
}

/// Returns all built-in tools, each with the section that judges its calls.
pub(super) fn native(extras: ToolExtras) -> Vec<(Option<Section>, Box<dyn BuiltInTool>)> {
    let ToolExtras { person, search, skills: _ } = extras;
    let mut tools: Vec<(Option<Section>, Box<dyn BuiltInTool>)> = vec![
        (Some(Section::Read), Box::new(ReadTool)),
        (Some(Section::Edit), Box::new(WriteTool)),
        (Some(Section::Edit), Box::new(EditTool)),
        (Some(Section::Edit), Box::new(PatchTool)),
        (Some(Section::Read), Box::new(ListTool)),
        (Some(Section::Read), Box::new(GlobTool)),
        (Some(Section::Read), Box::new(GrepTool)),
        (Some(Section::Bash), Box::new(BashTool)),
        (Some(Section::Webfetch), Box::new(WebfetchTool::default())),
        (None, Box::new(TodoTool)),
    ];
    if let Some(search) = search {
        tools.push((Some(Section::Websearch), Box::new(WebsearchTool(search))));
    }
    if person {
        tools.push((Some(Section::Question), Box::new(QuestionTool)));
    }
    tools
}

/// Returns the section that judges the calls of a built-in tool.
pub fn section_of(name: &str) -> Option<Section> {
    let extras = ToolExtras { person: true, ..ToolExtras::default() };
    let found = native(extras).into_iter().find(|(_, tool)| tool.spec().name == name);
    found.map_or((name == "websearch").then_some(Section::Websearch), |(section, _)| section)
}

/// Returns whether a policy denies every call of a tool: by its whole section, or by the tool's name.
fn is_denied(judge: &Judge, section: Option<Section>, name: &str) -> bool {
    let wholly = |rules: &RuleList| rules.all().all(|rule| rule.action == Action::Deny);
    let by_section =
        section.is_some_and(|section| judge.rules(section).any(|(_, rules)| wholly(rules)));
    let by_name = judge.rules(Section::Tool).any(|(_, rules)| {
        let named =
            rules.rules.iter().find(|rule| rule.pattern.matches(PatternSubject::Text(name)));
        // A rule for everything does not name this tool; the section of the tool decides.
        named.is_some_and(|rule| rule.action == Action::Deny && !rule.pattern.is_everything())
    });
    by_section || by_name
}

#[cfg(test)]
mod tests {
    use agentry_compile::policy::Action;
    use agentry_compile::text::{FileId, Span, Spanned};
    use serde_json::json;

    use super::super::ToolHost as _;
    use super::super::testing::{TestRules, TestWorkspace, judge};
    use super::*;

    fn names(named: Option<&[&str]>, test_rules: &[TestRules<'_>]) -> String {
        let at = Span::start_of(FileId(0));
        let mut agent = Agent::default();
        agent.tools.native = named
            .map(|names| names.iter().map(|name| Spanned::new((*name).to_owned(), at)).collect());
        let judge = judge(test_rules, std::path::Path::new("/workspace"));
        let skills = vec!["grep".to_owned()];
        let extras = ToolExtras { person: true, search: None, skills };
        let offered = Toolbox::of(&agent, &judge, extras).specs().into_iter().map(|it| it.name);
        offered.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_named_and_permitted_tools_are_offered() {
        let all = "read write edit apply_patch list glob grep bash webfetch todo question";
        let deny = |section| (section, Action::Deny, [].as_slice());
        let cases = [
            (None, vec![], all),
            (Some(["Bash", "read_file", "unknown"].as_slice()), vec![], "read grep bash"),
            (Some([].as_slice()), vec![], "grep"),
            (
                None,
                vec![deny(Section::Edit), deny(Section::Webfetch)],
                "read list glob grep bash todo question",
            ),
            (None, vec![(Section::Edit, Action::Deny, ["docs/**:allow"].as_slice())], all),
            (
                None,
                vec![(Section::Tool, Action::Ask, ["grep:deny"].as_slice())],
                "read write edit apply_patch list glob bash webfetch todo question",
            ),
            (None, vec![deny(Section::Tool)], all),
        ];
        for (named, test_rules, expected) in cases {
            assert_eq!(names(named, &test_rules), expected, "{named:?} {test_rules:?}");
        }
    }

    #[test]
    fn arguments_are_validated_first() {
        let world = TestWorkspace::new();
        let place = world.host().place();
        let toolbox =
            Toolbox::of(&Agent::default(), &judge(&[], &place.workspace), ToolExtras::default());
        let long = "x".repeat(10 << 20);
        let cases = [
            (
                "read",
                json!({}),
                "the arguments of `read` do not fit: \"path\" is a required property",
            ),
            (
                "read",
                json!({"path": 1}),
                "the arguments of `read` do not fit: `/path`: value is not of type \"string\"",
            ),
            (
                "read",
                json!({"path": "a", "offset": 0}),
                "the arguments of `read` do not fit: `/offset`: value is less than the minimum of 1",
            ),
            (
                "read",
                json!({"path": "a", "file": "b"}),
                "the arguments of `read` do not fit: Additional properties are not allowed ('file' was unexpected)",
            ),
            ("read", json!("{\"path\": "), "the arguments of `read` are no JSON object"),
            ("read", json!(null), "the arguments of `read` are no JSON object"),
            (
                "bash",
                json!({"command": long}),
                "the arguments of `bash` do not fit: `/command`: value is longer than 100000 characters",
            ),
            (
                "websearch",
                json!({}),
                "there is no tool `websearch`; there are `read`, `write`, `edit`, `apply_patch`, `list`, `glob`, `grep`, `bash`, `webfetch`, `todo`",
            ),
        ];
        for (name, arguments, expected) in cases {
            let found = toolbox.checked_touches(name, &arguments, &place);
            assert_eq!(found, Err(expected.to_owned()), "{name}");
        }
        let touches = toolbox.checked_touches("read", &json!({"path": "a"}), &place).unwrap();
        assert_eq!(touches.len(), 1);
        assert_eq!(toolbox.class("read", &json!({})), CallClass::Read);
        assert_eq!(toolbox.class("missing", &json!({})), CallClass::External);
        let empty = Toolbox::default().checked_touches(&long, &json!({}), &place).unwrap_err();
        assert!(empty.len() < 200, "{}", empty.len());
    }

    #[test]
    fn every_tool_schema_is_valid_and_closed() {
        for spec in Toolbox::of(
            &Agent::default(),
            &judge(&[], "/w".as_ref()),
            ToolExtras { person: true, ..ToolExtras::default() },
        )
        .specs()
        {
            assert!(jsonschema::validator_for(&spec.schema).is_ok(), "{}", spec.name);
            assert_eq!(spec.schema["additionalProperties"], json!(false), "{}", spec.name);
            assert!(spec.description.len() < 1_000, "{}", spec.name);
        }
    }
}
