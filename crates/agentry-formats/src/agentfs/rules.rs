//! The lint rules of an agent of AgentFS, its memories and its receipts.

use agentry_text::rules;

rules! {
    /// Every rule about the files of AgentFS, in code order.
    pub(super) RULES = [
        NO_PERSONA: "AG4001",
        NO_PRINCIPLES: "AG4002",
        NOTHING_PROTECTED: "AG4003",
        LONG_PERSONA: "AG4004".make_bad(long_persona),
        NAME_TOO_LONG: "AG4005",
        DESCRIPTION_TOO_LONG: "AG4006".make_bad(long_description),
        RESERVED_ID: "AG4007",
        ODD_ID: "AG4008",
        LEGACY_RUNTIME: "AG4009",
        TOOL_ALLOWED_AND_DENIED: "AG4010",
        SCHEDULE_NOT_RUN: "AG4011",
        NO_CRON: "AG4012",
        NOT_A_CRON: "AG4013",
        EMPTY_NEVER_DO: "AG4014",
        EMPTY_NAME: "AG4015",
        NOT_A_TIME: "AG6051",
        EMPTY_MEMORY: "AG6052",
        ODD_RECEIPT_ID: "AG6071",
        RECEIPT_TIME: "AG6072",
        COUNTS_DIFFER: "AG6073",
    ]
}

fn long_persona() -> Vec<(String, Vec<u8>)> {
    let text = "Give the answer first. ".repeat(522);
    LONG_PERSONA.good.replace("Give the answer first, then the reasons.\n", text.trim_end())
}

fn long_description() -> Vec<(String, Vec<u8>)> {
    DESCRIPTION_TOO_LONG.good.replace("Answers questions", &"word ".repeat(48))
}
