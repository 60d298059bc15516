//! ICP: bytes as RFC 2186 has them, written by hand.

use std::net::Ipv4Addr;

use plimsoll_cache::protocol::icp::{Body, Message, Options, SourceRtt};
use plimsoll_cache::protocol::{DecodeError, EncodeError};
use proptest::prelude::*;

const URL: &[u8] = b"http://origin.example/a";

fn bytes(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

/// A message by its fields, put together in the plainest way.
fn by_hand(opcode: u8, numbers: [u32; 4], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![opcode, 2, 0, 0];
    for number in numbers {
        for shift in [24, 16, 8, 0] {
            bytes.push((number >> shift) as u8);
        }
    }
    bytes.extend(payload);
    (bytes[2], bytes[3]) = ((bytes.len() >> 8) as u8, bytes.len() as u8);
    bytes
}

fn ended(url: &[u8]) -> Vec<u8> {
    [url, &[0]].concat()
}

#[test]
fn a_query_and_its_answers_have_the_bytes_of_the_rfc() {
    let query = Message::query(0x0102_0304, URL);
    let payload = [&[0; 4], URL, &[0]].concat();
    assert_eq!(bytes(&query), by_hand(1, [0x0102_0304, 0, 0, 0], &payload));
    assert_eq!(bytes(&query).len(), 24 + URL.len() + 1);
    assert_eq!(&bytes(&query)[..8], [1, 2, 0, 48, 1, 2, 3, 4]);
    let plain = [
        (0, Body::Invalid),
        (2, Body::Hit),
        (3, Body::Miss),
        (4, Body::Error),
        (10, Body::SourceEcho),
        (11, Body::CacheEcho),
        (21, Body::MissNoFetch),
        (22, Body::Denied),
    ];
    for (opcode, body) in plain {
        let answer = query.answer(body);
        let wanted = by_hand(opcode, [0x0102_0304, 0, 0, 0], &ended(URL));
        assert_eq!(bytes(&answer), wanted, "{body:?}");
        assert_eq!(wanted.len(), 20 + URL.len() + 1);
        assert_eq!(Message::decode(&wanted), Ok(answer));
    }
}

#[test]
fn an_object_comes_with_its_length_and_less_of_it_is_a_hit() {
    let answer = Message::query(7, URL).answer(Body::HitObject(b"object"));
    let payload = [URL, &[0, 0, 6], b"object"].concat();
    let wanted = by_hand(23, [7, 0, 0, 0], &payload);
    assert_eq!(bytes(&answer), wanted);
    assert_eq!(Message::decode(&wanted), Ok(answer));
    let hit = answer.answer(Body::Hit);
    for missing in 1..=8 {
        let short = by_hand(23, [7, 0, 0, 0], &payload[..payload.len() - missing]);
        assert_eq!(Message::decode(&short), Ok(hit), "{missing} bytes missing");
    }
    let long = by_hand(23, [7, 0, 0, 0], &[&payload[..], b"!"].concat());
    assert_eq!(Message::decode(&long), Err(DecodeError::Rest { at: wanted.len(), found: 1 }));
}

#[test]
fn the_distance_to_the_origin_is_told_by_answers_alone() {
    let rtt = SourceRtt { hops: 9, rtt_ms: 250 };
    let query = Message::query(1, URL);
    let answer = query.answer(Body::Miss).with_source_rtt(rtt);
    assert_eq!(&bytes(&answer)[8..16], [0x40, 0, 0, 0, 0, 9, 0, 250]);
    assert_eq!(answer.source_rtt(), Some(rtt));
    assert_eq!(query.answer(Body::Miss).source_rtt(), None);
    assert_eq!(query.with_source_rtt(rtt).source_rtt(), None);
    let both = Options::HIT_OBJECT.and(Options::SOURCE_RTT);
    assert!(both.0 == 0xc000_0000 && both.has(Options::HIT_OBJECT));
    assert!(!Options::HIT_OBJECT.has(both));
}

#[test]
fn an_opcode_that_is_none_is_named() {
    let known = [0, 1, 2, 3, 4, 10, 11, 21, 22, 23];
    for opcode in (0..=u8::MAX).filter(|opcode| !known.contains(opcode)) {
        let error = Message::decode(&by_hand(opcode, [0; 4], &ended(URL))).unwrap_err();
        let wanted = format!(
            "expected an ICP opcode of 0, 1, 2, 3, 4, 10, 11, 21, 22 or 23 at byte 0, \
             found {opcode}"
        );
        assert_eq!(error.to_string(), wanted);
    }
}

#[test]
fn what_is_no_message_is_refused_with_the_place() {
    let good = bytes(&Message::query(1, URL));
    for end in 0..good.len() {
        assert!(Message::decode(&good[..end]).is_err(), "{end} bytes");
    }
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Message::decode(&bytes).unwrap_err().to_string()
    };
    assert_eq!(with(1, 3), "expected an ICP version 2 at byte 1, found 3");
    assert_eq!(with(3, 49), "expected an ICP length of 48 at byte 2, found 49");
    assert_eq!(with(47, b'!'), "expected a zero byte after a URL from byte 24 on, found none");
    assert_eq!(with(46, 0), "expected the end of the message at byte 47, found 1 more bytes");
    let header = by_hand(1, [0; 4], &[]);
    let error = Message::decode(&header).unwrap_err().to_string();
    assert_eq!(error, "expected 4 bytes of a requester's address at byte 20, found 0");
    let long = by_hand(2, [0; 4], &ended(&vec![b'a'; 16_364]));
    let error = Message::decode(&long).unwrap_err().to_string();
    assert_eq!(error, "expected an ICP length of at most 16384 at byte 2, found 16385");
}

#[test]
fn what_cannot_be_said_is_not_written() {
    let mut out = b"before".to_vec();
    let zero = Message::query(1, b"http://a/\0b");
    assert_eq!(zero.encode(&mut out), Err(EncodeError::Zero { at: 9 }));
    let url = vec![b'a'; 16_384 - 24];
    let long = Message::query(1, &url);
    let most = 16_384;
    assert_eq!(long.encode(&mut out), Err(EncodeError::Long { most, found: most + 1 }));
    let object = vec![0; 70_000];
    let long = Message::query(1, URL).answer(Body::HitObject(&object));
    assert!(long.encode(&mut out).is_err());
    assert_eq!(out, b"before");
    let longest = Message::query(1, &url[1..]);
    longest.encode(&mut out).unwrap();
    assert_eq!(Message::decode(&out[6..]), Ok(longest));
}

proptest! {
    #[test]
    fn bytes_by_hand_are_read_and_written_again(
        which in 0..10_usize,
        numbers in prop::array::uniform4(any::<u32>()),
        requester in any::<u32>(),
        url in prop::collection::vec(1..=u8::MAX, 0..200),
        object in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let bodies = [
            Body::Invalid,
            Body::Query { requester: Ipv4Addr::from(requester) },
            Body::Hit,
            Body::Miss,
            Body::Error,
            Body::SourceEcho,
            Body::CacheEcho,
            Body::MissNoFetch,
            Body::Denied,
            Body::HitObject(&object),
        ];
        let opcode = [0, 1, 2, 3, 4, 10, 11, 21, 22, 23][which];
        let mut payload = ended(&url);
        if opcode == 1 {
            payload.splice(..0, requester.to_be_bytes());
        }
        if opcode == 23 {
            payload.extend([(object.len() / 256) as u8, (object.len() % 256) as u8]);
            payload.extend(&object);
        }
        let wanted = by_hand(opcode, numbers, &payload);
        let [number, options, option_data, sender] = numbers;
        let message = Message {
            number,
            options: Options(options),
            option_data,
            sender: Ipv4Addr::from(sender),
            url: &url,
            body: bodies[which],
        };
        prop_assert_eq!(Message::decode(&wanted), Ok(message));
        prop_assert_eq!(bytes(&message), &wanted[..]);
        prop_assert_eq!(message.encoded_bytes(), wanted.len());
    }
}
