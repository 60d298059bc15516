//! `load.trace` that names a run: what the run offered, second by second, is offered again, live or
//! simulated. So what another policy would have made of the same requests can be simulated.

use plimsoll_plan::{TraceSource, speed_of, starts_at_of};
use plimsoll_runs::experiment::{self, CELLS};
use plimsoll_runs::{Phase, Run, World};
use plimsoll_units::{show_count, show_duration};
use plimsoll_workload::trace::{Moment, Point, Trace};
use std::path::Path;

use super::nanoseconds;
use crate::clock::clock_of;
use crate::error::ExperimentError;

const DAY_NS: u64 = 86_400_000_000_000;
/// The series of the rate that a simulated pool's run has instead of seconds.
const RATE: &str = "pool_offered_requests_per_second";

/// Whether a trace is a run: a folder.
pub(super) fn is_run(of: &TraceSource) -> bool {
    of.files.iter().any(|file| file.is_dir())
}

/// The rate that a run offered in its measured phase, in the time that it stands for: a run of
/// `speed = 60` comes to an hour for each minute of its own.
///
/// # Errors
/// A folder that is no run; a run that offered nothing; columns, which a run has none of.
pub(super) fn trace(of: &TraceSource, notes: &mut Vec<String>) -> Result<Trace, ExperimentError> {
    let [path] = &of.files[..] else {
        let several = of.shown();
        let text =
            format!("offer what {several} offered: a run is a trace by itself; name it alone");
        return Err(ExperimentError::Conflict(text));
    };
    let name = path.display().to_string().trim_end_matches('/').to_owned();
    let refused = |why: &str| Err(ExperimentError::Conflict(format!("offer what {name} {why}")));
    if of.counts_per.is_some() || of.columns.is_some() {
        return refused("offered by `columns` or `counts_per`: it is a run, which has neither");
    }
    let (trace, note) = of_run(path)?;
    notes.push(note);
    Ok(trace)
}

/// The same of the folder of a run, with what a reader should know of it.
///
/// # Errors
/// A folder that is no run; a run that offered nothing.
pub fn of_run(path: &Path) -> Result<(Trace, String), ExperimentError> {
    let name = path.display().to_string().trim_end_matches('/').to_owned();
    let refused = |why: &str| Err(ExperimentError::Conflict(format!("offer what {name} {why}")));
    if path.join(experiment::FILE).is_file() {
        return refused(&format!(
            "offered: it is an experiment, of many runs; name one of its cells, such as \
             {name}/{CELLS}/0001"
        ));
    }
    let run = Run::open(path)?;
    let speed = speed_of(&run.meta().plan_text);
    let longer = |ns: u64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above zero")]
        let ns = (ns as f64 * speed).round() as u64;
        ns
    };
    let (points, end_ns) = if run.meta().has_seconds() { seconds(&run)? } else { ticks(&run)? };
    let requests = requests(&points, end_ns);
    if requests < 0.5 {
        return refused("offered: it offered nothing");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let requests = requests.round() as u64;
    let mut note = format!(
        "{name} offered {} requests in {}, which are offered second by second",
        show_count(requests),
        show_duration(end_ns)
    );
    if (speed - 1.0).abs() > f64::EPSILON {
        note += &format!("; it stands for {}", show_duration(longer(end_ns)));
    }
    if !run.is_complete() {
        note += "; it was not whole when it was read";
    }
    let points = points.into_iter().map(|of| Point { offset_ns: longer(of.offset_ns), ..of });
    let trace = Trace::recorded(&name, points.collect(), longer(end_ns))?;
    Ok((trace.starting(starts(&run)?), note))
}

/// When a run's measured phase began: on its day, at the time that its plan says, else by the clock
/// that told its day, or at the moment at which it was started. Of a simulated run only its plan
/// knows.
fn starts(run: &Run) -> Result<Option<Moment>, ExperimentError> {
    let meta = run.meta();
    let day_ns = i128::from(meta.started_unix_ns / DAY_NS * DAY_NS);
    if let Some(of_day) = starts_at_of(&meta.plan_text) {
        return Ok(Some(Moment::Date(day_ns).later(nanoseconds(of_day))));
    }
    if let Some(at) = clock_of(run)? {
        return Ok(Some(at));
    }
    let started = Moment::Zoned(meta.started_unix_ns.into(), 0);
    Ok((meta.world == World::Live).then(|| started.later(meta.warmup_ns)))
}

/// The measured seconds of a run: points since their beginning, and their end.
fn seconds(run: &Run) -> Result<(Vec<Point>, u64), ExperimentError> {
    let (from_ns, planned_ns) = (run.meta().warmup_ns, run.meta().duration_ns);
    let (mut points, mut end_ns) = (Vec::new(), 0);
    for second in run.intervals()?.iter().filter(|of| of.phase == Phase::Measured) {
        let since = |s: f64| nanoseconds(std::time::Duration::from_secs_f64(s.max(0.0)));
        let offset_ns = since(second.start_s).saturating_sub(from_ns);
        // What comes after the schedule is the drain, in which nothing is offered.
        if second.len_s <= 0.0 || (planned_ns > 0 && offset_ns >= planned_ns) {
            continue;
        }
        let ends_ns = offset_ns + since(second.len_s);
        let ends_ns = if planned_ns > 0 { ends_ns.min(planned_ns) } else { ends_ns };
        let seconds = (ends_ns - offset_ns) as f64 / 1e9;
        if seconds > 0.0 {
            points.push(Point { offset_ns, rate_per_s: second.events.offered as f64 / seconds });
            end_ns = ends_ns;
        }
    }
    Ok((points, end_ns))
}

/// The ticks of a simulated pool: each sample is the mean rate up to its time.
fn ticks(run: &Run) -> Result<(Vec<Point>, u64), ExperimentError> {
    let (mut points, mut end_ns) = (Vec::new(), 0);
    for sample in run.series(RATE)? {
        let Some(rate) = sample.value.filter(|_| sample.at_ns > end_ns) else { continue };
        points.push(Point { offset_ns: end_ns, rate_per_s: rate.max(0.0) });
        end_ns = sample.at_ns;
    }
    Ok((points, end_ns))
}

/// How many requests points come to.
fn requests(points: &[Point], end_ns: u64) -> f64 {
    let ends = points.iter().skip(1).map(|of| of.offset_ns).chain([end_ns]);
    let of_one = |(of, end): (&Point, u64)| of.rate_per_s * (end - of.offset_ns) as f64 / 1e9;
    points.iter().zip(ends).map(of_one).sum()
}
