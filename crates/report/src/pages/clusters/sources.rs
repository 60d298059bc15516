//! Where answers come from: a bar a cluster, by requests and by bytes.

use plimsoll_cache::cluster::{Counts, SOURCES, Source};

use super::ratio;
use super::shown::Shown;
use crate::document::{Block, chart};
use plimsoll_draw::chart::bars::{Bars, Part, Row};
use plimsoll_draw::chart::plot::{Table, plain_heads};
use plimsoll_draw::chart::unit::{per_cent, whole};

/// Most bars of a figure that is open; those with the fewest misses.
const MOST: usize = 24;

/// The classes of the sources, in the order of [`SOURCES`]: the node's own bluish, others' of the
/// colour of earth, and hollow what no cache had. The colour-blind tell any two of them apart.
const CLASSES: [&str; SOURCES.len()] = ["c5", "c8", "c6", "c9", "c7 hollow"];

/// What is counted: an id, a title, and the count of each source.
type SourceCounts = (&'static str, &'static str, fn(&Counts) -> (&[u64; SOURCES.len()], u64));

const REQUESTS: SourceCounts = ("from", "By requests", |of| (&of.answers, of.requests));
const BYTES: SourceCounts = ("from-bytes", "By bytes", |of| (&of.bytes, of.requested_bytes));

/// The charts.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    let best = shown.best(MOST);
    let rest: Vec<usize> = (0..shown.all.len()).filter(|number| !best.contains(number)).collect();
    let mut blocks = vec![both(shown, &best, "")];
    if !rest.is_empty() {
        let summary = format!("The other {} clusters", rest.len());
        blocks.push(Block::Folded(summary, vec![both(shown, &rest, "-rest")]));
    }
    blocks
}

fn both(shown: &Shown<'_>, numbers: &[usize], suffix: &str) -> Block {
    let all = if shown.is_sized() { &[REQUESTS, BYTES][..] } else { &[REQUESTS][..] };
    Block::Charts(all.iter().map(|of| chart(draw(shown, numbers, *of, suffix))).collect())
}

/// The sources that gave anything at all, and the origin.
fn sources(shown: &Shown<'_>) -> Vec<usize> {
    let is_any = |&(source, _): &(Source, &str)| {
        source == Source::Origin || shown.any(|of| of.answers[source as usize])
    };
    SOURCES.iter().filter(|of| is_any(of)).map(|(source, _)| *source as usize).collect()
}

fn draw(shown: &Shown<'_>, numbers: &[usize], (id, title, of): SourceCounts, suffix: &str) -> Bars {
    let sources = sources(shown);
    let part = |&source: &usize| Part { name: SOURCES[source].1, class: CLASSES[source] };
    let row = |&number: &usize| {
        let (counts, all) = of(shown.counts(number));
        Row {
            name: shown.name(number),
            says: per_cent(ratio(counts[Source::Origin as usize], all)),
            shares: sources.iter().map(|&source| ratio(counts[source], all)).collect(),
        }
    };
    let which = if suffix.is_empty() && numbers.len() < shown.all.len() {
        format!(" Drawn are the {} clusters with the lowest miss ratios.", numbers.len())
    } else {
        String::new()
    };
    let note = format!(
        "At the right is the share of the origin: misses. What a parent fetched from the origin is \
         the origin's.{which}"
    );
    let mut bars = Bars {
        id: format!("{id}{suffix}"),
        title: title.to_owned(),
        note,
        measure: "share, from the nearest to the farthest",
        parts: sources.iter().map(part).collect(),
        rows: numbers.iter().map(row).collect(),
        table: Table::default(),
    };
    let mut heads = plain_heads(["cluster"]);
    heads.extend(sources.iter().map(|&source| (SOURCES[source].1.to_owned(), String::new())));
    let cells = |&number: &usize| {
        let (counts, all) = of(shown.counts(number));
        let cell = |&source: &usize| {
            format!("{} ({})", whole(counts[source] as f64), per_cent(ratio(counts[source], all)))
        };
        [vec![shown.name(number)], sources.iter().map(cell).collect()].concat()
    };
    bars.table =
        Table::new(format!("{id}-table{suffix}"), heads, numbers.iter().map(cells).collect());
    bars
}
