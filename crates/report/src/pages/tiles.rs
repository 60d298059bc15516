//! The figures of the headline, for one run as tiles and for several as rows of a table.

use plimsoll_runs::Summary;

use crate::document::Tile;

use plimsoll_draw::chart::unit::{micros, per_cent, significant, whole};

/// Whether p90 stands in for p99: too few answers lie beyond that.
pub(crate) fn lacks_p99(s: &Summary) -> bool {
    s.response_us.p99.is_none() && s.response_us.p90.is_some()
}

/// The figures of the headline, in order, with p90 where one of several runs has no p99.
pub(crate) fn tiles(s: &Summary, with_p90: bool) -> Vec<Tile> {
    let offered_rate = if s.duration_s > 0.0 { s.offered as f64 / s.duration_s } else { 0.0 };
    let mut tiles = vec![
        Tile {
            name: "Offered",
            meaning: "",
            value: format!("{}/s", significant(offered_rate)),
            detail: format!("{} due", whole(s.offered as f64)),
            class: "",
        },
        Tile {
            name: "Achieved",
            meaning: "",
            value: s
                .rate_mean
                .map_or_else(|| "–".to_owned(), |rate| format!("{}/s", significant(rate))),
            detail: format!("{} answered", whole(s.completed as f64)),
            class: "",
        },
    ];
    let response = &s.response_us;
    let p90 = with_p90.then_some(("p90", "1 in 10 slower", response.p90));
    let times = [("p50", "half are slower", response.p50)].into_iter().chain(p90).chain([
        ("p99", "1 in 100 slower", response.p99),
        ("p99.9", "1 in 1,000 slower", response.p999),
        ("Maximum", "slowest answer", response.max),
    ]);
    for (name, meaning, value) in times {
        tiles.push(Tile {
            name,
            meaning,
            value: value.map_or_else(|| "–".to_owned(), micros),
            detail: match value {
                Some(_) => "",
                None if s.completed == 0 => "no answers",
                None => "too few answers",
            }
            .to_owned(),
            class: "",
        });
    }
    tiles.push(errors(s));
    tiles.push(availability(s));
    tiles
}

fn errors(s: &Summary) -> Tile {
    let failed = s.offered.saturating_sub(s.succeeded);
    let share = if s.offered > 0 { failed as f64 / s.offered as f64 } else { 0.0 };
    Tile {
        name: "Errors",
        meaning: "",
        value: if s.offered > 0 { per_cent(share) } else { "–".to_owned() },
        detail: if failed == 0 {
            "no request failed".to_owned()
        } else {
            format!("{} of {}", whole(failed as f64), whole(s.offered as f64))
        },
        class: if failed > 0 { "poor" } else { "" },
    }
}

fn availability(s: &Summary) -> Tile {
    let a = &s.availability;
    let (up, down) = (a.up_s as f64, a.down_s as f64);
    Tile {
        name: "Availability",
        meaning: "",
        value: a.ratio.map_or_else(|| "–".to_owned(), per_cent),
        detail: match a.ratio {
            None => "no second counted".to_owned(),
            Some(_) if a.down_s == 0 => format!("a right answer in each of {} s", whole(up)),
            Some(_) => format!("no right answer in {} of {} s", whole(down), whole(up + down)),
        },
        class: if a.down_s > 0 { "poor" } else { "" },
    }
}
