//! Every parser against any text: it never panics, gives finite numbers only, and counts what it
//! leaves out.

use proptest::prelude::*;

use crate::cgroup;
use crate::host::{
    descriptors, diag, disk, load, memory, network, pressure, sockets, stat, states,
};
use crate::read::keyed;
use crate::sample::Samples;
use crate::service::{
    agent, memcached, nginx, phpfpm, prometheus, rabbitmq, redis, statsd, target,
};

/// A parser with a text that it understands wholly.
struct Parser {
    name: &'static str,
    text: &'static str,
    /// Whether the text was one of such a source.
    parse: fn(&str, &mut Samples) -> bool,
}

macro_rules! host {
    ($path:literal) => {
        include_str!(concat!("../tests/fixtures/x86-guest/proc/", $path))
    };
}

macro_rules! parser {
    ($name:literal, $text:expr, $parse:expr) => {
        Parser {
            name: $name,
            text: $text,
            parse: |text, out| {
                $parse(text, out);
                true
            },
        }
    };
}

const NGINX: &str = "Active connections: 291 \nserver accepts handled requests\n \
                     16630948 16630946 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";

const REDIS: &str = "# Stats\r\nkeyspace_hits:9\r\nkeyspace_misses:11\r\nused_memory:865600\r\n\
                     used_cpu_sys:1.25\r\ntotal_commands_processed:7\r\nrole:master\r\n\
                     # Keyspace\r\ndb0:keys=5,expires=1,avg_ttl=0\r\n";

const MEMCACHED: &str = "STAT pid 4242\r\nSTAT uptime 3\r\nSTAT get_hits 9\r\nSTAT get_misses 2\r\n\
                         STAT cmd_set 5\r\nSTAT rusage_user 0.012345\r\nSTAT version 1.6.18\r\n\
                         STAT curr_items 5\r\nSTAT limit_maxbytes 67108864\r\nEND\r\n";

const PROMETHEUS: &str = "# HELP up whether it runs\n# TYPE up gauge\nup 1\n\
                          sent_total{to=\"a\\\"b\\\\c\\nd\",code=\"2xx\"} 0.5 1395066363000\n\
                          took_seconds_bucket{le=\"+Inf\"} 27 # {trace=\"x\"} 1.5\n";

const AGENT: &str = "{\"schema\":1,\"at_unix_ns\":1700000000000000000,\"period_s\":1.0,\
                     \"faults\":{},\"series\":[{\"name\":\"node_load1\",\"labels\":{},\
                     \"value\":0.5},{\"name\":\"node_cpu_seconds_total\",\
                     \"labels\":{\"cpu\":\"0\",\"mode\":\"idle\"},\"value\":12.25}]}";

const TARGET: &str = "# TYPE plimsoll_target_requests_total counter\n\
                      plimsoll_target_requests_total 7\n\
                      plimsoll_target_responses_total{code=\"200\"} 6\n\
                      plimsoll_target_in_work 1\n\
                      plimsoll_target_work_seconds_total 0.125\n";

const STATSD: &str = "jobs:3|c|@1|#kind:mail,queue\nqueue:-2|g\nshop.took:12|ms\n";

const PARSERS: &[Parser] = &[
    parser!("stat", host!("stat"), stat::parse),
    parser!("loadavg", host!("loadavg"), load::parse),
    parser!("meminfo", host!("meminfo"), |text, out| keyed(text, &memory::MEMINFO, out)),
    parser!("vmstat", host!("vmstat"), |text, out| keyed(text, &memory::VMSTAT, out)),
    parser!("diskstats", host!("diskstats"), |text, out| disk::parse(text, |_| true, out)),
    parser!("dev", host!("net/dev"), network::parse),
    parser!("file-nr", host!("sys/fs/file-nr"), descriptors::parse),
    parser!("pressure", host!("pressure/io"), |text, out| {
        pressure::parse("io", text, &pressure::GROUP, out);
    }),
    parser!("snmp", host!("net/snmp"), |text, out| sockets::paired(text, &sockets::SNMP, out)),
    parser!("netstat", host!("net/netstat"), |text, out| {
        sockets::paired(text, &sockets::NETSTAT, out);
    }),
    parser!("sockstat", host!("net/sockstat"), sockets::parse_sockstat),
    parser!("cpu.stat", include_str!("../tests/fixtures/cgroups/v2/cpu.stat"), |text, out| {
        cgroup::parse("cpu.stat", text, &cgroup::V2, out);
    }),
    parser!("cpu.max", "20000 100000\n", |text, out| {
        cgroup::parse("cpu.max", text, &cgroup::V2, out);
    }),
    parser!("memory.current", "94371840\n", |text, out| {
        cgroup::parse("memory.current", text, &cgroup::V2, out);
    }),
    Parser { name: "nginx", text: NGINX, parse: |text, out| nginx::parse(text, out).is_ok() },
    Parser { name: "redis", text: REDIS, parse: |text, out| redis::parse(text, out).is_ok() },
    Parser {
        name: "memcached",
        text: MEMCACHED,
        parse: |text, out| memcached::parse(text, out).is_ok(),
    },
    Parser {
        name: "phpfpm",
        text: phpfpm::tests::PAGE,
        parse: |text, out| phpfpm::parse(text, out).is_ok(),
    },
    Parser {
        name: "rabbitmq",
        text: rabbitmq::tests::PAGE,
        parse: |text, out| rabbitmq::parse(text, out).is_ok(),
    },
    Parser { name: "agent", text: AGENT, parse: |text, out| agent::parse(text, true, out).is_ok() },
    Parser { name: "target", text: TARGET, parse: |text, out| target::parse(text, out).is_ok() },
    Parser {
        name: "prometheus",
        text: PROMETHEUS,
        parse: |text, out| prometheus::read(text, out).is_ok(),
    },
    parser!("statsd", STATSD, |text, out| {
        let mut gathered = statsd::Gathered::default();
        gathered.take(text);
        gathered.tell(out);
    }),
];

fn read(parser: &Parser, text: &str) -> (Samples, bool) {
    let mut out = Samples::of(Some("web1"));
    let is_one = (parser.parse)(text, &mut out);
    assert!(out.iter().all(|sample| sample.value.is_finite()), "{}: {out:?}", parser.name);
    (out, is_one)
}

#[test]
fn parsers_understand_their_fixtures_wholly() {
    for parser in PARSERS {
        let (out, is_one) = read(parser, parser.text);
        assert!(is_one && !out.is_empty() && out.left_out() == 0, "{}: {out:?}", parser.name);
    }
}

/// Where runs of digits begin and end.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let starts = (0..text.len()).filter(|&at| is_digit(at) && (at == 0 || !is_digit(at - 1)));
    starts.map(|at| (at, (at..).find(|&end| !is_digit(end)).unwrap_or(text.len()))).collect()
}

#[test]
fn parsers_count_each_number_that_they_cannot_read() {
    for parser in PARSERS {
        let whole = read(parser, parser.text).0.len();
        let mut noticed = 0;
        for (start, end) in numbers(parser.text) {
            for other in ["x", "", "-", "1e999", "0x1f", "٣"] {
                let text = format!("{}{other}{}", &parser.text[..start], &parser.text[end..]);
                let (out, is_one) = read(parser, &text);
                let is_said = !is_one || out.left_out() > 0;
                noticed += usize::from(is_said);
                assert!(
                    out.len() >= whole || is_said,
                    "{}: a sample is missing and nothing is said of {text:?}",
                    parser.name
                );
            }
        }
        assert!(noticed > 0, "{}: no number matters", parser.name);
    }
}

#[test]
fn states_of_sockets_are_counted_or_left_out() {
    let text = host!("net/tcp");
    let count = |text: &str, piece: usize| {
        let mut states = states::States::default();
        text.as_bytes().chunks(piece).for_each(|piece| states.feed(piece));
        let mut out = Samples::default();
        states.push(&mut out);
        (out.iter().map(|sample| sample.value).sum::<f64>(), out.left_out())
    };
    for piece in 1..200 {
        assert_eq!(count(text, piece), (6.0, 0), "in pieces of {piece} bytes");
    }
    for other in [" 0D ", " 00 ", " XX ", " 0101 ", " "] {
        let damaged = text.replacen(" 06 ", other, 1);
        assert_eq!(count(&damaged, 64), (5.0, 1), "{other:?}");
    }
}

#[test]
fn stores_answers_end_where_they_are_whole() {
    let redis_answer = format!("${}\r\n{REDIS}\r\n", REDIS.len());
    for (answer, is_whole) in [
        (redis_answer.as_str(), redis::is_whole as fn(&[u8]) -> bool),
        ("-NOAUTH Authentication required.\r\n", redis::is_whole),
        (MEMCACHED, memcached::is_whole),
        ("ERROR\r\n", memcached::is_whole),
    ] {
        let length = answer.len();
        let first = (0..=length).find(|&end| is_whole(&answer.as_bytes()[..end]));
        assert_eq!(first, Some(length), "{answer:?}");
    }
}

proptest! {
    #[test]
    fn parsers_take_any_text(text in "(?s).{0,300}") {
        for parser in PARSERS {
            read(parser, &text);
        }
    }

    #[test]
    fn parsers_take_damaged_texts(
        cut in 0_usize..4000, at in 0_usize..4000, piece in "[ \n:={}\"\\\\#0-9a-zA-Z.,%+-]{0,12}",
    ) {
        for parser in PARSERS {
            // The texts are ASCII: every place is between characters.
            let (at, end) = (at % parser.text.len(), at % parser.text.len() + cut % 40);
            let rest = parser.text.get(end..).unwrap_or_default();
            read(parser, &format!("{}{piece}{rest}", &parser.text[..at]));
            read(parser, &parser.text[..cut % parser.text.len()]);
        }
    }

    #[test]
    fn stores_answers_of_any_bytes_end(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        start in "(\\$[0-9]{0,25}|STAT |-)?",
    ) {
        let answer: Vec<u8> = start.into_bytes().into_iter().chain(bytes).collect();
        redis::is_whole(&answer);
        memcached::is_whole(&answer);
        let mut states = states::States::default();
        states.feed(&answer);
        states.push(&mut Samples::default());
    }

    #[test]
    fn answers_of_netlink_of_any_bytes_end(
        messages in proptest::collection::vec((0_u32..40, 0_u16..20, any::<[u8; 24]>()), 0..9),
        cut in 0_usize..300,
    ) {
        let bytes: Vec<u8> = messages.iter().flat_map(|(length, kind, rest)| {
            let message = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &rest[..]].concat();
            message.into_iter().take(32)
        }).take(cut).collect();
        let mut states = states::States::default();
        let _ = diag::read(&bytes, &mut states);
        states.push(&mut Samples::default());
    }
}
