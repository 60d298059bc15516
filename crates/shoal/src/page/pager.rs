//! The links from page to page, and to more or fewer rows.

use super::query::Query;
use super::select::Shown;
use super::words::count;
use crate::answer::paths::{DEFAULT_PAGE, MAX_COUNT};
use plimsoll_draw::{Attribute, Markup};

/// Rows of a page that are offered.
const SIZES: [usize; 4] = [20, DEFAULT_PAGE, 300, MAX_COUNT];

/// Writes them; nothing where there is only one page of any size.
pub(super) fn write(h: &mut Markup, query: &Query, shown: &Shown<'_, '_>) {
    h.tag("nav", &[("id", &"pages"), ("class", &"pages"), ("aria-label", &"Pages")], |h| {
        if shown.matching <= SIZES[0] && shown.pages == 1 {
            return;
        }
        let to = |page: usize| Query { page, ..query.clone() }.href();
        let last = shown.pages;
        for (id, name, page, there) in [
            ("first", "First", 1, shown.page > 1),
            ("previous", "Previous", shown.page.saturating_sub(1), shown.page > 1),
            ("next", "Next", shown.page + 1, shown.page < last),
            ("last", "Last", last, shown.page < last),
        ] {
            if there {
                h.leaf("a", &[("id", &id), ("href", &to(page))], name);
            } else {
                h.leaf("span", &[("class", &"absent")], name);
            }
            if id == "previous" {
                let where_now = format!("page {} of {}", count(shown.page), count(last));
                h.leaf("span", &[("class", &"where")], where_now);
            }
        }
        h.tag("span", &[("class", &"sizes")], |h| {
            h.text("Rows:");
            for size in SIZES {
                let id = format!("rows-{size}");
                let href = Query { size, page: 1, ..query.clone() }.href();
                let mut link: Vec<Attribute<'_>> = vec![("id", &id), ("href", &href)];
                if size == query.size {
                    link.push(("aria-current", &"true"));
                }
                h.leaf("a", &link, count(size));
            }
        });
    });
}
