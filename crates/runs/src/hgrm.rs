//! HdrHistogram's percentile distribution: what its plotter reads, `.hgrm`.
//!
//! Values are in milliseconds (value unit ratio 10⁶ over nanoseconds); five steps for each halving
//! of the distance to 100%.
//!
//! # Source
//!
//! G. Tene, HdrHistogram: `AbstractHistogram.outputPercentileDistribution` and
//! `PercentileIterator`.

use std::io::{self, Write};

use plimsoll_stats::Histogram;

const TICKS: f64 = 5.0;
const NS_A_UNIT: f64 = 1e6;
/// Of every histogram of ours: the halves' count and the width-one buckets.
const BUCKETS: u32 = 34;
const SUB_BUCKETS: u32 = 2048;

/// One line: upper end of the bucket, the level reached in percent, values so far.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    value: u64,
    level: f64,
    total: u64,
}

#[expect(clippy::cast_precision_loss, reason = "no run counts 2^53 requests; values end at 2^44")]
fn float(value: u64) -> f64 {
    value as f64
}

/// The levels at which the distribution is told, and the values there.
fn steps(histogram: &Histogram) -> Vec<Step> {
    let mut steps = Vec::new();
    let (count, mut total, mut level, mut last) = (histogram.count(), 0, 0.0, 0);
    'buckets: for bucket in histogram.buckets() {
        total += bucket.count;
        last = bucket.highest();
        while 100.0 * float(total) / float(count) >= level {
            steps.push(Step { value: last, level, total });
            // The distance to 100% in halvings, rounded down; 1 until the first half.
            let halvings = (100.0 / (100.0 - level)).log2().floor() + 1.0;
            level += 100.0 / (TICKS * halvings.exp2());
            if total == count {
                // The reference stops in the last bucket after one step, and closes with 100%.
                break 'buckets;
            }
        }
    }
    if count > 0 {
        steps.push(Step { value: last, level: 100.0, total: count });
    }
    steps
}

/// Writes the distribution.
pub(crate) fn write(histogram: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    let (head, of) = ("Percentile", "1/(1-Percentile)");
    writeln!(out, "{:>12} {head:>14} {:>10} {of:>14}\n", "Value", "TotalCount")?;
    for Step { value, level, total } in steps(histogram) {
        let (value, share) = (float(value) / NS_A_UNIT, level / 100.0);
        write!(out, "{value:12.3} {share:2.12} {total:10}")?;
        if level < 100.0 {
            write!(out, " {:14.2}", 1.0 / (1.0 - share))?;
        }
        writeln!(out)?;
    }
    let ms = |ns: Option<f64>| ns.unwrap_or(0.0) / NS_A_UNIT;
    let (mean, deviation) = (ms(histogram.mean()), ms(histogram.stddev()));
    writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    // As the reference has it: the upper end of the last bucket, which the steps end with.
    let last = histogram.buckets().last().map(|bucket| float(bucket.highest()));
    let (max, count) = (ms(last), histogram.count());
    writeln!(out, "#[Max     = {max:12.3}, Total count    = {count:12}]")?;
    writeln!(out, "#[Buckets = {BUCKETS:12}, SubBuckets     = {SUB_BUCKETS:12}]")
}
