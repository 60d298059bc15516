//! What a report shows of one run: read once from its folder, never computed anew.

use plimsoll_runs::{
    Event, FigureRow, HostRow, IntervalRow, Phase, Run, RunError, RunMeta, Summary, Tag,
};
use plimsoll_stats::{Figure, Histogram};

use crate::columns::column_of;
use crate::searched::Searched;
use crate::watched::Sampled;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::figure::Band;

/// From this share of the run on, its drain is shaded.
const LEAST_DRAIN: f64 = 0.005;

/// One run, as far as the report needs it.
pub(crate) struct View {
    /// The letter of one run among several; empty where it is the only one.
    pub(crate) letter: String,
    /// What it is called over its charts: letter and name.
    pub(crate) heading: String,
    /// What was known before it started.
    pub(crate) meta: RunMeta,
    /// Its figures.
    pub(crate) summary: Summary,
    /// Its plan, as the folder holds it.
    pub(crate) plan: String,
    /// Its seconds.
    pub(crate) rows: Vec<IntervalRow>,
    /// Its host's seconds.
    pub(crate) host: Vec<HostRow>,
    /// What happened.
    pub(crate) events: Vec<Event>,
    /// Response time of the measured phase.
    pub(crate) response: Histogram,
    /// The part of it that did not succeed.
    pub(crate) failed: Histogram,
    /// Service time of the measured phase.
    pub(crate) service: Histogram,
    /// Least and greatest response time of every phase, ns.
    pub(crate) extent_ns: Option<(u64, u64)>,
    /// The figures that its folder keeps, with their intervals.
    figures: Vec<FigureRow>,
    /// What was watched beside the load.
    pub(crate) sampled: Sampled,
    /// The search for a capacity that the run was; `None` for any other run.
    pub(crate) searched: Option<Searched>,
}

impl View {
    /// Reads a run.
    pub(crate) fn read(run: &Run) -> Result<Self, RunError> {
        let meta = run.meta().clone();
        let summary = run.summary()?;
        let response = run.histogram(Phase::Measured, Tag::Response)?;
        let warm_up = run.histogram(Phase::WarmUp, Tag::Response)?;
        let least = [response.min(), warm_up.min()].into_iter().flatten().min();
        let most = [response.max(), warm_up.max()].into_iter().flatten().max();
        Ok(Self {
            letter: String::new(),
            heading: if meta.name.is_empty() { meta.id.clone() } else { meta.name.clone() },
            plan: run.plan_text(),
            rows: run.intervals()?,
            host: run.host_series()?,
            events: run.events()?,
            // Of a run that goes on they would be those of its summary once more.
            figures: if run.goes_on() { Vec::new() } else { run.figures()? },
            failed: run.histogram(Phase::Measured, Tag::FailedResponse)?,
            service: run.histogram(Phase::Measured, Tag::Service)?,
            extent_ns: least.zip(most),
            sampled: Sampled::read(run)?,
            searched: Searched::read(run),
            response,
            meta,
            summary,
        })
    }

    /// A figure with its interval, where it has one: as the folder keeps it, or of the summary,
    /// where the run did not come to its end.
    pub(crate) fn figure(&self, figure: &Figure) -> Option<(f64, Option<(f64, f64)>)> {
        match self.figures.iter().find(|row| row.name == figure.name) {
            Some(row) => Some((row.value, row.low.zip(row.high))),
            None if !self.meta.has_seconds() => None,
            None => Some((self.summary.value(figure)?, None)),
        }
    }

    /// The end of the last second, seconds since the first due time.
    pub(crate) fn end_s(&self) -> f64 {
        self.rows.iter().map(|row| row.start_s + row.len_s).fold(0.0, f64::max)
    }

    /// The seconds in which requests were due: those before the drain.
    pub(crate) fn scheduled(&self) -> Vec<&IntervalRow> {
        let end_s = self.summary.warmup_s + self.summary.duration_s;
        let is_due = |row: &&IntervalRow| self.summary.duration_s <= 0.0 || row.start_s < end_s;
        self.rows.iter().filter(is_due).collect()
    }

    /// The seconds after those in which requests were due.
    pub(crate) fn drain(&self) -> impl Iterator<Item = &IntervalRow> {
        self.rows.iter().skip(self.scheduled().len())
    }

    /// The warm-up and the drain, shaded in every chart over time.
    pub(crate) fn bands(&self) -> Vec<Band> {
        let (warm_up, end) = (self.summary.warmup_s, self.end_s());
        let measured = warm_up + self.summary.duration_s;
        let mut bands = Vec::new();
        if warm_up > 0.0 {
            bands.push(Band { name: "warm-up", from_s: 0.0, to_s: warm_up.min(end) });
        }
        // A drain of no visible length would only be a word without a place.
        if self.summary.duration_s > 0.0 && end - measured > end * LEAST_DRAIN {
            bands.push(Band { name: "drain", from_s: measured, to_s: end });
        }
        bands
    }
}

/// Counts of response times: by bucket (edges in µs, ascending), then by column of time.
pub(crate) fn heat(
    run: &Run,
    axis: Axis,
    edges: &[f64],
) -> Result<Vec<Vec<Option<f64>>>, RunError> {
    let mut counts = vec![vec![None; axis.columns()]; edges.len().saturating_sub(1)];
    let Axis::Time { column_s, .. } = axis else { return Ok(counts) };
    #[expect(clippy::cast_possible_truncation, reason = "whole seconds")]
    let step_ns = column_s as u64 * 1_000_000_000;
    for phase in Phase::ALL {
        for (start_ns, len_ns, histogram) in
            run.histograms_in_steps(phase, Tag::Response, step_ns)?
        {
            let middle_s = (start_ns as f64 + len_ns as f64 / 2.0) / 1e9;
            if let Some(column) = column_of(axis, middle_s) {
                add(&mut counts, column, edges, &histogram);
            }
        }
    }
    Ok(counts)
}

fn add(counts: &mut [Vec<Option<f64>>], column: usize, edges: &[f64], histogram: &Histogram) {
    for bucket in histogram.buckets() {
        let value_us = bucket.middle() as f64 / 1e3;
        let above = edges.partition_point(|&edge| edge <= value_us);
        let row = above.saturating_sub(1).min(counts.len().saturating_sub(1));
        if let Some(cell) = counts.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell.get_or_insert(0.0) += bucket.count as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_cell() {
        let mut histogram = Histogram::new();
        for value_us in [1, 5, 50, 100, 9_000] {
            histogram.record(value_us * 1000);
        }
        let mut counts = vec![vec![None; 2]; 3];
        add(&mut counts, 1, &[1.0, 10.0, 100.0, 1000.0], &histogram);
        let column: Vec<f64> = counts.iter().map(|row| row[1].unwrap_or(0.0)).collect();
        // What lies beyond the last edge stands in the last bucket: nothing is lost.
        assert!((column[0] - 2.0).abs() < 0.1 && (column[1] - 1.0).abs() < 0.1);
        assert!((column.iter().sum::<f64>() - 5.0).abs() < 0.1);
        assert!(counts.iter().all(|row| row[0].is_none()));
    }
}
