//! What a peer sends stays within the limits, whatever it announces or packs.

use plimsoll_websocket::decode::{Decoder, Limits};
use plimsoll_websocket::encode::Encoder;
use plimsoll_websocket::extension::Side;
use plimsoll_websocket::frame::{Header, Opcode};
use plimsoll_websocket::{Connection, Error, Message, Role};

const LIMITS: Limits = Limits { frame_bytes: 1000, message_bytes: 1500 };

fn frame(opcode: Opcode, is_final: bool, length: u64) -> Vec<u8> {
    let mut out = Vec::new();
    Header { is_final, is_compressed: false, opcode, mask: None, length }.write(&mut out);
    out
}

#[test]
fn a_frame_that_is_too_long_is_refused_by_its_head() {
    let mut decoder = Decoder::new(Role::Client, LIMITS, None);
    let head = frame(Opcode::Binary, true, 1001);
    let error = decoder.next(&mut &head[..]).unwrap_err();
    assert_eq!(error, Error::Frame { bytes: 1001, limit: 1000 });
    assert_eq!(error.code().get(), 1009);
    assert_eq!(error.to_string(), "a frame of 1001 bytes is longer than the 1000 that are taken");
}

#[test]
fn a_message_that_is_too_long_is_refused_by_the_head_that_exceeds_it() {
    let mut decoder = Decoder::new(Role::Client, LIMITS, None);
    let mut bytes = frame(Opcode::Binary, false, 1000);
    bytes.extend_from_slice(&[0; 1000]);
    bytes.extend_from_slice(&frame(Opcode::Continuation, true, 500));
    assert_eq!(decoder.next(&mut &bytes[..]), Ok(None));
    let mut decoder = Decoder::new(Role::Client, LIMITS, None);
    let end = bytes.len() - frame(Opcode::Continuation, true, 500).len();
    bytes.truncate(end);
    bytes.extend_from_slice(&frame(Opcode::Continuation, true, 501));
    assert_eq!(decoder.next(&mut &bytes[..]), Err(Error::Message { limit: 1500 }));
}

/// Memory for the largest message that can be announced would end the process.
#[test]
fn nothing_is_reserved_for_what_is_only_announced() {
    let limits = Limits { frame_bytes: u64::MAX, message_bytes: usize::MAX };
    let mut decoder = Decoder::new(Role::Client, limits, None);
    let mut bytes = frame(Opcode::Binary, true, i64::MAX as u64);
    bytes.extend_from_slice(b"so far");
    assert_eq!(decoder.next(&mut &bytes[..]), Ok(None));
}

#[test]
fn a_message_unpacks_to_its_limit_and_no_further() {
    for side in [Side::ALONE, Side::KEPT] {
        for (bytes, is_taken) in [(1500, true), (1501, false), (100_000_000, false)] {
            let mut packed = Vec::new();
            Encoder::new(Some(side)).message(Message::Binary(&vec![0; bytes]), None, &mut packed);
            let limits = Limits { frame_bytes: u64::MAX, ..LIMITS };
            let mut decoder = Decoder::new(Role::Client, limits, Some(side));
            let mut input = &packed[..];
            match decoder.next(&mut input) {
                Ok(Some(Message::Binary(payload))) => assert!(is_taken && payload.len() == bytes),
                other => {
                    assert_eq!((other, is_taken), (Err(Error::Message { limit: 1500 }), false));
                }
            }
        }
    }
}

/// A generator has thousands: what a connection keeps while it waits is this, and at most 4 KiB of
/// what it read last and 1 KiB of what it compressed last.
#[test]
fn a_connection_that_waits_is_small() {
    assert!(size_of::<Connection>() <= 640, "{}", size_of::<Connection>());
}
