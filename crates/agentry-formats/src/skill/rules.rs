//! The lint rules about skills.

use agentry_text::rules;

rules! {
    /// Every rule about skills, in code order.
    pub RULES = [
        SKILL_WITHOUT_METADATA: "AG6001",
        ODD_SKILL_NAME: "AG6002",
        SKILL_NAME_AND_FOLDER: "AG6003",
        DESCRIPTION_TOO_LONG: "AG6004".make_bad(long_description).make_good(|| SKILL_WITHOUT_METADATA.good.files()),
        EMPTY_SKILL_FIELD: "AG6005",
        EMPTY_SKILL: "AG6006",
        UNKNOWN_STEP: "AG6007",
        SAME_SKILL_NAME: "AG6008",
        MISPLACED_SKILL: "AG6009",
        SKILL_WITHOUT_DESCRIPTION: "AG6010",
    ]
}

fn long_description() -> Vec<(String, Vec<u8>)> {
    SKILL_WITHOUT_METADATA.good.replace("Reviews a text", "word ".repeat(240).trim_end())
}
