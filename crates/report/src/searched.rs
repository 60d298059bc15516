//! The search for a capacity that a run was: its result and its windows, read from the run's
//! folder. Both files come from outside, so they are bounded and checked before anything is drawn.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use plimsoll_capacity::result::{CapacityResult, RESULT, SCHEMA, WINDOWS};
use plimsoll_runs::{Run, WindowRow};
use plimsoll_stats::slo::Slo;

/// The most bytes of a file that are read: thousands of windows.
const MOST_BYTES: u64 = 16 << 20;
/// The most windows that are shown; more could not be told apart in a chart.
const MOST_WINDOWS: usize = 600;
/// The most characters of a reason that are told: it may quote the file.
const MOST_REASON: usize = 200;
/// The most bytes of a text in the files, and of warnings.
const MOST_TEXT: usize = 4096;
const MOST_WARNINGS: usize = 100;
/// No time, rate or count of a search is greater; it also keeps sums finite.
const GREATEST: f64 = 1e15;

/// A search, as far as the report needs it.
pub(crate) struct Searched {
    /// The SLO; empty where it is not known.
    pub(crate) slo: String,
    /// Its percentile as a quantile, and its bound in µs, where it is one of response times.
    pub(crate) bound: Option<(f64, f64)>,
    /// The result; `None` where there is none that can be read.
    pub(crate) result: Option<CapacityResult>,
    /// The windows, in order.
    pub(crate) windows: Vec<WindowRow>,
    /// What is missing or cannot be read, a sentence each.
    pub(crate) faults: Vec<String>,
}

impl Searched {
    /// Reads the search of a run; `None` where the run was none.
    pub(crate) fn read(run: &Run) -> Option<Self> {
        let mut faults = Vec::new();
        let mut result = match read_text(&run.path().join(RESULT)) {
            Ok(None) => {
                // A run that is no search has neither of the files.
                let windows = run.path().join(WINDOWS);
                if !windows.exists() {
                    return None;
                }
                faults.push(format!(
                    "There is no {RESULT}: the search was killed, or is still going on. These are \
                     the windows up to then."
                ));
                None
            }
            Ok(Some(text)) => understood(parse_result(&text), &mut faults),
            Err(why) => understood(Err(why), &mut faults),
        };
        let mut windows = match &mut result {
            Some(result) => std::mem::take(&mut result.windows),
            None => read_windows(&run.path().join(WINDOWS), &mut faults),
        };
        if windows.len() > MOST_WINDOWS {
            faults.push(format!(
                "Only the first {MOST_WINDOWS} of {} windows are shown.",
                windows.len()
            ));
            windows.truncate(MOST_WINDOWS);
        }
        let told = result.as_ref().map(|result| result.slo.clone());
        let slo = told.or_else(|| run.meta().slo.clone()).unwrap_or_default();
        let bound = Slo::parse(&slo).ok().and_then(|slo| slo.response_bound());
        let bound = bound.map(|(quantile, ns)| (quantile, ns as f64 / 1e3));
        Some(Self { slo, bound, result, windows, faults })
    }

    /// The estimate, where there is one.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.result.as_ref()?.estimate_per_s
    }

    /// The estimate's interval, where there is one.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        self.result.as_ref()?.ci95
    }

    /// The SLO's percentile where every window has it: a whole one from 1 to 99.
    pub(crate) fn percentile(&self) -> Option<u32> {
        let percent = self.bound?.0 * 100.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 99")]
        let whole = percent.round().clamp(1.0, 99.0) as u32;
        ((percent - f64::from(whole)).abs() < 1e-6).then_some(whole)
    }
}

fn understood(
    read: Result<CapacityResult, String>,
    faults: &mut Vec<String>,
) -> Option<CapacityResult> {
    read.map_err(|why| {
        faults.push(format!(
            "{RESULT} cannot be read: {why}. The windows are those of {WINDOWS}, as far as they go."
        ));
    })
    .ok()
}

/// A file's text; `None` where there is no such file.
fn read_text(path: &Path) -> Result<Option<String>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it is greater than {} MiB", MOST_BYTES >> 20));
    }
    // A file cut in the middle of a character is a file cut in the middle of a line.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn parse_result(text: &str) -> Result<CapacityResult, String> {
    let result: CapacityResult = serde_json::from_str(text).map_err(reason)?;
    if result.schema != SCHEMA {
        return Err(format!("its schema is {}, and this program knows {SCHEMA}", result.schema));
    }
    let ends = result.ci95.map(|(low, high)| [low, high]);
    let rates = [result.estimate_per_s, result.lower_bound_per_s, result.knee_per_s];
    let bracket = [result.held_per_s, result.broken_per_s, result.saturation_per_s];
    let others = bracket.into_iter().chain([result.seconds_above_estimate, Some(result.seconds)]);
    let held = result.sustained.map(|held| {
        let (low, high) = held.burst_ci95.unzip();
        let rates = [held.burst_per_s, held.sustained_per_s, low, high];
        rates.into_iter().chain([held.exhausted_after_s, Some(held.held_s)])
    });
    let held = held.into_iter().flatten();
    let others = rates.into_iter().chain(others).chain(held);
    let all = others.flatten().chain(ends.into_iter().flatten());
    let cost = result.cost.map(|cost| [cost.price_per_hour, cost.per_request, cost.per_million]);
    let all = all.chain(cost.into_iter().flatten());
    let trips = &result.rtt_us;
    let at_load = [&trips.low, &trips.high].into_iter().flatten();
    let at_load = at_load.flat_map(|at| [at.p50, at.p90, at.p99, Some(at.max), at.spike_share]);
    let trips =
        [trips.baseline, trips.p50, trips.p99, trips.spike_share].into_iter().chain(at_load);
    let all = all.chain(trips.flatten());
    if !all.into_iter().all(is_possible) || ends.is_some_and(|[low, high]| low > high) {
        return Err("a figure of it is impossible".to_owned());
    }
    let check = [&result.check.below, &result.check.above].into_iter().flatten();
    let texts = [&result.method, &result.slo, &result.ended].into_iter().chain(check);
    let texts = texts.chain(&result.caches);
    if result.warnings.len() > MOST_WARNINGS
        || !texts.chain(&result.warnings).all(|text| text.len() <= MOST_TEXT)
    {
        return Err("a text of it is too long".to_owned());
    }
    check_order(&result.windows)?;
    Ok(result)
}

/// Why a text is not understood, shortened.
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
fn reason(error: serde_json::Error) -> String {
    error.to_string().chars().take(MOST_REASON).collect()
}

/// Reads the windows of a search that has no result: as far as they can be read.
fn read_windows(path: &Path, faults: &mut Vec<String>) -> Vec<WindowRow> {
    let text = match read_text(path) {
        Ok(text) => text.unwrap_or_default(),
        Err(why) => {
            faults.push(format!("{WINDOWS} cannot be read: {why}."));
            return Vec::new();
        }
    };
    let mut windows: Vec<WindowRow> = Vec::new();
    let mut lines = text.split_inclusive('\n').enumerate();
    while let Some((index, line)) = lines.next() {
        let parsed = serde_json::from_str::<WindowRow>(line).map_err(reason);
        let after = windows.last();
        match parsed.and_then(|window| check_window(&window, after).map(|()| window)) {
            Ok(window) => windows.push(window),
            // The last line may be half written: that is what a kill leaves.
            Err(_) if !line.ends_with('\n') && lines.next().is_none() => break,
            Err(why) => {
                faults.push(format!("{WINDOWS} cannot be read from line {} on: {why}.", index + 1));
                break;
            }
        }
    }
    windows
}

fn check_order(windows: &[WindowRow]) -> Result<(), String> {
    let mut after = None;
    for (index, window) in windows.iter().enumerate() {
        check_window(window, after).map_err(|why| format!("window {}: {why}", index + 1))?;
        after = Some(window);
    }
    Ok(())
}

/// Whether a window can be drawn after another.
fn check_window(window: &WindowRow, after: Option<&WindowRow>) -> Result<(), String> {
    let figures = [window.start_s, window.seconds, window.offered_per_s, window.achieved_per_s];
    let trips = window.rtt_us.iter().chain(&window.rtt_samples_us);
    let times = window.percentiles_us.values().flatten().chain(trips);
    if !figures.iter().chain(times).copied().all(is_possible) {
        return Err("a figure of it is impossible".to_owned());
    }
    if window.phase.len().max(window.verdict.len()) > MOST_TEXT {
        return Err("a text of it is too long".to_owned());
    }
    if after.is_some_and(|after| window.start_s < after.start_s) {
        return Err("it begins before the one before it".to_owned());
    }
    Ok(())
}

/// Whether a value can be a time, a rate or a count.
fn is_possible(value: f64) -> bool {
    (0.0..=GREATEST).contains(&value)
}
