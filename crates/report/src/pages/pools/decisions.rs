//! The decisions of each policy that changed the pool: when, from how many to how many, why, and
//! what it had seen.

use plimsoll_elastic::course::{Course, Decision};

use super::policies::Pools;
use crate::document::{self, Block, Cell, Grid, nothing};

use plimsoll_draw::chart::label::shortened;
use plimsoll_draw::chart::unit::{clock, micros, moment, significant, whole};

/// Most decisions on the page, and of one policy.
const MOST: usize = 1200;
const MOST_OF_ONE: usize = 400;
/// However many policies there are, so many of each.
const MIN_OF_ONE: usize = 10;
/// Most characters of a reason, and most metrics that were seen.
const LONGEST: usize = 240;
const METRICS: usize = 8;

/// A table a policy, closed.
pub(super) fn blocks(pools: &Pools<'_>) -> Vec<Block> {
    let courses = &pools.courses;
    if courses.is_empty() {
        return vec![nothing("Nothing to show: there is no course.")];
    }
    let most = (MOST / courses.len()).clamp(MIN_OF_ONE, MOST_OF_ONE);
    let mut blocks = Vec::new();
    for (index, course) in courses.iter().enumerate() {
        blocks.push(Block::Heading(course.label.clone()));
        blocks.push(document::note(note(course.decisions.len(), most)));
        if !course.decisions.is_empty() {
            let table = Block::Table(table(course, pools.about.clock_s, most, index));
            blocks.push(Block::Folded("Decisions".to_owned(), vec![table]));
        }
    }
    blocks
}

/// How many there are, and how many of them are left out.
fn note(count: usize, most: usize) -> String {
    let all = whole(count as f64);
    match count {
        0 => "No decision changed the pool.".to_owned(),
        1 => "1 decision changed the pool.".to_owned(),
        _ if count <= most => format!("{all} decisions changed the pool."),
        _ => format!(
            "{all} decisions changed the pool. The table has the first {}; the other {} are left \
             out here and are events of its run.",
            whole(most as f64),
            whole((count - most) as f64)
        ),
    }
}

fn table(course: &Course, clock_s: Option<f64>, most: usize, index: usize) -> Grid {
    let heads = ["when", "from", "to", "why", "last seen"];
    let row = |of: &Decision| {
        let seen = of.seen.iter().filter(|(_, value)| value.is_finite()).take(METRICS);
        let seen: Vec<String> = seen.map(|(metric, value)| told(metric, *value)).collect();
        let when = clock_s.map_or_else(|| moment(of.at_s), |start| clock(start + of.at_s));
        let why = shortened(&of.reason, LONGEST);
        let cells = [when, of.from.to_string(), of.to.to_string(), why, seen.join(", ")];
        cells.map(Cell::of).into()
    };
    Grid {
        class: "decisions",
        id: format!("decisions-table-{index}"),
        heads: heads.map(Cell::of).into(),
        rows: course.decisions.iter().take(most).map(row).collect(),
    }
}

/// A metric with its value, in the unit that it is collected in.
fn told(metric: &str, value: f64) -> String {
    let value = match metric {
        "cpu" | "memory" => format!("{}%", significant(value)),
        "rate" | "lost" => format!("{}/s", significant(value)),
        "response" => micros(value * 1e6),
        _ => significant(value),
    };
    format!("{} {value}", shortened(metric, 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(note(0, 10), "No decision changed the pool.");
        assert_eq!(note(10, 10), "10 decisions changed the pool.");
        let more = note(1500, 100);
        assert!(more.contains("first 100") && more.contains("other 1,400"), "{more}");
    }

    #[test]
    fn metrics_have_their_units() {
        let cases =
            [("cpu", 71.25, "cpu 71.2%"), ("lost", 2.0, "lost 2/s"), ("memory", 8.0, "memory 8%")];
        for (metric, value, text) in cases {
            assert_eq!(told(metric, value), text);
        }
        assert_eq!(told("response", 0.25), "response 250 ms");
        assert_eq!(told("queue", 12.0), "queue 12");
    }
}
