//! The page of policies and sizes on one trace, each replayed or told by curves: which policy
//! misses least, every cell with its figures, miss ratios over sizes, and over the trace.

mod course;

pub(crate) use course::stretch;

use plimsoll_cache::about::About;
use plimsoll_cache::bound::BoundKind;
use plimsoll_cache::eviction::Policy;
use plimsoll_stats::figure::{self, Figure};

use super::{experiment, levels};
use crate::cells::{Cells, Row};
use crate::document::{
    self, Block, Cell, Column, Document, Grid, Section, Table, Verdict, note, warnings, words,
};
use crate::error::ReportError;
use crate::figure_text;
use plimsoll_draw::chart::unit::{per_cent, whole};

/// The figures that are drawn over sizes.
const OVER_SIZES: [&Figure; 2] = [figure::MISS_RATIO, figure::BYTE_MISS_RATIO];
/// The columns of the table, as far as there is something to tell.
const COLUMNS: [&Figure; 9] = [
    figure::MISS_RATIO,
    figure::BYTE_MISS_RATIO,
    figure::AFTER_SKIP_MISS_RATIO,
    figure::AFTER_SKIP_BYTE_MISS_RATIO,
    figure::MISS_RATIO_BOUND,
    figure::BYTE_MISS_RATIO_BOUND,
    figure::MISSES,
    figure::EVICTIONS,
    figure::MEMORY_BYTES,
];
/// Of more sizes the answer tells of the last one only.
const MAX_TOLD: usize = 6;

/// The page.
pub(crate) fn page(cells: &Cells, title: Option<String>) -> Result<Document, ReportError> {
    let about: About = serde_json::from_str(&cells.about).unwrap_or_default();
    let mut head: Vec<Block> = answer(cells, &about).map(Block::Verdict).into_iter().collect();
    head.extend([document::asked(asked(cells, &about)), experiment::facts(cells)]);
    head.extend(warnings(&cells.warnings));
    let charts = levels::charts(cells, &OVER_SIZES);
    let over_sizes = match charts.is_empty() {
        true => document::nothing("Nothing to draw: there is one size."),
        false => Block::Charts(charts),
    };
    let mut sections = vec![Section::new("sizes", "Over sizes", vec![over_sizes])];
    if !about.is_curves {
        let of = vec![
            Block::Table(table(cells)),
            note(
                "The lowest miss ratio of each size is marked, among policies that do not know \
                 the future. The policy's memory grows with the objects of the trace.",
            ),
        ];
        sections.insert(0, Section::new("policies", "Policies and sizes", of));
        let course = course::block(cells, about.requests as f64)?;
        sections.push(Section::new("course", "Over the trace", vec![course]));
    }
    let counted = counted(&about).into_iter().map(words).collect();
    sections.push(Section::new("plan", "The plan", vec![Block::Verbatim(cells.plan.clone())]));
    sections.push(Section::new("about", "How it was counted", counted));
    let of = if about.is_curves { "Miss-ratio curves of" } else { "Caches for" };
    let title = title.unwrap_or_else(|| match (cells.name.as_str(), cells.plan_file.file_stem()) {
        ("", None) => format!("{of} {}", about.name),
        _ => cells.title(),
    });
    Ok(Document { title, head, sections, is_several: false })
}

/// Which policy misses least, size by size.
fn answer(cells: &Cells, about: &About) -> Option<Verdict> {
    let best: Vec<&Row> = sizes(cells).into_iter().filter_map(|size| best(cells, size)).collect();
    let last = *best.last()?;
    let ratio = |row: &Row, figure| row.value(figure).map_or_else(String::new, per_cent);
    let told = |row: &&Row| {
        let names = as_good(cells, row).join(" and ");
        format!("{names} at {}: {}", capacity(row), ratio(row, figure::MISS_RATIO))
    };
    let others: Vec<String> = best[..best.len() - 1].iter().map(told).collect();
    let reasons = match others.len() {
        1..MAX_TOLD => vec![format!("The lowest at the other sizes: {}.", others.join("; "))],
        _ => Vec::new(),
    };
    let names = as_good(cells, last);
    let of_size = cells.rows.iter().filter(|row| row.level("size") == last.level("size"));
    let of = match (of_size.count(), names.len()) {
        (1, _) => "misses",
        (_, 1) => "misses least",
        _ => "miss least",
    };
    let bytes = match last.value(figure::BYTE_MISS_RATIO).filter(|_| about.is_sized()) {
        Some(share) => format!(", {} of the bytes", per_cent(share)),
        None => String::new(),
    };
    let says = format!(
        "At {}, {} {of}: {} of the requests{bytes}.",
        capacity(last),
        names.join(" and "),
        ratio(last, figure::MISS_RATIO),
    );
    Some(Verdict { class: "good", says, reasons })
}

/// What was asked, in a sentence.
fn asked(cells: &Cells, about: &About) -> String {
    let number = |n: usize, one: &str, many: &str| match n {
        1 => format!("one {one}"),
        n => format!("{n} {many}"),
    };
    let policies = cells.rows.iter().filter(|row| row.level("size") == cells.rows[0].level("size"));
    let how = if about.is_curves { "as they would go" } else { "replayed" };
    format!(
        "{}, {how} through caches of {} and {}, empty at first.",
        requests(about),
        number(policies.count(), "policy", "policies"),
        number(sizes(cells).len(), "size", "sizes"),
    )
}

/// What was asked for, in a phrase.
pub(crate) fn requests(about: &About) -> String {
    let bytes = about
        .footprint_bytes
        .map_or_else(String::new, |bytes| format!(" with {}", plimsoll_units::show_size(bytes)));
    let (requests, objects) = (whole(about.requests as f64), whole(about.objects as f64));
    format!("{requests} requests of {} to {objects} objects{bytes}", about.name)
}

/// How it was counted.
fn counted(about: &About) -> Vec<String> {
    let mut words = vec![
        "Every cache is empty at first, and all requests count. The miss ratio is the share of \
         requests whose object was not inside; the byte miss ratio weighs each by the size of its \
         object."
            .to_owned(),
    ];
    words.push(if about.is_curves { CURVES } else { REPLAYS }.to_owned());
    let of_bound =
        |(kind, text): &(BoundKind, &str)| about.bounds.contains(kind).then(|| (*text).to_owned());
    words.extend(BOUNDS.iter().filter_map(of_bound));
    if about.skip > 0 {
        words.push(format!(
            "After {} requests it is counted a second time, apart from the warm-up.",
            whole(about.skip as f64)
        ));
    }
    words
}

const CURVES: &str = "LRU comes from one pass over the trace, which knows all sizes at once; in \
                      bytes, sizes that do not hold the largest object are replayed, each by \
                      itself. Other policies are replayed at each size. With a sampling rate a \
                      share of the objects stands for all, and the cache is as much smaller; \
                      points for which the sample is too small are squares, and stand in brackets \
                      in the table.";

const REPLAYS: &str = "An object larger than the cache is a miss, and does not come in. A hit does \
                       not change an object's size. Some policies refuse objects of themselves: \
                       S3-FIFO those larger than its small queue, 10% of the cache. An admission \
                       filter is a factor of its own, the same for all policies.";

/// How it was found what no policy is below, for each way that may be taken.
const BOUNDS: [(BoundKind, &str); 3] = [
    (
        BoundKind::Belady,
        "Where objects take one each, or have one size, no policy that takes in all it misses has \
         fewer misses than Belady's (1966), which knows the future: that bound is exact.",
    ),
    (
        BoundKind::BeladyBypass,
        "Where objects take one each, or have one size, no policy behind an admission filter has \
         fewer misses than Belady's (1966) with bypass, which knows the future and leaves outside \
         what is used later than all that is inside: that bound is exact.",
    ),
    (
        BoundKind::PfooLower,
        "Where sizes differ, Belady's policy is no bound. What no policy is below then comes from \
         PFOO-L (Berger, Beckmann and Harchol-Balter, SIGMETRICS 2018): the cheapest stretches of \
         room and time that fit into the cache. No policy need come near it.",
    ),
];

/// A row a policy at a size; the best of a size stands out.
fn table(cells: &Cells) -> Grid {
    let name = |row: &&Row| {
        let of = Cell::of(row.level("policy"));
        let rivals = cells.rows.iter().filter(|other| other.level("size") == row.level("size"));
        let best = best(cells, row.level("size"));
        match best.filter(|best| rivals.count() > 1 && is_as_good(row, best)) {
            Some(_) => of.judged("good", "lowest"),
            None => of,
        }
    };
    let mut columns = vec![
        Column::plain("policy", name),
        Column::plain("size", |row: &&Row| Cell::of(row.level("size"))),
        Column::plain("capacity", |row: &&Row| Cell::of(capacity(row))),
    ];
    let known = cells.known(&COLUMNS);
    columns.extend(
        known.into_iter().map(|figure| Column::figure(figure, |row: &&Row| row.value(figure))),
    );
    let rows: Vec<&Row> = cells.rows.iter().collect();
    Table { class: "policies", id: String::new(), currency: "", columns }.of(&rows)
}

/// The sizes, in their order.
pub(super) fn sizes(cells: &Cells) -> Vec<&str> {
    let mut sizes: Vec<&str> = Vec::new();
    for row in &cells.rows {
        if !sizes.contains(&row.level("size")) {
            sizes.push(row.level("size"));
        }
    }
    sizes
}

/// The policy with the fewest misses at a size, of those that do not know the future.
fn best<'a>(cells: &'a Cells, size: &str) -> Option<&'a Row> {
    let rivals = cells.rows.iter().filter(|row| row.level("size") == size && !knows_future(row));
    let known = rivals.filter_map(|row| Some((row, row.value(figure::MISS_RATIO)?)));
    known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, _)| row)
}

fn is_as_good(row: &Row, best: &Row) -> bool {
    !knows_future(row) && row.value(figure::MISS_RATIO) == best.value(figure::MISS_RATIO)
}

/// The policies with as few misses as the best at its size.
fn as_good<'a>(cells: &'a Cells, best: &Row) -> Vec<&'a str> {
    let of_size = cells.rows.iter().filter(|row| row.level("size") == best.level("size"));
    of_size.filter(|row| is_as_good(row, best)).map(|row| row.level("policy")).collect()
}

/// Whether the policy of a row is told what comes: it shows what could be, and is none to choose.
fn knows_future(row: &Row) -> bool {
    row.level("policy").parse::<Policy>().is_ok_and(|policy| policy.kind.needs.next)
}

/// The capacity of a row as it is shown; its size as it was written, where that is not known.
pub(super) fn capacity(row: &Row) -> String {
    let of = |figure| Some(figure_text::text(figure, row.value(figure)?, ""));
    let objects = || Some(format!("{} objects", of(figure::CAPACITY_OBJECTS)?));
    of(figure::CAPACITY_BYTES).or_else(objects).unwrap_or_else(|| row.level("size").to_owned())
}
