//! What skills and tools resolve to, and which files belong to an agent.

use super::*;

/// Paths with their texts.
type Files<'a> = &'a [(&'a str, &'a str)];

const PACK: &str = "---\nname: review\ndescription: Reviews a text\n---\nRead it twice.\n";

fn skills(files: &[(&str, &str)], skills: &str, tools: &str) -> Vec<String> {
    let text = format!("name: a\nskills: {skills}\ntools: {tools}\n");
    let mut all = vec![("agents/a.agent", text.as_str())];
    all.extend(files);
    let plan = Here::new(&all, &[]).plan("agents/a.agent", ModelLookup::Offline);
    let line = |skill: &PlannedSkill| match &skill.found {
        SkillResolution::Pack(path) => format!("pack {path}"),
        SkillResolution::Native(tool) => format!("native {tool}"),
        SkillResolution::Mcp(server) => format!("mcp {server}"),
        SkillResolution::Model => "model".to_owned(),
        SkillResolution::Missing(why) => format!("missing {why}"),
    };
    plan.skills.iter().map(line).collect()
}

#[test]
fn skills_become_packs_tools_or_servers() {
    let cases: &[(Files<'_>, &str, &str, &[&str])] = &[
        (
            &[],
            "[code-execution, file-read, file-write, git, data-analysis, summarize]",
            "{}",
            &["native bash", "native read", "native write", "native bash", "native bash", "model"],
        ),
        (
            &[],
            "[web-search, github, browser, cite-sources]",
            "{mcp: [tavily-mcp, github, {name: web, command: playwright}, {arxiv: {enabled: false}}]}",
            &[
                "mcp tavily-mcp",
                "mcp github",
                "missing no built-in tool does it; an MCP server would (playwright, puppeteer, browser)",
                "missing no built-in tool does it; an MCP server would (zotero, arxiv, scholar)",
            ],
        ),
        // A tool, named as itself.
        (
            &[],
            "[webfetch, web-fetch, WebFetch, bash, shell, read, grep, edit, apply-patch]",
            "{}",
            &[
                "native webfetch",
                "native webfetch",
                "native webfetch",
                "native bash",
                "native bash",
                "native read",
                "native grep",
                "native edit",
                "native apply_patch",
            ],
        ),
        (
            &[],
            "[review, ../x, '']",
            "{}",
            &[
                "missing there is no `skills/review/SKILL.md`, and no tool of this name",
                "missing there is no `skills/../x/SKILL.md`, and no tool of this name",
                "missing there is no `skills//SKILL.md`, and no tool of this name",
            ],
        ),
        (
            &[("home/user/.config/agentry/config.toml", "[mcp_servers.brave]\ncommand = \"b\"\n")],
            "[web-search]",
            "{}",
            &["mcp brave"],
        ),
    ];
    for (files, wanted, tools, expected) in cases {
        assert_eq!(skills(files, wanted, tools), *expected, "{wanted}");
    }
}

#[test]
fn the_nearest_pack_wins() {
    let places = [
        "agents/skills/review/SKILL.md",
        "skills/review/SKILL.md",
        ".agents/skills/review/SKILL.md",
        ".claude/skills/review/SKILL.md",
        "home/user/.agentry/skills/review/SKILL.md",
        "home/user/.agents/skills/review/SKILL.md",
        "home/user/.claude/skills/review/SKILL.md",
    ];
    for (at, place) in places.iter().enumerate() {
        let files: Vec<_> = places[at..].iter().map(|path| (*path, PACK)).collect();
        let shown = match place.strip_prefix("home/user") {
            Some(rest) => format!("pack ~{rest}"),
            None => format!("pack {place}"),
        };
        assert_eq!(skills(&files, "[review]", "{}"), [shown], "{place}");
    }
}

#[test]
fn packs_without_required_metadata_are_refused() {
    let cases = [
        (PACK, "pack skills/review/SKILL.md"),
        (
            "Read it twice.\n",
            "missing `skills/review/SKILL.md` cannot be used: the skill has no metadata",
        ),
        (
            "---\nname: review\n---\nRead it twice.\n",
            "missing `skills/review/SKILL.md` cannot be used: the skill has no `description`",
        ),
    ];
    for (text, expected) in cases {
        let found = skills(&[("skills/review/SKILL.md", text)], "[review]", "{}");
        assert!(found[0].starts_with(expected), "{text}: {found:?}");
    }
}

#[test]
fn a_missing_skill_is_an_error_unless_it_is_optional() {
    for (skill, problems) in
        [("web-search", 1), ("{name: web-search, optional: true}", 0), ("git", 0)]
    {
        let text = format!("name: a\nskills: [{skill}]\n");
        let world = Here::new(&[("a.agent", &text)], &["OPENAI_API_KEY"]);
        let plan = world.plan("a.agent", ModelLookup::Local);
        assert_eq!(plan.problems().len(), problems, "{skill}");
        assert_eq!(plan.is_usable(), problems == 0, "{skill}");
    }
}

#[test]
fn tools_are_listed_with_their_origin() {
    let text = "name: a\ntools:\n  native: [bash, browser]\n  mcp: [github, {name: db, command: pg, \
                args: [-x]}, {zed: {url: 'https://z.example'}}]\n";
    let plan = Here::new(&[("a.agent", text)], &[]).plan("a.agent", ModelLookup::Offline);
    let line = |tool: &PlannedTool| {
        format!("{} {} {:?} {}", tool.kind.as_str(), tool.name, tool.detail, tool.missing.is_some())
    };
    let tools: Vec<_> = plan.tools.iter().map(line).collect();
    assert_eq!(
        tools,
        [
            "native bash \"\" false",
            "native browser \"\" true",
            "mcp github \"\" true",
            "mcp db \"pg -x\" false",
            "mcp zed \"https://z.example\" false",
        ]
    );
}

#[test]
fn every_contributing_file_has_a_digest() {
    let files = [
        (
            "agents/x/agent.toml",
            "name = \"x\"\ndescription = \"X\"\nskills = [\"review\"]\ncontext = [\"../notes.md\"]\nrules = [\"style\"]\n",
        ),
        ("agents/x/system-prompt.md", "You help.\n"),
        ("agents/notes.md", "Notes.\n"),
        ("rules/style.md", "Be short.\n"),
        (".agents/skills/review/SKILL.md", PACK),
        (".agents/skills/review/references/cases.md", "Cases.\n"),
        ("skills/other/SKILL.md", "not asked for"),
    ];
    let plan = Here::new(&files, &[]).plan("agents/x", ModelLookup::Offline);
    let paths: Vec<_> = plan.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            ".agents/skills/review/SKILL.md",
            ".agents/skills/review/references/cases.md",
            "agents/notes.md",
            "agents/x/agent.toml",
            "agents/x/system-prompt.md",
            "rules/style.md",
        ]
    );
    let notes = &plan.files[2].digest;
    assert_eq!(*notes, agentry_text::digest::of("Notes.\n"));
    assert!(notes.starts_with("sha256:") && notes.len() == 71, "{notes}");
}

/// A pack of the agent has the name that it declares, wherever it lies below `skills/`.
#[test]
fn packs_of_the_agent_resolve_by_declared_name() {
    let files = [
        ("x/agent.toml", "name = \"x\"\ndescription = \"X\"\nskills = [\"review\"]\n"),
        ("x/system-prompt.md", "You help.\n"),
        ("x/skills/texts/review/SKILL.md", PACK),
        ("x/skills/texts/review/references/cases.md", "Cases.\n"),
    ];
    let plan = Here::new(&files, &[]).plan("x", ModelLookup::Offline);
    let paths: Vec<_> = plan.files.iter().map(|file| file.path.as_str()).collect();
    assert!(paths.contains(&"x/skills/texts/review/references/cases.md"), "{paths:?}");
    let found: Vec<_> = plan.skills.iter().map(|skill| &skill.found).collect();
    assert_eq!(found, [&SkillResolution::Pack("x/skills/texts/review/SKILL.md".to_owned())]);
}
