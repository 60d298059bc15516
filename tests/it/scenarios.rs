//! Scenarios of what was recorded, and the target that wants of users what real servers want.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use plimsoll_testing::{Weight, installed};
use plimsoll_workload::scenario::cookies::Jar;
use plimsoll_workload::scenario::take::{Answer, Headers, Take};
use rustix::process::Signal;
use serde_json::{Value, json};
use toml_edit::{DocumentMut, TableLike};

use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use crate::recording::Recording;

/// Status, headers and body of an answer, over a connection of its own.
fn ask(address: &str, head: &str, body: &str) -> (u16, Vec<(String, String)>, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    let request = format!(
        "{head}Host: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap()[9..12].parse().unwrap();
    let headers = lines.map(|line| line.split_once(": ").unwrap());
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    (status, headers, body.to_owned())
}

#[test]
fn a_target_with_users_counts_by_path() {
    let place = Place::weighing(Weight::WAITS);
    let arguments =
        ["target", "--listen", "127.0.0.1:0", "--sessions", "--path", "/slow=const:30ms", "--json"];
    let target = place.start(place.command(PLIMSOLL, &arguments));
    let address = wait_for("the target to listen", || {
        let said = target.err();
        let line = said.lines().find_map(|line| line.strip_prefix("listening on "));
        line.map(str::to_owned)
    });
    let (status, headers, _) = ask(&address, "POST /login HTTP/1.1\r\n", "user=me");
    assert_eq!(status, 200);
    let of = |name: &str| headers.iter().find(|(header, _)| header == name).unwrap().1.clone();
    let cookie = of("Set-Cookie").split(';').next().unwrap().to_owned();
    let slow =
        format!("GET /slow?x=1 HTTP/1.1\r\nCookie: {cookie}\r\nX-Token: {}\r\n", of("X-Token"));
    assert_eq!(ask(&address, &slow, "").0, 200);
    assert_eq!(ask(&address, &slow, "").0, 403);
    assert_eq!(ask(&address, "GET /other HTTP/1.1\r\n", "").0, 403);
    target.signal(Signal::INT);
    let done = target.wait().ended_with(0);
    let counted: Value = done.json();
    assert_eq!((&counted["requests"], &counted["forbidden"]), (&4.into(), &2.into()), "{counted}");
    let slow = &counted["paths"]["/slow"];
    assert_eq!((&slow["succeeded"], &slow["forbidden"]), (&1.into(), &1.into()), "{counted}");
    done.says(&["/slow: 2 requests, 1 succeeded, 1 without their session", "2 without"]);
}

#[test]
fn wrong_paths_of_a_target_are_said() {
    let place = Place::weighing(Weight::WAITS);
    for (path, part) in [("slow=exp:1ms", "--path"), ("/slow", "--path"), ("/slow=ex:1ms", "exp")] {
        let done = place.plimsoll(&["target", "--path", path]).ended_with(2);
        done.says(&[part]);
    }
}

/// One user who walks through a scenario of plain steps, as `from-har` writes them: what is asked
/// must be answered as the file says.
struct Walk<'a> {
    address: &'a str,
    jar: Jar,
    variables: Vec<(String, String)>,
    asked: usize,
    thought_ms: u64,
}

impl Walk<'_> {
    fn step(&mut self, step: &dyn TableLike) {
        let text = |key: &str| step.get(key).and_then(|item| item.as_str());
        if let Some(think) = text("think") {
            let time = plimsoll_units::duration(think.strip_prefix("const:").unwrap()).unwrap();
            self.thought_ms += u64::try_from(time.as_millis()).unwrap();
            return;
        }
        if text("group").is_some() {
            for step in step.get("steps").unwrap().as_array().unwrap() {
                self.step(step.as_inline_table().unwrap());
            }
            return;
        }
        let (verb, target) = match (text("get"), text("post")) {
            (Some(target), _) => ("GET", target),
            (_, Some(target)) => ("POST", target),
            _ => panic!("no verb"),
        };
        let target = self.filled(target);
        let mut cookies = Vec::new();
        self.jar.write_header(&mut cookies, "127.0.0.1", &target, false, 0);
        let cookies = String::from_utf8(cookies).unwrap();
        let mut head = format!("{verb} {target} HTTP/1.1\r\nCookie: {cookies}\r\n");
        let form = step.get("form").and_then(|form| form.as_inline_table());
        let form = form.into_iter().flat_map(|form| form.iter());
        let fields = form.map(|(name, value)| {
            format!("{name}={}", self.filled(value.as_str().unwrap()).replace(' ', "+"))
        });
        let body = fields.collect::<Vec<_>>().join("&");
        if !body.is_empty() {
            head.push_str("Content-Type: application/x-www-form-urlencoded\r\n");
        }
        let (status, headers, page) = ask(self.address, &head, &body);
        let wanted = step.get("check").map_or(200, |check| check["status"].as_integer().unwrap());
        assert_eq!(i64::from(status), wanted, "{head}{body}");
        self.asked += 1;
        for (_, value) in headers.iter().filter(|(name, _)| name == "Set-Cookie") {
            self.jar.set(value.as_bytes(), "127.0.0.1", &target, 0).unwrap();
        }
        let url = format!("http://{}{target}", self.address);
        let answer = Answer::new(status, Headers::default(), page.as_bytes(), &url);
        for (variable, take) in
            step.get("take").and_then(|t| t.as_table_like()).iter().flat_map(|t| t.iter())
        {
            let take = take.as_inline_table().unwrap();
            let of = |key: &str| take.get(key).and_then(|value| value.as_str());
            let take = Take::css(of("css").unwrap(), of("attribute")).unwrap();
            let value = take.find(&answer, |_| 0).unwrap_or_else(|| panic!("{variable} in {page}"));
            self.variables.insert(0, (variable.to_owned(), value.text().unwrap().to_owned()));
        }
    }

    fn filled(&self, text: &str) -> String {
        self.variables.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{{{name}}}}}"), value)
        })
    }
}

/// Whether Chromium is here, and what drives it; reported where one is not.
pub(crate) fn has_browser(test: &str) -> bool {
    ["chromium", "node"].iter().all(|program| installed(test, program).is_some())
}

/// Chromium logs in at a target with users and goes on twice; what it recorded becomes a scenario,
/// and another user walks through that.
#[test]
fn a_recording_of_chromium_becomes_a_scenario_that_holds() {
    let name = "a_recording_of_chromium_becomes_a_scenario_that_holds";
    if !has_browser(name) {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let target = place.target(&["--sessions"]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/node/record_har.js");
    let url = target.url();
    let browser = [script, "chromium", &url, "profile", "1500", "walk.har", "shop"];
    let mut command = place.command("node", &browser);
    command.env("HOME", place.path(""));
    place.start(command).wait().ended_with(0);
    let made = ["scenario", "from-har", "walk.har", "-o", "walk.toml", "--json"];
    let made = place.plimsoll(&made).ended_with(0).json();
    // Two pauses of 1.5 s with the browser's own time behind a page in them, and what else a busy
    // machine has made long enough to be one.
    let pauses = recorded_pauses_ms(&place.path("walk.har"));
    assert!(pauses.len() >= 2, "{pauses:?}");
    assert_eq!((&made["steps"], &made["thinks"]), (&4.into(), &pauses.len().into()), "{made}");
    assert_eq!(made["secrets"], serde_json::json!(["PASSWORD"]), "{made}");
    assert_eq!(made["tokens"], serde_json::json!(["token"]), "{made}");
    let text = std::fs::read_to_string(place.path("walk.toml")).unwrap();
    assert!(!text.contains("pear"), "{text}");
    let document: DocumentMut = text.parse().unwrap();
    let variables = vec![("env.PASSWORD".to_owned(), "another".to_owned())];
    let address = target.address();
    let mut walk = Walk { address, jar: Jar::default(), variables, asked: 0, thought_ms: 0 };
    for step in document["step"].as_array_of_tables().unwrap() {
        walk.step(step);
    }
    assert!(walk.asked >= 4, "{text}");
    let recorded = pauses.iter().sum::<f64>();
    let thought = walk.thought_ms as f64;
    assert!(thought >= 2_900.0 && (thought / recorded - 1.0).abs() < 0.1, "{thought} {recorded}");
    println!("{thought} ms of thinking, {recorded} ms between pages");
    let done = target.end();
    done.says(&["/login:", "/next: 4 requests, 4 succeeded"]);
}

/// The times between the end of all that was asked for and the next page, as the recording has
/// them: pauses of a tenth of a second and more.
fn recorded_pauses_ms(har: &std::path::Path) -> Vec<f64> {
    let har: Value = serde_json::from_slice(&std::fs::read(har).unwrap()).unwrap();
    let ms = |text: &str| {
        let (minutes, seconds) = text[14..].trim_end_matches('Z').split_once(':').unwrap();
        60_000.0 * minutes.parse::<f64>().unwrap() + 1_000.0 * seconds.parse::<f64>().unwrap()
    };
    let (mut pauses, mut first, mut busy_until) = (Vec::new(), None, 0.0_f64);
    let started = |entry: &Value| entry["startedDateTime"].as_str().unwrap().to_owned();
    // A browser tells of an icon after the page that was asked for behind it.
    let mut entries = har["log"]["entries"].as_array().unwrap().clone();
    entries.sort_by_key(started);
    for entry in entries {
        if entry["response"]["status"] == 0 {
            continue;
        }
        let began = ms(&started(&entry));
        // An hour may have ended meanwhile.
        let began = (began - *first.get_or_insert(began)).rem_euclid(3_600_000.0);
        let pause = (began - busy_until).round();
        if entry["_resourceType"] == "document" && pause >= 100.0 {
            pauses.push(pause);
        }
        busy_until = busy_until.max(began + entry["time"].as_f64().unwrap());
    }
    pauses
}

/// A recording of a site with its API beside, of which the hosts are chosen, and that is packed.
#[test]
fn a_recording_says_what_it_hides_and_of_which_hosts_it_is() {
    let place = Place::weighing(Weight::WAITS);
    let entry = |second: u32, method: &str, url: &str, kind: &str, body: &str| {
        json!({
            "startedDateTime": format!("2026-11-20T05:00:{second:02}.000Z"), "time": 10,
            "request": { "method": method, "url": url, "headers": null,
                         "postData": { "mimeType": "text/xml", "text": body } },
            "response": { "status": 200, "content": { "mimeType": kind } },
        })
    };
    let entries = [
        entry(0, "GET", "http://shop.example/", "text/html", ""),
        entry(1, "GET", "http://shop.example/events", "text/event-stream", ""),
        entry(2, "POST", "http://api.shop.example/a", "application/json", "<pin>LEAK1</pin>"),
        entry(3, "GET", "http://other.example/b?token=LEAK2", "application/json", ""),
        json!(null),
    ];
    place.write("a.har", json!({ "log": { "entries": entries } }).to_string());
    assert!(place.command("gzip", &["a.har"]).status().unwrap().success());
    let made = ["scenario", "from-har", "a.har.gz", "-o", "a.toml"];
    let says = place.plimsoll(&made).ended_with(0);
    says.says(&[
        "5 requests, of http://shop.example: 2 steps",
        "note: secrets are left out: set PIN in the environment",
        "note: a body of text/xml may hold secrets: look through it",
        "note: steps of http://api.shop.example name it",
        "note: left out: requests of other hosts: 1 of other.example",
        "note: left out: 1 event stream",
        "note: left out: 1 entry without",
    ]);
    let text = std::fs::read_to_string(place.path("a.toml")).unwrap();
    assert!(!text.contains("LEAK") && text.contains("<pin>{{env.PIN}}</pin>"), "{text}");
    let check = ["load", "http://shop.example/", "--scenario", "a.toml", "--users", "1"];
    let places = ["--resolve", "shop.example:80:127.0.0.1"];
    let others = ["--resolve", "api.shop.example:80:127.0.0.1", "--for", "1s", "--check"];
    let mut check = place.command(PLIMSOLL, &[&check[..], &places, &others].concat());
    check.env("PIN", "7");
    place.start(check).wait().ended_with(0);
    let chosen = [&made[..], &["--host", "other.example", "--json"]].concat();
    let said = place.plimsoll(&chosen).ended_with(0).json();
    assert_eq!((&said["server"], &said["steps"]), (&"http://other.example".into(), &1.into()));
    assert_eq!(said["secrets"], json!(["TOKEN"]), "{said}");
    let wrong = [&made[..], &["--host", "shop.exmple"]].concat();
    place.plimsoll(&wrong).ended_with(2).says(&["`shop.exmple`", "http://shop.example"]);
}

#[test]
fn a_log_becomes_a_scenario() {
    let place = Place::weighing(Weight::WAITS);
    let line = |client: u32, second: u32, path: &str| {
        format!(
            "192.0.2.{client} - - [20/Nov/2026:05:00:{second:02} +0000] \"GET {path} HTTP/1.1\" \
             200 1 \"-\" \"agent\" \"sid={second}\"\n"
        )
    };
    let log =
        [line(1, 0, "/"), line(1, 20, "/a"), line(2, 30, "/"), line(2, 31, "/x.css")].concat();
    place.write("access.log", &log);
    let packed = place.command("gzip", &["-k", "access.log"]).status().unwrap();
    assert!(packed.success());
    let made = ["scenario", "from-log", "access.log.gz", "-o", "browse.toml"];
    place.plimsoll(&made).ended_with(0).says(&["2 sessions, 3 pages, 1 static", "20 s"]);
    let text = std::fs::read_to_string(place.path("browse.toml")).unwrap();
    assert!(text.parse::<DocumentMut>().is_ok(), "{text}");
    place.write("access.log.1", line(2, 45, "/b"));
    let both = ["scenario", "from-log", "access.log.1", "access.log.gz", "-o", "both.toml"];
    place.plimsoll(&both).ended_with(0).says(&["5 lines", "2 sessions, 4 pages"]);
    // Without a place for it, it is printed.
    place.plimsoll(&made[..3]).ended_with(0).prints(&[&text[text.find("[[step]]").unwrap()..]]);
    let by_cookie = [&made[..], &["--by", "cookie:sid", "--json"]].concat();
    assert_eq!(place.plimsoll(&by_cookie).ended_with(0).json()["sessions"], 3);
}

#[test]
fn what_is_no_recording_or_log_is_said() {
    let place = Place::weighing(Weight::WAITS);
    place.write("x.har", "{\"log\": {\"entries\": 7}}");
    place.write("x.log", "no log\n");
    place.write("posts.log", "h - - [20/Nov/2026:05:00:00 +0000] \"POST / HTTP/1.1\" 200 1\n");
    for (arguments, parts) in [
        (&["from-har", "x.har"][..], &["expected a recording (HAR 1.2) in x.har", "line 1"][..]),
        (&["from-har", "none.har"], &["read the recording", "none.har"]),
        (&["from-log", "x.log"], &["x.log"]),
        (&["from-log", "posts.log"], &["expected pages of clients in posts.log"]),
        (&["from-log", "posts.log", "--by", "cookies"], &["--by", "cookie:NAME"]),
        (&["from-log", "posts.log", "--gap", "0s"], &["--gap"]),
        (&["from-log", "posts.log", "--pages", "0"], &["--pages"]),
    ] {
        let done = place.plimsoll(&[&["scenario"], arguments].concat()).ended_with(2);
        done.says(parts);
    }
}

/// A path that begins with two slashes is asked of the target as it was recorded, and of no host
/// that it might name.
#[test]
fn a_path_with_two_slashes_is_asked_as_it_was_recorded() {
    let place = Place::weighing(Weight::WAITS);
    let server = Recording::start();
    let url = server.url();
    let line = |second: u32, path: &str| {
        format!(
            "192.0.2.1 - - [20/Nov/2026:05:00:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 1\n"
        )
    };
    place.write("access.log", line(0, "//images/a?x=1"));
    let entry = |second: u32, path: &str, kind: &str| {
        json!({
            "startedDateTime": format!("2026-11-20T05:00:{second:02}.000Z"), "time": 10,
            "request": { "method": "GET", "url": format!("http://shop.example{path}"),
                         "headers": [], "queryString": [] },
            "response": { "status": 200, "headers": [], "redirectURL": "",
                          "content": { "size": 2, "mimeType": kind } },
        })
    };
    let entries = [entry(0, "//home?y=2", "text/html"), entry(1, "//style.css", "text/css")];
    let har = json!({ "log": { "version": "1.2", "entries": entries } });
    place.write("shop.har", har.to_string());
    for (command, recorded, asked) in [
        ("from-log", "access.log", &["GET //images/a?x=1"][..]),
        ("from-har", "shop.har", &["GET //home?y=2", "GET //style.css"]),
    ] {
        let before = server.asked().len();
        place.plimsoll(&["scenario", command, recorded, "-o", "made.toml"]).ended_with(0);
        let tried = place.plimsoll(&["scenario", "try", "made.toml", &url]).ended_with(0);
        tried.prints(&[asked[0].strip_prefix("GET ").unwrap()]);
        let load = ["load", &url, "--scenario", "made.toml", "--users", "1", "-n", "1", "--quiet"];
        place.plimsoll(&load);
        let lines: Vec<String> =
            server.asked()[before..].iter().map(|of| of.line().to_owned()).collect();
        assert_eq!(lines, [asked, asked].concat(), "{command}");
    }
}

#[test]
fn a_log_behind_a_balancer_says_so() {
    let place = Place::weighing(Weight::WAITS);
    let line = |at: u32| {
        let (minute, second, client) = (at / 60, at % 60, at % 50);
        format!(
            "10.0.0.5 - - [20/Nov/2026:05:{minute:02}:{second:02} +0000] \"GET /p{} HTTP/1.1\" \
             200 1 \"-\" \"agent\" \"198.51.100.{client}, 10.0.0.9\"\n",
            at % 4
        )
    };
    place.write("access.log", (0..200).map(line).collect::<String>());
    let made = ["scenario", "from-log", "access.log", "-o", "s.toml"];
    let told = place.plimsoll(&made).ended_with(0);
    told.says(&["1 sessions", "one client, 10.0.0.5", "balancer", "$http_x_forwarded_for"]);
    for format in [
        "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
         \"$http_referer\" \"$http_user_agent\" \"$http_x_forwarded_for\"",
        "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" \"%{X-Forwarded-For}i\"",
    ] {
        let told = place.plimsoll(&[&made[..], &["--format", format]].concat()).ended_with(0);
        told.says(&["50 sessions"]);
        assert!(!told.err.contains("balancer"), "{}", told.err);
    }
}

#[test]
fn targets_of_vegeta_in_json_are_sent_as_there() {
    let place = Place::new();
    let server = crate::recording::Recording::start();
    let url = server.url();
    let lines = [
        format!(
            "{{\"method\":\"POST\",\"url\":\"{url}buy\",\"body\":\"eyJpdGVtIjoxN30=\",\
             \"header\":{{\"Content-Type\":[\"application/json\"],\"X-A\":[\"1\",\"2\"]}}}}"
        ),
        format!("{{\"method\":\"GET\",\"url\":\"{url}look\"}}"),
    ];
    place.write("v.json", lines.join("\n"));
    let load = [url.as_str(), "--urls", "v.json", "--users", "1", "-n", "2"];
    place.load(&load).ran();
    let asked = server.asked();
    assert_eq!(asked[0].line(), "POST /buy");
    assert_eq!(asked[0].header("content-type"), Some("application/json"));
    assert_eq!(asked[0].header("content-length"), Some("11"));
    assert_eq!(asked[1].line(), "GET /look");
    // Without a header of vegeta's its bodies tell, and that is said.
    place.write("v.json", format!("{{\"url\":\"{url}\",\"body\":\"eyJpdGVtIjoxN30=\"}}"));
    place.load(&load).ran().prints(&["base64"]);
    place.write("v.json", format!("{{\"url\":\"{url}\",\"body\":\"password\"}}"));
    place.load(&load).ran();
    let lengths: Vec<_> = server.asked()[2..]
        .iter()
        .map(|one| one.header("content-length").unwrap().to_owned())
        .collect();
    assert_eq!(lengths, ["11", "11", "8", "8"]);
}
