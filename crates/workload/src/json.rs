//! Values of JSON as they are written. A number that is read into a double may be another one:
//! values are compared, and go on, by their text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The text of the value at a place (RFC 6901) of a document; of members of one name the last.
///
/// # Cost
/// One pass over the document for each part of the place.
pub(crate) fn at<'a>(document: &'a str, pointer: &str) -> Option<&'a str> {
    let mut text = document.trim_ascii();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        text = Member(&name).of(text)?;
    }
    Some(text)
}

/// The text of an element of a list.
pub(crate) fn element(list: &str, index: usize) -> Option<&str> {
    Member(&index.to_string()).of(list).filter(|_| list.starts_with('['))
}

/// Whether two documents are of one value: numbers by what they are worth, 1 and 1.0 alike,
/// objects in whatever order. Both are read as JSON first, so that neither is nested deeper than
/// that allows.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let is_read = |text| serde_json::from_str::<serde_json::Value>(text).is_ok();
    is_read(one) && is_read(other) && are_same(one.trim_ascii(), other.trim_ascii())
}

fn are_same(one: &str, other: &str) -> bool {
    type Object<'a> = BTreeMap<String, &'a RawValue>;
    type List<'a> = Vec<&'a RawValue>;
    let kind = |text: &str| text.bytes().next().unwrap_or_default();
    match (kind(one), kind(other)) {
        (b'{', b'{') => match (serde_json::from_str(one), serde_json::from_str(other)) {
            (Ok(one), Ok(other)) => {
                let (one, other): (Object<'_>, Object<'_>) = (one, other);
                let alike = |((name, value), (of, found)): ((&String, &&RawValue), _)| {
                    let (of, found): (&String, &&RawValue) = (of, found);
                    name == of && are_same(value.get(), found.get())
                };
                one.len() == other.len() && one.iter().zip(&other).all(alike)
            }
            _ => false,
        },
        (b'[', b'[') => match (serde_json::from_str(one), serde_json::from_str(other)) {
            (Ok(one), Ok(other)) => {
                let (one, other): (List<'_>, List<'_>) = (one, other);
                let mut pairs = one.iter().zip(&other);
                one.len() == other.len()
                    && pairs.all(|(one, other)| are_same(one.get(), other.get()))
            }
            _ => false,
        },
        (b'"', b'"') => string(one).is_some_and(|one| Some(one) == string(other)),
        _ => match (Decimal::read(one), Decimal::read(other)) {
            (Some(one), Some(other)) => one == other,
            _ => one == other,
        },
    }
}

/// What a string of JSON says.
pub(crate) fn string(text: &str) -> Option<String> {
    serde_json::from_str(text).ok()
}

/// A number by its digits, however it is written.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// Without zeros at either end; empty of zero.
    digits: String,
    /// The power of ten of the last digit.
    exponent: i128,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{part}");
        let kept = all.trim_end_matches('0');
        let digits = kept.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        let zeros = i128::try_from(all.len() - kept.len()).ok()?;
        let exponent = i128::from(exponent) - i128::try_from(part.len()).ok()? + zeros;
        Some(Self { is_negative, digits, exponent })
    }
}

/// The member of a name, or of a number in a list.
#[derive(Clone, Copy)]
struct Member<'n>(&'n str);

impl Member<'_> {
    fn of(self, text: &str) -> Option<&str> {
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.deserialize_any(self).ok().flatten().map(RawValue::get)
    }

    /// The number of an element; one is written without a sign or a zero before it.
    fn index(self) -> Option<usize> {
        let is_plain = self.0 == "0" || !self.0.starts_with(['0', '+']);
        self.0.parse().ok().filter(|_| is_plain)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Name(self.0))? {
            if is_it {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let Some(index) = self.index() else {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(None);
        };
        for _ in 0..index {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = list.next_element()?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }
}

/// Whether a member has that name.
struct Name<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn a_value_is_found_as_it_is_written() {
        let document = r#" {"id": 9007199254740993, "price": 10.00, "a/b": {"~": [1e3, {"z": 1, "a": 2}]},
            "id2": "x", "big": 18446744073709551616, "twice": 1, "twice": 2} "#;
        for (pointer, text) in [
            ("/id", Some("9007199254740993")),
            ("/price", Some("10.00")),
            ("/a~1b/~0/0", Some("1e3")),
            ("/a~1b/~0/1", Some(r#"{"z": 1, "a": 2}"#)),
            ("/big", Some("18446744073709551616")),
            ("/twice", Some("2")),
            ("/id2", Some("\"x\"")),
            ("/none", None),
            ("/a~1b/~0/2", None),
            ("/a~1b/~0/01", None),
            ("/a~1b/~0/-", None),
            ("/id/x", None),
        ] {
            assert_eq!(at(document, pointer), text, "{pointer}");
        }
        assert_eq!(at(document, ""), Some(document.trim()));
        assert_eq!(element("[1, 2.50]", 1), Some("2.50"));
        assert_eq!(element(r#"{"1": 5}"#, 1), None);
    }

    #[test]
    fn numbers_are_the_same_by_what_they_are_worth() {
        for (one, other) in [
            ("1", "1.0"),
            ("42", "4.2e1"),
            ("0", "-0.0"),
            ("1e300", "10e299"),
            ("18446744073709551616", "1.8446744073709551616e19"),
            ("[1.0, null]", "[1,null]"),
            (r#"{"a": 1, "b": "\u0041"}"#, r#"{"b":"A","a":1.00}"#),
            ("\"x\"", " \"x\" "),
        ] {
            assert!(is_same(one, other) && is_same(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("9007199254740993", "9007199254740992"),
            ("18446744073709551616", "18446744073709551617"),
            ("0.1", "0.10000000000000001"),
            ("[9007199254740993]", "[9007199254740992]"),
            (r#"{"a":{"b":9007199254740993}}"#, r#"{"a":{"b":9007199254740992}}"#),
            ("1", "-1"),
            ("1", "\"1\""),
            ("null", "0"),
            ("[1]", "[1,1]"),
            ("{}", "[]"),
            ("1 2", "1"),
            ("nul", "nul"),
        ] {
            assert!(!is_same(one, other) && !is_same(other, one), "{one} {other}");
        }
    }

    #[test]
    fn what_is_nested_deeply_is_no_value() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(!is_same(&deep, &deep));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            "[a-c~/\"é]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c~/]{0,2}", inner, 0..4)
                    .prop_map(|of| Value::Object(of.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Places lead where they lead in a tree that is read whole, and values equal themselves.
        #[test]
        fn places_lead_where_they_lead_in_a_tree(
            tree in value(), pointer in "(/(~0|~1|[a-c0-3]){0,2}){0,3}", other in value(),
        ) {
            let text = serde_json::to_string_pretty(&tree).unwrap();
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let found = at(&text, &pointer).map(read);
            prop_assert_eq!(found.as_ref(), tree.pointer(&pointer));
            prop_assert!(is_same(&text, &tree.to_string()));
            prop_assert_eq!(is_same(&text, &other.to_string()), tree == other);
        }

        #[test]
        fn nothing_that_is_read_ends_the_program(text in ".{0,60}", pointer in "(/.{0,3}){0,3}") {
            at(&text, &pointer);
            is_same(&text, &text);
        }
    }
}
