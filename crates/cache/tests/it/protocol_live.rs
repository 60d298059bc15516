//! The protocols with real Squids, from the distribution's package: what they are asked and what
//! they answer, byte by byte.

use std::time::Duration;

use plimsoll_cache::protocol::carp::{Carp, Variant};
use plimsoll_cache::protocol::digest::{Digest, Key, mask_bytes};
use plimsoll_cache::protocol::htcp::{self, Body, Cleared, Detail, Reason, Specifier};
use plimsoll_cache::protocol::icp::{self, Options};
use plimsoll_cache::protocol::sizes;

use crate::support::origin::Origin;
use crate::support::squid::{Neighbour, Squid, free_port};

/// How many URLs a cache is given, where one by one is enough.
const FEW: u32 = 20;

/// How many the reference has for CARP and digests.
const MANY: u32 = 400;

fn urls(origin: &Origin, name: &str, count: u32) -> Vec<String> {
    (0..count).map(|number| format!("http://{}/{name}/{number}", origin.address)).collect()
}

/// Fetches all through a cache.
fn fetch(squid: &Squid, urls: &[String]) {
    for url in urls {
        let (status, body) = squid.get(url);
        assert_eq!(status, 200, "{url}: {}\n{}", String::from_utf8_lossy(&body), squid.log());
    }
}

fn icp_bytes(message: &icp::Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

fn htcp_bytes(message: &htcp::Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn icp_asks_a_real_squid() {
    let port = free_port();
    let settings = format!(
        "icp_port {port}\nacl stranger src 127.0.0.3\nicp_access deny stranger\n\
         icp_access allow all\n"
    );
    let Some(squid) = Squid::start("icp_asks_a_real_squid", |_| settings.clone()) else { return };
    let origin = Origin::start();
    let (here, elsewhere) = (urls(&origin, "here", FEW), urls(&origin, "elsewhere", FEW));
    fetch(&squid, &here);
    assert_eq!(origin.asked().len(), here.len());
    let neighbour = Neighbour::new([127, 0, 0, 2], port);
    let cases = here.iter().map(|url| (url, icp::Body::Hit));
    let cases = cases.chain(elsewhere.iter().map(|url| (url, icp::Body::Miss)));
    for (number, (url, body)) in (1..).zip(cases) {
        let query = icp::Message::query(number, url.as_bytes());
        let asked = icp_bytes(&query);
        assert_eq!(asked.len() as u64, sizes::icp_query(url.len() as u64));
        let answer = neighbour.ask(&asked);
        assert_eq!(icp::Message::decode(&answer), Ok(query.answer(body)));
        assert_eq!(answer, icp_bytes(&query.answer(body)));
        assert_eq!(answer.len() as u64, sizes::icp_answer(url.len() as u64));
    }
    // It sends no objects, and tells distances that it has measured: this one, built with ICMP, by
    // its connections to the origin.
    let options = Options::HIT_OBJECT.and(Options::SOURCE_RTT);
    let query = icp::Message { options, ..icp::Message::query(77, here[0].as_bytes()) };
    let answer = neighbour.ask(&icp_bytes(&query));
    let read = icp::Message::decode(&answer).unwrap();
    let hit = query.answer(icp::Body::Hit);
    assert_eq!(read, read.source_rtt().map_or(hit, |rtt| hit.with_source_rtt(rtt)));
    let afar = b"http://192.0.2.1/never";
    let query = icp::Message { options, ..icp::Message::query(76, afar) };
    let answer = neighbour.ask(&icp_bytes(&query));
    assert_eq!(icp::Message::decode(&answer), Ok(query.answer(icp::Body::Miss)));
    let query = icp::Message::query(78, b"nonsense");
    let answer = neighbour.ask(&icp_bytes(&query));
    assert_eq!(icp::Message::decode(&answer), Ok(query.answer(icp::Body::Error)));
    let stranger = Neighbour::new([127, 0, 0, 3], port);
    let query = icp::Message::query(79, here[0].as_bytes());
    let answer = stranger.ask(&icp_bytes(&query));
    assert_eq!(icp::Message::decode(&answer), Ok(query.answer(icp::Body::Denied)));
    // From its own address it hears nothing.
    let own = Neighbour::new([127, 0, 0, 1], port);
    assert_eq!(own.ask_once(&icp_bytes(&query), Duration::from_millis(300)), None);
}

/// What a request for a URL is called, with the headers of one.
fn request(url: &str) -> Specifier<'_> {
    let headers = b"Accept: */*\r\n";
    Specifier { method: b"GET", url: url.as_bytes(), version: b"1.1", headers }
}

fn hit<'a>(message: &htcp::Message<'a>) -> Detail<'a> {
    match message.body {
        Body::Hit(detail) => detail,
        other => panic!("expected a hit, found {other:?}"),
    }
}

#[test]
fn htcp_asks_a_real_squid_and_has_it_forget() {
    let port = free_port();
    let settings =
        format!("htcp_port {port}\nhtcp_access allow all\nhtcp_clr_access allow all\nicp_port 0\n");
    let test = "htcp_asks_a_real_squid_and_has_it_forget";
    let Some(squid) = Squid::start(test, |_| settings.clone()) else { return };
    let origin = Origin::start();
    let (here, elsewhere) = (urls(&origin, "here", FEW), urls(&origin, "elsewhere", FEW));
    fetch(&squid, &here);
    let neighbour = Neighbour::new([127, 0, 0, 2], port);
    for (transaction, url) in (1..).zip(here.iter().chain(&elsewhere)) {
        let body = Body::Test { answer: true, request: request(url) };
        let test = htcp::Message { transaction, body, authentication: None };
        let asked = htcp_bytes(&test);
        assert_eq!(asked.len() as u64, sizes::htcp_query(3, url.len() as u64, 3, 13));
        let answer = neighbour.ask(&asked);
        let read = htcp::Message::decode(&answer).unwrap();
        assert_eq!(read.transaction, transaction);
        assert_eq!(htcp_bytes(&read), answer, "it is written as Squid writes it");
        if here.contains(url) {
            let detail = hit(&read);
            let entity = String::from_utf8_lossy(detail.entity);
            assert!(detail.response.starts_with(b"Age: "), "{detail:?}");
            assert!(entity.contains("Last-Modified: Sat, 21 Nov 2026 12:00:00 GMT\r\n"));
            // Where it has measured the distance to the origin, it tells it.
            let cache = String::from_utf8_lossy(detail.cache);
            assert!(cache.is_empty() || cache.starts_with("Cache-to-Origin: 127.0.0.1 "));
            let headers = detail.response.len() + detail.entity.len() + detail.cache.len();
            assert_eq!(answer.len() as u64, sizes::htcp_hit(headers as u64));
        } else {
            assert_eq!(read, test.answer(Body::Miss(Detail::default())));
            assert_eq!(answer.len() as u64, sizes::htcp_miss());
        }
    }
    let ask = |body: Body<'_>| {
        let message = htcp::Message { transaction: 99, body, authentication: None };
        neighbour.ask(&htcp_bytes(&message))
    };
    let said = |answer: &[u8], wanted: Body<'_>| {
        let read = htcp::Message::decode(answer).unwrap();
        assert_eq!((read.transaction, read.body), (99, wanted));
    };
    let clear = Body::Clear { answer: true, reason: Reason::Gone, request: request(&here[0]) };
    said(&ask(clear), Body::Cleared(Cleared::Forgotten));
    said(&ask(clear), Body::Cleared(Cleared::Absent));
    let test = Body::Test { answer: true, request: request(&here[0]) };
    said(&ask(test), Body::Miss(Detail::default()));
    // Nobody wanted an answer; and it knows no `NOP`.
    for body in
        [Body::Test { answer: false, request: request(&here[1]) }, Body::Ping { answer: true }]
    {
        let message = htcp::Message { transaction: 100, body, authentication: None };
        let time = Duration::from_millis(300);
        assert_eq!(neighbour.ask_once(&htcp_bytes(&message), time), None);
    }
}

/// The answers of a Squid are in the layout of its question.
#[test]
fn htcp_in_the_layout_of_old_squids_is_answered_in_it() {
    let port = free_port();
    let settings = format!("htcp_port {port}\nhtcp_access allow all\nicp_port 0\n");
    let test = "htcp_in_the_layout_of_old_squids_is_answered_in_it";
    let Some(squid) = Squid::start(test, |_| settings.clone()) else { return };
    let origin = Origin::start();
    let url = urls(&origin, "here", 1).remove(0);
    fetch(&squid, std::slice::from_ref(&url));
    let neighbour = Neighbour::new([127, 0, 0, 2], port);
    for (url, is_here) in [(url, true), (format!("http://{}/elsewhere", origin.address), false)] {
        let mut asked = htcp_bytes(&htcp::Message::test(5, url.as_bytes()));
        (asked[3], asked[6], asked[7]) = (0, 0x01, 0x40);
        let answer = neighbour.ask(&asked);
        assert_eq!((answer[3], answer[7]), (0, 0x80), "{answer:02x?}");
        let read = htcp::Message::decode(&answer).unwrap();
        assert_eq!(matches!(read.body, Body::Hit(_)), is_here, "{read:?}");
        // It leaves the transaction out of this layout.
        assert_eq!(read.transaction, 0);
    }
}

/// Has a real Squid choose between parents, and compares.
fn carp_chooses(test: &str, members: &[(&str, u32)]) {
    let parents: Vec<Origin> = members.iter().map(|_| Origin::start()).collect();
    let peers = members.iter().zip(&parents).map(|((name, weight), parent)| {
        let port = parent.address.port();
        format!(
            "cache_peer 127.0.0.1 parent {port} 0 carp no-query no-digest no-netdb-exchange \
             name={name} weight={weight}\n"
        )
    });
    let peers: String = peers.collect();
    let settings = format!("{peers}never_direct allow all\ncache deny all\nicp_port 0\n");
    let Some(squid) = Squid::start(test, |_| settings.clone()) else { return };
    let carp = Carp::new(members, Variant::Squid).unwrap();
    let (status, page) = squid.own("/squid-internal-mgr/carp");
    let page = String::from_utf8_lossy(&page).into_owned();
    assert_eq!(status, 200, "{page}");
    // Name, hash, multiplier and share; the page has them as they were given.
    let told = page.lines().skip(1).map(|line| {
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        words.join(" ")
    });
    let mut formed = carp.members().to_vec();
    formed.sort_by_key(|member| member.index);
    let formed = formed.iter().map(|member| {
        let numbers = format!("{:.6} {:.6}", member.multiplier, member.share);
        format!("{} {:x} {numbers}", members[member.index].0, member.hash)
    });
    assert_eq!(told.collect::<Vec<_>>(), formed.collect::<Vec<_>>(), "{page}");
    let urls: Vec<String> = (0..MANY).map(|number| format!("http://o.example/{number}")).collect();
    fetch(&squid, &urls);
    let draft = Carp::new(members, Variant::Draft).unwrap();
    let (mut same, mut as_draft) = (0, 0);
    for url in &urls {
        let asked: Vec<usize> =
            (0..parents.len()).filter(|&at| parents[at].asked().contains(url)).collect();
        assert_eq!(asked.len(), 1, "{url}: {asked:?}");
        same += u32::from(asked[0] == carp.choose(url.as_bytes()));
        as_draft += u32::from(asked[0] == draft.choose(url.as_bytes()));
    }
    assert_eq!(same, MANY, "as Squid chooses");
    eprintln!("carp: {same} of {MANY} as Squid chooses, {as_draft} as the draft does");
    assert!(as_draft < MANY * 3 / 4, "the variants differ: {as_draft}");
}

#[test]
fn carp_chooses_as_a_real_squid_does() {
    let test = "carp_chooses_as_a_real_squid_does";
    carp_chooses(test, &[("gamma", 2), ("alpha", 1), ("beta", 1)]);
    carp_chooses(test, &[("a", 5), ("b", 1), ("c.example", 3), ("d", 1), ("e", 20)]);
}

#[test]
fn the_digest_of_a_real_squid_has_what_is_cached() {
    let test = "the_digest_of_a_real_squid_has_what_is_cached";
    let settings = |folder: &std::path::Path| {
        format!(
            "cache_dir aufs {}/cache 64 4 4\ndigest_generation on\nicp_port 0\n\
             digest_rebuild_period 2 seconds\ndigest_rewrite_period 2 seconds\n",
            folder.display()
        )
    };
    let Some(squid) = Squid::start(test, settings) else { return };
    let origin = Origin::start();
    let here = urls(&origin, "here", MANY);
    fetch(&squid, &here);
    let cached = |digest: &Digest| {
        here.iter().filter(|url| digest.contains(Key::of(url.as_bytes()))).count()
    };
    // It is built at intervals, and then written.
    let mut seen = Vec::new();
    let found = (0..120).find_map(|_| {
        std::thread::park_timeout(Duration::from_millis(250));
        let (status, document) = squid.own("/squid-internal-periodic/store_digest");
        if status != 200 {
            seen.push(format!("status {status}"));
            return None;
        }
        let digest = Digest::decode(&document).unwrap();
        seen.push(format!("{} of {} entries", cached(&digest), digest.capacity()));
        (cached(&digest) == here.len()).then_some((digest, document))
    });
    let (digest, document) = found.unwrap_or_else(|| panic!("{seen:?}\n{}", squid.log()));
    let mut again = Vec::new();
    digest.encode(&mut again);
    assert_eq!(again, document, "it is written as Squid writes it");
    assert_eq!(digest.bits_per_entry(), 5);
    assert!(digest.capacity() >= MANY);
    assert_eq!(digest.mask().len() as u64, mask_bytes(digest.capacity(), 5));
    let others = urls(&origin, "elsewhere", 20_000);
    let hits = others.iter().filter(|url| digest.contains(Key::of(url.as_bytes()))).count();
    let (found, predicted) = (hits as f64 / others.len() as f64, digest.false_hits());
    let slack = 5.0 * (predicted * (1.0 - predicted) / others.len() as f64).sqrt();
    eprintln!(
        "digest: {} bits of {} set, {hits} false hits of {}, predicted {predicted:.4}",
        digest.bits_set(),
        digest.mask().len() * 8,
        others.len()
    );
    assert!((found - predicted).abs() < slack, "{found}, predicted {predicted}");
}
