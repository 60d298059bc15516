//! What keys take, as it is described to a person and to an editor.

use plimsoll_units::ParseError;
use serde_json::Value as Json;

/// What a key takes, as it is described.
pub trait Describe: Sync {
    /// In the words of the manual: `duration`, `count or none`.
    fn takes(&self) -> String;

    /// As a JSON Schema, for editors. What it refuses the reader refuses too.
    fn schema(&self) -> Json;

    /// What a text of it means that a higher floor reads.
    fn meant(&self) -> Option<Meant> {
        None
    }

    /// Whether the values are a list, of which a flag adds one more.
    fn is_list(&self) -> bool {
        false
    }

    /// Whether the value is a table with names of the user's choice.
    fn is_map(&self) -> bool {
        false
    }
}

/// What a text means that a higher floor reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// An eviction policy with its settings: `slru:segments=2`.
    Eviction,
    /// The size of a cache: `10MB`, `962obj`, `10%`.
    CacheSize,
    /// Which missed objects come in: `max:1MB`.
    Admission,
    /// How many of the first requests, or which share of them, are counted apart: `10%`.
    Skip,
    /// A figure of a simulated pool: `cost`.
    Figure,
    /// What has to be kept: `lost<0.1%,p99<400ms`.
    Bounds,
}

/// Whether a text is one of what is meant.
pub(crate) type CheckText = fn(Meant, &str) -> Result<(), ParseError>;
