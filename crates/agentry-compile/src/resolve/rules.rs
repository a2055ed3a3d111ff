//! The rules about what an agent names: missing skills and agents, circles, and files that are too large.

use agentry_text::rules;

rules! {
    /// Every rule about resolving, in code order.
    pub(crate) RULES = [
        UNRESOLVED_SKILL: "AG0040",
        CONTEXT_TOO_LARGE: "AG0041".make_bad(large_context),
        MISSING_DELEGATE: "AG0042",
        DELEGATES_IN_CIRCLE: "AG0043",
    ]
}

fn large_context() -> Vec<(String, Vec<u8>)> {
    CONTEXT_TOO_LARGE.good.replace("Prefers short answers.\n", &"x".repeat(256 * 1024 + 1))
}
