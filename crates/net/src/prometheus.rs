//! Figures as Prometheus reads them: its text exposition format, version 0.0.4.
//!
//! A [`Page`] is written, and [`parse`] reads one.

mod parse;

pub use parse::{Parsed, Sample, parse};

use std::fmt::{Display, Write as _};

/// The media type of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of figures being written: families, each of a kind, with their samples.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// Begins a family: what follows under its name is a `counter`, a `gauge`, a `summary` or a
    /// `histogram`. `help` is one line.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A family of one sample.
    pub fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// A sample of the family that was begun.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        let mut before = '{';
        for (label, text) in labels {
            let _ = write!(self.0, "{before}{label}=\"");
            for c in text.chars() {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
            before = ',';
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// The whole page.
    #[must_use]
    pub fn text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn samples_stand_behind_their_family() {
        let mut page = Page::default();
        page.one("up", "gauge", "whether it runs", 1);
        page.family("sent_total", "counter", "what was sent");
        page.sample("sent_total", &[("to", "a\"b\\c\nd"), ("code", "2xx")], 0.5);
        assert_eq!(
            page.text(),
            "# HELP up whether it runs\n# TYPE up gauge\nup 1\n\
             # HELP sent_total what was sent\n# TYPE sent_total counter\n\
             sent_total{to=\"a\\\"b\\\\c\\nd\",code=\"2xx\"} 0.5\n"
        );
    }
}
