//! The page of what goes on, in its versions: which parts have changed since one that a browser
//! has, and the events that tell it of them.

use std::fmt::Write;

use plimsoll_draw::{Attribute, Markup};

use crate::document::Parts;

/// What exchanges the parts in a browser.
const SCRIPT: &str = include_str!("live.js");

/// What stands first in the line above a page.
const GOES_ON: &str = "Live";

/// A version of the page.
pub(super) struct Page {
    /// Counted from 1.
    pub(super) version: u64,
    parts: Parts,
    /// In which version each part last changed: the header, then the sections in order.
    changed: Vec<u64>,
    /// In which version sections last came or went.
    arranged: u64,
}

impl Page {
    /// The first version.
    pub(super) fn first(parts: Parts) -> Self {
        let changed = vec![1; parts.sections.len() + 1];
        Self { version: 1, parts, changed, arranged: 1 }
    }

    /// The next version.
    pub(super) fn next(&self, parts: Parts) -> Self {
        let version = self.version + 1;
        let ids = |of: &Parts| of.sections.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        let is_arranged_anew = ids(&self.parts) != ids(&parts);
        let same = |(before, now): (&Markup, &Markup)| before.written() == now.written();
        let changed = match is_arranged_anew {
            true => vec![version; parts.sections.len() + 1],
            false => {
                let pairs = in_order(&self.parts).zip(in_order(&parts)).zip(&self.changed);
                pairs.map(|(pair, at)| if same(pair) { *at } else { version }).collect()
            }
        };
        let arranged = if is_arranged_anew { version } else { self.arranged };
        Self { version, parts, changed, arranged }
    }

    /// The page as the report that it is, without anything that would change it.
    pub(super) fn report(&self) -> String {
        self.parts.html(|_| {}, &[])
    }

    /// The page that changes while it is looked at: by the events at a path. `now` is the line
    /// above it.
    pub(super) fn live(&self, events: &str, now: &str) -> String {
        let attributes: [Attribute<'_>; 4] =
            [("class", &"live"), ("id", &"live"), ("role", &"status"), ("data-events", &events)];
        let above = |m: &mut Markup| {
            m.tag("p", &attributes, |m| {
                m.leaf("b", &[], GOES_ON);
                m.text(" ");
                m.leaf("span", &[], now);
            });
        };
        self.parts.html(above, &[SCRIPT])
    }

    /// The events that make this version of an earlier one; `id` is what this one is called.
    pub(super) fn since(&self, seen: u64, id: &str) -> String {
        let mut out = String::new();
        if self.arranged > seen {
            event(&mut out, "part", &["main", self.parts.main().written()]);
        }
        let mut changed = self.changed.iter().map(|version| *version > seen);
        if changed.next() == Some(true) {
            event(&mut out, "part", &["header", self.parts.header.written()]);
        }
        let all = self.parts.sections.iter().zip(changed);
        for ((id, inside), is_changed) in all.filter(|_| self.arranged <= seen) {
            if is_changed {
                event(&mut out, "part", &[&format!("#{id}"), inside.written()]);
            }
        }
        // Who has taken all of it says so when the connection breaks, by the last identifier.
        let _ = writeln!(out, "id: {id}");
        event(&mut out, "drawn", &[self.parts.class, &self.parts.title]);
        out
    }
}

/// The header and the sections.
fn in_order(parts: &Parts) -> impl Iterator<Item = &Markup> {
    let sections = parts.sections.iter().map(|(_, inside)| inside);
    std::iter::once(&parts.header).chain(sections)
}

/// Writes an event of some texts, each from a line of its own on.
pub(super) fn event(out: &mut String, name: &str, texts: &[&str]) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "event: {name}");
    for line in texts.iter().flat_map(|text| text.split(['\n', '\r'])) {
        let _ = writeln!(out, "data: {line}");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(header: &str, sections: &[(&'static str, &str)]) -> Parts {
        let text = |text: &str| {
            let mut m = Markup::default();
            m.text(text);
            m
        };
        let sections = sections.iter().map(|(id, of)| (*id, text(of))).collect();
        Parts { title: "A run".to_owned(), class: "one", header: text(header), sections }
    }

    fn told(page: &Page, seen: u64) -> Vec<String> {
        let text = page.since(seen, "s-9");
        let part = |event: &str| {
            let (_, data) = event.split_once("event: part\ndata: ")?;
            Some(data.lines().next()?.to_owned())
        };
        text.split("\n\n").filter_map(part).collect()
    }

    #[test]
    fn who_has_a_version_is_told_of_what_changed_since() {
        let first = Page::first(parts("0 s", &[("load", "a"), ("plan", "p")]));
        assert_eq!(told(&first, 0), ["main", "header"]);
        assert!(told(&first, 1).is_empty());
        let second = first.next(parts("1 s", &[("load", "b"), ("plan", "p")]));
        assert_eq!(told(&second, 1), ["header", "#load"]);
        let third = second.next(parts("1 s", &[("load", "c"), ("plan", "p")]));
        assert_eq!(told(&third, 2), ["#load"]);
        assert_eq!(told(&third, 1), ["header", "#load"]);
        let fourth = third.next(parts("1 s", &[("load", "c"), ("names", "n"), ("plan", "p")]));
        assert_eq!(told(&fourth, 3), ["main", "header"]);
        assert!(told(&fourth, 4).is_empty());
    }

    #[test]
    fn every_line_of_an_event_is_data_and_escaped() {
        let page = Page::first(parts("<b>\nevent: end\n\nid: 7", &[]));
        let text = page.since(0, "s-1");
        assert!(text.contains("data: &lt;b&gt;\ndata: event: end\ndata: \n"), "{text}");
        let lines = text.lines().filter(|line| !line.is_empty());
        let fields: Vec<&str> = lines.filter_map(|line| line.split(": ").next()).collect();
        assert!(fields.iter().all(|of| ["event", "data", "id"].contains(of)), "{fields:?}");
        assert_eq!(text.lines().filter(|line| line.starts_with("id")).count(), 1);
    }
}
