//! HTCP: bytes as RFC 2756 and Squid have them, written by hand.

use plimsoll_cache::protocol::htcp::{
    Authentication, Body, Cleared, Detail, Message, Opcode, Reason, Refusal, Specifier,
};
use plimsoll_cache::protocol::{DecodeError, EncodeError};
use proptest::prelude::*;

const URL: &[u8] = b"http://origin.example/a";

fn bytes(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

/// Texts, each after its length.
fn counted(texts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend([(text.len() >> 8) as u8, text.len() as u8]);
        bytes.extend(*text);
    }
    bytes
}

/// A datagram by its two bytes of codes, the transaction 7, what follows it, and what is in the
/// authentication.
fn by_hand(minor: u8, codes: [u8; 2], data: &[u8], signed: &[u8]) -> Vec<u8> {
    let length = |of: usize| [(of >> 8) as u8, of as u8];
    let data = [&length(data.len() + 8), &codes[..], &[0, 0, 0, 7], data].concat();
    let signed = [&length(signed.len() + 2), signed].concat();
    [&length(4 + data.len() + signed.len()), &[0, minor][..], &data, &signed].concat()
}

fn message(body: Body<'_>) -> Message<'_> {
    Message { transaction: 7, body, authentication: None }
}

#[test]
fn a_test_has_the_bytes_that_squid_reads() {
    let test = Message::test(7, URL);
    let data = counted(&[b"GET", URL, b"1.1", b""]);
    let wanted = by_hand(1, [0x10, 0x02], &data, b"");
    assert_eq!(bytes(&test), wanted);
    assert_eq!(&wanted[..12], [0, 51, 0, 1, 0, 45, 0x10, 2, 0, 0, 0, 7]);
    assert_eq!(wanted[49..], [0, 2]);
    assert_eq!(Message::decode(&wanted), Ok(test));
}

#[test]
fn answers_have_the_lengths_that_squid_sends() {
    let entity = b"Expires: Mon, 23 Nov 2026 12:00:00 GMT\r\n\
        Last-Modified: Sun, 22 Nov 2026 12:00:00 GMT\r\n";
    let detail = Detail { response: b"Age: 13\r\n", entity, cache: b"" };
    let hit = Message::test(7, URL).answer(Body::Hit(detail));
    let wanted = by_hand(1, [0x10, 1], &counted(&[b"Age: 13\r\n", entity, b""]), b"");
    assert_eq!((bytes(&hit), wanted.len()), (wanted.clone(), 115));
    assert_eq!(Message::decode(&wanted), Ok(hit));
    let miss = message(Body::Miss(Detail::default()));
    let wanted = by_hand(1, [0x11, 1], &[0; 6], b"");
    assert_eq!((bytes(&miss), wanted.len()), (wanted.clone(), 20));
    assert_eq!(Message::decode(&wanted), Ok(miss));
}

#[test]
fn a_miss_by_the_rfc_has_cache_headers_alone() {
    let header = b"Cache-to-Origin: origin.example 0.2 3 9\r\n";
    let miss = message(Body::Miss(Detail { cache: header, ..Detail::default() }));
    let rfc = by_hand(1, [0x11, 1], &counted(&[header]), b"");
    assert_eq!(Message::decode(&rfc), Ok(miss));
    assert_eq!(Message::decode(&bytes(&miss)), Ok(miss));
}

#[test]
fn the_layout_of_old_squids_is_read() {
    let data = counted(&[b"GET", URL, b"1/1", b""]);
    let request = Specifier { method: b"GET", url: URL, version: b"1/1", headers: b"" };
    let test = message(Body::Test { answer: true, request });
    assert_eq!(Message::decode(&by_hand(0, [0x01, 0x40], &data, b"")), Ok(test));
    let silent = message(Body::Test { answer: false, request });
    assert_eq!(Message::decode(&by_hand(0, [0x01, 0], &data, b"")), Ok(silent));
    let miss = message(Body::Miss(Detail::default()));
    assert_eq!(Message::decode(&by_hand(0, [0x11, 0x80], &[0; 6], b"")), Ok(miss));
    let refused = message(Body::Refused { opcode: Opcode::Clear, refusal: Refusal::Undesired });
    assert_eq!(Message::decode(&by_hand(0, [0x54, 0xc0], &[], b"")), Ok(refused));
    // Bits without a meaning are not looked at, in either.
    assert_eq!(Message::decode(&by_hand(0, [0x11, 0xbf], &[0; 6], b"")), Ok(miss));
    assert_eq!(Message::decode(&by_hand(1, [0x11, 0xfd], &[0; 6], b"")), Ok(miss));
}

#[test]
fn forgetting_and_signs_of_life_have_the_bytes_of_the_rfc() {
    let request = Specifier { method: b"GET", url: URL, version: b"1.1", headers: b"" };
    let clear = Body::Clear { answer: true, reason: Reason::Gone, request };
    let data = [&[0, 1][..], &counted(&[b"GET", URL, b"1.1", b""])].concat();
    let refused = Body::Refused { opcode: Opcode::Test, refusal: Refusal::Minor };
    let cases = [
        (clear, [0x40, 2], &data[..]),
        (Body::Cleared(Cleared::Forgotten), [0x40, 1], &[]),
        (Body::Cleared(Cleared::Kept), [0x41, 1], &[]),
        (Body::Cleared(Cleared::Absent), [0x42, 1], &[]),
        (Body::Ping { answer: true }, [0, 2], &[]),
        (Body::Ping { answer: false }, [0, 0], &[]),
        (Body::Pong, [0, 1], &[]),
        (refused, [0x14, 3], &[]),
    ];
    for (body, codes, data) in cases {
        let wanted = by_hand(1, codes, data, b"");
        assert_eq!(bytes(&message(body)), wanted, "{body:?}");
        assert_eq!(Message::decode(&wanted), Ok(message(body)));
    }
    // A reason without a meaning is some other reason.
    let other = [&[0xff, 0xf5][..], &data[2..]].concat();
    let clear = Body::Clear { answer: true, reason: Reason::Other, request };
    assert_eq!(Message::decode(&by_hand(1, [0x40, 2], &other, b"")), Ok(message(clear)));
}

#[test]
fn what_is_not_known_is_refused_with_the_place() {
    let refused =
        |codes: [u8; 2]| Message::decode(&by_hand(1, codes, &[0; 8], b"")).unwrap_err().to_string();
    let opcode = "expected an HTCP opcode of 0, 1 or 4";
    assert_eq!(refused([0x20, 2]), format!("{opcode} (2 is MON) at byte 6, found 2"));
    assert_eq!(refused([0x30, 2]), format!("{opcode} (3 is SET) at byte 6, found 3"));
    assert_eq!(refused([0x50, 2]), format!("{opcode} at byte 6, found 5"));
    assert_eq!(refused([0x12, 1]), "expected a response to TST of 0 or 1 at byte 6, found 2");
    assert_eq!(refused([0x43, 1]), "expected a response to CLR of 0, 1 or 2 at byte 6, found 3");
    assert_eq!(refused([0x01, 1]), "expected a response to NOP of 0 at byte 6, found 1");
    assert_eq!(refused([0x16, 3]), "expected an overall response of 0 to 5 at byte 6, found 6");
    let good = by_hand(1, [0x10, 2], &counted(&[b"GET", URL, b"1.1", b""]), b"");
    for end in 0..good.len() {
        assert!(Message::decode(&good[..end]).is_err(), "{end} bytes");
    }
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Message::decode(&bytes).unwrap_err().to_string()
    };
    assert_eq!(with(1, 52), "expected an HTCP length of 51 at byte 0, found 52");
    assert_eq!(with(2, 1), "expected an HTCP major version 0 at byte 2, found 1");
    assert_eq!(with(3, 2), "expected an HTCP minor version 0 or 1 at byte 3, found 2");
    assert_eq!(with(5, 7), "expected HTCP data of 8 at byte 4, found 7");
    assert_eq!(with(5, 48), "expected 46 bytes of HTCP data at byte 6, found 45");
    assert_eq!(with(18, 33), "expected 33 bytes of a URL at byte 19, found 30");
    assert_eq!(with(50, 1), "expected HTCP authentication of 2 at byte 49, found 1");
    assert_eq!(with(50, 3), "expected 1 bytes of HTCP authentication at byte 51, found 0");
}

#[test]
fn room_that_is_not_used_is_not_looked_at_and_what_follows_the_parts_is_refused() {
    let data = [&counted(&[b"GET", URL, b"1.1", b""])[..], b"padding"].concat();
    let test = Message::test(7, URL);
    assert_eq!(Message::decode(&by_hand(1, [0x10, 2], &data, b"")), Ok(test));
    let mut rest = by_hand(1, [0, 2], &[], b"");
    rest.push(0);
    rest[1] = 15;
    assert_eq!(Message::decode(&rest), Err(DecodeError::Rest { at: 14, found: 1 }));
}

#[test]
fn what_is_longer_than_lengths_can_say_is_not_written() {
    let headers = vec![b'a'; 65_536];
    let mut out = Vec::new();
    for (length, fits) in [(65_535 - 14 - 8, true), (65_535 - 14 - 7, false), (65_536, false)] {
        let request = Specifier { headers: &headers[..length], ..Specifier::default() };
        let test = message(Body::Test { answer: true, request });
        let found = 14 + 8 + length;
        let wanted = if fits { Ok(()) } else { Err(EncodeError::Long { most: 65_535, found }) };
        assert_eq!(test.encode(&mut out), wanted);
        assert_eq!(out.len(), if fits { 65_535 } else { 0 });
        if fits {
            assert_eq!(Message::decode(&out), Ok(test));
        }
        out.clear();
    }
}

fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 6)
}

proptest! {
    #[test]
    fn bytes_by_hand_are_read_and_written_again(
        which in 0..4_usize,
        answer in any::<bool>(),
        texts in texts(),
        times in any::<Option<(u32, u32)>>(),
    ) {
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let [method, url, version, headers] = [texts[0], texts[1], texts[2], texts[3]];
        let request = Specifier { method, url, version, headers };
        let detail = Detail { response: texts[0], entity: texts[1], cache: texts[2] };
        let flag = if answer { 2 } else { 0 };
        let four = counted(&texts[..4]);
        let (body, codes, data) = match which {
            0 => (Body::Test { answer, request }, [0x10, flag], four),
            1 => (Body::Hit(detail), [0x10, 1], counted(&texts[..3])),
            2 => (Body::Miss(detail), [0x11, 1], counted(&texts[..3])),
            _ => {
                let reason = Reason::Other;
                let data = [&[0, 0], &four[..]].concat();
                (Body::Clear { answer, reason, request }, [0x40, flag], data)
            }
        };
        let authentication = times.map(|(signed, expires)| {
            Authentication { signed, expires, key: texts[4], signature: texts[5] }
        });
        let signed = times.map_or(Vec::new(), |(signed, expires)| {
            let times = [signed.to_be_bytes(), expires.to_be_bytes()].concat();
            [times, counted(&texts[4..])].concat()
        });
        let wanted = by_hand(1, codes, &data, &signed);
        let message = Message { transaction: 7, body, authentication };
        prop_assert_eq!(Message::decode(&wanted), Ok(message));
        prop_assert_eq!(bytes(&message), &wanted[..]);
        prop_assert_eq!(message.encoded_bytes(), wanted.len());
    }
}
