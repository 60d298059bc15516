//! The page in a browser: with its script, by keyboard, without it, and on a narrow screen.

use serde_json::{Value, json};

use crate::support::browser::Browser;
use crate::support::live::{Live, options, said, with};

const HOSTS: &str = "Array.from(document.querySelectorAll('#rows th a')).map(a => a.textContent[0])\
                     .join('')";

fn announce(live: &Live, host: &str, load: u32) {
    let beat = said(&format!("secret-{host}"), &format!("{host}.example"), "192.0.2.1");
    let more = json!({"load": load, "max_load": 1000, "cache_port": 3000 + load});
    assert_eq!(live.announce(&with(beat, &more)).status, 204);
    live.listed(&format!("{host}.example"));
}

fn live() -> Live {
    let live = Live::start(options());
    for (host, load) in [("a", 10), ("b", 900), ("c", 500)] {
        announce(&live, host, load);
    }
    live
}

fn open(browser: &mut Browser, live: &Live, path: &str) {
    browser.send("Page.navigate", &json!({"url": format!("http://{}{path}", live.at)}));
    browser.until("document.readyState + location.pathname", &json!("complete/"));
}

#[test]
fn with_its_script_the_page_sorts_filters_and_follows_without_a_reload() {
    let name = "with_its_script_the_page_sorts_filters_and_follows_without_a_reload";
    let Some(mut browser) = Browser::start(name) else { return };
    let live = live();
    open(&mut browser, &live, "/");
    browser.until("document.getElementById('pause').hidden", &json!(false));
    browser.until(HOSTS, &json!("abc"));
    browser.look("window.marker = 'the same page'");

    // By keyboard: what has the focus keeps it.
    browser.look("document.getElementById('sort-load').focus()");
    browser.press("Enter", 13, "\r");
    browser.until(HOSTS, &json!("bca"));
    assert_eq!(browser.look("location.search"), "?sort=load");
    assert_eq!(browser.look("document.activeElement.id"), "sort-load");
    let sorted = "document.querySelector('[aria-sort=descending]').textContent.slice(0, 4)";
    assert_eq!(browser.look(sorted), "Load");
    browser.press("Enter", 13, "\r");
    browser.until(HOSTS, &json!("acb"));

    // A filter keeps the order; going back undoes it.
    browser.look(
        "(field => { field.value = '40'; \
         field.dispatchEvent(new Event('change', { bubbles: true })); \
         })(document.getElementById('load_min'))",
    );
    browser.until(HOSTS, &json!("cb"));
    browser.look("history.back()");
    browser.until(HOSTS, &json!("acb"));
    assert_eq!(browser.look("document.getElementById('load_min').value"), "");

    // By itself.
    announce(&live, "d", 700);
    browser.until(HOSTS, &json!("acdb"));
    let pressed = "document.getElementById('pause').getAttribute('aria-pressed')";
    browser.look("document.getElementById('pause').click()");
    assert_eq!(browser.look(pressed), "true");
    announce(&live, "e", 800);
    browser.look("new Promise(done => setTimeout(done, 6000))");
    assert_eq!(browser.look(HOSTS), "acdb");
    browser.look("document.getElementById('pause').click()");
    browser.until(HOSTS, &json!("acdeb"));
    assert_eq!(browser.look("window.marker"), "the same page");
    assert_eq!(browser.faults, Vec::<Value>::new());
}

#[test]
fn the_first_cache_comes_to_an_open_page_and_a_lost_registry_is_said() {
    let name = "the_first_cache_comes_to_an_open_page_and_a_lost_registry_is_said";
    let Some(mut browser) = Browser::start(name) else { return };
    let live = Live::start(options());
    open(&mut browser, &live, "/");
    browser.until("document.querySelector('#list h2') !== null", &json!(true));
    announce(&live, "a", 1);
    browser.until(HOSTS, &json!("a"));
    assert_eq!(browser.look("document.querySelectorAll('#dots').length"), 1);
    assert_eq!(browser.faults, Vec::<Value>::new());
    live.stop();
    let status = "document.getElementById('status').textContent.split(';')[0]";
    browser.until(status, &json!("the registry does not answer"));
    // What was known stands there still.
    assert_eq!(browser.look(HOSTS), "a");
}

#[test]
fn without_a_script_and_on_a_narrow_screen_the_page_is_whole() {
    let name = "without_a_script_and_on_a_narrow_screen_the_page_is_whole";
    let Some(mut browser) = Browser::start(name) else { return };
    let live = live();
    let narrow = json!({"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": true});
    browser.send("Emulation.setDeviceMetricsOverride", &narrow);
    browser.send("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    open(&mut browser, &live, "/?sort=load");
    assert_eq!(browser.look(HOSTS), "bca");
    assert_eq!(browser.look("document.getElementById('pause').hidden"), true);
    assert_eq!(browser.look("document.getElementById('refresh').hidden"), false);
    assert_eq!(browser.look("document.documentElement.scrollWidth"), 400);
    // The style sheet was loaded, and the land is there.
    let style = "getComputedStyle(document.querySelector('.tiles')).display";
    assert_eq!(browser.look(style), "grid");
    let land = "document.querySelector('.land').getBBox().width > 1500";
    browser.until(land, &json!(true));
    // The first stop of the keyboard leads past the links to the table.
    browser.press("Tab", 9, "");
    assert_eq!(browser.look("document.activeElement.className"), "skip");
    assert_eq!(browser.faults, Vec::<Value>::new());
}
