//! Protected paths: a loss is reported if a harness does not protect them, and closed on demand.

use agentry_compile::policy::commands::secrets;
use agentry_compile::policy::compare::decide;
use agentry_compile::policy::path::NoLinks;
use agentry_compile::policy::{
    Action, HazardProtection, PatternSubject, RuleList, Section, SectionCall, web,
};
use agentry_compile::targets::{
    HarnessTool, LossKind, RenderScope, RenderSubject, RenderedAgent, TARGETS,
};

use crate::property::read_back;
use crate::{Wish, agent, file, one, rendering, report_of, subjects};

/// A policy that allows everything.
const ALL: &[(&str, &str)] = &[
    ("bash", "intent = \"allow\""),
    ("read", "intent = \"allow\""),
    ("edit", "intent = \"allow\""),
    ("external_directory", "intent = \"allow\""),
    ("webfetch", "intent = \"allow\""),
    ("websearch", "intent = \"allow\""),
    ("mcp", "intent = \"allow\""),
    ("tool", "intent = \"allow\""),
    ("skill", "intent = \"allow\""),
    ("delegate", "intent = \"allow\""),
    ("env", "intent = \"allow\""),
    ("question", "intent = \"allow\""),
];
/// A policy for everything in the workspace.
const INSIDE: &[(&str, &str)] = &[
    ("read", "intent = \"allow\""),
    ("edit", "intent = \"allow\""),
    ("webfetch", "intent = \"ask\""),
];
/// A policy for some directories, inside and outside the workspace.
const SOME: &[(&str, &str)] = &[
    ("read", "intent = \"deny\"\nrules = [\"src/**:allow\", \"docs/*.md:allow\"]"),
    ("edit", "intent = \"ask\"\nrules = [\"src/x*:allow\", \"~/p/**:allow\"]"),
    ("external_directory", "intent = \"ask\"\nrules = [\"~/p/**:allow\"]"),
    ("webfetch", "intent = \"deny\"\nrules = [\"http://localhost/*:allow\"]"),
];

fn lines(sections: &[(&str, &str)]) -> String {
    let section = |(name, lines): &(&str, &str)| format!("[permissions.{name}]\n{lines}\n");
    sections.iter().map(section).collect::<Vec<_>>().concat()
}

/// The gaps of the sections with protected paths.
fn gaps(rendered: &RenderedAgent) -> Vec<&str> {
    let gaps = rendered.losses.iter().filter(|loss| loss.kind == LossKind::Gap);
    let ours = |detail: &&str| {
        detail.starts_with("secrets: ") || detail.starts_with("private addresses: ")
    };
    gaps.map(|loss| loss.detail.as_str()).filter(ours).collect()
}

/// Paths and addresses that are protected without a rule.
fn probes(section: Section) -> Vec<String> {
    match section {
        Section::Read | Section::Edit => {
            let below = ["/workspace", "/workspace/src", "/home/user", "/home/user/p"];
            let kinds = secrets::all().flat_map(|secret| {
                let example = secret.example();
                let starts = if secret.rooted { &[""][..] } else { &below };
                let slash = if secret.rooted { "" } else { "/" };
                starts.iter().map(|dir| format!("{dir}{slash}{example}")).collect::<Vec<_>>()
            });
            kinds.collect()
        }
        Section::Webfetch => {
            let all = ["http://localhost/", "http://169.254.169.254/", "http://192.168.0.1/"];
            all.map(|text| web::address(text).expect("an address").text).into()
        }
        _ => Vec::new(),
    }
}

fn never_milder(subject: &RenderSubject, way: &HarnessTool, case: &str) {
    let layers: Vec<&RuleList> = way.layers.iter().collect();
    for text in probes(way.section) {
        let there = decide(&layers, PatternSubject::Text(&text), HazardProtection::Off)
            .map_or(Action::Allow, |decision| decision.action);
        let call = SectionCall { section: way.section, subject: &text, directory: "/workspace" };
        let here = subject.judge.judge(call, &NoLinks).action;
        assert!(there >= here, "{case} {}: `{text}` is {here}, there {there}", way.tool);
    }
}

#[test]
fn close_gaps_leaves_no_call_milder_than_the_source() {
    for (name, sections) in [("all", ALL), ("inside", INSIDE), ("some", SOME)] {
        let files = agent("helper", &lines(sections));
        let subject = subjects(&files, None).remove(0);
        for target in TARGETS {
            let scope = (target.name == "gemini").then_some(RenderScope::User);
            let wish = Wish { close_gaps: true, scope, ..Wish::default() };
            let rendering = rendering(target.name, &files, wish);
            let rendered = &rendering.agents[0];
            let case = format!("{} {name}", target.name);
            assert_eq!(gaps(rendered), [""; 0], "{case}");
            let codex = rendered.refused.is_some() && target.name == "codex";
            assert!(rendered.refused.is_none() || codex, "{case}: {}", report_of(rendered));
            let model = read_back(target, &rendering);
            for way in model.iter().flat_map(|model| model.ways.iter()) {
                never_milder(&subject, way, &case);
            }
        }
    }
}

#[test]
fn each_section_reports_its_protection_gap() {
    let lines = lines(ALL);
    for target in TARGETS.iter().filter(|target| target.name != "agents-md") {
        let scope = (target.name == "gemini").then_some(RenderScope::User);
        let rendered = one(target.name, &lines, Wish { scope, ..Wish::default() });
        let report = report_of(&rendered);
        for (section, what) in
            [("read", "secrets"), ("edit", "secrets"), ("webfetch", "private addresses")]
        {
            let line = format!("gap permissions.{section}: {what}: {}", target.title);
            // Copilot and Cursor show each change for review.
            let is_shown = section == "edit" && ["copilot", "cursor"].contains(&target.name);
            let expected = usize::from(!is_shown);
            assert_eq!(report.matches(&line).count(), expected, "{line}\n{report}");
        }
        assert!(!gaps(&rendered).is_empty());
    }
}

#[test]
fn close_gaps_asks_only_about_secret_names() {
    let wish = Wish { close_gaps: true, ..Wish::default() };
    let rendered = one("opencode", &lines(INSIDE), wish);
    let text = file(&rendered, "helper.md");
    for line in ["\"*\": allow", "\"*.env\": ask", "\"*id_rsa*\": ask", "\"*.ssh/*\": ask"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
