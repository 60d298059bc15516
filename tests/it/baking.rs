//! Images of servers: made of one that is ready, started from, listed and removed.

use crate::place::Place;
use crate::program::{Done, PLIMSOLL};
use plimsoll_testing::Weight;
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

pub(crate) fn place(weight: Weight) -> Place {
    let place = Place::weighing(weight);
    std::fs::create_dir(place.path("recipes")).unwrap();
    place.write("recipes/slow.toml", RECIPE);
    place.write("plan.toml", PLAN);
    place
}

/// Runs the program with images of this place's own.
pub(crate) fn run(place: &Place, words: &[&str]) -> Done {
    let mut command = place.command(PLIMSOLL, words);
    command.env("XDG_DATA_HOME", place.path("data"));
    place.start(command).wait()
}

/// How many test-beds are left behind.
pub(crate) fn left(place: &Place) -> usize {
    let status = run(place, &["testbed", "status", "--json"]).ended_with(0).json();
    status["testbeds"].as_array().unwrap().iter().filter(|of| of["state"] == "left").count()
}

pub(crate) fn bakes(place: &Place, provider: &str) -> Value {
    let set = format!("testbed.provider={provider}");
    let words = ["testbed", "bake", "web", "plan.toml", "--json", "--set", &set];
    run(place, &words).ran().json()
}

#[test]
fn an_image_whose_recipe_has_changed_is_said_and_one_that_is_gone_is_refused() {
    let place = place(Weight::COMPUTES);
    bakes(&place, "process");
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
