//! Windows by rate: those of nearly one rate are one point of a curve over the rate.

use plimsoll_runs::WindowRow;

use super::windows::at;

/// Rates this close to the least of their group, as a share, are one.
const NEAR: f64 = 0.02;

/// What the windows of nearly one rate say together.
#[derive(Debug, Clone)]
pub(crate) struct Joined {
    /// The rate: the mean of theirs, by their answers.
    pub(crate) rate: f64,
    /// How many windows.
    pub(crate) windows: usize,
    /// How many answers.
    pub(crate) answers: u64,
    /// Percentiles 1 to 99 in µs: the means of theirs, by their answers; `None` where one of them
    /// has none.
    pub(crate) percentiles: Vec<Option<f64>>,
}

impl Joined {
    /// A percentile from 1 to 99.
    pub(crate) fn at(&self, percentile: usize) -> Option<f64> {
        self.percentiles.get(percentile.checked_sub(1)?).copied().flatten()
    }
}

/// Joins windows by rate, ascending. Left out is what says nothing of the server at its rate:
/// windows of recovery, discarded ones, those without an answer.
pub(crate) fn join(windows: &[WindowRow]) -> Vec<Joined> {
    let tells = |window: &&WindowRow| {
        window.phase != "recover" && window.verdict != "discarded" && window.response_us.count > 0
    };
    let mut windows: Vec<&WindowRow> = windows.iter().filter(tells).collect();
    windows.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    let mut groups: Vec<Vec<&WindowRow>> = Vec::new();
    for window in windows {
        match groups.last_mut() {
            Some(group) if window.offered_per_s <= group[0].offered_per_s * (1.0 + NEAR) => {
                group.push(window);
            }
            _ => groups.push(vec![window]),
        }
    }
    groups.iter().map(|group| joined(group)).collect()
}

fn joined(group: &[&WindowRow]) -> Joined {
    let weight = |window: &WindowRow| window.response_us.count as f64;
    let total: f64 = group.iter().map(|window| weight(window)).sum();
    let percentile = |p: u32| {
        let sum = group.iter().map(|window| at(window, p).map(|us| us * weight(window)));
        sum.sum::<Option<f64>>().map(|sum| sum / total)
    };
    Joined {
        rate: group.iter().map(|w| w.offered_per_s * weight(w)).sum::<f64>() / total,
        windows: group.len(),
        answers: group.iter().map(|window| window.response_us.count).fold(0, u64::saturating_add),
        percentiles: (1..=99).map(percentile).collect(),
    }
}

/// All percentiles at a rate: between two neighbours by the logarithm of the time. `None` outside
/// them, and where a neighbour has none.
pub(crate) fn between(joined: &[Joined], rate: f64) -> Vec<Option<f64>> {
    let after = joined.partition_point(|point| point.rate < rate).clamp(1, joined.len().max(2) - 1);
    let (Some(low), Some(high)) = (joined.get(after - 1), joined.get(after)) else {
        return Vec::new();
    };
    let share = ((rate - low.rate) / (high.rate - low.rate)).clamp(0.0, 1.0);
    let one = |p: usize| {
        let (a, b) = (low.at(p)?.max(f64::MIN_POSITIVE), high.at(p)?.max(f64::MIN_POSITIVE));
        Some((a.ln() * (1.0 - share) + b.ln() * share).exp())
    };
    (1..=99).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::Percentiles;

    fn window(rate: f64, count: u64, p50: Option<f64>) -> WindowRow {
        WindowRow {
            start_s: 0.0,
            seconds: 1.0,
            phase: "search".to_owned(),
            offered_per_s: rate,
            achieved_per_s: rate,
            rtt_us: None,
            rtt_samples_us: Vec::new(),
            response_us: Percentiles { count, ..Percentiles::default() },
            percentiles_us: [(50, p50)].into(),
            errors: 0,
            verdict: "within".to_owned(),
        }
    }

    #[test]
    fn nearly_one_rate_is_one_point() {
        let windows = [
            window(200.0, 10, Some(8.0)),
            window(100.0, 10, Some(1.0)),
            window(101.0, 30, Some(5.0)),
        ];
        let joined = join(&windows);
        assert_eq!(joined.len(), 2);
        assert_eq!((joined[0].windows, joined[0].answers), (2, 40));
        assert!((joined[0].rate - 100.75).abs() < 1e-9);
        assert_eq!(joined[0].at(50), Some(4.0));
        assert_eq!(joined[0].at(51), None);
        assert_eq!(joined[0].at(0), None);
    }

    #[test]
    fn what_says_nothing_of_the_server_is_left_out() {
        let recovering = WindowRow { phase: "recover".to_owned(), ..window(1.0, 5, None) };
        let discarded = WindowRow { verdict: "discarded".to_owned(), ..window(2.0, 5, None) };
        assert!(join(&[recovering, discarded, window(3.0, 0, None)]).is_empty());
    }

    #[test]
    fn an_unanswered_percentile_is_none_of_the_group() {
        let joined = join(&[window(100.0, 10, Some(1.0)), window(100.0, 10, None)]);
        assert_eq!(joined[0].at(50), None);
    }

    #[test]
    fn between_two_points_it_is_their_geometric_mean() {
        let joined = join(&[window(100.0, 9, Some(10.0)), window(200.0, 9, Some(1000.0))]);
        let middle = between(&joined, 150.0)[49].expect("a value");
        assert!((middle - 100.0).abs() < 1e-9);
        let first = between(&joined, 100.0)[49].expect("a value");
        assert!((first - 10.0).abs() < 1e-9);
        assert!(between(&joined[..1], 100.0).is_empty());
        assert!(between(&[], 100.0).is_empty());
    }
}
