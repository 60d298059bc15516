//! Flow control, both ways.

use super::*;

fn post(body: &[u8]) -> Request {
    get("/").method("POST").unwrap().body(Template::literal(body.to_vec()))
}

fn widen(stream: u32, by: u32) -> Vec<u8> {
    raw(kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

/// Lengths of the DATA that was sent since the last time, by stream; whether each ends it.
fn sent_data(peer: &mut Peer) -> Vec<(u32, usize, bool)> {
    let data = peer.sent_frames().into_iter().filter(|(kind, ..)| *kind == kind::DATA);
    data.map(|(_, flags, stream, body)| (stream, body.len(), flags & 1 == 1)).collect()
}

#[test]
fn a_body_is_cut_into_frames_and_keeps_to_the_window_of_its_stream() {
    let list = vec![post(&[1; 40_000])];
    let mut peer = Peer::with(driver(list, 9, false), &[(setting::INITIAL_WINDOW_SIZE, 20_000)]);
    peer.ask(0, 0);
    assert_eq!(sent_data(&mut peer), [(1, 16_384, false), (1, 3616, false)]);
    assert_eq!(peer.after(&widen(1, 100)), []);
    assert_eq!(sent_data(&mut peer), [(1, 100, false)]);
    // A smaller first window makes it negative: 100 more are then 900 too few.
    peer.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 19_000)]));
    peer.receive(&widen(1, 1000));
    assert_eq!(sent_data(&mut peer), []);
    peer.receive(&settings(&[(setting::INITIAL_WINDOW_SIZE, 19_001)]));
    assert_eq!(sent_data(&mut peer), [(1, 1, false)]);
    peer.receive(&settings(&[(setting::MAX_FRAME_SIZE, 1 << 20)]));
    peer.receive(&widen(1, 1 << 20));
    assert_eq!(sent_data(&mut peer), [(1, 40_000 - 20_101, true)], "in one frame now");
    let bytes = answer(1, "200", b"");
    assert_eq!(peer.after(&bytes), [done(0, 200, bytes.len())]);
    assert!(peer.sent.is_empty(), "nothing is left to be reset");
}

#[test]
fn bodies_share_the_window_of_the_connection() {
    let list = vec![post(&[1; 60_000])];
    let mut peer = Peer::with(driver(list, 9, false), &[(setting::INITIAL_WINDOW_SIZE, 1 << 20)]);
    for slot in 0..3 {
        peer.ask(slot, 0);
    }
    let sum = |list: Vec<(u32, usize, bool)>| list.iter().map(|(_, len, _)| len).sum::<usize>();
    assert_eq!(sum(sent_data(&mut peer)), 65_535);
    peer.receive(&widen(0, 60_000));
    let list = sent_data(&mut peer);
    assert_eq!(list.iter().filter(|(_, _, end)| *end).count(), 1);
    assert_eq!((list[0].0, list.last().unwrap().0, sum(list)), (3, 5, 60_000));
    peer.receive(&widen(0, 1 << 20));
    assert_eq!(sum(sent_data(&mut peer)), 3 * 60_000 - 65_535 - 60_000);
}

#[test]
fn an_answer_may_come_before_the_whole_request() {
    let list = vec![post(&[1; 70_000])];
    let mut peer = Peer::with(driver(list, 9, false), &[]);
    peer.ask(0, 0);
    peer.sent.clear();
    let bytes = answer(1, "413", b"");
    assert_eq!(peer.after(&bytes), [done(0, 413, bytes.len())]);
    let reset = (kind::RST_STREAM, 0, 1, code::CANCEL.to_be_bytes().to_vec());
    assert_eq!(peer.sent_frames(), [reset]);
    peer.receive(&[widen(1, 9), widen(0, 99_999)].concat());
    assert_eq!((sent_data(&mut peer), peer.fate), (vec![], Fate::Keep));
    // Given up in the middle: the rest is not sent either.
    peer.ask(1, 0);
    peer.sent.clear();
    let Peer { driver, connection, sent, .. } = &mut peer;
    driver.abandon(connection, Slot(1), sent);
    peer.sent.clear();
    peer.receive(&widen(3, 99_999));
    assert!(peer.sent.is_empty());
}

#[test]
fn a_window_of_a_stream_cannot_be_too_wide() {
    let list = vec![post(&[1; 70_000])];
    for (bytes, alone) in [
        (widen(1, 0x7fff_ffff), true),
        (widen(1, 0), true),
        (settings(&[(setting::INITIAL_WINDOW_SIZE, 0x7fff_ffff)]), false),
    ] {
        let mut peer = Peer::with(driver(list.clone(), 9, false), &[]);
        peer.ask(0, 0);
        peer.receive(&widen(1, 100_000));
        assert_eq!(peer.after(&bytes), [failed(0)]);
        assert_eq!(peer.fate == Fate::Keep, alone);
    }
}

#[test]
fn windows_of_answers_are_given_back_by_halves() {
    let mut peer = Peer::asking(1);
    peer.receive(&head(1, &[(":status", "200")], 0));
    let one = data(1, &[0; 16_384], 0);
    let half = (1usize << 29) / 16_384;
    for _ in 0..half - 1 {
        peer.receive(&one);
    }
    assert!(peer.sent.is_empty());
    peer.receive(&one);
    let given = (1u32 << 29).to_be_bytes().to_vec();
    let both = [(kind::WINDOW_UPDATE, 0, 0, given.clone()), (kind::WINDOW_UPDATE, 0, 1, given)];
    assert_eq!(peer.sent_frames(), both);
}
