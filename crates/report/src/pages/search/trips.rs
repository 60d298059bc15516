//! Round trips of the network at low and at high load: their distributions, and each of them over
//! the time of the search.

use plimsoll_capacity::trips::{AtLoad, Load, SPIKE_NS};
use plimsoll_runs::WindowRow;

use super::staircase::over_time;
use crate::document::chart;
use crate::searched::Searched;
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::cumulative::{Cumulative, Sample, one_by_one};
use plimsoll_draw::chart::plot::{Key, Level, Line, Plot, Table};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::unit::{Unit, micros, per_cent, whole};

/// The most dots of the chart over time; of more every second, third, … one is drawn.
const MOST_DOTS: usize = 6000;
/// So far above the baseline begin spikes, µs.
const SPIKE_US: f64 = SPIKE_NS as f64 / 1e3;
/// The column of the windows' table that has the round trip, and those that say which window it is.
const OF_TRIPS: [usize; 4] = [1, 2, 4, 7];

/// The loads, with their names and colours; what is neither comes last.
const LOADS: [(Option<Load>, &str, &str); 3] = [
    (Some(Load::Low), "low load", "c0"),
    (Some(Load::High), "high load", "c3"),
    (None, "between, or recovering", "c7"),
];

/// Both charts; none where there is no handshake, as through a Unix socket.
pub(super) fn charts(searched: &Searched, windows: &Table, index: usize) -> Vec<Box<dyn Chart>> {
    let trips = |window: &WindowRow| window.rtt_samples_us.iter().any(|&us| us > 0.0);
    if !searched.windows.iter().any(trips) {
        return Vec::new();
    }
    let distribution = distribution(searched, index).map(chart);
    distribution.into_iter().chain([chart(scatter(searched, windows, index))]).collect()
}

/// What the load of a window was.
fn load(searched: &Searched, window: &WindowRow) -> Option<Load> {
    Load::of(&window.phase, window.offered_per_s, searched.estimate()?)
}

/// The round trips of the windows of one load, ascending.
fn of_load(searched: &Searched, wanted: Load) -> Vec<f64> {
    let windows = searched.windows.iter().filter(|w| load(searched, w) == Some(wanted));
    let trips = windows.flat_map(|window| &window.rtt_samples_us).copied();
    let mut trips: Vec<f64> = trips.filter(|&us| us > 0.0).collect();
    trips.sort_by(f64::total_cmp);
    trips
}

/// A logarithmic scale over round trips.
fn scale(trips: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = trips
        .filter(|&us| us > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), us| (low.min(us), high.max(us)));
    match Scale::log(low, high) {
        Scale::Log { low, high } => (low, high),
        other => (other.top() / 10.0, other.top()),
    }
}

/// What was measured at a load, in a sentence with a space before it.
fn sentence(name: &str, at: Option<&AtLoad>) -> String {
    let Some(at) = at else { return format!(" At {name}: no handshake.") };
    let spikes =
        at.spike_share.map_or_else(String::new, |share| format!(", spikes {}", per_cent(share)));
    let stated = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), micros);
    format!(
        " At {name}: p50 {}, p99 {}, greatest {} of {} handshakes{spikes}.",
        stated(at.p50),
        stated(at.p99),
        micros(at.max),
        whole(at.handshakes as f64)
    )
}

/// The distributions at low and at high load; `None` where there is neither.
fn distribution(searched: &Searched, index: usize) -> Option<Plot> {
    let trips = &searched.result.as_ref()?.rtt_us;
    let known: Vec<(&str, &str, Vec<f64>)> = LOADS
        .into_iter()
        .filter_map(|(load, name, tone)| Some((name, tone, of_load(searched, load?))))
        .filter(|(_, _, values)| !values.is_empty())
        .collect();
    if known.is_empty() {
        return None;
    }
    let (low, high) = scale(known.iter().flat_map(|(_, _, values)| values).copied());
    let sample = |(name, tone, values): (&str, &str, Vec<f64>)| Sample {
        name: name.to_owned(),
        tone: tone.to_owned(),
        places: one_by_one(values.into_iter().map(f64::ln)),
    };
    let mark = spike(searched).filter(|level| (low..=high).contains(&level.value));
    let cumulative = Cumulative {
        id: format!("trips-{index}"),
        table: format!("trips-table-{index}"),
        title: "Round trip at low and at high load".to_owned(),
        note: format!(
            "The share of handshakes that took no longer. Low load is up to a third of the \
             capacity, high from 80% of it. A spike is more than {} ms above the baseline; in the \
             published measurements 1.45% of round trips were.{}{}",
            whole(SPIKE_US / 1e3),
            sentence("low load", trips.low.as_ref()),
            sentence("high load", trips.high.as_ref()),
        ),
        measure: "share of the handshakes, over their round trip".to_owned(),
        axis: Axis::Log { low, high, unit: Unit::Micros },
        ends: (low.ln(), high.ln()),
        samples: known.into_iter().map(sample).collect(),
        mark: mark.map(|level| Level { value: level.value.ln(), ..level }),
        show: &|place| micros(place.exp()),
    };
    Some(cumulative.draw())
}

/// Where spikes begin; `None` without a baseline.
fn spike(searched: &Searched) -> Option<Level> {
    let baseline = searched.result.as_ref()?.rtt_us.baseline?;
    let value = baseline + SPIKE_US;
    Some(Level { name: "spikes from here".to_owned(), class: "", value, interval: None })
}

/// Each handshake over the time of the search, by load.
fn scatter(searched: &Searched, windows: &Table, index: usize) -> Plot {
    let all = || searched.windows.iter().flat_map(|window| &window.rtt_samples_us).copied();
    let (low, high) = scale(all());
    let step = all().count().div_ceil(MOST_DOTS).max(1);
    let mut plot = over_time(searched, Scale::Log { low, high }, Unit::Micros);
    plot.id = format!("trips-over-time-{index}");
    "Round trips over time".clone_into(&mut plot.title);
    plot.note = format!(
        "Each dot is the handshake of a connection that was opened while the load went on, placed \
         evenly in its window: the kernel answers it, whatever the server does.{} The time is that \
         of the staircase.",
        if step > 1 { format!(" One of {step} is drawn.") } else { String::new() }
    );
    "round trip".clone_into(&mut plot.measure);
    plot.across.extend(spike(searched));
    for (load_of, name, tone) in LOADS {
        let windows = searched.windows.iter().filter(|w| load(searched, w) == load_of);
        let pieces: Vec<Vec<(f64, f64)>> =
            windows.flat_map(places).step_by(step).map(|dot| vec![dot]).collect();
        if pieces.is_empty() {
            continue;
        }
        plot.lines.push(Line { class: format!("{tone} dots fine"), pieces });
        plot.keys.push(Key::Line(format!("line {tone}"), name.to_owned()));
    }
    plot.readout = (windows.id.clone(), OF_TRIPS.to_vec());
    plot
}

/// The round trips of a window, spread evenly over it.
fn places(window: &WindowRow) -> impl Iterator<Item = (f64, f64)> + '_ {
    let count = window.rtt_samples_us.len() as f64;
    let place = move |(n, &us): (usize, &f64)| {
        (window.start_s + (n as f64 + 0.5) / count * window.seconds, us)
    };
    window.rtt_samples_us.iter().enumerate().map(place).filter(|&(_, us)| us > 0.0)
}
