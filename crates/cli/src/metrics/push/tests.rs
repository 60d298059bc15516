//! A receiver that answers as a test has it: what waits, what is tried again, what is given up.

use super::*;
use std::sync::mpsc::{Receiver, Sender, channel};

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Result<Answer, Error> {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Ok(Answer { status, headers, body: body.as_bytes().to_vec() })
}

/// A receiver that answers as the test has it, and tells what it was given.
struct Script {
    given: Sender<Vec<u8>>,
    answers: Mutex<Receiver<Result<Answer, Error>>>,
}

impl Post for Script {
    fn post(&self, body: &[u8], within: Duration) -> Result<Answer, Error> {
        let _ = self.given.send(body.to_vec());
        let answers = self.answers.lock().unwrap();
        answers.recv().unwrap_or(Err(Error::Late(within)))
    }

    fn now_ns(&self) -> u64 {
        0
    }
}

fn script() -> (Script, Receiver<Vec<u8>>, Sender<Result<Answer, Error>>) {
    let ((given, got), (answers, asked)) = (channel(), channel());
    (Script { given, answers: Mutex::new(asked) }, got, answers)
}

/// Waits until so many bodies were delivered or dropped.
fn settled(push: &Push, bodies: u64) {
    let all = || push.tally().delivered + push.tally().dropped;
    while all() < bodies {
        std::thread::yield_now();
    }
}

#[test]
fn what_waits_is_bounded_and_the_oldest_goes_first_and_is_counted() {
    let (post, got, answers) = script();
    let push = Push::start(post).unwrap();
    let body = |n: usize| n.to_string().into_bytes();
    push.add(body(0));
    assert_eq!(got.recv().unwrap(), body(0));
    // It is not answered: 59 beside it wait, and one too many comes.
    (1..=MOST_WAITING).for_each(|n| push.add(body(n)));
    assert_eq!(push.tally().dropped, 1);
    for _ in 0..MOST_WAITING {
        answers.send(answer(200, &[], "{}")).unwrap();
    }
    let all: Vec<Vec<u8>> = (1..MOST_WAITING).map(|_| got.recv().unwrap()).collect();
    assert_eq!(all.first(), Some(&body(2)), "the second oldest was dropped, not the newest");
    assert_eq!(all.last(), Some(&body(MOST_WAITING)));
    settled(&push, MOST_WAITING as u64 + 1);
    let tally = push.finish();
    assert_eq!((tally.delivered, tally.dropped), (MOST_WAITING as u64, 1));
    assert_eq!(
        tally.told("http://h/v1/metrics").unwrap(),
        "note: --otlp: 60 of 61 seconds were delivered to http://h/v1/metrics"
    );
}

#[test]
fn what_may_be_taken_later_is_tried_again_and_what_never_will_is_dropped() {
    let (post, got, answers) = script();
    let push = Push::start(post).unwrap();
    push.add(b"a".to_vec());
    got.recv().unwrap();
    answers.send(answer(503, &[], "")).unwrap();
    assert_eq!(got.recv().unwrap(), b"a", "again");
    answers.send(answer(200, &[], "")).unwrap();
    push.add(b"b".to_vec());
    got.recv().unwrap();
    answers.send(answer(400, &[], "{\"message\": \"no such metric\"}")).unwrap();
    push.add(b"c".to_vec());
    assert_eq!(got.recv().unwrap(), b"c", "b is not sent again");
    answers.send(answer(200, &[], "{}")).unwrap();
    settled(&push, 3);
    let tally = push.finish();
    assert_eq!((tally.delivered, tally.dropped), (2, 1));
    assert_eq!(tally.why.as_deref(), Some("it answers 400: no such metric"));
}

#[test]
fn a_receiver_that_is_gone_at_the_end_is_tried_and_given_up() {
    let (post, got, answers) = script();
    let push = Push::start(post).unwrap();
    push.add(b"a".to_vec());
    push.add(b"b".to_vec());
    got.recv().unwrap();
    drop(answers);
    let tally = push.finish();
    assert_eq!((tally.delivered, tally.dropped), (0, 2));
    assert!(tally.told("x").unwrap().contains("0 of 2 seconds"), "{tally:?}");
}

#[test]
fn waits_double_and_end_and_the_receivers_own_wish_counts() {
    let wait = |failures, asked| delay(failures, asked, 0.5).as_millis();
    assert_eq!(
        [1, 2, 3, 6, 7, 40].map(|n| wait(n, None)),
        [500, 1_000, 2_000, 16_000, 30_000, 30_000]
    );
    assert_eq!(wait(1, Some(Duration::from_secs(7))), 7_000);
    assert_eq!(wait(1, Some(Duration::from_secs(7_000))), 30_000);
    assert_eq!(wait(3, Some(Duration::ZERO)), 2_000);
    assert_eq!((delay(1, None, 0.0), delay(1, None, 1.0)).0.as_millis(), 375);
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now_ns = 784_111_777 * 1_000_000_000;
    assert_eq!(asked_wait("10", now_ns), Some(Duration::from_secs(10)));
    let date = "Sun, 06 Nov 1994 08:49:47 GMT";
    assert_eq!(asked_wait(date, now_ns), Some(Duration::from_secs(10)));
    assert_eq!(asked_wait("Sun, 06 Nov 1994 08:40:00 GMT", now_ns), Some(Duration::ZERO));
    assert_eq!(asked_wait("soon", now_ns), None);
}

#[test]
fn answers_mean_what_the_specification_says() {
    let of = |status, body: &str| judged(answer(status, &[], body), 0);
    assert_eq!(of(200, ""), Outcome::Taken);
    assert_eq!(of(200, "{\"partialSuccess\":{}}"), Outcome::Taken);
    let partly = "{\"partialSuccess\":{\"rejectedDataPoints\":\"3\",\"errorMessage\":\"old\"}}";
    assert_eq!(of(200, partly), Outcome::Partly(3, "it says old".to_owned()));
    let partly = "{\"partialSuccess\":{\"rejectedDataPoints\":3}}";
    assert_eq!(of(200, partly), Outcome::Partly(3, "it rejects some points".to_owned()));
    for status in [429, 502, 503, 504] {
        assert!(matches!(of(status, ""), Outcome::Later(_, None)), "{status}");
    }
    for status in [301, 400, 401, 404, 408, 413, 500] {
        assert!(matches!(of(status, "<html>"), Outcome::Refused(_)), "{status}");
    }
    let later = judged(answer(429, &[("retry-after", "10")], ""), 0);
    assert_eq!(later, Outcome::Later("it answers 429".to_owned(), Some(Duration::from_secs(10))));
    assert!(matches!(judged(Err(Error::Late(PATIENCE)), 0), Outcome::Later(..)));
    assert!(matches!(judged(Err(Error::Request(String::new())), 0), Outcome::Refused(_)));
}
