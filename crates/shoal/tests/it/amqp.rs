//! Heartbeats by a real RabbitMQ: what a server hears and what it does not believe.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_net::http::client::Plain;
use plimsoll_shoal::agent::announce::{Announce as _, Message};
use plimsoll_shoal::amqp::{Error, Publisher};
use plimsoll_shoal::auth::Keys;
use plimsoll_shoal::server::{Auth, Options};
use serde_json::{Value, json};

use crate::support::rabbit::{Encrypted, broker, virtual_host};
use crate::support::recorded::folder;
use crate::support::served::{Served, hears, heartbeat, options, speaks, unix_s};
use crate::support::until::until;

const TIME: Duration = Duration::from_secs(30);

fn say(publisher: &mut Publisher, key: &str, body: &Value) {
    publisher.publish(key, body.to_string().as_bytes(), &[], TIME).unwrap();
}

/// The bodies that Shoal's agents sent, released and current, but said now.
#[test]
fn heartbeats_of_both_recorded_agents_are_heard() {
    let test = "heartbeats_of_both_recorded_agents_are_heard";
    let (Some(rabbit), Some(folder)) = (virtual_host(test), folder(test)) else { return };
    let served = Served::start(options(), hears(broker(&rabbit.url()), test, 1));
    let mut publisher = speaks(broker(&rabbit.url()), test, None);
    let text = std::fs::read(folder.join("agent_heartbeats_recorded.json")).unwrap();
    let recorded: Value = serde_json::from_slice(&text).unwrap();
    let mut hosts = Vec::new();
    for (number, messages) in recorded.as_object().unwrap().values().enumerate() {
        for message in messages.as_array().unwrap() {
            let raw = message["body_raw"].as_str().unwrap();
            let was = message["body"]["timestamp"].to_string();
            // All were recorded on one host: each agent gets a name and an address of its own.
            let host = message["body"]["hostname"].as_str().unwrap();
            let own = format!("agent{number}.example");
            let raw = raw.replace(&was, &unix_s().to_string()).replace(host, &own);
            let raw = raw.replace("142.104.6.10", &format!("142.104.6.{number}"));
            let raw = raw.replace("128.142.7.7", &format!("128.142.7.{number}"));
            publisher.publish("info", raw.as_bytes(), &[], TIME).unwrap();
            hosts.push(own);
        }
    }
    hosts.dedup();
    assert!(hosts.len() >= 2, "{hosts:?}");
    until("all are listed", || served.listed() == hosts);
    served.stop();
}

/// Each of them ended Shoal's own server, or its answers.
#[test]
fn poison_ends_nothing() {
    let test = "poison_ends_nothing";
    let Some(rabbit) = virtual_host(test) else { return };
    let served = Served::start(options(), hears(broker(&rabbit.url()), test, 2));
    let mut publisher = speaks(broker(&rabbit.url()), test, None);
    let with = |name: &str, value: Value| {
        let mut body = heartbeat(1);
        body[name] = value;
        body.to_string().into_bytes()
    };
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(300_000)).into_bytes();
    for (body, reason) in [
        (b"[]".to_vec(), "malformed"),
        (Vec::new(), "malformed"),
        (with("timestamp", json!("yesterday")), "type"),
        (with("load", json!("12")), "type"),
        (with("public_ip", json!("1.1.1.1 -x; reboot #")), "range"),
        (b"\xff\xfe".to_vec(), "malformed"),
        (long, "too_long"),
    ] {
        let before = served.refused(reason);
        publisher.publish("info", &body, &[], TIME).unwrap();
        until("it is refused", || served.refused(reason) == before + 1);
    }
    publisher.publish("#.*.", &[0; 9000], &[], TIME).unwrap();
    say(&mut publisher, "info", &heartbeat(2));
    until("what comes after it is heard", || served.listed() == ["squid000002.example"]);
    assert_eq!(served.get("/nearest/5").unwrap().status, 200);
    assert_eq!(served.consumer.status().connections(), 1);
    served.stop();
}

#[test]
fn a_goodbye_ends_a_cache_and_an_error_is_kept() {
    let test = "a_goodbye_ends_a_cache_and_an_error_is_kept";
    let Some(rabbit) = virtual_host(test) else { return };
    let served = Served::start(options(), hears(broker(&rabbit.url()), test, 3));
    let mut publisher = speaks(broker(&rabbit.url()), test, Some("here"));
    let message = |body: &Value| body.to_string().into_bytes();
    let mut send = |body: &Value, goodbye: bool| {
        let body = message(body);
        let message = Message { body: &body, address: None, unix_ms: 0 };
        let sent = if goodbye { publisher.goodbye(&message) } else { publisher.announce(&message) };
        sent.unwrap();
    };
    send(&heartbeat(1), false);
    send(&heartbeat(2), false);
    until("both are listed", || served.listed().len() == 2);
    let uuid = heartbeat(1)["uuid"].clone();
    send(&json!({"uuid": uuid, "timestamp": unix_s(), "goodbye": true}), true);
    until("one has gone", || served.listed() == ["squid000002.example"]);
    let error = json!({"uuid": "a secret", "hostname": "squid", "error": "no\ndisk"});
    say(&mut publisher, "here.error", &error);
    until("the error is kept", || !served.server.shared().complaints().is_empty());
    let complaints = served.server.shared().complaints();
    assert_eq!(&*complaints[0].text, "squid: no disk");
    assert_eq!(complaints[0].cloud.as_deref(), Some("here"));
    let metrics = String::from_utf8(served.get("/metrics").unwrap().body).unwrap();
    assert!(metrics.contains("\nshoal_agent_errors_total 1\n"), "{metrics}");
    assert!(metrics.contains("shoal_broker_messages_total{broker=\"127.0.0.1:"), "{metrics}");
    served.stop();
}

#[test]
fn every_server_hears_everything_and_chosen_clouds_are_chosen() {
    let test = "every_server_hears_everything_and_chosen_clouds_are_chosen";
    let Some(rabbit) = virtual_host(test) else { return };
    let first = Served::start(options(), hears(broker(&rabbit.url()), test, 4));
    let second = Served::start(options(), hears(broker(&rabbit.url()), test, 5));
    let mut choosy = hears(broker(&rabbit.url()), test, 6);
    choosy.clouds = vec!["here".to_owned()];
    let choosy = Served::start(options(), choosy);
    let mut publisher = speaks(broker(&rabbit.url()), test, None);
    for number in 0..100 {
        let key = ["info", "here.info", "there.info", "other"][number as usize % 4];
        say(&mut publisher, key, &heartbeat(number));
    }
    until("both have heard all", || first.listed().len() == 100 && second.listed().len() == 100);
    assert_eq!(first.listed(), second.listed());
    until("one has heard its cloud", || choosy.listed().len() == 50);
    let own = |host: &String| host[5..11].parse::<u32>().unwrap() % 4 < 2;
    assert!(choosy.listed().iter().all(own));
    for served in [first, second, choosy] {
        served.stop();
    }
}

#[test]
fn signatures_are_looked_at() {
    let test = "signatures_are_looked_at";
    let Some(rabbit) = virtual_host(test) else { return };
    let text = "site a-secret-of-thirty-two-bytes-xx clouds=here";
    let signing = || Options { auth: Auth::Required, keys: Keys::read(text).unwrap(), ..options() };
    let served = Served::start(signing(), hears(broker(&rabbit.url()), test, 7));
    let keys = Keys::read(text).unwrap();
    let mut publisher = speaks(broker(&rabbit.url()), test, None);
    let mut send = |body: &Value, change: fn(&mut Vec<(&str, String)>)| {
        let body = body.to_string();
        let unix_ms = (unix_s() * 1e3) as i64;
        let signature = keys.get("site").unwrap().sign(body.as_bytes(), unix_ms);
        let mut headers = signature.headers().to_vec();
        change(&mut headers);
        publisher.publish("here.info", body.as_bytes(), &headers, TIME).unwrap();
    };
    let here = |number| {
        let mut body = heartbeat(number);
        body["cloud"] = json!("here");
        body
    };
    send(&here(1), |_| ());
    until("what is signed is heard", || served.listed() == ["squid000001.example"]);
    send(&here(2), |headers| headers.truncate(0));
    send(&here(3), |headers| drop(headers.pop()));
    send(&here(4), |headers| headers[2].1 = "0".repeat(64));
    send(&here(5), |headers| headers.push(headers[0].clone()));
    until("the rest is refused", || served.refused("signature") == 4);
    send(&heartbeat(6), |_| ());
    until("another cloud's is refused", || served.refused("key_scope") == 1);
    assert_eq!(served.listed(), ["squid000001.example"]);
    served.stop();
}

#[test]
fn tls_with_certificates_of_both_sides() {
    let test = "tls_with_certificates_of_both_sides";
    let Some(rabbit) = Encrypted::own(test) else { return };
    let dial = Arc::new(rabbit.tls(true));
    let served = Served::begin(options(), hears(rabbit.broker(), test, 8), dial.clone());
    until("the server hears the broker", || served.consumer.status().is_connected());
    let speaks = |dial| Publisher::new(rabbit.broker(), test.to_owned(), None, TIME, dial, None);
    say(&mut speaks(dial), "info", &heartbeat(1));
    until("it is listed", || served.listed().len() == 1);
    let refused = |mut publisher: Publisher| publisher.publish("info", b"{}", &[], TIME).is_err();
    assert!(refused(speaks(Arc::new(rabbit.tls(false)))), "without a certificate");
    assert!(refused(speaks(Arc::new(Plain))), "without TLS");
    served.stop();
}

#[test]
fn an_agent_is_told_that_nobody_listens() {
    let test = "an_agent_is_told_that_nobody_listens";
    let Some(rabbit) = virtual_host(test) else { return };
    let mut publisher = speaks(broker(&rabbit.url()), test, None);
    for _ in 0..2 {
        let error = publisher.publish("info", b"{}", &[], TIME).unwrap_err();
        assert!(matches!(error, Error::Refused { code: 404, .. }), "{error}");
    }
    let served = Served::start(options(), hears(broker(&rabbit.url()), test, 9));
    say(&mut publisher, "info", &heartbeat(1));
    until("it is listed", || served.listed().len() == 1);
    served.stop();
    // The exchange is there still, but no queue.
    until("the queue has gone", || {
        let body = heartbeat(1).to_string();
        let outcome = publisher.publish("info", body.as_bytes(), &[], TIME);
        matches!(outcome, Err(Error::Unrouted))
    });
}
