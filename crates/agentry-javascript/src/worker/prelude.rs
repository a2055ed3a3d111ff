//! The JavaScript that comes before the code of a job.

/// The file name of the prelude's code in stacks.
pub(super) const FILE: &str = "agentry";

/// What every job begins with.
pub(super) const CORE: &str = include_str!("../prelude/core.js");

/// The groups of the web API that are loaded when they are first used.
const GROUPS: &[(&str, &str)] = &[
    ("abort", include_str!("../prelude/abort.js")),
    ("clone", include_str!("../prelude/clone.js")),
    ("crypto", include_str!("../prelude/crypto.js")),
    ("fetch", include_str!("../prelude/fetch.js")),
    ("form", include_str!("../prelude/form.js")),
    ("script", include_str!("../prelude/script.js")),
    ("stream", include_str!("../prelude/stream.js")),
    ("text", include_str!("../prelude/text.js")),
    ("url", include_str!("../prelude/url.js")),
];

/// Returns the code of a group.
pub(super) fn group(name: &str) -> Option<&'static str> {
    GROUPS.iter().find(|(group, _)| *group == name).map(|(_, code)| *code)
}
