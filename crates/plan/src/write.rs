//! Writing a plan as TOML: sections, keys, values in the form that reads back the same.

use std::fmt::Display;
use std::time::Duration;

use plimsoll_units::show_duration_exact;

/// A plan's text while it grows.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    out: String,
}

/// The entries of an inline table while it grows.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    parts: Vec<String>,
}

impl Writer {
    pub(crate) fn section(&mut self, name: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&format!("[{name}]\n"));
    }

    fn line(&mut self, key: &str, value: &str) {
        self.out.push_str(&format!("{} = {value}\n", bare_or_quoted(key)));
    }

    pub(crate) fn text(&mut self, key: &str, value: impl Display) {
        self.line(key, &quoted(&value.to_string()));
    }

    pub(crate) fn duration(&mut self, key: &str, value: Duration) {
        self.line(key, &quoted(&exact(value)));
    }

    /// A whole number; beyond what TOML's integers hold, as text.
    pub(crate) fn whole(&mut self, key: &str, value: u64) {
        let fits = i64::try_from(value).is_ok();
        let value = value.to_string();
        self.line(key, &if fits { value } else { quoted(&value) });
    }

    /// The section of a name of the user's choice.
    pub(crate) fn section_of(&mut self, name: &str, label: &str) {
        self.section(&format!("{name}.{}", bare_or_quoted(label)));
    }

    /// A finite number, to the bit.
    pub(crate) fn number(&mut self, key: &str, value: f64) {
        self.line(key, &format!("{value:?}"));
    }

    pub(crate) fn numbers(&mut self, key: &str, values: &[f64]) {
        let items: Vec<_> = values.iter().map(|value| format!("{value:?}")).collect();
        self.line(key, &format!("[{}]", items.join(", ")));
    }

    pub(crate) fn switch(&mut self, key: &str, value: bool) {
        self.line(key, if value { "true" } else { "false" });
    }

    pub(crate) fn list(&mut self, key: &str, items: impl Iterator<Item = String>) {
        let items: Vec<_> = items.map(|item| quoted(&item)).collect();
        self.line(key, &format!("[{}]", items.join(", ")));
    }

    pub(crate) fn inline(&mut self, key: &str, table: &Inline) {
        let parts = table.parts.join(", ");
        self.line(key, &if parts.is_empty() { "{}".into() } else { format!("{{ {parts} }}") });
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }
}

impl Inline {
    fn part(&mut self, key: &str, value: &str) {
        self.parts.push(format!("{} = {value}", bare_or_quoted(key)));
    }

    pub(crate) fn text(&mut self, key: &str, value: impl Display) {
        self.part(key, &quoted(&value.to_string()));
    }

    pub(crate) fn texts(&mut self, key: &str, values: &[&str]) {
        match values {
            [one] => self.text(key, one),
            several => {
                let items: Vec<_> = several.iter().map(|value| quoted(value)).collect();
                self.part(key, &format!("[{}]", items.join(", ")));
            }
        }
    }

    pub(crate) fn whole(&mut self, key: &str, value: u64) {
        self.part(key, &value.to_string());
    }

    /// A finite number, to the bit.
    pub(crate) fn number(&mut self, key: &str, value: f64) {
        self.part(key, &format!("{value:?}"));
    }

    pub(crate) fn switch(&mut self, key: &str, value: bool) {
        self.part(key, if value { "true" } else { "false" });
    }
}

/// A duration in the units of plans.
pub(crate) fn exact(value: Duration) -> String {
    show_duration_exact(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
}

fn bare_or_quoted(key: &str) -> String {
    let bare =
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare { key.into() } else { quoted(key) }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
