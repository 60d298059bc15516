//! A law given as straight lines between quantiles, exactly: which line a probability lies on is
//! found from a *guide table* (H. C. Chen and Y. Asau, AIIE Transactions 6(2), 1974; L. Devroye,
//! *Non-Uniform Random Variate Generation*, 1986, III.2.4), which says for equal parts of the
//! probabilities where to begin to look. With two parts a line that is less than two lines further.

use plimsoll_workload::service_model::Quantiles;

/// A straight line.
#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Up to this probability, from where the one before ends.
    to: f64,
    from: f64,
    low: f64,
    slope: f64,
}

/// Lines from probability 0 to 1.
pub(super) struct Segments {
    segments: Vec<Segment>,
    /// For each part of the probabilities the line at its beginning.
    guide: Vec<u32>,
}

/// The least and the most parts.
const PARTS: (usize, usize) = (256, 8192);

impl Segments {
    /// Of a table; values are nanoseconds times `scale`.
    pub(super) fn of(table: &Quantiles, scale: f64) -> Self {
        let segments: Vec<Segment> = table
            .points()
            .windows(2)
            .map(|pair| {
                let ((from, low), (to, high)) = (pair[0], pair[1]);
                let slope = (high - low) as f64 * scale / (to - from);
                Segment { to, from, low: low as f64 * scale, slope }
            })
            .collect();
        let parts = (2 * segments.len()).next_power_of_two().clamp(PARTS.0, PARTS.1);
        let line = |part: usize| {
            let beginning = part as f64 / parts as f64;
            let line = segments.partition_point(|of| of.to <= beginning);
            u32::try_from(line.min(segments.len() - 1)).unwrap_or(0)
        };
        Self { guide: (0..parts).map(line).collect(), segments }
    }

    /// The value that a share of all values lies below; for shares within 0 and 1.
    #[inline(always)]
    pub(super) fn at(&self, probability: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let part = (probability * self.guide.len() as f64) as usize;
        let mut line = self.guide[part.min(self.guide.len() - 1)] as usize;
        // The last line ends at 1.
        while line + 1 < self.segments.len() && self.segments[line].to <= probability {
            line += 1;
        }
        let of = &self.segments[line];
        of.low + (probability - of.from) * of.slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_is_found_as_by_searching(
            steps in prop::collection::vec((1u64..1000, 0u64..1_000_000), 1..300),
            shares in prop::collection::vec(0.0f64..1.0, 50),
        ) {
            let total: u64 = steps.iter().map(|step| step.0).sum();
            let (mut points, mut sum, mut ns) = (vec![(0.0, 1000)], 0, 1000);
            for (step, more) in steps {
                (sum, ns) = (sum + step, ns + more);
                points.push((sum as f64 / total as f64, ns));
            }
            let ends: Vec<f64> = points.iter().map(|point| point.0).collect();
            let table = Quantiles::new(points).unwrap();
            let segments = Segments::of(&table, 1.0);
            for share in shares.into_iter().chain(ends).filter(|&share| share < 1.0) {
                let (found, wanted) = (segments.at(share), 1e9 * table.at(share));
                prop_assert!((found / wanted - 1.0).abs() < 1e-9, "{share}: {found} {wanted}");
            }
        }
    }
}
