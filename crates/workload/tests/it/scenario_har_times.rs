//! Think times of a recording: from the end of what a page waits for to the next one, whatever goes
//! on behind.

use plimsoll_workload::scenario::har::HarScenario;
use serde_json::{Value, json};

use crate::scenario_har::{entry, made, with};

const HOST: &str = "https://shop.example";

/// Six pages, ten seconds from one to the next, and what goes on beside them.
fn pages_beside(others: &[Value]) -> HarScenario {
    let page =
        |at: u32| entry(at * 10_000, 30, "GET", &format!("{HOST}/page{at}"), 200, "text/html");
    let pages: Vec<Value> = (0..6).map(page).collect();
    made(&[&pages[..], others].concat())
}

fn call(at_ms: u32, took_ms: u32, path: &str) -> Value {
    entry(at_ms, took_ms, "GET", &format!("{HOST}{path}"), 200, "application/json")
}

fn of_kind(mut entry: Value, kind: &str) -> Value {
    entry["_resourceType"] = json!(kind);
    entry
}

/// That users think as if there were the pages alone.
fn thinks_as_of_pages(scenario: &HarScenario) {
    let (least, most) = (49_000, 50_000);
    let is = (least..=most).contains(&scenario.think_ms);
    assert!(is, "{} ms in {}", scenario.think_ms, scenario.text);
}

#[test]
fn an_event_stream_is_left_out_and_takes_no_time_away() {
    let stream = |kind: &str| entry(500, 300_000, "GET", &format!("{HOST}/events"), 200, kind);
    let accepted = with(
        stream(""),
        "/request/headers",
        json!([{ "name": "Accept", "value": "text/event-stream" }]),
    );
    for stream in [
        stream("text/event-stream; charset=utf-8"),
        of_kind(stream(""), "eventsource"),
        with(stream("text/event-stream"), "/response/status", json!(0)),
        stream("multipart/x-mixed-replace; boundary=x"),
        accepted,
    ] {
        let scenario = pages_beside(&[stream]);
        thinks_as_of_pages(&scenario);
        assert_eq!((scenario.thinks, scenario.steps), (5, 6), "{}", scenario.text);
        assert_eq!(scenario.left_out.event_streams, 1);
        let said = "left out: 1 event stream".to_owned();
        assert!(scenario.remarks().contains(&said) && scenario.text.contains(&said));
    }
    // What is asked for by POST and answered as a stream has an end, for which users wait.
    let chat = entry(500, 4_000, "POST", &format!("{HOST}/chat"), 200, "text/event-stream");
    let scenario = pages_beside(&[chat]);
    assert_eq!((scenario.left_out.event_streams, scenario.steps), (0, 7));
    assert!((45_000..46_500).contains(&scenario.think_ms), "{}", scenario.think_ms);
}

#[test]
fn long_polls_are_left_out_and_take_no_time_away() {
    let polls = [call(500, 25_000, "/poll?n=1"), call(25_510, 25_000, "/poll?n=2")];
    let scenario = pages_beside(&polls);
    thinks_as_of_pages(&scenario);
    assert_eq!((scenario.thinks, scenario.left_out.long_polls), (5, 2), "{}", scenario.text);
    let said = "left out: 2 long polls, which were open while users went on".to_owned();
    assert!(scenario.remarks().contains(&said), "{:?}", scenario.remarks());
    // Of a page of one document, where users do what scripts ask for.
    let mut calls: Vec<Value> = (0..5).map(|at| call(8_000 * at, 30, "/api/cart")).collect();
    calls.insert(0, entry(0, 30, "GET", HOST, 200, "text/html"));
    let mut with_poll = calls.clone();
    with_poll.extend([call(100, 20_000, "/poll"), call(20_110, 20_000, "/poll")]);
    assert_eq!(made(&with_poll).think_ms, made(&calls).think_ms);
    assert_eq!(made(&with_poll).left_out.long_polls, 2);
}

#[test]
fn a_slow_answer_for_which_users_wait_is_waited_for() {
    let page = entry(0, 30, "GET", HOST, 200, "text/html");
    let next = entry(20_000, 30, "GET", &format!("{HOST}/next"), 200, "text/html");
    let scenario = made(&[page.clone(), call(100, 8_000, "/report"), next.clone()]);
    assert_eq!((scenario.steps, scenario.think_ms), (3, 11_900), "{}", scenario.text);
    // What a page loads beside each other is of the page, also where one takes long.
    let calls = [call(100, 2_000, "/a"), call(1_200, 500, "/b"), next.clone()];
    let scenario = made(&[&[page.clone()][..], &calls[..]].concat());
    assert_eq!(scenario.think_ms, 17_900, "{}", scenario.text);
    // An upload that goes on behind is sent.
    let upload = entry(100, 30_000, "POST", &format!("{HOST}/upload"), 200, "application/json");
    let scenario = made(&[page, upload, next]);
    assert_eq!((scenario.steps, scenario.left_out.long_polls), (3, 0), "{}", scenario.text);
    assert_eq!(scenario.think_ms, 19_900, "{}", scenario.text);
}

#[test]
fn beacons_and_files_that_go_on_behind_take_no_time_away() {
    let beacon = entry(9_000, 15_000, "POST", &format!("{HOST}/beacon"), 204, "");
    let beacon = of_kind(beacon, "ping");
    let video = entry(300, 45_000, "GET", &format!("{HOST}/v.mp4"), 200, "video/mp4");
    let slow_page = entry(200, 9_900, "GET", &format!("{HOST}/frame"), 200, "text/html");
    let slow_call = call(9_000, 1_500, "/counter");
    let pixel = entry(5_000, 30, "GET", &format!("{HOST}/p.gif?n=1"), 200, "image/gif");
    for beside in [beacon, video, slow_page, slow_call, pixel] {
        let scenario = pages_beside(std::slice::from_ref(&beside));
        thinks_as_of_pages(&scenario);
        assert_eq!(scenario.steps + scenario.static_files, 7, "{beside}");
    }
}

#[test]
fn a_page_within_a_page_ends_none() {
    let in_page = |mut entry: Value, page: &str| {
        entry["pageref"] = json!(page);
        of_kind(entry, "document")
    };
    let document = |at_ms, took_ms, path: &str| {
        entry(at_ms, took_ms, "GET", &format!("{HOST}{path}"), 200, "text/html")
    };
    let scenario = made(&[
        in_page(document(0, 4_000, "/"), "page_1"),
        in_page(document(2_000, 100, "/frame"), "page_1"),
        in_page(document(10_000, 100, "/next"), "page_2"),
    ]);
    assert_eq!((scenario.thinks, scenario.think_ms), (1, 6_000), "{}", scenario.text);
}
