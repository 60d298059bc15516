//! Clusters as JSON.

use super::super::by_size;
use super::Done;
use plimsoll_cache::cluster::{Counts, Full, Moves, NodeCounts, Part, SOURCES, Source, Totals};
use plimsoll_cache::trace::Trace;
use plimsoll_experiment::world::caches::{Cell, Estimated, Figures, Simulated};
use serde_json::{Map, Value, json};

/// The result as a whole.
pub(super) fn render(done: &Done<'_>) -> Value {
    let of = |(cell, of)| {
        let mut value = result(done.trace, cell, of);
        if let (true, Some(object)) = (done.plan.repeat > 1, value.as_object_mut()) {
            object.insert("replications".to_owned(), replications(of, &done.simulated[0]));
        }
        value
    };
    let results: Vec<_> = done.cells.iter().zip(&done.simulated).map(of).collect();
    json!({
        "schema": 1,
        "warnings": done.notes,
        "name": done.plan.name,
        "seed": done.plan.seed,
        "trace": done.json,
        "results": results,
    })
}

fn result(trace: &Trace, cell: &Cell, of: &Simulated) -> Value {
    let [node_moves, parent_moves] = Moves::of(trace, &cell.cluster);
    let counts = &of.counts;
    let levels: Map<_, _> =
        cell.levels.iter().map(|(key, level)| ((*key).to_owned(), json!(level))).collect();
    let (nodes, parents) = (&counts.courses.nodes, &counts.courses.parents);
    json!({
        "cluster": cell.label,
        "levels": levels,
        "requests": counts.requests,
        "misses": counts.answers[Source::Origin as usize],
        "miss_ratio": counts.miss_ratio(),
        "requested_bytes": counts.requested_bytes,
        "missed_bytes": counts.bytes[Source::Origin as usize],
        "byte_miss_ratio": counts.byte_miss_ratio(),
        "answers": by_source(&counts.answers),
        "answered_bytes": by_source(&counts.bytes),
        "response_ms": response(counts),
        "messages": {
            "queries": counts.messages.queries,
            "answers": counts.messages.answers,
            "digests": counts.messages.digests,
            "bytes": counts.messages.bytes,
        },
        "false_hits": counts.false_hits,
        "missed_chances": counts.missed_chances,
        "stale_hits": counts.stale_hits,
        "confirmed": counts.confirmed,
        "changed": counts.changed,
        "duplicates": counts.duplicates,
        "duplicate_bytes": counts.duplicate_bytes,
        "full": counts.full.map(full),
        "steady": counts.steady.as_ref().map(steady),
        "by_size": by_size::json(&counts.by_size),
        "nodes": counts.nodes.iter().zip(nodes).map(node).collect::<Vec<_>>(),
        "parents": counts.parents.iter().zip(parents).map(node).collect::<Vec<_>>(),
        "moves": { "nodes": node_moves.map(moves), "parents": parent_moves.map(moves) },
        "course": counts.courses.cluster.iter().map(part).collect::<Vec<_>>(),
        "cpu_s": of.cpu_s,
    })
}

fn by_source(of: &[u64; 5]) -> Value {
    let sources = SOURCES.into_iter().zip(of);
    Value::Object(sources.map(|((_, name), count)| (name.to_owned(), json!(count))).collect())
}

fn response(counts: &Counts) -> Value {
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let quantile = |q| ms(counts.response_percentile(q));
    json!({
        "mean": counts.response_ns.mean().map(|ns| ns / 1e6),
        "p50": quantile(0.5),
        "p90": quantile(0.9),
        "p99": quantile(0.99),
        "max": ms(counts.response_ns.max()),
    })
}

/// Means over replications with their intervals, and differences from the first cell.
fn replications(of: &Simulated, first: &Simulated) -> Value {
    let all = |estimated: Vec<Estimated>| -> Map<String, Value> {
        let of = |one: Estimated| {
            let Estimated { figure, mean, ci95: (low, high) } = one;
            (figure.name.to_owned(), json!({ "mean": mean, "ci95": [low, high] }))
        };
        estimated.into_iter().map(of).collect()
    };
    json!({
        "count": of.replications.len(),
        "figures": all(Figures::estimated(&of.replications)),
        "difference_from_first":
            all(Figures::differences(&of.replications, &first.replications)),
    })
}

/// What one node or parent did, in all and over time.
fn node((of, course): (&NodeCounts, &Vec<Part>)) -> Value {
    json!({
        "requests": of.requests,
        "hits": of.hits,
        "requested_bytes": of.requested_bytes,
        "hit_bytes": of.hit_bytes,
        "origin": of.origin,
        "origin_bytes": of.origin_bytes,
        "given": of.given,
        "refused": of.refused,
        "evictions": of.evictions,
        "held": of.held,
        "full": of.full.map(full),
        "steady": of.steady.as_ref().map(part),
        "course": course.iter().map(part).collect::<Vec<_>>(),
    })
}

fn part(of: &Part) -> Value {
    json!({
        "requests": of.requests,
        "requested_bytes": of.requested_bytes,
        "hits": of.hits,
        "hit_bytes": of.hit_bytes,
        "origin": of.origin,
        "origin_bytes": of.origin_bytes,
    })
}

fn full(of: Full) -> Value {
    json!({ "request": of.request, "second": of.second })
}

/// What followed when the last spool was full.
fn steady(of: &Totals) -> Value {
    let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let origin = Source::Origin as usize;
    json!({
        "requests": of.requests,
        "misses": of.answers[origin],
        "miss_ratio": ratio(of.answers[origin], of.requests),
        "requested_bytes": of.requested_bytes,
        "missed_bytes": of.bytes[origin],
        "byte_miss_ratio": ratio(of.bytes[origin], of.requested_bytes),
        "answers": by_source(&of.answers),
        "answered_bytes": by_source(&of.bytes),
    })
}

/// Shares of objects whose member changes.
fn moves(of: Moves) -> Value {
    json!({
        "joins_last": of.joins_last,
        "joins_first": of.joins_first,
        "last_leaves": of.last_leaves,
        "first_leaves": of.first_leaves,
    })
}
