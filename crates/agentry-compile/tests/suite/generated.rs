//! The generated reference. A stale page is rewritten and the test fails: review it, commit it, and run
//! again.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use agentry_compile::formats::{FORMATS, FormatInfo, convert};
use agentry_compile::model::{Agent, ConversionLoss, ConversionLossKind, tree};
use agentry_compile::text::report::visible;
use agentry_compile::text::{Data, LintRule, RuleExample, table};
use agentry_compile::{registry, schema};

use crate::arbitrary::{full_agent, particulars, policies, with_setting};
use crate::round_trip::targets;

/// Compares pages with the files in the repository. Writes stale ones, then fails.
#[expect(clippy::disallowed_methods, reason = "tests write the pages they check")]
pub(crate) fn current(pages: impl IntoIterator<Item = (String, String)>) {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut stale = Vec::new();
    for (page, text) in pages {
        let path = root.join(&page);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
            std::fs::write(&path, text).expect("a writable folder");
            stale.push(page);
        }
    }
    assert!(stale.is_empty(), "stale, and rewritten: {}", stale.join(", "));
}

#[test]
fn the_rules_page_is_current() {
    let mut page = "# Rules\n\nEvery finding has a code that never changes its meaning. \
        `agentry rules NAME` prints the same text. A rule is silenced in place by\n\
        `# agentry: allow(rule-name) the reason`, or for a workspace in `agentry.toml`:\n\n\
        ```toml\n[check]\nseverity = { no-description = \"off\" }\n```\n\n"
        .to_owned();
    page.push_str("| code | rule | severity |\n| --- | --- | --- |\n");
    for LintRule { code, name, severity, .. } in registry() {
        page.push_str(&format!("| {code} | [`{name}`](rules/{code}.md) | {severity} |\n"));
    }
    current([("docs/reference/rules.md".to_owned(), page)]);
}

/// Every rule has a page, every page has a rule, and nothing on a page is lost when it is read.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests read the pages they check")]
fn rules_and_their_pages_agree() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/rules");
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths: BTreeSet<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let expected: BTreeSet<_> =
        registry().iter().map(|rule| PathBuf::from(format!("{folder}/{}.md", rule.code))).collect();
    assert_eq!(paths, expected, "pages and rules differ");
    for LintRule { code, name, severity, why, bad, good } in registry() {
        let page = format!(
            "# {name}\n\n{code}, {severity}. {why}\n\nThis breaks it:\n\n{}\nUse instead:\n\n{}",
            example(bad),
            example(good)
        );
        let path = format!("{folder}/{code}.md");
        assert_eq!(std::fs::read_to_string(path).expect("a page"), page, "{code}");
    }
}

fn example(example: &RuleExample) -> String {
    let file = |(path, text): &(&str, Cow<'_, str>)| {
        let language = match path.rsplit('.').next() {
            Some("agent" | "yaml") => "yaml",
            Some("toml") => "toml",
            Some("json") => "json",
            Some("md") => "md",
            Some("js" | "mjs") => "js",
            _ => "text",
        };
        let fence = if text.contains("```") { "````" } else { "```" };
        // Invisible characters are spelled out, so that the page itself hides nothing.
        let shown: String = text.split_inclusive(['\n', '\t']).map(visible_part).collect();
        let escaped = if shown == *text { "" } else { " escaped" };
        format!("`{path}`\n\n{fence}{language}{escaped}\n{shown}{fence}\n")
    };
    match example.description() {
        Some(what) => format!("{what}\n"),
        None => example.texts().iter().map(file).collect::<Vec<_>>().join("\n"),
    }
}

/// Makes the characters before a line break or tab visible.
fn visible_part(part: &str) -> String {
    let text = part.trim_end_matches(['\n', '\t']);
    format!("{}{}", visible(&text.replace('\r', "\\u{d}")), &part[text.len()..])
}

/// The losses of a full agent in each format match the matrix.
#[test]
fn the_formats_page_is_current() {
    let mut page = "# What each format can express\n\nComputed by writing an agent with every field in each format and reading it again.\n\
        `yes`: comes back as it was. `~`: comes back changed or narrowed. Empty: the format cannot express it.\n\
        `settings` are fields of one format that the model has no place for; they come back in that format.\n\n".to_owned();
    let names: Vec<_> = FORMATS.iter().map(|info| info.format.as_str()).collect();
    page.push_str(&format!(
        "| field | {} |\n| --- |{}\n",
        names.join(" | "),
        " --- |".repeat(names.len())
    ));
    let agent = full_agent();
    for field in field_names(&tree::tree(&agent).to_data()) {
        page.push_str(&row(&agent, &field));
    }
    for (field, agent) in particulars() {
        page.push_str(&row(&agent, field));
    }
    let settings = |info: &FormatInfo| support(info, &with_setting(info.format), "settings");
    page.push_str(&cells("settings", FORMATS.iter().map(settings)));
    for (field, policy) in policies() {
        page.push_str(&row(&Agent { policy, ..full_agent() }, field));
    }
    current([("docs/reference/formats.md".to_owned(), page)]);
}

fn row(agent: &Agent, field: &str) -> String {
    cells(field, FORMATS.iter().map(|info| support(info, agent, field)))
}

fn cells(field: &str, cells: impl Iterator<Item = &'static str>) -> String {
    format!("| `{field}` | {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn support(info: &FormatInfo, agent: &Agent, field: &str) -> &'static str {
    let target = targets(info.format, agent).pop().expect("a target");
    let converted = convert(agent, info.format, &target);
    let within =
        |inner: &str, outer: &str| inner == outer || inner.starts_with(&format!("{outer}."));
    let is_about = |loss: &&ConversionLoss| {
        loss.kind != ConversionLossKind::Added
            && (within(&loss.field, field) || within(field, &loss.field))
    };
    let about: Vec<_> = converted.losses.iter().filter(is_about).collect();
    let left = tree::tree(&converted.agent).to_data();
    let left = field.split('.').try_fold(&left, |data, name| data.get(name));
    let dropped = |loss: &&ConversionLoss| loss.kind == ConversionLossKind::Dropped;
    if about.is_empty() {
        "yes"
    } else if about.iter().all(dropped) && left.is_none_or(Data::is_empty) {
        ""
    } else {
        "~"
    }
}

/// The fields of the model, two levels deep where a field is a block.
fn field_names(data: &Data) -> Vec<String> {
    const BLOCKS: &[&str] = &["model", "auth", "budget", "required", "tools", "memory", "merge"];
    let Data::Map(entries) = data else { return Vec::new() };
    let names = entries.iter().flat_map(|(key, value)| match value {
        Data::Map(inner) if BLOCKS.contains(&key.as_str()) => {
            inner.iter().map(|(name, _)| format!("{key}.{name}")).collect()
        }
        _ => vec![key.clone()],
    });
    names.collect()
}

#[test]
fn the_field_pages_are_current() {
    current(FORMATS.iter().map(|info| {
        let mut page =
            format!("# {}: fields\n\nWritten from the tables that the reader uses.\n", info.format);
        for (name, fields) in info.documents {
            page.push_str(&format!("\n## {name}\n\n{}", table::reference(fields)));
        }
        (format!("docs/reference/fields/{}.md", info.format), page)
    }));
}

#[test]
fn the_configuration_pages_are_current() {
    let page = format!(
        "# `agentry.toml`\n\nAt the root of a workspace, shared with the team. It can change severities, \
         name bases\nand choose targets; it can never let an agent do more. Written from \
         the table that the reader uses.\n\n{}",
        table::reference(agentry_compile::configuration())
    );
    let user = format!(
        "# Your own `config.toml`\n\nIn `$XDG_CONFIG_HOME/agentry`, by default `~/.config/agentry`. It is yours alone: only this \
         file names providers, models\nand keys to trust. `agentry config` lists the settings in force. Written from the \
         table that the reader uses.\n\nFor example:\n\n```toml\n[run]\nmax_cost = 1.00        # US dollars for one run\n\n\
         [policy.bash]           # for every agent\nintent = \"ask\"\nrules = [\"sudo **:deny\"]\n```\n\n{}",
        table::reference(agentry_compile::user_configuration())
    );
    current([
        ("docs/reference/configuration.md".to_owned(), page),
        ("docs/reference/user-configuration.md".to_owned(), user),
    ]);
}

#[test]
fn the_schema_files_are_current() {
    let documents = FORMATS.iter().flat_map(|info| {
        info.documents.iter().enumerate().map(move |(at, (name, _))| (info.format, at, name))
    });
    current(documents.map(|(format, at, name)| {
        let value = schema(format, name).expect("a document");
        let more = if at == 0 { String::new() } else { format!("-{}", file_name(name)) };
        let text = serde_json::to_string_pretty(&value).expect("json");
        (format!("schema/{format}{more}.json"), format!("{text}\n"))
    }));
}

fn file_name(document: &str) -> String {
    let plain: String = document
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}
