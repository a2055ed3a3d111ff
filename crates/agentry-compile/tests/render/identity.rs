//! Imports the files of a harness and renders them again. What the harness surely permits stays the same,
//! what it may permit does not grow, and all descriptions are kept.

use agentry_compile::model::Agent;
use agentry_compile::policy::{PathAnchors, Permissions, RuleList, Section};
use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::import::import;
use agentry_compile::targets::memo::RenderMemo;
use agentry_compile::targets::model::outside;
use agentry_compile::targets::proof::{PolicyProof, within};
use agentry_compile::targets::{
    HarnessModel, ImportedAgent, RenderScope, RenderSettings, RenderSubject, Target, render, target,
};
use agentry_compile::text::Spanned;

use crate::back::definition;
use crate::subjects;

/// An agent as a user would write it, with the files around it.
struct Case {
    harness: &'static str,
    path: &'static str,
    text: &'static str,
    around: &'static [(&'static str, &'static str)],
    /// The sections with fewer permissions afterwards, which is reported. A call that only a sandbox limits
    /// is denied in a definition, and a denial is never lifted again.
    narrowed: &'static [Section],
}

const fn case(harness: &'static str, path: &'static str, text: &'static str) -> Case {
    Case { harness, path, text, around: &[], narrowed: &[] }
}

const CASES: &[Case] = &[
    case(
        "opencode",
        ".opencode/agents/x.md",
        "---\ndescription: \"Reviews: all\"\nmode: subagent\nmodel: anthropic/claude\ntemperature: 0.2\nsteps: 7\n---\nYou review.\n\n- a\n  b\n",
    ),
    case(
        "opencode",
        ".opencode/agents/x.md",
        "---\ndescription: d\nmode: primary\npermission:\n  bash:\n    \"*\": ask\n    \"git *\": allow\n    \"git push*\": deny\n  edit: deny\n  webfetch: ask\n  task: deny\n---\nYou review.\n",
    ),
    Case {
        around: &[(
            "opencode.json",
            "{\"permission\": {\"bash\": \"ask\", \"edit\": {\"*\": \"allow\", \"secret/*\": \"deny\"}}}",
        )],
        ..case(
            "opencode",
            ".opencode/agents/x.md",
            "---\ndescription: d\ntools:\n  webfetch: false\n---\nHi.\n",
        )
    },
    case(
        "claude-code",
        ".claude/agents/x.md",
        "---\nname: x\ndescription: d\ntools: Read, Grep, Glob\nmodel: sonnet\nmaxTurns: 9\n---\n\nYou review.\n\n```\n---\n```\n",
    ),
    case(
        "claude-code",
        ".claude/agents/x.md",
        "---\nname: x\ndescription: Use it: always\n---\nHi.\n",
    ),
    Case {
        around: &[(
            ".claude/settings.json",
            "{\"permissions\": {\"allow\": [\"Bash(git log:*)\"], \"ask\": [\"Bash(git push *)\"], \"deny\": [\"Bash(rm *)\", \"Read(./.env)\"]}}",
        )],
        ..case(
            "claude-code",
            ".claude/agents/x.md",
            "---\nname: x\ndescription: d\ntools: Read, Glob, Grep, Edit, Write, NotebookEdit, Bash\n---\nHi.\n",
        )
    },
    case(
        "claude-code",
        ".claude/agents/x.md",
        "---\nname: x\ndescription: d\ntools: Read, Grep, Glob, mcp__github__get_issue\n---\nHi.\n",
    ),
    case(
        "pi",
        ".pi/agents/x.md",
        "---\nname: x\ndescription: d\ntools: read, grep, find, ls\nmodel: a/b\n---\nYou review.\n",
    ),
    case(
        "pi",
        ".pi/agents/x.md",
        "---\nname: x\ndescription: d\ntools: read, grep, find, ls, edit, write, bash, fetch_content\n---\nHi.\n",
    ),
    case("pi", ".pi/agents/x.md", "---\nname: x\ndescription: d\ntools: read, bash\n---\nHi.\n"),
    case(
        "codex",
        ".codex/agents/x.toml",
        "name = \"x\"\ndescription = \"d\"\nmodel = \"gpt-5.5\"\nsandbox_mode = \"read-only\"\nweb_search = \"cached\"\ndeveloper_instructions = \"\"\"\nYou review.\n\"\"\"\n",
    ),
    case(
        "codex",
        ".codex/agents/x.toml",
        "name = \"x\"\ndescription = \"d\"\nsandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"\nweb_search = \"live\"\ndeveloper_instructions = \"Hi.\"\n",
    ),
    Case {
        narrowed: &[Section::Read],
        ..case(
            "codex",
            ".codex/agents/x.toml",
            "name = \"x\"\ndescription = \"d\"\nsandbox_mode = \"read-only\"\napproval_policy = \"never\"\nweb_search = \"disabled\"\ndeveloper_instructions = \"Hi.\"\n",
        )
    },
    case(
        "gemini",
        ".gemini/agents/x.md",
        "---\nkind: local\nname: x\ndescription: d\ndisplay_name: The X\nmodel: gemini-3-pro\nmax_turns: 5\ntools: [read_file, list_directory, glob, grep_search, google_web_search]\n---\nYou review.\n",
    ),
    case(
        "gemini",
        ".gemini/agents/x.md",
        "---\nname: x\ndescription: d\ntools: [read_file, list_directory, glob, grep_search, replace, write_file, run_shell_command, mcp_github_get_issue]\n---\nHi.\n",
    ),
    case(
        "copilot",
        ".github/agents/x.agent.md",
        "---\nname: The X\ndescription: d\nuser-invocable: false\nmodel: gpt-5\ntools: [read, search, todo]\n---\nYou review.\n",
    ),
    case(
        "copilot",
        ".github/agents/x.agent.md",
        "---\ndescription: d\ntools: [read, search, edit, execute]\n---\nHi.\n",
    ),
];

/// What an agent declares, one value a line.
fn declared_values(found: &ImportedAgent) -> Vec<String> {
    let Agent { identity, instructions, model, behaviour, .. } = &found.agent;
    let text = |it: &Option<Spanned<String>>| format!("{:?}", it.as_ref().map(|it| &it.value));
    let models = model.preferred.iter().flatten().map(|it| it.value.as_str());
    vec![
        text(&identity.name),
        text(&identity.display_name),
        text(&identity.description),
        format!("{:?}", identity.mode.map(|it| it.value)),
        text(&instructions.system),
        models.collect::<Vec<_>>().join(", "),
        format!("{:?}", behaviour.temperature.map(|it| it.value)),
        format!("{:?}", behaviour.max_turns.map(|it| it.value)),
    ]
}

/// The imported agent, with everything that no format can hold.
fn subject(found: &ImportedAgent) -> RenderSubject {
    let mut subject = subjects(&definition(found), None).remove(0);
    subject.agent.model = found.agent.model.clone();
    subject.agent.behaviour = found.agent.behaviour.clone();
    subject.agent.identity = found.agent.identity.clone();
    subject
}

/// The expectation for a section.
fn layers(permissions: &Permissions, section: Section) -> Vec<RuleList> {
    let rules = |section| {
        let written = permissions.get(section).expect("a section");
        RuleList::new(written, &PathAnchors::default()).as_written()
    };
    let files = matches!(section, Section::Edit | Section::Read);
    let beyond = files.then(|| permissions.get(Section::ExternalDirectory)).flatten();
    let beyond = beyond.map(|_| outside(section, &rules(Section::ExternalDirectory)));
    [rules(section)].into_iter().chain(beyond).collect()
}

/// The ways of `after` that no way of `before` contains.
fn wider(after: &HarnessModel, before: &HarnessModel) -> Vec<String> {
    let fits = |way: &&agentry_compile::targets::HarnessTool| {
        let same = before.ways.iter().filter(|it| it.section == way.section);
        !same
            .into_iter()
            .any(|it| within(&RenderMemo::default(), &way.layers, &it.layers) == PolicyProof::Holds)
    };
    after.ways.iter().filter(fits).map(|way| format!("{} {}", way.section, way.tool)).collect()
}

/// The files after import and rendering, and the reported losses.
fn again(case: &Case, first: &ImportedAgent) -> (Vec<(String, String)>, Vec<String>) {
    let existing = ListedFiles(case.around);
    let (scope, options) = (RenderScope::Project, &[][..]);
    let settings =
        RenderSettings { scope, options, shared: true, ..RenderSettings::new(&existing) };
    let target = target(case.harness).expect("a target");
    let rendering = render(target, &[subject(first)], &settings);
    let rendered = &rendering.agents[0];
    assert_eq!(rendered.refused, None, "{}", case.text);
    let new = rendered.files.iter().chain(&rendering.shared);
    let mut files: Vec<_> = new.map(|it| (it.path.clone(), it.text().to_owned())).collect();
    for (path, text) in case.around {
        if files.iter().all(|(known, _)| known != path) {
            files.push(((*path).to_owned(), (*text).to_owned()));
        }
    }
    let imported = first.losses.iter().map(|it| format!("{}: {}", it.field, it.detail));
    let losses = rendered.losses.iter().map(|it| format!("{}: {}", it.field, it.detail));
    (files, imported.chain(losses).collect())
}

/// The sections in which the second agent may do less. Fails if it may do more in any.
fn narrowed(first: &ImportedAgent, second: &ImportedAgent) -> Vec<Section> {
    let permissions = |found: &ImportedAgent| found.agent.policy.permissions.clone().expect("some");
    let (was, is) = (permissions(first), permissions(second));
    let free = [Section::Env, Section::ExternalDirectory];
    let sections = Section::ALL.iter().copied().filter(|section| !free.contains(section));
    let narrowed = sections.filter(|section| {
        let (was, is) = (layers(&was, *section), layers(&is, *section));
        assert_eq!(
            within(&RenderMemo::default(), &is, &was),
            PolicyProof::Holds,
            "{section} is wider"
        );
        within(&RenderMemo::default(), &was, &is) != PolicyProof::Holds
    });
    narrowed.collect()
}

fn check(case: &Case) {
    let Case { harness, path, text, around, .. } = case;
    let target: &Target = target(harness).expect("a target");
    let before = [&[(*path, *text)], *around].concat();
    let of = |files: &[(&str, &str)]| import(target, &ListedFiles(files), path).expect("an agent");
    let first = of(&before);
    let (files, report) = again(case, &first);
    let after: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let second = of(&after);
    assert_eq!(declared_values(&second), declared_values(&first), "{harness}\n{text}");
    let narrowed = narrowed(&first, &second);
    assert_eq!(narrowed, case.narrowed, "{harness}\n{text}\n{}\n{report:#?}", after[0].1);
    for section in narrowed {
        let field = format!("permissions.{section}: ");
        assert!(report.iter().any(|it| it.starts_with(&field)), "{section}: {report:#?}");
    }
    let model = |files: &[(&str, &str)]| (target.model)(&ListedFiles(files), "x");
    let (before, after) = (model(&before).expect("an agent"), model(&after).expect("an agent"));
    assert_eq!(wider(&after, &before), Vec::<String>::new(), "{harness}\n{text}");
}

#[test]
fn imported_agents_render_back_without_widening() {
    for case in CASES {
        check(case);
    }
}

/// Unknown names and the harness's own names are restored for that harness; not for others, not under an
/// alias, and not for an agent that was not imported.
#[test]
fn original_names_are_restored_for_their_harness() {
    let markdown =
        |name: &str| format!("---\nname: {name}\ndescription: d\ntools: read\n---\nHi.\n");
    let codex = "name = \"pr_explorer\"\ndescription = \"d\"\ndeveloper_instructions = \"Hi.\"\n";
    let claude = "---\nname: LinusCritic\ndescription: d\ntools: Read\n---\nHi.\n";
    let cases = [
        ("pi", ".pi/agents/scout.md", markdown("scout"), ".pi/agents/scout.md"),
        (
            "codex",
            ".codex/agents/pr_explorer.toml",
            codex.to_owned(),
            ".codex/agents/pr_explorer.toml",
        ),
        (
            "claude-code",
            ".claude/agents/linus.md",
            claude.to_owned(),
            ".claude/agents/LinusCritic.md",
        ),
        (
            "copilot",
            ".github/agents/ui_ux.agent.md",
            "---\ndescription: d\ntools: [read]\n---\nHi.\n".to_owned(),
            ".github/agents/ui_ux.agent.md",
        ),
    ];
    for (harness, path, text, expected) in &cases {
        let found = crate::back::imported(harness, &[(path, text)], path).expect("an agent");
        let files = definition(&found);
        let rendered = crate::rendering(harness, &files, crate::Wish::default()).agents.remove(0);
        assert_eq!(rendered.refused, None, "{path}");
        assert_eq!(rendered.files[0].path, *expected);
        let report = rendered.losses.iter().filter(|loss| loss.field == "name");
        let report: Vec<&str> = report.map(|loss| loss.detail.as_str()).collect();
        let overrides = path.contains("scout");
        assert_eq!(report == ["it takes the place of the `scout` of Pi"], overrides, "{report:?}");
        let wish = crate::Wish { alias: Some("other"), ..crate::Wish::default() };
        let rendered = crate::rendering(harness, &files, wish).agents.remove(0);
        assert!(rendered.files[0].path.contains("/other."), "{}", rendered.files[0].path);
        let gemini = crate::rendering("gemini", &files, crate::Wish::default()).agents.remove(0);
        let small = agentry_compile::model::slug(found.agent.name());
        assert_eq!(gemini.files[0].path, format!(".gemini/agents/{small}.md"));
    }
    let native = crate::rendering("pi", &crate::agent("scout", ""), crate::Wish::default());
    assert!(native.agents[0].refused.is_some());
    let forged = "[x-harness.pi]\nname = \"worker\"\n";
    let forged = crate::rendering("pi", &crate::agent("scout", forged), crate::Wish::default());
    assert!(forged.agents[0].refused.is_some());
}
