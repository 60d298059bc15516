//! Brokers and servers that go away and come back, and brokers that want no server.

use std::sync::Arc;

use plimsoll_net::http::client::Plain;
use plimsoll_shoal::amqp::{Broker, Error};
use plimsoll_testing::servers::RabbitMq;

use crate::support::rabbit::{broker, virtual_host};
use crate::support::served::{Served, hears, heartbeat, options, speaks};
use crate::support::until::until;

const TIME: std::time::Duration = std::time::Duration::from_secs(30);
const AGENTS: u32 = 1000;

/// A round of heartbeats, as all agents say them in one interval.
fn round(publisher: &mut plimsoll_shoal::amqp::Publisher) -> Result<(), Error> {
    for number in 0..AGENTS {
        let body = heartbeat(number).to_string();
        publisher.publish("info", body.as_bytes(), &[], TIME)?;
    }
    Ok(())
}

/// Two servers, 1,000 agents: a server restarted, the broker restarted.
#[test]
fn lists_are_equal_again_within_one_interval() {
    let test = "lists_are_equal_again_within_one_interval";
    let Some(mut rabbit) = RabbitMq::own(test) else { return };
    let all = AGENTS as usize;
    let first = Served::start(options(), hears(broker(&rabbit.url()), test, 1));
    let second = Served::start(options(), hears(broker(&rabbit.url()), test, 2));
    let mut publisher = speaks(broker(&rabbit.url()), test, None);
    round(&mut publisher).unwrap();
    until("both list all", || first.listed().len() == all && second.listed().len() == all);

    second.stop();
    assert_eq!(first.listed().len(), all);
    let second = Served::start(options(), hears(broker(&rabbit.url()), test, 3));
    assert_eq!(second.listed().len(), 0);
    round(&mut publisher).unwrap();
    until("the new one lists all", || second.listed().len() == all);
    assert_eq!(first.listed(), second.listed());

    rabbit.end();
    let away = |served: &Served| !served.consumer.status().is_connected();
    until("both notice", || away(&first) && away(&second));
    // Nothing known is lost, and every look-up is answered.
    for served in [&first, &second] {
        assert_eq!(served.listed().len(), all);
        assert_eq!(served.get("/nearest/5").unwrap().status, 200);
    }
    round(&mut publisher).unwrap_err();
    rabbit.begin();
    let back = |served: &Served| {
        assert_eq!(served.get("/nearest/5").unwrap().status, 200);
        served.consumer.status().is_connected()
    };
    until("both are back", || back(&first) && back(&second));
    let renewed = |served: &Served| served.server.shared().registry().counts().renewed;
    let before = [renewed(&first), renewed(&second)];
    round(&mut publisher).unwrap();
    let expected = before.map(|count| count + u64::from(AGENTS));
    until("both hear all again", || [renewed(&first), renewed(&second)] == expected);
    assert_eq!(first.listed(), second.listed());
    assert_eq!(first.server.shared().registry().counts().expired, 0);
    first.stop();
    second.stop();
}

/// What is wrong is said once and clearly, and tried again.
fn is_refused(test: &str, broker: Broker, exchange: &str, reason: &str, words: &[&str]) {
    let served = Served::begin(options(), hears(broker, exchange, 4), Arc::new(Plain));
    let status = served.consumer.status();
    until("it is refused", || status.trouble().is_some());
    let trouble = status.trouble().unwrap();
    for word in words {
        assert!(trouble.contains(word), "{test}: {trouble}");
    }
    assert!(!status.is_connected());
    let failures = status.failures();
    assert!(failures.iter().any(|(why, count)| *why == reason && *count > 0), "{failures:?}");
    let metrics = String::from_utf8(served.get("/metrics").unwrap().body).unwrap();
    assert!(metrics.contains(&format!(",reason=\"{reason}\"}}")), "{metrics}");
    let health: serde_json::Value =
        serde_json::from_slice(&served.get("/v1/health").unwrap().body).unwrap();
    assert_eq!(health["brokers"][0]["connected"], false, "{health}");
    assert_eq!(health["brokers"][0]["reason"], reason, "{health}");
    assert_eq!(served.get("/nearest/5").unwrap().status, 200);
    served.stop();
}

#[test]
fn a_wrong_password_is_said() {
    let test = "a_wrong_password_is_said";
    let Some(rabbit) = virtual_host(test) else { return };
    let wrong = Broker { password: "not this".to_owned(), ..broker(&rabbit.url()) };
    is_refused(test, wrong, test, "credentials", &["ACCESS_REFUSED", "password"]);
}

/// `amq.topic` is there in every broker, and durable.
#[test]
fn an_exchange_that_is_another_is_said() {
    let test = "an_exchange_that_is_another_is_said";
    let Some(rabbit) = virtual_host(test) else { return };
    let words = ["406", "durable", "--amqp-exchange"];
    is_refused(test, broker(&rabbit.url()), "amq.topic", "exchange", &words);
}

#[test]
fn a_virtual_host_that_is_not_there_is_said() {
    let test = "a_virtual_host_that_is_not_there_is_said";
    let Some(rabbit) = virtual_host(test) else { return };
    let elsewhere = Broker { vhost: "nowhere".to_owned(), ..broker(&rabbit.url()) };
    is_refused(test, elsewhere, test, "vhost", &["530", "nowhere", "/%2f"]);
}

#[test]
fn a_broker_that_is_none_is_said() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("amqp://{}", listener.local_addr().unwrap());
    let speaks_http = std::thread::spawn(move || {
        use std::io::Write as _;
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    is_refused("a_broker_that_is_none_is_said", broker(&url), "shoal", "protocol", &["AMQP"]);
    speaks_http.join().unwrap();
    let nobody = broker("amqp://127.0.0.1:1");
    is_refused("a_broker_that_is_none_is_said", nobody, "shoal", "away", &["connect"]);
}
