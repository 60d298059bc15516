//! Images of servers: made of one that is ready, started from, listed and removed.

use crate::place::Place;
use crate::program::{Done, PLIMSOLL};
use serde_json::Value;

/// A server that takes its time to be installed where it finds nothing, and whose key stands in a
/// file of the recipe.
const RECIPE: &str = "\
about = 'slow to install'
port = 8080
start = ['bash', '{{folder}}/start.sh']
check = {}
stop = { signal = 'TERM', within_s = 5 }
[warm]
run = [['bash', '-c', 'sleep 0.5; echo warm >> {{folder}}/data/warm']]
[vars]
key = 'a'
[[write]]
path = 'start.sh'
text = \"\"\"
cd '{{folder}}'
if [ ! -d data ]; then sleep 2; mkdir data; echo installed > data/rows; fi
exec '{{plimsoll}}' target --listen {{address}}:{{port}} --service-time const:1ms
\"\"\"
[[write]]
path = 'key.conf'
text = '{{vars.key}}'
";

const PLAN: &str = "\
[testbed]
provider = 'process'
[role.web]
recipe = 'slow'
[target]
url = 'http://{{role.web.address}}:{{role.web.port}}/'
[load]
rate = '20/s'
for = '1s'
";

fn place() -> Place {
    let place = Place::alone();
    std::fs::create_dir(place.path("recipes")).unwrap();
    place.write("recipes/slow.toml", RECIPE);
    place.write("plan.toml", PLAN);
    place
}

/// Runs the program with images of this place's own.
fn run(place: &Place, words: &[&str]) -> Done {
    let mut command = place.command(PLIMSOLL, words);
    command.env("XDG_DATA_HOME", place.path("data"));
    place.start(command).wait()
}

/// How many test-beds are left behind.
fn left(place: &Place) -> usize {
    let status = run(place, &["testbed", "status", "--json"]).ended_with(0).json();
    status["testbeds"].as_array().unwrap().iter().filter(|of| of["state"] == "left").count()
}

fn bakes(place: &Place, provider: &str) -> Option<Value> {
    let set = format!("testbed.provider={provider}");
    let words = ["testbed", "bake", "web", "plan.toml", "--json", "--set", &set];
    let done = run(place, &words);
    if provider == "namespace" && done.code() != Some(0) {
        println!("skipped: images of namespaces: {}", done.err.trim());
        return None;
    }
    Some(done.went_well().json())
}

#[test]
fn instances_start_from_an_image_in_less_time() {
    for provider in ["process", "namespace"] {
        let place = place();
        let before = left(&place);
        let Some(baked) = bakes(&place, provider) else { continue };
        let ms = |of: &str| baked["ready_ms"][of].as_u64().unwrap();
        // It sleeps for 2.5 s where it finds nothing.
        assert!(ms("without") >= 2500 && 2 * ms("with") <= ms("without"), "{baked}");
        // The rows and what the warming wrote; no script, no key, no log.
        assert_eq!((&baked["image"]["files"], &baked["image"]["role"]), (&2.into(), &"web".into()));
        let files = place.path("data/plimsoll/images/web/files");
        assert_eq!(std::fs::read_to_string(files.join("data/warm")).unwrap(), "warm\n");
        assert!(!files.join("key.conf").exists() && !files.join("start.sh").exists());
        let listed = run(&place, &["testbed", "images"]).ended_with(0);
        listed.prints(&["web", "2 files"]);
        // Nothing of the instances is left.
        assert_eq!(left(&place), before);

        let set = format!("testbed.provider={provider}");
        let with = ["run", "plan.toml", "--json", "--set", &set, "--set", "role.web.image=web"];
        let check = ["check", "plan.toml", "--set", "role.web.image=web", "--set", &set];
        run(&place, &check).ended_with(0).prints(&["copy the image web"]);
        let live = place.again(|| run(&place, &with)).went_well();
        assert!(!live.err.contains("another recipe"), "{}", live.err);
    }
}

#[test]
fn an_image_whose_recipe_has_changed_is_said_and_one_that_is_gone_is_refused() {
    let place = place();
    bakes(&place, "process").unwrap();
    let with = ["check", "plan.toml", "--set", "role.web.image=web"];
    let says = |more: &[&str]| {
        let done = run(&place, &[&with[..], more].concat()).ended_with(0);
        done.err.contains("another recipe") || done.out.contains("another recipe")
    };
    assert!(!says(&[]));
    assert!(says(&["--set", "role.web.vars.key=b"]), "another parameter");
    place.write("recipes/slow.toml", RECIPE.replace("slow to install", "slower"));
    assert!(says(&[]), "another recipe");
    let wrong = ["check", "plan.toml", "--set", "role.web.image=webb"];
    run(&place, &wrong).ended_with(2).says(&["role.web", "find the image `webb`", "mean web?"]);
    run(&place, &["testbed", "bake", "webb", "plan.toml"]).ended_with(2).says(&["role `webb`"]);
    let bad = ["testbed", "bake", "web", "plan.toml", "--name", "../x"];
    assert_ne!(run(&place, &bad).code(), Some(0));
    run(&place, &["testbed", "images", "--remove", "web"]).ended_with(0).prints(&["no image"]);
    assert!(!place.path("data/plimsoll/images/web").exists());
}
