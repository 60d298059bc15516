//! The page for people: what it says, of whom, in which order, and that nothing gets out of its
//! place.

mod browser;
mod land;
mod looks;
mod order;
mod query;
mod served;

use std::sync::Arc;

use plimsoll_shoal::Now;
use plimsoll_shoal::geo::Place;
use plimsoll_shoal::page::{Page, Query, Setting, page};
use plimsoll_shoal::registry::{Base, Cache, Snapshot, State};
use plimsoll_shoal::server::Complaint;
use proptest::prelude::*;

use crate::members::beat;
use crate::support::beat::cache;

const NOW: Now = Now { elapsed_ns: 400_000_000_000, unix_s: 1_795_162_063.5 };

fn snapshot(caches: Vec<Arc<Cache>>) -> Snapshot {
    Snapshot::new(3, Arc::new(Base::new(caches)), Vec::new(), Arc::default())
}

fn asked(target: &str) -> Query {
    Query::parse(100, target).unwrap()
}

fn written(caches: Vec<Arc<Cache>>, complaints: &[Complaint], target: &str) -> Page {
    let setting = Setting {
        now: NOW,
        base: Some("http://registry.example"),
        is_verifying: true,
        is_object_suspected: false,
    };
    page(&snapshot(caches), complaints, &asked(target), setting)
}

fn complaint(cloud: Option<&str>, text: &str) -> Complaint {
    Complaint { unix_s: 1_795_162_020.0, cloud: cloud.map(Into::into), text: text.into() }
}

fn small() -> Vec<Arc<Cache>> {
    let geneva = Place {
        latitude: 46.2,
        longitude: 6.1,
        city: Some("Geneva".into()),
        country_code: Some("CH".into()),
        country_name: Some("Switzerland".into()),
        ..Place::default()
    };
    let full = serde_json::json!({
        "uuid": "d03b93b6e4b811f19f970e468af6f828", "cache_port": "3129", "max_load": "250000",
        "private_ip": "10.1.2.3", "load": 200_000.25, "cloud": "cloud-a", "version": "1.0 \"x\"",
        "cache_type": "varnish", "upstream": "frontier", "timestamp": 1_795_162_041.0,
    });
    let bare = serde_json::json!({"public_ip": null, "external_ip": "2001:db8::7", "load": 7});
    let caches = vec![cache(26, Some(geneva), &full), cache(27, None, &bare)];
    caches[0].set_state(State::Verified);
    caches
}

fn golden() -> String {
    let complaints = [complaint(None, "first"), complaint(Some("cloud-a"), "h: <squid> is gone")];
    written(small(), &complaints, "/?sort=load").body.replace("><", ">\n<")
}

#[test]
fn without_verification_it_is_said_to_be_off_and_nothing_is_called_unverified() {
    let shown = snapshot(small());
    let written = |is_verifying| {
        let setting = Setting { now: NOW, base: None, is_verifying, is_object_suspected: false };
        page(&shown, &[], &asked("/"), setting).body
    };
    let (on, off) = (written(true), written(false));
    assert!(on.contains(">not tried yet<") && on.contains(">answered when tried<"));
    let (before, tiles) = off.split_once("id=\"summary\"").unwrap();
    let (tiles, _) = tiles.split_once("</dl>").unwrap();
    assert!(tiles.contains(">verification is off<") && !tiles.contains("unverified<"), "{tiles}");
    assert!(off.contains("<span class=\"chip plain\">served</span>"));
    // What wants attention comes before all figures.
    assert!(before.contains("1 loaded to 80% and more"), "{before}");
}

#[test]
fn what_wants_attention_stands_first_with_a_link_to_its_caches() {
    let caches = small();
    caches[0].set_state(State::Failing);
    let page = written(caches, &[complaint(None, "no route")], "/").body;
    let (before, _) = page.split_once("id=\"summary\"").unwrap();
    assert!(before.contains("class=\"attention poor\"") && before.contains(">1 failing</a>"));
    assert!(before.contains("state=failing") && before.contains("href=\"#errors\""));
    let calm = vec![cache(27, None, &serde_json::json!({"load": 7}))];
    assert!(written(calm, &[], "/").body.contains("Nothing wants attention."));
    assert!(!written(Vec::new(), &[], "/").body.contains("Nothing wants attention."));
}

#[test]
fn the_page_of_a_small_registry_is_the_golden_one() {
    let (page, golden) = (golden(), include_str!("../golden/page.html"));
    if page != golden {
        let differs = page.lines().zip(golden.lines()).enumerate().find(|(_, (a, b))| a != b);
        panic!(
            "the page differs from tests/it/golden/page.html, first at {differs:?}\n\
             where that is meant: \
             cargo test -p plimsoll-shoal --test it -- --ignored make_golden_page_anew"
        );
    }
}

#[test]
#[ignore = "writes the golden page"]
fn make_golden_page_anew() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/page.html");
    std::fs::write(path, golden()).unwrap();
}

#[test]
fn no_secret_is_on_the_page() {
    let body = written(small(), &[], "/").body;
    assert!(body.contains("squid26.example"));
    assert!(!body.contains("d03b93b6"), "{body}");
}

#[test]
fn an_empty_registry_says_how_to_announce_a_cache() {
    let body = written(Vec::new(), &[], "/").body;
    assert!(body.contains("plimsoll shoal agent --server http://registry.example<"), "{body}");
    assert!(!body.contains("<table"), "{body}");
    let none = written(small(), &[], "/?cloud=nowhere").body;
    assert!(none.contains("No cache is so") && none.contains("nowhere (0)"), "{none}");
}

#[test]
fn the_latest_complaints_come_first_and_all_are_to_be_had() {
    let complaints: Vec<_> = (0..1000).map(|n| complaint(None, &format!("error-{n}."))).collect();
    let body = written(small(), &complaints, "/").body;
    let at = |n: usize| body.find(&format!("error-{n}."));
    assert!(at(999).unwrap() < at(998).unwrap());
    // 990 to 999.
    assert_eq!((at(989), body.matches("error-9").count()), (None, 10));
    assert!(body.contains("All 1,000 that are kept"));
    let all = written(small(), &complaints, "/?errors=1000").body;
    assert!(all.contains("error-0.") && !all.contains("that are kept"));
}

#[test]
fn the_tag_changes_with_all_but_the_clock() {
    let caches = small();
    let snapshot = snapshot(caches.clone());
    let tag = |now: Now, target: &str, complaints: &[Complaint]| {
        let setting = Setting { now, base: None, is_verifying: true, is_object_suspected: false };
        page(&snapshot, complaints, &asked(target), setting).etag
    };
    let first = tag(NOW, "/", &[]);
    let later = Now { elapsed_ns: NOW.elapsed_ns + 9_000_000_000, unix_s: NOW.unix_s + 9.0 };
    assert_eq!(tag(later, "/", &[]), first);
    assert_ne!(tag(NOW, "/?order=desc", &[]), first);
    assert_ne!(tag(NOW, "/", &[complaint(None, "x")]), first);
    caches[0].set_state(State::Failing);
    assert_ne!(tag(NOW, "/", &[]), first);
}

#[test]
fn a_page_is_bounded_whatever_the_registry_holds() {
    let every = |n: u32| {
        let mut said = beat(n);
        said.cloud = Some(format!("cloud-{n}").into());
        said.version = Some(format!("1.{n}").into());
        let place = Place {
            latitude: f64::from(n % 140) - 55.0,
            longitude: f64::from(n / 140 % 360) - 180.0,
            country_code: Some(format!("{n:x}").into()),
            ..Place::default()
        };
        Arc::new(Cache::new(n.into(), n.into(), &said, Some(Arc::new(place)), NOW))
    };
    let caches: Vec<_> = (0..30_000).map(every).collect();
    let body = written(caches.clone(), &[], "/").body;
    assert_eq!(body.matches("href=\"/v1/caches/").count(), 100);
    assert!(body.matches("<circle").count() <= 401, "{}", body.matches("<circle").count());
    assert!(body.len() < 220_000, "{}", body.len());
    assert!(body.contains("<datalist") && body.matches("<option").count() <= 756);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The parser of heartbeats refuses most of this; the page relies on nothing of that.
    #[test]
    fn whatever_names_are_they_open_and_close_nothing(
        [host, cloud, version, country, city, wanted] in any::<[String; 6]>(),
        text in ".*<.*",
    ) {
        let mut said = beat(1);
        (said.hostname, said.cloud) = (host.into(), Some(cloud.as_str().into()));
        said.version = Some(version.into());
        let place = Place {
            city: Some(city.into()),
            country_code: Some(country.as_str().into()),
            country_name: Some(country.into()),
            ..Place::default()
        };
        let cache = Arc::new(Cache::new(1, 1, &said, Some(Arc::new(place)), NOW));
        let plain = Arc::new(Cache::new(1, 1, &beat(1), Some(Arc::default()), NOW));
        let query = Query { version: wanted, ..Query::default() };
        let shape = |cache: &Arc<Cache>, complaint: Complaint| {
            let setting =
                Setting { now: NOW, base: None, is_verifying: true, is_object_suspected: false };
            // All are wanted, or none; both are to be looked at.
            let all = [Query::default(), query.clone()].map(|query| {
                let snapshot = snapshot(vec![Arc::clone(cache)]);
                page(&snapshot, std::slice::from_ref(&complaint), &query, setting).body
            });
            all.map(|body| (body.matches('<').count(), body.matches('"').count()))
        };
        let hostile = shape(&cache, complaint(Some(&cloud), &text));
        let harmless = shape(&plain, complaint(Some("a"), "b"));
        // Absent values have elements of their own: what counts is that no other is added.
        prop_assert!(hostile[0].0 <= harmless[0].0 + 8, "{hostile:?} {harmless:?}");
        prop_assert_eq!(hostile[0].1 % 2, 0);
        prop_assert_eq!(hostile[1].1 % 2, 0);
    }
}

#[test]
fn a_script_in_a_name_is_text() {
    let mut said = beat(1);
    said.hostname = "<script>alert(1)</script>".into();
    said.cloud = Some("\"><img src=x onerror=alert(2)>".into());
    said.version = Some("' onmouseover='alert(3)".into());
    let cache = Arc::new(Cache::new(1, 1, &said, None, NOW));
    let body = written(vec![cache], &[complaint(None, "</td><script>4")], "/").body;
    assert_eq!(body.matches("<script").count(), 1, "{body}");
    assert!(!body.contains("<img"), "{body}");
    assert!(body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{body}");
    assert!(body.contains("value=\"&#39; onmouseover=&#39;alert(3)\""), "{body}");
}
