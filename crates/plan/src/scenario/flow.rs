//! Which variables steps may set, before any of them is understood.

use std::collections::{BTreeMap, BTreeSet};

use crate::reading::tree::{Entry, Node, Table, Value};

/// The keys of variables that are taken anywhere within a value, in the file's order.
pub(super) fn taken<'t>(node: &'t Node, out: &mut Vec<&'t Entry>) {
    match &node.value {
        Value::List(nodes) => nodes.iter().for_each(|node| taken(node, out)),
        Value::Table(table) => taken_in(table, out),
        _ => {}
    }
}

/// As [`taken`], within a table.
pub(super) fn taken_in<'t>(table: &'t Table, out: &mut Vec<&'t Entry>) {
    for entry in &table.entries {
        match &entry.node.value {
            Value::Table(takes) if entry.key == "take" => out.extend(&takes.entries),
            _ => taken(&entry.node, out),
        }
    }
}

/// The names of the variables that steps may set, those of what they call too.
pub(super) fn may_set(
    node: &Node,
    scenarios: &BTreeMap<String, &Table>,
    out: &mut BTreeSet<String>,
) {
    let mut entries = Vec::new();
    taken(node, &mut entries);
    out.extend(entries.iter().map(|entry| entry.key.clone()));
    let mut calls = BTreeSet::new();
    called(node, &mut calls);
    let mut open: Vec<String> = calls.iter().cloned().collect();
    while let Some(name) = open.pop() {
        let Some(table) = scenarios.get(&name) else { continue };
        let mut entries = Vec::new();
        taken_in(table, &mut entries);
        out.extend(entries.iter().map(|entry| entry.key.clone()));
        let mut further = BTreeSet::new();
        table.entries.iter().for_each(|entry| called(&entry.node, &mut further));
        for name in further {
            if calls.insert(name.clone()) {
                open.push(name);
            }
        }
    }
}

/// The names that are called anywhere within a value.
fn called(node: &Node, out: &mut BTreeSet<String>) {
    match &node.value {
        Value::List(nodes) => nodes.iter().for_each(|node| called(node, out)),
        Value::Table(table) => {
            for entry in &table.entries {
                match &entry.node.value {
                    Value::Text(name) if entry.key == "call" => {
                        out.insert(name.clone());
                    }
                    _ => called(&entry.node, out),
                }
            }
        }
        _ => {}
    }
}
