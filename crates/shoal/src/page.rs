//! The page for people: every cache in a table, on a map, and what agents complained of.
//!
//! A pure function from the registry's latest [`Snapshot`], what agents complained of and what is
//! asked for to HTML. It is whole without a script: sorting, filtering and paging are links and a
//! form. `page/page.js` fetches the same page again and puts its parts in the place of what is
//! there, so whatever a browser shows was written, and escaped, here.
//!
//! # Bounds
//!
//! A page has at most 1,000 rows, 1,000 complaints, [`map`](self) dots for 400 places and 250
//! values of a filter, whatever the registry holds. Its cost is one walk over the caches: it is to
//! be called away from the serving threads.
//!
//! # Secrets
//!
//! A cache's uuid is not here; what is told of a cache is what `/v1/caches` tells.

pub mod assets;
mod complaints;
mod document;
mod filters;
mod map;
mod pager;
mod projection;
pub mod query;
mod rows;
mod select;
mod summary;
mod table;
mod words;

pub use projection::{HEIGHT, WIDTH, project};
pub use query::{Column, Fault, Query};

use crate::Now;
use crate::registry::Snapshot;
use crate::server::Complaint;

/// Where a page is written and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The clocks: ages are counted from it.
    pub now: Now,
    /// The URL by which the reader reached the registry, where that is known: an example of an
    /// announcement has it.
    pub base: Option<&'a str>,
    /// Whether caches are asked for an object: without it none is verified, and all are given.
    pub is_verifying: bool,
    /// Whether the object of verification is suspected: no cache is judged by it then.
    pub is_object_suspected: bool,
}

/// A page and its tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// HTML in UTF-8.
    pub body: String,
    /// The header `ETag`: a weak one, which changes with all that is on the page but the clock.
    pub etag: String,
}

/// Writes the page.
///
/// *Cost*: linear in the caches; see `docs/shoal.md` for figures.
#[must_use]
pub fn page(
    snapshot: &Snapshot,
    complaints: &[Complaint],
    query: &Query,
    setting: Setting<'_>,
) -> Page {
    let mut gathered = select::gather(snapshot, query);
    let shown = select::shown(&mut gathered.rows, query);
    let content = document::Content {
        query,
        setting,
        generation: snapshot.generation,
        summary: &gathered.summary,
        dots: &gathered.dots,
        shown: &shown,
        complaints,
    };
    document::write(&content)
}

/// Writes the page that says what is wrong with a query.
#[must_use]
pub fn refusal(fault: &Fault) -> String {
    document::refusal(fault)
}
