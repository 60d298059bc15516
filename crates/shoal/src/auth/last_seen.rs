//! Which messages have been there before.

use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use super::WINDOW_MS;
use crate::heartbeat::Refusal;

/// The time of the last message of each key for each uuid, for as long as an older one could still
/// pass as signed within [`WINDOW_MS`].
///
/// *Memory* is bounded: pairs are forgotten in two generations, after 240 to 480 s without a
/// message, and there are never more than the capacity. A pair is kept as 128 bits of a digest, so
/// that the table neither holds secrets nor grows with their length.
#[derive(Debug)]
pub struct LastSeen {
    capacity: usize,
    /// Times of messages since `since_ms`.
    young: IndexMap<[u8; 16], i64>,
    /// Times of messages before.
    old: IndexMap<[u8; 16], i64>,
    since_ms: i64,
}

impl LastSeen {
    /// Of nothing yet. `capacity` counts pairs: agents that sign, with some to spare.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, young: IndexMap::new(), old: IndexMap::new(), since_ms: i64::MIN }
    }

    /// Takes note of a message that is believed in all else, unless it is not newer than the last
    /// of that key for that uuid. Times are milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// [`Refusal::Signature`] if it was there before, or is older than what was;
    /// [`Refusal::Full`] if the pair is new and there is no room.
    pub fn note(
        &mut self,
        key_id: &str,
        uuid: &str,
        unix_ms: i64,
        now_unix_ms: i64,
    ) -> Result<(), Refusal> {
        self.forget(now_unix_ms);
        let pair = digest(key_id, uuid);
        let last = self.young.get(&pair).or_else(|| self.old.get(&pair));
        match last {
            Some(&last) if unix_ms <= last => {
                return Err(Refusal::Signature("not newer than the last one"));
            }
            None if self.len() >= self.capacity => return Err(Refusal::Full),
            _ => {}
        }
        self.old.swap_remove(&pair);
        self.young.insert(pair, unix_ms);
        Ok(())
    }

    /// Pairs that are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A message noted at t is of t + window at the latest, and passes until t + two windows. When
    /// the old generation goes, each of its messages was noted more than that ago. A clock that
    /// was set back starts a generation too, or the table would be full until it caught up.
    fn forget(&mut self, now_unix_ms: i64) {
        if now_unix_ms.abs_diff(self.since_ms) > 2 * WINDOW_MS {
            self.old = std::mem::take(&mut self.young);
            self.since_ms = now_unix_ms;
        }
    }
}

/// A key's name has no zero byte.
fn digest(key_id: &str, uuid: &str) -> [u8; 16] {
    let whole = Sha256::new().chain_update(key_id).chain_update([0]).chain_update(uuid).finalize();
    std::array::from_fn(|n| whole[n])
}
