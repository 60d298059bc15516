//! Of which hosts of a recording a scenario is made.

use plimsoll_workload::scenario::har::{HarError, HarScenario, convert_hosts};
use serde_json::{Value, json};

use crate::scenario_har::{entry, made, steps, text, with};

const SHOP: &str = "https://shop.example";
const HTML: &str = "text/html";
const JSON: &str = "application/json";

fn get(at_s: u32, url: &str, kind: &str) -> Value {
    entry(at_s * 1000, 20, "GET", url, 200, kind)
}

fn led(at_s: u32, url: &str, to: &str) -> Value {
    with(entry(at_s * 1000, 20, "GET", url, 302, ""), "/response/redirectURL", json!(to))
}

fn pages(from_s: u32, host: &str, count: u32) -> Vec<Value> {
    (0..count).map(|n| get(from_s + n, &format!("{host}/page{n}"), HTML)).collect()
}

fn chosen(entries: &[Value], hosts: &[&str]) -> Result<HarScenario, HarError> {
    let har = json!({ "log": { "entries": entries } }).to_string();
    let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
    convert_hosts(har.as_bytes(), "a.har", &hosts)
}

#[test]
fn a_sign_in_elsewhere_is_not_the_site() {
    let login = "https://id.example.net/login";
    let signed_in = [
        led(0, &format!("{SHOP}/"), login),
        get(1, login, HTML),
        led(2, login, &format!("{SHOP}/cb?code=abc&client_id=x")),
        led(3, &format!("{SHOP}/cb?code=abc&client_id=x"), "/home"),
        get(4, &format!("{SHOP}/home"), HTML),
    ];
    let scenario = made(&[&signed_in[..], &pages(5, SHOP, 10)].concat());
    assert_eq!((scenario.server.as_str(), scenario.steps), (SHOP, 12), "{}", scenario.text);
    assert_eq!((scenario.left_out.hosts["id.example.net"], scenario.redirects), (2, 1));
    assert!(!scenario.text.contains("code=abc"), "{}", scenario.text);
    assert!(scenario.hosts.is_empty() && !scenario.text.contains("hosts ="));
    // One that begins where somebody signs in, or with a link that leads on.
    for before in [&signed_in[1..], &[led(0, "https://l.ink/x", SHOP)]] {
        let scenario = made(&[before, &pages(5, SHOP, 10)].concat());
        assert_eq!(scenario.server, SHOP, "{}", scenario.text);
    }
}

#[test]
fn an_api_on_another_host_of_the_site_is_part_of_it() {
    let api = "https://api.shop.example";
    let calls: Vec<Value> =
        (0..3).map(|n| get(2 + n, &format!("{api}/items?page={n}&token=LEAK0001"), JSON)).collect();
    let mut entries = vec![get(0, &format!("{SHOP}/"), HTML)];
    entries.extend(calls);
    entries.push(get(1, "https://cdn.shop.example/a.js", "text/javascript"));
    entries.push(get(1, "https://count.example.org/a", JSON));
    entries.push(led(9, &format!("{SHOP}/go"), &format!("{api}/end")));
    entries.push(get(10, &format!("{api}/end"), HTML));
    let scenario = made(&entries);
    assert_eq!(scenario.hosts, [api], "{}", scenario.text);
    assert!(scenario.text.contains("\nhosts = [\"https://api.shop.example\"]\n"));
    assert_eq!((scenario.steps, scenario.redirects), (5, 1), "{}", scenario.text);
    let step = &steps(&scenario)[2];
    assert_eq!(text(step, "get"), format!("{api}/items?page=0&token={{{{env.TOKEN}}}}"));
    assert_eq!(text(step, "name"), format!("{api}/items"));
    assert_eq!(scenario.left_out.hosts.len(), 2, "{:?}", scenario.left_out);
    let said = format!("steps of {api} name it: they ask it whatever the target is");
    assert!(scenario.remarks().contains(&said), "{:?}", scenario.remarks());
}

#[test]
fn an_api_beyond_the_site_is_part_of_it_where_it_answers_most_calls() {
    let api = "http://localhost:8080";
    let calls = |host: &str, count: u32| -> Vec<Value> {
        (0..count).map(|n| get(2 + n, &format!("{host}/v{n}"), JSON)).collect()
    };
    let page = [get(0, "http://localhost:3000/", HTML)];
    let scenario = made(&[&page[..], &calls(api, 5), &calls("https://count.example", 2)].concat());
    assert_eq!(scenario.server, "http://localhost:3000");
    assert_eq!(scenario.hosts, [api], "{}", scenario.text);
    assert_eq!((scenario.steps, scenario.left_out.hosts["count.example"]), (6, 2));
}

#[test]
fn the_server_with_most_pages_of_the_site_is_the_target() {
    let first = [led(0, "http://shop.example/", "https://www.shop.example/")];
    let www = "https://www.shop.example";
    let scenario = made(&[&first[..], &pages(1, www, 3)].concat());
    assert_eq!((scenario.server.as_str(), scenario.hosts.len()), (www, 0), "{}", scenario.text);
}

#[test]
fn hosts_may_be_chosen() {
    let other = "https://other.example:8443";
    let entries = [pages(0, SHOP, 2), pages(5, other, 3)].concat();
    for name in
        ["other.example", "other.example:8443", "https://other.example:8443/", "OTHER.example"]
    {
        let scenario = chosen(&entries, &[name]).unwrap();
        assert_eq!((scenario.server.as_str(), scenario.steps), (other, 3), "{name}");
        assert_eq!(scenario.left_out.hosts["shop.example"], 2);
    }
    let scenario = chosen(&entries, &["other.example", "shop.example"]).unwrap();
    assert_eq!((scenario.server.as_str(), &scenario.hosts[..]), (other, &[SHOP.to_owned()][..]));
    assert_eq!(scenario.steps, 5);
    let error = chosen(&entries, &["shop.exmple"]).unwrap_err();
    let hint = plimsoll_units::failure::Failure::hint(&error).unwrap();
    assert!(error.to_string().contains("`shop.exmple`") && hint.contains(SHOP), "{hint}");
}
