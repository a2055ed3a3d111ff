//! The rules about the syntax of YAML.

use crate::diagnostic::Severity::Error;
use crate::rule::{LintRule, RuleExample};

/// Every rule about YAML, in code order.
pub const RULES: &[&LintRule] = &[&YAML_SYNTAX, &YAML_DOCUMENTS, &YAML_TAG, &YAML_RARE_TAG];

/// Text that is not YAML.
pub static YAML_SYNTAX: LintRule = LintRule {
    code: "AG0051",
    name: "yaml-syntax",
    severity: Error,
    why: "Nothing after the first mistake of syntax can be read for sure, so fields that stand \
          there count for nothing. The usual cause is a value with `: ` in it: it needs quotes.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Helper: answers questions\nsoul: You answer questions.\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: 'Helper: answers questions'\nsoul: You answer questions.\n",
    ),
};

/// More than one document in a file.
pub static YAML_DOCUMENTS: LintRule = LintRule {
    code: "AG0052",
    name: "yaml-documents",
    severity: Error,
    why: "A file defines one agent. Of several documents, divided by `---`, most readers take the \
          first without a word, and others refuse the file.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n---\nname: other\n",
    ),
    good: RuleExample::File("helper.agent", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
};

/// A tag that asks for a type which plain data does not have.
pub static YAML_TAG: LintRule = LintRule {
    code: "AG0054",
    name: "yaml-tag",
    severity: Error,
    why: "Tags such as `!!python/object` make some readers run code while they read. Only the \
          tags of plain data are known; a value with another tag, or with a tag that does not \
          fit it, is never used.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nauthor: !!python/name:os.system x\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nauthor: !!str 42\n",
    ),
};

/// A tag for plain data that few readers know.
pub static YAML_RARE_TAG: LintRule = LintRule {
    code: "AG0057",
    name: "yaml-rare-tag",
    severity: Error,
    why: "`!!binary`, `!!set`, `!!omap` and `!!pairs` are types of YAML 1.1 that few readers know. \
          What `!!binary` holds is not readable; the others become lists where they are read at \
          all.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntags: !!set {search}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntags: [search]\n",
    ),
};
