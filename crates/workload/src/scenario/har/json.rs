//! A JSON body with the place of each value, so that one can be replaced and all else is sent byte
//! for byte as it was; or as a table of TOML, where that can hold it.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::pieces::Pieces;
use crate::scenario::written::{literal, quoted, table};

/// The deepest nesting that is read.
const MOST_DEEP: usize = 100;
/// The deepest nesting that is written as a table.
const MOST_DEEP_TABLE: usize = 20;

/// A value, by its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// With its quotes.
    Text(Range<usize>),
    Number(Range<usize>),
    /// `true`, `false`, `null`.
    Word(Range<usize>),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// What stands in the place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Replacement {
    /// What was sent.
    Same,
    /// A text, not yet escaped.
    Text(Pieces),
    /// A number.
    Number(Pieces),
}

/// Reads a text that is JSON, whole.
pub(super) fn read(text: &str) -> Option<Node> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    Reader { text, at: 0 }.value(0)
}

/// The text of a string by its place; of one with half a surrogate pair what stands there.
pub(super) fn decoded(text: &str, range: &Range<usize>) -> String {
    let token = &text[range.clone()];
    let inner = || token[1..token.len() - 1].to_owned();
    serde_json::from_str(token).unwrap_or_else(|_| inner())
}

/// Reads what is known to be JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// The next byte that is neither a blank nor one of those.
    fn next_but(&mut self, skipped: &[u8]) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let is_passed = |byte: &u8| b" \t\r\n".contains(byte) || skipped.contains(byte);
        self.at += rest.iter().take_while(|byte| is_passed(byte)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn string(&mut self) -> Range<usize> {
        let from = self.at;
        let mut is_escaped = false;
        self.at += 1;
        for byte in self.text[from..].bytes().skip(1) {
            self.at += 1;
            if byte == b'"' && !is_escaped {
                break;
            }
            is_escaped = byte == b'\\' && !is_escaped;
        }
        from..self.at
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > MOST_DEEP {
            return None;
        }
        let first = self.next_but(b"")?;
        match first {
            b'{' => {
                let mut members = Vec::new();
                self.at += 1;
                while self.next_but(b",")? != b'}' {
                    let name = self.string();
                    self.next_but(b":")?;
                    members.push((decoded(self.text, &name), self.value(depth + 1)?));
                }
                self.at += 1;
                Some(Node::Object(members))
            }
            b'[' => {
                let mut values = Vec::new();
                self.at += 1;
                while self.next_but(b",")? != b']' {
                    values.push(self.value(depth + 1)?);
                }
                self.at += 1;
                Some(Node::List(values))
            }
            b'"' => Some(Node::Text(self.string())),
            _ => {
                let rest = &self.text[self.at..];
                let len = rest.bytes().take_while(|byte| !b",]} \t\r\n".contains(byte)).count();
                let range = self.at..self.at + len;
                self.at = range.end;
                let is_number = first == b'-' || first.is_ascii_digit();
                Some(if is_number { Node::Number(range) } else { Node::Word(range) })
            }
        }
    }
}

impl Node {
    /// The places of texts, numbers and words, in their order.
    fn places<'a>(&'a self, out: &mut Vec<&'a Self>) {
        match self {
            Self::List(values) => values.iter().for_each(|value| value.places(out)),
            Self::Object(members) => members.iter().for_each(|(_, value)| value.places(out)),
            _ => out.push(self),
        }
    }

    /// The text as it was sent, with what stands in the place of each value, in their order.
    pub(super) fn spliced(&self, text: &str, told: &[Replacement]) -> Pieces {
        let mut places = Vec::new();
        self.places(&mut places);
        let holes = places.into_iter().zip(told).filter_map(|(place, told)| match (place, told) {
            (Self::Text(range), Replacement::Text(pieces)) => {
                Some((range.start + 1..range.end - 1, pieces.in_json()))
            }
            (Self::Number(range), Replacement::Number(pieces)) => {
                Some((range.clone(), pieces.clone()))
            }
            _ => None,
        });
        Pieces::spliced(text, holes)
    }

    /// The text of TOML that sends the same, if any does: TOML has neither null nor numbers beyond
    /// 64 bits nor a name twice, and writes a number in its own way.
    pub(super) fn written(&self, text: &str, told: &[Replacement]) -> Option<String> {
        self.value(text, &mut told.iter(), 0)
    }

    fn value<'a>(
        &self,
        text: &str,
        told: &mut impl Iterator<Item = &'a Replacement>,
        depth: usize,
    ) -> Option<String> {
        if depth > MOST_DEEP_TABLE {
            return None;
        }
        Some(match self {
            Self::Text(range) => match told.next()? {
                Replacement::Text(pieces) => quoted(&pieces.template()),
                _ => literal(&serde_json::from_str::<String>(&text[range.clone()]).ok()?),
            },
            Self::Number(range) => match told.next()? {
                Replacement::Same => number(&text[range.clone()])?,
                _ => return None,
            },
            Self::Word(range) => {
                told.next()?;
                Some(&text[range.clone()]).filter(|word| **word != *"null")?.to_owned()
            }
            Self::List(values) => {
                let values: Option<Vec<String>> =
                    values.iter().map(|value| value.value(text, told, depth + 1)).collect();
                format!("[{}]", values?.join(", "))
            }
            Self::Object(members) => {
                let mut fields: Vec<(&str, String)> = Vec::new();
                for (name, value) in members {
                    if fields.iter().any(|(taken, _)| taken == name) {
                        return None;
                    }
                    fields.push((name, value.value(text, told, depth + 1)?));
                }
                table(fields)
            }
        })
    }
}

/// A number of TOML that is sent as it was.
fn number(text: &str) -> Option<String> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.to_string()).filter(|written| written == text);
    }
    let real = text.parse::<f64>().ok().filter(|_| text.contains(['.', 'e', 'E']))?;
    let sent = serde_json::Number::from_f64(real)?.to_string();
    (sent == text).then(|| format!("{real:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        let node = read(text).unwrap();
        node.written(text, &vec![Replacement::Same; 100])
    }

    #[test]
    fn what_toml_holds_is_a_table() {
        assert_eq!(
            of(" {\"a\" : [1, 2.5 ,true],\"b c\":{}} ").unwrap(),
            "{ a = [1, 2.5, true], \"b c\" = {  } }"
        );
        assert_eq!(of("{\"a\":\"x\\n\\u00e9{{\"}").unwrap(), "{ a = \"x\\né\\\\{{\" }");
        for other in [
            "null",
            "[null]",
            "18446744073709551615",
            "1.50",
            "1e3",
            "-0",
            "{\"a\":1,\"a\":2}",
            "\"\\ud800\"",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        let deep = |depth| format!("{}7{}", "[".repeat(depth), "]".repeat(depth));
        assert!(of(&deep(20)).is_some() && of(&deep(21)).is_none());
        assert!(read(&deep(100)).is_some() && read(&deep(101)).is_none());
        assert!(read("{\"a\":}").is_none() && read("").is_none());
    }

    #[test]
    fn a_value_is_replaced_where_it_stands() {
        let text = "{ \"a\\\"\":\"x\\\\\", \"b\" :[ -1.50,null ] }\n";
        let node = read(text).unwrap();
        let same = [Replacement::Same, Replacement::Same, Replacement::Same];
        assert_eq!(node.spliced(text, &same), Pieces::literal(text));
        let told =
            [Replacement::Text(Pieces::literal("\"")), Replacement::Number(Pieces::literal("7"))];
        let expected = "{ \"a\\\"\":\"\\\"\", \"b\" :[ 7,null ] }\n";
        assert_eq!(node.spliced(text, &told), Pieces::literal(expected));
    }
}
