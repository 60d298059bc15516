//! Recordings as odd programs write them: members that are `null`, missing or of another type.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_workload::scenario::har::{HarError, HarScenario, convert};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scenario_har::{entry, made, steps, text, with_body};

fn page() -> Value {
    entry(0, 10, "GET", "https://shop.example/", 200, "text/html")
}

/// A request with all members that HAR has.
fn whole() -> Value {
    let form = "application/x-www-form-urlencoded";
    let mut entry = entry(2_000, 10, "POST", "https://shop.example/a", 200, "text/html");
    entry = with_body(entry, form, "user=anna");
    entry["request"]["headers"] = json!([{ "name": "X-A", "value": "b" }]);
    entry["request"]["postData"]["params"] = json!([{ "name": "user", "value": "anna" }]);
    entry["response"]["headers"] = json!([]);
    entry["response"]["content"]["text"] = json!("<p>");
    entry["response"]["content"]["encoding"] = json!("");
    entry["_resourceType"] = json!("document");
    entry["_fromCache"] = json!(null);
    entry["pageref"] = json!("page_1");
    entry
}

/// The places of all members and items within a value.
fn pointers(of: &Value, at: &str, out: &mut Vec<String>) {
    let mut add = |name: String, value: &Value| {
        out.push(format!("{at}/{name}"));
        pointers(value, &format!("{at}/{name}"), out);
    };
    match of {
        Value::Object(members) => members.iter().for_each(|(name, of)| add(name.clone(), of)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(place, of)| add(place.to_string(), of));
        }
        _ => {}
    }
}

fn read(entries: &[Value]) -> Result<HarScenario, HarError> {
    let har = json!({ "log": { "version": "1.2", "entries": entries } }).to_string();
    convert(har.as_bytes(), "odd.har")
}

#[test]
fn a_member_of_another_type_refuses_nothing() {
    let mut places = Vec::new();
    pointers(&whole(), "", &mut places);
    assert!(places.len() > 25, "{places:?}");
    for place in places {
        for odd in
            [json!(null), json!(7), json!("x"), json!([]), json!({}), json!([null]), json!(true)]
        {
            let mut entry = whole();
            *entry.pointer_mut(&place).unwrap() = odd.clone();
            let scenario = read(&[page(), entry]).unwrap_or_else(|e| panic!("{place} {odd}: {e}"));
            assert_eq!(scenario.requests, 2);
            let _ = steps(&scenario);
        }
        let mut entry = whole();
        let (of, name) = place.rsplit_once('/').unwrap();
        if let Some(Value::Object(members)) = entry.pointer_mut(of) {
            members.remove(name);
        }
        read(&[page(), entry]).unwrap_or_else(|error| panic!("without {place}: {error}"));
    }
    for odd in [json!(null), json!(7), json!([]), json!({}), json!("x")] {
        let scenario = read(&[odd.clone(), page()]).unwrap();
        assert_eq!((scenario.left_out.incomplete, scenario.steps), (1, 1), "{odd}");
        let said = "left out: 1 entry without a URL, a method or a time".to_owned();
        assert!(scenario.remarks().contains(&said), "{:?}", scenario.remarks());
        assert!(matches!(read(&[odd]), Err(HarError::Empty { .. })));
    }
}

#[test]
fn an_entry_without_an_answer_is_left_out_and_counted() {
    for response in [json!(null), json!({ "status": null }), json!({ "status": 0 }), json!([])] {
        let mut entry = whole();
        entry["response"] = response;
        let scenario = made(&[page(), entry]);
        assert_eq!((scenario.left_out.without_answer, scenario.steps), (1, 1));
    }
}

#[test]
fn texts_may_be_numbers_and_numbers_texts() {
    let mut entry = whole();
    entry["time"] = json!("30.5");
    entry["response"]["status"] = json!("404");
    entry["request"]["method"] = json!("post");
    entry["request"]["headers"] = json!([{ "name": "X-A", "value": 7 }]);
    let scenario = made(&[page(), entry.clone()]);
    let step = &steps(&scenario)[2];
    assert_eq!(text(step, "post"), "/a");
    assert_eq!(step["headers"]["X-A"].as_str(), Some("7"));
    assert_eq!(step["check"]["status"].as_integer(), Some(404));
    entry["request"]["headers"] = json!({ "X-B": "c" });
    entry["startedDateTime"] = json!(1_795_150_802_000_u64);
    let mut page = page();
    page["startedDateTime"] = json!(1_795_150_800_000_u64);
    let scenario = made(&[page, entry]);
    assert_eq!(scenario.think_ms, 1_990, "{}", scenario.text);
    assert_eq!(steps(&scenario)[2]["headers"]["X-B"].as_str(), Some("c"));
}

#[test]
fn a_packed_recording_is_read() {
    let har = json!({ "log": { "entries": [page(), whole()] } }).to_string();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(har.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let scenario = convert(&packed[..], "a.har.gz").unwrap();
    assert_eq!(scenario.text, convert(har.as_bytes(), "a.har.gz").unwrap().text);
    let torn = convert(&packed[..packed.len() / 2], "a.har.gz").unwrap_err();
    assert!(matches!(torn, HarError::Read { .. }), "{torn}");
}

#[test]
fn what_asked_nobody_and_what_is_no_request_is_counted() {
    let with_status = |status: i64| {
        let mut entry = whole();
        entry["response"]["status"] = json!(status);
        entry
    };
    let mut cached = whole();
    cached["_fromCache"] = json!("disk");
    let entries = [page(), with_status(101), with_status(99), with_status(1000), cached];
    let scenario = made(&entries);
    let left_out = &scenario.left_out;
    assert_eq!((left_out.websockets, left_out.without_answer, left_out.cached), (1, 2, 1));
    assert_eq!(scenario.steps, 1, "{}", scenario.text);
    let mut upper = whole();
    upper["request"]["url"] = json!("HTTPS://shop.example:443/a");
    let scenario = made(&[page(), upper, with_status(999)]);
    assert_eq!((scenario.steps, scenario.left_out.not_http), (3, 0), "{}", scenario.text);
}

#[test]
fn a_header_that_no_request_may_have_is_left_out() {
    let mut entry = whole();
    entry["request"]["headers"] = json!([
        { "name": "X-A", "value": "a\r\nX-B: b" }, { "name": "X C", "value": "c" },
        { "name": "", "value": "c" }, { "name": "X-D", "value": "d\te" },
        { "name": "X-E", "value": "\u{7}" },
    ]);
    entry["request"]["postData"] = json!({ "mimeType": "text/plain\r\nX: y", "text": "x" });
    let scenario = made(&[page(), entry]);
    let headers = steps(&scenario)[2]["headers"].as_inline_table().unwrap().clone();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["X-D", "Content-Type"], "{}", scenario.text);
    assert_eq!(
        (headers["Content-Type"].as_str(), scenario.left_out.headers),
        (Some("text/plain"), 4)
    );
}

#[test]
fn an_upload_without_its_content_is_said() {
    let part = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let of = |parts: &[String]| {
        let body = format!("{}--b--\r\n", parts.concat());
        made(&[page(), with_body(whole(), "multipart/form-data; boundary=b", &body)])
    };
    let scenario = of(&[part("a", "b"), part("f\"; filename=\"f.txt", "")]);
    assert_eq!(scenario.left_out.files, 1, "{}", scenario.text);
    let said = "left out: 1 content of a file, which the recording has not: an empty one is sent";
    assert!(scenario.remarks().contains(&said.to_owned()), "{:?}", scenario.remarks());
    // One that was not chosen is empty.
    assert_eq!(of(&[part("f\"; filename=\"", "")]).left_out.files, 0);
    // Firefox has the fields of a form, and not its text.
    let mut entry = whole();
    entry["request"]["postData"] = json!({
        "mimeType": "multipart/form-data", "params": [{ "name": "pin", "value": "7" }],
    });
    let scenario = made(&[page(), entry]);
    assert_eq!(steps(&scenario)[2]["multipart"]["pin"].as_str(), Some("{{env.PIN}}"));
}

#[test]
fn a_page_in_base64_is_looked_at_for_tokens() {
    let mut page = page();
    page["response"]["content"]["encoding"] = json!("base64");
    page["response"]["content"]["text"] =
        json!("PGlucHV0IHR5cGU9aGlkZGVuIG5hbWU9dG9rZW4gdmFs\ndWU9YWJjMTIzZGVmPg==");
    let form = "application/x-www-form-urlencoded";
    let scenario = made(&[page, with_body(whole(), form, "token=abc123def")]);
    assert_eq!(scenario.tokens, ["token"], "{}", scenario.text);
}

/// Bodies that are packed are sent as they were, or not at all, and no secret stays packed.
#[test]
fn a_body_in_base64_is_unpacked_or_left_out_and_said() {
    let packed = |kind: &str, text: &str, encoding: &str| {
        let mut entry = with_body(whole(), kind, text);
        entry["request"]["postData"]["encoding"] = json!(encoding);
        made(&[page(), entry])
    };
    let form = "application/x-www-form-urlencoded";
    let of_form = packed(form, "dXNlcj1hbm5hJnBhc3N3b3Jk\nPVBlYXI3dHJlZS1MRUFL", "base64");
    let step = steps(&of_form)[2].clone();
    assert_eq!(step["form"]["user"].as_str(), Some("anna"), "{}", of_form.text);
    assert_eq!(step["form"]["password"].as_str(), Some("{{env.PASSWORD}}"));
    let of_json = packed("application/json", "eyJ0aXRsZSI6ImZvbyJ9", "base64");
    assert_eq!(steps(&of_json)[2]["json"]["title"].as_str(), Some("foo"));
    let unread = [("/9j/4AD/", "base64"), ("dXNlcj1hbm5h=x", "base64"), ("abc", "zstd")];
    for (text, encoding) in unread {
        let scenario = packed("application/octet-stream", text, encoding);
        assert_eq!(scenario.left_out.bodies, 1, "{}", scenario.text);
        assert!(!scenario.text.contains(text) && steps(&scenario)[2].get("body").is_none());
    }
}

/// What asks for a part of a file asks for a part when it is played, and each line of a header is
/// sent.
#[test]
fn parts_of_files_and_headers_of_several_lines_are_asked_for_as_they_were() {
    let mut part = entry(2_000, 10, "GET", "https://shop.example/film.mp4", 206, "video/mp4");
    part["request"]["headers"] = json!([
        { "name": "Range", "value": "bytes=0-99" }, { "name": "X-Two", "value": "1" },
        { "name": "x-two", "value": "2" },
    ]);
    let scenario = made(&[page(), part]);
    let step = steps(&scenario)[2].clone();
    assert_eq!(step["headers"]["Range"].as_str(), Some("bytes=0-99"), "{}", scenario.text);
    let two = step["headers"]["X-Two"].as_array().unwrap();
    assert_eq!(two.iter().map(|of| of.as_str().unwrap()).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(step["check"]["status"].as_integer(), Some(206));
}

#[test]
fn operations_of_graphql_have_names() {
    let post = |body: &str| {
        let mut entry = with_body(whole(), "application/json", body);
        entry["request"]["url"] = json!("https://shop.example/graphql");
        entry
    };
    let scenario = made(&[
        page(),
        post("{\"operationName\":\"Cart\",\"query\":\"query Cart { a }\"}"),
        post("{\"query\":\"mutation Buy($n: Int) { b }\",\"variables\":null}"),
        post("{\"query\":\"{ c }\"}"),
    ]);
    let steps = steps(&scenario);
    let names: Vec<&str> = steps[2..].iter().map(|step| text(step, "name")).collect();
    assert_eq!(names, ["POST /graphql Cart", "POST /graphql Buy", "POST /graphql"]);
}

proptest! {
    /// Whatever two members are: the recording is read.
    #[test]
    fn odd_members_refuse_nothing(
        places in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        odd in prop::sample::select(vec![
            json!(null), json!(-1), json!(1e300), json!("\u{0}\r\n"), json!([[]]), json!({"a":{}}),
            json!("999999999999999999999999"), json!("https://x"), json!("data:,"),
        ]),
    ) {
        let mut all = Vec::new();
        pointers(&whole(), "", &mut all);
        let mut entry = whole();
        for place in places {
            if let Some(value) = entry.pointer_mut(&all[place.index(all.len())]) {
                *value = odd.clone();
            }
        }
        let scenario = read(&[page(), entry]);
        prop_assert!(scenario.is_ok(), "{:?}", scenario);
        let _ = steps(&scenario.unwrap());
    }
}
