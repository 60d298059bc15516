//! Recordings of browsers as scenarios: what becomes a step, what is left out, what is hidden.

use plimsoll_workload::scenario::har::{HarError, HarScenario, convert};
use proptest::prelude::*;
use serde_json::{Value, json};
use toml_edit::DocumentMut;

/// A request: when it was sent (milliseconds), how long it took, and what it was.
pub(crate) fn entry(
    at_ms: u32,
    took_ms: u32,
    method: &str,
    url: &str,
    status: u32,
    kind: &str,
) -> Value {
    let (minutes, seconds, millis) = (at_ms / 60_000, at_ms / 1000 % 60, at_ms % 1000);
    json!({
        "startedDateTime": format!("2026-11-20T05:{minutes:02}:{seconds:02}.{millis:03}Z"),
        "time": took_ms,
        "request": { "method": method, "url": url, "headers": [], "httpVersion": "HTTP/2" },
        "response": { "status": status, "redirectURL": "", "content": { "mimeType": kind } },
    })
}

pub(crate) fn with(mut entry: Value, pointer: &str, value: Value) -> Value {
    *entry.pointer_mut(pointer).unwrap() = value;
    entry
}

pub(crate) fn with_body(mut entry: Value, kind: &str, text: &str) -> Value {
    entry["request"]["postData"] = json!({ "mimeType": kind, "text": text });
    entry
}

pub(crate) fn made(entries: &[Value]) -> HarScenario {
    let har = json!({ "log": { "version": "1.2", "entries": entries } }).to_string();
    convert(har.as_bytes(), "shop.har").unwrap()
}

/// The steps of a scenario, read back.
pub(crate) fn steps(scenario: &HarScenario) -> Vec<toml_edit::Table> {
    let document: DocumentMut =
        scenario.text.parse().unwrap_or_else(|error| panic!("{error}\n{}", scenario.text));
    let steps = document["step"].as_array_of_tables().unwrap();
    steps.iter().cloned().collect()
}

pub(crate) fn text<'a>(step: &'a toml_edit::Table, key: &str) -> &'a str {
    step.get(key).unwrap_or_else(|| panic!("no {key} in {step}")).as_str().unwrap()
}

const SHOP: &str = "https://shop.example";

/// A shop: a page with its files, a log-in by form that is led on, a purchase by JSON.
fn shop() -> Vec<Value> {
    let page =
        "<input type=hidden name=csrf value=abc123def><input type=hidden name=lang value=en>";
    let at = |path: &str| format!("{SHOP}{path}");
    let front = entry(0, 80, "GET", &at("/"), 200, "text/html; charset=utf-8");
    let login = entry(2_580, 20, "POST", &at("/login"), 302, "");
    let login = with(login, "/response/redirectURL", json!("/account?x=1"));
    let form = "user=me%40h+x&wpPassword=pear+tree&csrf=abc123def&lang=en";
    let buy = entry(7_000, 20, "POST", &at("/api/buy"), 201, "application/json");
    let buy = with(
        buy,
        "/request/headers",
        json!([
            { "name": "Authorization", "value": "Bearer very-secret" },
            { "name": "Cookie", "value": "sid=1" },
            { "name": ":authority", "value": "shop.example" },
            { "name": "X-Requested-With", "value": "XMLHttpRequest" },
            { "name": "Accept", "value": "application/json" },
            { "name": "Content-Type", "value": "application/json" },
        ]),
    );
    let body = "{\"item\": {\"z\": 7, \"a\": 1.5}, \"note\": \"{{x}}\", \"pin\": \"4321\"}";
    vec![
        front,
        entry(90, 30, "GET", &at("/style.css?v=2"), 200, "text/css"),
        entry(95, 485, "GET", &at("/logo"), 304, "image/png"),
        entry(100, 20, "GET", "https://cdn.example/lib.js", 200, "text/javascript"),
        entry(101, 20, "GET", "https://cdn.example/x.js", 200, "text/javascript"),
        entry(102, 20, "GET", "data:image/png;base64,AAAA", 200, "image/png"),
        entry(103, 20, "OPTIONS", &at("/api/buy"), 204, ""),
        entry(104, 20, "GET", &at("/lost"), 0, ""),
        entry(105, 20, "GET", "wss://shop.example/ws", 101, ""),
        with_body(login, "application/x-www-form-urlencoded", form),
        entry(2_610, 90, "GET", &at("/account?x=1"), 200, "text/html"),
        entry(2_750, 50, "GET", &at("/news?csrf=abc123def&q={{a}}"), 200, "application/json"),
        with_body(buy, "application/json", body),
        entry(7_030, 20, "GET", &at("/missing"), 404, "text/html"),
    ]
    .into_iter()
    .map(|mut entry: Value| {
        if entry["request"]["url"] == at("/") {
            entry["response"]["content"]["text"] = json!(page);
        }
        entry
    })
    .collect()
}

#[test]
fn a_recording_becomes_steps_in_their_order() {
    let scenario = made(&shop());
    let steps = steps(&scenario);
    let verbs = ["get", "post", "think", "group"];
    let verb_of = |step: &toml_edit::Table| *verbs.iter().find(|v| step.contains_key(v)).unwrap();
    let found: Vec<&str> = steps.iter().map(verb_of).collect();
    let expected = ["get", "group", "think", "post", "get", "think", "post", "get"];
    assert_eq!(found, expected, "{}", scenario.text);
    assert_eq!((text(&steps[0], "name"), text(&steps[0], "get")), ("/", "/"));
    let take = steps[0]["take"]["csrf"].as_inline_table().unwrap();
    assert_eq!(take["css"].as_str(), Some("input[name=\"csrf\"]"));
    assert_eq!(take["attribute"].as_str(), Some("value"));
    assert_eq!(text(&steps[1], "group"), "static files");
    let files: Vec<&str> = steps[1]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step.as_inline_table().unwrap()["get"].as_str().unwrap())
        .collect();
    assert_eq!(files, ["/style.css?v=2", "/logo"]);
    // From the end of all files of the page to the log-in: 2580 - 580.
    assert_eq!(text(&steps[2], "think"), "const:2s");
    assert_eq!(text(&steps[3], "name"), "POST /login");
    let form = steps[3]["form"].as_inline_table().unwrap();
    let fields: Vec<(&str, &str)> =
        form.iter().map(|(name, value)| (name, value.as_str().unwrap())).collect();
    let expected = [
        ("user", "me@h x"),
        ("wpPassword", "{{env.WPPASSWORD}}"),
        ("csrf", "{{csrf}}"),
        ("lang", "en"),
    ];
    assert_eq!(fields, expected);
    assert_eq!(steps[3]["follow"].as_integer(), Some(1));
    // 50 ms are the browser's.
    assert_eq!(text(&steps[4], "get"), "/news?csrf={{csrf}}&q=\\{{a}}");
    assert_eq!(text(&steps[5], "think"), "const:4.2s");
    assert_eq!(steps[7]["check"]["status"].as_integer(), Some(404));
    assert!(steps[..7].iter().all(|step| !step.contains_key("check")));
}

#[test]
fn headers_and_json_with_secrets_by_name() {
    let scenario = made(&shop());
    let steps = steps(&scenario);
    let buy = &steps[6];
    let headers = buy["headers"].as_inline_table().unwrap();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Authorization", "X-Requested-With", "Accept"]);
    assert_eq!(headers["Authorization"].as_str(), Some("{{env.AUTHORIZATION}}"));
    let json = buy["json"].as_inline_table().unwrap();
    let names: Vec<&str> = json.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["item", "note", "pin"], "in their order");
    assert_eq!(json["note"].as_str(), Some("\\{{x}}"));
    assert_eq!(json["pin"].as_str(), Some("{{env.PIN}}"));
    let item = json["item"].as_inline_table().unwrap();
    let names: Vec<&str> = item.iter().map(|(name, _)| name).collect();
    assert_eq!((names, item["a"].as_float()), (vec!["z", "a"], Some(1.5)));
    assert_eq!(scenario.secrets, ["AUTHORIZATION", "PIN", "WPPASSWORD"]);
    for secret in ["very-secret", "pear", "4321", "sid=1"] {
        assert!(!scenario.text.contains(secret), "{secret} in {}", scenario.text);
    }
}

#[test]
fn what_is_left_out_is_counted_and_said() {
    let scenario = made(&shop());
    assert_eq!((scenario.requests, scenario.steps, scenario.static_files), (14, 5, 2));
    assert_eq!((scenario.redirects, scenario.thinks, scenario.think_ms), (1, 2, 6_200));
    assert_eq!(scenario.server, SHOP);
    let left_out = &scenario.left_out;
    assert_eq!(left_out.hosts["cdn.example"], 2);
    assert_eq!(left_out.methods["OPTIONS"], 1);
    assert_eq!((left_out.without_answer, left_out.websockets, left_out.not_http), (1, 1, 1));
    let remarks = scenario.remarks().join("\n");
    for part in ["WPPASSWORD", "2 of cdn.example", "1 of OPTIONS", "csrf", "1 WebSockets"] {
        assert!(remarks.contains(part) && scenario.text.contains(part), "{part}: {remarks}");
    }
}

#[test]
fn bodies_that_have_no_key_of_their_own_are_sent_as_they_were() {
    let post = |kind: &str, body: &str| {
        let entry = entry(0, 1, "POST", "http://h:8080/a", 200, "text/html");
        let scenario = made(&[with_body(entry, kind, body)]);
        let step = steps(&scenario).remove(0);
        assert_eq!(step["headers"]["Content-Type"].as_str(), Some(kind));
        text(&step, "body").to_owned()
    };
    let form = "application/x-www-form-urlencoded";
    assert_eq!(
        post(form, "a=1&a=2+3&password=x%26y"),
        "a=1&a=2+3&password={{env.PASSWORD | urlencode}}"
    );
    assert_eq!(post(form, "a=%ff&b={{"), "a=%ff&b=\\{{");
    let json = "application/json";
    assert_eq!(
        post(json, "{\"a\": null, \"secret\": \"s3\"}"),
        "{\"a\": null, \"secret\": \"{{env.SECRET}}\"}"
    );
    assert_eq!(post(json, "[1, 2]"), "[1, 2]");
    assert_eq!(post(json, "{\"a\": 1, \"a\": 2}"), "{\"a\": 1, \"a\": 2}");
    assert_eq!(post(json, "{\"n\": 18446744073709551615}"), "{\"n\": 18446744073709551615}");
    assert_eq!(post("application/vnd.api+json", "{\"a\": 1}"), "{\"a\": 1}");
    assert_eq!(post("text/plain; charset=utf-8", "line\n\"'é\u{7}"), "line\n\"'é\u{7}");
    let none = entry(0, 1, "POST", "http://h/a", 200, "text/html");
    let mut none = with_body(none, "multipart/form-data; boundary=x", "");
    none["request"]["postData"]["params"] = json!([{ "name": "file", "fileName": "a.png" }]);
    assert_eq!(made(&[none]).left_out.bodies, 1);
}

#[test]
fn a_form_in_parts_has_names_for_what_is_secret() {
    let part = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let post = |parts: &[String]| {
        let entry = entry(0, 1, "POST", "http://h/a", 200, "text/html");
        let body = format!("{}--b--\r\n", parts.concat());
        let of = with_body(entry, "multipart/form-data; boundary=b", &body);
        steps(&made(&[of])).remove(0)
    };
    let form = post(&[part("password", "pear"), part("text", "two\r\nlines {{x}}")]);
    let fields = form["multipart"].as_table_like().unwrap();
    let of = |name: &str| fields.get(name).unwrap().as_str().unwrap();
    assert_eq!((of("password"), of("text")), ("{{env.PASSWORD}}", "two\r\nlines \\{{x}}"));
    assert!(!form.contains_key("headers"), "{form}");
    // A recording has not what was in a file, so the form is sent as it was.
    let raw = post(&[part("password", "pear"), part("f\"; filename=\"a.txt", "x")]);
    let body = text(&raw, "body");
    assert!(body.contains("{{env.PASSWORD}}") && !body.contains("pear"), "{body}");
}

#[test]
fn a_redirect_to_another_host_is_an_answer() {
    let first = entry(0, 10, "GET", "http://h/go", 302, "");
    let first = with(first, "/response/redirectURL", json!("http://other/x"));
    let page = entry(20, 10, "GET", "http://h/page", 200, "text/html");
    let scenario = made(&[first, entry(12, 5, "GET", "http://other/x", 200, "text/html"), page]);
    // The site is the one that was asked first.
    assert_eq!((scenario.server.as_str(), scenario.steps), ("http://h", 2));
    let first = entry(0, 10, "GET", "http://h/", 200, "text/html");
    let out = entry(20, 10, "GET", "http://h/go", 302, "");
    let out = with(out, "/response/redirectURL", json!("http://other/x"));
    let scenario = made(&[first, out, entry(32, 5, "GET", "http://other/x", 200, "text/html")]);
    let steps = steps(&scenario);
    assert_eq!(steps[1]["check"]["status"].as_integer(), Some(302));
    assert!(!steps[1].contains_key("follow"));
    assert_eq!(scenario.left_out.hosts["other"], 1);
}

#[test]
fn entries_out_of_order_and_ports() {
    let scenario = made(&[
        entry(5_000, 10, "GET", "http://H:80/b", 200, "text/html"),
        entry(0, 10, "GET", "http://h/a", 200, "text/html"),
        entry(6_000, 10, "GET", "http://h:8080/c", 200, "text/html"),
    ]);
    let steps = steps(&scenario);
    assert_eq!((text(&steps[0], "get"), text(&steps[2], "get")), ("/a", "/b"));
    assert_eq!(text(&steps[1], "think"), "const:4.99s");
    assert_eq!(scenario.left_out.hosts["h:8080"], 1);
}

#[test]
fn what_is_no_recording_is_said_with_its_place() {
    let error = |text: &str| convert(text.as_bytes(), "x.har").unwrap_err();
    assert!(matches!(error("{\"log\":{}}"), HarError::Format { .. }));
    assert!(matches!(error("PK"), HarError::Format { .. }));
    let none = json!({ "log": { "entries": [entry(0, 1, "GET", "data:x", 200, "")] } });
    assert!(matches!(error(&none.to_string()), HarError::Empty { .. }));
    let wrong = with(entry(0, 1, "GET", "http://h/", 200, ""), "/startedDateTime", json!("noon"));
    let none = with(wrong.clone(), "/startedDateTime", json!(null));
    let no_time = json!({ "log": { "entries": [none, wrong] } });
    let wrong = error(&no_time.to_string()).to_string();
    assert!(wrong.contains("`noon`") && wrong.contains("request 2"), "{wrong}");
    let with_mark = format!("\u{feff}{}", json!({ "log": { "entries": shop() } }));
    assert_eq!(convert(with_mark.as_bytes(), "x").unwrap().steps, 5);
}

proptest! {
    /// Whatever was recorded: the file is TOML, and no password is in it.
    #[test]
    fn any_texts_are_written_as_toml(
        path in "/[ -~é]{0,20}",
        field in "[ -~\\n\\t\u{80}-\u{90}]{1,12}",
        value in "\\PC{0,20}",
        kind in prop::sample::select(vec![
            "application/json", "application/x-www-form-urlencoded", "text/plain",
        ]),
        password in "[a-zA-Z0-9]{12}",
    ) {
        let body = match kind {
            "application/json" => json!({ &field: value, "password": password }).to_string(),
            "text/plain" => value.clone(),
            _ => format!("{field}={value}&password={password}"),
        };
        let url = format!("http://h{path}");
        let post = with_body(entry(0, 1, "POST", &url, 200, "text/html"), kind, &body);
        let scenario = made(&[post]);
        let _ = steps(&scenario);
        prop_assert!(kind == "text/plain" || !scenario.text.contains(&password));
    }
}
