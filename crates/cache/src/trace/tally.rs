//! How often each of some names came.

use std::collections::BTreeMap;
use std::fmt;

use plimsoll_units::show_count;

use super::collect::excerpt_of;

/// So many different names are told apart; what comes beyond them is counted together.
const MOST_NAMES: usize = 64;

/// So many names are shown.
const SHOWN: usize = 10;

/// The longest name that is kept, in bytes.
const NAME_BYTES: usize = 24;

/// How often each of some names came: operations, methods, statuses that were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    named: BTreeMap<Vec<u8>, u64>,
    others: u64,
}

impl Tally {
    /// Counts a name.
    pub fn count(&mut self, name: &[u8]) {
        if let Some(count) = self.named.get_mut(name) {
            *count += 1;
        } else if self.named.len() < MOST_NAMES && name.len() <= NAME_BYTES {
            self.named.insert(name.to_vec(), 1);
        } else {
            self.others += 1;
        }
    }

    /// How often all came together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.named.values().sum::<u64>() + self.others
    }

    /// How often a name came, where it is one of those told apart.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.named.get(name.as_bytes()).copied().unwrap_or(0)
    }
}

/// `3 of PUT, 1 of DELETE`: what came most often first.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<(&Vec<u8>, u64)> =
            self.named.iter().map(|(name, &count)| (name, count)).collect();
        all.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let rest = all.iter().skip(SHOWN).map(|&(_, count)| count).sum::<u64>() + self.others;
        for (number, (name, count)) in all.iter().take(SHOWN).enumerate() {
            let gap = if number > 0 { ", " } else { "" };
            let name = if name.is_empty() { "none".into() } else { excerpt_of(name, NAME_BYTES) };
            write!(f, "{gap}{} of {name}", show_count(*count))?;
        }
        if rest > 0 {
            let gap = if all.is_empty() { "" } else { ", " };
            write!(f, "{gap}{} of others", show_count(rest))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_and_bounded() {
        let mut tally = Tally::default();
        assert_eq!(tally.to_string(), "");
        for name in ["PUT", "DELETE", "PUT", "", "a\x1b"] {
            tally.count(name.as_bytes());
        }
        assert_eq!(tally.to_string(), "2 of PUT, 1 of none, 1 of DELETE, 1 of a\\u{1b}");
        for number in 0..1_000 {
            tally.count(format!("op{number}").as_bytes());
        }
        tally.count(&[b'x'; 1_000]);
        assert_eq!(tally.sum(), 1_006);
        assert_eq!((tally.named.len(), tally.of("PUT"), tally.of("op999")), (MOST_NAMES, 2, 0));
        assert!(tally.to_string().ends_with(" of others"), "{tally}");
    }
}
