//! Frames of answers, one by one.

use super::*;

const END: u8 = flag::END_STREAM;

#[test]
fn what_a_connection_begins_with() {
    let mut driver = driver(vec![get("/")], 100, false);
    let mut sent = Vec::new();
    driver.open(&mut sent);
    let rest = sent.strip_prefix(frame::PREFACE).unwrap();
    let list = frames(rest);
    assert_eq!(list[0].0, kind::SETTINGS);
    assert_eq!(list[0].3[..6], [0, 2, 0, 0, 0, 0], "no push");
    assert_eq!((list[1].0, list[1].2), (kind::WINDOW_UPDATE, 0));
}

#[test]
fn answers_come_in_any_order() {
    let mut peer = Peer::asking(3);
    assert_eq!(peer.room(), 97);
    let (first, second) = (answer(1, "200", b"one"), answer(5, "404", b""));
    assert_eq!(peer.after(&second), [done(2, 404, second.len())]);
    assert_eq!(peer.after(&first), [done(0, 200, first.len())]);
    assert_eq!(peer.room(), 99);
    let headless = head(3, &[(":status", "204")], END);
    assert_eq!(peer.after(&headless), [done(1, 204, headless.len())]);
    assert_eq!((peer.fate, peer.sent.len()), (Fate::Keep, 0));
}

/// Everything an answer may have, in two streams whose frames alternate.
fn everything() -> Vec<u8> {
    let mut bytes = head(1, &[(":status", "103"), ("link", "</x>")], 0);
    let whole = block(&[(":status", "200"), ("content-length", "9"), ("server", "by hand")]);
    let mut padded = vec![3, 0, 0, 0, 0, 16];
    padded.extend_from_slice(&whole[..4]);
    padded.extend_from_slice(&[0; 3]);
    bytes.extend(raw(kind::HEADERS, flag::PADDED | flag::PRIORITY, 1, &padded));
    bytes.extend(raw(kind::CONTINUATION, 0, 1, &whole[4..6]));
    bytes.extend(raw(kind::CONTINUATION, 0, 1, b""));
    bytes.extend(raw(kind::CONTINUATION, flag::END_HEADERS, 1, &whole[6..]));
    bytes.extend(raw(kind::PING, 0, 0, b"12345678"));
    bytes.extend(head(3, &[(":status", "500")], 0));
    bytes.extend(raw(kind::DATA, flag::PADDED, 1, b"\x02body:\0\0"));
    bytes.extend(raw(0xfe, 0xff, 77, b"unknown"));
    bytes.extend(raw(kind::PRIORITY, 0, 9, &[0, 0, 0, 1, 16]));
    bytes.extend(data(3, b"", 0));
    bytes.extend(data(3, b"no", END));
    bytes.extend(raw(kind::SETTINGS, 0, 0, &[0x77, 0x77, 0, 0, 0, 0]));
    bytes.extend(data(1, b"four", 0));
    bytes.extend(head(1, &[("x-trailer", "yes")], END));
    bytes
}

#[test]
fn an_answer_may_be_cut_anywhere() {
    let bytes = everything();
    let mut whole = Peer::asking(2);
    let events = whole.after(&bytes);
    let three = 9 + block(&[(":status", "500")]).len() + 9 + 9 + 2;
    let one = bytes.len() - three - 17 - 16 - 14 - 15;
    assert_eq!(events, [done(1, 500, three), done(0, 200, one)]);
    assert_eq!((whole.fate, whole.room()), (Fate::Keep, 100));
    for cut in 0..=bytes.len() {
        let mut peer = Peer::asking(2);
        let mut events = peer.after(&bytes[..cut]);
        events.extend(peer.after(&bytes[cut..]));
        events.retain(|event| !matches!(event, Event::FirstByte(_)));
        assert_eq!(events, [done(1, 500, three), done(0, 200, one)], "cut at {cut}");
        assert_eq!(peer.sent, whole.sent, "cut at {cut}");
    }
    let mut peer = Peer::asking(2);
    let mut events: Vec<Event> = bytes.iter().flat_map(|&byte| peer.after(&[byte])).collect();
    assert_eq!(events.remove(0), Event::FirstByte(Slot(0)), "the interim answer");
    events.retain(|event| !matches!(event, Event::FirstByte(_)));
    assert_eq!(events, [done(1, 500, three), done(0, 200, one)], "byte by byte");
    let sent = [(kind::PING, flag::ACK, 0, b"12345678".to_vec()), (kind::SETTINGS, 1, 0, vec![])];
    assert_eq!(peer.sent_frames(), sent);
}

#[test]
fn the_first_byte_is_told_only_of_what_is_not_whole() {
    let mut peer = Peer::asking(2);
    let mut bytes = answer(1, "200", b"x");
    bytes.extend(head(3, &[(":status", "200")], 0));
    let count = answer(1, "200", b"x").len();
    assert_eq!(peer.after(&bytes), [done(0, 200, count), Event::FirstByte(Slot(1))]);
    assert_eq!(peer.after(&data(3, b"a", 0)), []);
    assert_eq!(peer.after(&data(3, b"", END)), [done(1, 200, 9 + 1 + 9 + 1 + 9)]);
}

#[test]
fn a_body_of_any_length_is_passed_over() {
    let mut peer = Peer::asking(1);
    let length = (16_384 * 9 + 100).to_string();
    let mut bytes = head(1, &[(":status", "200"), ("content-length", &length)], 0);
    for _ in 0..9 {
        bytes.extend(data(1, &[7; 16_384], 0));
    }
    bytes.extend(data(1, &[7; 100], END));
    let mut events: Vec<Event> = bytes.chunks(5000).flat_map(|part| peer.after(part)).collect();
    assert_eq!(events.pop(), Some(done(0, 200, bytes.len())));
    assert_eq!(events, [Event::FirstByte(Slot(0))]);
    assert!(peer.connection.partial.capacity() < 100, "data is not kept");
}

#[test]
fn a_malformed_answer_fails_alone() {
    for (bytes, why) in [
        (head(1, &[("server", "x")], END), "no status"),
        (head(1, &[(":status", "200"), ("connection", "close")], END), "about the connection"),
        (head(1, &[(":status", "101")], 0), "101"),
        (head(1, &[(":status", "100")], END), "an interim answer that ends"),
        (head(1, &[(":status", "200"), ("content-length", "5")], END), "no body"),
        (data(1, b"x", END), "a body without a head"),
        (
            [head(1, &[(":status", "200")], 0), head(1, &[("x", "y")], 0)].concat(),
            "endless trailers",
        ),
        (
            [head(1, &[(":status", "200")], 0), head(1, &[(":status", "200")], END)].concat(),
            "a status in trailers",
        ),
        (
            [head(1, &[(":status", "200"), ("content-length", "2")], 0), data(1, b"x", END)]
                .concat(),
            "a body that is too short",
        ),
        (
            [head(1, &[(":status", "200"), ("content-length", "2")], 0), data(1, b"xyz", 0)]
                .concat(),
            "a body that is too long",
        ),
    ] {
        let mut peer = Peer::asking(2);
        let mut events = peer.after(&bytes);
        events.retain(|event| !matches!(event, Event::FirstByte(_)));
        assert_eq!(events, [failed(0)], "{why}");
        let reset = (kind::RST_STREAM, 0, 1, code::PROTOCOL_ERROR.to_be_bytes().to_vec());
        assert_eq!(peer.sent_frames(), [reset], "{why}");
        assert_eq!((peer.fate, peer.room()), (Fate::Keep, 99), "{why}");
        // What still comes on it is of no account.
        let rest = [data(1, b"rest", END), answer(3, "200", b"y")].concat();
        assert_eq!(peer.after(&rest), [done(1, 200, answer(3, "200", b"y").len())], "{why}");
    }
}

#[test]
fn a_wrong_frame_ends_the_connection() {
    let big = vec![0; 16_385];
    let update = |stream: u32, by: u32| raw(kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    let finished = head(1, &[(":status", "200")], END);
    for (bytes, why) in [
        (raw(0xfe, 0, 0, &big), "a long frame"),
        (raw(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2, 0x82]), "a push"),
        (head(0, &[(":status", "200")], END), "an answer on no stream"),
        (head(2, &[(":status", "200")], END), "an answer on the server's own stream"),
        (head(5, &[(":status", "200")], END), "an answer on a stream that is not begun"),
        (data(5, b"x", END), "data on a stream that is not begun"),
        ([finished.clone(), data(1, b"x", END)].concat(), "data on a stream that is finished"),
        ([finished.clone(), finished.clone()].concat(), "two answers"),
        (raw(kind::HEADERS, 4, 1, &[0x80]), "a block that cannot be read"),
        (raw(kind::HEADERS, 4 | flag::PADDED, 1, &[2, 0x88]), "padding beyond the frame"),
        (raw(kind::HEADERS, 4 | flag::PADDED, 1, &[]), "no length of the padding"),
        (raw(kind::HEADERS, 4 | flag::PRIORITY, 1, &[0; 4]), "half a priority"),
        (raw(kind::DATA, flag::PADDED, 1, &[1]), "padding beyond the data"),
        (raw(kind::DATA, flag::PADDED, 1, &[]), "no length of the padding of data"),
        (raw(kind::CONTINUATION, 4, 1, &[0x88]), "the end of no block"),
        ([raw(kind::HEADERS, 0, 1, &[]), raw(kind::PING, 0, 0, &[0; 8])].concat(), "in a block"),
        ([raw(kind::HEADERS, 0, 1, &[]), raw(9, 4, 3, &[0x88])].concat(), "of another block"),
        (raw(kind::PING, 0, 0, &[0; 7]), "a short ping"),
        (raw(kind::PING, 0, 1, &[0; 8]), "a ping on a stream"),
        (raw(kind::SETTINGS, 0, 1, &[]), "settings of a stream"),
        (raw(kind::SETTINGS, 0, 0, &[0; 5]), "half a setting"),
        (raw(kind::SETTINGS, 1, 0, &[0; 6]), "settings that are agreed to"),
        (settings(&[(setting::ENABLE_PUSH, 1)]), "a server that wants to be pushed to"),
        (settings(&[(setting::INITIAL_WINDOW_SIZE, 1 << 31)]), "a wide window"),
        (settings(&[(setting::MAX_FRAME_SIZE, 16_383)]), "short frames"),
        (settings(&[(setting::MAX_FRAME_SIZE, 1 << 24)]), "long frames"),
        (raw(kind::GOAWAY, 0, 0, &[0; 7]), "half a goodbye"),
        (raw(kind::GOAWAY, 0, 1, &[0; 8]), "a goodbye on a stream"),
        (raw(kind::RST_STREAM, 0, 0, &[0; 4]), "a reset of nothing"),
        (raw(kind::RST_STREAM, 0, 5, &[0; 4]), "a reset of what is not begun"),
        (raw(kind::RST_STREAM, 0, 1, &[0; 5]), "a long reset"),
        (raw(kind::PRIORITY, 0, 0, &[0; 5]), "a priority of nothing"),
        (update(0, 0), "a window wider by nothing"),
        (update(0, 0x7fff_ffff), "a window too wide"),
        (update(5, 1), "a window of what is not begun"),
        (raw(kind::WINDOW_UPDATE, 0, 0, &[0; 3]), "half a window"),
    ] {
        let mut peer = Peer::asking(2);
        let events = peer.after(&bytes);
        assert_eq!((peer.fate, events.last()), (Fate::Close, Some(&failed(1))), "{why}");
        assert_eq!(events.len(), 2, "{why}: every request has one end");
        assert_eq!(peer.room(), 0, "{why}");
    }
}

#[test]
fn a_peer_begins_with_settings() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"SSH-2.0-x\r\n",
        &raw(kind::PING, 0, 0, &[0; 8]),
        &raw(kind::SETTINGS, flag::ACK, 0, &[]),
    ] {
        let mut driver = driver(vec![get("/")], 100, false);
        let mut connection = driver.open(&mut Vec::new());
        driver.request(&mut connection, Slot(4), 0, &mut Vec::new());
        let mut events = Vec::new();
        let fate = driver.receive(&mut connection, bytes, &mut Vec::new(), &mut events);
        assert_eq!((fate, &events[..]), (Fate::Close, &[failed(4)][..]));
    }
}

#[test]
fn a_block_is_bounded_and_so_is_idle_talk() {
    let mut peer = Peer::asking(1);
    peer.receive(&raw(kind::HEADERS, 0, 1, &[0; 16_384]));
    for _ in 0..15 {
        peer.receive(&raw(kind::CONTINUATION, 0, 1, &[0; 16_384]));
    }
    assert_eq!(peer.fate, Fate::Keep, "256 KiB");
    assert_eq!(peer.after(&raw(kind::CONTINUATION, 0, 1, &[0])), [failed(0)]);
    for bytes in
        [raw(kind::PING, 1, 0, &[0; 8]), raw(kind::CONTINUATION, 0, 1, &[]), data(1, b"", 0)]
    {
        let mut peer = Peer::asking(1);
        match bytes[3] {
            kind::CONTINUATION => peer.receive(&raw(kind::HEADERS, 0, 1, &[0x88])),
            kind::DATA => peer.receive(&head(1, &[(":status", "200")], 0)),
            _ => {}
        }
        let taken = (0..20_000).take_while(|_| {
            peer.receive(&bytes);
            peer.fate == Fate::Keep
        });
        assert!((9_990..=10_000).contains(&taken.count()));
    }
}

#[test]
fn a_reset_stream_has_failed_or_may_go_elsewhere() {
    let reset = |stream, code: u32| raw(kind::RST_STREAM, 0, stream, &code.to_be_bytes());
    let mut peer = Peer::asking(4);
    assert_eq!(peer.after(&reset(1, code::REFUSED_STREAM)), [Event::Refused(Slot(0))]);
    let lost = |slot| Event::Failed { slot: Slot(slot), kind: ErrorKind::Reset };
    assert_eq!(peer.after(&reset(3, code::CANCEL)), [lost(1)]);
    peer.after(&head(5, &[(":status", "200")], 0));
    assert_eq!(peer.after(&reset(5, code::REFUSED_STREAM)), [lost(2)], "it had begun");
    let end = head(7, &[(":status", "200")], END);
    assert_eq!(peer.after(&[end.clone(), reset(7, 0)].concat()), [done(3, 200, end.len())]);
    assert_eq!((peer.fate, peer.room()), (Fate::Keep, 100));
}

#[test]
fn a_peer_that_goes_away_is_left_when_the_rest_is_answered() {
    let goodbye = |last: u32| [&last.to_be_bytes()[..], &[0; 4], b"debug"].concat();
    let mut peer = Peer::asking(3);
    let events = peer.after(&raw(kind::GOAWAY, 0, 0, &goodbye(0x7fff_ffff)));
    assert_eq!((&events[..], peer.fate, peer.room()), (&[][..], Fate::Keep, 0));
    let events = peer.after(&raw(kind::GOAWAY, 0, 0, &goodbye(1)));
    assert_eq!(events, [Event::Refused(Slot(1)), Event::Refused(Slot(2))]);
    assert_eq!((peer.fate, peer.room()), (Fate::Keep, 0));
    let rest = answer(1, "200", b"last");
    assert_eq!(peer.after(&rest), [done(0, 200, rest.len())]);
    assert_eq!(peer.fate, Fate::Close);
    let mut idle = Peer::asking(0);
    assert_eq!(idle.after(&raw(kind::GOAWAY, 0, 0, &goodbye(0))), []);
    assert_eq!(idle.fate, Fate::Close);
}

#[test]
fn what_is_given_up_is_reset_and_its_answer_passed_over() {
    let mut peer = Peer::asking(2);
    let Peer { driver, connection, sent, .. } = &mut peer;
    assert_eq!(driver.abandon(connection, Slot(0), sent), Fate::Keep);
    assert_eq!(driver.abandon(connection, Slot(9), sent), Fate::Keep, "unknown");
    let reset = (kind::RST_STREAM, 0, 1, code::CANCEL.to_be_bytes().to_vec());
    assert_eq!(peer.sent_frames(), [reset]);
    assert_eq!(peer.room(), 99);
    assert_eq!(peer.after(&answer(1, "200", b"late")), []);
    assert_eq!(peer.after(&answer(3, "200", b"")), [done(1, 200, answer(3, "200", b"").len())]);
    // In the middle of its data, too.
    let mut peer = Peer::asking(1);
    let bytes = answer(1, "200", b"0123456789");
    peer.after(&bytes[..bytes.len() - 5]);
    let Peer { driver, connection, sent, .. } = &mut peer;
    assert_eq!(driver.abandon(connection, Slot(0), sent), Fate::Keep);
    assert_eq!((peer.after(&bytes[bytes.len() - 5..]), peer.fate), (vec![], Fate::Keep));
}

#[test]
fn room_is_what_both_sides_allow() {
    let mut early = driver(vec![get("/")], 8, false);
    let mut connection = early.open(&mut Vec::new());
    assert_eq!(early.room(&connection), 1, "before the peer has said anything");
    early.request(&mut connection, Slot(0), 0, &mut Vec::new());
    assert_eq!(early.room(&connection), 0);
    early.receive(&mut connection, &settings(&[]), &mut Vec::new(), &mut Vec::new());
    assert_eq!(early.room(&connection), 7);
    let mut peer = Peer::with(driver(vec![get("/")], 8, false), &[]);
    assert_eq!(peer.room(), 8);
    peer.receive(&settings(&[(setting::MAX_CONCURRENT_STREAMS, 2)]));
    assert_eq!(peer.room(), 2);
    peer.ask(0, 0);
    assert_eq!(peer.room(), 1);
    peer.receive(&settings(&[(setting::MAX_CONCURRENT_STREAMS, 0)]));
    assert_eq!(peer.room(), 0);
    peer.receive(&settings(&[(setting::MAX_CONCURRENT_STREAMS, 1000)]));
    assert_eq!(peer.room(), 7);
    assert_eq!(Peer::asking(0).room(), 100);
}

#[test]
fn the_numbers_of_streams_come_to_an_end() {
    let mut peer = Peer::asking(0);
    peer.connection.next_id = frame::MOST - 2;
    assert_eq!(peer.room(), 2);
    peer.ask(0, 0);
    peer.ask(1, 0);
    assert_eq!(peer.room(), 0);
    assert_eq!(peer.after(&answer(frame::MOST, "200", b"")).len(), 1);
    assert_eq!(peer.fate, Fate::Keep);
    assert_eq!(peer.after(&answer(frame::MOST - 2, "200", b"")).len(), 1);
    assert_eq!(peer.fate, Fate::Close);
    let mut once = Peer::new(driver(vec![get("/")], 100, true));
    assert_eq!(once.room(), 1);
    once.ask(0, 0);
    assert_eq!(once.room(), 0);
    assert_eq!(once.after(&answer(1, "200", b"")).len(), 1);
    assert_eq!(once.fate, Fate::Close);
}

#[test]
fn head_has_no_body_and_304_none_either() {
    let list = vec![get("/").method("HEAD").unwrap(), get("/")];
    let mut peer = Peer::new(driver(list, 100, false));
    peer.ask(0, 0);
    peer.ask(1, 1);
    let first = head(1, &[(":status", "200"), ("content-length", "77")], END);
    let second = head(3, &[(":status", "304"), ("content-length", "77")], END);
    let events = peer.after(&[first.clone(), second.clone()].concat());
    assert_eq!(events, [done(0, 200, first.len()), done(1, 304, second.len())]);
}
