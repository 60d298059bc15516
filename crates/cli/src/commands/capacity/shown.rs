//! Searches taken together, as a person reads them: estimates, cost, changes and dips.

use plimsoll_capacity::cost::Cost;
use plimsoll_capacity::restarts::Restarts;
use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::search::{Bound, Sustained};
use plimsoll_capacity::series::{Change, DipFound, SeriesSummary};
use plimsoll_experiment::series::show_seconds;
use plimsoll_stats::Described;
use plimsoll_units::{show_rate, show_share};

/// The cost of a request.
pub(super) fn cost(cost: &Cost) -> String {
    format!(
        "{} a request, {} a million, at {} an hour",
        cost.show_per_request(),
        cost.show_per_million(),
        cost.price_per_hour
    )
}

/// An estimate, and whether it is no more than a bound.
pub(super) fn rate(rate: f64, bound: Option<Bound>) -> String {
    let rate = show_rate(rate);
    match bound {
        None => rate,
        Some(Bound::AtLeast) => format!("at least {rate}"),
        Some(Bound::AtMost) => format!("at most {rate}"),
    }
}

/// The highest rate that held, and the lowest above it that broke.
pub(super) fn bracket(result: &CapacityResult) -> String {
    let rate = |rate: Option<f64>| rate.map_or_else(dash, show_rate);
    format!("held: {}, broken: {}", rate(result.held_per_s), rate(result.broken_per_s))
}

/// How many estimates, and how many of them are bounds.
pub(super) fn found(summary: &SeriesSummary) -> String {
    match summary.bounds {
        0 => summary.found.to_string(),
        1 => format!("{}, 1 a bound", summary.found),
        bounds => format!("{}, {bounds} bounds", summary.found),
    }
}

/// The spread between restarts, in a sentence.
pub(super) fn restarts(of: &Restarts) -> String {
    let spread = format!("{} estimates with a CV of {}", of.n, show_share(of.between_cv));
    let (Some(within), Some(p), Some(cv)) = (of.within_sd_per_s, of.p_value, of.restart_cv) else {
        return format!("{spread}; they have no intervals to hold that against");
    };
    let within = show_share(within / of.mean_per_s);
    let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
    let after = interval(Some(of.next_95));
    if of.is_more_than_chance == Some(true) {
        let cv = show_share(cv);
        format!(
            "{spread}, where the searches explain {within}: more than chance ({p}), {cv} from \
             restart to restart; after a next restart in {after} (95%)"
        )
    } else {
        format!("{spread}, where the searches explain {within}: no more than chance ({p})")
    }
}

/// What became of an estimate while it was held.
pub(super) fn sustained(held: &Sustained) -> String {
    let rate = |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), show_rate);
    let kept = rate(held.sustained_per_s);
    match held.exhausted_after_s {
        Some(after) => {
            format!("{kept} after {} at up to {}", show_seconds(after), rate(held.burst_per_s))
        }
        None => format!("{kept} for {}", show_seconds(held.held_s)),
    }
}

/// An interval in brackets; a dash where there is none.
pub(super) fn interval(interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(dash, |(low, high)| format!("[{}, {}]", show_rate(low), show_rate(high)))
}

pub(super) fn dash() -> String {
    "–".to_owned()
}

/// The time of day and date of ISO 8601, to the second.
pub(super) fn moment(iso: &str) -> String {
    match iso.split_once('T') {
        Some((date, time)) if time.is_ascii() && time.len() >= 8 => {
            format!("{date} {}Z", &time[..8])
        }
        _ => iso.to_owned(),
    }
}

/// The coefficient of variation.
pub(super) fn cv(described: &Described) -> String {
    described.cv.map_or_else(dash, show_share)
}

/// What is said of a series besides its figures: a sentence each.
pub(super) fn remarks(summary: &SeriesSummary) -> Vec<String> {
    let told = |change: &&Change| !summary.dips.iter().any(|dip| dip.number == change.number);
    let rises = summary.changes.iter().filter(|change| change.ratio > 1.0).filter(told);
    let ends: Vec<&str> = summary.dips.iter().filter_map(|dip| dip.ended.as_deref()).collect();
    let rises = rises.filter(|change| !ends.contains(&change.started.as_str()));
    summary.dips.iter().map(dip).chain(rises.map(rise)).collect()
}

fn dip(dip: &DipFound) -> String {
    let fell = format!(
        "fell by {} at search {} ({}), from {} to {}",
        show_share(dip.depth),
        dip.number,
        moment(&dip.started),
        show_rate(dip.before_per_s),
        show_rate(dip.level_per_s),
    );
    let searches = if dip.searches == 1 { "search" } else { "searches" };
    let length = format!("for {} ({} {searches})", show_seconds(dip.length_s), dip.searches);
    match (dip.after_per_s, dip.recovery) {
        (Some(after), Some(recovery)) => format!(
            "{fell}, {length}; it came back to {}, by {} of what was lost",
            show_rate(after),
            whole_share(recovery)
        ),
        _ => format!("{fell}, {length}; it has not come back"),
    }
}

/// A share in whole per cent: what was regained is not known better.
fn whole_share(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

fn rise(change: &Change) -> String {
    format!(
        "rose by {} at search {} ({}), from {} to {}",
        show_share(change.ratio - 1.0),
        change.number,
        moment(&change.started),
        show_rate(change.before_per_s),
        show_rate(change.after_per_s),
    )
}
