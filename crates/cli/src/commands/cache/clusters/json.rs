//! Clusters as JSON.

use super::{super::trace_json, Done};
use plimsoll_cache::cluster::{Counts, Moves, NodeCounts, SOURCES};
use plimsoll_cache::trace::Trace;
use plimsoll_experiment::caches::{Cell, Simulated};
use serde_json::{Map, Value, json};

/// The result as a whole.
pub(super) fn render(done: &Done) -> Value {
    let results = done.cells.iter().zip(&done.simulated);
    json!({
        "schema": 1,
        "warnings": done.warnings,
        "name": done.plan.name,
        "seed": done.plan.seed,
        "trace": trace_json(&done.opened),
        "results": results.map(|(cell, of)| result(&done.opened.trace, cell, of)).collect::<Vec<_>>(),
    })
}

fn result(trace: &Trace, cell: &Cell, of: &Simulated) -> Value {
    let [node_moves, parent_moves] = Moves::of(trace, &cell.cluster);
    let counts = &of.counts;
    let levels: Map<_, _> =
        cell.levels.iter().map(|(key, level)| ((*key).to_owned(), json!(level))).collect();
    let course: Vec<_> = counts
        .course
        .iter()
        .map(|(requests, misses)| json!({ "requests": requests, "misses": misses }))
        .collect();
    json!({
        "cluster": cell.label,
        "levels": levels,
        "requests": counts.requests,
        "misses": counts.answers[SOURCES.len() - 1],
        "miss_ratio": counts.miss_ratio(),
        "requested_bytes": counts.requested_bytes,
        "missed_bytes": counts.bytes[SOURCES.len() - 1],
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
        "nodes": counts.nodes.iter().map(node).collect::<Vec<_>>(),
        "parents": counts.parents.iter().map(node).collect::<Vec<_>>(),
        "moves": { "nodes": node_moves.map(moves), "parents": parent_moves.map(moves) },
        "course": course,
        "cpu_s": of.cpu_s,
    })
}

fn by_source(of: &[u64; 5]) -> Value {
    let sources = SOURCES.into_iter().zip(of);
    Value::Object(sources.map(|((_, name), count)| (name.to_owned(), json!(count))).collect())
}

fn response(counts: &Counts) -> Value {
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let quantile = |q| ms(counts.response_ns.value_at_quantile(q));
    json!({
        "mean": counts.response_ns.mean().map(|ns| ns / 1e6),
        "p50": quantile(0.5),
        "p90": quantile(0.9),
        "p99": quantile(0.99),
        "max": ms(counts.response_ns.max()),
    })
}

fn node(of: &NodeCounts) -> Value {
    json!({
        "requests": of.requests,
        "hits": of.hits,
        "requested_bytes": of.requested_bytes,
        "hit_bytes": of.hit_bytes,
        "given": of.given,
        "evictions": of.evictions,
        "held": of.held,
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
