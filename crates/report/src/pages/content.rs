//! What the charts of a page of runs share: the runs, the axis of time, the buckets of the heat
//! map.

use plimsoll_runs::Run;

use crate::columns;
use crate::document::letter;
use crate::error::ReportError;
use crate::view::{self, View};
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::figure::{Panel, Series};
use plimsoll_draw::chart::heat;
use plimsoll_draw::chart::unit::moment;

/// Most columns of a chart over time, all panels of a figure together.
const COLUMNS: usize = 600;
/// Fewest columns of one panel, however many runs there are.
const MIN_COLUMNS: usize = 120;
/// Most buckets of the heat map.
const BUCKETS: usize = 48;

/// Everything that a page of runs shows.
pub(crate) struct Content {
    /// The runs, in order.
    pub(crate) views: Vec<View>,
    /// The axis of every chart over time.
    pub(crate) axis: Axis,
    /// The edges of the heat map's buckets, µs.
    pub(crate) edges: Vec<f64>,
    /// The heat map's counts: by run, bucket and column.
    pub(crate) heat: Vec<Vec<Vec<Option<f64>>>>,
}

impl Content {
    /// Whether all runs tell of a load second by second.
    pub(crate) fn has_seconds(&self) -> bool {
        self.views.iter().all(|view| view.meta.has_seconds())
    }

    /// In how many of the runs the whole SLO held, and how many they are; `None` without one.
    pub(crate) fn held(&self) -> Option<(usize, usize)> {
        let held = |view: &&View| view.summary.slo.iter().all(|clause| clause.pass == Some(true));
        let has_slo = self.views.iter().any(|view| !view.summary.slo.is_empty());
        has_slo.then(|| (self.views.iter().filter(held).count(), self.views.len()))
    }

    /// Reads some runs.
    pub(crate) fn read(runs: &[Run]) -> Result<Self, ReportError> {
        let mut views = Vec::with_capacity(runs.len());
        for run in runs {
            views.push(View::read(run).map_err(ReportError::of(run))?);
        }
        give_letters(&mut views);
        let end_s = views.iter().map(View::end_s).fold(0.0, f64::max);
        let axis = columns::time_axis(end_s, (COLUMNS / views.len().max(1)).max(MIN_COLUMNS));
        let edges = heat_edges(&views);
        let mut heat = Vec::with_capacity(runs.len());
        for run in runs {
            heat.push(view::heat(run, axis, &edges).map_err(ReportError::of(run))?);
        }
        Ok(Self { views, axis, edges, heat })
    }

    /// Whether runs stand side by side.
    pub(crate) fn several(&self) -> bool {
        self.views.len() > 1
    }

    /// One panel a run, with the run's shaded stretches where the axis is time.
    pub(crate) fn panels(&self, series: impl Fn(&View) -> Vec<Series>) -> Vec<Panel> {
        let panel = |view: &View| Panel {
            heading: self.several().then(|| view.heading.clone()),
            series: series(view),
            bands: view.bands(),
        };
        self.views.iter().map(panel).collect()
    }

    /// What a count over time is per, in words.
    pub(crate) fn in_each(&self) -> String {
        match self.axis {
            Axis::Time { column_s, .. } if column_s > 1.0 => {
                format!("in each {}", moment(column_s))
            }
            _ => "in each second".to_owned(),
        }
    }

    /// What a column of time holds, as the beginning of a sentence; empty where it is one second.
    pub(crate) fn column_note(&self, rule: &str) -> String {
        match self.axis {
            Axis::Time { column_s, .. } if column_s > 1.0 => {
                format!("Each column covers {}: {rule}.", moment(column_s))
            }
            _ => String::new(),
        }
    }
}

/// Gives each of several runs a letter, by which the page speaks of it.
fn give_letters(views: &mut [View]) {
    if views.len() < 2 {
        return;
    }
    for (index, view) in views.iter_mut().enumerate() {
        view.letter = letter(index);
        view.heading = format!("{}: {}", view.letter, view.heading);
    }
}

/// The edges of the heat map's buckets, for all runs, µs.
fn heat_edges(views: &[View]) -> Vec<f64> {
    let extents = views.iter().filter_map(|view| view.extent_ns);
    let (least, most) = extents.fold((u64::MAX, 0), |(least, most), (a, b)| {
        // Below 100 ns there is nothing to tell apart.
        (least.min(a.max(100)), most.max(b.max(100)))
    });
    if most == 0 {
        return Vec::new();
    }
    heat::edges(least as f64 / 1e3, most as f64 / 1e3, BUCKETS)
}
