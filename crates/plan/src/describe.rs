//! What keys take, as it is described to a person and to an editor.

use serde_json::Value as Json;

/// What a key takes, as it is described.
pub(crate) trait Describe: Sync {
    /// In the words of the manual: `duration`, `count or none`.
    fn takes(&self) -> String;

    /// As a JSON Schema, for editors. What it refuses the reader refuses too.
    fn schema(&self) -> Json;

    /// Which names of the vocabulary a text of it may be.
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

/// Which names of the vocabulary a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meant {
    /// An eviction policy, with its settings behind it: `slru:segments=2`.
    Eviction,
    /// A protocol between caches, with its settings behind it: `digest:every=10m`.
    Protocol,
    /// How clients spread over caches: `sticky`.
    Spread,
    /// A figure of a simulated pool: `cost`.
    Figure,
}
