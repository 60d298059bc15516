//! What is around the content of every page.

use std::fmt::Display;

use crate::{Attribute, Markup, STYLE};

/// Writes a page of that title: `head` writes what its head has beside what every page has, such as
/// [`styled`], and `body` what stands in its body, which has these attributes.
pub fn page(
    m: &mut Markup,
    title: impl Display,
    head: impl FnOnce(&mut Markup),
    attributes: &[Attribute<'_>],
    body: impl FnOnce(&mut Markup),
) {
    m.verbatim("<!DOCTYPE html>\n");
    m.tag("html", &[("lang", &"en")], |m| {
        m.tag("head", &[], |m| {
            m.void("meta", &[("charset", &"utf-8")]);
            let viewport = "width=device-width, initial-scale=1";
            m.void("meta", &[("name", &"viewport"), ("content", &viewport)]);
            m.void("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
            m.leaf("title", &[], title);
            head(m);
        });
        m.tag("body", attributes, body);
    });
    m.verbatim("\n");
}

/// Writes the [`STYLE`] into the head of a page, so that it needs no other file.
pub fn styled(m: &mut Markup) {
    m.tag("style", &[], |m| m.verbatim(STYLE));
}
