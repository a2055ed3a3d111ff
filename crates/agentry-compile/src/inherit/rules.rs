//! The rules about bases.

use agentry_text::rules;

rules! {
    /// Every rule about bases, in code order.
    pub(crate) RULES = [
        NO_BASE: "AG0031",
        ENDLESS_BASES: "AG0032",
        BAD_BASE_ENTRY: "AG0033",
        OTHER_DIGEST: "AG0034",
        WIDER_THAN_BASE: "AG0035",
        BROKEN_BASE: "AG0036",
        BASE_STAYS: "AG0037",
        SERVER_REPLACED: "AG0038",
        POLICY_WIDENED: "AG0039",
    ]
}
