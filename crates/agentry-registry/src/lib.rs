//! The store of agents: by their digests, with names that never change their meaning.
//!
//! ```text
//! agent ─gather─▶ Gathered ─push─▶ objects/<digest> ─read, verified─▶ Object ─▶ pull, fetch
//!                                       ▲ index: name@version, ag1:   └─▶ sign, verify
//! ```
//!
//! An object is in the store whole or not at all: it is written under a temporary name, synced, and
//! renamed. One lock makes writers wait for each other; readers never wait, and believe nothing that
//! they did not recompute. The index holds nothing that the objects do not say.

mod collect;
mod digest;
mod durable;
mod error;
mod gather;
mod index;
mod keys;
mod manifest;
mod object;
mod path;
mod push;
mod record;
mod reference;
mod sign;
mod store;
mod version;
mod world;

pub use collect::{Collected, Collection, Kept, Reason};
pub use error::StoreError;
pub use gather::{GatherError, Gathered, Secret, gather};
pub use index::Listed;
pub use keys::{KeyRing, PublicKey, SecretKey};
pub use manifest::{File, Manifest};
pub use object::Object;
pub use push::Pushed;
pub use reference::Reference;
pub use sign::Trust;
pub use store::Store;
