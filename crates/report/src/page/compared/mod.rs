//! The page of groups of searches side by side: what stands out, spread and distribution, all
//! figures with their cost, and the course of each series.

mod course;
mod figures;
mod remarks;
mod spread;

use plimsoll_capacity::compared::{Compared, Group};

use super::{document, headline, navigation, section};

/// The colours of groups, in turn.
const TONES: [&str; 9] = ["c0", "c1", "c2", "c3", "c4", "c8", "c6", "c9", "c5"];

/// The sections of the page.
const SECTIONS: [(&str, &str); 3] =
    [("#spread", "Spread"), ("#figures", "All figures"), ("#courses", "Over time")];

/// The colour of a group.
fn tone(index: usize) -> &'static str {
    TONES[index % TONES.len()]
}

/// The groups with their colours.
fn toned(compared: &Compared) -> impl Iterator<Item = (&'static str, &Group)> {
    compared.groups.iter().enumerate().map(|(index, group)| (tone(index), group))
}

/// Writes the page.
pub(crate) fn write(compared: &Compared, title: Option<&str>) -> String {
    let names: Vec<&str> = compared.groups.iter().map(|group| group.group.as_str()).collect();
    let title = title.map_or_else(|| format!("Capacities: {}", names.join(", ")), str::to_owned);
    document(&title, "one", |m| {
        m.tag("header", &[], |m| {
            headline::write_brand(m);
            m.leaf("h1", &[], &title);
            m.leaf("p", &[("class", &"asked")], asked(compared));
            remarks::write(m, compared);
            navigation(m, &SECTIONS);
        });
        m.tag("main", &[], |m| {
            section(m, "spread", "Spread", |m| spread::write(m, compared));
            section(m, "figures", "All figures", |m| figures::write(m, compared));
            section(m, "courses", "Over time", |m| course::write(m, compared));
        });
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
