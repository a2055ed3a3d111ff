//! The lint rules of an agent file, beyond those of its field table.

use agentry_text::rules;

rules! {
    /// Every rule of the format, in code order.
    pub(crate) RULES = [
        FILE_NAME: "AG1001",
        NO_TITLE: "AG1002",
        CONFLICT: "AG1003",
        SECTION_TWICE: "AG1004",
        EMPTY_SECTION: "AG1005",
        MISPLACED_SECTION: "AG1006",
        NOT_ONE_EMOJI: "AG1007",
        ENV_NAME: "AG1008",
        LATE_METADATA: "AG1009",
        UNKNOWN_ABILITY: "AG1010",
        ABILITY_SCOPE: "AG1011",
        ABILITY_COMMAND: "AG1012",
        ABILITY_WILDCARD: "AG1013",
        ABILITY_OVERLAP: "AG1014",
        ABILITIES_CONTRADICT: "AG1015",
        ABILITY_TWICE: "AG1016",
        TEXT_NOT_SENT: "AG1017",
        UNCLOSED_FENCE: "AG1020",
        CODE_OUTSIDE_FENCE: "AG1021",
        OTHER_LANGUAGE: "AG1022",
        JAVASCRIPT_SYNTAX: "AG1023",
        JAVASCRIPT_NESTING: "AG1024".make_bad(deep_nesting),
        NO_RETURN: "AG1025",
        NOT_STATIC: "AG1026",
        TOOL_SHAPE: "AG1027",
        TOOL_FUNCTION: "AG1028",
        SCHEME: "AG1029",
        SCHEME_NAME: "AG1030",
        PARAMETERS: "AG1031",
        TOOL_TWICE: "AG1032",
        STARTUP_MISSING: "AG1033",
        ENV_NOT_REQUIRED: "AG1034",
    ]
}

fn deep_nesting() -> Vec<(String, Vec<u8>)> {
    let deep = "(".repeat(20_000);
    let text = format!("# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\n{deep}\n```\n");
    vec![("agents/help_helper.agent.md".to_owned(), text.into_bytes())]
}
