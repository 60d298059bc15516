//! The page of groups of searches side by side: what stands out, spread and distribution, all
//! figures with their cost, and the course of each series.

mod course;
mod figures;
mod remarks;
mod spread;

use plimsoll_capacity::compared::{Compared, Group};

use crate::document::{self, Block, Document, Section, Verdict};
use plimsoll_draw::chart::unit::significant;

/// The colours of groups, in turn.
const TONES: [&str; 9] = ["c0", "c1", "c2", "c3", "c4", "c8", "c6", "c9", "c5"];

/// The colour of a group.
pub(super) fn tone(index: usize) -> &'static str {
    TONES[index % TONES.len()]
}

/// The groups with their colours.
fn toned(compared: &Compared) -> impl Iterator<Item = (&'static str, &Group)> {
    compared.groups.iter().enumerate().map(|(index, group)| (tone(index), group))
}

/// The page. Without a title it is called after what it compares.
pub(crate) fn page(compared: &Compared, title: Option<String>) -> Document {
    let names: Vec<&str> = compared.groups.iter().map(|group| group.group.as_str()).collect();
    let mut head: Vec<Block> = answer(compared).map(Block::Verdict).into_iter().collect();
    head.push(document::asked(asked(compared)));
    head.extend(remarks::blocks(compared));
    Document {
        title: title.unwrap_or_else(|| format!("Capacities: {}", names.join(", "))),
        head,
        sections: sections(compared),
        is_several: false,
    }
}

/// How the estimates spread, all figures of the groups, and their courses.
pub(crate) fn sections(compared: &Compared) -> Vec<Section> {
    vec![
        Section::new("spread", "Spread", vec![spread::block(compared)]),
        Section::new("estimates", "Estimates", figures::blocks(compared)),
        Section::new("courses", "Over time", vec![course::block(compared)]),
    ]
}

/// Which group has the highest median, and by what ratio it is above the next; `None` where there
/// are not two with one.
fn answer(compared: &Compared) -> Option<Verdict> {
    let median = |group: &Group| Some(group.summary.estimate_per_s.as_ref()?.spread.median);
    let mut known: Vec<(&Group, f64)> =
        compared.groups.iter().filter_map(|group| Some((group, median(group)?))).collect();
    known.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [(first, most), (second, next), ..] = known[..] else { return None };
    let interval = |group: &Group| group.summary.estimate_per_s.as_ref()?.median_ci95;
    let apart = match (interval(first), interval(second)) {
        (Some((low, _)), Some((_, high))) if low > high => {
            "The 95% intervals of the two medians do not overlap."
        }
        (Some(_), Some(_)) => {
            "The 95% intervals of the two medians overlap: the difference may be chance."
        }
        _ => "There are too few searches for intervals: the difference may be chance.",
    };
    Some(Verdict {
        class: if apart.contains("do not") { "good" } else { "open" },
        says: format!(
            "{} holds the most: {}/s in the median, {:.2} times that of {} ({}/s).",
            first.group,
            significant(most),
            most / next,
            second.group,
            significant(next)
        ),
        reasons: vec![apart.to_owned()],
    })
}

/// What was asked, in a sentence.
fn asked(compared: &Compared) -> String {
    let searches: usize = compared.groups.iter().map(|group| group.summary.searches).sum();
    let mut slos: Vec<&str> = Vec::new();
    for slo in compared.groups.iter().flat_map(|group| &group.slos) {
        if !slos.contains(&slo.as_str()) {
            slos.push(slo);
        }
    }
    let (of, by) = (compared.groups.len(), &compared.by);
    format!(
        "{searches} searches in {of} groups by {by}, for the capacity under {}.",
        slos.join(", ")
    )
}
