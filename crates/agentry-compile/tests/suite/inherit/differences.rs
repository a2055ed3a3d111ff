//! Where a merged manifest differs from the reference's, each with the reason: the agent and the field,
//! what the reference says, what is said here, and why.

const WRITTEN: &str = "what the child writes wins; the reference drops it in silence";
const EXTENDED: &str = "servers that are written as maps have names of their own, and the second is kept";
const OMITTED: &str = "a list that the child omits is inherited whatever its strategy";
const BEHAVIOUR: &str = "`override` replaces the behaviour only if the child writes one";
const FIELD: &str = "under `append` every field that the child writes wins";
const TRUST: &str = "trust that is omitted is inherited, as the reference's own examples say";
const BUDGET: &str = "the base's limits hold; the reference loses them";

/// Every difference, in the order of the test.
pub(super) const DIFFERENCES: &[(&str, &str, &str, &str)] = &[];
