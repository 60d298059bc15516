//! The page of clusters of caches: every cluster with its figures, where answers come from, what
//! has to be weighed, response times, courses over the trace, sizes, nodes and parents.

mod cells;
mod counting;
mod course;
mod members;
mod replications;
mod response;
mod shown;
mod sizes;
mod sources;
mod steady;
mod trade;

use plimsoll_cache::about::About;
use plimsoll_cache::cluster::Counts;

use self::cells::{MEASURES, Measure};
use self::shown::Shown;
use super::caches::requests;
use super::experiment;
use crate::cells::Cells;
use crate::document::{self, Block, Document, Section, Tile, warnings};
use crate::error::ReportError;
use plimsoll_draw::chart::unit::whole;

/// The page; `None` where no cluster kept what is drawn of it.
pub(crate) fn page(cells: &Cells, title: Option<&str>) -> Result<Option<Document>, ReportError> {
    let about: About = serde_json::from_str(&cells.about).unwrap_or_default();
    let clusters = shown::clusters(cells)?;
    if clusters.is_empty() {
        return Ok(None);
    }
    let shown = Shown::of(&about, &clusters, cells.rows.len());
    let mut head: Vec<Block> = best(&shown).into_iter().collect();
    head.extend([document::asked(asked(cells, &about)), experiment::facts(cells)]);
    head.extend(warnings(&cells.warnings));
    let mut sections = sections(&shown);
    let plan = Section::new("plan", "The plan", vec![Block::Verbatim(cells.plan.clone())]);
    sections.insert(sections.len() - 1, plan);
    let title = title.map_or_else(|| cells.title(), str::to_owned);
    Ok(Some(Document { title, head, sections, is_several: false }))
}

/// What was asked, in a sentence.
fn asked(cells: &Cells, about: &About) -> String {
    let number = match cells.rows.len() {
        1 => "one cluster".to_owned(),
        n => format!("{} clusters, all with the same requests", whole(n as f64)),
    };
    format!("{}, simulated through {number}.", requests(about))
}

/// The best of each measure, where there are several clusters.
fn best(shown: &Shown<'_>) -> Option<Block> {
    let best = |measure: &Measure| {
        let value = |number: usize| measure.value(shown.counts(number));
        let first = (0..shown.all.len()).min_by(|&a, &b| value(a).total_cmp(&value(b)))?;
        let equal = (0..shown.all.len())
            .filter(|&number| value(number).total_cmp(&value(first)).is_eq())
            .count();
        let beside = if equal > 1 { format!(", and {} more", equal - 1) } else { String::new() };
        Some(Tile {
            name: measure.lowest,
            value: measure.text(value(first)),
            detail: format!("{}{beside}", shown.name(first)),
            ..Tile::default()
        })
    };
    let measures = MEASURES.iter().filter(|of| shown.is_sized() || !of.needs_sizes);
    (shown.all.len() > 1).then(|| Block::Tiles(measures.filter_map(best).collect()))
}

fn sections(shown: &Shown<'_>) -> Vec<Section> {
    let mut all = cells::blocks(shown);
    all.extend(replications::blocks(shown));
    let mut over_trace = course::blocks(shown);
    over_trace.extend(steady::blocks(shown));
    let mut sections = vec![
        Section::new("cells", "All clusters", all),
        Section::new("sources", "Where answers come from", sources::blocks(shown)),
        Section::new("trade", "What to weigh", vec![trade::block(shown)]),
        Section::new("response", "Response times", response::blocks(shown)),
        Section::new("course", "Over the trace", over_trace),
    ];
    if sizes::is_any(shown) {
        sections.push(Section::new("sizes", "By size", sizes::blocks(shown)));
    }
    sections.push(Section::new("members", "Nodes and parents", members::blocks(shown)));
    sections.push(Section::new("counting", "How it was counted", vec![counting::block(shown)]));
    sections
}

/// The title of a chart of clusters of one label.
fn of_label(title: &str, label: &str) -> String {
    if label.is_empty() { title.to_owned() } else { format!("{title}: {label}") }
}

/// A share of nothing is nothing.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Messages of all kinds.
fn messages(counts: &Counts) -> u64 {
    counts.messages.queries + counts.messages.answers + counts.messages.digests
}
