//! No secret of a recording stands in the scenario that is made of it, in whatever form it was
//! sent; what could not be judged is said; and nothing but the secret is changed.

use plimsoll_workload::scenario::har::HarScenario;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scenario_har::{entry, made, steps, text, with, with_body};

/// A page, so that the recording has a main host, and what was asked behind it.
fn shop(mut entries: Vec<Value>) -> HarScenario {
    entries.insert(0, entry(0, 10, "GET", "https://shop.example/", 200, "text/html"));
    made(&entries)
}

fn get(path: &str, kind: &str) -> Value {
    entry(20, 10, "GET", &format!("https://shop.example{path}"), 200, kind)
}

fn post(path: &str, kind: &str, body: &str) -> Value {
    let url = format!("https://shop.example{path}");
    with_body(entry(20, 10, "POST", &url, 200, "application/json"), kind, body)
}

fn body_of(kind: &str, body: &str) -> (String, HarScenario) {
    let scenario = shop(vec![post("/a", kind, body)]);
    let body = text(&steps(&scenario)[1], "body").to_owned();
    (body, scenario)
}

/// That nothing of the recording that begins with LEAK is in the scenario.
fn has_no_leak(scenario: &HarScenario) {
    let line = scenario.text.lines().find(|line| line.to_ascii_uppercase().contains("LEAK"));
    assert!(line.is_none(), "{line:?} in\n{}", scenario.text);
    assert!(scenario.still_there.is_empty(), "{}", scenario.text);
}

const JSON: &str = "application/json";

#[test]
fn a_secret_is_hidden_in_every_place_of_a_url() {
    for path in [
        "/logo.png?access_token=LEAK0001",
        "/a?x=1&api%5Fkey=LEAK%22000",
        "/a?sig=LEAK0001&se=2026",
        "/a;jsessionid=LEAK0001?x=1",
        "/reset/LEAK0001abcdefgh/new",
        "/a?next=%2Fcb%3Faccess_token%3DLEAK0001%26x%3D1",
        "/a?next=%2Fcb%253Faccess_token%253DLEAK0001",
        "/oauth/done?code=LEAK0001&state=LEAK0002",
        "/a?X-Amz-Credential=LEAK0001&X-Amz-Signature=LEAK0002",
        "/a?q=%7B%22password%22%3A%22LEAK%5C%22%22%7D",
        "/a?LEAKis=1&token=LEAKis",
    ] {
        for kind in ["image/png", "text/html"] {
            let scenario = shop(vec![get(path, kind)]);
            // A name of a field is not replaced, and it is said.
            if path.contains("LEAKis=") {
                assert_eq!(scenario.still_there, ["TOKEN"], "{}", scenario.text);
                assert!(scenario.text.contains("# what was recorded for TOKEN stands"));
                continue;
            }
            has_no_leak(&scenario);
            assert!(!scenario.secrets.is_empty(), "{path}: {}", scenario.text);
        }
    }
}

#[test]
fn a_header_is_hidden_whoever_has_named_it() {
    let names = [
        "apikey",
        "Private-Token",
        "X-Vault-Token",
        "X-Auth-Key",
        "X-Goog-Api-Key",
        "Token",
        "X-Amz-Security-Token",
        "Ocp-Apim-Subscription-Key",
        "x-functions-key",
        "X-Access-Token",
        "X-Parse-Session-Token",
        "DD-API-KEY",
        "X-Shopify-Access-Token",
        "X-CSRF-Token",
        "Circle-Token",
        "X-Forwarded-Authorization",
        "X-Hub-Signature-256",
        "X-Custom",
    ];
    let value = |name: &str| match name {
        "X-Custom" => "Bearer LEAK0001abc".to_owned(),
        name => format!("LEAK-{name}"),
    };
    let headers: Vec<Value> =
        names.iter().map(|name| json!({ "name": name, "value": value(name) })).collect();
    let mut headers = headers;
    headers.push(json!({ "name": "X-Author", "value": "anna" }));
    headers.push(json!({ "name": "X-Monkey", "value": "anna" }));
    let scenario = shop(vec![with(get("/api", JSON), "/request/headers", json!(headers))]);
    has_no_leak(&scenario);
    let step = &steps(&scenario)[1];
    assert_eq!(step["headers"]["X-Author"].as_str(), Some("anna"));
    assert_eq!(step["headers"]["X-Monkey"].as_str(), Some("anna"));
    assert_eq!(scenario.secrets.len(), names.len(), "{:?}", scenario.secrets);
}

#[test]
fn a_secret_of_json_is_replaced_where_it_stands_and_nothing_else_is() {
    let same = "{ \"user\":\"anna\", \"qty\":11,\"note\":\"buy 1\" , \"x\":null,\"n\":1.50 }\n";
    let with_pin = |pin: &str| same.replace("\"x\"", &format!("\"pin\": {pin},\"x\""));
    assert_eq!(body_of(JSON, same).0, same);
    let (body, scenario) = body_of(JSON, &with_pin("\"1\""));
    assert_eq!(body, with_pin("\"{{env.PIN}}\""));
    assert_eq!(scenario.secrets, ["PIN"]);
    // A number stays one.
    assert_eq!(body_of(JSON, &with_pin("4711")).0, with_pin("{{env.PIN}}"));
    // What has to be escaped is so when it is filled in.
    assert_eq!(body_of(JSON, &with_pin("\"a\\\"b\"")).0, with_pin("\"{{env.PIN | json}}\""));
    let (body, _) = body_of(JSON, "{\"password\":\"user\",\"user\":\"user\",\"x\":null}");
    assert_eq!(body, "{\"password\":\"{{env.PASSWORD}}\",\"user\":\"user\",\"x\":null}");
    for json in [
        "{\"auth\":{\"refresh_token\":\"LEAK\\u0031\\\"\",\"a\":null}}",
        "{\"client_assertion\":\"LEAK1\",\"client_secret\":\"LEAK2\",\"x\":1.0}",
        "{\"credentials\":{\"a\":\"LEAK1\",\"b\":[\"LEAK2\"]}}",
        "{\"fields\":[{\"name\":\"password\",\"value\":\"LEAK1\"},{\"x\":null}]}",
        "{\"query\":\"mutation { login(password: \\\"LEAK1\\\") }\"}",
        "{\"query\":\"mutation L { a }\",\"variables\":{\"pwd\":\"LEAK2\",\"n\":null}}",
        "{\"inner\":\"{\\\"token\\\":\\\"LEAK1\\\",\\\"n\\\":null}\"}",
        "{\"inner\":\"token=LEAK1&x=1\",\"url\":\"https://h/?sig=LEAK2\"}",
        "{\"header\":\"Basic YW5uYTpMRUFLMQ==\"}",
        "{\"packed\":\"eyJwYXNzd29yZCI6IkxFQUsifQ==\"}",
        "[{\"password\":\"LEAK1\"}]",
    ] {
        for kind in [JSON, "text/plain;charset=UTF-8", "application/vnd.api+json", ""] {
            let scenario = shop(vec![post("/a", kind, json)]);
            has_no_leak(&scenario);
            assert!(!scenario.text.contains("YW5uYTpMRUFLMQ"), "{}", scenario.text);
            assert!(!scenario.text.contains("eyJwYXNzd29y"), "{}", scenario.text);
            assert!(!scenario.secrets.is_empty() && scenario.unjudged.is_empty(), "{json}");
        }
    }
}

#[test]
fn a_body_of_another_grammar_is_searched_and_named() {
    for (kind, body) in [
        ("text/xml; charset=utf-8", "<e><wsse:Password a=\"1\">LEAK1</wsse:Password></e>"),
        ("application/xml", "<login user=\"anna\" password=\"LEAK1\"/>"),
        ("text/plain", "user: anna\npassword: LEAK1\n"),
        ("application/graphql", "mutation { login(user: \"a\", password: \"LEAK1\") { id } }"),
        ("application/x-ndjson", "{\"a\":1}\n{\"token\":\"LEAK1\"}\n"),
        ("application/octet-stream", "\u{1}\u{2}Authorization: Bearer LEAK1\r\nx"),
    ] {
        let (_, scenario) = body_of(kind, body);
        has_no_leak(&scenario);
        let kind = kind.split(';').next().unwrap();
        assert_eq!(scenario.unjudged.get(kind), Some(&1), "{:?}", scenario.unjudged);
        let said = format!("a body of {kind} may hold secrets: look through it");
        assert!(scenario.remarks().contains(&said), "{:?}", scenario.remarks());
        assert!(scenario.text.contains(&said), "{}", scenario.text);
    }
}

#[test]
fn forms_of_all_kinds_have_no_secret() {
    let form = "application/x-www-form-urlencoded";
    let part = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let parts = |parts: &[String]| format!("{}--b--\r\n", parts.concat());
    let multipart = "multipart/form-data; boundary=b";
    for (kind, body) in [
        (form, "user=anna&refresh_token=LEAK%2F1&grant_type=x".to_owned()),
        (form, "a=1&a=2&client_secret=LEAK+1".to_owned()),
        (form, "data=%7B%22pin%22%3A%22LEAK1%22%7D".to_owned()),
        (multipart, parts(&[part("api_key", "LEAK1"), part("a", "b")])),
        (multipart, parts(&[part("otp", "LEAK1"), part("f\"; filename=\"a.txt", "token=LEAK2")])),
        (multipart, parts(&[part("operations", "{\"variables\":{\"password\":\"LEAK1\"}}")])),
    ] {
        let scenario = shop(vec![post("/a", kind, &body)]);
        has_no_leak(&scenario);
        assert!(!scenario.secrets.is_empty(), "{body}");
    }
    let params = json!({ "mimeType": form, "params": [{ "name": "pwd", "value": "LEAK1" }] });
    let mut entry = post("/a", form, "");
    entry["request"]["postData"] = params;
    has_no_leak(&shop(vec![entry]));
}

#[test]
fn a_secret_is_sought_in_what_came_before_and_in_every_form() {
    let scenario = shop(vec![
        get("/of/LEAK%22%2F0001?x=LEAK%22%2F0001", "text/html"),
        with(
            get("/b", JSON),
            "/request/headers",
            json!([{ "name": "X-A", "value": "so LEAK\"/0001" }]),
        ),
        post("/c", JSON, "{\"a\":\"LEAK\\\"\\/0001 x\",\"n\":null,\"b\":\"LEAK%22%2F0001\"}"),
        post("/d", "text/plain", "x TEVBSyIvMDAwMQ== y"),
        post("/login", "application/x-www-form-urlencoded", "password=LEAK%22%2F0001"),
    ]);
    has_no_leak(&scenario);
    assert!(!scenario.text.contains("TEVBSyIv"), "{}", scenario.text);
    assert_eq!(scenario.secrets, ["PASSWORD"], "{}", scenario.text);
    let steps = steps(&scenario);
    assert_eq!(text(&steps[1], "get"), "/of/{{env.PASSWORD}}?x={{env.PASSWORD}}");
    assert_eq!(text(&steps[1], "name"), "/of/{{env.PASSWORD}}");
    let json =
        "{\"a\":\"{{env.PASSWORD | json}} x\",\"n\":null,\"b\":\"{{env.PASSWORD | urlencode}}\"}";
    assert_eq!(text(&steps[3], "body"), json);
    assert_eq!(text(&steps[4], "body"), "x {{env.PASSWORD | base64}} y");
}

#[test]
fn what_stands_in_a_place_that_cannot_be_replaced_is_said() {
    let scenario = shop(vec![post("/a", JSON, "{\"password\":\"pear\",\"pear\":\"tree\"}")]);
    assert_eq!(scenario.still_there, ["PASSWORD"]);
    let said = "what was recorded for PASSWORD stands in this file in other places too";
    assert!(scenario.remarks().iter().any(|remark| remark.starts_with(said)));
    // One of three characters stands in any text.
    let scenario = shop(vec![post("/a", JSON, "{\"password\":\"pea\",\"pear\":\"tree\"}")]);
    assert!(scenario.still_there.is_empty(), "{}", scenario.text);
}

#[test]
fn nothing_is_said_of_a_variable_that_the_file_does_not_use() {
    // The address of the second request is in no step: the first one is led there.
    let led = with(
        entry(20, 10, "GET", "https://shop.example/go", 302, ""),
        "/response/redirectURL",
        json!("/cb?code=LEAK0001&client_id=a"),
    );
    let scenario = shop(vec![led, get("/cb?code=LEAK0001&client_id=a", "text/html")]);
    assert_eq!(scenario.redirects, 1);
    assert!(scenario.secrets.is_empty(), "{}", scenario.text);
    has_no_leak(&scenario);
}

#[test]
fn ordinary_names_are_sent_as_they_were() {
    let form = "compass=n&keyboard=de&monkey=1&author=me&tokenizer=bpe&pinned=1&max_tokens=100";
    let scenario = shop(vec![post("/a", "application/x-www-form-urlencoded", form)]);
    assert!(scenario.secrets.is_empty(), "{}", scenario.text);
    let step = &steps(&scenario)[1];
    assert_eq!(step["form"]["author"].as_str(), Some("me"));
}

/// How a secret was written into a body.
fn written(form: usize, secret: &str) -> (&'static str, String) {
    let quoted = json!(secret).to_string();
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    match form {
        0 => (JSON, format!("{{\"password\": {quoted}, \"n\": null}}")),
        1 => (JSON, json!({ "a": [{ "inner": format!("{{\"token\":{quoted}}}") }] }).to_string()),
        2 => ("application/x-www-form-urlencoded", format!("a=1&a=2&secret={percent}")),
        3 => ("application/x-www-form-urlencoded", format!("x={{}}&api_key={percent}")),
        4 => ("text/plain", format!("{{\"x\":{{\"pin\":{quoted}}}}}")),
        _ => (
            "multipart/form-data; boundary=b",
            format!(
                "--b\r\nContent-Disposition: form-data; name=\"otp\"\r\n\r\n{secret}\r\n--b--\r\n"
            ),
        ),
    }
}

proptest! {
    /// Whatever the secret is, and whatever else was sent: it is in no place of the file, or that
    /// is said.
    #[test]
    fn a_secret_is_in_no_file(
        secret in "[ -~é]{4,16}",
        form in 0..6_usize,
        path in "/[a-z{}\\\\;=%&?]{0,12}",
        also in "[ -~]{0,12}",
    ) {
        let (kind, body) = written(form, &secret);
        let percent: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let entries = [
            get(&format!("{path}{percent}"), "text/html"),
            post("/b", "text/plain", &format!("{also}{secret}{also}")),
            post("/a", kind, &body),
        ];
        let scenario = shop(entries.to_vec());
        let _ = steps(&scenario);
        let stands = scenario.text.contains(&secret) || scenario.text.contains(&percent);
        prop_assert!(!stands || !scenario.still_there.is_empty(), "{}", scenario.text);
        prop_assert!(!scenario.secrets.is_empty(), "{}", scenario.text);
    }
}
