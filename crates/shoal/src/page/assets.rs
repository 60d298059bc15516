//! What the page loads: its style, its script, the outline of the land, its mark. All of it is in
//! the program.
//!
//! A page names them with a digest of their content, so that a browser may keep them for good and
//! still has the new ones after an update.

use plimsoll_units::hash::fnv_1a;

/// A file that the page loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Its name below `/assets/`.
    pub name: &'static str,
    /// Its content type.
    pub content_type: &'static str,
    /// Its content.
    pub body: &'static str,
}

const SVG: &str = "image/svg+xml";

/// All of them.
pub const ASSETS: [Asset; 4] = [
    Asset {
        name: "page.css",
        content_type: "text/css; charset=utf-8",
        body: include_str!("page.css"),
    },
    Asset {
        name: "page.js",
        content_type: "text/javascript; charset=utf-8",
        body: include_str!("page.js"),
    },
    Asset { name: "world.svg", content_type: SVG, body: include_str!("world.svg") },
    Asset { name: "mark.svg", content_type: SVG, body: include_str!("mark.svg") },
];

impl Asset {
    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ASSETS.iter().find(|asset| asset.name == name)
    }
}

/// Where a page finds an asset.
pub(super) fn href(name: &'static str) -> String {
    let body = Asset::named(name).map_or("", |asset| asset.body);
    format!("/assets/{name}?v={:016x}", fnv_1a(body.as_bytes()))
}
