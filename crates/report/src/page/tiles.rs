//! The figures of the headline, for one run as tiles and for several as rows of a table.

use plimsoll_runs::Summary;

use plimsoll_draw::Markup;
use plimsoll_draw::chart::unit::{micros, per_cent, significant, whole};

/// A figure of the headline.
pub(crate) struct Tile {
    /// What it is.
    pub(crate) name: &'static str,
    /// What that means; empty where the detail says it.
    pub(crate) meaning: &'static str,
    /// The figure.
    pub(crate) value: String,
    /// What it is made of; may be empty.
    pub(crate) detail: String,
    /// Whether something is wrong with it: `poor`, or empty.
    pub(crate) class: &'static str,
}

impl Tile {
    /// Writes the tile, into a list of them.
    pub(crate) fn write(&self, m: &mut Markup) {
        m.tag("div", &[("class", &format!("tile {}", self.class))], |m| {
            m.leaf("dt", &[], self.name);
            m.leaf("dd", &[("class", &"figure")], &self.value);
            let small = if self.detail.is_empty() { self.meaning } else { &self.detail };
            m.leaf("dd", &[("class", &"detail")], small);
        });
    }
}

/// The figures of the headline, in order; the same for every run.
pub(crate) fn tiles(s: &Summary) -> Vec<Tile> {
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
            value: format!("{}/s", significant(s.rate_mean)),
            detail: format!("{} answered", whole(s.completed as f64)),
            class: "",
        },
    ];
    let response = &s.response_us;
    for (name, meaning, value) in [
        ("p50", "half are slower", response.p50),
        ("p99", "1 in 100 slower", response.p99),
        ("p99.9", "1 in 1,000 slower", response.p999),
        ("Maximum", "slowest answer", response.max),
    ] {
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
            Some(_) if a.down_s == 0 => format!("up all {} s", whole(up)),
            Some(_) => format!("down {} of {} s", whole(down), whole(up + down)),
        },
        class: if a.down_s > 0 { "poor" } else { "" },
    }
}
