//! Masks: a client combines every payload with four bytes that nobody can predict, so that no page
//! can have a proxy read what looks like a request (RFC 6455, section 10.3).
//!
//! Where the server is one's own, a seeded source makes what is sent the same in every run.

use plimsoll_units::hash::{GOLDEN, mix};

/// Four bytes that a payload is combined with, by exclusive or.
pub type Mask = [u8; 4];

/// How many bytes are asked of the system at once: sixteen masks.
const POOL_BYTES: usize = 64;

/// Where a client's masks come from. A connection has its own.
#[derive(Clone)]
pub enum Masks {
    /// From a seed: SplitMix64, whose state this is. The same masks in every run.
    Seeded(u64),
    /// From the system's source of randomness, sixteen at a time.
    Secure(Pool),
}

/// Random bytes of the system that are not used yet.
#[derive(Clone)]
pub struct Pool {
    bytes: [u8; POOL_BYTES],
    used: usize,
}

impl std::fmt::Debug for Masks {
    /// Without the bytes: who knows them knows the masks to come.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Seeded(_) => "Seeded",
            Self::Secure(_) => "Secure",
        })
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl Masks {
    /// Masks that follow from a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self::Seeded(seed)
    }

    /// Masks that nobody can predict.
    #[must_use]
    pub fn secure() -> Self {
        Self::Secure(Pool { bytes: [0; POOL_BYTES], used: POOL_BYTES })
    }

    /// Four bytes that were not given out before.
    ///
    /// # Panics
    /// Where the system has no source of randomness; Linux has had one since version 3.17.
    pub fn draw(&mut self) -> Mask {
        match self {
            Self::Seeded(state) => {
                *state = state.wrapping_add(GOLDEN);
                let [a, b, c, d, ..] = mix(*state).to_le_bytes();
                [a, b, c, d]
            }
            Self::Secure(pool) => pool.draw(),
        }
    }

    /// The key of an opening handshake: sixteen bytes from the same source.
    pub fn key(&mut self) -> [u8; 16] {
        let mut key = [0; 16];
        for part in key.chunks_exact_mut(4) {
            part.copy_from_slice(&self.draw());
        }
        key
    }
}

impl Pool {
    fn draw(&mut self) -> Mask {
        if self.used + 4 > POOL_BYTES {
            self.fill();
        }
        let mut drawn = [0; 4];
        drawn.copy_from_slice(&self.bytes[self.used..self.used + 4]);
        self.used += 4;
        drawn
    }

    fn fill(&mut self) {
        let mut left = &mut self.bytes[..];
        while !left.is_empty() {
            match rustix::rand::getrandom(&mut *left, rustix::rand::GetRandomFlags::empty()) {
                Ok(count) => left = &mut left[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("no random bytes from the system: {error}"),
            }
        }
        self.used = 0;
    }
}

/// Masks or unmasks a part of a payload in place, eight bytes at a time.
///
/// `offset` is where the part begins in its frame's payload, bytes. Done twice, it is undone.
pub fn apply(mask: Mask, offset: usize, bytes: &mut [u8]) {
    let turned = turned(mask, offset);
    let [a, b, c, d] = turned;
    let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut words = bytes.chunks_exact_mut(8);
    for chunk in &mut words {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        chunk.copy_from_slice(&(u64::from_ne_bytes(eight) ^ word).to_ne_bytes());
    }
    for (byte, by) in words.into_remainder().iter_mut().zip(turned.into_iter().cycle()) {
        *byte ^= by;
    }
}

/// The mask as it stands at an offset of the payload.
fn turned(mask: Mask, offset: usize) -> Mask {
    let mut turned = mask;
    turned.rotate_left(offset % 4);
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mask_as_bytes_do_at_any_offset() {
        let mask = [0x37, 0xfa, 0x21, 0x3d];
        for length in 0..40 {
            for offset in 0..9 {
                let plain: Vec<u8> = (0..length).map(|n: u8| n.wrapping_mul(41)).collect();
                let bytes = plain.iter().enumerate();
                let expected: Vec<u8> =
                    bytes.map(|(at, byte)| byte ^ mask[(at + offset) % 4]).collect();
                let mut masked = plain.clone();
                apply(mask, offset, &mut masked);
                assert_eq!(masked, expected);
                apply(mask, offset, &mut masked);
                assert_eq!(masked, plain);
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_masks_and_the_system_never_does() {
        let draws = |mut masks: Masks| (0..40).map(|_| masks.draw()).collect::<Vec<_>>();
        assert_eq!(draws(Masks::seeded(7)), draws(Masks::seeded(7)));
        assert_ne!(draws(Masks::seeded(7)), draws(Masks::seeded(8)));
        assert_ne!(draws(Masks::secure()), draws(Masks::secure()));
    }
}
