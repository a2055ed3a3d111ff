//! Findings as SARIF 2.1.0, the exchange format of code scanners.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::ReportLocation;
use crate::diagnostic::{Diagnostic, SpanLabel};
use crate::edit::{Fix, TextEdit};
use crate::rule::LintRule;
use crate::source::{FileId, SourceFiles, Span};

/// A log with one run, built finding by finding.
#[derive(Debug)]
pub struct SarifLog {
    version: String,
    results: Vec<(&'static LintRule, Map<String, Value>)>,
    /// How often each fingerprint occurred.
    seen: HashMap<u64, usize>,
}

impl SarifLog {
    /// An empty log of this version of Agentry.
    pub fn new(version: impl Into<String>) -> Self {
        Self { version: version.into(), results: Vec::new(), seen: HashMap::new() }
    }

    /// Adds a finding.
    pub fn add(&mut self, diagnostic: &Diagnostic, sources: &SourceFiles) {
        let mut result = Map::new();
        result.insert("ruleId".into(), diagnostic.rule.code.into());
        result.insert("level".into(), diagnostic.severity.to_string().into());
        result.insert("message".into(), json!({ "text": message(diagnostic) }));
        result.insert("locations".into(), json!([location(diagnostic.span, sources)]));
        let fingerprint = self.fingerprint(diagnostic, sources);
        result.insert("partialFingerprints".into(), json!({ "agentry/v1": fingerprint }));
        if !diagnostic.related.is_empty() {
            let related = diagnostic.related.iter().map(|label| self::related(label, sources));
            result.insert("relatedLocations".into(), related.collect());
        }
        if let Some(fix) = &diagnostic.fix {
            result.insert("fixes".into(), json!([self::fix(fix, sources)]));
        }
        self.results.push((diagnostic.rule, result));
    }

    /// Returns the whole log. `rules` are all rules that were checked; a rule of a finding that is
    /// missing there is added.
    pub fn finish(self, rules: &[&'static LintRule]) -> Value {
        let mut rules = rules.to_vec();
        let mut indices: HashMap<_, _> =
            rules.iter().enumerate().map(|(index, rule)| (rule.code, index)).collect();
        let mut results = Vec::with_capacity(self.results.len());
        for (rule, mut result) in self.results {
            let index = *indices.entry(rule.code).or_insert_with(|| {
                rules.push(rule);
                rules.len() - 1
            });
            result.insert("ruleIndex".into(), index.into());
            results.push(Value::Object(result));
        }
        let rules: Vec<_> = rules.into_iter().map(descriptor).collect();
        let driver = json!({
            "name": "agentry",
            "semanticVersion": self.version,
            "rules": rules,
        });
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": driver },
                "columnKind": "unicodeCodePoints",
                "newlineSequences": ["\r\n", "\n", "\r"],
                "results": results,
            }],
        })
    }

    /// Identifies a finding by its text and not by its line, so that edits above it do not change
    /// it.
    /// Equal findings in one file are numbered.
    fn fingerprint(&mut self, diagnostic: &Diagnostic, sources: &SourceFiles) -> String {
        let path = sources.path(diagnostic.span);
        let hash = hash([diagnostic.rule.code, path, &diagnostic.message]);
        let count = self.seen.entry(hash).or_default();
        *count += 1;
        format!("{hash:016x}:{count}")
    }
}

/// FNV-1a, which gives the same number in every version. The standard hasher does not promise that.
fn hash(parts: [&str; 3]) -> u64 {
    // The separator keeps `ab`, `c` apart from `a`, `bc`.
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xFF]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns message and hint as one plain text.
fn message(diagnostic: &Diagnostic) -> String {
    let text = match &diagnostic.hint {
        Some(hint) => format!("{}\n\nhelp: {hint}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    // Viewers turn `[text](target)` into a link, unless its brackets are escaped.
    if text.contains("](") { text.replace('[', "\\[").replace(']', "\\]") } else { text }
}

fn location(span: Span, sources: &SourceFiles) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(sources.path(span)) },
        "region": region(span, sources),
    } })
}

fn region(span: Span, sources: &SourceFiles) -> Value {
    let ReportLocation { start, end, .. } = ReportLocation::of(span, sources);
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

fn related(label: &SpanLabel, sources: &SourceFiles) -> Value {
    let mut location = location(label.span, sources);
    if let Value::Object(fields) = &mut location {
        fields.insert("message".to_owned(), json!({ "text": label.message }));
    }
    location
}

fn fix(fix: &Fix, sources: &SourceFiles) -> Value {
    // SARIF groups replacements by file.
    let mut files: Vec<(FileId, Vec<&TextEdit>)> = Vec::new();
    for edit in &fix.edits {
        match files.iter_mut().find(|(file, _)| *file == edit.span.file) {
            Some((_, edits)) => edits.push(edit),
            None => files.push((edit.span.file, vec![edit])),
        }
    }
    let changes: Vec<_> = files.iter().map(|(file, edits)| change(*file, edits, sources)).collect();
    json!({ "description": { "text": fix.title }, "artifactChanges": changes })
}

fn change(file: FileId, edits: &[&TextEdit], sources: &SourceFiles) -> Value {
    let replacement = |edit: &&TextEdit| {
        json!({
            "deletedRegion": region(edit.span, sources),
            "insertedContent": { "text": edit.text },
        })
    };
    let replacements: Vec<_> = edits.iter().map(replacement).collect();
    json!({
        "artifactLocation": { "uri": uri(sources.path(Span::start_of(file))) },
        "replacements": replacements,
    })
}

/// Returns a path as a URI reference: a relative path, or a `file:` URI.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn descriptor(rule: &LintRule) -> Value {
    json!({
        "id": rule.code,
        "name": pascal(rule.name),
        "shortDescription": { "text": rule.name.replace('-', " ") },
        "fullDescription": { "text": rule.why, "markdown": rule.why },
        "help": { "text": rule.why, "markdown": help(rule) },
        "defaultConfiguration": { "level": rule.severity.to_string() },
    })
}

/// Converts `unknown-field` to `UnknownField`.
fn pascal(name: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect::<String>()
    };
    name.split('-').map(capital).collect()
}

/// Returns the reason of the rule with its two examples.
fn help(rule: &LintRule) -> String {
    let mut out = format!("{}\n", rule.why);
    for (title, example) in [("Bad", rule.bad), ("Good", rule.good)] {
        if let Some(what) = example.description() {
            let _ = write!(out, "\n{title}: {what}\n");
        } else {
            example.texts().iter().for_each(|(path, text)| shown(&mut out, title, path, text));
        }
    }
    out
}

/// Adds a file in a code fence that is longer than any fence inside it.
fn shown(out: &mut String, title: &str, path: &str, text: &str) {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let _ = write!(out, "\n{title}, `{path}`:\n\n{fence}text\n{text}{fence}\n");
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::super::samples::{self, RULE};
    use super::*;

    fn log(rules: &[&'static LintRule]) -> Value {
        let mut log = SarifLog::new("1.2.3");
        for sample in samples::all() {
            log.add(&sample.diagnostic, &sample.sources);
        }
        log.finish(rules)
    }

    #[test]
    fn findings_are_written_as_sarif_results() {
        let log = log(&[&RULE]);
        let results = log["runs"][0]["results"].as_array().unwrap();
        let results: Vec<_> = results.iter().map(json::line).collect();
        insta::assert_snapshot!(results.join("\n"), @r#"
        {"ruleId":"AG0104","level":"error","message":{"text":"`filesystem` cannot be `readwrite`\n\nhelp: did you mean `read-only`?"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"agents/helper.agent"},"region":{"startLine":2,"startColumn":21,"endLine":2,"endColumn":30}}}],"partialFingerprints":{"agentry/v1":"eaf5dce0532a979b:1"},"fixes":[{"description":{"text":"write `read-only`"},"artifactChanges":[{"artifactLocation":{"uri":"agents/helper.agent"},"replacements":[{"deletedRegion":{"startLine":2,"startColumn":21,"endLine":2,"endColumn":30},"insertedContent":{"text":"read-only"}}]}]}],"ruleIndex":0}
        {"ruleId":"AG0104","level":"warning","message":{"text":"`filesystem` cannot be `readwrite`"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.yaml"},"region":{"startLine":1,"startColumn":4,"endLine":4,"endColumn":1}}}],"partialFingerprints":{"agentry/v1":"c06d52c9d79703a5:1"},"ruleIndex":0}
        {"ruleId":"AG0104","level":"note","message":{"text":"`filesystem` cannot be `readwrite`"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.yaml"},"region":{"startLine":2,"startColumn":1,"endLine":2,"endColumn":1}}}],"partialFingerprints":{"agentry/v1":"c06d52c9d79703a5:2"},"ruleIndex":0}
        {"ruleId":"AG0104","level":"error","message":{"text":"`filesystem` cannot be `readwrite`"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"%E6%97%A5%E6%9C%AC%E8%AA%9E.md"},"region":{"startLine":1,"startColumn":8,"endLine":1,"endColumn":10}}}],"partialFingerprints":{"agentry/v1":"7cc988164fde419e:1"},"ruleIndex":0}
        {"ruleId":"AG0104","level":"error","message":{"text":"`filesystem` cannot be `readwrite`"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.json"},"region":{"startLine":1,"startColumn":600001,"endLine":1,"endColumn":600005}}}],"partialFingerprints":{"agentry/v1":"dec3eaebd89085c4:1"},"ruleIndex":0}
        {"ruleId":"AG0104","level":"error","message":{"text":"`filesystem` cannot be `readwrite`"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.toml"},"region":{"startLine":3,"startColumn":1,"endLine":3,"endColumn":11}}}],"partialFingerprints":{"agentry/v1":"3bcecd35fb80e8e6:1"},"relatedLocations":[{"physicalLocation":{"artifactLocation":{"uri":"a.toml"},"region":{"startLine":1,"startColumn":1,"endLine":1,"endColumn":5}},"message":{"text":"first written here"}},{"physicalLocation":{"artifactLocation":{"uri":"base/b.toml"},"region":{"startLine":2,"startColumn":1,"endLine":2,"endColumn":5}},"message":{"text":"the base has it too"}}],"fixes":[{"description":{"text":"remove it"},"artifactChanges":[{"artifactLocation":{"uri":"a.toml"},"replacements":[{"deletedRegion":{"startLine":3,"startColumn":1,"endLine":4,"endColumn":1},"insertedContent":{"text":""}}]}]}],"ruleIndex":0}
        {"ruleId":"AG0104","level":"error","message":{"text":"`\u001b\\]0;x\u0007` is no\r\nvalue, 100%: \\[a\\](b)\n\nhelp: line\u009b2J\nbreak"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a%1B%5B2J%0A%2C%20b%3Ac%25.md"},"region":{"startLine":1,"startColumn":10,"endLine":1,"endColumn":14}}}],"partialFingerprints":{"agentry/v1":"e6ca221f357c9e00:1"},"ruleIndex":0}
        "#);
    }

    #[test]
    fn an_empty_sarif_log_is_complete() {
        let log = SarifLog::new("1.2.3").finish(&[&RULE]);
        insta::assert_snapshot!(format!("{log:#}"), @r#"
        {
          "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
          "version": "2.1.0",
          "runs": [
            {
              "tool": {
                "driver": {
                  "name": "agentry",
                  "semanticVersion": "1.2.3",
                  "rules": [
                    {
                      "id": "AG0104",
                      "name": "UnknownValue",
                      "shortDescription": {
                        "text": "unknown value"
                      },
                      "fullDescription": {
                        "text": "A value that no reader knows is ignored.",
                        "markdown": "A value that no reader knows is ignored."
                      },
                      "help": {
                        "text": "A value that no reader knows is ignored.",
                        "markdown": "A value that no reader knows is ignored.\n\nBad, `a.agent`:\n\n```text\nfilesystem: readwrite\n```\n\nGood, `a.agent`:\n\n```text\nfilesystem: read-only\n```\n\nGood, `b.md`:\n\n````text\n```\n```\n````\n"
                      },
                      "defaultConfiguration": {
                        "level": "error"
                      }
                    }
                  ]
                }
              },
              "columnKind": "unicodeCodePoints",
              "newlineSequences": [
                "\r\n",
                "\n",
                "\r"
              ],
              "results": []
            }
          ]
        }
        "#);
    }

    #[test]
    fn unlisted_rules_are_added_to_the_sarif_log() {
        assert_eq!(log(&[])["runs"][0]["tool"]["driver"]["rules"][0]["id"], "AG0104");
    }

    #[test]
    fn fingerprints_stay_when_lines_move() {
        let fingerprints = |text: &str| {
            let sample = samples::sample("", "a", text, "x");
            let mut log = SarifLog::new("1.2.3");
            log.add(&sample.diagnostic, &sample.sources);
            log.add(&sample.diagnostic, &sample.sources);
            let log = log.finish(&[]);
            let results = log["runs"][0]["results"].as_array().unwrap();
            results.iter().map(|it| it["partialFingerprints"].to_string()).collect::<Vec<_>>()
        };
        assert_eq!(fingerprints("x"), fingerprints("\n\n  x"));
        assert_ne!(fingerprints("x")[0], fingerprints("x")[1]);
    }

    #[test]
    fn paths_become_uris() {
        let cases = [
            ("agents/helper.agent", "agents/helper.agent"),
            ("../a b/ü#?.md", "../a%20b/%C3%BC%23%3F.md"),
            ("a:b%\n", "a%3Ab%25%0A"),
            ("/tmp/a", "file:///tmp/a"),
            ("", ""),
        ];
        for (path, expected) in cases {
            assert_eq!(uri(path), expected, "{path:?}");
        }
    }

    /// Checks the written parts against the requirements of the SARIF 2.1.0 schema.
    #[test]
    fn the_log_is_well_formed() {
        let log = log(&[&RULE]);
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(log["runs"].as_array().map(Vec::len), Some(1));
        assert_eq!(run["columnKind"], "unicodeCodePoints");
        assert_eq!(run["tool"]["driver"]["name"], "agentry");
        assert_eq!(run["tool"]["driver"]["semanticVersion"], "1.2.3");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        rules.iter().for_each(check_rule);
        for result in run["results"].as_array().unwrap() {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(result["ruleId"], rules[index]["id"]);
            check_result(result);
        }
    }

    fn check_rule(rule: &Value) {
        assert!(rule["id"].is_string());
        for key in ["shortDescription", "fullDescription", "help"] {
            assert!(rule[key]["text"].is_string(), "{key} must have a text");
        }
        assert!(rule["name"].as_str().unwrap().starts_with(char::is_uppercase));
        check_level(&rule["defaultConfiguration"]["level"]);
        assert!(rule.get("helpUri").is_none());
    }

    fn check_result(result: &Value) {
        check_level(&result["level"]);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        assert!(result["partialFingerprints"].as_object().unwrap().values().all(Value::is_string));
        assert_eq!(result["locations"].as_array().map(Vec::len), Some(1));
        let none = Vec::new();
        let list = |key: &str| result[key].as_array().unwrap_or(&none).clone();
        for location in list("locations").iter().chain(&list("relatedLocations")) {
            check_uri(&location["physicalLocation"]["artifactLocation"]["uri"]);
            check_region(&location["physicalLocation"]["region"]);
        }
        for fix in list("fixes") {
            let changes = fix["artifactChanges"].as_array().unwrap();
            assert!(!changes.is_empty());
            changes.iter().for_each(check_change);
        }
    }

    fn check_change(change: &Value) {
        check_uri(&change["artifactLocation"]["uri"]);
        let replacements = change["replacements"].as_array().unwrap();
        assert!(!replacements.is_empty());
        for replacement in replacements {
            check_region(&replacement["deletedRegion"]);
            assert!(replacement["insertedContent"]["text"].is_string());
        }
    }

    fn check_level(level: &Value) {
        assert!(["none", "note", "warning", "error"].contains(&level.as_str().unwrap()));
    }

    fn check_uri(uri: &Value) {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%:".contains(&byte);
        assert!(uri.as_str().unwrap().bytes().all(legal), "{uri}");
    }

    fn check_region(region: &Value) {
        let number = |key: &str| region[key].as_u64().unwrap();
        let start = (number("startLine"), number("startColumn"));
        let end = (number("endLine"), number("endColumn"));
        assert!(start.0 >= 1 && start.1 >= 1 && start <= end, "{region}");
    }
}
