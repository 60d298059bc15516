//! The windows of a search as a table: the figures behind the charts over time.

use plimsoll_runs::WindowRow;

use crate::searched::Searched;
use plimsoll_draw::chart::plot::{Table, plain_heads};
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{micros, significant, whole};

/// Columns of the table that the read-out of the rates shows.
pub(crate) const OF_RATES: [usize; 5] = [1, 2, 3, 4, 5];
/// The column of the first percentile.
const FIRST_TIME: usize = 8;

/// The percentiles drawn over time, with their colours; the SLO's own where it is none of them.
pub(crate) fn percentiles(searched: &Searched) -> Vec<(u32, &'static str)> {
    let mut all = vec![(50, "c0"), (90, "c1"), (99, "c2")];
    if let Some(own) = searched.percentile()
        && all.iter().all(|&(known, _)| known != own)
    {
        all.push((own, "c8"));
        all.sort_unstable();
    }
    all
}

/// The columns that the read-out of the times shows.
pub(crate) fn of_times(searched: &Searched) -> Vec<usize> {
    let times = FIRST_TIME..FIRST_TIME + percentiles(searched).len();
    [1, 2, 4].into_iter().chain(times).collect()
}

/// How a verdict is drawn: its symbol and its colour.
pub(crate) fn look(verdict: &str) -> (Symbol, &'static str) {
    match verdict {
        "within" | "accepted" => (Symbol::Disc, "c1"),
        "beyond" | "refused" => (Symbol::Cross, "c3"),
        "cut" => (Symbol::Triangle, "c2"),
        // Discarded, and what a later version may add: nothing is said of the server.
        _ => (Symbol::Square, "c7"),
    }
}

/// A percentile of a window.
pub(crate) fn at(window: &WindowRow, percentile: u32) -> Option<f64> {
    window.percentiles_us.get(&percentile).copied().flatten()
}

/// The table of all windows of a search.
pub(crate) fn table(searched: &Searched, index: usize) -> Table {
    let plain = ["began", "phase", "verdict", "length", "offered", "achieved", "errors", "rtt"];
    let mut heads: Vec<(String, String)> = plain_heads(plain);
    heads[4].1 = "c7 broad".to_owned();
    heads[5].1 = "c0".to_owned();
    let drawn = percentiles(searched);
    heads.extend(drawn.iter().map(|(p, tone)| (format!("p{p}"), (*tone).to_owned())));
    let more = ["answered", "min", "mean", "max"];
    heads.extend(plain_heads(more));
    let rows = searched.windows.iter().map(|window| row(window, &drawn)).collect();
    Table { id: format!("windows-{index}"), summary: "Table of the windows", heads, rows }
}

fn row(window: &WindowRow, drawn: &[(u32, &'static str)]) -> Vec<String> {
    let time = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), micros);
    let response = &window.response_us;
    let mut cells = vec![
        format!("{:.1} s", window.start_s),
        window.phase.clone(),
        window.verdict.clone(),
        format!("{} s", significant(window.seconds)),
        format!("{}/s", significant(window.offered_per_s)),
        format!("{}/s", significant(window.achieved_per_s)),
        whole(window.errors as f64),
        time(window.rtt_us),
    ];
    cells.extend(drawn.iter().map(|&(p, _)| time(at(window, p))));
    cells.push(whole(response.count as f64));
    cells.extend([response.min, response.mean, response.max].map(time));
    cells
}
