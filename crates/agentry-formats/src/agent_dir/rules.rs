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
    ]
}
