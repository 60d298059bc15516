//! The search for a capacity: what it found and how, above the figures of its run.

mod curves;
mod joined;
mod outcome;
mod staircase;
mod trips;
mod windows;

use super::Content;
use crate::searched::Searched;
use plimsoll_draw::Markup;

/// Whether any of the runs was a search.
pub(crate) fn is_any(content: &Content<'_>) -> bool {
    content.views.iter().any(|view| view.searched.is_some())
}

/// Writes the section; nothing where no run was a search.
pub(crate) fn write(m: &mut Markup, content: &Content<'_>) {
    if !is_any(content) {
        return;
    }
    m.tag("section", &[("id", &"capacity")], |m| {
        m.leaf("h2", &[], "Capacity");
        for (index, view) in content.views.iter().enumerate() {
            let Some(searched) = &view.searched else { continue };
            if content.several() {
                m.leaf("h3", &[], &view.heading);
            }
            outcome::write(m, searched);
            write_charts(m, searched, index);
        }
    });
}

fn write_charts(m: &mut Markup, searched: &Searched, index: usize) {
    if searched.windows.is_empty() {
        m.leaf("p", &[("class", &"nothing")], "Nothing to draw: there is no window.");
        return;
    }
    let windows = windows::table(searched, index);
    m.tag("div", &[("class", &"figures")], |m| {
        staircase::rates(searched, &windows, index).write(m, &[]);
        staircase::times(searched, &windows, index).write(m, &[&windows]);
        let joined = joined::join(&searched.windows);
        if let Some((plot, table)) = curves::percentiles(searched, &joined, index) {
            plot.write(m, &[&table]);
        }
        if let Some((plot, table)) = curves::contour(searched, &joined, index) {
            plot.write(m, &[&table]);
        }
        if let Some(surface) = curves::surface(searched, &joined, index) {
            surface.write(m);
        }
        trips::write(m, searched, &windows, index);
    });
}
