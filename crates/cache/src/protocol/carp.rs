//! Cache Array Routing Protocol: each URL has one member of an array, found by hashing alone, so
//! that no cache is asked and no object is held twice.
//!
//! # Formulas
//!
//! With 32-bit arithmetic that wraps, and `rot` a rotation to the left:
//!
//! - hash of a text: `h += rot(h, 19) + byte`, for each byte, from 0;
//! - `mix(h, n) = rot(h + h · 0x62531965, n)`; a member's hash is `mix(hash of its name, 21)`;
//! - score of a member: `mix(hash of the URL ^ hash of the member, 21) · X`. The highest wins.
//!
//! The multipliers X make each member's share P of all URLs its weight's. With K members in the
//! order of their weights, and X₀ = P₀ = 0:
//! `X_k = ((K−k+1)(P_k − P_{k−1}) / (X_1 ⋯ X_{k−1}) + X_{k−1}^(K−k+1))^(1/(K−k+1))`.
//!
//! # Two variants
//!
//! [`Variant::Draft`] is the formula above: a member that joins or leaves moves only its own share.
//! [`Variant::Squid`] is what Squid 5.7 does (`carpSelectParent`, the same in its sources of 2023):
//! the URL's hash is not begun anew for each member, so that for the k-th member in the order of
//! weights the URL is hashed k times in a row. The load stays even, but a member that joins or
//! leaves moves all URLs of the members behind it.
//!
//! # Sources
//!
//! draft-vinod-carp-v1-03, sections 3.1 to 3.5; Squid 5.7, `carp.cc`. The draft has multipliers of
//! 32 bits, Squid and this have 64. Text is ASCII in both: Squid adds bytes above 127 with a sign.

/// How URLs are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// As the draft says.
    Draft,
    /// As Squid does it.
    Squid,
}

/// An array of caches.
#[derive(Debug, Clone, PartialEq)]
pub struct Carp {
    /// In the order of weights; equal weights as they were given.
    members: Vec<Member>,
    variant: Variant,
}

/// One cache of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Its place among the members as they were given.
    pub index: usize,
    /// Of its name.
    pub hash: u32,
    /// Its part of all weights.
    pub share: f64,
    /// What its hashes are multiplied by.
    pub multiplier: f64,
}

/// Why caches are no array.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CarpError {
    /// Nobody to choose.
    #[error("expected at least one member of a CARP array, found none")]
    Empty,
    /// A member that gets nothing.
    #[error("expected a weight of at least 1, found 0 of member {name:?}: leave it out")]
    Weightless {
        /// Its name.
        name: String,
    },
    /// Two members that hash alike.
    #[error("expected names that differ, found {name:?} twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// Squid takes such a share for none, and divides by it.
    #[error(
        "expected at least a thousandth of all weights, found {weight} of {total} of member \
         {name:?}: Squid gives it nothing, and its formula has no values for the others then"
    )]
    Slight {
        /// The member's name.
        name: String,
        /// Its weight.
        weight: u32,
        /// All weights.
        total: u64,
    },
}

const MULTIPLIER: u32 = 0x6253_1965;

/// Of a text, going on from the hash of what comes before it.
fn hash(before: u32, text: &[u8]) -> u32 {
    text.iter().fold(before, |hash, &byte| {
        hash.wrapping_add(hash.rotate_left(19)).wrapping_add(u32::from(byte))
    })
}

fn mix(hash: u32) -> u32 {
    hash.wrapping_add(hash.wrapping_mul(MULTIPLIER)).rotate_left(21)
}

impl Carp {
    /// An array of members with names and weights.
    ///
    /// # Errors
    /// No member, equal names, a weight of 0; for [`Variant::Squid`] a weight of less than a
    /// thousandth of all.
    pub fn new(members: &[(&str, u32)], variant: Variant) -> Result<Self, CarpError> {
        if members.is_empty() {
            return Err(CarpError::Empty);
        }
        let total: u64 = members.iter().map(|&(_, weight)| u64::from(weight)).sum();
        for (at, &(name, weight)) in members.iter().enumerate() {
            if weight == 0 {
                return Err(CarpError::Weightless { name: name.to_owned() });
            }
            if members[..at].iter().any(|&(before, _)| before == name) {
                return Err(CarpError::Twice { name: name.to_owned() });
            }
            if variant == Variant::Squid && u64::from(weight) * 1000 < total {
                return Err(CarpError::Slight { name: name.to_owned(), weight, total });
            }
        }
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|&index| members[index].1);
        #[expect(clippy::cast_precision_loss, reason = "a sum of weights is far below 2^53")]
        let share = |index: usize| f64::from(members[index].1) / total as f64;
        let shares: Vec<f64> = order.iter().map(|&index| share(index)).collect();
        let multipliers = multipliers(&shares);
        let each = order.iter().zip(shares).zip(multipliers);
        let members = each.map(|((&index, share), multiplier)| {
            let hash = mix(hash(0, members[index].0.as_bytes()));
            Member { index, hash, share, multiplier }
        });
        Ok(Self { members: members.collect(), variant })
    }

    /// The members in the order of their weights.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member for a URL, as an index into the members as they were given.
    #[must_use]
    pub fn choose(&self, url: &[u8]) -> usize {
        // Every score is zero once in 2^32 URLs, and then for arrays of one.
        self.choose_among(url, |_| true).unwrap_or(self.members[0].index)
    }

    /// The member with the highest score among those that are `there`; `None` where none is, or
    /// where every score is zero. The draft sends requests there when the first choice is down.
    #[must_use]
    pub fn choose_among(&self, url: &[u8], there: impl Fn(usize) -> bool) -> Option<usize> {
        let once = hash(0, url);
        let (mut of_url, mut best, mut highest) = (0, None, 0.0);
        for member in &self.members {
            of_url = match self.variant {
                Variant::Draft => once,
                Variant::Squid => hash(of_url, url),
            };
            let score = f64::from(mix(of_url ^ member.hash)) * member.multiplier;
            // The earlier of equals, as Squid has it; the draft does not say.
            if score > highest && there(member.index) {
                (best, highest) = (Some(member.index), score);
            }
        }
        best
    }
}

/// X of each member, by shares that rise.
fn multipliers(shares: &[f64]) -> Vec<f64> {
    let (mut product, mut last, mut last_share) = (1.0, 0.0, 0.0);
    let mut left = f64::from(u32::try_from(shares.len()).unwrap_or(u32::MAX));
    let mut multipliers = Vec::with_capacity(shares.len());
    for &share in shares {
        let power = left * (share - last_share) / product + libm::pow(last, left);
        let multiplier = libm::pow(power, 1.0 / left);
        multipliers.push(multiplier);
        product *= multiplier;
        (last, last_share) = (multiplier, share);
        left -= 1.0;
    }
    multipliers
}
