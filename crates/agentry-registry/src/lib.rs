//! The store: agents by digest, with names whose content never changes.
//!
//! ```text
//! agent ─gather─▶ GatheredObject ─push─▶ objects/<digest> ─read, verified─▶ StoreObject ─▶ pull, fetch
//!                                             ▲ index: name@version, ag1:     └─▶ sign, verify
//! ```
//!
//! An object is in the store completely or not at all: it is written under a temporary name, synced, and
//! renamed. Writers hold one lock. Readers need no lock, because they recompute every digest. The index
//! can be rebuilt from the objects.

mod collect;
mod durable_write;
mod error;
mod gather;
mod index;
mod keys;
mod manifest;
mod object;
mod object_world;
pub mod oci;
mod path;
mod push;
mod reference;
mod sign;
mod store;
mod trust;
mod version;
mod watched_world;

pub use collect::{CollectedGarbage, GarbageCollection, KeepReason, RemovalReason};
pub use error::StoreError;
pub use gather::{FoundSecret, GatherError, GatheredObject, gather};
pub use index::StoredName;
pub use keys::{KeyRing, PublicKey, SecretKey};
pub use manifest::{ObjectFile, ObjectManifest};
pub use object::StoreObject;
pub use push::PushOutcome;
pub use reference::AgentReference;
pub use sign::ObjectSignature;
pub use store::{AgentStore, RemoteFetch};
pub use trust::SignatureTrust;
