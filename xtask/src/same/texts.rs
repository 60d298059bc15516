//! What is compared of a text: without what differs from one run of a program to the next.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// Fields whose values are of one execution alone.
const OF_ONE: [&str; 13] = [
    "id",
    "started",
    "started_unix_ns",
    "wall_s",
    "took_s",
    "spent_s",
    "cpu_s",
    "compile_cpu_s",
    "requests_per_cpu_s",
    "at",
    "host",
    "version",
    "plan_file",
];

/// A text without identities, folders and durations of the computation: JSON field by field.
pub(super) fn plain(text: &str, own: &Path) -> String {
    let text = text.replace(&own.display().to_string(), "OWN");
    if let Ok(mut value) = serde_json::from_str::<Value>(&text) {
        without(&mut value);
        return format!("{value:#}");
    }
    text.lines().map(without_identities).fold(String::new(), |all, line| all + &line + "\n")
}

fn without(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !OF_ONE.contains(&name.as_str()));
            fields.values_mut().for_each(without);
        }
        Value::Array(values) => values.iter_mut().for_each(without),
        Value::String(text) => *text = without_identities(text),
        _ => {}
    }
}

/// A text in which each word that is the name of a run stands as `RUN`, and a free port as `PORT`.
fn without_identities(text: &str) -> String {
    without_ports(&without_runs(text))
}

/// The least of the ports that a kernel gives to whoever asks for any.
const FREE: u32 = 30_000;

fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = part.find(|of: char| !of.is_ascii_digit()).unwrap_or(part.len());
        let is_free = part[..ends].parse::<u32>().is_ok_and(|port| port >= FREE);
        plain += if is_free { "127.0.0.1:PORT" } else { "127.0.0.1:" };
        plain += &part[if is_free { ends } else { 0 }..];
    }
    plain
}

fn without_runs(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('T') {
        let begins = at.checked_sub(8).filter(|begins| rest.is_char_boundary(*begins));
        match begins.filter(|begins| is_identity(&rest.as_bytes()[*begins..])) {
            Some(begins) => {
                plain += &rest[..begins];
                plain += "RUN";
                rest = &rest[begins + IDENTITY.len()..];
            }
            None => {
                plain += &rest[..=at];
                rest = &rest[at + 1..];
            }
        }
    }
    plain + rest
}

/// How the name of a run is written: digits, letters, and what stands as it is.
const IDENTITY: &str = "00000000T000000Z-aaaa";

fn is_identity(text: &[u8]) -> bool {
    text.len() >= IDENTITY.len()
        && IDENTITY.bytes().zip(text).all(|(wanted, is)| match wanted {
            b'0' => is.is_ascii_digit(),
            b'a' => is.is_ascii_alphanumeric(),
            _ => wanted == *is,
        })
}

/// The fields that a JSON document has, with the kinds of their values.
pub(super) fn shape(text: &str) -> String {
    let Ok(value) = serde_json::from_str(text) else { return text.to_owned() };
    let mut fields = BTreeSet::new();
    gather(&value, "", &mut fields);
    fields.into_iter().fold(String::new(), |all, field| all + &field + "\n")
}

fn gather(value: &Value, at: &str, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(of) => of.iter().for_each(|(name, value)| {
            // Names that come with the answers are no fields.
            let name = if name.parse::<u64>().is_ok() { "0" } else { name };
            gather(value, &format!("{at}.{name}"), fields);
        }),
        Value::Array(of) => of.iter().for_each(|value| gather(value, &format!("{at}[]"), fields)),
        // What a short run can state hangs on its answers.
        Value::Null | Value::Number(_) => drop(fields.insert(format!("{at}: number"))),
        Value::Bool(_) => drop(fields.insert(format!("{at}: yes or no"))),
        Value::String(_) => drop(fields.insert(format!("{at}: text"))),
    }
}

/// The first line in which two texts differ: its number, and both.
pub(super) fn first_difference(was: &str, is: &str) -> Option<(usize, String, String)> {
    let (mut was, mut is) = (was.lines(), is.lines());
    for number in 1.. {
        match (was.next(), is.next()) {
            (None, None) => return None,
            (was, is) if was == is => {}
            (was, is) => {
                let text = |of: Option<&str>| of.unwrap_or("(ends)").to_owned();
                return Some((number, text(was), text(is)));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_one_run_is_no_difference_and_all_else_is() {
        let own = Path::new("/tmp/a");
        let line = "kept in /tmp/a/runs/20261201T150201Z-h38x: 3 of 4, Té";
        let ports = "to 127.0.0.1:8080 by 127.0.0.1:41234, and 127.0.0.1:";
        assert_eq!(plain(ports, own), "to 127.0.0.1:8080 by 127.0.0.1:PORT, and 127.0.0.1:\n");
        assert_eq!(plain(line, own), "kept in OWN/runs/RUN: 3 of 4, Té\n");
        let one =
            r#"{"id": "x", "cells": [{"wall_s": 2, "rate": 1.5}], "n": "20261201T150201Z-h38x"}"#;
        let other =
            r#"{"id": "y", "cells": [{"wall_s": 3, "rate": 1.5}], "n": "20261202T150201Z-h38y"}"#;
        assert_eq!(plain(one, own), plain(other, own));
        let (was, is) = (plain(one, own), plain(&other.replace("1.5", "1.6"), own));
        let (at, was, is) = first_difference(&was, &is).expect("one field differs");
        assert_eq!((at, was.trim(), is.trim()), (4, "\"rate\": 1.5", "\"rate\": 1.6"));
        assert_eq!(first_difference("a\nb\n", "a\n").map(|of| of.2), Some("(ends)".to_owned()));
        assert_eq!(first_difference("a\n", "a\n"), None);
    }

    #[test]
    fn a_shape_has_fields_and_no_values() {
        let shaped = shape(r#"{"a": [{"b": 1}, {"b": null, "c": "t"}], "status": {"200": 3}}"#);
        assert_eq!(shaped, ".a[].b: number\n.a[].c: text\n.status.0: number\n");
    }
}
