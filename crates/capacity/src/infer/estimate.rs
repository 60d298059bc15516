//! From the mean of probes to a load and its interval: the model read backwards.
//!
//! A load λ explains the probes where their mean h is no further from m(λ) than chance and the
//! model's own error explain; the interval is all the loads around the estimate that do (inverse
//! regression: E. C. Fieller, *Some problems in interval estimation*, J. R. Stat. Soc. B 16, 1954;
//! C. Osborne, *Statistical calibration: a review*, Int. Stat. Rev. 59, 1991). Where the curve is
//! flat that is wide, and where it starts within the interval its lower end is no load at all.
//!
//! # Unequal tails
//!
//! An answer is given only where the interval is narrow, and it is narrower the higher the load
//! seems: those who are answered at a load near the limit are the ones who overestimate it. An
//! interval that misses 2.5% to each side then misses far more among the answered. So the lower end
//! is exceeded with a probability of [`BELOW`] only, and the upper with what is left of 5%.
//!
//! # Correlation
//!
//! The variance of the mean expects what the model says of the queue's relaxation. Beside it stands
//! what is seen: where the means of 16 stretches of the probes scatter more than expected, the
//! variance grows by as much (batch means: B. Schmeiser, *Batch size effects in the analysis of
//! simulation output*, Operations Research 30, 1982).

use super::model::Model;
use plimsoll_stats::interval::student;

/// The probability that the load is below the interval, and above it.
pub const BELOW: f64 = 0.001;
/// As [`BELOW`].
pub const ABOVE: f64 = 0.05 - BELOW;
/// So many standard deviations are out of the question.
const HARDLY: f64 = 4.0;
/// Stretches of the probes whose means are compared.
const BATCHES: usize = 16;
/// The scatter that is expected counts as so many stretches.
const SCATTER_WEIGHT: f64 = 20.0;
/// By so much of the unloaded response time today may differ from the day of the calibration.
const DRIFT: f64 = 0.01;
/// Loads that are looked at, up to the saturation.
const LOADS: usize = 400;
/// More probes than this are not counted.
const MOST_NEEDED: f64 = 1e9;

/// The response to a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// When it was due, seconds since the first one might have been.
    pub due_s: f64,
    /// Its response time in seconds, or how long it was waited for in vain; `None` where it failed
    /// before an answer would have been slow.
    pub response_s: Option<f64>,
}

/// What probes say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The load that explains the probes, without them, per second.
    pub load_per_s: f64,
    /// Its interval.
    pub ci95: (f64, f64),
    /// The least load that is not out of the question: below it, the probes would be a fluke of one
    /// in 30,000.
    pub conceivable_from: f64,
    /// Where the probes lie beside all loads.
    pub fits: Fits,
}

/// How the probes' mean lies beside the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fits {
    /// A load explains it.
    Well,
    /// It is below what the probes alone explain.
    Faster,
    /// It is beyond what the highest load explains.
    Slower,
}

/// The model as a table over the loads, and the rate of the probes.
#[derive(Debug, Clone)]
pub struct Table {
    rows: Vec<Row>,
    probe_rate: f64,
    drift: f64,
    freedom: f64,
    bound_s: f64,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    /// The load, probes included.
    rate: f64,
    mean: f64,
    /// Variance of the mean, for one probe.
    chance: f64,
    /// Variance of the model's mean.
    model: f64,
}

/// A mean that is to be explained.
#[derive(Debug, Clone, Copy)]
struct Observed {
    mean: f64,
    n: f64,
    /// How much more probes scatter than expected, and its degrees of freedom.
    scatter: f64,
    freedom: f64,
}

impl Table {
    /// The table for probes at a rate, over a time that is not longer than `seconds`, whose
    /// response times count up to `bound_s`.
    #[must_use]
    pub fn of(model: &Model, probe_rate: f64, seconds: f64, bound_s: f64) -> Self {
        let row = |k: usize| {
            // Closer together near saturation, where everything changes fast.
            let left = 1.0 - k as f64 / LOADS as f64;
            let rate = model.saturation() * (1.0 - left.powf(1.5).max(1e-4));
            let chance = model.variance_of_mean(rate, probe_rate, 1.0, seconds);
            Row { rate, mean: model.mean(rate), chance, model: model.variance(rate) }
        };
        Self {
            rows: (0..=LOADS).map(row).collect(),
            probe_rate,
            drift: DRIFT * model.unloaded(),
            freedom: model.freedom(),
            bound_s,
        }
    }

    /// What probes say, in the order in which they were due; `None` without any.
    #[must_use]
    pub fn estimate(&self, probes: &[Probe]) -> Option<Estimate> {
        if probes.is_empty() {
            return None;
        }
        let cut = |probe: &Probe| probe.response_s.map_or(self.bound_s, |s| s.min(self.bound_s));
        let times: Vec<f64> = probes.iter().map(cut).collect();
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let chance = self.at(mean).chance;
        let (scatter, freedom) = scatter(&times, mean, chance);
        Some(self.explain(Observed { mean, n, scatter, freedom }))
    }

    /// The highest load that is told, the probes taken off.
    #[must_use]
    pub fn highest(&self) -> f64 {
        self.rows.last().map_or(0.0, |row| row.rate - self.probe_rate).max(0.0)
    }

    /// Half the width of the interval at a load, in requests a second, by so many probes.
    #[must_use]
    pub fn half_width(&self, load: f64, probes: f64) -> f64 {
        let mean = self.mean_at(load + self.probe_rate);
        let found = self.explain(self.expected(mean, probes));
        0.5 * (found.ci95.1 - found.ci95.0)
    }

    /// How many probes narrow the interval at a load to `half` on each side, and how many would if
    /// the model were exact; `None` where no number does.
    #[must_use]
    pub fn needed(&self, load: f64, half: f64) -> (Option<f64>, Option<f64>) {
        let exact = Self {
            rows: self.rows.iter().map(|row| Row { model: 0.0, ..*row }).collect(),
            drift: 0.0,
            freedom: f64::INFINITY,
            ..self.clone()
        };
        (self.needed_by(load, half), exact.needed_by(load, half))
    }

    fn needed_by(&self, load: f64, half: f64) -> Option<f64> {
        if self.half_width(load, MOST_NEEDED) > half {
            return None;
        }
        let (mut low, mut high) = (1.0_f64, MOST_NEEDED);
        while high / low > 1.01 {
            let middle = (low * high).sqrt();
            if self.half_width(load, middle) > half { low = middle } else { high = middle }
        }
        Some(high)
    }

    fn expected(&self, mean: f64, n: f64) -> Observed {
        Observed { mean, n, scatter: 1.0, freedom: SCATTER_WEIGHT + BATCHES as f64 - 1.0 }
    }

    fn explain(&self, seen: Observed) -> Estimate {
        // The probes are there, whoever else is.
        let first = self.row_at(self.probe_rate);
        let last = self.rows[self.rows.len() - 1];
        let here = self.at(seen.mean);
        let (chance, own) = (seen.scatter * here.chance / seen.n, here.model + self.drift.powi(2));
        // Welch and Satterthwaite's degrees of freedom.
        let freedom =
            (chance + own).powi(2) / (chance * chance / seen.freedom + own * own / self.freedom);
        let below = student::quantile(1.0 - BELOW, freedom);
        let above = student::quantile(1.0 - ABOVE, freedom);
        let deviation = |row: &Row| {
            (seen.scatter * row.chance / seen.n + row.model + self.drift.powi(2)).sqrt()
        };
        // How far a load is from explaining the mean: within -1 and 1 it does.
        let off = |row: &Row| {
            let off = (row.mean - seen.mean) / deviation(row);
            if off < 0.0 { off / below } else { off / above }
        };
        let fits = match () {
            () if off(&first) * above > HARDLY => Fits::Faster,
            () if seen.mean >= last.mean => Fits::Slower,
            () => Fits::Well,
        };
        if seen.mean < first.mean {
            // No load is below none: what is faster by chance says no more than no load does.
            return Estimate { fits, ..self.explain(Observed { mean: first.mean, ..seen }) };
        }
        let start = self.rows.partition_point(|row| row.mean < seen.mean);
        let low = |wanted: f64| {
            let at = self.rows[..start].iter().rposition(|row| off(row) < wanted);
            at.map_or(0.0, |at| between(&self.rows[at], self.rows.get(at + 1), wanted, off))
        };
        let high = |wanted: f64| {
            let at = self.rows[start..].iter().position(|row| off(row) > wanted);
            match at.map(|at| at + start) {
                Some(at) if at > 0 => between(&self.rows[at], self.rows.get(at - 1), wanted, off),
                _ => last.rate,
            }
        };
        let without = |rate: f64| (rate - self.probe_rate).max(0.0);
        Estimate {
            load_per_s: without(here.rate),
            ci95: (without(low(-1.0)), without(high(1.0))),
            conceivable_from: without(low(-HARDLY / below)),
            fits,
        }
    }

    /// The row whose mean is this one.
    fn at(&self, mean: f64) -> Row {
        let after = self.rows.partition_point(|row| row.mean < mean);
        let Some(high) = self.rows.get(after) else { return self.rows[self.rows.len() - 1] };
        let Some(low) = after.checked_sub(1).map(|at| &self.rows[at]) else { return *high };
        blend(low, high, (mean - low.mean) / (high.mean - low.mean))
    }

    fn mean_at(&self, rate: f64) -> f64 {
        self.row_at(rate).mean
    }

    /// The row of a rate.
    fn row_at(&self, rate: f64) -> Row {
        let after = self.rows.partition_point(|row| row.rate < rate);
        let Some(high) = self.rows.get(after) else { return self.rows[self.rows.len() - 1] };
        let Some(low) = after.checked_sub(1).map(|at| &self.rows[at]) else { return *high };
        blend(low, high, (rate - low.rate) / (high.rate - low.rate))
    }
}

fn blend(low: &Row, high: &Row, part: f64) -> Row {
    let of = |a: f64, b: f64| a + part * (b - a);
    Row {
        rate: of(low.rate, high.rate),
        mean: of(low.mean, high.mean),
        chance: of(low.chance, high.chance),
        model: of(low.model, high.model),
    }
}

/// The rate between two neighbours at which `off` is `wanted`.
fn between(out: &Row, within: Option<&Row>, wanted: f64, off: impl Fn(&Row) -> f64) -> f64 {
    let Some(within) = within else { return out.rate };
    let (a, b) = (off(out), off(within));
    let part = if (b - a).abs() > 0.0 { ((wanted - a) / (b - a)).clamp(0.0, 1.0) } else { 0.0 };
    out.rate + part * (within.rate - out.rate)
}

/// How much more stretches of the probes differ than the variance of one probe explains, at least
/// as much; and its degrees of freedom.
fn scatter(times: &[f64], mean: f64, chance: f64) -> (f64, f64) {
    let length = times.len() / BATCHES;
    if length == 0 {
        return (1.0, SCATTER_WEIGHT);
    }
    let stretches = times.chunks_exact(length).take(BATCHES);
    let square = |stretch: &[f64]| {
        let off = stretch.iter().sum::<f64>() / length as f64 - mean;
        off * off / (chance / length as f64)
    };
    let sum: f64 = stretches.map(square).sum();
    let freedom = SCATTER_WEIGHT + BATCHES as f64 - 1.0;
    (((SCATTER_WEIGHT + sum) / freedom).max(1.0), freedom)
}
