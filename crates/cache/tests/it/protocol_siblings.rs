//! What a real Squid asks its sibling, and what it does with our answers: it fetches from the
//! sibling what that says to have, and from the origin what it says not to have.

use std::time::Duration;

use plimsoll_cache::protocol::digest::{Digest, Key};
use plimsoll_cache::protocol::htcp::{self, Detail};
use plimsoll_cache::protocol::{icp, sizes};

use crate::support::origin::Origin;
use crate::support::sibling::{SIBLING, Sibling};
use crate::support::squid::{Squid, free_port};

/// How many URLs are asked for, of which the sibling has every other one.
const COUNT: usize = 20;

/// Without these a Squid that has measured its origin to be near goes there and asks nobody; and
/// left to itself it waits for twice what answers took so far, here some milliseconds, which a busy
/// machine exceeds.
const ASK: &str = "minimum_direct_rtt 0\nminimum_direct_hops 0\nnonhierarchical_direct off\n\
                   icp_query_timeout 5000\n";

fn is_there(url: &[u8]) -> bool {
    url.last().is_some_and(|digit| digit % 2 == 0)
}

fn objects() -> impl Fn(&str) -> Vec<u8> {
    |target| format!("object {target}").into_bytes()
}

/// Fetches URLs through a Squid, and holds who was asked for each against what the sibling has.
fn fetch(squid: &Squid, origin: &Origin, sibling: &Origin) -> Vec<String> {
    let urls = (0..COUNT).map(|number| format!("http://{}/sibling/{number}", origin.address));
    let urls: Vec<String> = urls.collect();
    for url in &urls {
        let (status, _) = squid.get(url);
        assert_eq!(status, 200, "{url}: {}", squid.log());
        let from_sibling = sibling.asked().contains(url);
        assert_eq!(from_sibling, is_there(url.as_bytes()), "{url}: {}", squid.log());
        let path = url.strip_prefix(&format!("http://{}", origin.address)).unwrap();
        let from_origin = origin.asked().iter().any(|asked| asked == path);
        assert_ne!(from_sibling, from_origin, "{url}");
    }
    urls
}

fn icp_answer(question: &[u8]) -> Vec<u8> {
    let query = icp::Message::decode(question).unwrap();
    let body = if is_there(query.url) { icp::Body::Hit } else { icp::Body::Miss };
    let mut answer = Vec::new();
    query.answer(body).encode(&mut answer).unwrap();
    answer
}

#[test]
fn a_real_squid_asks_by_icp_and_does_as_it_is_told() {
    let test = "a_real_squid_asks_by_icp_and_does_as_it_is_told";
    let (origin, http) = (Origin::start(), Origin::answering(SIBLING, objects()));
    let sibling = Sibling::start(icp_answer);
    let settings = format!(
        "icp_port {}\nicp_access allow all\n\
         cache_peer 127.0.0.2 sibling {} {} proxy-only no-digest no-netdb-exchange\n{ASK}",
        free_port(),
        http.address.port(),
        sibling.port
    );
    let Some(squid) = Squid::start(test, |_| settings.clone()) else { return };
    let urls = fetch(&squid, &origin, &http);
    let asked = sibling.asked();
    assert_eq!(asked.len(), urls.len());
    for (question, url) in asked.iter().zip(&urls) {
        let read = icp::Message::decode(question).unwrap();
        assert_eq!(read, icp::Message::query(read.number, url.as_bytes()));
        let mut again = Vec::new();
        read.encode(&mut again).unwrap();
        assert_eq!(&again, question, "it is written as Squid writes it");
        assert_eq!(question.len() as u64, sizes::icp_query(url.len() as u64));
    }
}

fn htcp_answer(question: &[u8]) -> Vec<u8> {
    let message = htcp::Message::decode(question).unwrap();
    let htcp::Body::Test { answer: true, request } = message.body else {
        panic!("expected a test to be answered, found {message:?}");
    };
    let body = if is_there(request.url) {
        htcp::Body::Hit(Detail { response: b"Age: 13\r\n", ..Detail::default() })
    } else {
        htcp::Body::Miss(Detail::default())
    };
    let mut answer = Vec::new();
    message.answer(body).encode(&mut answer).unwrap();
    answer
}

#[test]
fn a_real_squid_asks_by_htcp_and_does_as_it_is_told() {
    let test = "a_real_squid_asks_by_htcp_and_does_as_it_is_told";
    let (origin, http) = (Origin::start(), Origin::answering(SIBLING, objects()));
    let sibling = Sibling::start(htcp_answer);
    let settings = format!(
        "icp_port 0\nhtcp_port {}\nhtcp_access allow all\n\
         cache_peer 127.0.0.2 sibling {} {} htcp proxy-only no-digest no-netdb-exchange\n{ASK}",
        free_port(),
        http.address.port(),
        sibling.port
    );
    let Some(squid) = Squid::start(test, |_| settings.clone()) else { return };
    let urls = fetch(&squid, &origin, &http);
    let asked = sibling.asked();
    assert_eq!(asked.len(), urls.len());
    for (question, url) in asked.iter().zip(&urls) {
        let read = htcp::Message::decode(question).unwrap();
        let htcp::Body::Test { answer: true, request } = read.body else { panic!("{read:?}") };
        assert_eq!((request.method, request.url), (&b"GET"[..], url.as_bytes()));
        // Its client speaks HTTP/1.0; and it says nothing of the headers that it has.
        assert_eq!((request.version, request.headers), (&b"1/0"[..], &b""[..]));
        let mut again = Vec::new();
        read.encode(&mut again).unwrap();
        assert_eq!(&again, question, "it is written as Squid writes it");
        assert_eq!(question.len() as u64, sizes::htcp_query(3, url.len() as u64, 3, 0));
    }
}

#[test]
fn a_real_squid_reads_our_digest_and_does_as_it_is_told() {
    let test = "a_real_squid_reads_our_digest_and_does_as_it_is_told";
    let origin = Origin::start();
    // Room enough that what is not there does not seem to be, in 128 bytes. In masks of 256 and of
    // 1,000 bytes, at 8 bits an entry, Squid 5.7 found nothing; it had logged of the latter that it
    // got it all.
    let mut digest = Digest::new(20, 51).unwrap();
    assert_eq!(digest.mask().len(), 128);
    let urls = (0..COUNT).map(|number| format!("http://{}/sibling/{number}", origin.address));
    for url in urls.filter(|url| is_there(url.as_bytes())) {
        digest.insert(Key::of(url.as_bytes()));
    }
    let mut document = Vec::new();
    digest.encode(&mut document);
    let http = Origin::answering(SIBLING, move |target| {
        if target.ends_with("/squid-internal-periodic/store_digest") {
            return document.clone();
        }
        objects()(target)
    });
    let settings = format!(
        "icp_port 0\n\
         cache_peer 127.0.0.2 sibling {} 0 no-query proxy-only no-netdb-exchange\n{ASK}",
        http.address.port()
    );
    let Some(squid) = Squid::start(test, |_| settings.clone()) else { return };
    // It fetches the digest when it first thinks of its sibling.
    let prompt = format!("http://{}/prompt", origin.address);
    squid.get(&prompt);
    let mut fetched = false;
    for _ in 0..200 {
        fetched = http.asked().iter().any(|target| target.ends_with("/store_digest"));
        if fetched {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert!(fetched, "{:?}\n{}", http.asked(), squid.log());
    std::thread::park_timeout(Duration::from_millis(500));
    fetch(&squid, &origin, &http);
}
