//! A plan's text with the flags laid over it, as it was written: nothing is filled in, neither
//! defaults nor the places of roles, so that it can be executed again anywhere.

use std::borrow::Cow;
use std::path::Path;

use plimsoll_workload::request::secrets;

use crate::reading::Reading;
use crate::reading::secret::REDACTED;
use crate::reading::text::{bare_or_quoted, quoted};
use crate::reading::tree::{Entry, Node, Table, Value, is_source};
use crate::sections::key_at;

/// The text of a tree, without some of the keys and sections above all. Secrets are left out, as in
/// any plan that is printed. Files that flags name are told from `here`, those of levels and of the
/// text from its `folder`.
pub(crate) fn text(root: &Table, reading: &Reading, here: &Path, left_out: &[&str]) -> String {
    let printer = Printer { reading, here };
    let mut out = String::new();
    let entries = root.entries.iter().filter(|entry| !left_out.contains(&entry.key.as_str()));
    printer.entries(&mut out, "", &entries.collect::<Vec<_>>());
    out
}

/// A value as it stands behind the `=`; a secret is left out.
pub(crate) fn value(reading: &Reading, path: &str, node: &Node) -> String {
    Printer { reading, here: Path::new("") }.value(path, node)
}

/// Whether a table is the value of a key: where a secret of a role comes from.
fn is_value(path: &str, table: &Table) -> bool {
    path.starts_with("role.") && is_source(table)
}

struct Printer<'a> {
    reading: &'a Reading,
    here: &'a Path,
}

impl Printer<'_> {
    fn table(&self, out: &mut String, path: &str, table: &Table) {
        let is_section = |of: &Value| matches!(of, Value::Table(table) if !is_value(path, table));
        let has_own = |entry: &Entry| !is_section(&entry.node.value);
        if table.entries.is_empty() || table.entries.iter().any(has_own) {
            out.push_str(&format!("\n[{path}]\n"));
        }
        self.entries(out, path, &table.entries.iter().collect::<Vec<_>>());
    }

    fn entries(&self, out: &mut String, path: &str, entries: &[&Entry]) {
        let mut tables = Vec::new();
        for entry in entries {
            let key = bare_or_quoted(&entry.key);
            let own = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
            match &entry.node.value {
                Value::Table(table) if !is_value(&own, table) => tables.push((own, table)),
                _ => out.push_str(&format!("{key} = {}\n", self.value(&own, &entry.node))),
            }
        }
        for (path, table) in tables {
            self.table(out, &path, table);
        }
    }

    fn value(&self, path: &str, node: &Node) -> String {
        if self.reading.sources[node.place.source].hides(node.place) {
            return quoted(REDACTED);
        }
        match &node.value {
            Value::Text(text) => quoted(&kept(path, text)),
            Value::Whole(number) => number.to_string(),
            Value::Real(number) => format!("{number:?}"),
            Value::Switch(on) => on.to_string(),
            Value::Moment(text) => text.clone(),
            Value::List(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(|node| self.value(path, node)).collect();
                format!("[{}]", nodes.join(", "))
            }
            Value::Table(table) => {
                let pair = |of: &Entry| {
                    format!("{} = {}", bare_or_quoted(&of.key), self.value(path, &of.node))
                };
                let pairs: Vec<String> = table.entries.iter().map(pair).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
            Value::Typed(text) => self.typed(path, text, self.reading.is_from_here(node.place)),
        }
    }

    /// The value of a flag, in the form that reads back the same.
    fn typed(&self, path: &str, text: &str, is_from_here: bool) -> String {
        let is_file = key_at(path).is_some_and(|key| key.takes() == "file");
        if is_file && is_from_here {
            return quoted(&self.here.join(text).display().to_string());
        }
        let is_bare = text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
            || ["true", "false"].contains(&text);
        if is_bare { text.to_owned() } else { quoted(&kept(path, text)) }
    }
}

/// A text as it is kept: without what is a secret in it though its key does not say so.
fn kept<'a>(path: &str, text: &'a str) -> Cow<'a, str> {
    match path.rsplit_once('.') {
        Some((_, "url")) => Cow::Owned(secrets::without(text, REDACTED)),
        Some((_, "body")) if secrets::is_in_body(text) => Cow::Borrowed(REDACTED),
        Some((section, name)) if section.ends_with("headers") => {
            match secrets::is_in_header(name.trim_matches('"'), text) {
                true => Cow::Borrowed(REDACTED),
                false => Cow::Borrowed(text),
            }
        }
        _ => Cow::Borrowed(text),
    }
}
