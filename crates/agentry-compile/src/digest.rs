//! What an agent is called by its content.

use agentry_formats::{Package, info, manifest};
use agentry_model::{Format, digest as full_digest, tree};
use agentry_text::Findings;

use crate::files::AgentFiles;
use crate::pipeline::Compiled;
use crate::show::resolved;
use crate::world::World;

/// The digests of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// `ag1:…`, for a manifest that the format's own rules accept.
    pub short: Option<String>,
    /// `sha256:…` of the canonical form.
    pub full: String,
}

/// The full digest of an agent: equal for agents that mean the same.
pub fn digest(compiled: &Compiled) -> String {
    let resolved = resolved(compiled);
    full_digest::full(&tree::tree(&resolved).to_data())
}

/// Both digests of an agent.
pub fn hash(world: &dyn World, compiled: &Compiled) -> Digest {
    let short =
        (compiled.found.format == Format::Manifest).then(|| short(world, compiled)).flatten();
    Digest { short, full: digest(compiled) }
}

fn short(world: &dyn World, compiled: &Compiled) -> Option<String> {
    let mut files = AgentFiles::new(world, &compiled.found.dir, compiled.workspace.clone());
    let mut package = Package {
        main: compiled.found.main.clone(),
        dir_name: String::new(),
        dir: String::new(),
        files: &mut files,
    };
    debug_assert_eq!(info(compiled.found.format).format, Format::Manifest);
    manifest::ag1(&mut package, &mut Findings::default()).map(|hash| hash.hash)
}
