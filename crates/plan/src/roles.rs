//! `{{role.NAME.address}}`, `{{role.NAME.port}}` and `{{env.NAME}}` in any text of a plan: where
//! the first instance of a role stands, and a variable of the environment. What is between double
//! braces and none of these is left as it is, for those who know it.
//!
//! What the environment has is in no copy of the plan: a key with such a text is printed as it was
//! written, and the value is hidden wherever a text is shown.

use plimsoll_units::secret;

use crate::reading::standing::Places;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::reading::{Reading, Unfilled};
use crate::sections::key_at;

/// What a plan's `{{env.NAME}}` is filled in by.
#[derive(Debug, Clone, Copy, Default)]
pub enum Environment {
    /// Nothing: such a text is a fault.
    #[default]
    Unread,
    /// A stand-in, for a plan that is only looked at: that of a run.
    StandIn,
    /// The value of a variable.
    Of(fn(&str) -> Option<String>),
}

/// Gives the value of a path as it stands behind the `=`.
type Print<'a> = &'a dyn Fn(&str, &Node) -> String;

/// What stands for an address before a role has one: of the block for documentation (RFC 5737).
pub(crate) const NOWHERE: (&str, u16) = ("192.0.2.1", 80);

/// What texts are filled in by.
struct Known<'a> {
    roles: Vec<String>,
    places: Option<&'a Places>,
    environment: Environment,
}

/// Fills in the names in all texts but those of the roles, which are filled in when they are made.
/// Without places, as before anything stands, each has a stand-in. `written` gives a value as it
/// stands behind the `=`. Returns the keys that have something of the environment in them.
pub(crate) fn fill_in(
    root: &mut Table,
    reading: &Reading,
    (places, environment): (Option<&Places>, Environment),
    written: Print<'_>,
) -> Unfilled {
    let roles = match root.get("role").map(|entry| &entry.node.value) {
        Some(Value::Table(roles)) => roles.entries.iter().map(|of| of.key.clone()).collect(),
        _ => Vec::new(),
    };
    let known = Known { roles, places, environment };
    let mut unfilled = Unfilled::new();
    for entry in root.entries.iter_mut().filter(|entry| entry.key != "role") {
        let path = entry.key.clone();
        if path == "factor" {
            if uses_environment(&entry.node) {
                let message =
                    "expected levels without {{env.…}}, which would be stored with each cell";
                reading.fault(entry.node.place, message, None);
            }
            // Levels are filled in where they are laid over the plan of a cell.
            continue;
        }
        fill_entry(entry, &path, reading, &known, (&mut unfilled, written));
    }
    unfilled
}

fn fill_entry(
    entry: &mut Entry,
    path: &str,
    reading: &Reading,
    known: &Known<'_>,
    (unfilled, written): (&mut Unfilled, Print<'_>),
) {
    // A table below a key of a section, as `load.trace`, is written on the key's line.
    let is_section = !path.contains('.') || key_at(path).is_none();
    if let (Value::Table(table), true) = (&mut entry.node.value, is_section) {
        for entry in &mut table.entries {
            let path = format!("{path}.{}", entry.key);
            fill_entry(entry, &path, reading, known, (unfilled, written));
        }
        return;
    }
    if uses_environment(&entry.node) {
        unfilled.insert(path.to_owned(), written(path, &entry.node));
    }
    fill_node(&mut entry.node, reading, known);
}

/// Whether a value has something of the environment in it.
pub(crate) fn uses_environment(node: &Node) -> bool {
    match &node.value {
        Value::Text(text) | Value::Typed(text) => variables(text).next().is_some(),
        Value::List(nodes) => nodes.iter().any(uses_environment),
        Value::Table(table) => table.entries.iter().any(|entry| uses_environment(&entry.node)),
        _ => false,
    }
}

/// What stands between double braces in a text, with the places of the braces.
fn inside(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text[from..].find("{{")?;
        let len = text[at..].find("}}")?;
        from = at + len + 2;
        Some((at, from, text[at + 2..at + len].trim()))
    })
}

/// The variables of the environment that a text names.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    inside(text).filter_map(|(_, _, inside)| inside.strip_prefix("env."))
}

/// A text of a role with its `{{env.NAME}}` filled in, and whether it has any.
///
/// # Errors
/// What `value` fails with.
pub fn with_variables<E>(
    text: &str,
    value: impl Fn(&str) -> Result<String, E>,
) -> Result<(String, bool), E> {
    let (mut out, mut from, mut has_any) = (String::with_capacity(text.len()), 0, false);
    for (at, end, inside) in inside(text) {
        if let Some(name) = inside.strip_prefix("env.") {
            out.push_str(&text[from..at]);
            out.push_str(&value(name)?);
            (from, has_any) = (end, true);
        }
    }
    out.push_str(&text[from..]);
    Ok((out, has_any))
}

fn fill_node(node: &mut Node, reading: &Reading, known: &Known<'_>) {
    let place = node.place;
    match &mut node.value {
        Value::Text(text) | Value::Typed(text) if text.contains("{{") => {
            match filled(text, known) {
                Ok(filled) => *text = filled,
                Err((message, hint)) => reading.fault(place, message, hint),
            }
        }
        Value::List(nodes) => nodes.iter_mut().for_each(|node| fill_node(node, reading, known)),
        Value::Table(table) => {
            table.entries.iter_mut().for_each(|entry| fill_node(&mut entry.node, reading, known));
        }
        _ => {}
    }
}

/// A text with its names filled in; of one that there is not, what is wrong and what to do.
fn filled(text: &str, known: &Known<'_>) -> Result<String, (String, Option<String>)> {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (at, end, inside) in inside(text) {
        out.push_str(&text[from..at]);
        from = end;
        if let Some(name) = inside.strip_prefix("env.") {
            out.push_str(&variable(name, known.environment)?);
            continue;
        }
        let part = inside.strip_prefix("role.").and_then(|of| of.split_once('.'));
        let Some((name, what @ ("address" | "port"))) = part else {
            out.push_str(&text[at..end]);
            continue;
        };
        if !known.roles.iter().any(|of| of == name) {
            let message = format!("expected a role of the plan, found `{name}`");
            return Err((message, Some(format!("there is no [role.{name}]"))));
        }
        let place = known.places.and_then(|places| places.get(name));
        let (address, port) = place.map_or(NOWHERE, |of| (of.address.as_str(), of.port));
        match what {
            "port" => out.push_str(&port.to_string()),
            _ => out.push_str(address),
        }
    }
    out.push_str(&text[from..]);
    Ok(out)
}

/// The value of a variable, which is hidden from now on.
fn variable(name: &str, of: Environment) -> Result<String, (String, Option<String>)> {
    let wrong = |what: &str, hint: &str| Err((what.to_owned(), Some(hint.to_owned())));
    match of {
        Environment::StandIn => Ok(name.to_ascii_lowercase()),
        Environment::Unread => {
            wrong("expected a text without {{env.…}}", "`plimsoll run` and `load` fill it in")
        }
        Environment::Of(value) => match value(name).filter(|value| !value.is_empty()) {
            Some(value) => {
                secret::learn(&value);
                Ok(value)
            }
            None => {
                let what = format!("expected the environment variable `{name}` to be set");
                wrong(&what, &format!("export {name}=…"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(places: Option<&Places>, environment: Environment) -> Known<'_> {
        Known { roles: vec!["web".to_owned(), "db".to_owned()], places, environment }
    }

    #[test]
    fn roles_are_filled_in_and_other_names_left() {
        let place = crate::Place { address: "10.0.0.2".to_owned(), port: 8080 };
        let places = Places::from([("web".to_owned(), place)]);
        let text = "http://{{role.web.address}}:{{ role.web.port }}/{{counter}}{{";
        let stands = known(Some(&places), Environment::Unread);
        assert_eq!(filled(text, &stands).unwrap(), "http://10.0.0.2:8080/{{counter}}{{");
        let before = known(None, Environment::Unread);
        assert_eq!(filled("{{role.db.address}}", &before).unwrap(), "192.0.2.1");
        assert!(filled("{{role.dp.port}}", &before).unwrap_err().0.contains("`dp`"));
        assert_eq!(filled("{{role.web.name}}", &before).unwrap(), "{{role.web.name}}");
    }

    #[test]
    fn the_environment_is_filled_in_where_it_is_read() {
        let text = "a {{env.TOKEN}} b";
        let value = |name: &str| (name == "TOKEN").then(|| "plan-test-token".to_owned());
        let of = |environment| filled(text, &known(None, environment));
        assert_eq!(of(Environment::Of(value)).unwrap(), "a plan-test-token b");
        assert_eq!(secret::hidden("x plan-test-token"), "x ***");
        assert_eq!(of(Environment::StandIn).unwrap(), "a token b");
        assert!(of(Environment::Unread).is_err());
        let unset = filled("{{env.NONE}}", &known(None, Environment::Of(value))).unwrap_err();
        assert!(unset.0.contains("`NONE`"), "{unset:?}");
    }
}
