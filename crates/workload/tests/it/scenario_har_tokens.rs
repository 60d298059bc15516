//! Tokens of a recording: from which field of which page a value is taken that was sent.

use plimsoll_workload::scenario::har::HarScenario;
use plimsoll_workload::scenario::take::{Answer, Headers, Take, Which};
use serde_json::{Value, json};

use crate::scenario_har::{entry, made, steps, text, with, with_body};

fn page(at_s: u32, html: &str) -> Value {
    let url = format!("https://shop.example/page{at_s}");
    let mut entry = entry(at_s * 1000, 20, "GET", &url, 200, "text/html");
    entry["response"]["content"]["text"] = json!(html);
    entry
}

fn post(at_s: u32, body: &str) -> Value {
    let url = format!("https://shop.example/post{at_s}");
    let entry = entry(at_s * 1000, 20, "POST", &url, 200, "application/json");
    with_body(entry, "application/x-www-form-urlencoded", body)
}

/// What each step takes, of that page, and what each form sends.
fn walk(scenario: &HarScenario, pages: &[&str]) -> Vec<String> {
    let (mut said, mut pages) = (Vec::new(), pages.iter());
    for step in steps(scenario) {
        if step.contains_key("get") {
            let page = pages.next().unwrap();
            let takes = step.get("take").and_then(|take| take.as_table_like());
            for (name, of) in takes.iter().flat_map(|takes| takes.iter()) {
                let of = of.as_inline_table().unwrap();
                let word = |key: &str| of.get(key).and_then(|value| value.as_str());
                let mut take = Take::css(word("css").unwrap(), word("attribute")).unwrap();
                if let Some(which) = of.get("which").and_then(toml_edit::Value::as_integer) {
                    take = take.which(Which::Number(u32::try_from(which).unwrap()));
                }
                let answer = Answer::new(200, Headers::default(), page.as_bytes(), "http://h/");
                let value = take.find(&answer, |_| 0).unwrap();
                said.push(format!("{name} = {}", value.text().unwrap()));
            }
        }
        let form = step.get("form").and_then(|form| form.as_inline_table());
        for (name, value) in form.iter().flat_map(|form| form.iter()) {
            said.push(format!("{name}: {}", value.as_str().unwrap()));
        }
    }
    said
}

fn input(name: &str, value: &str) -> String {
    format!("<input type=hidden name=\"{name}\" value=\"{value}\">")
}

#[test]
fn of_two_forms_the_token_of_the_one_that_was_sent_is_taken() {
    let [a, b] = [input("token", "AAAA1111"), input("token", "BBBB2222")];
    for html in [
        format!("<form action=/logout>{a}</form><form action=/login>{b}</form>"),
        format!("<form id=x>{a}</form><form name=\"it's\">{b}</form>"),
        format!("<form action=/p>{a}</form><form action=/p>{b}</form>"),
        format!("<form action=/a>{a}</form><form action='/p?sid=LEAK'>{b}</form>"),
        format!("<form action=/a>{a}</form><form action=/p/LEAK5f3a91c7abcdefgh>{b}</form>"),
        format!("{a}{b}"),
        format!("<script>var x = '{a}';</script><textarea>{a}</textarea><form>{a}{b}</form>"),
    ] {
        let scenario = made(&[page(0, &html), post(5, "token=BBBB2222&user=a")]);
        let expected = ["token = BBBB2222", "token: {{token}}", "user: a"];
        assert_eq!(walk(&scenario, &[&html]), expected, "{}", scenario.text);
        assert!(!scenario.text.contains("LEAK"), "{}", scenario.text);
    }
    let html = format!("<form action=/login>{a}</form><form action=/x>{b}</form>");
    let both = made(&[page(0, &html), post(5, "token=AAAA1111"), post(6, "token=BBBB2222")]);
    let expected =
        ["token = AAAA1111", "token_2 = BBBB2222", "token: {{token}}", "token: {{token_2}}"];
    assert_eq!(walk(&both, &[&html]), expected, "{}", both.text);
}

#[test]
fn of_two_pages_the_one_that_gave_the_value() {
    let [a, b] = [input("token", "AAAA1111"), input("token", "BBBB2222")];
    // One after the other: one variable is enough.
    let entries = [page(0, &a), post(1, "token=AAAA1111"), page(2, &b), post(3, "token=BBBB2222")];
    let expected = ["token = AAAA1111", "token: {{token}}", "token = BBBB2222", "token: {{token}}"];
    assert_eq!(walk(&made(&entries), &[&a, &b]), expected);
    // Both are open, and the first is sent last.
    let entries = [page(0, &a), page(1, &b), post(2, "token=BBBB2222"), post(3, "token=AAAA1111")];
    let scenario = made(&entries);
    let expected =
        ["token_2 = AAAA1111", "token = BBBB2222", "token: {{token}}", "token: {{token_2}}"];
    assert_eq!(walk(&scenario, &[&a, &b]), expected, "{}", scenario.text);
    assert_eq!(scenario.tokens, ["token", "token_2"]);
    // The same value on both: the last before it was sent.
    let entries = [page(0, &a), page(1, &a), post(2, "token=AAAA1111"), page(3, &a)];
    let expected = ["token = AAAA1111", "token: {{token}}"];
    assert_eq!(walk(&made(&entries), &[&a, &a, &a]), expected);
    // A variable that is sent once more is not taken anew meanwhile.
    let entries = [
        page(0, &a),
        post(1, "token=AAAA1111"),
        page(2, &b),
        post(3, "token=BBBB2222"),
        post(4, "token=AAAA1111"),
    ];
    let scenario = made(&entries);
    let expected = [
        "token = AAAA1111",
        "token_2 = AAAA1111",
        "token: {{token}}",
        "token = BBBB2222",
        "token: {{token}}",
        "token: {{token_2}}",
    ];
    assert_eq!(walk(&scenario, &[&a, &b]), expected, "{}", scenario.text);
}

#[test]
fn fields_whose_names_would_collide_have_variables_of_their_own() {
    let html = [input("user.id", "123456789b"), input("user_id", "123456789c")].concat();
    let scenario = made(&[page(0, &html), post(2, "user.id=123456789b&user_id=123456789c")]);
    let expected = [
        "user_id = 123456789b",
        "user_id_2 = 123456789c",
        "user.id: {{user_id}}",
        "user_id: {{user_id_2}}",
    ];
    assert_eq!(walk(&scenario, &[&html]), expected, "{}", scenario.text);
}

#[test]
fn a_token_of_a_meta_is_sent_as_a_header() {
    let html = "<meta name=csrf-token content=AAAA1111><meta name=author content=anna1234567>";
    let sent = with(
        post(2, "a=b"),
        "/request/headers",
        json!([{ "name": "X-CSRF-Token", "value": "AAAA1111" },
               { "name": "X-Author", "value": "anna1234567" }]),
    );
    let scenario = made(&[page(0, html), sent]);
    assert_eq!(walk(&scenario, &[html])[0], "csrf_token = AAAA1111", "{}", scenario.text);
    let headers = &steps(&scenario)[2]["headers"];
    assert_eq!(headers["X-CSRF-Token"].as_str(), Some("{{csrf_token}}"));
    assert_eq!(headers["X-Author"].as_str(), Some("anna1234567"));
    assert!(scenario.secrets.is_empty() && !scenario.text.contains("AAAA1111"));
}

#[test]
fn what_a_script_holds_is_no_field() {
    let [a, b] = [input("token", "AAAA1111"), input("other", "BBBB2222")];
    let html = format!("<script>x('{a}')</script><style>{a}</style><title>{a}</title>{b}");
    let scenario = made(&[page(0, &html), post(2, "token=AAAA1111&other=BBBB2222")]);
    assert_eq!(text(&steps(&scenario)[0], "name"), "/page0");
    assert_eq!(
        (&scenario.tokens[..], &scenario.secrets[..]),
        (&["other".to_owned()][..], &["TOKEN".to_owned()][..])
    );
}
