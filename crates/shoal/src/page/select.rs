//! Which rows a page shows: one walk over the caches, then as much of the order as the page needs.

use super::map::Dots;
use super::query::Query;
use super::rows::Row;
use super::summary::Summary;
use crate::registry::Snapshot;

/// What one walk over the caches finds.
#[derive(Debug)]
pub(super) struct Gathered<'a> {
    /// Of all of them.
    pub(super) summary: Summary<'a>,
    /// Where those are that the query wants.
    pub(super) dots: Dots<'a>,
    /// Those that the query wants, in the order in which they joined.
    pub(super) rows: Vec<Row<'a>>,
}

/// Walks over the caches.
pub(super) fn gather<'a>(snapshot: &'a Snapshot, query: &Query) -> Gathered<'a> {
    let (mut summary, mut dots) = (Summary::default(), Dots::default());
    let mut rows = Vec::new();
    for cache in snapshot.caches() {
        let row = Row::of(cache);
        summary.add(&row);
        if row.is_wanted(query) {
            dots.add(&row);
            rows.push(row);
        }
    }
    Gathered { summary, dots, rows }
}

/// The rows of one page.
#[derive(Debug)]
pub(super) struct Shown<'a, 'r> {
    pub(super) rows: &'r [Row<'a>],
    /// Rows on the pages before.
    pub(super) before: usize,
    /// Rows on all pages.
    pub(super) matching: usize,
    /// The page, from 1: the last where fewer are left than were asked for.
    pub(super) page: usize,
    /// Pages, at least 1.
    pub(super) pages: usize,
}

/// The rows of the page that is asked for, in its order.
///
/// *Cost*: linear in the rows for any page; only the page's own rows are sorted.
pub(super) fn shown<'a, 'r>(rows: &'r mut [Row<'a>], query: &Query) -> Shown<'a, 'r> {
    let matching = rows.len();
    let pages = matching.div_ceil(query.size).max(1);
    let page = query.page.min(pages);
    let before = (page - 1) * query.size;
    let order = |one: &Row<'_>, two: &Row<'_>| one.before(two, query.sort, query.falling);
    if before > 0 {
        rows.select_nth_unstable_by(before, order);
    }
    let rest = &mut rows[before..];
    if rest.len() > query.size {
        rest.select_nth_unstable_by(query.size, order);
    }
    let count = rest.len().min(query.size);
    let rows = &mut rest[..count];
    rows.sort_unstable_by(order);
    Shown { rows, before, matching, page, pages }
}
