//! The lint rules of `agent.toml`, beyond those of its field table.

use agentry_text::rules;

rules! {
    /// Every rule of the format, in code order.
    pub(crate) RULES = [
        NOT_KEBAB_CASE: "AG2001",
        NAME_IS_NOT_DIRECTORY: "AG2002",
        TRAILING_PERIOD: "AG2003",
        EMPTY_DESCRIPTION: "AG2004",
        MISSING_PROMPT: "AG2005",
        EMPTY_PROMPT: "AG2006",
        DATETIME: "AG2007",
        MISSING_CONTEXT: "AG2008",
        MISSING_RULE_FILE: "AG2009",
        OUTSIDE_WORKSPACE: "AG2010",
        MISSING_SKILL: "AG2011",
        MALFORMED_RULE: "AG2012",
        UNKNOWN_ACTION: "AG2013",
        SHADOWED_RULE: "AG2014",
        DUPLICATE_RULE: "AG2015",
        CONTRADICTING_RULES: "AG2016",
    ]
}
