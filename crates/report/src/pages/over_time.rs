//! The courses: everything that is drawn over the time of the run.

use std::collections::BTreeMap;

use plimsoll_runs::{ErrorKind, IntervalRow};

use super::content::Content;
use super::objectives;
use crate::columns::{highest, mean, per_second, total};
use crate::view::View;
use plimsoll_draw::chart::figure::{Choice, Draw, Figure, Panel, Series, Stroke};
use plimsoll_draw::chart::unit::{Unit, moment, whole};

/// A second with fewer answers than these has dots and no lines.
const MIN_ANSWERS: u64 = 20;
/// Most status codes with a colour of their own.
const CODES: usize = 8;

/// The rate offered and achieved.
pub(crate) fn rate(content: &Content) -> Figure {
    let axis = content.axis;
    let of = |view: &View, count: fn(&IntervalRow) -> u64| per_second(axis, &view.rows, count);
    let mut figure = Figure::lines("rate", "Rate offered and achieved", axis, Unit::PerSecond);
    figure.measure = "requests per second".to_owned();
    figure.wide = true;
    let all_well = |row: &IntervalRow| row.events.completed == row.events.succeeded;
    let all_well = content.views.iter().flat_map(|view| &view.rows).all(all_well);
    figure.note = format!(
        "Each counted in the second in which it happened: offered when due, completed when \
         answered{}. {}",
        if all_well {
            "; every answer was as expected"
        } else {
            ", succeeded when that was as expected"
        },
        content.column_note("rates are means")
    );
    figure.panels = content.panels(|view| {
        let mut series = vec![
            Series::new("succeeded", "c1", of(view, |row| row.events.succeeded)),
            Series::new("completed", "c0", of(view, |row| row.events.completed)),
            Series::new(
                "offered",
                "c7",
                per_second(axis, &view.scheduled(), |row| row.events.offered),
            )
            .with(Stroke::Broad),
        ];
        if all_well {
            series.remove(0);
        }
        series
    });
    figure
}

/// Percentiles of response time.
pub(crate) fn percentiles(content: &Content) -> Figure {
    let axis = content.axis;
    let mut figure =
        Figure::lines("percentiles", "Percentiles of response time", axis, Unit::Micros);
    figure.measure = "response time of answers completed in the second".to_owned();
    figure.wide = true;
    figure.choice = Choice::LogFirst;
    figure.marks = objectives::marks(&content.views);
    figure.note = format!(
        "From when a request was due to its last byte. {}",
        content.column_note("p50 and p90 are means, p99 and the maximum the highest second")
    );
    figure.panels = content.panels(|view| {
        let (told, few): (Vec<_>, Vec<_>) =
            view.scheduled().into_iter().partition(|row| row.events.completed >= MIN_ANSWERS);
        let few = few.into_iter().chain(view.drain()).collect::<Vec<_>>();
        let mut series = vec![
            Series::new("p50", "c0", mean(axis, &told, |row| row.p50_us)),
            Series::new("p90", "c1", mean(axis, &told, |row| row.p90_us)),
            Series::new("p99", "c2", highest(axis, &told, |row| row.p99_us)),
            Series::new("max", "c3", highest(axis, &told, |row| row.max_us)),
        ];
        let dots = highest(axis, &few, |row| row.max_us);
        if dots.iter().any(Option::is_some) {
            series.push(Series::new("max, few answers", "c3", dots).with(Stroke::Dots));
        }
        series
    });
    if figure.panels.iter().flat_map(|panel| &panel.series).any(|one| one.stroke == Stroke::Dots) {
        figure.note.push_str(&format!(
            " A dot is the slowest answer of a second with fewer than {MIN_ANSWERS}, or after the \
             schedule: no line goes through it."
        ));
    }
    figure
}

/// The heat map of response time.
pub(crate) fn heat(content: &Content) -> Figure {
    let mut figure = Figure::lines("heat", "Heat map of response time", content.axis, Unit::Micros);
    figure.measure = "answers per cell".to_owned();
    figure.wide = true;
    figure.draw = Draw::Heat;
    figure.edges.clone_from(&content.edges);
    let length = match content.axis {
        plimsoll_draw::chart::axis::Axis::Time { column_s, .. } => moment(column_s),
        _ => String::new(),
    };
    figure.note = format!(
        "Every answer: a column covers {length}, a row one logarithmic step of response time, the \
         colour is the count on a logarithmic scale. Two bands one above the other are two kinds \
         of answers that no percentile shows."
    );
    figure.panels = content
        .views
        .iter()
        .zip(&content.heat)
        .map(|(view, counts)| Panel {
            heading: content.several().then(|| view.heading.clone()),
            series: counts
                .iter()
                .zip(content.edges.windows(2))
                .map(|(values, edge)| {
                    let name =
                        format!("{} to {}", Unit::Micros.show(edge[0]), Unit::Micros.show(edge[1]));
                    Series::new(&name, "", values.clone())
                })
                .collect(),
            bands: view.bands(),
        })
        .collect();
    figure
}

/// Waiting for a usable connection: the target's doing.
pub(crate) fn waiting(content: &Content) -> Figure {
    let axis = content.axis;
    let mut figure = Figure::lines("waiting", "Waiting for a connection", axis, Unit::Micros);
    figure.measure = "from due to a usable connection".to_owned();
    figure.note = format!(
        "The target's doing, part of the response time. {}",
        content.column_note("the highest second")
    );
    figure.panels = content.panels(|view| {
        vec![Series::new("p99", "c2", highest(axis, &view.rows, |row| row.wait_p99_us))]
    });
    figure
}

/// Lateness: ours.
pub(crate) fn lateness(content: &Content) -> Figure {
    let axis = content.axis;
    let mut figure = Figure::lines("lateness", "Lateness of the generator", axis, Unit::Micros);
    figure.measure = "from usable connection (or due, if later) to sent".to_owned();
    figure.choice = Choice::LogFirst;
    figure.note = format!(
        "Our own doing. {}",
        content.column_note("p50 is a mean, p99 and the maximum the highest second")
    );
    figure.panels = content.panels(|view| {
        let rows = &view.rows;
        vec![
            Series::new("p50", "c0", mean(axis, rows, |row| row.lateness_p50_us)),
            Series::new("p99", "c2", highest(axis, rows, |row| row.lateness_p99_us)),
            Series::new("max", "c3", highest(axis, rows, |row| row.lateness_max_us)),
        ]
    });
    figure
}

/// Status codes, as far as they have a colour, most frequent first; and whether others remain.
fn codes(views: &[View]) -> (Vec<u16>, bool) {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for row in views.iter().flat_map(|view| &view.rows) {
        for &(code, n) in &row.events.status {
            *counts.entry(code).or_insert(0) += n;
        }
    }
    let mut by_count: Vec<(u16, u64)> = counts.into_iter().collect();
    by_count.sort_by_key(|&(code, n)| (std::cmp::Reverse(n), code));
    let others = by_count.len() > CODES;
    let mut codes: Vec<u16> = by_count.into_iter().take(CODES).map(|(code, _)| code).collect();
    codes.sort_unstable();
    (codes, others)
}

/// Colours for codes: by class while there are any left, then whichever is free.
fn tones(codes: &[u16]) -> Vec<&'static str> {
    let mut free = vec!["c1", "c0", "c2", "c3", "c4", "c5", "c6", "c8"];
    let wanted = |code: u16| -> &[&str] {
        match code / 100 {
            2 => &["c1", "c5"],
            3 => &["c0", "c5"],
            4 => &["c2", "c4"],
            5 => &["c3", "c4"],
            _ => &["c6"],
        }
    };
    codes
        .iter()
        .map(|&code| {
            let wish = wanted(code).iter().find_map(|w| free.iter().position(|tone| tone == w));
            let place = wish.unwrap_or(0);
            if place < free.len() { free.remove(place) } else { "c7" }
        })
        .collect()
}

/// Answers by status code.
pub(crate) fn status(content: &Content) -> Figure {
    let axis = content.axis;
    let (codes, others) = codes(&content.views);
    let tones = tones(&codes);
    let mut figure = Figure::lines("status", "Answers by status", axis, Unit::Count);
    figure.measure = format!("answers {}", content.in_each());
    figure.draw = Draw::Stack;
    figure.note = content.column_note("sums");
    figure.panels = content.panels(|view| {
        let count = |row: &IntervalRow, code: u16| {
            row.events.status.iter().find(|(known, _)| *known == code).map_or(0, |(_, n)| *n)
        };
        let mut series: Vec<Series> = codes
            .iter()
            .zip(&tones)
            .map(|(&code, tone)| {
                let values = total(axis, &view.rows, |row| count(row, code));
                Series::new(&code.to_string(), tone, values)
            })
            .collect();
        if others {
            let rest = |row: &IntervalRow| {
                let known = |code: &u16| codes.contains(code);
                row.events.status.iter().filter(|(code, _)| !known(code)).map(|(_, n)| n).sum()
            };
            series.push(Series::new("other", "c7", total(axis, &view.rows, rest)));
        }
        series
    });
    figure
}

fn tone_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Status => "c3",
        ErrorKind::Timeout => "c2",
        ErrorKind::Connect => "c0",
        ErrorKind::Reset => "c4",
        ErrorKind::Protocol => "c5",
        ErrorKind::ClientSaturated => "c6",
        ErrorKind::Check => "c8",
        ErrorKind::Dns => "c1",
        ErrorKind::Tls => "c9",
        ErrorKind::Local => "c10",
        ErrorKind::Redirect => "c11",
        ErrorKind::Take => "c12",
        ErrorKind::Variable => "c13",
        ErrorKind::Unanswered => "c14",
        ErrorKind::Closed => "c15",
        ErrorKind::Offline => "c16",
        ErrorKind::Cut | ErrorKind::InFlightAtEnd => "c7",
    }
}

/// Failures by kind.
pub(crate) fn errors(content: &Content) -> Figure {
    let axis = content.axis;
    let happened: Vec<ErrorKind> = ErrorKind::ALL
        .into_iter()
        .filter(|&kind| {
            let mut rows = content.views.iter().flat_map(|view| &view.rows);
            rows.any(|row| row.events.errors_of(kind) > 0)
        })
        .collect();
    let mut figure = Figure::lines("errors", "Failures by kind", axis, Unit::Count);
    figure.measure = format!("failures {}", content.in_each());
    figure.draw = Draw::Stack;
    figure.note = blame(content);
    if happened.is_empty() {
        "No request failed.".clone_into(&mut figure.note);
    }
    figure.panels = content.panels(|view| {
        happened
            .iter()
            .map(|&kind| {
                let name = kind.name().replace('_', " ");
                let values = total(axis, &view.rows, |row| row.events.errors_of(kind));
                Series::new(&name, tone_of(kind), values)
            })
            .collect()
    });
    figure
}

/// Who is answerable, in words.
fn blame(content: &Content) -> String {
    let mut text = String::from("Answerable in the measured phase: ");
    for (index, view) in content.views.iter().enumerate() {
        if index > 0 {
            text.push_str("; ");
        }
        if content.several() {
            text.push_str(&view.letter);
            text.push_str(": ");
        }
        let blame = &view.summary.blame;
        text.push_str(&format!(
            "target {}, generator {}, environment {}",
            whole(blame.target as f64),
            whole(blame.generator as f64),
            whole(blame.environment as f64)
        ));
    }
    text.push_str(". Only the target's count against it. ");
    text.push_str(&content.column_note("sums"));
    text
}

/// The health of the generator and its host.
pub(crate) fn health(content: &Content) -> Vec<Figure> {
    let axis = content.axis;
    let mut busy = Figure::lines("busy", "Busy share", axis, Unit::Share);
    busy.measure = "thread time spent on events".to_owned();
    busy.note = content.column_note("means");
    busy.panels = content
        .panels(|view| vec![Series::new("busy", "c0", mean(axis, &view.rows, |r| r.busy_share))]);

    let mut open = Figure::lines("outstanding", "In flight and waiting", axis, Unit::Count);
    open.measure = "requests at the end of the second".to_owned();
    open.note = content.column_note("the highest second");
    open.panels = content.panels(|view| {
        let waiting = highest(axis, &view.rows, |r| Some(r.waiting as f64));
        let in_flight = highest(axis, &view.rows, |r| Some(r.in_flight as f64));
        vec![
            Series::new("in flight", "c0", in_flight),
            Series::new("waiting for a connection", "c2", waiting),
        ]
    });

    let mut connections = Figure::lines("connections", "Connections", axis, Unit::Count);
    connections.measure = "connections".to_owned();
    connections.note = content.column_note("usable: the highest second; the others: sums");
    connections.panels = content.panels(|view| {
        let usable = highest(axis, &view.rows, |r| Some(r.connections as f64));
        let mut series = vec![
            Series::new("usable at the end of the second", "c0", usable),
            Series::new("opened", "c1", total(axis, &view.rows, |r| r.opened)),
            Series::new("found closed", "c2", total(axis, &view.rows, |r| r.stale)),
            Series::new("failed to open", "c3", total(axis, &view.rows, |r| r.connect_failed)),
        ];
        series.retain(|one| one.name.starts_with("usable") || !one.is_flat());
        series
    });

    let mut figures = vec![busy, open, connections];
    figures.extend(host(content));
    figures
}

fn host(content: &Content) -> Vec<Figure> {
    let axis = content.axis;
    let mut rtt = Figure::lines("rtt", "TCP round trip", axis, Unit::Micros);
    rtt.measure = "of handshakes, else the least the kernel remembers".to_owned();
    rtt.note = format!(
        "By the kernel's handshakes of new connections; where none was opened, the least it \
         remembers of the last minutes. {}",
        content.column_note("means")
    );
    rtt.panels = content
        .panels(|view| vec![Series::new("round trip", "c0", mean(axis, &view.rows, |r| r.rtt_us))]);

    let mut steal = Figure::lines("steal", "Time stolen by the hypervisor", axis, Unit::Share);
    steal.measure = "share of CPU time given to others".to_owned();
    steal.note = content.column_note("means");
    steal.panels = content
        .panels(|view| vec![Series::new("steal", "c4", mean(axis, &view.host, |r| r.steal_share))]);

    let mut timer = Figure::lines("timer", "How late an idle timer wakes", axis, Unit::Micros);
    timer.measure = "noise of the host".to_owned();
    timer.choice = Choice::LogFirst;
    timer.note = content.column_note("p50 is a mean, p99 and the maximum the highest second");
    timer.panels = content.panels(|view| {
        vec![
            Series::new("p50", "c0", mean(axis, &view.host, |r| r.timer_late_p50_us)),
            Series::new("p99", "c2", highest(axis, &view.host, |r| r.timer_late_p99_us)),
            Series::new("max", "c3", highest(axis, &view.host, |r| r.timer_late_max_us)),
        ]
    });
    vec![rtt, steal, timer]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_colours_of_their_own() {
        let codes = [200, 204, 301, 404, 429, 500, 502, 503];
        let mut tones = tones(&codes);
        assert_eq!(tones[0], "c1");
        assert_eq!(tones[3], "c2");
        assert_eq!(tones[5], "c3");
        tones.sort_unstable();
        tones.dedup();
        assert_eq!(tones.len(), codes.len());
    }

    #[test]
    fn kinds_that_mean_different_things_have_different_colours() {
        let mut tones: Vec<&str> = ErrorKind::ALL.into_iter().map(tone_of).collect();
        tones.sort_unstable();
        tones.dedup();
        assert_eq!(tones.len(), ErrorKind::ALL.len() - 1);
    }
}
