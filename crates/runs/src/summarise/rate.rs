//! The rate of a run, from what its seconds say of when answers came.

use std::ops::Range;

use plimsoll_stats::Histogram;

use crate::Counters;
use crate::answered::{Answered, Counting, Rate};
use crate::database::uint;
use crate::error::RunError;
use crate::run::Run;
use crate::schema::ANSWERED;
use crate::summary::seconds;

/// The rate at which answers came that took so long; `None` where a single request was due, or no
/// time passed. Runs of an earlier version do not say when answers came within a second: theirs is
/// completed / duration.
pub(super) fn rate(
    run: &Run,
    span: &Range<u64>,
    response: &Histogram,
    counters: &Counters,
) -> Result<Option<Rate>, RunError> {
    let duration_s = seconds(span.end - span.start);
    if counters.offered < 2 || duration_s <= 0.0 {
        return Ok(None);
    }
    let watched_ns = run.covered_ns()?.saturating_sub(span.end);
    let median_ns = response.value_at_quantile(0.5).unwrap_or(0);
    let mut counting = Counting::new(span.clone(), median_ns.min(watched_ns));
    let has = "SELECT count(*) FROM pragma_table_info('interval') WHERE name = ?";
    if run.query(has, &[&ANSWERED], |row| row.get::<_, i64>(0))? > 0 {
        run.for_each_row(&format!("SELECT start_ns, {ANSWERED} FROM interval"), &[], |row| {
            let start_ns = row.get(0).map(uint).map_err(run.unreadable())?;
            let text = row.get_ref(1).ok().and_then(|text| text.as_str().ok());
            if let Some(answered) = text.and_then(Answered::parse) {
                counting.add(start_ns, &answered);
            }
            Ok(())
        })?;
    }
    let of_all = Rate { per_s: counters.completed as f64 / duration_s, share: 1.0, drained: 0 };
    Ok(Some(counting.rate().unwrap_or(of_all)))
}
