//! The transient and the steady state apart: when every spool was full, and the misses before that
//! and after it beside those of the whole trace.

use plimsoll_cache::cluster::{Counts, Full, Source, Totals};
use plimsoll_stats::figure;

use super::cells::{write_name, write_value};
use super::shown::Shown;
use plimsoll_draw::Markup;
use plimsoll_draw::chart::unit::{moment, per_cent, whole};

const ORIGIN: usize = Source::Origin as usize;

/// Writes the table.
pub(super) fn write(m: &mut Markup, shown: &Shown<'_>) {
    m.leaf("h3", &[], "Until the spools were full, and after that");
    if shown.all.iter().all(|(_, cell)| cell.counts.full.is_none()) {
        let words = "No cluster became full: in each a node or a parent never held 95% of its \
                     capacity, so all that is counted is transient. A longer trace or smaller \
                     caches would show the steady state.";
        m.leaf("p", &[("class", &"words after")], words);
        return;
    }
    let sized = shown.is_sized();
    let misses = figure::MISS_RATIO.label;
    let mut heads = vec!["cluster", "every spool full after", misses, "until then", "after"];
    if sized {
        heads.extend([figure::BYTE_MISS_RATIO.label, "until then", "after"]);
    }
    m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
        m.tag("table", &[("class", &"policies"), ("id", &"steady-table")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    for head in heads {
                        m.leaf("th", &[("scope", &"col")], head);
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                for number in 0..shown.all.len() {
                    write_row(m, shown, number, sized);
                }
            });
        });
    });
    let marked =
        if shown.all.len() > 1 { " The lowest of the steady state is marked." } else { "" };
    let words = format!(
        "A spool is full when it holds 95% of its capacity; the steady state begins when that of \
         the last node or parent is.{marked}"
    );
    m.leaf("p", &[("class", &"note after")], words);
}

fn write_row(m: &mut Markup, shown: &Shown<'_>, number: usize, sized: bool) {
    let counts = shown.counts(number);
    m.tag("tr", &[], |m| {
        write_name(m, shown, number);
        m.leaf("td", &[], counts.full.map_or_else(|| "never".to_owned(), |of| when(shown, of)));
        write_ratios(m, shown, counts, |of| (of.answers[ORIGIN], of.requests));
        if sized {
            write_ratios(m, shown, counts, |of| (of.bytes[ORIGIN], of.requested_bytes));
        }
    });
}

/// A ratio of the whole, of the transient, and of the steady state.
fn write_ratios(m: &mut Markup, shown: &Shown<'_>, counts: &Counts, of: fn(&Totals) -> (u64, u64)) {
    let share = |totals: &Totals| {
        let (misses, all) = of(totals);
        (all > 0).then(|| super::ratio(misses, all))
    };
    let text = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), per_cent);
    let all = totals(counts);
    m.leaf("td", &[], text(share(&all)));
    let before = counts.steady.map(|steady| before(&all, &steady));
    m.leaf("td", &[], text(before.and_then(|before| share(&before))));
    let steady = |counts: &Counts| counts.steady.as_ref().and_then(share);
    let others = shown.all.iter().filter_map(|(_, cell)| steady(cell.counts));
    let least = others.fold(f64::INFINITY, f64::min);
    let own = steady(counts);
    write_value(m, &text(own), shown.all.len() > 1 && own.is_some_and(|own| own <= least));
}

fn totals(counts: &Counts) -> Totals {
    let Counts { requests, requested_bytes, answers, bytes, .. } = *counts;
    Totals { requests, requested_bytes, answers, bytes }
}

/// What came before the steady state.
fn before(all: &Totals, steady: &Totals) -> Totals {
    let less = |all: &[u64; 5], steady: &[u64; 5]| {
        std::array::from_fn(|source| all[source].saturating_sub(steady[source]))
    };
    Totals {
        requests: all.requests.saturating_sub(steady.requests),
        requested_bytes: all.requested_bytes.saturating_sub(steady.requested_bytes),
        answers: less(&all.answers, &steady.answers),
        bytes: less(&all.bytes, &steady.bytes),
    }
}

/// When a spool became full: after how many requests, and how long after the first.
pub(super) fn when(shown: &Shown<'_>, full: Full) -> String {
    let requests = full.request as u64 + 1;
    let share = super::ratio(requests, shown.of.trace.len() as u64);
    let first = shown.of.trace.seconds().and_then(|seconds| seconds.first().copied());
    let time = match (full.second, first) {
        (Some(second), Some(first)) => {
            format!(", {}", moment(f64::from(second.saturating_sub(first))))
        }
        _ => String::new(),
    };
    format!("{} requests ({}{time})", whole(requests as f64), per_cent(share))
}
