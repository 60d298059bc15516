//! A file of a test-bed, laid over a plan: its keys win one by one over those of `[testbed]`,
//! `[role.NAME]` and `[link.NAME]`.

use std::path::Path;

use crate::reading::error::Fault;
use crate::reading::source::Source;
use crate::reading::tree::{Entry, Node, Table, Value, is_source, read_as};
use crate::sections::testbed::join_names;

/// Lays the text of such a file over a plan's tree. Files that it names are told from its folder.
pub(crate) fn lay(
    root: &mut Table,
    sources: &mut Vec<Source>,
    (text, origin): (&str, &str),
) -> Vec<Fault> {
    let number = sources.len();
    let mut source = Source::file(origin, text);
    let over = read_as(&mut source, number);
    sources.push(source);
    let mut over = match over {
        Ok(over) => over,
        Err(fault) => return vec![*fault],
    };
    join_names(&mut over);
    let mut faults = Vec::new();
    over.entries.retain(|entry| {
        let fault = fault_of(entry);
        let is_right = fault.is_none();
        faults.extend(fault);
        is_right
    });
    let folder = Path::new(origin).parent().unwrap_or(Path::new(""));
    over.entries.iter_mut().for_each(|entry| tell_files(&mut entry.node, "", folder));
    merge(root, over);
    faults
}

fn fault_of(entry: &Entry) -> Option<Fault> {
    let hint = match entry.key.as_str() {
        "testbed" | "role" | "link" => return None,
        "disk" => "disks are not built yet",
        _ => "leave it to the plan: --set changes single values of it",
    };
    Some(Fault {
        message: format!(
            "expected [testbed], [role.NAME] and [link.NAME] in the file of a test-bed, found `{}`",
            entry.key
        ),
        place: entry.key_place,
        also: None,
        hint: Some(hint.to_owned()),
    })
}

/// Makes names of files absolute: what is behind `file`, and the values of `files`.
fn tell_files(node: &mut Node, key: &str, folder: &Path) {
    match &mut node.value {
        Value::Table(table) => {
            let is_source = is_source(table);
            for entry in &mut table.entries {
                let own = match (key, is_source) {
                    (_, true) if entry.key == "file" => "a file",
                    ("files", false) => "a file",
                    _ => entry.key.as_str(),
                };
                tell_files(&mut entry.node, own, folder);
            }
        }
        Value::Text(name) if key == "a file" => {
            let whole = std::path::absolute(folder.join(&*name));
            whole.into_iter().for_each(|whole| *name = whole.display().to_string());
        }
        _ => {}
    }
}

/// Puts what stands in one table over another, key by key.
fn merge(under: &mut Table, over: Table) {
    for entry in over.entries {
        let there = under.get_mut(&entry.key).map(|there| &mut there.node.value);
        match (there, entry.node.value) {
            (Some(Value::Table(under)), Value::Table(over))
                if !is_source(under) && !is_source(&over) =>
            {
                merge(under, over);
            }
            (_, value) => {
                let node = Node { value, ..entry.node };
                under.set(Entry { node, ..entry });
            }
        }
    }
}
