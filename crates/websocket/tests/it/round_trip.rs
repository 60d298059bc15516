//! Any messages, in any frames, in pieces of any size, compressed or not, come out as they went in;
//! and bytes that were changed on the way end in an error or in other messages, within the limits.

use crate::support::Owned;
use plimsoll_websocket::decode::{Decoder, Limits};
use plimsoll_websocket::encode::Encoder;
use plimsoll_websocket::extension::Side;
use plimsoll_websocket::{CloseCode, Error, Masks, Message, Role};
use proptest::collection::vec;
use proptest::prelude::*;

/// More than any message below has.
const LIMITS: Limits = Limits { frame_bytes: 100_000, message_bytes: 100_000 };

fn message() -> impl Strategy<Value = Owned> {
    let control = || vec(any::<u8>(), 0..126);
    prop_oneof![
        4 => "\\PC{0,40}".prop_map(Owned::Text),
        2 => vec(any::<u8>(), 0..300).prop_map(Owned::Binary),
        // Long, and well compressed.
        1 => (any::<u8>(), 0..70_000_usize).prop_map(|(byte, n)| Owned::Binary(vec![byte; n])),
        1 => (1..9_000_usize).prop_map(|n| Owned::Text("aé€𝄞".repeat(n))),
        1 => control().prop_map(Owned::Ping),
        1 => control().prop_map(Owned::Pong),
    ]
}

fn side() -> impl Strategy<Value = Option<Side>> {
    let side = (any::<bool>(), 8..16_u8);
    proptest::option::of(
        side.prop_map(|(keeps_context, window_bits)| Side { keeps_context, window_bits }),
    )
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Client), Just(Role::Server)]
}

/// Messages, how they are compressed, who receives them, the largest frame, and the seed of masks.
type Sent = (Vec<Owned>, Option<Side>, Role, usize, u64);

fn sent() -> impl Strategy<Value = Sent> {
    let most = prop_oneof![Just(usize::MAX), 1..9_usize, 9..3000_usize];
    (vec(message(), 0..8), side(), role(), most, any::<u64>())
}

/// The bytes, of which control frames stand between the frames of a message where they can.
fn encoded((messages, side, receiver, most, seed): &Sent) -> Vec<u8> {
    let (mut encoder, mut masks) = (Encoder::new(*side), Masks::seeded(*seed));
    let mut out = Vec::new();
    for message in messages {
        // Many small frames of what is long take long.
        let most = if matches!(message, Owned::Text(t) if t.len() > 2000)
            || matches!(message, Owned::Binary(b) if b.len() > 2000)
        {
            (*most).max(1000)
        } else {
            *most
        };
        let mask = || (*receiver == Role::Server).then(|| masks.draw());
        encoder.parts(message.borrow(), most, mask, &mut out);
    }
    out
}

/// What a decoder makes of pieces that end at these places.
fn decoded(
    decoder: &mut Decoder,
    bytes: &[u8],
    cuts: &[prop::sample::Index],
) -> Result<Vec<Owned>, Error> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let mut found = Vec::new();
    for ends in cuts.windows(2) {
        let mut piece = &bytes[ends[0]..ends[1]];
        while let Some(message) = decoder.next(&mut piece)? {
            let bytes = match message {
                Message::Text(text) => text.len(),
                Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => bytes.len(),
                Message::Close(close) => close.reason.len(),
            };
            assert!(bytes <= LIMITS.message_bytes);
            found.push(Owned::from(message));
        }
        assert!(piece.is_empty());
    }
    Ok(found)
}

proptest! {
    #[test]
    fn messages_come_out_as_they_went_in_whatever_the_pieces(
        sent in sent(),
        cuts in vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let bytes = encoded(&sent);
        let mut decoder = Decoder::new(sent.2, LIMITS, sent.1);
        prop_assert_eq!(decoded(&mut decoder, &bytes, &cuts), Ok(sent.0));
    }

    #[test]
    fn every_byte_may_come_alone(text in "\\PC{0,60}", side in side(), receiver in role()) {
        let sent = (vec![Owned::Text(text), Owned::Ping(vec![1])], side, receiver, 7, 1);
        let bytes = encoded(&sent);
        let mut decoder = Decoder::new(receiver, LIMITS, side);
        let mut found = Vec::new();
        for byte in &bytes {
            let mut one = std::slice::from_ref(byte);
            while let Some(message) = decoder.next(&mut one).unwrap() {
                found.push(Owned::from(message));
            }
        }
        prop_assert_eq!(found, sent.0);
    }

    #[test]
    fn control_frames_may_stand_between_those_of_a_message(
        text in "\\PC{2,60}",
        ping in vec(any::<u8>(), 0..126),
        receiver in role(),
        cuts in vec(any::<prop::sample::Index>(), 0..9),
    ) {
        let mut masks = Masks::seeded(3);
        let (mut encoder, mut bytes) = (Encoder::new(None), Vec::new());
        let (first, second) = text.split_at(text.char_indices().nth(1).unwrap().0);
        let mut put = |message: Message<'_>, is_first: bool, is_last: bool| {
            let before = bytes.len();
            let mask = (receiver == Role::Server).then(|| masks.draw());
            encoder.message(message, mask, &mut bytes);
            if !is_last { bytes[before] &= 0x7f; }
            if !is_first { bytes[before] &= 0xf0; }
        };
        put(Message::Text(first), true, false);
        let before = [Owned::Ping(ping.clone()), Owned::Text(text.clone())];
        put(Message::Ping(&ping), true, true);
        put(Message::Text(second), false, true);
        let mut decoder = Decoder::new(receiver, LIMITS, None);
        prop_assert_eq!(decoded(&mut decoder, &bytes, &cuts), Ok(before.to_vec()));
    }

    #[test]
    fn changed_bytes_end_within_the_limits_and_the_same_for_all_pieces(
        sent in sent(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cuts in vec(any::<prop::sample::Index>(), 0..9),
    ) {
        let mut bytes = encoded(&sent);
        for (at, byte) in changes.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        let mut whole = Decoder::new(sent.2, LIMITS, sent.1);
        let mut pieces = Decoder::new(sent.2, LIMITS, sent.1);
        let at_once = decoded(&mut whole, &bytes, &[]);
        let in_pieces = decoded(&mut pieces, &bytes, &cuts);
        // A text is refused where it goes wrong: a frame too long behind it is not seen any more.
        prop_assert_eq!(at_once.is_ok(), in_pieces.is_ok());
        if let (Ok(at_once), Ok(in_pieces)) = (at_once, in_pieces) {
            prop_assert_eq!(at_once, in_pieces);
        }
    }

    #[test]
    fn any_bytes_at_all_end_within_the_limits(
        bytes in vec(any::<u8>(), 0..400),
        side in side(),
        receiver in role(),
        cuts in vec(any::<prop::sample::Index>(), 0..9),
    ) {
        let mut decoder = Decoder::new(receiver, LIMITS, side);
        let _ = decoded(&mut decoder, &bytes, &cuts);
    }

    #[test]
    fn a_close_says_its_code_and_as_much_of_its_reason_as_fits(
        code in prop_oneof![1000..1004_u16, 1007..1015_u16, 3000..5000_u16],
        reason in "\\PC{0,80}",
    ) {
        let mut out = Vec::new();
        let code = CloseCode::new(code);
        let sent = Owned::Close(code, reason.clone());
        Encoder::new(None).message(sent.borrow(), None, &mut out);
        let mut decoder = Decoder::new(Role::Client, LIMITS, None);
        let found = decoded(&mut decoder, &out, &[]).unwrap();
        let [Owned::Close(told, cut)] = &found[..] else { panic!("{found:?}") };
        prop_assert_eq!(*told, code);
        prop_assert!(reason.starts_with(cut.as_str()));
        let is_cut = reason.len() > plimsoll_websocket::REASON_BYTES;
        prop_assert_eq!(is_cut, cut.len() < reason.len());
        prop_assert!(!is_cut || cut.len() > plimsoll_websocket::REASON_BYTES - 4);
    }
}
