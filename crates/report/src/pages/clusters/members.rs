//! Nodes and parents of each cluster: what each did as a table, and, for those with the fewest
//! misses, its hits over the trace and when its spool was full. Folded: a page may have hundreds.

use plimsoll_cache::cluster::{Counts, Moves, NodeCounts, Part};

use super::course::{level, stretches};
use super::shown::Shown;
use super::{ratio, steady};
use crate::document::{Block, Cell, Grid, chart, note, words};
use crate::pages::caches::stretch;
use crate::pages::lines::{Drawn, Lines, Place};
use crate::pages::tones::TONES;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Plot};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, per_cent, whole};

/// So many clusters have their members' courses drawn.
const MOST_COURSES: usize = 12;
/// Most lines of such a chart, and about so many points of each.
const MOST_LINES: usize = TONES.len();
const POINTS: usize = 50;
/// Most members of a kind with a row of their own.
const MOST_ROWS: usize = 24;

/// What each member did, cluster by cluster.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    let drawn = shown.best(MOST_COURSES);
    let which = if drawn.len() < shown.all.len() {
        format!(" Courses are drawn for the {} clusters with the lowest miss ratios.", drawn.len())
    } else {
        String::new()
    };
    let mut blocks = vec![words(format!(
        "Requests to a node are those of clients, to a parent those of nodes; a hit is what it \
         answered from what it held.{which}"
    ))];
    for number in 0..shown.all.len() {
        let mut of = vec![note(levels(shown, number)), Block::Table(members_table(shown, number))];
        if drawn.contains(&number) && shown.counts(number).requests > 0 {
            of.push(Block::Charts(vec![chart(draw(shown, number))]));
        }
        blocks.push(Block::Folded(shown.name(number), of));
    }
    blocks.extend(moves(shown));
    blocks
}

/// All that the cluster is made of.
fn levels(shown: &Shown<'_>, number: usize) -> String {
    let levels = shown.all[number].1.file.levels.iter();
    levels.map(|(key, level)| format!("{key} = {level}")).collect::<Vec<_>>().join(", ")
}

/// A column: its head, what stands in it, and whether it says anything here.
type Column = (&'static str, fn(&NodeCounts) -> String, bool);

fn columns(counts: &Counts, sized: bool) -> Vec<Column> {
    let any = |count: fn(&NodeCounts) -> u64| {
        counts.nodes.iter().chain(&counts.parents).any(|of| count(of) > 0)
    };
    let steady = |of: &NodeCounts| {
        let steady = of.steady.filter(|steady| steady.requests > 0);
        steady.map_or_else(|| "–".to_owned(), |of| per_cent(ratio(of.hits, of.requests)))
    };
    let columns: [Column; 9] = [
        ("requests", |of| whole(of.requests as f64), true),
        ("hit ratio", |of| per_cent(ratio(of.hits, of.requests)), true),
        ("byte hit ratio", |of| per_cent(ratio(of.hit_bytes, of.requested_bytes)), sized),
        ("hit ratio when steady", steady, counts.steady.is_some()),
        ("from the origin", |of| per_cent(ratio(of.origin, of.requests)), true),
        ("given to siblings", |of| whole(of.given as f64), any(|of| of.given)),
        ("refused", |of| whole(of.refused as f64), any(|of| of.refused)),
        ("evictions", |of| whole(of.evictions as f64), true),
        ("held at the end", |of| whole(of.held as f64), true),
    ];
    columns.into_iter().filter(|(_, _, is_shown)| *is_shown).collect()
}

fn members_table(shown: &Shown<'_>, number: usize) -> Grid {
    let counts = shown.counts(number);
    let columns = columns(counts, shown.is_sized());
    let heads = ["member"].into_iter().chain(columns.iter().map(|(head, _, _)| *head));
    let heads = heads.chain(["spool full after"]);
    let row = |name: String, of: &NodeCounts, full: String| -> Vec<Cell> {
        let cells = columns.iter().map(|(_, show, _)| show(of));
        [name].into_iter().chain(cells).chain([full]).map(Cell::of).collect()
    };
    let mut rows = Vec::new();
    for (kind, kinds, all) in
        [("node", "nodes", &counts.nodes), ("parent", "parents", &counts.parents)]
    {
        let (own, rest) = all.split_at(all.len().min(MOST_ROWS));
        for (index, of) in own.iter().enumerate() {
            let full = of.full.map_or_else(|| "never".to_owned(), |of| steady::when(shown, of));
            rows.push(row(format!("{kind} {}", index + 1), of, full));
        }
        if !rest.is_empty() {
            let full = rest.iter().filter(|of| of.full.is_some()).count();
            let name = format!("{} more {kinds}", rest.len());
            rows.push(row(name, &together(rest), format!("{full} of them")));
        }
    }
    Grid {
        class: "percentiles",
        id: format!("members-table-{number}"),
        heads: heads.map(Cell::of).collect(),
        rows,
    }
}

/// Members taken together.
fn together(of: &[NodeCounts]) -> NodeCounts {
    let sum = |count: fn(&NodeCounts) -> u64| of.iter().map(count).sum();
    let steady = of.iter().filter_map(|of| of.steady).reduce(|a, b| joined(&[a, b]));
    NodeCounts {
        requests: sum(|of| of.requests),
        hits: sum(|of| of.hits),
        requested_bytes: sum(|of| of.requested_bytes),
        hit_bytes: sum(|of| of.hit_bytes),
        origin: sum(|of| of.origin),
        origin_bytes: sum(|of| of.origin_bytes),
        given: sum(|of| of.given),
        refused: sum(|of| of.refused),
        evictions: sum(|of| of.evictions),
        held: sum(|of| of.held),
        full: None,
        steady,
    }
}

fn joined(parts: &[Part]) -> Part {
    let sum = |count: fn(&Part) -> u64| parts.iter().map(count).sum();
    Part {
        requests: sum(|of| of.requests),
        requested_bytes: sum(|of| of.requested_bytes),
        hits: sum(|of| of.hits),
        hit_bytes: sum(|of| of.hit_bytes),
        origin: sum(|of| of.origin),
        origin_bytes: sum(|of| of.origin_bytes),
    }
}

/// A member with a line.
struct Member<'a> {
    name: String,
    /// Its tone, and the classes of its line: those of parents are broken.
    tone: &'static str,
    class: String,
    counts: &'a NodeCounts,
    parts: &'a [Part],
}

/// The members with a line: of many, the first nodes and the first parents.
fn drawn(counts: &Counts) -> Vec<Member<'_>> {
    let for_parents = (MOST_LINES / 2).max(MOST_LINES.saturating_sub(counts.nodes.len()));
    let parents = counts.parents.len().min(for_parents);
    let nodes = counts.nodes.len().min(MOST_LINES - parents);
    let members = |kind: &'static str, stroke, most, all, courses| {
        let all: &[NodeCounts] = all;
        let courses: &[Vec<Part>] = courses;
        all.iter().zip(courses).take(most).enumerate().map(move |(index, (counts, parts))| Member {
            name: format!("{kind} {}", index + 1),
            tone: TONES[index % TONES.len()],
            class: format!("{}{stroke}", TONES[index % TONES.len()]),
            counts,
            parts,
        })
    };
    members("node", "", nodes, counts.nodes.as_slice(), counts.courses.nodes.as_slice())
        .chain(members("parent", " dash", parents, &counts.parents, &counts.courses.parents))
        .collect()
}

fn draw(shown: &Shown<'_>, number: usize) -> Plot {
    let counts = shown.counts(number);
    let members = drawn(counts);
    let each = counts.course.len().div_ceil(POINTS).max(1);
    let end = counts.requests as f64;
    let line = |of: &Member<'_>| Drawn {
        name: of.name.clone(),
        class: of.class.clone(),
        values: of.parts.chunks(each).map(hit_ratio).collect(),
    };
    let lines = Lines {
        heads: &["requests"],
        places: places(counts, each)
            .into_iter()
            .map(|at| Place::new(at, stretch(at.0, at.2)))
            .collect(),
        all: members.iter().map(line).collect(),
        show: &|_, _, value| per_cent(value),
    };
    let top = lines.all.iter().flat_map(|line| &line.values).flatten().copied().fold(0.0, f64::max);
    let left_out = counts.nodes.len() + counts.parents.len() - members.len();
    let which = if left_out > 0 {
        format!(" The first {} are drawn; {left_out} are not.", members.len())
    } else {
        String::new()
    };
    let broken = if counts.parents.is_empty() { "" } else { " The lines of parents are broken." };
    let axis = Axis::Value { columns: 1, top: end, unit: Unit::Count };
    let mut plot = Plot {
        id: format!("members-{number}"),
        title: "Hit ratio of each over the trace".to_owned(),
        note: format!("Each point is of the requests since the one before.{broken}{which}"),
        measure: "hit ratio, over the number of requests of clients".to_owned(),
        ..Plot::empty(axis, (0.0, end), Scale::linear(top, 0.0), Unit::Share)
    };
    lines.put(&mut plot, format!("members-course-table-{number}"));
    for (of, line) in members.iter().zip(&lines.all) {
        if let Some(full) = of.counts.full {
            let at = full.request as f64 + 1.0;
            plot.symbols.push((Symbol::Triangle, of.tone, (at, level(&lines.points(line), at))));
        }
    }
    if !plot.symbols.is_empty() {
        plot.keys.push(Key::Symbol(Symbol::Triangle, "c7", "its spool has become full"));
    }
    plot
}

/// Where so many parts of a course together begin, their middle, and where they end.
fn places(counts: &Counts, each: usize) -> Vec<(f64, f64, f64)> {
    let stretches = stretches(counts);
    let joined = stretches.chunks(each).filter_map(|parts| {
        let (from, to) = (parts.first()?.0, parts.last()?.2);
        Some((from, f64::midpoint(from, to), to))
    });
    joined.collect()
}

fn hit_ratio(parts: &[Part]) -> Option<f64> {
    let all = joined(parts);
    (all.requests > 0).then(|| ratio(all.hits, all.requests))
}

/// What a member that joins or leaves costs; nothing where none is chosen by a hash.
fn moves(shown: &Shown<'_>) -> Option<Block> {
    let row = |number: usize, kind: &str, moves: Moves| {
        let shares = [moves.joins_last, moves.joins_first, moves.last_leaves, moves.first_leaves];
        let cells = [shown.name(number), kind.to_owned()].into_iter().chain(shares.map(per_cent));
        cells.map(Cell::of).collect()
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (number, (_, cell)) in shown.all.iter().enumerate() {
        for (kind, moves) in ["nodes", "parents"].into_iter().zip(cell.file.moves) {
            rows.extend(moves.map(|moves| row(number, kind, moves)));
        }
    }
    let heads = ["cluster", "among its", "one joins last", "first", "the last leaves", "the first"];
    let (class, id) = ("percentiles", "moves-table".to_owned());
    let grid = Grid { class, id, heads: heads.map(Cell::of).into(), rows };
    let summary = "Share of objects that move when a member joins or leaves".to_owned();
    (!grid.rows.is_empty()).then(|| Block::Folded(summary, vec![Block::Table(grid)]))
}
