//! A JSON body with its members in the order in which they were sent.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use crate::scenario::written::table;

/// A value; its depth is bounded by the reader.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Whole(i64),
    /// A whole number that TOML cannot hold.
    Large,
    Real(f64),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Json {
    /// Reads a body that is an object.
    pub(super) fn object(text: &str) -> Option<Vec<(String, Self)>> {
        match serde_json::from_str(text) {
            Ok(Self::Object(members)) => Some(members),
            _ => None,
        }
    }

    /// The text of TOML that is this value; `text` writes a member's text, by its name. `None` for
    /// what TOML cannot hold: null, numbers beyond 64 bits, a name twice.
    pub(super) fn written(
        &self,
        name: &str,
        text: &mut impl FnMut(&str, &str) -> String,
    ) -> Option<String> {
        Some(match self {
            Self::Null | Self::Large => return None,
            Self::Bool(value) => value.to_string(),
            Self::Whole(value) => value.to_string(),
            Self::Real(value) => format!("{value:?}"),
            Self::Text(value) => text(name, value),
            Self::List(values) => {
                let values: Option<Vec<String>> =
                    values.iter().map(|value| value.written(name, text)).collect();
                format!("[{}]", values?.join(", "))
            }
            Self::Object(members) => members_written(members, text)?,
        })
    }

    /// Every text in it, with the name of its member.
    pub(super) fn texts<'a>(&'a self, name: &'a str, each: &mut impl FnMut(&'a str, &'a str)) {
        match self {
            Self::Text(text) => each(name, text),
            Self::List(values) => values.iter().for_each(|value| value.texts(name, each)),
            Self::Object(members) => {
                members.iter().for_each(|(name, value)| value.texts(name, each));
            }
            _ => {}
        }
    }
}

/// The table of TOML that is an object.
pub(super) fn members_written(
    members: &[(String, Json)],
    text: &mut impl FnMut(&str, &str) -> String,
) -> Option<String> {
    let mut fields = Vec::new();
    for (name, value) in members {
        if fields.iter().any(|(taken, _)| taken == name) {
            return None;
        }
        fields.push((name.clone(), value.written(name, text)?));
    }
    Some(table(fields))
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Whole(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(i64::try_from(value).map_or(Json::Large, Json::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Real(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = from.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = from.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}
