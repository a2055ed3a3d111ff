//! The rules about the syntax of ACL.

crate::rules! {
    /// Every rule about the syntax of ACL, in code order.
    pub RULES = [
        ACL_SYNTAX: "AG0063",
        ACL_UNCLOSED: "AG0064",
        ACL_LONE_SLASH: "AG0065",
        ACL_BROKEN_NAME: "AG0066",
    ]
}
