//! What is watched beside a load: figures by which runs are judged, warm-ups end, cells are lost,
//! and which are told.

use crate::place::{Place, Target};
use plimsoll_monitor::{Source, Watched};
use plimsoll_runs::Run;
use plimsoll_testing::{Weight, has_instances, has_rates, installed, not_judged};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A cache that is empty at first: its reads find more and more of what its updates have set.
pub(crate) const CACHE: &str = "\
name = 'warming'
[testbed]
provider = 'process'
[role.db]
recipe = 'memcached'
[target]
url = 'memcached://{{role.db.address}}:{{role.db.port}}'
[store]
records = 100
[load]
rate = '2000/s'
for = '2s'
start_when = 'memcached.hit_ratio>=60% for 1s'
start_within = '60s'
[collect]
every = '250ms'
from = ['host', 'memcached']
[watch.warm]
when = 'memcached.hit_ratio>=50%'
[measure]
slo = 'memcached.hit_ratio>=50%, host.memory<100%, instance.db*.memcached.items>1 for 1s'
";

#[test]
fn a_warm_up_whose_rule_does_not_come_to_hold_fails_its_cell_with_the_reason() {
    let place = Place::new();
    let plan = CACHE
        .replace("hit_ratio>=60% for 1s", "items>100000 for 1s")
        .replace("start_within = '60s'", "start_within = '3s'");
    place.write("plan.toml", &plan);
    let failed = place.plimsoll(&["run", "plan.toml"]).ended_with(4);
    assert!(failed.err.contains("did not end within 3 s: it never held"), "{}", failed.err);
    // What failed is not to be believed, whatever its generator was like.
    let run = Run::open(&place.run()).unwrap().summary().unwrap().run;
    assert!(!run.valid && run.invalid_because[0].starts_with("it failed: "), "{run:?}");
    let analysed = place.plimsoll(&["analyse", "--json"]).ended_with(4).json();
    let cell = &analysed["cells"][0];
    assert_eq!((&cell["state"], &cell["valid"]), (&"failed".into(), &false.into()), "{analysed}");
}

/// A server that has little of a core, or little of a link, before users who ask as fast as they
/// are answered.
const SHORT: &str = "\
name = 'what is short'
[factor.short]
processor = { 'role.web.cpu' = '1%' }
link = { 'role.web.rate' = '4Mbit' }
[testbed]
provider = 'namespace'
[role.web]
recipe = 'nginx'
cpu = '90%'
cpu_period = '100ms'
rate = '1Gbit'
vars = { bytes = 20_000 }
[target]
url = 'http://{{role.web.address}}:{{role.web.port}}/'
[load]
users = 32
warm_up = '1s'
for = '4s'
[collect]
from = ['cgroup', 'network']
every = '500ms'
";

#[test]
fn what_an_instance_is_short_of_is_named() {
    let test = "what_an_instance_is_short_of_is_named";
    if installed(test, "nginx").is_none() || !has_instances(test) || !has_rates(test) {
        return;
    }
    let place = Place::measuring();
    place.write("plan.toml", SHORT);
    place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    let done = place.plimsoll(&["run", "plan.toml", "--json"]).ran().json();
    for (level, resource) in [("processor", "processor"), ("link", "sent")] {
        let cells = done["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["factors"]["short"] == level).unwrap();
        if cell["valid"] == false {
            return not_judged(test, &format!("{level}: {}", cell["failures"]));
        }
        let all = done["in_use"].as_array().unwrap().iter();
        let own: Vec<&Value> = all.filter(|of| of["factors"]["short"] == level).collect();
        assert_eq!(own.len(), 3, "processor, sent and received: {done:#}");
        let [most, others @ ..] = &own[..] else { unreachable!() };
        assert_eq!((&most["instance"], &most["resource"]), (&"web-1".into(), &resource.into()));
        assert_eq!(most["short"], true, "{own:?}");
        assert!(others.iter().all(|of| of["short"] == false), "{own:?}");
    }
    let told = place.plimsoll(&["analyse"]).ended_with(0);
    told.prints(&["most in use", "web-1 processor", "web-1 link, sent", "short"]);
    place.plimsoll(&["report", "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("What was short") && page.contains("Short in 2 of 2"), "{page}");
}

#[test]
fn a_rule_that_is_watched_may_end_the_load() {
    let place = Place::new();
    let plan = CACHE
        .replace("start_when", "# start_when")
        .replace("start_within", "# start_within")
        .replace("for = '2s'", "for = '60s'")
        .replace(
            "when = 'memcached.hit_ratio>=50%'",
            "when = 'memcached.items>=1 for 1s'\nstop = true",
        );
    place.write("plan.toml", &plan);
    let ended = place.plimsoll(&["run", "plan.toml"]);
    let told = format!("{}{}", ended.out, ended.err);
    assert!(told.contains("warm: memcached.items>=1 for 1s held after"), "{told}");
    assert_eq!(ended.code(), Some(4), "{told}");
}

#[test]
fn figures_that_there_are_not_are_refused_with_the_nearest_and_so_is_watching_nothing() {
    let place = Place::weighing(Weight::WAITS);
    place.write(
        "plan.toml",
        CACHE.replace("memcached.hit_ratio>=50%, host", "memcached.hit_ration>=5%, host"),
    );
    let refused = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
    assert!(refused.err.contains("did you mean memcached.hit_ratio?"), "{}", refused.err);
    place.write("plan.toml", CACHE.replace("from = ['host', 'memcached']", "from = []"));
    let refused = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
    assert!(refused.err.contains("nothing is watched"), "{}", refused.err);
}

/// A queue with room for few: of what is offered, some wait and some are refused.
const COUNTED: &str = "\
name = 'counted by both sides'
[target]
url = 'URL'
[load]
rate = '200/s'
for = '3s'
arrivals = 'poisson'
[collect]
every = '250ms'
from = ['target']
at = { target = 'ADDRESS' }
[measure]
slo = 'target.busy>1%, target.requests>100/s, target.waiting<=2'
";

/// The value of a series that the built-in target's counters have.
fn counter(target: &Target, name: &str, labels: &[(&str, &str)]) -> u64 {
    let source = Source { address: Some(target.address().to_owned()), ..Source::default() };
    let counters = Watched::open("target", &source).unwrap().collect().unwrap();
    let value = counters.value(&format!("plimsoll_target_{name}"), labels);
    let value = value.unwrap_or_else(|| panic!("{name} in {counters:?}"));
    value.to_string().parse().unwrap()
}

#[test]
fn the_target_counts_what_the_generator_counts() {
    let place = Place::new();
    let target = place.target(&["--service-time", "exp:8ms", "--queue", "2", "--errors", "10%"]);
    let plan = COUNTED.replace("URL", &target.url()).replace("ADDRESS", target.address());
    place.write("plan.toml", plan);
    place.plimsoll(&["run", "plan.toml"]).ran();
    let run = Run::open(&place.run()).unwrap();
    let summary = run.summary().unwrap();
    let of = |code: &str| summary.status.get(code).copied().unwrap_or(0);
    assert!(of("200") > 0 && of("500") > 0 && of("503") > 0, "{:?}", summary.status);
    assert_eq!(counter(&target, "requests_total", &[]), summary.sent);
    for code in ["200", "500", "503"] {
        let answered = counter(&target, "responses_total", &[("code", code)]);
        assert_eq!(answered, of(code), "{code}: {:?}", summary.status);
    }
    assert_eq!(counter(&target, "in_work", &[]) + counter(&target, "waiting", &[]), 0);
    // What was watched of it is judged, and is of a busy server.
    let (busy, waiting) = (&summary.slo[0], &summary.slo[2]);
    assert_eq!((busy.pass, waiting.pass), (Some(true), Some(true)), "{:?}", summary.slo);
    let (busy, waiting) = (busy.value.unwrap(), waiting.value.unwrap());
    assert!(busy <= 1.05 && waiting > 0.0, "{busy} {waiting}");
}

/// A listener that answers each request by the next status of these, the last one for ever. Returns
/// its address, and takes the requests that came.
fn hook(statuses: &'static [u16]) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let taken: Arc<Mutex<Vec<String>>> = Arc::default();
    let taking = Arc::clone(&taken);
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let (mut text, mut part) = (Vec::new(), [0; 4096]);
            // The body ends with the object.
            while !text.ends_with(b"}") {
                match stream.read(&mut part) {
                    Ok(read) if read > 0 => text.extend_from_slice(&part[..read]),
                    _ => break,
                }
            }
            taking.lock().unwrap().push(String::from_utf8(text).unwrap());
            let status = statuses.get(number).or(statuses.last()).unwrap();
            let _ = write!(stream, "HTTP/1.1 {status} S\r\nContent-Length: 0\r\n\r\n");
        }
    });
    (address, taken)
}

/// A load whose rules have webhooks: one that takes them at the second try, one that never does,
/// and one where nobody listens.
const HOOKED: &str = "\
name = 'hooked'
[target]
url = 'URL'
[load]
rate = '50/s'
for = '4s'
[watch.answers]
when = 'rate>1/s for 1s'
webhook = 'http://GOOD/plimsoll?token=not-to-be-seen'
[watch.refused]
when = 'rate>1/s for 1s'
webhook = 'http://BAD/plimsoll?token=not-to-be-seen'
[watch.nobody]
when = 'rate>1/s for 1s'
webhook = 'http://127.0.0.1:1/plimsoll?token=not-to-be-seen'
";

#[test]
fn rules_are_told_to_webhooks_tried_again_and_what_fails_is_an_event() {
    let place = Place::new();
    let target = place.calm();
    let ((good, told), (bad, refused)) = (hook(&[503, 204]), hook(&[500]));
    let plan = HOOKED.replace("URL", &target.url()).replace("GOOD", &good).replace("BAD", &bad);
    place.write("plan.toml", plan);
    let done = place.plimsoll(&["run", "plan.toml"]).ran();
    let told = told.lock().unwrap().clone();
    let changes = done.err.matches("answers: rate>1/s for 1s holds").count();
    assert!(changes >= 1, "{}", done.err);
    assert_eq!(told.len(), changes + 1, "once for each change, and once again: {told:?}");
    assert!(told[0].starts_with("POST /plimsoll?token=not-to-be-seen HTTP/1.1\r\n"), "{told:?}");
    assert!(told[0].contains("Content-Type: application/json\r\n"), "{told:?}");
    let body = |text: &str| -> Value {
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    assert_eq!(body(&told[0]), body(&told[1]));
    let body = body(&told[0]);
    assert_eq!((&body["schema"], &body["rule"]), (&1.into(), &"answers".into()), "{body}");
    assert_eq!((&body["holds"], &body["when"]), (&true.into(), &"rate>1/s for 1s".into()));
    assert_eq!((&body["name"], body["at_s"].is_number()), (&"hooked".into(), true), "{body}");
    assert!(body["values"].as_str().unwrap().starts_with("rate "), "{body}");

    assert_eq!(refused.lock().unwrap().len() % 3, 0, "each is tried three times");
    let events = Run::open(&place.run()).unwrap().events().unwrap();
    let failed: Vec<&str> =
        events.iter().filter(|of| of.kind == "webhook").map(|of| of.text.as_str()).collect();
    let of = |rule: &str| failed.iter().find(|text| text.starts_with(rule)).unwrap();
    assert!(of("refused").contains("/plimsoll was not told: the answer's status is 500"));
    assert!(of("nobody").contains("connect to 127.0.0.1:1"), "{failed:?}");
    assert!(failed.iter().all(|text| !text.starts_with("answers")), "{failed:?}");
    let said = format!("{failed:?}{}{}", done.out, done.err);
    assert!(!said.contains("not-to-be-seen"), "{said}");
}

#[test]
fn a_webhook_that_is_none_is_refused_and_its_password_is_not_shown() {
    let place = Place::weighing(Weight::WAITS);
    for url in ["ftp://h/", "h/plimsoll", "http://user:hidden-word@h/", "http:// h/"] {
        let plan = HOOKED.replace("URL", "http://127.0.0.1:1/").replace("http://GOOD", url);
        place.write("plan.toml", plan);
        let refused = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
        refused.says(&["webhook of watch.answers"]);
        assert!(!refused.err.contains("hidden-word"), "{}", refused.err);
    }
}
