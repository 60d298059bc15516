//! Frames as the RFCs write them, and everything that a peer may not send.

use crate::support::Owned;
use plimsoll_websocket::decode::{Decoder, Limits};
use plimsoll_websocket::encode::Encoder;
use plimsoll_websocket::extension::Side;
use plimsoll_websocket::{Close, CloseCode, Connection, Error, Masks, Message, Role};

fn decoder(role: Role) -> Decoder {
    Decoder::new(role, Limits { frame_bytes: 1 << 20, message_bytes: 70_000 }, None)
}

/// All messages of some bytes, or what is wrong with them.
fn all(decoder: &mut Decoder, mut bytes: &[u8]) -> Result<Vec<Owned>, Error> {
    let mut found = Vec::new();
    while let Some(message) = decoder.next(&mut bytes)? {
        found.push(Owned::from(message));
    }
    assert!(bytes.is_empty());
    Ok(found)
}

fn text(text: &str) -> Owned {
    Owned::Text(text.to_owned())
}

/// RFC 6455, section 5.7.
#[test]
fn the_examples_of_rfc_6455_are_read_and_written() {
    let mask = Some([0x37, 0xfa, 0x21, 0x3d]);
    let hello = b"\x81\x05Hello";
    let masked = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    let pong = b"\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    assert_eq!(all(&mut decoder(Role::Client), hello), Ok(vec![text("Hello")]));
    assert_eq!(all(&mut decoder(Role::Server), masked), Ok(vec![text("Hello")]));
    let answer = Ok(vec![Owned::Pong(b"Hello".to_vec())]);
    assert_eq!(all(&mut decoder(Role::Server), pong), answer);
    let parts = b"\x01\x03Hel\x80\x02lo\x89\x05Hello";
    let ping = Owned::Ping(b"Hello".to_vec());
    assert_eq!(all(&mut decoder(Role::Client), parts), Ok(vec![text("Hello"), ping]));
    let (mut out, mut encoder) = (Vec::new(), Encoder::new(None));
    encoder.message(Message::Text("Hello"), None, &mut out);
    encoder.message(Message::Text("Hello"), mask, &mut out);
    encoder.message(Message::Pong(b"Hello"), mask, &mut out);
    assert_eq!(out, [&hello[..], masked, pong].concat());
    for (bytes, head) in
        [(256_usize, &b"\x82\x7e\x01\x00"[..]), (65_536, b"\x82\x7f\0\0\0\0\0\x01\0\0")]
    {
        out.clear();
        let payload = vec![7; bytes];
        encoder.message(Message::Binary(&payload), None, &mut out);
        assert_eq!(&out[..head.len()], head);
        assert_eq!(all(&mut decoder(Role::Client), &out), Ok(vec![Owned::Binary(payload)]));
    }
}

/// RFC 7692, section 7.2.3: in one frame and in two, with a context, in a block that is not
/// compressed, in one that ends the stream, and in two blocks.
#[test]
fn the_examples_of_rfc_7692_are_read() {
    let examples: [&[u8]; 5] = [
        b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00",
        b"\x41\x03\xf2\x48\xcd\x80\x04\xc9\xc9\x07\x00",
        b"\xc1\x0b\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00",
        b"\xc1\x08\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
        b"\xc1\x0d\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
    ];
    for side in [Side::ALONE, Side::KEPT] {
        for example in examples {
            let mut decoder = Decoder::new(Role::Client, Limits::default(), Some(side));
            assert_eq!(all(&mut decoder, example), Ok(vec![text("Hello")]));
        }
    }
    let again = [examples[0], b"\xc1\x05\xf2\x00\x11\x00\x00"].concat();
    let mut kept = Decoder::new(Role::Client, Limits::default(), Some(Side::KEPT));
    assert_eq!(all(&mut kept, &again), Ok(vec![text("Hello"), text("Hello")]));
    let mut alone = Decoder::new(Role::Client, Limits::default(), Some(Side::ALONE));
    assert_eq!(all(&mut alone, &again), Err(Error::Deflate));
}

#[test]
fn what_may_not_be_sent_is_refused_at_once_and_for_ever() {
    let cases: &[(Role, &[u8])] = &[
        (Role::Client, b"\x91"),
        (Role::Client, b"\xa1"),
        // Compressed, where that was not agreed on.
        (Role::Client, b"\xc1\x00"),
        (Role::Client, b"\x83"),
        (Role::Client, b"\x8b"),
        // A ping in parts, one that is too long, one that is compressed.
        (Role::Client, b"\x09"),
        (Role::Client, b"\x89\x7e"),
        (Role::Client, b"\xc9"),
        // Masked by a server, not masked by a client.
        (Role::Client, b"\x81\x80\0\0\0\0"),
        (Role::Server, b"\x81\x00"),
        (Role::Client, b"\x80\x00"),
        (Role::Client, b"\x01\x00\x01\x00"),
        (Role::Client, b"\x01\x00\x81\x00"),
        // Lengths in more bytes than they need, and one that is negative.
        (Role::Client, b"\x82\x7e\x00\x7d"),
        (Role::Client, b"\x82\x7f\0\0\0\0\0\0\xff\xff"),
        (Role::Client, b"\x82\x7f\x80\0\0\0\0\0\0\0"),
        // Half a close code, and some that nobody may send.
        (Role::Client, b"\x88\x01\x03"),
        (Role::Client, b"\x88\x02\x03\xed"),
        (Role::Client, b"\x88\x02\x03\xf7"),
        (Role::Client, b"\x88\x02\x13\x88"),
    ];
    for (role, bytes) in cases {
        let mut decoder = decoder(*role);
        let error = all(&mut decoder, bytes).unwrap_err();
        assert!(matches!(error, Error::Protocol(_)), "{bytes:x?}: {error}");
        assert_eq!(error.code(), CloseCode::PROTOCOL);
        assert_eq!(all(&mut decoder, b"\x81\x02ok"), Err(error));
    }
}

#[test]
fn a_text_is_refused_at_the_byte_that_is_no_utf8() {
    // The rest of the frame has not come, nor will it.
    assert_eq!(all(&mut decoder(Role::Client), b"\x81\x7da\xed\xa0"), Err(Error::Text));
    // A character may be cut by frames, with a ping in between, but not by the end.
    let parts = b"\x01\x02\xe2\x82\x89\x00\x80\x01\xac";
    let found = Ok(vec![Owned::Ping(Vec::new()), text("€")]);
    assert_eq!(all(&mut decoder(Role::Client), parts), found);
    assert_eq!(all(&mut decoder(Role::Client), b"\x01\x02\xe2\x82\x80\x00"), Err(Error::Text));
    assert_eq!(all(&mut decoder(Role::Client), b"\x81\x02\xe2\x82"), Err(Error::Text));
    assert_eq!(all(&mut decoder(Role::Client), b"\x88\x03\x03\xe8\xff"), Err(Error::Text));
}

#[test]
fn a_client_answers_pings_and_a_close_and_then_says_no_more() {
    let limits = Limits::default();
    let (mut client, mut server) =
        (Connection::client(None, limits, Masks::secure()), Connection::server(None, limits));
    let (mut up, mut down) = (Vec::new(), Vec::new());
    server.send(Message::Ping(b"there?"), &mut down).unwrap();
    server.close(CloseCode::AWAY, "back at five", &mut down);
    assert!(server.is_closing() && !server.is_over());
    assert!(server.send(Message::Text("late"), &mut down).is_err());
    let mut input = &down[..];
    let ping = client.receive(&mut input, &mut up).unwrap();
    assert_eq!(ping, Some(Message::Ping(b"there?")));
    let closed = client.receive(&mut input, &mut up).unwrap();
    let code = Some(CloseCode::AWAY);
    assert_eq!(closed, Some(Message::Close(Close { code, reason: "back at five" })));
    assert!(client.is_over());
    assert!(client.send(Message::Text("late"), &mut up).is_err());
    // What follows a close is passed over.
    let mut after = &b"\x81\x04late"[..];
    assert_eq!(client.receive(&mut after, &mut up), Ok(None));
    let mut input = &up[..];
    let answer = server.receive(&mut input, &mut down).unwrap();
    assert_eq!(answer, Some(Message::Pong(b"there?")));
    let closed = server.receive(&mut input, &mut down).unwrap();
    assert_eq!(closed, Some(Message::Close(Close { code, reason: "" })));
    assert!(server.is_over() && input.is_empty());
}

#[test]
fn a_peer_that_breaks_the_protocol_is_told_with_which_code() {
    for (bytes, code) in [(&b"\x83\x00"[..], 1002_u16), (b"\x81\x01\xff", 1007)] {
        let mut client = Connection::client(None, Limits::default(), Masks::seeded(1));
        let (mut input, mut out) = (bytes, Vec::new());
        let error = client.receive(&mut input, &mut out).unwrap_err();
        assert_eq!(error.code().get(), code);
        assert!(client.is_over());
        let mut server = decoder(Role::Server);
        let told = Owned::Close(CloseCode::new(code), String::new());
        assert_eq!(all(&mut server, &out), Ok(vec![told]));
        // It is told once.
        let length = out.len();
        assert_eq!(client.receive(&mut input, &mut out), Err(error));
        assert_eq!(out.len(), length);
    }
}
