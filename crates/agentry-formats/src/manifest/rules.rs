//! The lint rules of a manifest, beyond the shape of its fields.

use agentry_text::rules;

rules! {
    /// Every rule about manifests, in code order.
    pub RULES = [
        VERSION_NOT_SEMVER: "AG3001",
        UNUSABLE_NAME: "AG3002",
        KEY_NOT_TEXT: "AG3005",
        YAML_VERSIONS: "AG3006",
        TEXT_TWICE: "AG3007",
        EMPTY_TEXT: "AG3008",
        MISNAMED_FILE: "AG3009",
        SCOPE_WITHOUT_EFFECT: "AG3010",
        SCOPED_WITHOUT_SCOPE: "AG3011",
        HOSTS_WITHOUT_EFFECT: "AG3012",
        SCOPED_WITHOUT_HOSTS: "AG3013",
        EXPLICIT_WITHOUT_PROVIDERS: "AG3014",
        KEY_IN_MANIFEST: "AG3015",
        PROVIDER_WITHOUT_SOURCE: "AG3016",
        TAG_TWICE: "AG3017",
        MODEL_WITHOUT_PROVIDER: "AG3018",
        FUNCTION_TWICE: "AG3019",
        UNKNOWN_CALLEE: "AG3020",
        UNUSABLE_REFERENCE: "AG3021",
        MERGE_WITHOUT_BASE: "AG3022",
        SKILL_WITHOUT_NAME: "AG3023",
        SKILL_TWICE: "AG3024",
        SERVER_WITHOUT_NAME: "AG3025",
        SEVERAL_SERVERS: "AG3026",
        SERVER_TWICE: "AG3027",
        SERVER_TRANSPORT: "AG3028",
        TEXT_WITHOUT_EFFECT: "AG3029",
        NO_SYSTEM_TEXT: "AG3030",
        MALFORMED_TYPE: "AG3031",
    ]
}
