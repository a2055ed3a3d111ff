//! The lint rules of an agent directory.

use agentry_text::rules;

rules! {
    /// Every rule about agent directories, in code order.
    pub RULES = [
        NO_INSTRUCTIONS: "AG5001",
        EMPTY_INSTRUCTIONS: "AG5002",
        INSTRUCTIONS_METADATA: "AG5003",
        DIRECTORY_NAME: "AG5004",
        DIRECTORY_FOR_FILE: "AG5005",
        MISSING_LABEL: "AG5010",
        UNKNOWN_FUNCTION: "AG5011",
        LITERAL_API_KEY: "AG5012",
        PROVIDER_CONNECTION: "AG5013",
        UNKNOWN_DEFAULT_MODEL: "AG5014",
        WITHOUT_METADATA: "AG5030",
        BAD_CRON: "AG5031",
        NUMERIC_WEEKDAY: "AG5032",
        EITHER_DAY: "AG5033",
        NEVER_RUNS: "AG5034",
        UNKNOWN_TIMEZONE: "AG5035",
        BAD_JITTER: "AG5036",
        DUPLICATE_SCHEDULE: "AG5037",
        EMPTY_PROMPT: "AG5038",
        TOOL_KIND: "AG5040",
        DUPLICATE_TOOL: "AG5041",
        BUILT_IN_TOOL: "AG5042",
        TOOL_NAME: "AG5043",
        SCRIPT_PATH: "AG5050",
        SCRIPT_MISSING: "AG5051",
        SCRIPT_SYNTAX: "AG5052",
        SCRIPT_WITHOUT_RUN: "AG5053",
        SCRIPT_IMPORT: "AG5054",
        SCRIPT_TOO_DEEP: "AG5055".make_bad(deep_script),
        INPUTS_SCHEMA: "AG5056",
    ]
}

fn deep_script() -> Vec<(String, Vec<u8>)> {
    let (open, close) = ("[".repeat(20_000), "]".repeat(20_000));
    let source = format!("function run() {{ return {open}{close}; }}");
    SCRIPT_TOO_DEEP.good.replace("function run(ctx, inputs) {}", &source)
}
