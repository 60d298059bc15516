//! Dips of a series: where its level fell, how far, for how long, and whether it came back.
//!
//! A dip begins where a segment's level is below that of the one before, and ends with the first
//! segment that regains at least half of what was lost. What does not come back is a dip without an
//! end; what rises from the start of the series is none, as nothing is known of the level before.

use crate::change_points::Segment;

/// The share of what was lost that ends a dip when it is regained.
const REGAINED: f64 = 0.5;

/// One dip, by the places of values in the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dip {
    /// Its first value.
    pub from: usize,
    /// The value after its last; `None` where it lasts to the end of the series.
    pub to: Option<usize>,
    /// The level before it.
    pub before: f64,
    /// The mean of its values.
    pub level: f64,
    /// What was lost, as a share of the level before.
    pub depth: f64,
    /// The level after it.
    pub after: Option<f64>,
    /// What was regained, as a share of what was lost at its lowest: at least a half, and 1 is the
    /// level before.
    pub recovery: Option<f64>,
}

/// The dips of a series that was divided into segments, in order.
#[must_use]
pub fn dips(segments: &[Segment]) -> Vec<Dip> {
    let mut dips = Vec::new();
    let mut at = 1;
    while at < segments.len() {
        let before = segments[at - 1].level;
        if segments[at].level >= before {
            at += 1;
            continue;
        }
        let mut lowest = segments[at].level;
        let mut end = at + 1;
        while end < segments.len() && segments[end].level < before - (before - lowest) * REGAINED {
            lowest = lowest.min(segments[end].level);
            end += 1;
        }
        dips.push(dip(before, lowest, &segments[at..end], segments.get(end)));
        at = end + 1;
    }
    dips
}

#[expect(clippy::cast_precision_loss, reason = "a series is short")]
fn dip(before: f64, lowest: f64, within: &[Segment], next: Option<&Segment>) -> Dip {
    let weight = |segment: &Segment| (segment.to - segment.from) as f64;
    let sum: f64 = within.iter().map(|segment| segment.level * weight(segment)).sum();
    let level = sum / within.iter().map(weight).sum::<f64>();
    let lost = before - level;
    Dip {
        from: within[0].from,
        to: next.map(|segment| segment.from),
        before,
        level,
        depth: if before > 0.0 { lost / before } else { 0.0 },
        after: next.map(|segment| segment.level),
        recovery: next.map(|segment| (segment.level - lowest) / (before - lowest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(levels: &[(usize, f64)]) -> Vec<Segment> {
        let mut from = 0;
        let segment = |&(n, level): &(usize, f64)| {
            from += n;
            Segment { from: from - n, to: from, level }
        };
        levels.iter().map(segment).collect()
    }

    #[test]
    fn a_dip_has_start_depth_length_and_recovery() {
        let found = dips(&segments(&[(40, 28.0), (12, 14.0), (44, 21.0)]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].from, found[0].to), (40, Some(52)));
        assert!((found[0].depth - 0.5).abs() < 1e-12);
        assert!((found[0].recovery.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(found[0].after, Some(21.0));
    }

    #[test]
    fn a_dip_in_steps_is_one() {
        let found = dips(&segments(&[(9, 30.0), (3, 20.0), (1, 10.0), (5, 12.0), (9, 29.0)]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].from, found[0].to), (9, Some(18)));
        assert!((found[0].level - (60.0 + 10.0 + 60.0) / 9.0).abs() < 1e-12);
    }

    #[test]
    fn recovery_is_from_the_lowest() {
        let found = dips(&segments(&[(3, 45.0), (3, 36.0), (3, 40.0), (3, 2.0), (3, 24.0)]));
        assert!((found[0].level - 26.0).abs() < 1e-12);
        assert!((found[0].recovery.unwrap() - 22.0 / 43.0).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_come_back_has_no_end() {
        let found = dips(&segments(&[(9, 30.0), (3, 20.0), (4, 22.0)]));
        assert_eq!((found[0].to, found[0].after, found[0].recovery), (None, None, None));
        assert!(dips(&segments(&[(9, 10.0), (3, 20.0)])).is_empty());
        assert!(dips(&segments(&[(9, 10.0)])).is_empty());
        assert!(dips(&[]).is_empty());
    }

    #[test]
    fn two_dips_are_told_apart() {
        let levels = [(9, 30.0), (3, 20.0), (9, 30.0), (4, 10.0), (5, 31.0)];
        let found = dips(&segments(&levels));
        assert_eq!(found.iter().map(|dip| dip.from).collect::<Vec<_>>(), [9, 21]);
    }
}
