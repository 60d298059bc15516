//! The last step before a terminal: what would move, hide or colour the text around it is shown as
//! what it is. Names, commands and messages come from files, servers and hosts of anybody's.

use super::paint;
use std::borrow::Cow;

/// A text as it is written: control characters but the end of a line and the tabulator, and marks
/// that change the direction of text, as `\x1b` and `\u202e`. Our own colours stay. A document of
/// JSON stays what it says: raw, it has only such as are written `\u202e` there, too.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = paint::at_begin(rest);
        match colour {
            Some(colour) => out.push_str(colour),
            None if is_hidden(c) && c < ' ' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            None if is_hidden(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            None => out.push(c),
        }
        rest = &rest[colour.map_or(c.len_utf8(), str::len)..];
    }
    Cow::Owned(out)
}

fn is_hidden(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    let turns = ['\u{200e}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    is_control || turns.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::paint::Paint;

    #[test]
    fn what_moves_or_hides_text_is_shown_as_what_it_is() {
        for (text, shown) in [
            ("plain, äöü – × 日本語\n\tnext", "plain, äöü – × 日本語\n\tnext"),
            ("a\x1b[2K\x1b[1A\rb", r"a\x1b[2K\x1b[1A\x0db"),
            ("\x1b]0;own\x07", r"\x1b]0;own\x07"),
            ("\u{9b}2J\u{7f}\0", r"\u009b2J\u007f\x00"),
            ("a\u{202e}b\u{2066}c\u{200f}", r"a\u202eb\u2066c\u200f"),
            // Hidden, blinking, and half of a colour.
            ("\x1b[8mhidden\x1b[5m\x1b[31", r"\x1b[8mhidden\x1b[5m\x1b[31"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn documents_stay_what_they_say() {
        let text = "\u{1b}[2J\u{7f}\u{9b}\u{202e}\r\n\t";
        let document = format!("{:#}\n", serde_json::json!({ "name": text }));
        let shown = visible(&document);
        assert!(!shown.chars().any(is_hidden), "{shown}");
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read["name"], text);
    }

    #[test]
    fn our_own_colours_stay() {
        let paint = Paint::always();
        let all =
            [paint.bold("a"), paint.dim("b"), paint.good("c"), paint.bad("d"), paint.warn("e")];
        let text = all.concat();
        assert!(text.contains('\x1b'));
        assert_eq!(visible(&text), text);
        assert_eq!(visible(&format!("{text}\x1b[2J")), format!(r"{text}\x1b[2J"));
    }
}
