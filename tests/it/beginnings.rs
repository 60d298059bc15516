//! How simulated pools begin, at which pace they decide, and by which clock: each by a truth that
//! is reckoned beside it.

use crate::place::Place;
use serde_json::Value;
use std::fmt::Write as _;

/// A simulated pool: its load, more keys of [pool], and its policies.
fn plan(load: &str, pool: &str, policies: &str) -> String {
    format!(
        "[load]\n{load}\n[pool]\nmax = 20\n{pool}\n[instance]\nservice = 'exp:132ms'\n[billing]\n\
         price = 0.1\n{policies}"
    )
}

/// What a simulation comes to, by its first policy, and its decisions as text.
struct Simulated {
    result: Value,
    text: String,
}

impl Simulated {
    fn of(place: &Place, words: &[&str]) -> Self {
        let told = place.plimsoll(&[&["simulate"][..], words, &["--decisions"]].concat());
        let result = place.plimsoll(&[&["simulate"][..], words, &["--json"]].concat()).json();
        Self { result, text: format!("{}{}", told.out, told.err) }
    }

    fn number(&self, key: &str) -> f64 {
        let of = &self.result["policies"][0][key];
        of.as_f64().unwrap_or_else(|| panic!("{key}: {}", self.result))
    }

    /// Its changes of the pool: when, from how many to how many, and why.
    fn changes(&self) -> Vec<&str> {
        self.text.lines().map(str::trim).filter(|line| line.contains(" → ")).collect()
    }

    fn has(&self, words: &[&str]) -> bool {
        words.iter().all(|word| self.text.contains(word))
    }
}

#[test]
fn a_fixed_number_is_there_from_the_first_request_on() {
    let place = Place::new();
    let even = "rate = '60/s'\nfor = '20m'\narrivals = 'poisson'";
    for (pool, policy, hours) in [
        // Whatever the pool begins with, and without saying it.
        ("", "instances = 12", 12.0),
        ("start = 4", "instances = 12", 12.0),
        ("start = 19", "instances = 12\nstart = 3", 12.0),
        // Its own beginning is its number.
        ("", "start = 15", 15.0),
        ("start = 9", "", 20.0),
    ] {
        let policies = format!("[policy.a]\nkind = 'fixed'\n{policy}\n");
        place.write("plan.toml", plan(even, pool, &policies));
        let of = Simulated::of(&place, &["plan.toml"]);
        assert!((of.number("instance_hours") - hours).abs() < 0.01, "{pool} {policy}: {}", of.text);
        assert_eq!(of.changes(), Vec::<&str>::new(), "{pool} {policy}");
    }
}

#[test]
fn a_schedule_begins_with_the_number_of_its_time() {
    let place = Place::new();
    let even = "rate = '2/s'\nfor = '2h'";
    let times = "[policy.a]\nkind = 'schedule'\ntimes = '06:00=2,07:00=5,22:00=1'";
    for (pool, more, first) in [
        ("starts_at = '06:30'", "", "00:30:00  2 → 5"),
        ("starts_at = '06:59:30'\nstart = 7", "", "00:01:00  2 → 5"),
        ("starts_at = '05:30'", "", "00:30:00  1 → 2"),
        ("starts_at = '06:30'", "start = 4", "00:01:00  4 → 2"),
    ] {
        place.write("plan.toml", plan(even, pool, &format!("{times}\n{more}\n")));
        let of = Simulated::of(&place, &["plan.toml"]);
        let change = of.changes().first().copied().unwrap_or_default().to_owned();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&change).starts_with(&words(first)), "{pool} {more}: {}", of.text);
    }
    // What the pool cannot have is said before it is simulated, and of each decision.
    place.write("plan.toml", plan(even, "starts_at = '06:30'", &times.replace("=5", "=25")));
    let of = Simulated::of(&place, &["plan.toml"]);
    assert!(
        of.has(&["policy a asks for 25 instances, and the pool has 20 at most"]),
        "{}",
        of.text
    );
    place.write("plan.toml", plan(even, "min = 2", times));
    let of = Simulated::of(&place, &["plan.toml"]);
    assert!(of.has(&["policy a asks for 1 instances, and the pool has 2 at least"]), "{}", of.text);
    assert!(of.has(&["the load begins at 00:00 for a", "starts_at"]), "{}", of.text);
}

/// Decisions are made as often as whoever a policy is named after makes them.
#[test]
fn policies_keep_the_pace_that_they_are_named_after() {
    let place = Place::new();
    let load = "schedule = '4/s for 5m, 60/s for 10m'\narrivals = 'poisson'";
    let first = |policy: &str, pool: &str| {
        place.write("plan.toml", plan(load, pool, &format!("[policy.a]\n{policy}\n")));
        let of = Simulated::of(&place, &["plan.toml"]);
        let at = of.changes().into_iter().filter_map(|line| {
            let parts: Vec<u32> =
                line.split_whitespace().next()?.split(':').map(|of| of.parse().unwrap()).collect();
            Some(60 * (60 * parts[0] + parts[1]) + parts[2])
        });
        // The first one after the jump.
        let at = at.into_iter().find(|at| *at > 300).unwrap_or_else(|| panic!("{}", of.text));
        (at, of)
    };
    let (at, _) = first("kind = 'hpa'", "start = 2");
    assert!(at > 300 && at <= 330 && at % 15 == 0, "{at}");
    let (at, _) = first("kind = 'panic'\nmetric = 'rate'\ntarget = 5", "start = 2");
    assert!(at > 300 && at <= 310 && at % 2 == 0, "{at}");
    let (at, of) = first("kind = 'hpa'", "start = 2\ndecide_every = '1m'");
    assert!(at % 60 == 0, "{at}");
    assert!(of.has(&["policy a decides every", "cannot keep its `up`"]), "{}", of.text);
    let short = "kind = 'threshold'\nperiod = '10s'\ndatapoints = 1";
    let (_, of) = first(short, "start = 2");
    assert!(of.has(&["cannot keep its `period`", "decide_every"]), "{}", of.text);
    let (_, of) = first(short, "start = 2\ndecide_every = '10s'");
    assert!(!of.has(&["cannot keep"]), "{}", of.text);
}

/// A log of so many requests a second from a time of its own clock on.
fn log(from_s: u32, seconds: u32, zone: &str) -> String {
    let mut log = String::new();
    for second in 0..seconds {
        let at = from_s + second;
        let (day, at) = (20 + at / 86_400, at % 86_400);
        let _ = writeln!(
            log,
            "192.0.2.1 - - [{day}/Nov/2026:{:02}:{:02}:{:02} {zone}] \"GET /a HTTP/1.1\" 200 5",
            at / 3600,
            at / 60 % 60,
            at % 60
        );
    }
    log
}

/// Logs, tables with dates and numbers since 1970, cut or not, and runs of such a day: each tells
/// the time of day by its own clock.
#[test]
fn the_day_is_told_by_the_clock_of_what_was_recorded() {
    let place = Place::new();
    // 18:37:12 to 22:37:12 by a clock of +01:00.
    place.write("eve.log", log(67_032, 4 * 3600, "+0100"));
    let (mut dates, mut numbers) = ("time,rate\n".to_owned(), "time,rate\n".to_owned());
    for minute in 0..240_u64 {
        let at = 18 * 60 + minute;
        let _ = writeln!(dates, "2026-11-20 {:02}:{:02}:00,2", at / 60, at % 60);
        let _ = writeln!(numbers, "{},2", 1_795_132_800 + 60 * at);
    }
    place.write("dates.csv", dates);
    place.write("numbers.csv", numbers);
    let policy = "[policy.a]\nkind = 'schedule'\ntimes = '06:00=2,19:00=4,22:00=3'\n";
    let first = |words: &[&str]| {
        let of = Simulated::of(&place, words);
        let change = of.changes().first().copied().unwrap_or_default().to_owned();
        change.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let of_log = |more: &[&str]| {
        let words = ["eve.log", "--service", "exp:70ms", "--policy"];
        first(&[&words[..], &["a: schedule times=06:00=2,19:00=4,22:00=3"], more].concat())
    };
    assert_eq!(of_log(&[]), "00:23:00 2 → 4 4 from 19:00 on");
    assert_eq!(of_log(&["--from", "20m"]), "00:03:00 2 → 4 4 from 19:00 on");
    // Without a zone by the clock of the log, with one it is that moment.
    assert_eq!(of_log(&["--from", "2026-11-20 18:50"]), "00:10:00 2 → 4 4 from 19:00 on");
    assert_eq!(of_log(&["--from", "2026-11-20 17:50 UTC"]), "00:10:00 2 → 4 4 from 19:00 on");
    for (load, expected) in [
        ("trace = 'dates.csv'", "01:00:00 2 → 4 4 from 19:00 on"),
        ("trace = 'numbers.csv'", "01:00:00 2 → 4 4 from 19:00 on"),
        ("[load.trace]\nfile = 'dates.csv'\nfrom = '30m'", "00:30:00 2 → 4 4 from 19:00 on"),
    ] {
        place.write("plan.toml", plan(load, "", policy));
        assert_eq!(first(&["plan.toml"]), expected, "{load}");
    }
    // What a plan says goes before all of it.
    place.write("plan.toml", plan("trace = 'dates.csv'", "starts_at = '21:00'", policy));
    assert_eq!(first(&["plan.toml"]), "01:00:00 4 → 3 3 from 22:00 on");
    // A run as a trace begins when it did.
    let of_day = plan("rate = '2/s'\nfor = '4h'", "starts_at = '18:30'", policy);
    place.write("day.toml", of_day);
    place.plimsoll(&["simulate", "day.toml", "--out", "kept", "--quiet"]).ended_with(0);
    let run = place.runs("kept").pop().unwrap();
    let text = format!("trace = '{}'", run.display());
    place.write("plan.toml", plan(&text, "", policy));
    assert_eq!(first(&["plan.toml"]), "00:30:00 2 → 4 4 from 19:00 on");
    place.plimsoll(&["trace", "info", run.to_str().unwrap()]).ended_with(0).prints(&["18:30"]);
    let info = place.plimsoll(&["trace", "info", "eve.log"]).ended_with(0);
    info.prints(&["begins    2026-11-20 18:37:12 +01:00"]);
}

#[test]
fn the_same_log_twice_is_named() {
    let place = Place::new();
    place.write("a.log", log(0, 600, "+0000"));
    place.write("b.log", log(0, 600, "+0000"));
    place.write("c.log", log(600, 600, "+0000"));
    let twice = |words: &[&str]| {
        let of = place.plimsoll(&[&["trace", "from-log"][..], words, &["-o", "t.csv"]].concat());
        let of = of.ended_with(0);
        ["seem to be the same log", "named twice"].map(|word| of.err.contains(word))
    };
    assert_eq!(twice(&["a.log", "b.log"]), [true, false]);
    assert_eq!(twice(&["a.log", "c.log", "a.log"]), [false, true]);
    assert_eq!(twice(&["a.log", "c.log"]), [false, false]);
}

/// A pattern that means the logs means, the next time, the plan that was made of them.
#[test]
fn a_plan_beside_its_logs_is_none_of_them() {
    let place = Place::new();
    let names = ["access.log-1", "access.log-2"];
    for (name, from_s) in names.iter().zip([0, 600]) {
        place.write(name, log(from_s, 600, "+0000"));
    }
    let words = ["--service", "exp:70ms", "--policy", "hpa", "--json"];
    let figures = |inputs: &[&str]| {
        let done = place.plimsoll(&[&["simulate"][..], inputs, &words].concat()).ended_with(0);
        let mut all = done.json();
        all["timing"] = Value::Null;
        (all, done.err)
    };
    let (first, _) = figures(&names);
    let made = "access.log-1.plan.toml";
    assert!(place.path(made).is_file());
    let (again, told) = figures(&[names[0], made, names[1]]);
    assert_eq!(first, again);
    assert!(told.contains("is left out") && told.contains("is the plan as before"), "{told}");
    assert!(!place.path("access.log-1.2.plan.toml").exists());
}

/// The most instances of a made plan are by what is simulated, not by what the log had.
#[test]
fn a_log_that_is_scaled_has_a_pool_of_its_scale() {
    let place = Place::new();
    place.write("access.log", log(0, 1200, "+0000") + &log(300, 300, "+0000"));
    let most = |more: &[&str]| {
        let words = ["simulate", "access.log", "--service", "exp:200ms", "--policy", "hpa"];
        let text =
            place.plimsoll(&[&words[..], more, &["--print-plan"]].concat()).ended_with(0).out;
        let line = text.lines().find_map(|line| line.strip_prefix("max = ").map(str::to_owned));
        line.unwrap_or_else(|| panic!("{text}")).parse::<u32>().unwrap()
    };
    assert_eq!(most(&[]), 4);
    // 400/s of 200 ms are 80 cores, twice that is the most.
    assert_eq!(most(&["--scale", "40/s..400/s"]), 160);
}
