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
