//! Writes HTML and SVG so that it cannot come out wrong: elements close where their closure ends,
//! and every text and attribute value is escaped. The only way around it is [`Markup::verbatim`],
//! which takes text fixed at compile time.

use std::fmt::{Display, Write};

/// An attribute: its name, and a value that is escaped when written.
pub(crate) type Attribute<'a> = (&'a str, &'a dyn Display);

/// A document under construction.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    out: String,
}

impl Markup {
    /// Writes an element and, by the closure, what is in it.
    pub(crate) fn tag(
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
    pub(crate) fn void(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.start(name, attributes);
        self.out.push('>');
    }

    /// Writes an element of SVG that has nothing in it.
    pub(crate) fn shape(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.start(name, attributes);
        self.out.push_str("/>");
    }

    /// Writes an element that holds text only.
    pub(crate) fn leaf(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        text: impl Display,
    ) {
        self.tag(name, attributes, |m| m.text(text));
    }

    /// Writes text, escaped.
    pub(crate) fn text(&mut self, text: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(Escape(&mut self.out), "{text}");
    }

    /// Writes markup that was fixed at compile time, as it is.
    pub(crate) fn verbatim(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// The document.
    pub(crate) fn finish(self) -> String {
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
}
