//! The collectors of services: against real ones after a known load, and against what is none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use plimsoll_monitor::collector::CollectError;
use plimsoll_monitor::{Samples, Source, Watched};
use plimsoll_testing::servers::{MariaDb, Memcached, RabbitMq, Redis};
use plimsoll_testing::wait_for;
use rustix::process::Signal;
use serde_json::json;

use crate::servers::{Server, with_monitor};

fn source(address: String) -> Source {
    let limit = Duration::from_secs(20);
    Source { address: Some(address), instance: Some("one".into()), limit, ..Source::default() }
}

fn open(name: &str, address: String) -> Watched {
    Watched::open(name, &source(address)).unwrap()
}

fn value(samples: &Samples, name: &str, labels: &[(&str, &str)]) -> f64 {
    samples.value(name, labels).unwrap_or_else(|| panic!("no {name} {labels:?} in {samples:?}"))
}

/// The value of a series that is a whole number.
#[expect(clippy::cast_possible_truncation, reason = "far below 2⁵³")]
fn count(samples: &Samples, name: &str, labels: &[(&str, &str)]) -> u64 {
    value(samples, name, labels) as u64
}

/// How much a counter rose from one sample to the next.
fn rise(samples: &[Samples; 2], name: &str, labels: &[(&str, &str)]) -> u64 {
    let [before, after] = samples.each_ref().map(|samples| count(samples, name, labels));
    after - before
}

fn assert_whole(samples: &Samples) {
    assert_eq!((samples.left_out(), samples.first_left_out()), (0, None));
    assert!(samples.iter().all(|sample| sample.label("instance") == Some("one")));
}

/// Sends bytes, and reads until the answer ends so.
fn say(stream: &mut TcpStream, request: &[u8], end: &[u8]) {
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(end) {
        let mut byte = [0; 1];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
}

#[test]
fn nginx_counts_what_it_was_sent() {
    let Some(server) = Server::nginx("nginx_counts_what_it_was_sent") else { return };
    let mut watched = open("nginx", server.address());
    let before = watched.collect().unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut kept: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(("127.0.0.1", server.port)).unwrap()).collect();
    for round in 0..40 {
        say(&mut kept[round % 3], request, b"ok");
    }
    let samples = [before, watched.collect().unwrap()];
    // Each sample is a request and a connection too.
    assert_eq!(rise(&samples, "nginx_http_requests_total", &[]), 40 + 1);
    assert_eq!(rise(&samples, "nginx_connections_accepted", &[]), 3 + 1);
    assert_eq!(rise(&samples, "nginx_connections_handled", &[]), 3 + 1);
    let now = |name: &str| count(&samples[1], name, &[]);
    assert_eq!((now("nginx_connections_active"), now("nginx_connections_waiting")), (3 + 1, 3));
    assert_eq!((now("nginx_connections_writing"), now("nginx_connections_reading")), (1, 0));
    samples.iter().for_each(assert_whole);
}

#[test]
fn a_page_that_is_not_there_is_said() {
    let Some(server) = Server::nginx("a_page_that_is_not_there_is_said") else { return };
    let address = format!("http://{}/elsewhere", server.address());
    let error = open("nginx", address).collect().unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected the page of `stub_status`, found \"ok\"",
        "any page but the status answers so"
    );
}

#[test]
fn redis_counts_what_it_was_sent() {
    let Some(server) = Server::redis("redis_counts_what_it_was_sent") else { return };
    let mut watched = open("redis", server.address());
    let before = watched.collect().unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    for key in 0..3 {
        say(&mut client, format!("SET key{key} value\r\n").as_bytes(), b"+OK\r\n");
    }
    for key in 3..5 {
        say(&mut client, format!("SET key{key} value EX 1000\r\n").as_bytes(), b"+OK\r\n");
    }
    for _ in 0..9 {
        say(&mut client, b"GET key0\r\n", b"value\r\n");
    }
    for _ in 0..11 {
        say(&mut client, b"GET absent\r\n", b"$-1\r\n");
    }
    let samples = [before, watched.collect().unwrap()];
    assert_eq!(rise(&samples, "redis_keyspace_hits_total", &[]), 9);
    assert_eq!(rise(&samples, "redis_keyspace_misses_total", &[]), 11);
    // The first sample's own command is counted when it has ended.
    assert_eq!(rise(&samples, "redis_commands_processed_total", &[]), 25 + 1);
    // The collector keeps its connection.
    assert_eq!(rise(&samples, "redis_connections_received_total", &[]), 1);
    let [_, after] = &samples;
    assert_eq!(count(after, "redis_connected_clients", &[]), 2);
    assert_eq!(count(after, "redis_db_keys", &[("db", "db0")]), 5);
    assert_eq!(count(after, "redis_db_keys_expiring", &[("db", "db0")]), 2);
    assert!(value(after, "redis_memory_used_bytes", &[]) > 0.0);
    samples.iter().for_each(assert_whole);
}

#[test]
fn memcached_counts_what_it_was_sent() {
    let Some(server) = Server::memcached("memcached_counts_what_it_was_sent") else { return };
    let mut watched = open("memcached", server.address());
    let before = watched.collect().unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    for key in 0..7 {
        say(&mut client, format!("set key{key} 0 0 5\r\nvalue\r\n").as_bytes(), b"STORED\r\n");
    }
    for _ in 0..9 {
        say(&mut client, b"get key0\r\n", b"value\r\nEND\r\n");
    }
    for _ in 0..4 {
        say(&mut client, b"get absent\r\n", b"END\r\n");
    }
    for key in 5..7 {
        say(&mut client, format!("delete key{key}\r\n").as_bytes(), b"DELETED\r\n");
    }
    let samples = [before, watched.collect().unwrap()];
    let commands = |command: &str, status: &str| {
        let labels = [("command", command), ("status", status)];
        rise(&samples, "memcached_commands_total", &labels)
    };
    assert_eq!((commands("get", "hit"), commands("get", "miss")), (9, 4));
    assert_eq!((commands("set", "any"), commands("delete", "hit")), (7, 2));
    assert_eq!(rise(&samples, "memcached_items_total", &[]), 7);
    assert_eq!(rise(&samples, "memcached_connections_total", &[]), 1);
    let [_, after] = &samples;
    assert_eq!(count(after, "memcached_current_items", &[]), 5);
    assert!(value(after, "memcached_current_bytes", &[]) > 25.0);
    assert_eq!(count(after, "memcached_limit_bytes", &[]), 64 << 20);
    samples.iter().for_each(assert_whole);
}

#[test]
fn mariadb_counts_what_it_was_sent() {
    let Some(server) = MariaDb::own("mariadb_counts_what_it_was_sent", &[]) else { return };
    with_monitor(&server);
    server.sql("CREATE DATABASE a; CREATE TABLE a.b (c INT)");
    let connected =
        |samples: &Samples| count(samples, "mysql_global_status_threads_connected", &[]);
    let mut watched = open("mariadb", server.address().to_string());
    // A client says goodbye and waits for no answer: the server may have it for a moment more.
    let mut without_clients = || {
        wait_for("the server to let the client go", || {
            let samples = watched.collect().unwrap();
            (connected(&samples) == 1).then_some(samples)
        })
    };
    let before = without_clients();
    let asked = server.sql("SELECT 1; SELECT 2; SELECT 3; DO 1; INSERT INTO a.b VALUES (1), (2);");
    assert_eq!(asked, "1\n2\n3");
    let samples = [before, without_clients()];
    let commands =
        |of: &str| rise(&samples, "mysql_global_status_commands_total", &[("command", of)]);
    // The client asks for something of its own when it connects.
    assert!((3..=4).contains(&commands("select")), "{}", commands("select"));
    assert_eq!((commands("insert"), commands("delete")), (1, 0));
    let written = rise(&samples, "mysql_global_status_handlers_total", &[("handler", "write")]);
    // Those of the table of figures itself are among them.
    assert!(written >= 2, "{written}");
    // The collector keeps its connection.
    assert_eq!(rise(&samples, "mysql_global_status_connections", &[]), 1);
    let [_, after] = &samples;
    assert_eq!(connected(after), 1);
    samples.iter().for_each(assert_whole);
}

#[test]
fn rabbitmq_counts_what_it_was_sent() {
    let Some(server) = RabbitMq::own("rabbitmq_counts_what_it_was_sent") else { return };
    let mut watched = open("rabbitmq", server.page());
    let queue = json!({"durable": false, "auto_delete": false, "arguments": {}});
    let (status, said) = server.manage("PUT", "/api/queues/%2F/box", &queue);
    assert!((200..300).contains(&status), "{said}");
    // The broker gathers its figures every five seconds.
    let waiting = |samples: &Samples| count(samples, "rabbitmq_queue_messages_ready", &[]);
    let before = watched.collect().unwrap();
    for _ in 0..7 {
        let message = json!({"properties": {}, "routing_key": "box", "payload": "a",
            "payload_encoding": "string"});
        let said = server.manage("POST", "/api/exchanges/%2F/amq.default/publish", &message);
        assert_eq!(said.1["routed"], true, "{said:?}");
    }
    let after = wait_for("figures of seven messages", || {
        let samples = watched.collect().unwrap();
        (waiting(&samples) == 7).then_some(samples)
    });
    let samples = [before, after];
    assert_eq!(rise(&samples, "rabbitmq_global_messages_received_total", &[]), 7);
    assert_eq!(rise(&samples, "rabbitmq_global_messages_routed_total", &[]), 7);
    let [_, after] = &samples;
    assert_eq!(count(after, "rabbitmq_queues", &[]), 1);
    assert!(value(after, "rabbitmq_process_resident_memory_bytes", &[]) > 1e7);
    assert_eq!(count(after, "rabbitmq_alarms_memory_used_watermark", &[]), 0);
    samples.iter().for_each(assert_whole);
    for series in plimsoll_monitor::collector::named("rabbitmq").unwrap().groups[0].series {
        assert!(after.iter().any(|sample| sample.name == series.name), "{}", series.name);
    }
}

#[test]
fn mariadb_says_why_nobody_is_let_in() {
    let Some(server) = MariaDb::shared("mariadb_says_why_nobody_is_let_in") else { return };
    let refused = open("mariadb", format!("nobody@{}", server.address())).collect().unwrap_err();
    assert!(refused.to_string().contains("Access denied for user 'nobody'"), "{refused}");
    let with_password = source("monitor:secret@127.0.0.1:3306".to_owned());
    let error = Watched::open("mariadb", &with_password).unwrap_err();
    let error = plimsoll_units::failure::chain(&error);
    assert!(error.contains("without a password") && !error.contains("secret"), "{error}");
}

#[test]
fn haproxys_page_is_read_whole() {
    let Some(server) = Server::haproxy("haproxys_page_is_read_whole") else { return };
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    for _ in 0..12 {
        say(&mut client, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\r\n\r\n");
    }
    let samples = open("prometheus", server.address()).collect().unwrap();
    assert_whole(&samples);
    assert!(samples.len() > 50, "{} samples", samples.len());
    let web = [("proxy", "web"), ("code", "2xx")];
    assert_eq!(count(&samples, "haproxy_frontend_http_responses_total", &web), 12);
}

#[test]
fn every_documented_series_of_a_service_is_given() {
    let test = "every_documented_series_of_a_service_is_given";
    let nginx = Server::nginx(test);
    // A database without a key is none.
    let redis = Redis::shared(test).map(|server| (server, server.keys()));
    redis.iter().for_each(|(_, keys)| assert_eq!(keys.says("SET key value"), b"+OK"));
    let mariadb = MariaDb::shared(test).inspect(|server| with_monitor(server));
    let servers = [
        ("nginx", nginx.as_ref().map(Server::address)),
        ("redis", redis.as_ref().map(|(server, _)| server.address().to_string())),
        ("memcached", Memcached::shared(test).map(|server| server.address().to_string())),
        ("mariadb", mariadb.map(|server| server.address().to_string())),
    ];
    for (name, address) in servers {
        let Some(address) = address else { continue };
        let samples = open(name, address).collect().unwrap();
        for group in plimsoll_monitor::collector::named(name).unwrap().groups {
            for series in group.series {
                assert!(samples.iter().any(|sample| sample.name == series.name), "{}", series.name);
            }
        }
    }
}

#[test]
fn a_service_that_comes_back_is_read_again() {
    let test = "a_service_that_comes_back_is_read_again";
    for server in [Server::redis(test), Server::memcached(test), Server::mariadb(test)] {
        let Some(mut server) = server else { continue };
        let mut watched = open(server.collector, server.address());
        watched.collect().unwrap();
        server.process().end();
        let error = watched.collect().unwrap_err();
        assert!(matches!(error, CollectError::Ask { .. }), "{error}");
        server.process().again();
        watched.collect().unwrap();
        // The connection that was kept is closed by now, unseen.
        server.process().end();
        server.process().again();
        watched.collect().unwrap();
    }
}

#[test]
fn a_service_that_stands_still_is_late_and_read_again_when_it_goes_on() {
    let test = "a_service_that_stands_still_is_late_and_read_again_when_it_goes_on";
    let start = [Server::nginx, Server::redis, Server::memcached, Server::mariadb];
    for server in start.map(|start| start(test)) {
        let Some(mut server) = server else { continue };
        let limit = Duration::from_millis(200);
        let quick = Source { limit, ..source(server.address()) };
        let mut hasty = Watched::open(server.collector, &quick).unwrap();
        let mut patient = open(server.collector, server.address());
        patient.collect().unwrap();
        server.process().signal(Signal::STOP);
        let error = plimsoll_units::failure::chain(&hasty.collect().unwrap_err());
        assert!(error.ends_with("no answer in 200 ms"), "{error}");
        server.process().signal(Signal::CONT);
        patient.collect().unwrap();
    }
}

/// A listener that takes each connection by the function.
fn listener(take: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            take(stream);
        }
    });
    address
}

#[test]
fn garbage_is_told_and_no_answer_is_endless() {
    for name in [
        "nginx",
        "redis",
        "memcached",
        "mariadb",
        "phpfpm",
        "rabbitmq",
        "target",
        "prometheus",
        "agent",
    ] {
        for answer in [
            "",
            "\n",
            "hello\r\n",
            "\0\0\0",
            "HTTP/1.1 200 OK\r\n\r\n<html>",
            "$99999999999999999999\r\n",
            "$5\r\nhello\r\n",
            "STAT \r\nEND\r\n",
            "-ERR no\r\n",
        ] {
            let address = listener(move |mut stream| {
                let _ = stream.write_all(answer.as_bytes());
            });
            let error = open(name, address).collect().unwrap_err();
            let is_one_line = !error.to_string().contains('\n');
            assert!(is_one_line, "{name} of {answer:?}: {error}");
        }
        let endless = listener(|mut stream| {
            let start = b"HTTP/1.1 200 OK\r\n\r\n".as_slice();
            let mut piece = start;
            while stream.write_all(piece).is_ok() {
                piece = b"STAT a 1\r\nSTAT b 2\r\n";
            }
        });
        let error = open(name, endless).collect().unwrap_err();
        assert!(
            matches!(error, CollectError::Ask { .. } | CollectError::Garbage { .. }),
            "{error}"
        );
        let long = listener(|mut stream| while stream.write_all(b"STAT a 1\r\n").is_ok() {});
        open(name, long).collect().unwrap_err();
        let silent = listener(std::mem::forget);
        let quick = Source { limit: Duration::from_millis(50), ..source(silent) };
        let error = Watched::open(name, &quick).unwrap().collect().unwrap_err();
        let error = plimsoll_units::failure::chain(&error);
        // An agent is asked twice, each time for half of the limit.
        let ms = if name == "agent" { 25 } else { 50 };
        assert!(error.ends_with(&format!("no answer in {ms} ms")), "{name}: {error}");
    }
}

#[test]
fn a_page_for_prometheus_keeps_its_names_and_is_bounded() {
    let page = |body: String| {
        listener(move |mut stream| {
            let _ = stream.read(&mut [0; 1024]);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes());
        })
    };
    let small = "a_total{code=\"200\",instance=\"b\"} 3\nnone NaN\nmost +Inf\nwhat is this\n";
    let samples = open("prometheus", page(small.to_owned())).collect().unwrap();
    assert_eq!(samples.len(), 1);
    let labels = [("code", "200"), ("exported_instance", "b"), ("instance", "one")];
    assert_eq!(count(&samples, "a_total", &labels), 3);
    // What is infinite, and what is no sample.
    assert_eq!(samples.left_out(), 2);
    let many: String = (0..6000).map(|n| format!("many{{n=\"{n}\"}} 1\n")).collect();
    let samples = open("prometheus", page(many)).collect().unwrap();
    assert_eq!((samples.len(), samples.left_out()), (5000, 1000));
    let long = "x".repeat(2 << 20);
    let error = open("prometheus", page(long)).collect().unwrap_err();
    assert!(plimsoll_units::failure::chain(&error).contains("longer than 1048576 bytes"));
}

#[test]
fn addresses_that_are_none_are_refused() {
    let refused = |name: &str, address: &str| {
        let source = Source { address: Some(address.to_owned()), ..Source::default() };
        plimsoll_units::failure::chain(&Watched::open(name, &source).unwrap_err())
    };
    for (name, address, wanted) in [
        ("nginx", "https://127.0.0.1/", "an address that is not encrypted"),
        ("nginx", "127.0.0.1:no", "a port between 1 and 65535"),
        ("redis", "http://127.0.0.1:1/", "redis://HOST:PORT"),
        ("redis", "redis://u:secret@127.0.0.1:1", "an address without user and password"),
        ("memcached", "::1", "an IPv6 address in brackets"),
        ("memcached", "", "a host after //"),
    ] {
        let error = refused(name, address);
        assert!(error.contains(wanted), "{name} {address:?}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
    for address in ["redis://127.0.0.1:1", "localhost", "[::1]:6379", "redis://localhost/"] {
        let source = Source { address: Some(address.to_owned()), ..Source::default() };
        Watched::open("redis", &source).unwrap();
    }
}
