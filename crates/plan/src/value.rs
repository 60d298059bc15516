//! How the value of a key is read and printed, whatever it is.

use crate::describe::Describe;
use crate::reading::Reading;
use crate::reading::tree::Node;

/// What a key takes, as it is read and printed.
pub(crate) trait Takes: Describe {
    /// The type of a value.
    type Value;

    /// The value; none where it is wrong, which has been noted then.
    fn read(&self, reading: &Reading, node: &Node) -> Option<Self::Value>;

    /// The value as it stands behind the `=` of a plan, which reads back the same.
    fn write(&self, value: &Self::Value) -> String;
}
