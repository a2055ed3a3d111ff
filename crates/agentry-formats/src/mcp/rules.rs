//! The lint rules about MCP servers.

use agentry_text::rules;

rules! {
    /// Every rule about MCP servers, in code order.
    pub RULES = [
        NO_ADDRESS: "AG0151",
        TWO_ADDRESSES: "AG0152",
        TRANSPORT_MISMATCH: "AG0153",
        NOT_A_WEB_ADDRESS: "AG0154",
        LITERAL_SECRET: "AG0155",
        FOREIGN_VARIABLE: "AG0156",
        UNUSED_FIELD: "AG0157",
        ODD_SERVER_NAME: "AG0158",
        SAME_SERVER_NAME: "AG0159",
    ]
}
