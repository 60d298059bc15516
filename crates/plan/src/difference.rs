//! What distinguishes the texts of two plans, key by key.

use std::collections::BTreeMap;

use crate::reading::source::Source;
use crate::reading::tree::{Node, Table, Value, read};

/// What has changed from one plan to another, a line each: `load.for: 10s, was 5s`. Nothing where a
/// text is not TOML.
#[must_use]
pub fn differences(before: &str, after: &str) -> Vec<String> {
    let (Some(before), Some(after)) = (keys_of(before), keys_of(after)) else { return Vec::new() };
    let all: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let line = |key: &String| match (before.get(key), after.get(key)) {
        (Some(was), Some(is)) if was != is => Some(format!("{key}: {is}, was {was}")),
        (Some(was), None) => Some(format!("{key}: no more, was {was}")),
        (None, Some(is)) => Some(format!("{key}: {is}, was not there")),
        _ => None,
    };
    all.into_iter().filter_map(line).collect()
}

fn keys_of(text: &str) -> Option<BTreeMap<String, String>> {
    let root = read(&mut Source::file("plan", text)).ok()?;
    let mut keys = BTreeMap::new();
    gather("", &root, &mut keys);
    Some(keys)
}

fn gather(path: &str, table: &Table, keys: &mut BTreeMap<String, String>) {
    for entry in &table.entries {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", entry.key);
        match &entry.node.value {
            Value::Table(inner) => gather(&path, inner, keys),
            _ => drop(keys.insert(path, shown(&entry.node))),
        }
    }
}

fn shown(node: &Node) -> String {
    match &node.value {
        Value::List(nodes) => {
            let nodes: Vec<String> = nodes.iter().map(shown).collect();
            format!("[{}]", nodes.join(", "))
        }
        Value::Table(table) => {
            let mut keys = BTreeMap::new();
            gather("", table, &mut keys);
            let pairs: Vec<String> = keys.iter().map(|(key, of)| format!("{key} = {of}")).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        of => of.level().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn what_has_changed_is_told_key_by_key() {
        let before = "seed = 1\n[load]\nfor = '5s'\nusers = 4\n[factor]\n\"load.users\" = [1, 2]\n";
        let after = "[load]\nusers = 4\nfor = '10s'\nwarm_up = '1s'\n\
                     [factor]\n\"load.users\" = [1, 2, 4]\n";
        let told = [
            "factor.load.users: [1, 2, 4], was [1, 2]",
            "load.for: 10s, was 5s",
            "load.warm_up: 1s, was not there",
            "seed: no more, was 1",
        ];
        assert_eq!(differences(before, after), told);
        assert!(differences(before, before).is_empty());
        assert!(differences(before, "no toml").is_empty());
    }
}
