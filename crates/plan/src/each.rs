//! Lists of which a flag gives one value at a time.

use serde_json::{Value as Json, json};

use crate::describe::{Describe, Meant};
use crate::reading::Reading;
use crate::reading::tree::{Node, Value};
use crate::value::Takes;

/// A list of values, or a single one, of which a flag gives one at a time, commas and all. The
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

    fn meant(&self) -> Option<Meant> {
        self.0.meant()
    }

    fn is_list(&self) -> bool {
        true
    }
}

impl<T: Takes> Takes for Each<T> {
    type Value = Vec<T::Value>;

    /// What of it can be read.
    fn read(&self, reading: &Reading, node: &Node) -> Option<Self::Value> {
        let items = match &node.value {
            Value::List(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        Some(items.iter().filter_map(|node| self.0.read(reading, node)).collect())
    }

    fn write(&self, values: &Self::Value) -> String {
        if let [one] = &values[..] {
            return self.0.write(one);
        }
        let items: Vec<_> = values.iter().map(|value| self.0.write(value)).collect();
        format!("[{}]", items.join(", "))
    }
}
