//! The agent's page for people: charts of what is remembered, which is looked at again while
//! nothing on it is in use, and the newest values.
//!
//! Charts are of figures, made of the series by the formulas of the registry
//! (`docs/figures.md`). A column is a stretch of whole seconds. Of a counter it has what that rose
//! by a second from one column's end to the next; all else stands as it stood at the column's end.

use std::collections::BTreeMap;

use plimsoll_draw::chart::Chart as _;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::figure::{Figure, Panel, Series};
use plimsoll_draw::chart::unit::Unit;
use plimsoll_draw::{Markup, READOUT, styled};
use plimsoll_stats::figure::{Rounds, fits};

use super::ring::Ring;

const SECOND_NS: u64 = 1_000_000_000;
const DAY_S: u64 = 86_400;
/// The most columns of a chart.
const COLUMNS: u64 = 120;
/// The most lines of a chart.
const MOST_LINES: usize = 8;
/// The colours of lines, in their order.
const TONES: [&str; MOST_LINES] = ["c0", "c2", "c1", "c3", "c4", "c5", "c6", "c8"];
/// Has the page looked at again, unless somebody reads values of it.
const LIVE: &str = "setInterval(() => {
  const read = document.querySelector('details[open], .readout:not([hidden])');
  if (!document.hidden && !read) location.reload();
}, 5000);";

/// A chart: its id, its title, what its axis counts, its unit, and its lines.
struct Shown(&'static str, &'static str, &'static str, Unit, &'static [Line]);

/// A line: the figure, in which `*` means each that fits, and what it is called; `*` in that is
/// what the figure has in its place.
type Line = (&'static str, &'static str);

const CHARTS: &[Shown] = &[
    Shown(
        "cpu",
        "Processors",
        "share of the time of all cores",
        Unit::Share,
        &[("host.cpu", "busy"), ("host.iowait", "waiting for a disk"), ("host.steal", "stolen")],
    ),
    Shown(
        "load",
        "Threads that run or wait",
        "threads",
        Unit::Number,
        &[("host.load", "over 1 min"), ("host.runnable", "now")],
    ),
    Shown(
        "memory",
        "Memory",
        "share that no program could get",
        Unit::Share,
        &[("host.memory", "memory"), ("host.swap", "swap")],
    ),
    Shown(
        "pressure",
        "Pressure",
        "share of the time in which a thread waited",
        Unit::Share,
        &[
            ("host.cpu_pressure", "for a processor"),
            ("host.io_pressure", "for a disk"),
            ("host.memory_pressure", "for memory"),
        ],
    ),
    Shown(
        "disks",
        "Disks",
        "bytes per second",
        Unit::BytesPerSecond,
        &[("host.disk.*.read", "* read"), ("host.disk.*.written", "* written")],
    ),
    Shown(
        "disks-busy",
        "Disks at work",
        "share of the time with an operation in progress",
        Unit::Share,
        &[("host.disk.*.busy", "*")],
    ),
    Shown(
        "network",
        "Network",
        "bytes per second",
        Unit::BytesPerSecond,
        &[("host.network.*.received", "* received"), ("host.network.*.sent", "* sent")],
    ),
    Shown(
        "tcp",
        "TCP",
        "per second",
        Unit::PerSecond,
        &[
            ("host.tcp.accepted", "connections accepted"),
            ("host.tcp.retransmits", "segments sent again"),
            ("host.tcp.listen_drops", "dropped at a listener"),
        ],
    ),
    Shown(
        "sockets",
        "TCP connections",
        "sockets",
        Unit::Count,
        &[("host.tcp.established", "that stand"), ("host.tcp.time_wait", "in TIME_WAIT")],
    ),
    Shown(
        "processes",
        "Processes",
        "processes",
        Unit::Count,
        &[("host.processes.*", "*"), ("host.processes", "all")],
    ),
];

/// The figures of all columns, and the axis that they stand on.
struct Columns {
    axis: Axis,
    all: Vec<BTreeMap<String, f64>>,
}

impl Columns {
    fn of(ring: &Ring) -> Option<Self> {
        let (first_ns, last_ns) = ring.span()?;
        let first_s = first_ns / SECOND_NS;
        let seconds = (last_ns / SECOND_NS - first_s + 1).max(1);
        let column_s = seconds.div_ceil(COLUMNS);
        let first_s = first_s - first_s % column_s;
        let count = last_ns / SECOND_NS / column_s - first_s / column_s + 1;
        let column_of = |at_ns: u64| (at_ns / SECOND_NS).saturating_sub(first_s) / column_s;
        let mut rounds = Rounds::default();
        let mut all = vec![BTreeMap::new(); usize::try_from(count).unwrap_or(0)];
        // The last moment of each column stands for it.
        let mut last: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        for (place, at_ns) in ring.times().enumerate() {
            last.insert(column_of(at_ns), (place, at_ns));
        }
        for (column, (place, at_ns)) in last {
            for (name, labels, value) in ring.at(place) {
                let labels = labels.iter().map(|(name, text)| (name.as_ref(), text.as_str()));
                rounds.take(name, labels, at_ns, value);
            }
            let slot = usize::try_from(column).ok().and_then(|column| all.get_mut(column));
            if let (Some(slot), Some(round)) = (slot, rounds.close()) {
                *slot = round.figures;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds of a day")]
        let axis = Axis::Time {
            columns: all.len(),
            column_s: column_s as f64,
            clock_s: Some((first_s % DAY_S) as f64),
        };
        Some(Self { axis, all })
    }

    /// The lines of a chart, with a value each column.
    fn lines(&self, lines: &[Line]) -> Vec<Series> {
        let mut found = Vec::new();
        for (figure, called) in lines {
            let mut names: Vec<&String> =
                self.all.iter().flat_map(|of| of.keys()).filter(|of| fits(figure, of)).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let values = self.all.iter().map(|of| of.get(name).copied());
                let tone = TONES[found.len() % TONES.len()];
                let called = called.replace('*', part(figure, name));
                found.push(Series::new(&called, tone, values.collect()));
            }
        }
        found.truncate(MOST_LINES);
        found
    }
}

/// What stands in a name for the `*` of a pattern.
fn part<'a>(pattern: &str, name: &'a str) -> &'a str {
    let Some((before, after)) = pattern.split_once('*') else { return "" };
    name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).unwrap_or_default()
}

/// The page.
pub(super) fn page(ring: &Ring, name: Option<&str>) -> String {
    let title =
        name.map_or_else(|| "Plimsoll agent".to_owned(), |of| format!("{of}: Plimsoll agent"));
    let mut m = Markup::default();
    plimsoll_draw::page(&mut m, &title, styled, &[("class", &"one")], |m| {
        m.tag("header", &[], |m| {
            m.leaf("h1", &[], &title);
            m.tag("p", &[("class", &"identity")], |m| {
                m.leaf("span", &[], "what is remembered of this host, in UTC");
                for (path, text) in [("/metrics", "for Prometheus"), ("/json", "JSON")] {
                    m.tag("span", &[], |m| m.leaf("a", &[("href", &path)], text));
                }
            });
        });
        m.tag("main", &[], |m| write(m, ring));
        m.tag("script", &[], |m| m.verbatim(READOUT));
        m.tag("script", &[], |m| m.verbatim(LIVE));
    });
    m.finish()
}

fn write(m: &mut Markup, ring: &Ring) {
    let faults: Vec<(&str, &str)> = ring.faults().collect();
    if !faults.is_empty() {
        m.tag("div", &[("class", &"warnings")], |m| {
            m.leaf("p", &[("class", &"says")], "Not all could be read");
            m.tag("ul", &[], |m| {
                for (collector, why) in &faults {
                    m.leaf("li", &[], format_args!("{collector}: {why}"));
                }
            });
        });
    }
    m.tag("section", &[("id", &"charts")], |m| match Columns::of(ring) {
        None => m.leaf("p", &[("class", &"nothing")], "No sample was taken yet."),
        Some(columns) => m.tag("div", &[("class", &"figures after")], |m| {
            for Shown(id, title, measure, unit, lines) in CHARTS {
                let lines = columns.lines(lines);
                if !lines.is_empty() {
                    let mut figure = Figure::lines(*id, *title, columns.axis, *unit);
                    (*measure).clone_into(&mut figure.measure);
                    figure.panels = vec![Panel { series: lines, ..Panel::default() }];
                    figure.write(m);
                }
            }
        }),
    });
    m.tag("section", &[("id", &"newest")], |m| {
        m.leaf("h2", &[], "The newest values");
        m.tag("details", &[("class", &"more")], |m| {
            m.leaf("summary", &[], "All series");
            m.leaf("pre", &[("class", &"plan"), ("tabindex", &"0")], ring.lines());
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;
    use std::time::Duration;

    /// A ring of so many seconds, with a core that is busy for a quarter of the time.
    fn ring(seconds: u64) -> Ring {
        let mut ring = Ring::new(Duration::from_secs(1), Duration::from_secs(3600));
        for second in 0..seconds {
            let mut samples = Samples::of(None);
            let total = second as f64;
            for (mode, share) in [("user", 0.25), ("idle", 0.75), ("iowait", 0.0)] {
                let labels = [("cpu", "0"), ("mode", mode)];
                samples.push_foreign("node_cpu_seconds_total", labels, total * share);
            }
            let labels = [("device", "s<d>a")];
            samples.push_foreign("node_disk_read_bytes_total", labels, total * 1e6);
            ring.take((1_000_000 + second) * SECOND_NS + 7, &samples);
        }
        ring
    }

    #[test]
    fn columns_are_what_happened_in_them() {
        for seconds in [2, 60, 500, 5000] {
            let columns = Columns::of(&ring(seconds)).unwrap();
            let count = columns.all.len();
            assert!((1..=COLUMNS + 1).contains(&(count as u64)), "{seconds}: {count}");
            let busy: Vec<f64> =
                columns.all.iter().filter_map(|of| of.get("host.cpu").copied()).collect();
            assert!(!busy.is_empty() && busy.len() + 1 >= count.min(3600), "{seconds}: {busy:?}");
            assert!(busy.iter().all(|of| (of - 0.25).abs() < 1e-9), "{seconds}: {busy:?}");
            let lines = columns.lines(&[("host.disk.*.read", "* read")]);
            assert_eq!(lines[0].name, "s<d>a read");
        }
        assert!(Columns::of(&Ring::new(Duration::from_secs(1), Duration::from_secs(9))).is_none());
    }

    #[test]
    fn a_page_has_a_chart_of_what_there_is_and_no_markup_of_others() {
        let text = page(&ring(600), Some("web<7>"));
        assert!(text.contains("id=\"cpu\"") && text.contains("id=\"disks\""));
        assert!(!text.contains("id=\"memory\""), "nothing is known of it");
        assert!(text.contains("web&lt;7&gt;") && !text.contains("s<d>a"));
        assert!(text.contains("location.reload()") && text.contains("All series"));
        let empty = page(&Ring::new(Duration::from_secs(1), Duration::from_secs(9)), None);
        assert!(empty.contains("No sample was taken yet."), "{empty}");
    }
}
