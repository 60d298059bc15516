//! Requests, as a peer with a table of its own reads them.

use super::*;

/// Each request of a list on one connection whose peer has these settings: its block.
fn blocks(list: Vec<Request>, settings: &[(u16, u32)], order: &[u32]) -> Vec<Vec<u8>> {
    let mut peer = Peer::with(driver(list, 100, false), settings);
    let ask = |(slot, index): (u32, &u32)| {
        peer.ask(slot, *index);
        let frames = peer.sent_frames();
        assert_eq!((frames[0].0, frames[0].2), (kind::HEADERS, slot * 2 + 1));
        let parts =
            frames.iter().filter(|frame| matches!(frame.0, kind::HEADERS | kind::CONTINUATION));
        parts.flat_map(|(_, _, _, part)| part.clone()).collect()
    };
    (0..).zip(order).map(ask).collect()
}

#[test]
fn what_all_share_is_sent_once() {
    let sent = blocks(vec![get("/some/path")], &[], &[0, 0, 0]);
    assert!(sent[0].len() > 30, "{sent:?}");
    // :method GET and :scheme http are known; the others are the four fields that were added.
    assert_eq!(sent[1], [0x82, 0x86, 0xc1, 0xc0, 0xbf, 0xbe]);
    assert_eq!(sent[2], sent[1]);
    let list = vec![get("/a"), get("/b")];
    let sent = blocks(list, &[], &[0, 1, 0]);
    let path = |text: &[u8]| [&[0x82, 0x86, 0xc0, 0x04, 2][..], text, &[0xbf, 0xbe]].concat();
    assert_eq!(sent[1..], [path(b"/b"), path(b"/a")]);
}

#[test]
fn a_peer_without_a_table_gets_literals() {
    let small = [(setting::HEADER_TABLE_SIZE, 100)];
    let sent = blocks(vec![get("/some/path")], &small, &[0, 0]);
    assert_eq!(sent[0][..2], [0x3f, 0x45], "the new size");
    assert_eq!(sent[0][2..], sent[1], "literals then and ever after");
    assert_eq!(sent[1][2] & 0xf0, 0, "none is to be added");
    // One that is large enough is used, and its size said once.
    let sent = blocks(vec![get("/some/path")], &[(setting::HEADER_TABLE_SIZE, 1000)], &[0, 0]);
    assert_eq!(sent[0][0] & 0xe0, 0x20);
    assert_eq!(sent[1], [0x82, 0x86, 0xc1, 0xc0, 0xbf, 0xbe]);
    // A table that shrinks later is forgotten.
    let mut peer = Peer::new(driver(vec![get("/some/path")], 100, false));
    peer.ask(0, 0);
    peer.receive(&settings(&[(setting::HEADER_TABLE_SIZE, 0), (setting::HEADER_TABLE_SIZE, 4096)]));
    peer.sent.clear();
    peer.ask(1, 0);
    peer.ask(2, 0);
    let frames = peer.sent_frames();
    assert_eq!(frames[0].3[0], 0x20);
    assert_eq!(frames[0].3[1..], frames[1].3);
    assert!(frames[1].3.len() > 30);
}

#[test]
fn secrets_are_in_no_table() {
    let request = get("/").bearer("abcdefgh").unwrap().header("Cookie: a=b").unwrap();
    let sent = blocks(vec![request], &[], &[0, 0]);
    for block in sent {
        // `authorization` is 23 and `cookie` 32 of the static table: 15 and the rest.
        for first in [[0x1f, 8], [0x1f, 17]] {
            assert!(block.windows(2).any(|pair| pair == first), "{block:x?}");
        }
    }
}

#[test]
fn long_heads_are_continued() {
    let long = "x".repeat(40_000);
    let sent = blocks(vec![get(&format!("/{long}"))], &[], &[0, 0]);
    assert!(sent[0].len() > 30_000 && sent[1].len() > 30_000, "too long for a table");
}

#[test]
fn templates_are_filled_in_request_by_request() {
    let request = get("/").header("x-number: n{{counter}}").unwrap();
    let sent = blocks(vec![request], &[], &[0, 0, 0]);
    for (number, block) in sent.iter().enumerate() {
        let coded = |text: String| {
            let mut out = Vec::new();
            encode::field("x", text.as_bytes(), Literal::Plain, &mut out);
            out[3..].to_vec()
        };
        let value = coded(format!("n{number}"));
        assert!(block.ends_with(&value), "{number}: {block:x?}");
    }
}

#[test]
fn bodies_have_their_length() {
    let body = |text: &str| get("/").method("POST").unwrap().body(Template::parse(text).unwrap());
    let list = vec![body("12345"), body(""), body("n{{counter}}"), get("/")];
    let mut peer = Peer::new(driver(list, 100, false));
    let length = |text: &[u8]| [&[0x0f, 13, 1][..], text].concat();
    for (slot, (head, data)) in
        [(b"5", &b"12345"[..]), (b"0", b""), (b"2", b"n2")].into_iter().enumerate()
    {
        let slot = u32::try_from(slot).unwrap();
        peer.ask(slot, slot);
        let frames = peer.sent_frames();
        assert!(frames[0].3.ends_with(&length(head)), "{slot}");
        assert_eq!(frames[0].1 & 1 == 1, data.is_empty());
        assert_eq!(frames.get(1).map_or(&b""[..], |frame| &frame.3), data);
        assert!(frames.get(1).is_none_or(|frame| frame.1 == flag::END_STREAM));
    }
}

#[test]
fn what_a_user_sends_is_in_no_table_and_his_answer_is_kept() {
    let users = driver(vec![get("/")], 1, false).of_users(vec!["http", "https"]);
    let mut peer = Peer::new(users);
    let mut message = Message::default();
    "POST".clone_into(&mut message.method);
    "//a?b=c".clone_into(&mut message.target);
    message.origin = 1;
    message.head = b"Authorization: Bearer x\r\nX-Own: 1\r\nHost: no\r\ncookie: a=b\r\n".to_vec();
    message.body = Some(b"body".to_vec());
    peer.driver.prepare(4, &message, "other.example:8443", 3);
    peer.ask(0, 4);
    let mut expected = Vec::new();
    for (name, value, literal) in [
        (":method", "POST", Literal::Plain),
        (":scheme", "https", Literal::Plain),
        (":authority", "other.example:8443", Literal::Plain),
        (":path", "//a?b=c", Literal::Plain),
        ("user-agent", "plimsoll", Literal::Plain),
        ("accept", "*/*", Literal::Plain),
        ("authorization", "Bearer x", Literal::Never),
        ("x-own", "1", Literal::Plain),
        ("cookie", "a=b", Literal::Never),
        ("content-length", "4", Literal::Plain),
    ] {
        encode::field(name, value.as_bytes(), literal, &mut expected);
    }
    let frames = peer.sent_frames();
    assert_eq!(frames[0], (kind::HEADERS, flag::END_HEADERS, 1, expected));
    assert_eq!(frames[1], (kind::DATA, flag::END_STREAM, 1, b"body".to_vec()));
    assert!(!peer.driver.is_repeatable(Slot(0), 4));

    let answered = answer(1, "200", b"abcdef");
    assert_eq!(peer.after(&answered), [done(0, 200, answered.len())]);
    let kept = peer.driver.answer(&mut peer.connection, Slot(0)).expect("it is kept");
    assert_eq!((&kept.body[..], kept.is_cut), (&b"abc"[..], true));
    assert_eq!(kept.headers("content-length").collect::<Vec<_>>(), [b"6"]);
    // Another user, of the target itself, whose answer has no body.
    message.origin = 0;
    "HEAD".clone_into(&mut message.method);
    message.body = None;
    peer.driver.prepare(0, &message, "example.org", 3);
    peer.ask(1, 0);
    assert_eq!(peer.sent_frames()[0].1, flag::END_HEADERS | flag::END_STREAM);
    assert!(peer.driver.is_repeatable(Slot(1), 0));
    let headless = head(3, &[(":status", "200"), ("content-length", "9")], flag::END_STREAM);
    assert_eq!(peer.after(&headless), [done(1, 200, headless.len())]);
}
