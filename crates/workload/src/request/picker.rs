//! Which request of the list is asked for next.
//!
//! The choice for request n of the whole load is a function of the seed and of n alone: request n
//! draws from a small generator of its own, keyed by n. So the union of the shares of several
//! threads is exactly the sequence one thread would have asked for, without one thread drawing
//! what another uses. The generator is SplitMix64 (Steele, Lea, Flood: Fast splittable
//! pseudorandom number generators, OOPSLA 2014) started at a mix of key and n.

use super::alias::Alias;
use super::error::RequestError;
use super::message::Requests;
use super::order::Order;
use super::zipf::Zipf;
use crate::arrivals::Share;
use crate::random::Stream;
use plimsoll_units::hash::{GOLDEN, mix};

/// The draws of one request.
#[derive(Debug, Clone)]
pub(super) struct Draws(u64);

impl Draws {
    /// The key of a named stream of requests.
    pub(super) fn key(seed: u64, name: &str) -> u64 {
        Stream::named(seed, name).next_u64()
    }

    /// The draws of the request of this number.
    pub(super) fn of_request(key: u64, number: u64) -> Self {
        Self(mix(key ^ mix(number.wrapping_mul(GOLDEN))))
    }

    pub(super) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Between two bounds, both included, without bias: Lemire, Fast random integer generation in
    /// an interval, ACM TOMACS 29(1), 2019, algorithm 5.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        let Some(span) = (high - low).checked_add(1) else { return self.next_u64() };
        let mut product = u128::from(self.next_u64()) * u128::from(span);
        if low_half(product) < span {
            let least = span.wrapping_neg() % span;
            while low_half(product) < least {
                product = u128::from(self.next_u64()) * u128::from(span);
            }
        }
        low + high_half(product)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
pub(super) fn low_half(product: u128) -> u64 {
    product as u64
}

pub(super) fn high_half(product: u128) -> u64 {
    (product >> 64) as u64
}

/// Gives the index of each request of one share of a load.
#[derive(Debug, Clone)]
pub struct Picker {
    /// The number of the next request in the whole load.
    number: u64,
    step: u64,
    len: u32,
    key: u64,
    choice: Choice,
}

#[derive(Debug, Clone)]
enum Choice {
    InOrder,
    /// The index of the next request, and how far one step of this share moves it.
    RoundRobin {
        at: u32,
        step: u32,
    },
    Uniform,
    Weighted(Alias),
}

impl Picker {
    /// For one share: request n of the whole load belongs to share n mod `share.of`.
    ///
    /// # Errors
    /// An empty list, weights that are not one a request, negative or all zero, a negative
    /// exponent.
    pub fn new(requests: &Requests, seed: u64, share: Share) -> Result<Self, RequestError> {
        let found = requests.list.len();
        if found == 0 {
            return Err(RequestError::NoUrls { origin: "the list of requests".to_owned() });
        }
        let Ok(len) = u32::try_from(found) else { return Err(RequestError::TooMany { found }) };
        let of = share.of.max(1);
        let choice = match &requests.order {
            Order::InOrder => Choice::InOrder,
            Order::RoundRobin => Choice::RoundRobin { at: share.index % len, step: of % len },
            Order::Uniform => Choice::Uniform,
            Order::Weighted(weights) if weights.len() != found => {
                let (wanted, found) = (found, weights.len());
                return Err(RequestError::WeightCount { wanted, found });
            }
            Order::Weighted(weights) => Choice::Weighted(Alias::new(weights)?),
            Order::Zipf(exponent) => {
                let weights: Vec<f64> = Zipf::new(u64::from(len), *exponent)?.weights().collect();
                Choice::Weighted(Alias::new(&weights)?)
            }
        };
        let key = Draws::key(seed, "request.order");
        Ok(Self { number: u64::from(share.index), step: u64::from(of), len, key, choice })
    }

    /// The index into the list of this share's next request; `None` once a list in order is done.
    #[expect(clippy::should_implement_trait, reason = "called once a request, never as a loop")]
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        let number = self.number;
        let draws = || Draws::of_request(self.key, number);
        let index = match &mut self.choice {
            Choice::InOrder => u32::try_from(number).ok().filter(|&index| index < self.len)?,
            Choice::RoundRobin { at, step } => {
                let index = *at;
                let (room, step) = (self.len - index, *step);
                *at = if step < room { index + step } else { step - room };
                index
            }
            Choice::Uniform => narrow(draws().between(0, u64::from(self.len - 1))),
            Choice::Weighted(alias) => alias.pick(draws().next_u64()),
        };
        self.number = number.wrapping_add(self.step);
        Some(index)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "below the list's length, a u32")]
fn narrow(index: u64) -> u32 {
    index as u32
}
