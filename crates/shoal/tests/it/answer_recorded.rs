//! Recorded answers of Shoal's own server, byte for byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_shoal::answer::old::{METHOD_NOT_ALLOWED, NOT_FOUND, OldEntry, entries};
use plimsoll_shoal::answer::paths::{Route, route};
use plimsoll_shoal::answer::{JSON, PAC, pac};
use plimsoll_shoal::order::{Menu, Weighed, Weighing, shoal_order};
use plimsoll_shoal::registry::Cache;

use crate::support::recorded::{Recorded, World, answers, folder};

/// What we answer: status, headers, body.
type Ours = (u16, BTreeMap<String, String>, String);

/// The caches for a client in the original's order, with their costs.
fn nearest(
    world: &World,
    asked: &Recorded,
    caches: &[Arc<Cache>],
    menu: Menu,
    count: usize,
) -> Vec<Weighed> {
    let Some(spot) = world.spot(asked.client) else { return Vec::new() };
    let local = |cache: &Cache| world.local(asked.client, cache);
    shoal_order(caches.iter(), spot, menu, count, &Weighing::default(), local)
}

fn ours(world: &World, asked: &Recorded, index: usize) -> Ours {
    let caches = world.caches(index);
    let mut body = Vec::new();
    let (status, content_type, allow) = match route(&asked.method, &asked.path) {
        Route::Nearest { menu, count } => {
            let nearest = nearest(world, asked, &caches, menu, count);
            entries(
                &mut body,
                nearest.iter().map(|Weighed { cache, cost, local }| OldEntry {
                    cache,
                    local: *local,
                    distance: Some(*cost),
                }),
            );
            (200, JSON, None)
        }
        Route::All => {
            let entry = |cache| OldEntry { cache, local: false, distance: None };
            entries(&mut body, caches.iter().map(|cache| entry(&**cache)));
            (200, JSON, None)
        }
        Route::Wpad => {
            let nearest = nearest(world, asked, &caches, Menu::Squid, pac::COUNT);
            let host =
                |weighed: &'_ Weighed| (Box::from(weighed.cache.hostname()), weighed.cache.port);
            let hosts: Vec<_> = nearest.iter().map(host).collect();
            pac::wpad(&mut body, hosts.iter().map(|(host, port)| (&**host, *port)));
            (200, PAC, None)
        }
        Route::NotFound => {
            body.extend_from_slice(NOT_FOUND.body.as_bytes());
            (NOT_FOUND.status, NOT_FOUND.content_type, NOT_FOUND.allow)
        }
        Route::MethodNotAllowed => {
            let fixed = METHOD_NOT_ALLOWED;
            body.extend_from_slice(fixed.body.as_bytes());
            (fixed.status, fixed.content_type, fixed.allow)
        }
        other => panic!("{} {} became {other:?}", asked.method, asked.path),
    };
    let mut headers = BTreeMap::from([("Content-Type".to_owned(), content_type.to_owned())]);
    headers.extend(allow.map(|methods| ("Allow".to_owned(), methods.to_owned())));
    // Where the original does not say how long the body is, it sends it in chunks.
    if asked.headers.contains_key("Content-Length") {
        headers.insert("Content-Length".to_owned(), body.len().to_string());
    }
    (status, headers, String::from_utf8(body).unwrap())
}

#[test]
fn forty_seven_of_forty_eight_recorded_answers_are_equal_byte_for_byte() {
    let name = "forty_seven_of_forty_eight_recorded_answers_are_equal_byte_for_byte";
    let Some(folder) = folder(name) else { return };
    let answers = answers(&folder);
    let world = World::new(&folder, &answers);
    let mut equal = 0;
    let mut exempt = Vec::new();
    for (index, asked) in answers.iter().enumerate() {
        if route(&asked.method, &asked.path) == Route::ProxyPac {
            exempt.push(asked.path.as_str());
            continue;
        }
        let mut headers = asked.headers.clone();
        for exempt in ["Date", "Server", "Transfer-Encoding"] {
            headers.remove(exempt);
        }
        let (status, our_headers, body) = ours(&world, asked, index);
        let line = format!("{index}: {} {} from {}", asked.method, asked.path, asked.client);
        assert_eq!(status, asked.status, "{line}");
        assert_eq!(our_headers, headers, "{line}");
        assert_eq!(body, asked.body, "{line}");
        equal += 1;
    }
    assert_eq!((equal, exempt), (47, vec!["/proxy.pac"]));
}

#[test]
fn the_recorded_registry_has_every_cache_that_the_original_listed() {
    let name = "the_recorded_registry_has_every_cache_that_the_original_listed";
    let Some(folder) = folder(name) else { return };
    let answers = answers(&folder);
    let caches = World::new(&folder, &answers).caches(0);
    let named: Vec<&str> = caches.iter().map(|cache| cache.hostname()).collect();
    let expected = [
        "host-142-104-6-10.net-142-104.example",
        "squid1.cern.example",
        "squid2.uvic.example",
        "varnish1.example",
        "varnish2.example",
        "old.example",
        "drift.example",
    ];
    assert_eq!(named, expected);
}
