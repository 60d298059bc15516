//! The HTTP/1 driver on plain bytes: any bytes, in any pieces, come to the same and to one end.

use crate::play::{End, answer, case, driver, play};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::random::Stream;

#[test]
fn mutated_answers_end_once_whatever_their_pieces() {
    for number in 0..4_000 {
        case(1, number);
    }
}

#[test]
fn right_answers_are_right_at_every_cut() {
    let mut random = Stream::named(2, "answers");
    let mut driver = driver();
    for _ in 0..60 {
        let answer = answer(&mut random);
        let step = answer.bytes.len() / 400 + 1;
        for cut in (1..answer.bytes.len()).step_by(step) {
            let mut next = Some(cut);
            let piece = |left| next.take().unwrap_or(left);
            let end = play(&mut driver, answer.is_head, &answer.bytes, piece, true);
            assert_eq!(end, answer.end, "{:?} cut at {cut}", answer.bytes.escape_ascii());
        }
    }
}

#[test]
fn heads_are_bounded_the_same_in_any_pieces() {
    use plimsoll_load::http1::head::MAX_HEAD;
    let mut driver = driver();
    for over in 0..4 {
        for interim in [false, true] {
            let begin = if interim { "HTTP/1.1 100 x\r\n\r\n" } else { "" };
            let begin = format!("{begin}HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ");
            let filler = "x".repeat(MAX_HEAD - 4 - begin.len() + over);
            let bytes = format!("{begin}{filler}\r\n\r\n").into_bytes();
            assert_eq!(bytes.len(), MAX_HEAD + over);
            let expected = match over {
                0 => End::Done(200, bytes.len() as u64),
                _ => End::Failed(ErrorKind::Protocol),
            };
            for most in [usize::MAX, 16 * 1024, 1000, 509] {
                let end = play(&mut driver, false, &bytes, |_| most, false);
                assert_eq!(end, expected, "{over} over, pieces of {most}");
            }
        }
    }
}

#[test]
fn interim_answers_without_end_are_refused() {
    let mut driver = driver();
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100_000);
    for most in [usize::MAX, 16 * 1024, 25, 7] {
        let end = play(&mut driver, false, &bytes, |_| most, false);
        assert_eq!(end, End::Failed(ErrorKind::Protocol), "pieces of {most}");
    }
}
