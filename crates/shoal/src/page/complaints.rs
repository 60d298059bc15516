//! What agents complained of, latest first.

use super::query::{MOST_ERRORS, Query};
use super::words::{count, moment};
use crate::server::Complaint;
use plimsoll_draw::{Attribute, Markup};

/// Writes the latest of them.
pub(super) fn write(h: &mut Markup, query: &Query, complaints: &[Complaint]) {
    h.tag("div", &[("id", &"errors")], |h| {
        if complaints.is_empty() {
            h.leaf("p", &[("class", &"nothing")], "No agent has told of an error.");
            return;
        }
        let scroll: [Attribute<'_>; 4] = [
            ("class", &"scroll"),
            ("role", &"region"),
            ("aria-label", &"Errors"),
            ("tabindex", &"0"),
        ];
        h.tag("div", &scroll, |h| {
            h.tag("table", &[("class", &"errors")], |h| {
                h.tag("thead", &[], |h| {
                    h.tag("tr", &[], |h| {
                        for head in ["Time (UTC)", "Cloud", "Error"] {
                            h.leaf("th", &[("scope", &"col")], head);
                        }
                    });
                });
                h.tag("tbody", &[], |h| {
                    for complaint in complaints.iter().rev().take(query.errors) {
                        row(h, complaint);
                    }
                });
            });
        });
        if complaints.len() > query.errors {
            let href = Query { errors: MOST_ERRORS, ..query.clone() }.href();
            let text = format!("All {} that are kept", count(complaints.len()));
            h.leaf("a", &[("id", &"all-errors"), ("href", &href)], text);
        }
    });
}

fn row(h: &mut Markup, complaint: &Complaint) {
    h.tag("tr", &[], |h| {
        h.leaf("th", &[("scope", &"row")], moment(complaint.unix_s));
        h.leaf("td", &[], complaint.cloud.as_deref().unwrap_or("–"));
        h.leaf("td", &[], &complaint.text);
    });
}
