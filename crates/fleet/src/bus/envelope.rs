//! What is put around a message so that it can go through strangers' hands.
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | `PLB1` |
//! | 64 | the signature (Ed25519) of all that follows, behind `plimsoll fleet 1` and a zero byte |
//! | 1 | the kind |
//! | 16 | whose key has signed it |
//! | 16 | the controller's nonce |
//! | 16 | the worker's nonce; zeros in a call |
//! | 8 | the number of the message in its direction, from 1; 0 where it has none |
//! | 8 | the number of the last message that was heard in the other direction |
//! | rest | what it says |
//!
//! Numbers are big endian. The kind says the direction, so that nobody can be told his own words.

use super::key::{KeyId, PublicKey, Secret};

/// The longest message, bytes: longer ones are not read at all.
pub(crate) const LONGEST: usize = 1 << 20;
/// How a message begins.
const MAGIC: &[u8; 4] = b"PLB1";
/// What is signed before the rest: a signature is of nothing else.
const CONTEXT: &[u8] = b"plimsoll fleet 1\0";
const SIGNATURE: usize = 64;
const HEAD: usize = MAGIC.len() + SIGNATURE + 1 + 16 + 16 + 16 + 8 + 8;

/// 128 bits that nobody can guess, by which a session is told from all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nonce(pub(crate) [u8; 16]);

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A controller asks who is there. Whoever repeats it learns what it would.
    Call = 1,
    /// A worker says that it is, and what it may do.
    Hello = 2,
    /// A controller begins a session with a worker.
    Take = 3,
    /// A part of what a controller says in a session.
    Told = 4,
    /// A part of what a worker says in a session.
    Answered = 5,
    /// A controller ends a session, with its last words.
    ToldLast = 6,
    /// A worker ends a session, with its last words.
    AnsweredLast = 7,
    /// A controller has heard.
    ControllerHeard = 8,
    /// A worker has heard.
    WorkerHeard = 9,
}

const KINDS: [Kind; 9] = [
    Kind::Call,
    Kind::Hello,
    Kind::Take,
    Kind::Told,
    Kind::Answered,
    Kind::ToldLast,
    Kind::AnsweredLast,
    Kind::ControllerHeard,
    Kind::WorkerHeard,
];

/// What stands before what a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) from: KeyId,
    pub(crate) controller: Nonce,
    pub(crate) worker: Nonce,
    pub(crate) number: u64,
    pub(crate) heard: u64,
}

/// A message that was taken apart, of which nothing is believed yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sealed<'a> {
    pub(crate) head: Head,
    signature: &'a [u8],
    signed: &'a [u8],
    said: &'a [u8],
}

/// A message, signed.
pub(crate) fn seal(own: &Secret, head: &Head, said: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(CONTEXT.len() + HEAD + said.len());
    text.extend_from_slice(CONTEXT);
    text.push(head.kind as u8);
    text.extend_from_slice(&own.public().id().0);
    text.extend_from_slice(&head.controller.0);
    text.extend_from_slice(&head.worker.0);
    text.extend_from_slice(&head.number.to_be_bytes());
    text.extend_from_slice(&head.heard.to_be_bytes());
    text.extend_from_slice(said);
    let signature = own.sign(&text);
    let mut message = Vec::with_capacity(HEAD + said.len());
    message.extend_from_slice(MAGIC);
    message.extend_from_slice(&signature);
    message.extend_from_slice(&text[CONTEXT.len()..]);
    message
}

/// Takes a message apart; `None` where it is none.
pub(crate) fn open(message: &[u8]) -> Option<Sealed<'_>> {
    let rest = message.strip_prefix(MAGIC).filter(|_| message.len() <= LONGEST)?;
    let (signature, signed) = rest.split_at_checked(SIGNATURE)?;
    let (&kind, rest) = signed.split_first()?;
    let kind = KINDS.into_iter().find(|of| *of as u8 == kind)?;
    let (from, rest) = rest.split_first_chunk()?;
    let (controller, rest) = rest.split_first_chunk()?;
    let (worker, rest) = rest.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (heard, said) = rest.split_first_chunk()?;
    let head = Head {
        kind,
        from: KeyId(*from),
        controller: Nonce(*controller),
        worker: Nonce(*worker),
        number: u64::from_be_bytes(*number),
        heard: u64::from_be_bytes(*heard),
    };
    Some(Sealed { head, signature, signed, said })
}

impl<'a> Sealed<'a> {
    /// What it says, where the owner of this key has signed it.
    pub(crate) fn said_by(&self, key: &PublicKey) -> Option<&'a [u8]> {
        let text = [CONTEXT, self.signed].concat();
        key.has_signed(&text, self.signature).then_some(self.said)
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::tests::secret;
    use super::*;
    use proptest::prelude::*;

    fn head(kind: Kind) -> Head {
        let (controller, worker) = (Nonce([1; 16]), Nonce([2; 16]));
        let from = secret(7).public().id();
        Head { kind, from, controller, worker, number: 3, heard: 4 }
    }

    #[test]
    fn what_is_sealed_is_opened_as_it_was() {
        for kind in KINDS {
            let message = seal(&secret(7), &head(kind), b"words");
            let opened = open(&message).unwrap();
            assert_eq!(opened.head, head(kind));
            assert_eq!(opened.said_by(&secret(7).public()), Some(&b"words"[..]));
            assert_eq!(opened.said_by(&secret(8).public()), None);
        }
    }

    #[test]
    fn no_bit_of_a_message_can_be_changed() {
        let message = seal(&secret(7), &head(Kind::Take), b"words");
        for bit in 0..message.len() * 8 {
            let mut changed = message.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let believed = open(&changed).and_then(|of| of.said_by(&secret(7).public()));
            assert_eq!(believed, None, "bit {bit}");
        }
        for length in 0..message.len() {
            let believed = open(&message[..length]).and_then(|of| of.said_by(&secret(7).public()));
            assert_eq!(believed, None, "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_message(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut marked = MAGIC.to_vec();
            marked.extend_from_slice(&bytes);
            for message in [bytes, marked] {
                let believed = open(&message).and_then(|of| of.said_by(&secret(7).public()));
                prop_assert_eq!(believed, None);
            }
        }
    }
}
