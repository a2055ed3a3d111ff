//! Writes a skill of an agent that is converted from another format.

use agentry_model::{SkillPack, SkillStep, StepKind, slug};
use agentry_text::data::MapBuilder;
use agentry_text::{Data, FileId, Findings, SourceFile, Spanned, markdown, path};

use super::{SkillDialect, name, read};
use crate::front_matter;

/// Returns the text of a skill. The original text is kept if `dialect` accepts it; otherwise new front
/// matter is put above the same body.
pub fn write(pack: &SkillPack, dialect: SkillDialect) -> String {
    let Some(text) = &pack.text else { return build(pack, dialect, &body_of_steps(pack)) };
    let source = SourceFile::new(FileId::BUILT_IN, &pack.path, text);
    let mut findings = Findings::default();
    read(source.clone(), &pack.path, dialect, &mut findings);
    if !findings.has_errors() {
        return text.value.clone();
    }
    let parts = markdown::parts(&source);
    let body = if parts.unclosed.is_some() { "" } else { text.get(parts.body).unwrap_or("") };
    build(pack, dialect, body.trim())
}

/// Returns the path of a skill that needs its own folder: `x.md` becomes `x/SKILL.md`.
pub fn folder_path(pack: &SkillPack) -> String {
    let stem = pack.path.strip_suffix("/SKILL.md").or_else(|| pack.path.strip_suffix(".md"));
    match stem.filter(|stem| path::is_portable(stem) && !stem.ends_with("/SKILL")) {
        Some(stem) if stem != "SKILL" => format!("{stem}/SKILL.md"),
        _ => format!("{}/SKILL.md", skill_name(pack)),
    }
}

fn build(pack: &SkillPack, dialect: SkillDialect, body: &str) -> String {
    let SkillPack {
        path: _,
        name: _,
        display_name: _,
        description: _,
        version,
        risk_level,
        allowed_tools,
        steps: _,
        text: _,
    } = pack;
    let version = version.as_ref().map(|version| version.value.as_str()).filter(|version| {
        // AgentFS rejects a version that is not semantic.
        dialect != SkillDialect::AgentFs || semver::Version::parse(version).is_ok()
    });
    let mut fields = MapBuilder::new();
    fields.set("name", Data::Str(skill_name(pack)));
    fields.set("description", Data::Str(description(pack, body)));
    fields.str_opt("version", version);
    fields.str_opt("risk_level", risk_level.as_ref().map(|risk| risk.as_str()));
    let tools = allowed_tools.as_ref().map(|list| Data::strings(list.iter().map(|t| &t.value)));
    fields.set_opt("allowed-tools", tools);
    // A skill without a body would be reported as empty.
    let body = if body.is_empty() { description(pack, body) } else { body.to_owned() };
    front_matter::write(&fields.build(), &body)
}

/// Returns a valid name: the declared one, else its slug, else that of the file.
fn skill_name(pack: &SkillPack) -> String {
    let declared = pack.name.as_ref().map_or("", |name| name.value.trim());
    let names = [declared.to_owned(), slug(declared), slug(name::of_path(&pack.path))];
    let fits = |name: &String| !name.is_empty() && name::broken(name).is_none();
    names.into_iter().find(fits).unwrap_or_else(|| "skill".to_owned())
}

/// Returns what the skill is for: as declared, else the first line of its text, else its name.
fn description(pack: &SkillPack, body: &str) -> String {
    let declared = [&pack.description, &pack.display_name].into_iter().flatten();
    let declared = declared.map(|text| text.value.trim()).find(|text| !text.is_empty());
    let first = || body.lines().map(|line| line.trim_start_matches('#').trim());
    let text = declared.or_else(|| first().find(|line| !line.is_empty()));
    text.map_or_else(|| skill_name(pack), |text| text.chars().take(1024).collect())
}

fn body_of_steps(pack: &SkillPack) -> String {
    let line = |(at, step): (usize, &Spanned<SkillStep>)| {
        let label = match step.kind {
            StepKind::Deterministic => "Hardened Step",
            StepKind::Adaptive => "Flexible Step",
            StepKind::HumanGate => "Human Gate",
        };
        format!("### {}. {} ({label})\n", at + 1, step.title)
    };
    pack.steps.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}
