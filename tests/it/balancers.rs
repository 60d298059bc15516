//! The three balancers of live pools: nobody notices who comes and who goes, and each tells what
//! became of the requests that it was given.

use crate::place::Place;
use plimsoll_runs::{HostRow, Run};
use plimsoll_testing::{Weight, installed, not_judged};
use serde_json::Value;

/// A target that answers so many bytes.
const RECIPE: &str = "\
about = 'answers of a size'
port = 8080
start = ['{{plimsoll}}', 'target', '--listen', '{{address}}:{{port}}', '--workers', '64',
    '--service-time', '{{vars.service}}', '--body', '{{vars.body}}']
check = {}
[vars]
service = 'const:10ms'
body = '1kB'
";

/// Thirteen changes in eight seconds, often two at once.
pub(crate) const CHANGES: &str =
    "07:00=2,07:01=4,07:02=3,07:03=1,07:04=3,07:05=2,07:06=4,07:07=2,07:08=3";

/// A pool behind a balancer; each pair of the changes takes the place of a text.
pub(crate) fn plan(kind: &str, changes: &[(&str, &str)]) -> String {
    let mut plan = format!(
        "name = 'changes of a pool, {kind}'
seed = 3
speed = 60
[testbed]
provider = 'process'
[role.web]
recipe = 'answers'
[pool]
role = 'web'
max = 4
start = 2
decide_every = '15s'
starts_at = '07:00'
[instance]
service = 'const:10ms'
cores = 64
[balancer]
kind = '{kind}'
choose = 'least-connections'
[load]
schedule = '100/s for 9m'
connection = 'keep-alive'
[policy.changes]
kind = 'schedule'
times = '{CHANGES}'
"
    );
    for (from, to) in changes {
        assert!(plan.contains(from), "{from}");
        plan = plan.replace(from, to);
    }
    plan
}

/// A place with the recipe; `None`, and said so, where the program of the balancer is absent.
fn place(test: &str, kind: &str) -> Option<Place> {
    let is_there = kind == "built-in" || installed(test, kind).is_some();
    is_there.then(|| {
        let place = Place::measuring();
        write_recipe(&place);
        place
    })
}

pub(crate) fn write_recipe(place: &Place) {
    std::fs::create_dir(place.path("recipes")).unwrap();
    place.write("recipes/answers.toml", RECIPE);
}

/// What the run of a plan says.
fn ran(place: &Place, plan: &str) -> Value {
    place.write("plan.toml", plan);
    place.plimsoll(&["run", "plan.toml", "--json"]).ran().json()
}

/// The figures of the only cell.
fn figures(place: &Place, plan: &str) -> Value {
    ran(place, plan)["cells"][0]["figures"].clone()
}

/// Whether the host was so busy that the close of an idle connection and a request on it may have
/// crossed for longer than a client takes that for the race: nobody could tell it from a loss.
fn was_held_up(run: &Run) -> bool {
    const RACE_US: f64 = 5000.0;
    let late = |of: &HostRow| of.timer_late_max_us.is_some_and(|late| late > RACE_US);
    run.host_series().unwrap().iter().any(late)
}

pub(crate) fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"))
}

fn changes_lose_nothing(test: &str, kind: &str) {
    let Some(place) = place(test, kind) else { return };
    let big = [
        ("recipe = 'answers'", "recipe = 'answers'\nvars = { body = '1MB' }"),
        ("100/s for", "20/s for"),
        ("'keep-alive'", "'per-request'"),
    ];
    for changes in [&[][..], &big] {
        let document = ran(&place, &plan(kind, changes));
        let of = document["cells"][0]["figures"].clone();
        let [offered, served, lost, open] =
            ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(&of, name));
        // Idle connections are there to keep alive only.
        if changes.is_empty() && lost > 0.5 && was_held_up(&run_of(&place, &document)) {
            not_judged(test, &format!("{lost} lost while the host's timers were late by 5 ms"));
            continue;
        }
        assert!(offered > 150.0 && lost.abs() < 0.5, "{of}");
        assert!((offered - served - open).abs() < 0.5, "{of}");
        assert!(number(&of, "scale_out") + number(&of, "scale_in") >= 10.0, "{of}");
    }
}

#[test]
fn changes_of_a_pool_lose_nothing_at_the_built_in_balancer() {
    changes_lose_nothing("changes_of_a_pool_lose_nothing_at_the_built_in_balancer", "built-in");
}

#[test]
fn changes_of_a_pool_lose_nothing_at_nginx() {
    changes_lose_nothing("changes_of_a_pool_lose_nothing_at_nginx", "nginx");
}

#[test]
fn changes_of_a_pool_lose_nothing_at_haproxy() {
    changes_lose_nothing("changes_of_a_pool_lose_nothing_at_haproxy", "haproxy");
}

/// The run of the only cell.
pub(crate) fn run_of(place: &Place, document: &Value) -> Run {
    let cell = &document["cells"][0];
    Run::open(&place.run().join(cell["run"].as_str().unwrap())).unwrap()
}

pub(crate) fn texts(run: &Run) -> Vec<String> {
    run.events().unwrap().into_iter().map(|event| event.text).collect()
}

#[test]
fn instances_test_themselves_before_they_take_a_request() {
    let Some(place) = place("instances_test_themselves", "built-in") else { return };
    let changes = [
        ("'least-connections'", "'weighted'\nweights = 'self-test'"),
        ("kind = 'schedule'", "kind = 'fixed'\ninstances = 2\n#"),
        (&*format!("times = '{CHANGES}'\n"), ""),
        ("100/s for 9m", "100/s for 3m"),
    ];
    place.write("plan.toml", plan("built-in", &changes));
    let document = place.plimsoll(&["run", "plan.toml", "--json"]).ran().json();
    assert!(number(&document["cells"][0]["figures"], "lost").abs() < 0.5, "{document}");
    let texts = texts(&run_of(&place, &document));
    for name in ["web-1", "web-2"] {
        let at = |text: String| texts.iter().position(|of| of.contains(&text));
        let tested = at(format!("tested: {name} does ")).unwrap_or_else(|| panic!("{texts:?}"));
        let ready = at(format!("ready: {name}"));
        // One that is replaced on a busy machine takes no requests at all.
        assert!(ready.is_none_or(|ready| tested < ready), "{texts:?}");
    }
    place.plimsoll(&["testbed", "self-test"]).ended_with(0).prints(&["million steps", "MB/s"]);
}

/// Three times of what the instances can take.
const OVERLOAD: [(&str, &str); 4] = [
    ("recipe = 'answers'", "recipe = 'answers'\nvars = { service = 'const:50ms' }"),
    ("cores = 64", "cores = 64\nlimit = 1"),
    ("100/s for 9m", "120/s for 4m"),
    ("kind = 'schedule'", "kind = 'fixed'\ninstances = 2\n#"),
];

#[test]
fn what_finds_no_place_is_told_by_its_cause() {
    let test = "what_finds_no_place_is_told_by_its_cause";
    for kind in ["built-in", "nginx", "haproxy"] {
        let Some(place) = place(test, kind) else { continue };
        let changes = OVERLOAD.map(|(from, to)| (from, to));
        let without_times = |plan: String| plan.replace(&format!("times = '{CHANGES}'\n"), "");
        let of = figures(&place, &without_times(plan(kind, &changes)));
        assert!(number(&of, "lost_by.no_slot") > 50.0, "{kind}: {of}");
        assert!(number(&of, "served") > 50.0, "{kind}: {of}");
        if kind == "nginx" {
            continue;
        }
        let queue = ("[load]", "queue = 5\nqueue_timeout = '80ms'\n[load]");
        let changes: Vec<(&str, &str)> = changes.into_iter().chain([queue]).collect();
        let of = figures(&place, &without_times(plan(kind, &changes)));
        let waited = number(&of, "lost_by.queue_full") + number(&of, "lost_by.queue_timeout");
        assert!(waited > 50.0 && number(&of, "lost_by.no_slot") < 0.5, "{kind}: {of}");
    }
}

#[test]
fn what_a_balancer_does_not_have_is_refused_at_its_place() {
    let place = Place::weighing(Weight::WAITS);
    write_recipe(&place);
    let refuses = |kind: &str, changes: &[(&str, &str)], said: &[&str]| {
        place.write("plan.toml", plan(kind, changes));
        place.plimsoll(&["check", "plan.toml"]).ended_with(2).says(said);
    };
    let fair = ("'least-connections'", "'fair'");
    refuses("nginx", &[fair], &["choose = 'fair'", "nginx has no rule `fair`", "round-robin"]);
    refuses("haproxy", &[fair], &["choose = 'fair'", "haproxy has no rule `fair`"]);
    place.write("plan.toml", plan("nginx", &[("choose = 'least-connections'\n", "")]));
    place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(0);
    let ties = ("'least-connections'", "'least-connections'\nties = 'random'");
    refuses("haproxy", &[ties], &["ties = 'random'", "takes the next"]);
    refuses("nginx", &[("[load]", "queue = 9\n[load]")], &["queue = 9", "no request waits"]);
    refuses("pen", &[], &["kind = 'pen'", "haproxy"]);
    let weights = ("[load]", "weights = 'self-test'\n[load]");
    refuses("haproxy", &[weights], &["`least-connections` weighs no instance", "\"weighted\""]);
    let count = ("[load]", "count = 2\n[load]");
    refuses("built-in", &[count], &["provider `process`", "provider = \"namespace\""]);
}
