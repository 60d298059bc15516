//! Scenarios of access logs: sessions by address and cookie, think times, pages by frequency.

use plimsoll_workload::access_log::LogError;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::scenario::from_log::{By, LogOptions, LogScenario, convert};
use toml_edit::DocumentMut;

fn made(log: &str, options: &LogOptions) -> LogScenario {
    let scenario = convert(named(&[log]), options).unwrap();
    document(&scenario);
    scenario
}

/// Logs with their names.
fn named<'a>(logs: &[&'a str]) -> Vec<(&'a [u8], String)> {
    let name = |(at, log): (usize, &&'a str)| (log.as_bytes(), format!("{at}.log"));
    logs.iter().enumerate().map(name).collect()
}

fn document(scenario: &LogScenario) -> DocumentMut {
    scenario.text.parse().unwrap_or_else(|error| panic!("{error}\n{}", scenario.text))
}

/// A line of the Combined Log Format, so many seconds after midnight.
fn line(client: &str, second: u32, request: &str, status: u32, cookie: &str) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{client} - - [20/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] \"{request} HTTP/1.1\" \
         {status} 10 \"-\" \"agent\" \"{cookie}\"\n"
    )
}

/// The ways of the first `choose` below a key: their weights and what they ask for.
fn ways(item: &toml_edit::Item) -> Vec<(i64, String)> {
    let steps = item.as_array_of_tables().unwrap();
    let ways = steps.get(0).unwrap()["choose"].as_array().unwrap();
    ways.iter()
        .map(|way| {
            let way = way.as_inline_table().unwrap();
            let step = way["steps"].as_array().unwrap().get(0).unwrap().as_inline_table().unwrap();
            let asked =
                step.get("get").or_else(|| step.get("head")).map_or("", |t| t.as_str().unwrap());
            (way["weight"].as_integer().unwrap(), asked.to_owned())
        })
        .collect()
}

#[test]
fn sessions_by_address_with_a_gap() {
    let log: String = [
        line("192.0.2.1", 0, "GET /", 200, "-"),
        line("192.0.2.1", 0, "GET /style.css", 200, "-"),
        line("192.0.2.1", 0, "GET /logo.png", 304, "-"),
        line("192.0.2.1", 10, "GET /a?x=1", 200, "-"),
        line("192.0.2.2", 11, "GET /", 304, "-"),
        line("192.0.2.2", 31, "POST /login", 302, "-"),
        line("192.0.2.2", 31, "GET /old", 301, "-"),
        line("192.0.2.2", 40, "GET /missing", 404, "-"),
        line("192.0.2.1", 1_810, "GET /", 200, "-"),
        line("192.0.2.1", 3_611, "HEAD /", 200, "-"),
        "no line of a log\n".to_owned(),
    ]
    .concat();
    let scenario = made(&log, &LogOptions::default());
    assert_eq!((scenario.lines, scenario.unreadable, scenario.requests), (11, 1, 10));
    // The first client has three pages, and one after more than half an hour.
    assert_eq!((scenario.sessions, scenario.pages, scenario.static_files), (3, 6, 2));
    assert_eq!((scenario.left_out.failed, scenario.left_out.methods["POST"]), (1, 1));
    assert!((scenario.think_s - (10.0 + 1800.0 + 20.0) / 3.0).abs() < 1e-9);
    let document = document(&scenario);
    let pages = ways(&document["scenario"]["page"]["steps"]);
    let expected = [(3, "/"), (1, "/a?x=1"), (1, "/old"), (1, "/")];
    assert_eq!(pages, expected.map(|(count, path)| (count, path.to_owned())), "{}", scenario.text);
    assert!(scenario.text.contains("get = \"/old\", check = { status = \"301\" }"));
    assert!(!scenario.text.contains("304"));
    let lengths: Vec<i64> = ways(&document["step"]).into_iter().map(|(weight, _)| weight).collect();
    assert_eq!(lengths, [1, 2], "one page; two and three");
    let remarks = scenario.remarks().join("\n");
    for part in ["1 of POST", "answered 400", "1 lines cannot be read", "in the mean"] {
        assert!(remarks.contains(part), "{part}: {remarks}");
    }
    let apart = made(&log, &LogOptions { gap_s: 5, ..LogOptions::default() });
    assert_eq!((apart.sessions, apart.think), (6, None));
}

#[test]
fn sessions_by_cookie() {
    let log: String = [
        line("192.0.2.1", 0, "GET /", 200, "lang=en; sid=a"),
        line("192.0.2.1", 1, "GET /", 200, "sid=b; lang=en"),
        line("192.0.2.9", 2, "GET /", 200, "sid=a"),
        line("192.0.2.1", 3, "GET /", 200, "lang=en"),
    ]
    .concat();
    let by_address = made(&log, &LogOptions::default());
    assert_eq!(by_address.sessions, 2);
    let by = By::Cookie("sid".to_owned());
    let by_cookie = made(&log, &LogOptions { by, ..LogOptions::default() });
    assert_eq!((by_cookie.sessions, by_cookie.without_cookie), (3, 1));
    assert!(by_cookie.text.contains("by cookie sid"));
}

#[test]
fn clients_of_json_lines_and_hosts() {
    let json = |n: u32, addr: &str| {
        format!(
            "{{\"time\":\"2026-11-20T05:00:0{n}Z\",\"remote_addr\":\"{addr}\",\
             \"request\":\"GET /{n} HTTP/1.1\"}}\n"
        )
    };
    let log = [json(0, "192.0.2.1"), json(1, "192.0.2.2"), json(2, "192.0.2.1")].concat();
    assert_eq!(made(&log, &LogOptions::default()).sessions, 2);
    let squid = |host: &str, n: u32| {
        format!(
            "128653630{n}.586 92 192.0.2.68 TCP_MISS/200 507 GET http://{host}/a - DIRECT/h t\n"
        )
    };
    let log = [squid("h", 0), squid("h", 1), squid("other", 2)].concat();
    let scenario = made(&log, &LogOptions::default());
    assert_eq!(scenario.left_out.hosts, 1);
    assert!(scenario.text.contains("get = \"/a\"") && !scenario.text.contains("http://h"));
}

/// Sessions go over the ends of logs, and over several servers: whatever order the logs are given
/// in, and whatever a session asked which of them for.
#[test]
fn several_logs_are_one() {
    let of = |client: &str, second: u32| line(client, second, "GET /", 200, "-");
    let all = [of("192.0.2.1", 0), of("192.0.2.2", 5), of("192.0.2.1", 10), of("192.0.2.2", 25)];
    let one = made(&all.concat(), &LogOptions::default());
    assert_eq!((one.sessions, one.pages), (2, 4));
    let (rotated, newest) = (all[..2].concat(), all[2..].concat());
    let (first, second) = ([&*all[0], &*all[3]].concat(), [&*all[1], &*all[2]].concat());
    for logs in [[&*newest, &*rotated], [&*first, &*second]] {
        let several = convert(named(&logs), &LogOptions::default()).unwrap();
        assert_eq!((several.sessions, several.pages, several.lines), (2, 4, 4));
        assert_eq!(several.think_s.to_bits(), one.think_s.to_bits());
        assert!(several.text.contains("Made of 0.log, 1.log by"), "{}", several.text);
    }
    // One of another format is read in its own.
    let squid =
        "1795150800.000 92 192.0.2.9 TCP_MISS/200 507 GET http://h/a - DIRECT/h text/html\n";
    let mixed = convert(named(&[&all.concat(), squid]), &LogOptions::default()).unwrap();
    assert_eq!((mixed.lines, mixed.format.contains(", ")), (5, true), "{}", mixed.format);
}

#[test]
fn a_log_without_pages_is_none() {
    let log = line("192.0.2.1", 0, "POST /", 200, "-");
    let refused = convert(named(&[&log]), &LogOptions::default());
    assert!(matches!(refused, Err(LogError::NoSessions { .. })));
}

/// Ten thousand clients whose laws are known: what is fitted is what they did.
#[test]
fn ten_thousand_clients() {
    let think = Distribution::parse("lognormal:15s,0.8").unwrap();
    let mut draws = Stream::named(7, "clients");
    let mut lines = Vec::new();
    let (mut sessions, mut pages, mut thought_s, mut thinks) = (0_u64, 0_u64, 0.0, 0_u64);
    for client in 0..10_000_u32 {
        let address = format!("10.{}.{}.{}", client >> 16, client >> 8 & 255, client & 255);
        let mut at = draws.uniform() * 20_000.0;
        for _ in 0..1 + draws.below(2) {
            sessions += 1;
            for page in 0..1 + draws.below(7) {
                if page > 0 {
                    let seconds = think.sample(&mut draws).min(1700.0);
                    at += seconds;
                    thought_s += seconds;
                    thinks += 1;
                }
                pages += 1;
                let path = if draws.uniform() < 0.7 { "/" } else { "/rare" };
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "small"
                )]
                lines.push((at as u32, address.clone(), path));
            }
            at += 2_000.0;
        }
    }
    lines.sort();
    let log: String = lines
        .iter()
        .map(|(at, address, path)| line(address, *at, &format!("GET {path}"), 200, "-"))
        .collect();
    let scenario = made(&log, &LogOptions::default());
    assert_eq!((scenario.sessions, scenario.pages), (sessions, pages));
    let mean_s = thought_s / thinks as f64;
    assert!((scenario.think_s / mean_s - 1.0).abs() < 0.01, "{} {mean_s}", scenario.think_s);
    let Some(Distribution::LogNormal { sigma, .. }) = scenario.think else {
        panic!("{:?}", scenario.think)
    };
    assert!((0.72..0.88).contains(&sigma), "{sigma}");
    let document = document(&scenario);
    let ways = ways(&document["scenario"]["page"]["steps"]);
    let share = ways[0].0 as f64 / pages as f64;
    assert!(ways.len() == 2 && (0.69..0.71).contains(&share), "{ways:?}");
    // The lengths of sessions keep their mean.
    let chosen = document["step"].as_array_of_tables().unwrap().get(0).unwrap();
    let mut asked = 0.0;
    for way in chosen["choose"].as_array().unwrap() {
        let way = way.as_inline_table().unwrap();
        let steps = way["steps"].as_array().unwrap();
        let more =
            steps.get(1).map_or(0.0, |step| match &step.as_inline_table().unwrap()["loop"] {
                toml_edit::Value::Integer(n) => *n.value() as f64,
                range => {
                    let (least, most) = range.as_str().unwrap().split_once("..").unwrap();
                    0.5 * (least.parse::<f64>().unwrap() + most.parse::<f64>().unwrap())
                }
            });
        asked += way["weight"].as_integer().unwrap() as f64 * (1.0 + more);
    }
    assert!((asked / pages as f64 - 1.0).abs() < 0.05, "{asked} {pages}");
}
