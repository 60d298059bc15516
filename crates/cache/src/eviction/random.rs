//! Random replacement: any object may leave, all with the same probability. It costs nothing to
//! keep and needs no order, so it is what other policies have to beat. Where each request asks for
//! an object independently of those before, it misses as much as FIFO (Gelenbe, "A unified approach
//! to the evaluation of a class of replacement algorithms", IEEE Transactions on Computers C-22(6),
//! 1973).

use plimsoll_units::parameter::{Parameter, Takes};

use plimsoll_workload::random::Stream;

use crate::prefetch::fetch;

use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

/// Of an object that is not inside.
const NOWHERE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Random {
    /// Where in `inside` each object is.
    place: Vec<u32>,
    inside: Vec<u32>,
    draws: Stream,
    used: u64,
    capacity: u64,
}

/// What is drawn from.
const SEED: Parameter =
    Parameter::new("seed", Takes::Count(0, u64::MAX), "1", "Where its randomness comes from.");

impl Eviction for Random {
    const NAME: &'static str = "random";
    const ABOUT: &'static str = "any leaves, all with the same probability (seed=1)";
    const PARAMETERS: &'static [Parameter] = &[SEED];

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let seed = room.settings.number(&SEED)?;
        Ok(Self {
            place: vec![NOWHERE; room.objects],
            inside: Vec::new(),
            draws: Stream::named(seed, "random replacement"),
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        self.contains(input.requests[at])
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.capacity {
            return;
        }
        while self.used > self.capacity - size {
            #[expect(clippy::cast_possible_truncation, reason = "below the number of objects")]
            let drawn = self.draws.below(self.inside.len() as u64) as u32;
            let victim = self.inside.swap_remove(drawn as usize);
            if let Some(&moved) = self.inside.get(drawn as usize) {
                self.place[moved as usize] = drawn;
            }
            self.place[victim as usize] = NOWHERE;
            self.used -= input.size(victim);
            gone.gone(victim);
        }
        self.used += size;
        #[expect(clippy::cast_possible_truncation, reason = "objects are below 2^32")]
        let last = self.inside.len() as u32;
        self.place[object as usize] = last;
        self.inside.push(object);
    }

    fn contains(&self, object: u32) -> bool {
        self.place[object as usize] != NOWHERE
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.place, object);
    }

    fn memory_bytes(&self) -> usize {
        (self.place.capacity() + self.inside.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::random::Stream;

    use crate::capacity::{Capacity, Unit};
    use crate::eviction::Kind;
    use crate::made;

    /// The misses of a policy among objects that each count one.
    fn misses(policy: &str, asked: &[u32], amount: u64) -> u64 {
        let capacity = Capacity { amount, unit: Unit::Objects };
        made::run(Kind::named(policy).unwrap(), &made::trace(asked), capacity).misses
    }

    #[test]
    fn independent_requests_miss_as_with_fifo() {
        let mut draws = Stream::named(3, "asked");
        // The product of two even draws: few objects are asked for often.
        let mut draw = || draws.below(40) * draws.below(40) / 16;
        let asked: Vec<u32> = (0..200_000).map(|_| u32::try_from(draw()).unwrap()).collect();
        for room in [5, 20, 50] {
            let [random, fifo] = ["random", "fifo"].map(|of| misses(of, &asked, room) as f64);
            // Of some 100,000 misses the standard deviation is a few hundred.
            assert!((random / fifo - 1.0).abs() < 0.02, "{room}: {random} {fifo}");
        }
    }

    #[test]
    fn a_loop_that_lru_always_misses_hits_at_times() {
        let asked: Vec<u32> = (0..50).flat_map(|_| 0..20).collect();
        assert_eq!(misses("lru", &asked, 15), 1_000);
        let random = misses("random", &asked, 15);
        assert!((200..800).contains(&random), "{random}");
        assert_eq!(misses("random", &asked, 15), random);
    }
}
