//! Draws ranks by their popularity: through a table where there is room for one, else by
//! rejection-inversion in constant memory.
//!
//! Which of the two is taken depends on the numbers alone, so that the same workload draws the same
//! ranks everywhere.

use super::popularity::{HotSet, Popularity};
use crate::random::Stream;
use crate::request::{Alias, Zipf};

/// The most ranks that get a table: 8 bytes each, 28 while it is made. A larger one would not stay
/// in a processor's cache, and be no faster than computing.
const MAX_TABLE: u32 = 1 << 22;

/// The law over ranks 0 to n − 1: here they count from zero.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    law: Law,
}

#[derive(Debug, Clone)]
enum Law {
    Table(Alias),
    One(Part),
    /// The hot part with this probability, else the other.
    Two {
        hot_share: f64,
        hot: Part,
        cold: Part,
    },
}

/// A stretch of ranks under one law.
#[derive(Debug, Clone)]
enum Part {
    Even { first: u32, len: u32 },
    Zipf(Zipf),
}

impl Ranks {
    /// The law over `n` ranks, at least one, for many draws.
    pub(super) fn lasting(n: u32, popularity: Popularity, hot: Option<HotSet>) -> Self {
        let table = (popularity.exponent > 0.0 && n <= MAX_TABLE)
            .then(|| Alias::new(&weights(n, popularity, hot)).ok())
            .flatten();
        table.map_or_else(
            || Self::passing(n, popularity, hot),
            |table| Self { law: Law::Table(table) },
        )
    }

    /// The law over `n` ranks, at least one, for few draws: made in constant time.
    pub(super) fn passing(n: u32, popularity: Popularity, hot: Option<HotSet>) -> Self {
        let of = |hot: HotSet| (hot.size(n), hot.requests);
        let law = match hot.map(of) {
            Some((size, hot_share)) if size < n => Law::Two {
                hot_share,
                hot: Part::new(0, size, popularity),
                cold: Part::new(size, n - size, popularity),
            },
            _ => Law::One(Part::new(0, n, popularity)),
        };
        Self { law }
    }

    /// A rank, from zero.
    #[inline]
    pub(super) fn draw(&self, draws: &mut Stream) -> u32 {
        match &self.law {
            Law::Table(table) => table.pick(draws.next_u64()),
            Law::One(part) => part.draw(draws),
            Law::Two { hot_share, hot, cold } => {
                let is_hot = draws.uniform() < *hot_share;
                if is_hot { hot.draw(draws) } else { cold.draw(draws) }
            }
        }
    }
}

impl Part {
    fn new(first: u32, len: u32, popularity: Popularity) -> Self {
        let even = Self::Even { first, len };
        if popularity.exponent <= 0.0 {
            return even;
        }
        let ranks = u64::from(first) + 1..=u64::from(first) + u64::from(len);
        // An exponent that is none has been refused with the workload.
        Zipf::within(ranks, popularity.exponent).map_or(even, Self::Zipf)
    }

    fn draw(&self, draws: &mut Stream) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "below the number of ranks, a u32")]
        match self {
            Self::Even { first, len } => first + draws.below(u64::from(*len)) as u32,
            Self::Zipf(zipf) => (zipf.sample(draws) - 1) as u32,
        }
    }
}

/// The weight of each rank.
fn weights(n: u32, popularity: Popularity, hot: Option<HotSet>) -> Vec<f64> {
    let mut weights: Vec<f64> = Zipf::new(u64::from(n), popularity.exponent)
        .map_or_else(|_| vec![1.0; n as usize], |zipf| zipf.weights().collect());
    let Some(hot) = hot else { return weights };
    let size = hot.size(n) as usize;
    if size == weights.len() {
        return weights;
    }
    let (hottest, others) = weights.split_at_mut(size);
    for (part, share) in [(hottest, hot.requests), (others, 1.0 - hot.requests)] {
        let sum: f64 = part.iter().sum();
        part.iter_mut().for_each(|weight| *weight *= share / sum);
    }
    weights
}
