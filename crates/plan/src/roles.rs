//! `{{role.NAME.address}}` and `{{role.NAME.port}}` in any text of a plan: where the first instance
//! of a role stands. What is between double braces and no such name is left as it is, for those who
//! know it.

use std::collections::BTreeMap;

use crate::reading::Reading;
use crate::reading::tree::{Node, Table, Value};

/// Where a role stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The address of its first instance.
    pub address: String,
    /// Its port.
    pub port: u16,
}

/// The places of roles, by their names.
pub type Places = BTreeMap<String, Place>;

/// What stands for an address before a role has one: of the block for documentation (RFC 5737).
const NOWHERE: (&str, u16) = ("192.0.2.1", 80);

/// Fills in the names of roles in all texts but those of the roles, which are filled in when they
/// are made. Without places, as before anything stands, each has a stand-in.
pub(crate) fn fill_in(root: &mut Table, reading: &Reading, places: Option<&Places>) {
    let known: Vec<String> = match root.get("role").map(|entry| &entry.node.value) {
        Some(Value::Table(roles)) => roles.entries.iter().map(|of| of.key.clone()).collect(),
        _ => Vec::new(),
    };
    let others = root.entries.iter_mut().filter(|entry| entry.key != "role");
    others.for_each(|entry| fill_node(&mut entry.node, reading, (&known, places)));
}

fn fill_node(node: &mut Node, reading: &Reading, of: (&[String], Option<&Places>)) {
    let place = node.place;
    match &mut node.value {
        Value::Text(text) | Value::Typed(text) if text.contains("{{") => {
            match filled(text, of.0, of.1) {
                Ok(filled) => *text = filled,
                Err(name) => {
                    let message = format!("expected a role of the plan, found `{name}`");
                    reading.fault(place, message, Some(format!("there is no [role.{name}]")));
                }
            }
        }
        Value::List(nodes) => nodes.iter_mut().for_each(|node| fill_node(node, reading, of)),
        Value::Table(table) => {
            table.entries.iter_mut().for_each(|entry| fill_node(&mut entry.node, reading, of));
        }
        _ => {}
    }
}

/// A text with its roles filled in; the name of one that there is not.
fn filled(text: &str, known: &[String], places: Option<&Places>) -> Result<String, String> {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("{{") {
        let Some(len) = rest[at..].find("}}") else { break };
        let (before, inside) = (&rest[..at], rest[at + 2..at + len].trim());
        out.push_str(before);
        let part = inside.strip_prefix("role.").and_then(|of| of.split_once('.'));
        match part {
            Some((name, what @ ("address" | "port"))) => {
                if !known.iter().any(|of| of == name) {
                    return Err(name.to_owned());
                }
                let place = places.and_then(|places| places.get(name));
                let (address, port) = place.map_or(NOWHERE, |of| (of.address.as_str(), of.port));
                match what {
                    "port" => out.push_str(&port.to_string()),
                    _ => out.push_str(address),
                }
            }
            _ => out.push_str(&rest[at..at + len + 2]),
        }
        rest = &rest[at + len + 2..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_filled_in_and_other_names_left() {
        let known = ["web".to_owned(), "db".to_owned()];
        let place = Place { address: "10.0.0.2".to_owned(), port: 8080 };
        let places = Places::from([("web".to_owned(), place)]);
        let text = "http://{{role.web.address}}:{{ role.web.port }}/{{counter}}{{";
        assert_eq!(
            filled(text, &known, Some(&places)).unwrap(),
            "http://10.0.0.2:8080/{{counter}}{{"
        );
        assert_eq!(filled("{{role.db.address}}", &known, None).unwrap(), "192.0.2.1");
        assert_eq!(filled("{{role.dp.port}}", &known, None).unwrap_err(), "dp");
        assert_eq!(filled("{{role.web.name}}", &known, None).unwrap(), "{{role.web.name}}");
    }
}
