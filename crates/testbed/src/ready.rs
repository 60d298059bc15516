//! When an instance is ready: it answers, and then its answers are steady.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use plimsoll_net::http::client::{Ask, Limits, Plain};
use plimsoll_net::url::Url;

use crate::recipe::{Check, Steady};
use crate::time::Deadline;

/// How long one request of a check may take.
const REQUEST: Duration = Duration::from_secs(2);
/// The longest page that a check may ask for, bytes: one that is longer is no answer.
const PAGE_BYTES: usize = 4 << 20;

/// Whether an instance takes connections, or answers the path of its check.
#[must_use]
pub fn is_ready(address: SocketAddr, check: &Check) -> bool {
    match &check.http {
        None => TcpStream::connect_timeout(&address, REQUEST).is_ok(),
        Some(path) => answers(address, path, REQUEST),
    }
}

/// Whether an instance answers a request by a status below 400 within this time.
fn answers(address: SocketAddr, path: &str, within: Duration) -> bool {
    let Ok(url) = Url::parse(&format!("http://{address}{path}")) else { return false };
    let limits = Limits { answer_bytes: PAGE_BYTES, ..Limits::within(within) };
    let answer = Ask::get(&url).send(&Plain, limits);
    answer.is_ok_and(|answer| answer.status < 400)
}

/// The last answers in a row of an instance that becomes warm.
pub(crate) struct Row<'a> {
    address: SocketAddr,
    when: &'a Steady,
    took: VecDeque<Duration>,
    /// How many were asked for so far.
    asked: usize,
}

impl<'a> Row<'a> {
    pub(crate) fn new(address: SocketAddr, when: &'a Steady) -> Self {
        Self { address, when, took: VecDeque::new(), asked: 0 }
    }

    /// Asks for one page more. Returns whether the answers are steady by now. A page that fails
    /// ends the row.
    pub(crate) fn goes_on(&mut self, deadline: &Deadline) -> bool {
        let path = &self.when.http[self.asked % self.when.http.len()];
        self.asked += 1;
        let clock = deadline.part(deadline.left());
        if !answers(self.address, path, deadline.left()) {
            self.took.clear();
            return false;
        }
        self.took.push_back(clock.passed());
        if self.took.len() > self.when.answers {
            self.took.pop_front();
        }
        self.took.len() == self.when.answers && is_steady(self.took.make_contiguous(), self.when)
    }
}

/// Whether the slowest took at most so many times the median.
fn is_steady(took: &[Duration], when: &Steady) -> bool {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let median = match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2,
        _ => sorted[middle],
    };
    sorted.last().is_some_and(|slowest| *slowest <= median * when.times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::hand::Hand;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn when(answers: usize) -> Steady {
        Steady { http: vec!["/a".to_owned(), "/b".to_owned()], answers, times: 2 }
    }

    #[test]
    fn the_slowest_of_a_row_is_held_against_its_median() {
        let ms = |of: &[u64]| of.iter().map(|ms| Duration::from_millis(*ms)).collect::<Vec<_>>();
        for (took, is) in [
            (&[10, 10, 10, 20][..], true),
            (&[10, 10, 10, 21], false),
            (&[800, 10, 10, 10], false),
            (&[10, 20, 30], true),
            (&[10, 10, 21], false),
            (&[0, 0, 0], true),
        ] {
            assert_eq!(is_steady(&ms(took), &when(4)), is, "{took:?}");
        }
    }

    #[test]
    fn a_long_page_is_an_answer() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let body = "x".repeat(200_000);
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 1024]);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        assert!(answers(address, "/", REQUEST));
    }

    /// Asks a server for pages that take so long each, milliseconds by a clock that is moved by
    /// hand, of which 503 ones fail, until its answers are steady. Returns how many that took.
    fn steady_after(when: &Steady, took: impl Fn(usize) -> Option<u64> + Send + 'static) -> usize {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (address, hand) = (listener.local_addr().unwrap(), Hand::new());
        std::thread::spawn(move || {
            for (number, mut stream) in listener.incoming().flatten().enumerate() {
                let _ = stream.read(&mut [0; 1024]);
                let took = took(number);
                hand.passes(Duration::from_millis(took.unwrap_or(1)));
                let status = if took.is_some() { "200 OK" } else { "503 No" };
                let text = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                let _ = stream.write_all(text.as_bytes());
            }
        });
        let deadline = hand.time().within(Duration::from_secs(3600));
        let mut row = Row::new(address, when);
        (1..).find(|_| row.goes_on(&deadline)).unwrap()
    }

    /// A server that becomes fast: its answers are steady when the slow ones are out of the row.
    #[test]
    fn answers_are_steady_when_the_slowest_of_a_row_is_near_its_median() {
        let times = [900, 400, 200, 100, 50, 25, 20, 12, 10, 11, 10, 10];
        let took = move |number: usize| times.get(number).copied().or(Some(10));
        // 25, 20, 12, 10: at most twice 16; with 50 before it, twice 22.5 is less.
        assert_eq!(steady_after(&when(4), took), 9);
        assert_eq!(steady_after(&when(1), took), 1, "one answer is its own median");
    }

    /// A host that stands still for a minute in the midst of an answer, and a page that fails: both
    /// delay it, and neither ends it.
    #[test]
    fn one_slow_or_failed_answer_delays_what_is_steady() {
        let still = |number: usize| Some(if number == 2 { 60_000 } else { 10 });
        assert_eq!(steady_after(&when(4), still), 7);
        let failed = |number: usize| (number != 2).then_some(10);
        assert_eq!(steady_after(&when(4), failed), 7);
    }

    /// A server whose third answer is an error: the row begins behind it.
    #[test]
    fn a_row_is_of_answers_one_after_the_other() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, paths) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (mut stream, mut head) = (stream, [0; 1024]);
                let read = stream.read(&mut head).unwrap_or(0);
                let _ = asked.send(String::from_utf8_lossy(&head[..read]).into_owned());
                let status = if number == 2 { "503 No" } else { "200 OK" };
                let text = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                let _ = stream.write_all(text.as_bytes());
            }
        });
        // Which ratio is steady is another test's: answers this short differ by any.
        let when = Steady { times: 1_000_000, ..when(4) };
        let (mut row, deadline) = (Row::new(address, &when), Deadline::within(REQUEST * 10));
        let turns: Vec<bool> = (0..7).map(|_| row.goes_on(&deadline)).collect();
        assert_eq!(turns, [false, false, false, false, false, false, true]);
        let paths: Vec<String> = paths.try_iter().collect();
        assert!(paths[0].starts_with("GET /a ") && paths[1].starts_with("GET /b "), "{paths:?}");
    }
}
