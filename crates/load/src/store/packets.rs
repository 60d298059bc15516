//! Dividing what a database sends into packets: a head that says how long its body is, and the
//! body. The protocols of databases are made so.
//!
//! Bounded: of a body at most [`MAX_KEPT`] bytes are kept, which hold all that is looked at; the
//! rest, of a value, is only counted.

use super::Heard;
use super::frames::Malformed;
use std::marker::PhantomData;

/// The most that is kept of a body.
pub const MAX_KEPT: usize = 1024;
/// The longest head.
const MAX_HEAD: usize = 9;

/// How a protocol's packets begin.
pub trait Head {
    /// How many bytes, at most nine.
    const LEN: usize;

    /// How many bytes of body follow such a head.
    ///
    /// # Errors
    /// [`Malformed`] where no packet begins so, or none that is as long.
    fn body(head: &[u8]) -> Result<usize, Malformed>;

    /// The number of the command that such a packet answers, where it says so.
    fn whose(_: &[u8]) -> Option<u16> {
        None
    }
}

/// Divides one connection's bytes.
pub struct Packets<H> {
    head: [u8; MAX_HEAD],
    /// How many bytes of the head are there.
    headed: usize,
    /// The length of the body.
    len: usize,
    kept: Vec<u8>,
    /// Bytes of the body that are still to come.
    left: usize,
    kind: PhantomData<fn() -> H>,
}

impl<H> Default for Packets<H> {
    fn default() -> Self {
        let kind = PhantomData;
        Self { head: [0; MAX_HEAD], headed: 0, len: 0, kept: Vec::new(), left: 0, kind }
    }
}

impl<H: Head> Packets<H> {
    /// Takes bytes up to the end of one packet, or all of them; says how many it took, and whether
    /// the packet is whole.
    ///
    /// # Errors
    /// As of [`Head::body`].
    pub fn take(&mut self, bytes: &[u8]) -> Result<(usize, bool), Malformed> {
        let mut at = 0;
        while self.headed < H::LEN {
            let Some(&byte) = bytes.get(at) else { return Ok((at, false)) };
            if self.headed == 0 {
                self.kept.clear();
            }
            self.head[self.headed] = byte;
            self.headed += 1;
            at += 1;
            if self.headed == H::LEN {
                self.len = H::body(self.head())?;
                self.left = self.len;
            }
        }
        let n = self.left.min(bytes.len() - at);
        let keep = n.min(MAX_KEPT - self.kept.len());
        self.kept.extend_from_slice(&bytes[at..at + keep]);
        self.left -= n;
        let is_whole = self.left == 0;
        if is_whole {
            self.headed = 0;
        }
        Ok((at + n, is_whole))
    }

    /// The head of the packet that came last.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head[..H::LEN]
    }

    /// Whose answer the packet under way is, or the last where none is.
    #[must_use]
    pub fn whose(&self) -> Option<u16> {
        let is_whole = self.headed == 0 || self.headed == H::LEN;
        if is_whole { H::whose(self.head()) } else { None }
    }

    /// The length of its body.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.len
    }

    /// Its body, cut at [`MAX_KEPT`].
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.kept
    }

    /// Whether a packet is under way that is longer than what is kept.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.headed == H::LEN && self.len > MAX_KEPT
    }

    /// Bytes of the body that will not be kept, less the last: what ends a packet is taken.
    #[must_use]
    pub fn unkept(&self) -> u64 {
        if self.kept.len() == MAX_KEPT { self.left.saturating_sub(1) as u64 } else { 0 }
    }

    /// `n` bytes of the body passed by unseen, at most [`Packets::unkept`].
    pub fn pass_over(&mut self, n: u64) {
        self.left -= usize::try_from(n).unwrap_or(usize::MAX).min(self.left);
    }
}

/// What a connection keeps whose protocol is made of packets: the part of them that is here, what
/// it was told, and what is its protocol's `own`.
pub struct Packeted<H, S> {
    /// The packet under way, or the last.
    pub packets: Packets<H>,
    /// The words of the last error.
    pub said: Vec<u8>,
    /// Why we cannot log in.
    pub objection: Option<String>,
    /// The length of the value that was read last, where its protocol's part says so.
    pub value_len: Option<u64>,
    /// The protocol's own part.
    pub own: S,
}

impl<H, S> Packeted<H, S> {
    /// A new connection.
    pub fn new(own: S) -> Self {
        let (packets, said) = (Packets::default(), Vec::new());
        Self { packets, said, objection: None, value_len: None, own }
    }
}

impl<H: Head, S: Send> Heard for Packeted<H, S> {
    fn said(&self) -> &[u8] {
        &self.said
    }

    fn objection(&self) -> Option<&str> {
        self.objection.as_deref()
    }

    fn value_len(&self) -> Option<u64> {
        self.value_len
    }

    fn certain(&self) -> u64 {
        self.packets.unkept()
    }

    fn pass_over(&mut self, n: u64) {
        self.packets.pass_over(n);
    }

    fn held(&self) -> usize {
        self.packets.body().len() + self.said.len()
    }

    fn whose(&self) -> Option<u16> {
        self.packets.whose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A length in two bytes, and a number.
    struct Three;

    impl Head for Three {
        const LEN: usize = 3;

        fn body(head: &[u8]) -> Result<usize, Malformed> {
            let len = usize::from(head[0]) << 8 | usize::from(head[1]);
            if len < 5000 { Ok(len) } else { Err(Malformed) }
        }
    }

    #[test]
    fn packets_come_in_any_pieces() {
        let mut bytes = b"\0\x05\x01first\0\0\x02\x04\x64\x03".to_vec();
        bytes.extend_from_slice(&[7; MAX_KEPT + 100]);
        for size in [1, 2, 3, 7, 1000, bytes.len()] {
            let (mut packets, mut found) = (Packets::<Three>::default(), Vec::new());
            for mut piece in bytes.chunks(size) {
                while !piece.is_empty() {
                    let (n, is_whole) = packets.take(piece).unwrap();
                    piece = &piece[n..];
                    if is_whole {
                        let body = packets.body();
                        found.push((packets.head()[2], packets.body_len(), body.to_vec()));
                    }
                }
            }
            let kept = vec![7; MAX_KEPT];
            let wanted = [(1, 5, b"first".to_vec()), (2, 0, Vec::new()), (3, MAX_KEPT + 100, kept)];
            assert_eq!(found, wanted, "in pieces of {size}");
        }
        assert_eq!(Packets::<Three>::default().take(&[0xff, 0xff, 0]), Err(Malformed));
    }

    #[test]
    fn what_is_not_kept_may_pass_by() {
        let mut packets = Packets::<Three>::default();
        let body = [7; MAX_KEPT + 10];
        assert!(!packets.take(&[&[4, 10, 1], &body[..MAX_KEPT - 1]].concat()).unwrap().1);
        assert_eq!((packets.unkept(), packets.is_long()), (0, true));
        packets.take(&[7]).unwrap();
        assert_eq!(packets.unkept(), 9, "less the last");
        packets.pass_over(9);
        assert_eq!(packets.take(&[7, 0]), Ok((1, true)));
    }
}
