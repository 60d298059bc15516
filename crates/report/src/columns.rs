//! From seconds to the columns of a chart.
//!
//! A chart has at most a few hundred columns, so that a day's report is no larger than a minute's.
//! Where a column covers several seconds, what stands in it is stated under the chart: sums for
//! counts, means for rates and states, the highest second for what must not be hidden. Nothing is
//! interpolated: a column without a second has no value.

use plimsoll_draw::chart::axis::Axis;

/// A second (or a shorter stretch) of a run: start and length in seconds.
pub(crate) trait Stretch {
    /// Start and length in seconds.
    fn stretch(&self) -> (f64, f64);
}

impl<T: Stretch> Stretch for &T {
    fn stretch(&self) -> (f64, f64) {
        (**self).stretch()
    }
}

impl Stretch for plimsoll_runs::IntervalRow {
    fn stretch(&self) -> (f64, f64) {
        (self.start_s, self.len_s)
    }
}

impl Stretch for plimsoll_runs::HostRow {
    /// A sample of the host stands for the second that it ended.
    fn stretch(&self) -> (f64, f64) {
        ((self.at_s - 1.0).max(0.0), 1.0)
    }
}

/// Stretches shorter than this say nothing about a rate: one event in 3 ms is not 333 a second.
const LEAST_FOR_RATE_S: f64 = 0.25;

/// Lengths of a column, in seconds.
const LENGTHS: [f64; 20] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 180.0, 300.0, 600.0, 900.0, 1200.0, 1800.0,
    3600.0, 7200.0, 14_400.0, 43_200.0, 86_400.0,
];

/// The axis of a run of `end_s` seconds, in at most `limit` columns.
pub(crate) fn time_axis(end_s: f64, limit: usize) -> Axis {
    time_axis_of(0.0, end_s, limit)
}

/// The same with columns no shorter than `least_s`, for stretches of that length: shorter columns
/// would have gaps between them.
pub(crate) fn time_axis_of(least_s: f64, end_s: f64, limit: usize) -> Axis {
    let sane = |seconds: f64| if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
    let (least_s, end_s) = (sane(least_s) * (1.0 - 1e-9), sane(end_s));
    let limit = limit.max(1) as f64;
    let column_s = LENGTHS
        .into_iter()
        .find(|&length| length >= least_s && (end_s / length).ceil() <= limit)
        .unwrap_or_else(|| 86_400.0 * ((end_s / limit).max(least_s) / 86_400.0).ceil());
    #[expect(clippy::cast_possible_truncation, reason = "at most the limit")]
    let columns = (end_s / column_s).ceil().max(1.0) as usize;
    Axis::Time { columns, column_s, clock_s: None }
}

/// The column in which a moment falls; `None` outside, and on an axis that is not time.
pub(crate) fn column_of(axis: Axis, seconds: f64) -> Option<usize> {
    let Axis::Time { columns, column_s, .. } = axis else { return None };
    let place = seconds / column_s;
    if !(place >= 0.0 && place < columns as f64) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below the number of columns")]
    let column = place as usize;
    Some(column)
}

fn fold<T: Stretch, A: Clone>(
    axis: Axis,
    rows: &[T],
    start: &A,
    mut add: impl FnMut(&mut A, &T),
) -> Vec<Option<A>> {
    let mut folded: Vec<Option<A>> = vec![None; axis.columns()];
    for row in rows {
        let (from, length) = row.stretch();
        // By its middle, so that rounding at an edge puts no second into the wrong column.
        if let Some(column) = column_of(axis, from + length / 2.0) {
            add(folded[column].get_or_insert_with(|| start.clone()), row);
        }
    }
    folded
}

/// Counts, added up.
pub(crate) fn total<T: Stretch>(
    axis: Axis,
    rows: &[T],
    count: impl Fn(&T) -> u64,
) -> Vec<Option<f64>> {
    fold(axis, rows, &0.0, |sum, row| *sum += count(row) as f64)
}

/// Counts per second: their sum over the time that the rows of a column cover.
pub(crate) fn per_second<T: Stretch>(
    axis: Axis,
    rows: &[T],
    count: impl Fn(&T) -> u64,
) -> Vec<Option<f64>> {
    let folded = fold(axis, rows, &(0.0, 0.0), |(sum, length), row| {
        *sum += count(row) as f64;
        *length += row.stretch().1;
    });
    let alone = folded.len() == 1;
    folded
        .into_iter()
        .map(|column| {
            column.and_then(|(sum, length)| {
                let told = length >= LEAST_FOR_RATE_S || (alone && length > 0.0);
                told.then(|| sum / length)
            })
        })
        .collect()
}

/// The mean of what the rows of a column have, weighted by their length.
pub(crate) fn mean<T: Stretch>(
    axis: Axis,
    rows: &[T],
    value: impl Fn(&T) -> Option<f64>,
) -> Vec<Option<f64>> {
    let folded = fold(axis, rows, &(0.0, 0.0), |(sum, length), row| {
        if let Some(value) = value(row).filter(|v| v.is_finite()) {
            *sum += value * row.stretch().1;
            *length += row.stretch().1;
        }
    });
    folded
        .into_iter()
        .map(|column| column.and_then(|(sum, length)| (length > 0.0).then(|| sum / length)))
        .collect()
}

/// The highest of what the rows of a column have.
pub(crate) fn highest<T: Stretch>(
    axis: Axis,
    rows: &[T],
    value: impl Fn(&T) -> Option<f64>,
) -> Vec<Option<f64>> {
    let folded = fold(axis, rows, &f64::NEG_INFINITY, |most: &mut f64, row| {
        if let Some(value) = value(row).filter(|v| v.is_finite()) {
            *most = most.max(value);
        }
    });
    folded.into_iter().map(|column| column.filter(|most| most.is_finite())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Copy)]
    struct Row(f64, f64, u64);

    impl Stretch for Row {
        fn stretch(&self) -> (f64, f64) {
            (self.0, self.1)
        }
    }

    fn some(value: f64) -> Option<f64> {
        Some(value)
    }

    #[test]
    fn a_minute_has_a_column_a_second_and_a_day_fewer() {
        assert_eq!(time_axis(60.0, 600), Axis::Time { columns: 60, column_s: 1.0, clock_s: None });
        assert_eq!(time_axis(60.2, 600), Axis::Time { columns: 61, column_s: 1.0, clock_s: None });
        assert_eq!(
            time_axis(86_400.0, 600),
            Axis::Time { columns: 480, column_s: 180.0, clock_s: None }
        );
        assert_eq!(time_axis(0.0, 600), Axis::Time { columns: 1, column_s: 1.0, clock_s: None });
        assert_eq!(time_axis(f64::NAN, 600).columns(), 1);
        assert!(time_axis(1e9, 100).columns() <= 100);
    }

    #[test]
    fn columns_are_no_shorter_than_their_stretches() {
        let minutes = |end_s, limit| time_axis_of(60.0, end_s, limit);
        assert_eq!(minutes(3600.0, 300), Axis::Time { columns: 60, column_s: 60.0, clock_s: None });
        assert_eq!(
            minutes(86_400.0, 288),
            Axis::Time { columns: 288, column_s: 300.0, clock_s: None }
        );
        let weeks = time_axis_of(604_800.0, 1e7, 300);
        assert_eq!(weeks, Axis::Time { columns: 17, column_s: 604_800.0, clock_s: None });
        assert_eq!(time_axis_of(f64::INFINITY, 60.0, 300).columns(), 60);
    }

    #[test]
    fn seconds_that_are_missing_are_gaps() {
        let axis = time_axis(4.0, 100);
        let rows = [Row(0.0, 1.0, 5), Row(3.0, 1.0, 7)];
        assert_eq!(total(axis, &rows, |r| r.2), [some(5.0), None, None, some(7.0)]);
    }

    #[test]
    fn a_short_last_stretch_makes_no_rate() {
        let axis = time_axis(1.003, 100);
        let rows = [Row(0.0, 1.0, 500), Row(1.0, 0.003, 1)];
        assert_eq!(per_second(axis, &rows, |r| r.2), [some(500.0), None]);
        assert_eq!(total(axis, &rows, |r| r.2), [some(500.0), some(1.0)]);
        let only = [Row(0.0, 0.1, 50)];
        assert_eq!(per_second(time_axis(0.1, 100), &only, |r| r.2), [some(500.0)]);
    }

    #[test]
    fn columns_of_two_seconds_hold_means_and_the_highest() {
        let axis = Axis::Time { columns: 1, column_s: 2.0, clock_s: None };
        let rows = [Row(0.0, 1.0, 10), Row(1.0, 1.0, 30)];
        let value = |r: &Row| Some(r.2 as f64);
        assert_eq!(mean(axis, &rows, value), [some(20.0)]);
        assert_eq!(highest(axis, &rows, value), [some(30.0)]);
        assert_eq!(per_second(axis, &rows, |r| r.2), [some(20.0)]);
        assert_eq!(highest(axis, &rows, |_| None), [None]);
        assert_eq!(mean(axis, &rows, |_| Some(f64::NAN)), [None]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_hidden(
            counts in prop::collection::vec(0u64..1000, 1..400),
            limit in 1usize..50,
        ) {
            let rows: Vec<Row> =
                counts.iter().enumerate().map(|(s, &n)| Row(s as f64, 1.0, n)).collect();
            let axis = time_axis(rows.len() as f64, limit);
            prop_assert!(axis.columns() <= limit);
            let sum: f64 = total(axis, &rows, |r| r.2).into_iter().flatten().sum();
            prop_assert!((sum - counts.iter().sum::<u64>() as f64).abs() < 1e-6);
            let most = highest(axis, &rows, |r| Some(r.2 as f64)).into_iter().flatten()
                .fold(0.0, f64::max);
            prop_assert!((most - *counts.iter().max().unwrap() as f64).abs() < 1e-9);
        }
    }
}
