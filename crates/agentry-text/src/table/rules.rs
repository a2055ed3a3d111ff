//! The rules about fields: a document against its field table.

crate::rules! {
    /// Every rule about fields, in code order.
    pub RULES = [
        UNKNOWN_FIELD: "AG0101",
        MISSING_FIELD: "AG0102",
        WRONG_TYPE: "AG0103",
        UNKNOWN_VALUE: "AG0104",
        UNEXPECTED_VALUE: "AG0105",
        OUT_OF_RANGE: "AG0106",
        EXCLUDED_FIELD: "AG0107",
        SEVERAL_LINES: "AG0108",
        NOT_A_VERSION: "AG0109",
        NOT_A_MAP: "AG0110",
        SAME_FIELD_TWICE: "AG0111",
    ]
}
