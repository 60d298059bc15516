//! Who asks: how many clients, and how unequal they are.

use super::popularity::Popularity;
use super::ranks::Ranks;
use crate::random::Stream;

/// The clients of a workload. Client k − 1 has rank k, and asks for as large a share of the
/// requests as the law gives to that rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clients {
    /// How many; at least one.
    pub count: u32,
    /// How requests fall on them.
    pub popularity: Popularity,
}

impl Clients {
    /// One that asks for everything.
    pub const ONE: Self = Self { count: 1, popularity: Popularity::UNIFORM };
}

/// Draws clients.
#[derive(Debug, Clone)]
pub(super) struct ClientDraws {
    /// `None` where there is only one.
    several: Option<(Ranks, Stream)>,
}

impl ClientDraws {
    pub(super) fn new(clients: Clients, seed: u64) -> Self {
        let several = (clients.count > 1).then(|| {
            let ranks = Ranks::lasting(clients.count, clients.popularity, None);
            (ranks, Stream::named(seed, "objects.clients"))
        });
        Self { several }
    }

    #[inline]
    pub(super) fn draw(&mut self) -> u32 {
        match &mut self.several {
            None => 0,
            Some((ranks, draws)) => ranks.draw(draws),
        }
    }
}
