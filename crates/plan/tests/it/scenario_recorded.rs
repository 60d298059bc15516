//! Scenarios that are made of recordings: they read back, and send what was recorded.

use std::io;
use std::path::Path;

use plimsoll_plan::{Environment, WrittenScenario, read_scenario};
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::from_log::{self, LogOptions, LogScenario};
use plimsoll_workload::scenario::{Next, Now, Scenario, User, har};
use proptest::prelude::*;
use serde_json::{Value, json};

fn no_file(_: &Path) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::NotFound.into())
}

/// The scenario of a text, in which every variable of the environment is `set`.
fn read(text: &str) -> Scenario {
    let environment = Environment::Of(|_| Some("set".to_owned()));
    let (origin, open) = ("made.toml", &no_file);
    let read = read_scenario(&WrittenScenario { text, origin, environment, places: None, open });
    read.unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Target and body of the first request of the first user.
fn first(text: &str) -> (String, Vec<u8>) {
    let scenario = read(text).at(&Url::parse("http://h/").unwrap(), 1);
    let mut user = User::new(&scenario, 0, 0).unwrap();
    let next = user.next(&scenario, Now { ns: 0, unix_ns: 0 }, &mut Vec::new());
    assert!(matches!(next, Next::Ask(_)), "{next:?}\n{text}");
    let message = user.message();
    (message.target.to_string(), message.body.as_deref().unwrap_or_default().to_vec())
}

/// A recording of a POST with a body.
fn posted(url: &str, kind: &str, body: &str) -> String {
    let entry = json!({
        "startedDateTime": "2026-11-20T05:00:00Z",
        "time": 1,
        "request": {
            "method": "POST", "url": url, "headers": [{ "name": "X-A", "value": "{{a}} \"b\"" }],
            "postData": { "mimeType": kind, "text": body },
        },
        "response": { "status": 200, "content": { "mimeType": "text/html" } },
    });
    let har = json!({ "log": { "entries": [entry] } }).to_string();
    har::convert(har.as_bytes(), "a.har").unwrap().text
}

/// The fields of a form.
fn fields(body: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let decode = |part: &str| {
        let bytes = plimsoll_net::url::percent_decode(part.replace('+', " ").as_bytes());
        String::from_utf8(bytes).unwrap()
    };
    let pairs = text.split('&').map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

/// Whether something of a recording was hidden, such as a field that happens to be called `pw`.
/// Were that so of more than some, proptest would refuse to go on.
fn hides(text: &str) -> bool {
    text.contains("{{env.")
}

/// Every byte encoded.
fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn page(at_s: u32, url: &str, text: &str) -> Value {
    json!({
        "startedDateTime": format!("2026-11-20T05:00:{at_s:02}Z"),
        "time": 10,
        "request": { "method": "GET", "url": url, "headers": [] },
        "response": { "status": 200, "content": { "mimeType": "text/html", "text": text } },
    })
}

#[test]
fn a_walk_with_tokens_and_files_reads_back() {
    let with_token = "<input type=hidden name=token value=abcd12345>";
    let mut led = page(3, "http://h/go?x=2", "");
    led["response"]["status"] = json!(302);
    led["response"]["redirectURL"] = json!("/a?x=3");
    let har = json!({ "log": { "entries": [
        page(0, "http://h/a?x=1", with_token),
        page(1, "http://h/s.css", ""),
        page(1, "http://h/s.css?v=2", ""),
        page(2, "http://h/a?x=2&token=abcd12345&password=secret", with_token),
        led,
        page(4, "http://h/a?x=3", ""),
        page(5, "http://h/a?x=1", ""),
    ] } });
    let made = har::convert(har.to_string().as_bytes(), "a.har").unwrap();
    let names: Vec<String> = read(&made.text).names().iter().map(|of| of.name.clone()).collect();
    let expected = ["/a", "static files", "/s.css", "/s.css (2)", "/a (2)", "/go"];
    assert_eq!(names, expected, "{}", made.text);
    assert!(made.text.contains("token={{token}}&password={{env.PASSWORD}}"), "{}", made.text);
}

fn of_log(log: &str) -> LogScenario {
    let logs = vec![(log.as_bytes(), "a.log".to_owned())];
    from_log::convert(logs, &LogOptions::default()).unwrap()
}

#[test]
fn a_log_reads_back() {
    let line = |client: u32, at_s: u32, request: &str, status: u32| {
        format!(
            "192.0.2.{client} - - [20/Nov/2026:05:00:{at_s:02} +0000] \"{request} HTTP/1.1\" \
             {status} 1\n"
        )
    };
    let log = [
        line(1, 0, "GET /", 200),
        line(1, 0, "GET /a.css", 200),
        line(1, 9, "GET /a?x={{1}}", 200),
        line(1, 19, "GET /a?x=2", 301),
        line(1, 29, "HEAD /", 200),
        line(2, 30, "GET /", 304),
        line(2, 31, "GET /a.js", 200),
    ]
    .concat();
    let made = of_log(&log);
    let names = read(&made.text).names().len();
    assert_eq!(names, 7, "four pages, two files, their group: {}", made.text);
    // One page alone, without files and think times.
    let log = line(1, 0, "GET /", 200);
    let made = of_log(&log);
    assert_eq!(first(&made.text).0, "/");
}

/// What is hidden in JSON that TOML cannot hold is sent as it was, with what was set in its place.
#[test]
fn what_is_hidden_is_filled_in_where_it_stood() {
    let body = "{ \"pin\": 1, \"a\\\\\":\"{{x}}\", \"password\":\"p\\\"q\", \"n\":null }\n";
    let text = posted("http://h/a?sig=x%2Fyzabc&b={{", "application/json", body);
    let (target, sent) = first(&text);
    assert_eq!(target, "/a?sig=set&b=%7B%7B");
    let expected = "{ \"pin\": set, \"a\\\\\":\"{{x}}\", \"password\":\"set\", \"n\":null }\n";
    assert_eq!(String::from_utf8(sent).unwrap(), expected, "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// What a form sent is sent again.
    #[test]
    fn forms_are_sent_as_they_were(
        form in prop::collection::btree_map(
            "\\PC{1,6}|[ -~]{1,6}",
            "\\PC{0,9}|[ -~]{0,9}|\\{\\{a\\}\\}",
            1..4,
        ),
        has_twice in any::<bool>(),
    ) {
        let mut sent: Vec<(String, String)> = form.into_iter().collect();
        if has_twice {
            sent.push(sent[0].clone());
        }
        let pair = |field: &(String, String)| {
            format!("{}={}", percent(&field.0), percent(&field.1))
        };
        let body = sent.iter().map(pair).collect::<Vec<_>>().join("&");
        let text = posted("http://h/a", "application/x-www-form-urlencoded", &body);
        prop_assume!(!hides(&text));
        prop_assert_eq!(fields(&first(&text).1), sent, "{}", text);
    }

    /// Whatever was recorded: what is made of it can be read.
    #[test]
    fn any_recording_that_converts_can_be_read(
        fields in prop::collection::vec(
            ("[a-c._ \"'{}\\\\-]{1,4}|env|user|sent|\\PC{1,4}", "[a-z0-9]{8}1"),
            1..5,
        ),
        url in "https?://h(:81)?/[ -~é]{0,12}",
        kind in prop::sample::select(vec![
            "application/json", "text/plain", "application/x-www-form-urlencoded", "\r\nX: y", "",
            "multipart/form-data; boundary=b", "text/html; charset=\"{{x}}\"",
        ]),
        text in "[ -~\\n\\r\u{0}é{}]{0,20}",
        header in ("[ -~\\r\\n]{0,8}", "[ -~\\r\\né\u{7}]{0,8}"),
        status in prop::sample::select(vec![-1, 0, 7, 99, 100, 200, 302, 404, 999, 1000, 99999]),
        method in prop::sample::select(vec!["GET", "POST", "DELETE", "post", "PROPFIND"]),
    ) {
        let escape = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;");
        let inputs: String = fields.iter().map(|(name, value)| format!(
            "<form action=\"{}\"><input type=hidden name=\"{}\" value=\"{value}\"></form>",
            escape(name), escape(name),
        )).collect();
        let pairs = fields.iter().map(|(name, value)| format!("{}={value}", percent(name)));
        let form = pairs.collect::<Vec<_>>().join("&");
        let mut odd = page(3, &url, &inputs);
        odd["request"]["method"] = json!(method);
        odd["request"]["headers"] = json!([{ "name": header.0, "value": header.1 }]);
        odd["request"]["postData"] = json!({ "mimeType": kind, "text": text });
        odd["response"]["status"] = json!(status);
        let mut sent = page(5, "http://h/form", "");
        sent["request"]["method"] = json!("POST");
        let of_form = "application/x-www-form-urlencoded";
        sent["request"]["postData"] = json!({ "mimeType": of_form, "text": form });
        let entries = [page(0, "http://h/", &inputs), odd, sent.clone(), page(7, &url, ""), sent];
        let har = json!({ "log": { "entries": entries } }).to_string();
        let _ = read(&har::convert(har.as_bytes(), "a.har").unwrap().text);
    }

    /// What JSON or any other text was sent is sent again; paths too.
    #[test]
    fn bodies_are_sent_as_they_were(
        names in prop::collection::btree_set("\\PC{0,5}|[ -~]{1,6}", 1..4),
        value in "\\PC{0,9}|[ -~\\n]{0,9}|\\{\\{a\\}\\}",
        number in any::<i64>(),
        real in -1e9..1e9_f64,
        path in "[a-z0-9/._~!$&'()*+,;=:@{}%\\\\-]{0,12}",
    ) {
        let values = [json!(value), json!(number), json!({ "a": [real, true, &value] })];
        let object: serde_json::Map<String, Value> =
            names.into_iter().zip(values.into_iter().cycle()).collect();
        let sent = Value::Object(object);
        // What begins with two slashes reads as a host.
        prop_assume!(!path.starts_with('/'));
        let url = format!("http://h/{path}");
        let text = posted(&url, "application/json", &sent.to_string());
        prop_assume!(!hides(&text));
        let (target, body) = first(&text);
        prop_assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), sent, "{}", text);
        // What may not stand in a request is encoded.
        let decoded = |target: &str| plimsoll_net::url::percent_decode(target.as_bytes());
        prop_assert_eq!(decoded(&target), decoded(&format!("/{path}")));
        let plain = posted(&url, "text/plain", &format!("{value}."));
        prop_assume!(!hides(&plain));
        prop_assert_eq!(first(&plain).1, format!("{value}.").into_bytes(), "{}", plain);
    }
}
