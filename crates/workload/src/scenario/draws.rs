//! The draws of one user: each place of the file that draws has a stream of its own for every user,
//! so that what a user sends depends on no other user, on no clock and on no other place.

use plimsoll_units::hash::{GOLDEN, mix};

use crate::random::Stream;

/// What a user draws from.
#[derive(Debug)]
pub(super) struct Draws<'a> {
    /// A draw of the stream of scenarios under the seed of the run.
    pub(super) key: u64,
    /// The user's number.
    pub(super) user: u64,
    /// How often he has drawn at each place.
    pub(super) visits: &'a mut [u32],
}

impl Draws<'_> {
    /// The key of all draws under a seed.
    pub(super) fn key(seed: u64) -> u64 {
        Stream::named(seed, "scenario").next_u64()
    }

    /// The stream of this user's next visit of a place.
    pub(super) fn stream(&mut self, place: u32) -> Stream {
        let user = mix(self.key ^ mix(self.user.wrapping_mul(GOLDEN).wrapping_add(1)));
        let key = mix(user.wrapping_add(u64::from(place).wrapping_mul(GOLDEN)));
        let Some(visits) = self.visits.get_mut(place as usize) else {
            return Stream::numbered(key, 0);
        };
        let visit = *visits;
        *visits = visits.wrapping_add(1);
        Stream::numbered(key, u64::from(visit))
    }

    /// Between two bounds, both included.
    pub(super) fn between(&mut self, place: u32, low: u64, high: u64) -> u64 {
        let mut stream = self.stream(place);
        match (high - low).checked_add(1) {
            Some(span) => low + stream.below(span),
            None => stream.next_u64(),
        }
    }
}
