//! The rules about the syntax of YAML.

crate::rules! {
    /// Every rule about YAML, in code order.
    pub RULES = [
        YAML_SYNTAX: "AG0051",
        YAML_DOCUMENTS: "AG0052",
        YAML_TAG: "AG0054",
        YAML_RARE_TAG: "AG0057",
    ]
}
