//! The lint rules of scripts, which several formats name.

use agentry_text::rules;

rules! {
    /// Every rule about scripts, in code order.
    pub RULES = [
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
