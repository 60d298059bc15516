//! Clusters of caches made up from formulas: the same shape gives the same counts.

use plimsoll_cache::about::{About, CLUSTER, ClusterFile};
use plimsoll_cache::cluster::{
    Counts, Courses, Full, Latency, Messages, Moves, NodeCounts, Part, Totals,
};
use plimsoll_cache::simulate::Total;
use plimsoll_cache::size_class::SizeClass;
use plimsoll_cache::trace::{Names, Trace};
use plimsoll_report::Document;
use plimsoll_runs::{FigureRow, Kind, RunWriter, Tag};

use crate::kept::{CellDefaults, Kept};

/// Requests of the trace, and of each part of a course.
pub(crate) const REQUESTS: u64 = 600;
const PART: u64 = 30;

/// A cluster.
#[derive(Debug, Clone)]
pub(crate) struct One {
    pub(crate) label: String,
    pub(crate) name: String,
    pub(crate) levels: Vec<(&'static str, String)>,
    pub(crate) counts: Counts,
    pub(crate) moves: [Option<Moves>; 2],
    /// The figures of further replications.
    pub(crate) others: Vec<Vec<FigureRow>>,
}

/// All that a page is made of.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) trace: Trace,
    pub(crate) warnings: Vec<String>,
    pub(crate) all: Vec<One>,
}

impl Made {
    pub(crate) fn page(&self) -> String {
        self.document().html()
    }

    pub(crate) fn document(&self) -> Document {
        let latency = Some(Latency::default());
        let about = About { latency, ..About::of(&self.trace, "day.csv") };
        let of = CellDefaults {
            name: self.name.clone(),
            about: serde_json::to_string(&about).unwrap(),
            warnings: self.warnings.clone(),
            ..CellDefaults::kind(Kind::Caches)
        };
        let writes: Vec<_> =
            self.all.iter().map(|one| move |writer: &mut RunWriter| one.write(writer)).collect();
        let kept = |(number, one): (usize, &One)| Kept {
            factors: vec![("cluster", format!("{} {number}", one.name))],
            replication: 0,
            figures: one.figures(),
            run: None,
        };
        let mut cells: Vec<Kept<'_>> = self.all.iter().enumerate().map(kept).collect();
        for (cell, write) in cells.iter_mut().zip(&writes) {
            cell.run = Some(write);
        }
        let replications = self.all.iter().map(|one| one.others.len()).max().unwrap_or(0);
        for replication in 0..replications {
            for (number, one) in self.all.iter().enumerate() {
                let figures = one.others[replication].clone();
                let replication = replication as u32 + 1;
                cells.push(Kept { replication, figures, ..kept((number, one)) });
            }
        }
        of.document(&cells)
    }
}

impl One {
    fn figures(&self) -> Vec<FigureRow> {
        let of = self.counts.figures().into_iter();
        of.map(|(figure, value)| FigureRow::new(figure.name, value)).collect()
    }

    /// Writes the run of the cluster, as a simulation does.
    fn write(&self, writer: &mut RunWriter) {
        let levels = self.levels.iter().map(|(key, level)| ((*key).to_owned(), level.clone()));
        let file = ClusterFile {
            label: self.label.clone(),
            name: self.name.clone(),
            levels: levels.collect(),
            counts: self.counts.clone(),
            moves: self.moves,
        };
        let path = writer.path().join(CLUSTER);
        std::fs::write(path, serde_json::to_vec(&file).unwrap()).unwrap();
        let response = &self.counts.response_ns;
        writer.histogram(Tag::Response, (0, 10_000_000_000), response).unwrap();
    }
}

/// A trace of ten seconds.
pub(crate) fn trace(sized: bool) -> Trace {
    let requests = (0..REQUESTS as u32).map(|n| if n < 50 { n } else { n * n % 50 }).collect();
    let trace = Trace::new(requests, Names::Numbers((0..50).collect())).unwrap();
    let seconds = (0..REQUESTS as u32).map(|n| 1000 + n / 60).collect();
    let trace = trace.with_seconds(seconds).unwrap();
    if !sized {
        return trace;
    }
    trace.with_sizes((0..50).map(|n| 50 + 37 * n).collect()).unwrap()
}

/// What a member did in each part, the first two of which are cold.
fn parts(requests: u64, number: u64) -> Vec<Part> {
    let part = |at: u64| {
        let hits = if at < 2 { requests / 5 } else { requests / 2 + (at + number) % 3 };
        let origin = (requests - hits) * 2 / 3;
        Part {
            requests,
            requested_bytes: requests * 900,
            hits,
            hit_bytes: hits * 700,
            origin,
            origin_bytes: origin * 1000,
        }
    };
    (0..REQUESTS / PART).map(part).collect()
}

fn sum(parts: &[Part], count: fn(&Part) -> u64) -> u64 {
    parts.iter().map(count).sum()
}

fn member(parts: &[Part], number: u64) -> NodeCounts {
    let steady = &parts[10..];
    NodeCounts {
        requests: sum(parts, |of| of.requests),
        hits: sum(parts, |of| of.hits),
        requested_bytes: sum(parts, |of| of.requested_bytes),
        hit_bytes: sum(parts, |of| of.hit_bytes),
        origin: sum(parts, |of| of.origin),
        origin_bytes: sum(parts, |of| of.origin_bytes),
        given: 11 + number,
        refused: 0,
        evictions: 120 + 3 * number,
        held: 20 + number,
        full: Some(Full { request: 100 + 50 * number as usize, second: Some(1002) }),
        steady: Some(Part {
            requests: sum(steady, |of| of.requests),
            hits: sum(steady, |of| of.hits),
            ..Part::default()
        }),
    }
}

/// The counts of a cluster by its number, with so many nodes and parents.
pub(crate) fn counts(number: u64, nodes: u64, parents: u64) -> Counts {
    let of_nodes: Vec<Vec<Part>> = (0..nodes).map(|node| parts(PART / nodes, node)).collect();
    let of_parents: Vec<Vec<Part>> = (0..parents).map(|parent| parts(9, parent + 5)).collect();
    let (sibling, parent) = if parents > 0 { (0, 84 + number) } else { (37 + number, 0) };
    let own = [90 + number, 170 + 3 * number % 40];
    let origin = REQUESTS - own[0] - own[1] - sibling - parent;
    let answers = [own[0], own[1], sibling, parent, origin];
    let bytes = answers.map(|count| count * 800 + number * 13);
    let mut counts = Counts {
        requests: REQUESTS,
        requested_bytes: bytes.iter().sum(),
        answers,
        bytes,
        messages: Messages {
            queries: 333 * (number % 3),
            answers: 333 * (number % 3),
            digests: 0,
            bytes: 41_111 * (number % 3),
        },
        false_hits: number % 2,
        duplicates: 5 + number,
        duplicate_bytes: 4_000,
        full: Some(Full { request: 299, second: Some(1004) }),
        ..Counts::default()
    };
    counts.steady = Some(Totals {
        requests: 300,
        requested_bytes: counts.requested_bytes / 2,
        answers: answers.map(|count| count * 2 / 5),
        bytes: bytes.map(|count| count * 2 / 5),
    });
    for (place, count) in answers.into_iter().enumerate() {
        let first_ns = [20_000, 200_000, 700_000, 5_200_000, 80_000_000][place];
        for at in 0..count {
            counts.response_ns.record(first_ns + at * 1_000 * place as u64);
        }
    }
    let total = |least: u64, requests: u64| Total {
        requests,
        misses: requests * (20 + number % 70) / 100,
        requested_bytes: requests * least * 4,
        missed_bytes: requests * least * (20 + number % 70) / 25,
    };
    let class = |least: u64, requests| SizeClass {
        least_bytes: least,
        below_bytes: least * 10,
        total: total(least, requests),
    };
    counts.by_size = vec![class(10, 100), class(100, 350), class(1000, 150)];
    let misses = |part: u64| (origin * (part + 1) / 20) - (origin * part / 20);
    counts.course = (0..REQUESTS / PART).map(|part| (PART, misses(part))).collect();
    counts.nodes = of_nodes.iter().zip(0..).map(|(parts, node)| member(parts, node)).collect();
    counts.parents =
        of_parents.iter().zip(2..).map(|(parts, number)| member(parts, number)).collect();
    counts.courses = Courses { cluster: Vec::new(), nodes: of_nodes, parents: of_parents };
    counts
}

fn one(number: u64, label: &str, level: &str, (nodes, parents): (u64, u64)) -> One {
    let moves = Moves { joins_last: 0.25, joins_first: 0.5, last_leaves: 0.2, first_leaves: 0.4 };
    One {
        label: label.to_owned(),
        name: format!("{label} · {level}"),
        levels: vec![
            ("nodes", nodes.to_string()),
            ("protocol", level.to_owned()),
            ("policy", "lru".to_owned()),
        ],
        counts: counts(number, nodes, parents),
        moves: [None, (level == "carp").then_some(moves)],
        others: Vec::new(),
    }
}

/// Three clusters: two meshes of two nodes, and a hierarchy of three with a parent.
pub(crate) fn three() -> Made {
    Made {
        name: "mesh or hierarchy".to_owned(),
        trace: trace(true),
        warnings: vec!["2 lines could not be read".to_owned()],
        all: vec![
            one(0, "mesh", "none", (2, 0)),
            one(1, "mesh", "icp", (2, 0)),
            one(2, "hierarchy", "carp", (3, 1)),
        ],
    }
}

/// So many clusters of two labels, each of five nodes and two parents.
pub(crate) fn many(number: u64) -> Made {
    let label = |number: u64| if number.is_multiple_of(2) { "near" } else { "far" };
    let cell = |number| one(number % 90, label(number), &format!("digest {number}"), (5, 2));
    Made { all: (0..number).map(cell).collect(), ..three() }
}

/// The same without sizes.
pub(crate) fn without_sizes(made: Made) -> Made {
    let mut made = Made { trace: trace(false), ..made };
    for one in &mut made.all {
        one.counts.by_size.clear();
        one.counts.bytes = one.counts.answers;
        one.counts.requested_bytes = one.counts.requests;
    }
    made
}
