//! `plimsoll shoal agent --amqp` against Debian's RabbitMQ: what it says, and to whom.

use plimsoll_testing::Weight;
use plimsoll_testing::servers::RabbitMq;
use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, Target};
use crate::program::{Going, PLIMSOLL, wait_for};
use crate::rabbit::{as_shoals_server, take};
use crate::shoal::{caches, registry};

/// An agent of a cache that answers.
fn agent(place: &Place, cache: &Target, arguments: &[&str]) -> Going {
    let (_, port) = cache.address().rsplit_once(':').unwrap();
    let mut command = place.command(PLIMSOLL, &["shoal", "agent", "--port", port]);
    command.args(["--external-ip", "192.0.2.7", "--interval", "1s"]).args(arguments);
    command.env("SHOAL_AMQP_PASSWORD", "guest");
    place.start(command)
}

/// The bodies of messages with a key.
fn bodies(all: &[Value], key: &str) -> Vec<Value> {
    let with = all.iter().filter(|message| message["routing_key"] == key);
    with.map(|message| serde_json::from_str(message["payload"].as_str().unwrap()).unwrap())
        .collect()
}

/// What Shoal's own server demands of a message, or it discards it or ends: an object with these
/// fields of these types (`load` a number, or its page and its answers break).
fn is_understood(beat: &Value) {
    let text = |name: &str| beat[name].as_str().unwrap_or_else(|| panic!("{name}: {beat}"));
    assert!(text("uuid").len() == 32 && text("uuid").bytes().all(|b| b.is_ascii_hexdigit()));
    assert!(!text("hostname").is_empty());
    assert!(beat["cache_port"].is_u64(), "{beat}");
    assert!(beat["load"].is_f64(), "{beat}");
    assert_eq!((text("cache_type"), text("upstream")), ("squid", "both"));
    assert_eq!(beat["verified"], false);
    let unix_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let age_s = unix_s.as_secs_f64() - beat["timestamp"].as_f64().unwrap();
    assert!((-10.0..180.0).contains(&age_s), "it is new: {age_s}");
    // One of them is needed, and the other is there only without the first.
    assert!(beat["public_ip"].is_string() != beat["external_ip"].is_string(), "{beat}");
}

#[test]
fn shoals_own_server_understands_our_agent() {
    let place = Place::new();
    let test = "shoals_own_server_understands_our_agent";
    let Some(rabbit) = RabbitMq::shared(test).map(RabbitMq::virtual_host) else { return };
    as_shoals_server(&rabbit, "old");
    let cache = place.calm();
    let url = rabbit.url();
    let plain = agent(&place, &cache, &["--amqp", &url]);
    let cloudy = agent(&place, &cache, &["--amqp", &url, "--cloud", "uvic.1"]);
    let mut all = Vec::new();
    wait_for("heartbeats of both", || {
        all.extend(take(&rabbit, "old"));
        let enough = |key| bodies(&all, key).len() >= 2;
        (enough("info") && enough("uvic.1.info")).then_some(())
    });
    for agent in [&plain, &cloudy] {
        agent.signal(Signal::TERM);
    }
    plain.wait().ended_with(0);
    cloudy.wait().ended_with(0);
    wait_for("both goodbyes", || {
        all.extend(take(&rabbit, "old"));
        (bodies(&all, "bye").len() == 1 && bodies(&all, "uvic.1.bye").len() == 1).then_some(())
    });
    for message in &all {
        assert_eq!(message["exchange"], "shoal", "{message}");
        let properties = message["properties"].as_object().unwrap();
        assert_eq!(properties["content_type"], "application/json", "{message}");
        assert!(properties.get("delivery_mode").is_none_or(|mode| mode == 1), "{message}");
        // As Python writes it: Shoal's client reads by patterns what its server echoes.
        assert!(message["payload"].as_str().unwrap().starts_with("{\"uuid\": \""), "{message}");
    }
    for (key, bye) in [("info", "bye"), ("uvic.1.info", "uvic.1.bye")] {
        let beats = bodies(&all, key);
        beats.iter().for_each(is_understood);
        assert!(beats.iter().all(|beat| beat["uuid"] == beats[0]["uuid"]));
        // Discarded for want of these, and an object, or it would end the server.
        let bye = &bodies(&all, bye)[0];
        assert!(bye.is_object() && bye.get("load").is_none() && bye.get("hostname").is_none());
        assert_eq!(bye["uuid"], beats[0]["uuid"]);
    }
    assert_eq!(bodies(&all, "uvic.1.info")[0]["cloud"], "uvic.1");
}

/// The agent starts before its broker, and outlives it; what it says reaches a registry by both
/// ways, and it stays small.
#[test]
fn an_agent_outlives_its_broker() {
    let place = Place::weighing(Weight::DATABASE);
    let Some(mut rabbit) = RabbitMq::own("an_agent_outlives_its_broker") else { return };
    rabbit.end();
    let cache = place.calm();
    let url = rabbit.url();
    let mut agent = agent(&place, &cache, &["--amqp", &url]);
    wait_for("the agent to find nobody", || agent.err().contains("not delivered").then_some(()));
    rabbit.begin();
    let (server, address) = registry(&place, &["--amqp", &url]);
    wait_for("the cache", || caches(&address).first().cloned());
    let renewed = || {
        let metrics = crate::shoal::get(&address, "/metrics");
        let line = metrics.lines().find(|line| line.starts_with("shoal_broker_messages_total"));
        line.and_then(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).unwrap_or(0)
    };
    rabbit.end();
    wait_for("the agent to say so", || {
        (agent.err().matches("not delivered").count() >= 2).then_some(())
    });
    assert_eq!(caches(&address).len(), 1, "no known cache is lost");
    let before = renewed();
    rabbit.begin();
    wait_for("a heartbeat after it came back", || (renewed() > before).then_some(()));
    assert!(!agent.has_ended());
    let kib = agent.resident_kib();
    println!("the agent has {kib} KiB");
    agent.signal(Signal::TERM);
    agent.wait().ended_with(0);
    wait_for("the goodbye", || caches(&address).is_empty().then_some(()));
    drop(server);
}

#[test]
fn what_cannot_be_announced_to_is_said_at_once() {
    let place = Place::weighing(Weight::WAITS);
    let empty = place.write("empty", "\n");
    let empty = empty.to_str().unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&[], "--server <URL>"),
        (&["--amqp", "http://broker"], "amqp[s]://"),
        (&["--amqp", "amqp://me:secret@broker"], "--amqp-password-file"),
        (&["--amqp", "amqp://broker", "--amqp-password-file", empty], "no password in"),
        (&["--amqp", "amqp://broker", "--amqp-ca", empty], "without amqps://"),
        (&["--amqp", "amqp://broker", "--cloud", "my cloud"], "--cloud my cloud"),
    ];
    for (more, text) in cases {
        let done = place.plimsoll(&[&["shoal", "agent"], more].concat()).ended_with(2);
        assert!(done.err.contains(text) && !done.err.contains("secret"), "{}", done.err);
    }
}
