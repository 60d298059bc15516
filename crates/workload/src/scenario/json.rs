//! A JSON body as a tree, written compactly and in the file's order, with holes in its strings.

use super::encoding::Encoding;
use super::text::{Text, Writing};

/// A value of JSON whose strings have holes.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// A boolean.
    Switch(bool),
    /// A whole number.
    Whole(i64),
    /// Any other number; one that is not finite is written as `null`.
    Real(f64),
    /// A string; one that is nothing but a hole becomes the number, boolean, list or object that
    /// the hole holds, where it holds one.
    Text(Text),
    /// A list.
    List(Vec<Json>),
    /// An object, its keys in the file's order.
    Object(Vec<(Text, Json)>),
}

impl Json {
    /// The text that is sent.
    #[must_use]
    pub fn to_text(&self) -> Text {
        let mut writing = Writing::default();
        self.write(&mut writing);
        writing.finish()
    }

    fn write(&self, out: &mut Writing) {
        match self {
            Self::Null => out.literal(b"null"),
            Self::Switch(on) => out.literal(on.to_string().as_bytes()),
            Self::Whole(number) => out.literal(number.to_string().as_bytes()),
            Self::Real(number) => {
                let number = serde_json::Number::from_f64(*number);
                let text = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
                out.literal(text.as_bytes());
            }
            Self::Text(text) => string(text, out),
            Self::List(items) => {
                out.literal(b"[");
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.literal(b",");
                    }
                    item.write(out);
                }
                out.literal(b"]");
            }
            Self::Object(entries) => {
                out.literal(b"{");
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.literal(if at > 0 { b",\"" } else { b"\"" });
                    out.text(key, Encoding::Json);
                    out.literal(b"\":");
                    value.write(out);
                }
                out.literal(b"}");
            }
        }
    }
}

fn string(text: &Text, out: &mut Writing) {
    match text.as_literal() {
        Some(_) => {
            out.literal(b"\"");
            out.text(text, Encoding::Json);
            out.literal(b"\"");
        }
        None => out.text(text, Encoding::JsonValue),
    }
}
