//! Writes HTML and SVG so that it cannot come out wrong: elements close where their closure ends,
//! and every text and attribute value is escaped. The only way around it is [`Markup::verbatim`],
//! which takes text fixed at compile time.
//!
//! What only the clock changes (an age) is told apart while it is written ([`Markup::moving`]): the
//! digest of a page is that of the rest, so that a page on which nothing happened keeps its digest.

use std::fmt::{Display, Write};
use std::ops::Range;

use plimsoll_units::hash::{FNV_1A, fnv_1a_on};

/// An attribute: its name, and a value that is escaped when written.
pub type Attribute<'a> = (&'a str, &'a dyn Display);

/// A document under construction.
#[derive(Debug, Default)]
pub struct Markup {
    out: String,
    /// What the clock alone changes, in order.
    moving: Vec<Range<usize>>,
    /// What stands for it in the digest.
    keys: u64,
}

impl Markup {
    /// Writes an element and, by the closure, what is in it.
    pub fn tag(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        inside: impl FnOnce(&mut Self),
    ) {
        self.start(name, attributes);
        self.out.push('>');
        inside(self);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// Writes an element of HTML that has no end tag (`meta`, `input`).
    pub fn void(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.start(name, attributes);
        self.out.push('>');
    }

    /// Writes an element of SVG that has nothing in it.
    pub fn shape(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.start(name, attributes);
        self.out.push_str("/>");
    }

    /// Writes an element that holds text only.
    pub fn leaf(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: impl Display) {
        self.tag(name, attributes, |m| m.text(text));
    }

    /// Writes text, escaped.
    pub fn text(&mut self, text: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(Escape(&mut self.out), "{text}");
    }

    /// Writes markup that was fixed at compile time, as it is.
    pub fn verbatim(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// Writes what another one wrote.
    pub fn append(&mut self, other: &Self) {
        self.out.push_str(&other.out);
    }

    /// What was written so far.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.out
    }

    /// Writes what the clock alone changes; `key` stands for it in the digest.
    pub fn moving(&mut self, key: u64, inside: impl FnOnce(&mut Self)) {
        let from = self.out.len();
        inside(self);
        self.moving.push(from..self.out.len());
        self.keys = fnv_1a_on(self.keys, &key.to_le_bytes());
    }

    /// The digest (FNV-1a) of all that was written, but of what the clock changes.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let (mut digest, mut from) = (fnv_1a_on(FNV_1A, &self.keys.to_le_bytes()), 0);
        for moving in &self.moving {
            digest = fnv_1a_on(digest, &self.out.as_bytes()[from..moving.start]);
            from = moving.end;
        }
        fnv_1a_on(digest, &self.out.as_bytes()[from..])
    }

    /// The document.
    #[must_use]
    pub fn finish(self) -> String {
        self.out
    }

    fn start(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.out.push('<');
        self.out.push_str(name);
        for (key, value) in attributes {
            self.out.push(' ');
            self.out.push_str(key);
            self.out.push_str("=\"");
            let _ = write!(Escape(&mut self.out), "{value}");
            self.out.push('"');
        }
    }
}

/// Escapes what is written through it: fit for element content and for quoted attribute values.
///
/// Control characters, and those that turn the direction of writing, become U+FFFD: a name must
/// not be able to rearrange what stands next to it.
struct Escape<'a>(&'a mut String);

impl Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                '\u{200e}' | '\u{200f}' | '\u{61c}' => self.0.push('\u{fffd}'),
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => self.0.push('\u{fffd}'),
                c if c.is_control() => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut m = Markup::default();
        m.leaf("p", &[("title", &"\"><script>")], "</p><img src=x onerror='a'>&amp;");
        assert_eq!(
            m.finish(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;/p&gt;&lt;img src=x onerror=&#39;a&#39;&gt;\
             &amp;amp;</p>"
        );
    }

    #[test]
    fn control_and_direction_characters_are_replaced() {
        let mut m = Markup::default();
        m.text("a\0b\u{202e}c\u{1b}[31m\nd\te");
        assert_eq!(m.finish(), "a\u{fffd}b\u{fffd}c\u{fffd}[31m\nd\te");
    }

    fn leaf(value: &str) -> String {
        let mut m = Markup::default();
        m.leaf("p", &[("title", &value)], value);
        m.finish()
    }

    proptest! {
        #[test]
        fn whatever_the_text_it_opens_and_closes_nothing(text in any::<String>()) {
            let written = leaf(&text);
            let inside = written.strip_prefix("<p title=\"").expect("its start");
            let inside = inside.strip_suffix("</p>").expect("its end");
            let (value, content) = inside.split_once("\">").expect("both");
            for part in [value, content] {
                prop_assert!(!part.contains(['<', '>', '"', '\'']), "{part}");
            }
            let back = content.replace("&lt;", "<").replace("&gt;", ">");
            let back = back.replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
            let kept = |c: &char| *c != '\u{fffd}';
            let meant: String = text.chars().filter(|c| back.contains(*c)).filter(kept).collect();
            prop_assert_eq!(back.chars().filter(kept).collect::<String>(), meant);
        }
    }

    #[test]
    fn the_digest_is_of_all_but_what_the_clock_changes() {
        let digest = |text: &str, age: &str, key: u64| {
            let mut m = Markup::default();
            m.text(text);
            m.moving(key, |m| m.text(age));
            m.text("end");
            m.digest()
        };
        let first = digest("a", "1 s", 7);
        assert_eq!(first, digest("a", "20 s", 7));
        assert_ne!(first, digest("b", "1 s", 7));
        assert_ne!(first, digest("a", "1 s", 8));
    }
}
