//! Lists of texts that may have commas in them.

use serde_json::{Value as Json, json};

use crate::describe::Describe;
use crate::reading::Reading;
use crate::reading::tree::{Node, Value};
use crate::value::Takes;

/// A list of values, or a single one, in which commas are parts of values; a flag gives one. The
/// words of the manual for it.
pub(crate) struct Each<T>(pub(crate) T, pub(crate) &'static str);

impl<T: Describe> Describe for Each<T> {
    fn takes(&self) -> String {
        self.1.to_owned()
    }

    fn schema(&self) -> Json {
        let one = self.0.schema();
        json!({"anyOf": [one, {"type": "array", "items": one}]})
    }

    fn is_list(&self) -> bool {
        true
    }
}

impl<T: Takes> Takes for Each<T> {
    type Of = Vec<T::Of>;

    /// What of it can be read.
    fn read(&self, reading: &Reading, node: &Node) -> Option<Self::Of> {
        let nodes = match &node.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        Some(nodes.iter().filter_map(|node| self.0.read(reading, node)).collect())
    }

    fn write(&self, values: &Self::Of) -> String {
        let items: Vec<_> = values.iter().map(|value| self.0.write(value)).collect();
        format!("[{}]", items.join(", "))
    }
}
