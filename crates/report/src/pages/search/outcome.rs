//! What a search found, how it ended and what it cost: the headline of the section.

use plimsoll_capacity::cost::Cost;
use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::search::{Bound, Sustained};
use plimsoll_stats::figure;

use crate::document::{Block, Tile, Verdict, note};
use crate::figure_text;
use crate::searched::Searched;
use plimsoll_draw::chart::unit::{micros, per_cent, significant, whole};

const DASH: &str = "–";

/// What a search found, and what is to be said of it.
pub(crate) fn blocks(searched: &Searched) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(result) = &searched.result {
        blocks = vec![Block::Verdict(verdict(result)), Block::Tiles(tiles(result))];
        blocks.push(note(cost(result)));
    }
    let warnings = searched.result.iter().flat_map(|result| &result.warnings);
    let notes: Vec<String> = searched.faults.iter().chain(warnings).cloned().collect();
    if !notes.is_empty() {
        blocks.push(Block::Notice(if notes.len() == 1 { "Note" } else { "Notes" }, notes));
    }
    blocks
}

fn per_second(rate: f64) -> String {
    figure_text::text(figure::ESTIMATE_PER_S, rate, "")
}

/// Where the estimate lies, in words; empty where no interval is known.
fn interval(result: &CapacityResult) -> String {
    let show = |(low, high)| format!("95%: {} to {}", per_second(low), per_second(high));
    result.ci95.map(show).unwrap_or_default()
}

fn verdict(result: &CapacityResult) -> Verdict {
    let (class, how) = ending(&result.ended);
    let slo = if result.slo.is_empty() { "the SLO" } else { &result.slo };
    let says = match result.estimate_per_s {
        Some(rate) => match result.bound {
            None => format!("Capacity: {} under {slo}", per_second(rate)),
            Some(Bound::AtLeast) => format!("Capacity: at least {} under {slo}", per_second(rate)),
            Some(Bound::AtMost) => format!("Capacity: at most {} under {slo}", per_second(rate)),
        },
        None => format!("No capacity was found under {slo}"),
    };
    let interval = interval(result);
    let interval = if interval.is_empty() { interval } else { format!(" ({interval})") };
    Verdict { class, says: format!("{says}{interval}"), reasons: vec![how] }
}

/// How a search ended: the class of the verdict, and a sentence.
fn ending(ended: &str) -> (&'static str, String) {
    let known = match ended {
        "found" => ("good", "The search came to its end, and what it found held."),
        "bracketed" => (
            "open",
            "There is a rate that held and one that broke, and no estimate between them that \
             agrees with all that was seen.",
        ),
        "slo_unreachable" => {
            ("poor", "The SLO holds at no rate, not even at the least that was tried.")
        }
        "generator_limited" => {
            ("poor", "The generator could not keep up with the rate: use more threads or hosts.")
        }
        "unstable_network" => {
            ("open", "The round trip was far above its baseline in five windows in a row.")
        }
        "target_lost" => ("poor", "The server stopped answering."),
        "budget" => ("open", "The search was ended before it was done: by a limit, or by hand."),
        other => return ("open", format!("It ended: {}.", other.replace('_', " "))),
    };
    (known.0, known.1.to_owned())
}

fn rate_tile(name: &'static str, meaning: &'static str, rate: Option<f64>) -> Tile {
    let value = rate.map_or_else(|| DASH.to_owned(), per_second);
    Tile { name, meaning, value, detail: String::new(), class: "" }
}

fn check_tile(name: &'static str, meaning: &'static str, check: Option<&String>) -> Tile {
    let value = check.map_or(DASH, String::as_str).to_owned();
    let detail = if check.is_none() { "no such window" } else { "" }.to_owned();
    Tile { name, meaning, value, detail, class: "" }
}

fn tiles(result: &CapacityResult) -> Vec<Tile> {
    let mut capacity = rate_tile("Capacity", "", result.estimate_per_s);
    let bracket = (result.held_per_s, result.broken_per_s);
    capacity.detail = match (result.estimate_per_s, bracket) {
        (None, (Some(held), Some(broken))) => {
            format!("{} held, {} broke", per_second(held), per_second(broken))
        }
        (None, (Some(held), None)) => format!("{} held", per_second(held)),
        (None, (None, Some(broken))) => format!("{} broke", per_second(broken)),
        _ => match result.bound {
            None => interval(result),
            Some(Bound::AtLeast) => "at least: the search was not let go beyond it".to_owned(),
            Some(Bound::AtMost) => "at most: it did not hold when looked at again".to_owned(),
        },
    };
    let above = result.seconds_above_estimate;
    let share = |s: f64| if result.seconds > 0.0 { s / result.seconds } else { 0.0 };
    let beyond = result.requests_beyond_slo as f64;
    let requests = result.requests as f64;
    let mut tiles = vec![
        capacity,
        rate_tile("Knee", "most rate for its mean response time", result.knee_per_s),
        rate_tile("Saturation", "completed at most", result.saturation_per_s),
        check_tile("Hold", "just below the capacity", result.check.below.as_ref()),
        check_tile("Check above", "just above the capacity", result.check.above.as_ref()),
        Tile {
            name: "Load time",
            meaning: "",
            value: seconds(result.seconds),
            detail: format!("{} requests", whole(requests)),
            class: "",
        },
        Tile {
            name: "Above capacity",
            meaning: "no capacity was found",
            value: above.map_or_else(|| DASH.to_owned(), seconds),
            detail: above
                .map(|s| format!("{} of the time", per_cent(share(s))))
                .unwrap_or_default(),
            class: "",
        },
        Tile {
            name: "Beyond bound",
            meaning: "",
            value: per_cent(beyond / requests.max(1.0)),
            detail: format!("{} requests", whole(beyond)),
            class: "",
        },
    ];
    tiles.extend(result.cost.as_ref().map(price_tile));
    tiles.extend(result.sustained.as_ref().map(sustained_tile));
    tiles
}

/// What became of the estimate while it was held.
fn sustained_tile(held: &Sustained) -> Tile {
    let mut tile = rate_tile("Sustained", "nothing was held to the end", held.sustained_per_s);
    tile.detail = match (held.exhausted_after_s, held.burst_per_s) {
        (Some(after), Some(burst)) => {
            format!("after {} at up to {}", seconds(after), per_second(burst))
        }
        _ => format!("held for {}", seconds(held.held_s)),
    };
    tile
}

/// What a million requests cost at the capacity.
fn price_tile(cost: &Cost) -> Tile {
    Tile {
        name: "A million costs",
        meaning: "",
        value: cost.show_per_million(),
        detail: format!("{} each, at {} an hour", cost.show_per_request(), cost.price_per_hour),
        class: "",
    }
}

fn seconds(seconds: f64) -> String {
    format!("{} s", significant(seconds))
}

/// Method and round trips, in a sentence or two.
fn cost(result: &CapacityResult) -> String {
    let show = |value: Option<f64>| value.map_or_else(|| DASH.to_owned(), micros);
    let trips = &result.rtt_us;
    format!(
        "Method: {}. Round trip of the network: baseline {}, p50 {}, p99 {} over the seconds of \
         all windows.",
        result.method,
        show(trips.baseline),
        show(trips.p50),
        show(trips.p99)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_has_its_sentence() {
        for ended in [
            "found",
            "bracketed",
            "slo_unreachable",
            "generator_limited",
            "unstable_network",
            "budget",
        ] {
            assert!(!ending(ended).1.starts_with("It ended"), "{ended}");
        }
        assert_eq!(ending("power_cut").1, "It ended: power cut.");
    }
}
