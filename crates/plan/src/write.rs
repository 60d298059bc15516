//! Writing a plan as TOML: sections, keys, values in the form that reads back the same.

use std::fmt::Display;

use crate::reading::Unfilled;
use crate::reading::text::{bare_or_quoted, quoted};
use crate::value::Takes;

/// A plan's text while it grows.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    out: String,
    /// The section that is written, with a dot behind it; empty above the first.
    section: String,
    /// Keys that are written as they were, and not as they were filled in.
    unfilled: Unfilled,
}

impl Writer {
    /// A writer that has these values for these keys.
    pub(crate) fn with(unfilled: &Unfilled) -> Self {
        Self { unfilled: unfilled.clone(), ..Self::default() }
    }

    pub(crate) fn section(&mut self, name: &str) {
        self.section = format!("{name}.");
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&format!("[{name}]\n"));
    }

    fn line(&mut self, key: &str, value: &str) {
        let unfilled = self.unfilled.get(&format!("{}{key}", self.section));
        let value = unfilled.map_or(value, String::as_str);
        self.out.push_str(&format!("{} = {value}\n", bare_or_quoted(key)));
    }

    pub(crate) fn put<T: Takes>(&mut self, key: &str, takes: &T, value: &T::Value) {
        self.line(key, &takes.write(value));
    }

    pub(crate) fn text(&mut self, key: &str, value: impl Display) {
        self.line(key, &quoted(&value.to_string()));
    }

    /// The section of a name of the user's choice.
    pub(crate) fn section_of(&mut self, name: &str, label: &str) {
        self.section(&format!("{name}.{}", bare_or_quoted(label)));
    }

    /// A table on one line.
    pub(crate) fn inline(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
        self.line(key, &Self::table(fill));
    }

    pub(crate) fn list(&mut self, key: &str, items: impl Iterator<Item = String>) {
        let items: Vec<_> = items.map(|item| quoted(&item)).collect();
        self.line(key, &format!("[{}]", items.join(", ")));
    }

    /// A table on one line, with what is written into it.
    pub(crate) fn table(fill: impl FnOnce(&mut Self)) -> String {
        let mut table = Self::default();
        fill(&mut table);
        let parts: Vec<_> = table.out.lines().collect();
        if parts.is_empty() { "{}".into() } else { format!("{{ {} }}", parts.join(", ")) }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }
}
