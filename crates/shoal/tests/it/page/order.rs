//! Sorting, filtering and paging against a model that is too simple to be wrong.

use std::cmp::Ordering;
use std::sync::Arc;

use plimsoll_shoal::Now;
use plimsoll_shoal::geo::Place;
use plimsoll_shoal::heartbeat::{Echo, Number};
use plimsoll_shoal::page::{Column, Query, Setting, page};
use plimsoll_shoal::registry::{Cache, State};
use proptest::prelude::*;

use super::{NOW, snapshot};
use crate::members::beat;

const STATES: [State; 5] =
    [State::Unverified, State::Verified, State::Failing, State::Drained, State::Banned];

#[derive(Debug, Clone)]
struct One {
    host: u8,
    address: Option<u8>,
    cloud: Option<u8>,
    country: Option<u8>,
    version: Option<u8>,
    state: usize,
    load: u32,
    heard_s: u64,
}

impl One {
    fn name(letter: Option<u8>) -> Option<Box<str>> {
        letter.map(|letter| format!("{}x", char::from(b'a' + letter)).into())
    }

    fn cache(&self, number: u32) -> Arc<Cache> {
        let mut said = beat(number);
        said.hostname = format!("H{}.example", self.host).into();
        said.public_ip = self.address.map(|last| [192, 0, 2, last].into());
        said.cloud = Self::name(self.cloud);
        said.version = Self::name(self.version);
        said.load = Number::Int(self.load.into());
        said.max_load = Some(Echo { value: 1000.0, text: "1000".into() });
        let country_code = Self::name(self.country);
        let place = country_code.is_some().then(|| Place { country_code, ..Place::default() });
        let now = Now { elapsed_ns: self.heard_s * 1_000_000_000, unix_s: 0.0 };
        let cache = Cache::new(number.into(), number.into(), &said, place.map(Arc::new), now);
        cache.set_state(STATES[self.state]);
        Arc::new(cache)
    }

    fn is_wanted(&self, query: &Query) -> bool {
        let text = |wanted: &str, letter: Option<u8>| {
            let name = Self::name(letter).unwrap_or("~".into());
            wanted.is_empty() || wanted == &*name
        };
        let percent = (f64::from(self.load) / 10.0).round().min(100.0);
        let host = format!("h{}.example", self.host);
        let address = self.address.map_or(String::new(), |last| format!("192.0.2.{last}"));
        text(&query.cloud, self.cloud)
            && text(&query.country, self.country)
            && text(&query.version, self.version)
            && query.state.is_none_or(|state| state == STATES[self.state])
            && percent >= f64::from(query.load_min)
            && percent <= f64::from(query.load_max)
            && (host.contains(&query.host) || address.contains(&query.host))
    }

    fn compare(&self, other: &Self, query: &Query) -> Ordering {
        let letter = |one: Option<u8>, two: Option<u8>| match (one, two) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(one), Some(two)) if query.falling => two.cmp(&one),
            (Some(one), Some(two)) => one.cmp(&two),
        };
        let full = |load: u32| load.min(1000);
        match query.sort {
            Column::Host => letter(Some(self.host), Some(other.host)),
            Column::Address => letter(self.address, other.address),
            Column::Cloud => letter(self.cloud, other.cloud),
            Column::Country => letter(self.country, other.country),
            Column::Version => letter(self.version, other.version),
            Column::State => letter(Some(self.state as u8), Some(other.state as u8)),
            Column::Load if query.falling => full(other.load).cmp(&full(self.load)),
            Column::Load => full(self.load).cmp(&full(other.load)),
            // The oldest was heard first.
            Column::Heartbeat if query.falling => self.heard_s.cmp(&other.heard_s),
            Column::Heartbeat => other.heard_s.cmp(&self.heard_s),
        }
    }
}

fn ones() -> impl Strategy<Value = Vec<One>> {
    let letter = || proptest::option::of(0_u8..3);
    let one = (0_u8..9, letter(), letter(), letter(), letter(), 0_usize..5, 0_u32..1200, 0_u64..99);
    let one = one.prop_map(|(host, address, cloud, country, version, state, load, heard_s)| One {
        host,
        address,
        cloud,
        country,
        version,
        state,
        load,
        heard_s,
    });
    proptest::collection::vec(one, 1..60)
}

fn queries() -> impl Strategy<Value = Query> {
    let name = || prop_oneof![4 => Just(""), 1 => Just("ax"), 1 => Just("~"), 1 => Just("zz")];
    let host = prop_oneof![4 => Just(""), 1 => Just("h3"), 1 => Just(".2.1"), 1 => Just("zz")];
    let state = prop_oneof![4 => Just(9_usize), 1 => 0_usize..5];
    let loads = prop_oneof![3 => Just((0, 100)), 1 => (0_u8..60, 40_u8..=100)];
    let order = (0..Column::ALL.len(), any::<bool>());
    (1_usize..20, order, host, [name(), name(), name()], state, loads).prop_map(
        |(size, (column, falling), host, [cloud, country, version], state, loads)| Query {
            size,
            sort: Column::ALL[column],
            falling,
            host: host.into(),
            cloud: cloud.into(),
            country: country.into(),
            version: version.into(),
            state: STATES.get(state).copied(),
            load_min: loads.0,
            load_max: loads.1,
            ..Query::default()
        },
    )
}

/// The caches of the table, in its order, by their ids.
fn listed(body: &str) -> Vec<u64> {
    let links = body.split("href=\"/v1/caches/").skip(1);
    links.map(|link| u64::from_str_radix(&link[..16], 16).unwrap()).collect()
}

proptest! {
    #[test]
    fn the_pages_together_are_what_is_wanted_in_order(ones in ones(), query in queries()) {
        let caches = ones.iter().zip(0..).map(|(one, number)| one.cache(number)).collect();
        let snapshot = snapshot(caches);
        let setting =
            Setting { now: NOW, base: None, is_verifying: true, is_object_suspected: false };
        let at = |page_number: usize| {
            let query = Query { page: page_number, ..query.clone() };
            page(&snapshot, &[], &query, setting)
        };
        let wanted = |at: &usize| ones[*at].is_wanted(&query);
        let mut expected: Vec<_> = (0..ones.len()).filter(wanted).collect();
        // Stable: of equals, the first to join comes first.
        expected.sort_by(|one, two| ones[*one].compare(&ones[*two], &query));
        let pages = expected.len().div_ceil(query.size).max(1);
        let mut found = Vec::new();
        for number in 1..=pages {
            let one = listed(&at(number).body);
            prop_assert!(one.len() <= query.size);
            found.extend(one.into_iter().map(|id| id as usize));
        }
        prop_assert_eq!(&found, &expected);
        // Beyond the end is the end: the list may have become shorter.
        let (last, beyond) = (at(pages).body, at(pages + 7).body);
        prop_assert_eq!(listed(&last), listed(&beyond));
    }
}

/// 28.5% is shown, and found, as 29%, whatever the nearest double to 0.285 is.
#[test]
fn halves_of_a_percent_are_rounded_up() {
    for load in (5..1000).step_by(10) {
        let mut said = beat(0);
        said.load = Number::Int(load);
        said.max_load = Some(Echo { value: 1000.0, text: "1000".into() });
        let now = Now { elapsed_ns: 0, unix_s: 0.0 };
        let shown = snapshot(vec![Arc::new(Cache::new(0, 0, &said, None, now))]);
        let percent = (load / 10 + 1) as u8;
        let query = Query { load_min: percent, load_max: percent, ..Query::default() };
        let body = page(
            &shown,
            &[],
            &query,
            Setting { now: NOW, base: None, is_verifying: true, is_object_suspected: false },
        )
        .body;
        assert_eq!(listed(&body), [0], "{load} of 1,000");
        assert!(body.contains(&format!("{percent}%")), "{load} of 1,000: {body}");
    }
}
