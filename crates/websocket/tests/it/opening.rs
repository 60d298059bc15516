//! Opening handshakes: what is asked, what is answered, and what is no answer.

use plimsoll_websocket::extension::Deflate;
use plimsoll_websocket::handshake::{Agreed, Opening, Policy, accept};
use plimsoll_websocket::{Head, Refusal};
use proptest::collection::vec;
use proptest::prelude::*;

/// The key of RFC 6455, section 1.3: "the sample nonce".
const KEY: [u8; 16] = *b"the sample nonce";

const OPENING: Opening<'_> = Opening {
    target: "/chat?room=1",
    host: "server.example.com",
    fields: &[],
    protocols: &[],
    deflate: None,
    key: KEY,
};

fn head(text: &str) -> Head {
    let (head, length) = Head::read(text.as_bytes()).unwrap().unwrap();
    assert_eq!(length, text.len());
    head
}

/// An answer that lacks nothing, with one text put for another.
fn answered(opening: &Opening<'_>, from: &str, to: &str) -> Result<Agreed, Refusal> {
    let whole = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n\
        Connection: keep-alive, upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    assert!(whole.contains(from));
    opening.check(&head(&whole.replace(from, to)))
}

/// A request that lacks nothing, with one text put for another, and its answer.
fn asked(policy: Policy<'_>, from: &str, to: &str) -> (Result<Agreed, Refusal>, String) {
    let whole = "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Version: 13\r\n\r\n";
    assert!(whole.contains(from));
    let mut out = Vec::new();
    let agreed = accept(&head(&whole.replace(from, to)), policy, &mut out);
    (agreed, String::from_utf8(out).unwrap())
}

#[test]
fn a_request_is_written_as_the_rfc_has_it() {
    let opening = Opening {
        fields: &[("Authorization", "Bearer x y"), ("Cookie", "a=b")],
        protocols: &["soap", "wamp"],
        deflate: Some(Deflate::ALONE),
        ..OPENING
    };
    let mut out = Vec::new();
    opening.write(&mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "GET /chat?room=1 HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: soap, wamp\r\n\
         Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; \
         client_no_context_takeover; client_max_window_bits\r\nAuthorization: Bearer x y\r\n\
         Cookie: a=b\r\n\r\n"
    );
}

#[test]
fn what_would_bend_a_request_is_refused_unwritten() {
    let openings = [
        Opening { target: "/a b", ..OPENING },
        Opening { target: "", ..OPENING },
        Opening { host: "a\r\nX: y", ..OPENING },
        Opening { protocols: &["a, b"], ..OPENING },
        Opening { fields: &[("X", "a\r\nY: b")], ..OPENING },
        Opening { fields: &[("X Y", "a")], ..OPENING },
        Opening { fields: &[("sec-websocket-key", "a")], ..OPENING },
        Opening { fields: &[("Connection", "close")], ..OPENING },
    ];
    for opening in openings {
        let mut out = Vec::new();
        let error = opening.write(&mut out).unwrap_err();
        assert!(error.to_string().ends_with("may not stand in a request for a WebSocket"));
        assert!(out.is_empty());
    }
}

#[test]
fn an_answer_is_checked_against_what_was_asked() {
    assert_eq!(answered(&OPENING, "", ""), Ok(Agreed::default()));
    let (protocols, deflate) = (&["soap", "wamp"][..], Some(Deflate::KEPT));
    let opening = Opening { protocols, deflate, ..OPENING };
    let more = "\r\nSec-WebSocket-Protocol: wamp\r\n\
        Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    let agreed = answered(&opening, "\r\n\r\n", more).unwrap();
    assert_eq!(agreed, Agreed { protocol: Some("wamp".to_owned()), deflate });
    let no = |from, to| answered(&OPENING, from, to).unwrap_err().to_string();
    assert_eq!(no("101 Switching Protocols", "302 Found"), "the answer's status is 302, not 101");
    assert_eq!(no("101 S", "99 S"), "it is not HTTP/1.1: it has no status");
    let fault = |what: &str| format!("the answer makes no WebSocket: {what}");
    assert_eq!(no("WebSocket\r", "h2c\r"), fault("its Upgrade is not websocket"));
    assert_eq!(no(", upgrade", ""), fault("its Connection is not Upgrade"));
    let other = fault("its Sec-WebSocket-Accept is not that of the key");
    assert_eq!(no("s3pP", "S3pP"), other);
    assert_eq!(no("\r\nSec-WebSocket-Accept: s3pP", "\r\nX: "), other);
    assert_eq!(no("\r\n\r\n", more), fault("its protocol was not asked for"));
    let more = "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    assert_eq!(no("\r\n\r\n", more), "the answer is not one to what was offered");
}

#[test]
fn a_request_is_accepted_as_the_rfc_has_it_or_told_why_not() {
    let (agreed, answer) = asked(Policy::default(), "", "");
    assert_eq!(agreed, Ok(Agreed::default()));
    assert_eq!(
        answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    );
    let policy = Policy { protocols: &["wamp"], deflate: Some(Deflate::KEPT) };
    let more = "\r\nSec-WebSocket-Protocol: soap, wamp\r\n\
        Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n";
    let (agreed, answer) = asked(policy, "\r\n\r\n", more);
    let protocol = Some("wamp".to_owned());
    assert_eq!(agreed, Ok(Agreed { protocol, deflate: Some(Deflate::KEPT) }));
    assert!(answer.contains("Sec-WebSocket-Protocol: wamp\r\n"), "{answer}");
    assert!(answer.contains("Sec-WebSocket-Extensions: permessage-deflate\r\n"), "{answer}");
    for (from, to, told) in [
        ("GET", "POST", "it is no GET of HTTP/1.1"),
        ("HTTP/1.1", "HTTP/1.0", "it is no GET of HTTP/1.1"),
        ("Host", "Guest", "it has not one Host"),
        ("websocket\r", "h2c\r", "its Upgrade is not websocket"),
        ("Connection: Upgrade", "Connection: close", "its Connection is not Upgrade"),
        ("dGhl", "dGh", "its Sec-WebSocket-Key is not 16 bytes in base64"),
    ] {
        let refusal = asked(Policy::default(), from, to).0.unwrap_err();
        assert_eq!(refusal, Refusal::Request(told));
        assert!(refusal.answer().starts_with(b"HTTP/1.1 400 Bad Request\r\n"));
    }
    let refusal = asked(Policy::default(), "Version: 13", "Version: 12").0.unwrap_err();
    let answer = String::from_utf8(refusal.answer()).unwrap();
    assert!(answer.starts_with("HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\n"));
}

#[test]
fn a_head_is_bounded() {
    let endless = format!("HTTP/1.1 101 Yes\r\nX: {}", "y".repeat(20_000));
    assert!(matches!(Head::read(endless.as_bytes()), Err(Refusal::Malformed(_))));
    assert!(matches!(Head::read(b"HTTP/1.1 101\r\nno field\r\n\r\n"), Err(Refusal::Malformed(_))));
    assert!(matches!(Head::read(b"HTTP/1.1 101\r\nX: a\0b\r\n\r\n"), Err(Refusal::Malformed(_))));
}

proptest! {
    #[test]
    fn a_head_is_whole_at_its_end_and_not_before(cut in any::<prop::sample::Index>()) {
        let mut out = Vec::new();
        OPENING.write(&mut out).unwrap();
        let cut = cut.index(out.len());
        prop_assert_eq!(Head::read(&out[..cut]), Ok(None));
        let length = out.len();
        out.extend_from_slice(b"\x81\x00");
        prop_assert_eq!(Head::read(&out).unwrap().unwrap().1, length);
    }

    #[test]
    fn any_bytes_end_in_an_agreement_or_a_refusal(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        policy in any::<bool>(),
    ) {
        let opening = Opening { deflate: Some(Deflate::KEPT), protocols: &["a"], ..OPENING };
        let (mut request, mut answer) = (Vec::new(), Vec::new());
        opening.write(&mut request).unwrap();
        for (at, byte) in &changes {
            let at = at.index(request.len());
            request[at] = *byte;
        }
        let deflate = policy.then_some(Deflate::KEPT);
        if let Ok(Some((head, _))) = Head::read(&request) {
            let agreed = accept(&head, Policy { protocols: &["a"], deflate }, &mut answer);
            if agreed.is_err() {
                prop_assert!(answer.is_empty());
            }
        }
        for (at, byte) in changes.iter().filter(|_| !answer.is_empty()).collect::<Vec<_>>() {
            let at = at.index(answer.len());
            answer[at] = *byte;
        }
        if let Ok(Some((head, _))) = Head::read(&answer) {
            let _ = opening.check(&head);
        }
    }
}
