//! What came of WebSockets: a row a run, and one of its broadcasts.

use plimsoll_runs::{BroadcastFigures, WebSocketFigures};

use super::content::Content;
use crate::document::{Block, Cell, Grid, Section, words};
use plimsoll_draw::chart::unit::{micros, signed, whole};

const DASH: &str = "–";

const MEANING: &str = "Counts are over the whole run, times over its measured phase. A \
                       broadcast's latency is from when it was published, by the server's clock, \
                       to its receipt by this host's; its spread from the first to the last \
                       receipt of one, over those who had it within three seconds. Lost are \
                       gaps in their numbers while connected that the server has not told of. \
                       Where the server was asked for its time, that by which its clock is ahead \
                       of this host's is taken off, and wrong by ± at most.";

/// The section; `None` where no run had WebSockets.
pub(crate) fn section(content: &Content) -> Option<Section> {
    let mut blocks = vec![words(MEANING)];
    for view in &content.views {
        let Some(of) = &view.summary.websocket else { continue };
        if content.several() {
            blocks.push(Block::Heading(view.heading.clone()));
        }
        blocks.push(Block::Table(messages(of)));
        if let Some(of) = &of.broadcast {
            blocks.push(Block::Heading("Broadcasts".to_owned()));
            blocks.push(Block::Table(broadcasts(of)));
        }
    }
    (blocks.len() > 1).then(|| Section::new("websockets", "WebSockets", blocks))
}

fn messages(of: &WebSocketFigures) -> Grid {
    let closed = of.closed.iter().map(|(code, n)| format!("{code} × {n}"));
    let let_go = of.let_go.iter().map(|(code, n)| format!("{code} × {n} by the server"));
    let closed = closed.chain(let_go).collect::<Vec<_>>().join(", ");
    let heads = [
        "connected",
        "refused",
        "reconnected",
        "closed",
        "sent",
        "received",
        "unmatched",
        "online",
    ];
    let cells = [
        whole(of.connected as f64),
        whole(of.refused as f64),
        whole(of.reconnected as f64),
        if closed.is_empty() { DASH.to_owned() } else { closed },
        whole(of.sent as f64),
        whole(of.received as f64),
        whole(of.unmatched as f64),
        micros(of.online_s * 1e6),
    ];
    grid(&heads, cells)
}

fn broadcasts(of: &BroadcastFigures) -> Grid {
    let time = |value: Option<f64>| value.map_or_else(|| DASH.to_owned(), micros);
    let heads = [
        "broadcasts",
        "skipped",
        "lost",
        "doubled",
        "disorder",
        "clock ahead",
        "±",
        "latency p50",
        "latency p99",
        "latency max",
        "spread p50",
        "spread p99",
    ];
    let cells = [
        whole(of.received as f64),
        whole(of.skipped as f64),
        whole(of.lost as f64),
        whole(of.doubled as f64),
        whole(of.disorder as f64),
        of.offset_us.map_or_else(|| DASH.to_owned(), |value| signed(value, micros)),
        time(of.offset_error_us),
        time(of.latency_us.p50),
        time(of.latency_us.p99),
        time(of.latency_us.max),
        time(of.spread_us.p50),
        time(of.spread_us.p99),
    ];
    grid(&heads, cells)
}

fn grid<const N: usize>(heads: &[&str; N], cells: [String; N]) -> Grid {
    Grid {
        class: "percentiles",
        id: String::new(),
        heads: heads.iter().map(|head| Cell::of((*head).to_owned())).collect(),
        rows: vec![cells.into_iter().map(Cell::of).collect()],
    }
}
