//! Instances that are rented from a cloud, by a proxy of ours before moto: whole plans, faults of
//! the cloud, money, credentials, and the end of what was rented.

mod baking;
pub(crate) mod following;
pub(crate) mod proxy;

use crate::place::{Place, events};
use crate::pools::for_ever;
use crate::program::{Done, Going, PLIMSOLL, wait_for};
use plimsoll_runs::Run;
use plimsoll_testing::Weight;
use proxy::{Cloud, Fault, Kind, PORT, moto};
use rustix::process::Signal;
use std::path::Path;

/// A secret that must be nowhere but in the environment.
pub(crate) const SECRET: &str = "very-secret-key-of-the-test";

/// The recipe of rented servers, which listen on [`PORT`].
fn recipe() -> String {
    format!(
        "about = 'A server that the image starts.'\nport = {}\n\
         [check]\nhttp = '/'\nwithin_s = 60\n",
        *PORT
    )
}

/// A load on two rented servers.
fn plan(endpoint: &str, more: &str) -> String {
    format!(
        "[testbed]
provider = 'ec2'
max = 3
budget = '5 USD'
price = 0.1
image = 'ami-12c6146b'
type = 'm1.small'
endpoint = '{endpoint}'
tags = {{ project = 'test' }}
{more}
[role.web]
recipe = 'server'
count = 2
[target]
url = 'http://{{{{role.web.address}}}}:{{{{role.web.port}}}}/'
[load]
rate = '20/s'
for = '3s'
"
    )
}

pub(crate) fn files(place: &Place, plan: &str) {
    std::fs::create_dir_all(place.path("recipes")).unwrap();
    place.write("recipes/server.toml", recipe());
    place.write("plan.toml", plan);
}

/// Starts the program with credentials, and with a place of its own for what it rents.
pub(crate) fn begin(place: &Place, arguments: &[&str]) -> Going {
    let mut command = place.command(PLIMSOLL, arguments);
    command.env("AWS_ACCESS_KEY_ID", "AKIDTEST").env("AWS_SECRET_ACCESS_KEY", SECRET);
    command.env("AWS_EC2_METADATA_DISABLED", "true").env("HOME", place.path("home"));
    command.env_remove("XDG_STATE_HOME").env_remove("AWS_PROFILE");
    place.start(command)
}

/// Waits for its end, while there are servers behind the instances.
pub(crate) fn ended(mut going: Going, cloud: &Cloud<'_>) -> Done {
    while !going.has_ended() {
        cloud.serves();
        // tidy: allow(waits, a pause of a loop that starts servers)
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    cloud.serves();
    going.wait()
}

fn run(place: &Place, cloud: &Cloud<'_>) -> Done {
    ended(begin(place, &["run", "plan.toml", "--new"]), cloud)
}

/// Whether a text is in any file of a folder.
pub(crate) fn is_in(folder: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => is_in(&path, text),
        false => {
            let bytes = std::fs::read(&path).unwrap_or_default();
            bytes.windows(text.len()).any(|of| of == text.as_bytes())
        }
    })
}

/// The ids of test-beds with rented instances that stand, or were left.
fn beds(place: &Place) -> Vec<String> {
    let all = begin(place, &["testbed", "status", "--json"]).wait().ended_with(0).json();
    let rents = |of: &&serde_json::Value| {
        of["things"].as_array().unwrap().iter().any(|thing| thing["what"] == "rented")
    };
    let beds = all["testbeds"].as_array().unwrap().iter().filter(rents);
    beds.map(|of| of["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn instances_are_rented_loaded_and_ended() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    files(&place, &plan(&cloud.endpoint(), ""));
    let check = begin(&place, &["check", "plan.toml"]).wait().ended_with(0);
    // 2 instances for a begun hour each.
    check.prints(&["costs       up to 0.20 USD, for up to 2 instances", "rent web-1: m1.small"]);
    assert_eq!(cloud.books().asked.len(), 0, "`check` asks for nothing");
    // It is busy at first.
    cloud.will("RunInstances", &[Fault::Refused("RequestLimitExceeded"); 2]);
    cloud.will("DescribeInstances", &[Fault::Refused("RequestLimitExceeded"); 3]);
    let done = run(&place, &cloud).ran();
    assert!(done.err.contains("web-1: rent it"), "{}", done.err);
    assert_eq!((cloud.living(), cloud.states().len()), (0, 2));
    assert!(beds(&place).is_empty());
    let kept = Run::open(&cell_of(&place)).unwrap();
    let told: Vec<String> = kept.events().unwrap().into_iter().map(|of| of.text).collect();
    assert!(told.iter().any(|text| text.contains("rent it") && text.contains("i-")), "{told:?}");
    let books = cloud.books();
    assert!(books.faults.is_empty(), "{:?}", books.faults);
    let orders = books.asked.iter().filter(|(action, _)| action == "RunInstances");
    for (_, with) in orders {
        assert_eq!(with["InstanceInitiatedShutdownBehavior"], "terminate");
        assert!(with["ClientToken"].starts_with("plimsoll-"), "{with:?}");
        let values: Vec<&String> = with.values().collect();
        for of in ["plimsoll:bed", "plimsoll:instance", "project", "test", "web-1", "web-2"] {
            let is_other = of.starts_with("web-") && !with["ClientToken"].contains(of);
            assert!(is_other || values.contains(&&of.to_owned()), "{of}: {with:?}");
        }
        // A timer: the planned 3 s and half an hour.
        let timer = plimsoll_timer(&with["UserData"]);
        assert!(timer.contains("shutdown -P +31"), "{timer}");
    }
    drop(books);
    assert!(!is_in(&place.path("runs"), SECRET) && !is_in(&place.path("home"), SECRET));
}

/// The run folder of the only cell.
fn cell_of(place: &Place) -> std::path::PathBuf {
    let run = place.run();
    let cell = run.join("cells/0001");
    if cell.is_dir() { cell } else { run }
}

/// What an instance executes first.
fn plimsoll_timer(encoded: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn an_order_without_an_answer_starts_nothing_twice() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    files(&place, &plan(&cloud.endpoint(), ""));
    // Those of others come first, so that ours are on later pages of the cloud's list.
    cloud.others(5);
    cloud.will("RunInstances", &[Fault::Unanswered; 2]);
    run(&place, &cloud).ran();
    assert_eq!((cloud.living(), cloud.states().len()), (5, 7));
    let books = cloud.books();
    let pages = books.asked.iter().filter(|(_, with)| with.contains_key("NextToken")).count();
    assert!(pages > 0 && books.faults.is_empty(), "{:?}", books.asked);
}

#[test]
fn a_cloud_below_a_path_without_tags_and_pages_is_used_by_its_own_list() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::Old);
    files(&place, &plan(&cloud.endpoint(), "api_version = '2009-11-30'"));
    cloud.will("RunInstances", &[Fault::Unanswered]);
    run(&place, &cloud).ran();
    assert_eq!((cloud.living(), cloud.states().len()), (0, 2));
}

#[test]
fn what_a_kill_leaves_is_found_by_token_and_by_list_and_ended() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    for kind in [Kind::New, Kind::Old] {
        let cloud = Cloud::start(&place, &moto, kind);
        let version = if kind == Kind::Old { "api_version = '2009-11-30'" } else { "" };
        files(&place, &plan(&cloud.endpoint(), version));
        let mut going = begin(&place, &["run", "plan.toml", "--new"]);
        wait_for("two instances", || {
            assert!(!going.has_ended(), "{}{}", going.out(), going.err());
            (cloud.living() == 2).then_some(())
        });
        going.signal(Signal::KILL);
        going.wait();
        let left = beds(&place);
        assert_eq!(left.len(), 1);
        // One that another machine may have started is told, and left alone.
        let other = cloud.order("plimsoll-other1-web-1-1");
        // A cloud that refuses is told by name, and nothing is forgotten.
        cloud.will("TerminateInstances", &[Fault::Refused("UnauthorizedOperation"); 2]);
        let refused = begin(&place, &["testbed", "down", &left[0]]).wait().ended_with(4);
        refused.says(&["web-1 (token plimsoll-", "UnauthorizedOperation"]);
        assert_eq!((beds(&place), cloud.living()), (left.clone(), 3));
        let down = begin(&place, &["testbed", "down", &left[0]]).wait().ended_with(0);
        down.says(&[&other, "of the test-bed other1: it stands in no ledger here"]);
        assert_eq!((beds(&place).len(), cloud.living()), (0, 1));
    }
}

/// What another account does not know is not gone, and what a cloud does not know yet neither.
#[test]
fn what_is_not_known_to_who_asks_stays_in_the_ledger() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    files(&place, &plan(&cloud.endpoint(), ""));
    let mut going = begin(&place, &["run", "plan.toml", "--new"]);
    wait_for("two instances", || {
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        (cloud.living() == 2).then_some(())
    });
    going.signal(Signal::KILL);
    going.wait();
    let left = beds(&place);
    assert_eq!((left.len(), cloud.living()), (1, 2));
    let ledger = place.path("home/.local/state/plimsoll").join(&left[0]).join("ledger.jsonl");
    let text = std::fs::read_to_string(ledger).unwrap();
    assert!(text.contains("\"account\":{\"number\":\"123456789012\"}"), "{text}");
    // Other keys, of which the cloud tells no account, and which know none of the instances.
    cloud.will("GetCallerIdentity", &[Fault::Refused("AccessDenied"); 4]);
    cloud.will("TerminateInstances", &[Fault::Refused("InvalidInstanceID.NotFound"); 2]);
    cloud.will("DescribeInstances", &[Fault::Refused("InvalidInstanceID.NotFound"); 4]);
    let down = begin(&place, &["testbed", "down", &left[0]]).wait().ended_with(4);
    down.says(&["does not know it", "it was rented by the account 123456789012", "AWS_PROFILE"]);
    assert_eq!((beds(&place), cloud.living()), (left.clone(), 2));
    cloud.books().faults.clear();
    begin(&place, &["testbed", "down", &left[0]]).wait().ended_with(0);
    assert_eq!((beds(&place).len(), cloud.living()), (0, 0));
}

#[test]
fn the_environment_names_the_region_where_the_plan_does_not() {
    let place = Place::new();
    files(&place, &plan("https://cloud.example/", ""));
    let check = |set: &[(&str, &str)]| {
        let mut command = place.command(PLIMSOLL, &["check", "plan.toml"]);
        command.env_remove("AWS_REGION").env_remove("AWS_DEFAULT_REGION");
        command.envs(set.iter().copied());
        place.start(command).wait().ended_with(0)
    };
    check(&[]).prints(&[", in us-east-1, "]);
    check(&[("AWS_DEFAULT_REGION", "eu-west-3")]).prints(&[", in eu-west-3, "]);
    let both = [("AWS_DEFAULT_REGION", "eu-west-3"), ("AWS_REGION", "eu-west-2")];
    check(&both).prints(&[", in eu-west-2, "]);
    files(&place, &plan("https://cloud.example/", "region = 'eu-central-1'"));
    check(&both).prints(&[", in eu-central-1, "]);
    // Nor is another profile's account taken for one that is not there.
    let mut command = place.command(PLIMSOLL, &["run", "plan.toml", "--new"]);
    command.env("AWS_PROFILE", "nowhere").env("HOME", place.path("home"));
    command.env("AWS_EC2_METADATA_DISABLED", "true").env_remove("XDG_STATE_HOME");
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    let file = place.path("home/.aws/credentials").display().to_string();
    let parts = ["find the profile `nowhere` of AWS_PROFILE", &file];
    place.start(command).wait().ended_with(2).says(&parts);
}

#[test]
fn an_instance_that_somebody_else_ends_is_noticed() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    files(&place, &plan(&cloud.endpoint(), "").replace("for = '3s'", "for = '16s'"));
    let mut going = begin(&place, &["run", "plan.toml", "--new"]);
    let runs = |going: &mut Going| {
        cloud.serves();
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        going.err().contains("web-2: wait for it").then_some(())
    };
    wait_for("both to be ready", || runs(&mut going));
    wait_for("the load", || {
        cloud.serves();
        (!place.runs("runs").is_empty()).then_some(())
    });
    let id = cloud.states().into_keys().last().unwrap();
    cloud.terminate(&id);
    let done = ended(going, &cloud);
    done.says(&["is gone, and nobody here has ended it", &id]);
    assert_eq!(cloud.living(), 0);
}

#[test]
fn money_is_limited_by_number_and_by_budget() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    let refused = |plan: &str, parts: &[&str]| {
        files(&place, plan);
        for command in ["check", "run"] {
            begin(&place, &[command, "plan.toml"]).wait().ended_with(2).says(parts);
        }
    };
    let whole = plan(&cloud.endpoint(), "");
    refused(&whole.replace("max = 3\n", ""), &["`max`"]);
    refused(&whole.replace("budget = '5 USD'\n", ""), &["`budget`"]);
    refused(&whole.replace("price = 0.1\n", ""), &["no price"]);
    refused(&whole.replace("max = 3", "max = 1"), &["rent 2 instances: `max` in [testbed] is 1"]);
    let poor = whole.replace("5 USD", "0.15 USD");
    refused(&poor, &["up to 0.20 USD", "`budget` in [testbed] is 0.15 USD"]);
    assert_eq!(cloud.books().asked.len(), 0, "nothing was asked for");
}

/// A pool of rented servers.
fn pool(endpoint: &str) -> String {
    let whole = plan(endpoint, "");
    let (testbed, _) = whole.split_once("[role.web]").unwrap();
    format!(
        "{testbed}
[role.web]
recipe = 'server'
[pool]
role = 'web'
max = 3
decide_every = '500ms'
[instance]
service = 'const:2ms'
cores = 4
boot = 'const:500ms'
[billing]
unit = 'second'
[load]
schedule = '40/s for 4s, 40/s for 12s'
[policy.two]
kind = 'fixed'
instances = 2
"
    )
}

#[test]
fn a_pool_rents_and_replaces_what_is_gone_when_its_credentials_allow() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    // 60 USD an hour: 3 instances for 16 s and two minutes are 6.80 USD at most.
    let whole = pool(&cloud.endpoint()).replace("price = 0.1", "price = 60");
    let whole = whole.replace("5 USD", "60 USD");
    files(&place, &whole.replace("max = 3\ndecide", "max = 5\ndecide"));
    let check = begin(&place, &["check", "plan.toml"]).wait().ended_with(0);
    check.prints(&["pool        up to 3 instances of web at once", "keeps it from 5"]);
    // Each start begins a unit: how many there are at once is no bound.
    check.prints(&["costs       up to 60.00 USD, its budget, which no order may exceed; "]);
    check.prints(&[" USD are predicted; 3 instances at once, and no more"]);
    files(&place, &whole);
    let mut going = begin(&place, &["run", "plan.toml", "--new"]);
    wait_for("the load", || {
        cloud.serves();
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        (cloud.living() == 2 && place.path("runs").is_dir()).then_some(())
    });
    wait_for("both to be ready", || {
        cloud.serves();
        let ready = going.err().matches("wait for it").count();
        (ready >= 3).then_some(())
    });
    let id = cloud.states().into_keys().next().unwrap();
    // Credentials that have expired start nothing new; the other instance serves on.
    cloud.will("RunInstances", &[Fault::Refused("ExpiredToken")]);
    cloud.terminate(&id);
    let done = ended(going, &cloud).ran();
    assert!(cloud.books().faults.is_empty());
    assert_eq!((cloud.living(), cloud.states().len()), (0, 3), "{}", done.err);
}

#[test]
fn a_budget_that_is_reached_ends_the_run() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    // How long a search takes is not known before. Two instances, 1 USD a second together.
    let whole = plan(&cloud.endpoint(), "unit = 'second'").replace("price = 0.1", "price = 1800");
    let (head, _) = whole.split_once("[load]").unwrap();
    let text = format!("{head}[search]\nmax_rate = '200/s'\n[measure]\nslo = 'p90<1s'\n");
    files(&place, &text.replace("5 USD", "15 USD"));
    let check = begin(&place, &["check", "plan.toml"]).wait().ended_with(0);
    check.prints(&["costs       as long as its budget lasts", "its budget is 15.00 USD"]);
    let done = run(&place, &cloud).ended_with(4);
    done.says(&["ended: its budget of 15.00 USD is reached"]);
    assert_eq!(cloud.living(), 0);
    let ended = Run::open(&cell_of(&place)).unwrap().end().unwrap().ended.clone();
    assert_eq!(ended.name(), "budget", "{ended:?}");
    // One that is spent before all is there starts nothing more.
    files(&place, &text.replace("5 USD", "0.7 USD"));
    let poor = run(&place, &cloud).ended_with(2);
    poor.says(&["rent web-", "of the budget of 0.70 USD are spent"]);
    assert_eq!(cloud.living(), 0);
}

/// A start that the budget forbids is no success that goes without a word: the cell, the analysis
/// and the decisions say what limited the pool, and nothing is rented beyond it.
#[test]
fn a_pool_that_its_budget_limits_says_so() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    // Each start is a begun hour for 0.10 USD: three may be paid for, and `max` is three.
    let whole = pool(&cloud.endpoint()).replace("5 USD", "0.35 USD");
    let whole = whole.replace("unit = 'second'", "unit = 'hour'");
    let schedule = "schedule = '40/s for 4s, 40/s for 12s'";
    files(&place, &whole.replace(schedule, &for_ever("40/s")));
    let mut going = begin(&place, &["run", "plan.toml", "--new"]);
    let until = |what: &str, going: &mut Going, is: &dyn Fn(&Going) -> bool| {
        wait_for(what, || {
            cloud.serves();
            assert!(!going.has_ended(), "{}{}", going.out(), going.err());
            is(going).then_some(())
        });
    };
    for rented in [2, 3] {
        let ready = |going: &Going| {
            cloud.states().len() == rented && going.err().matches("wait for it").count() > rented
        };
        until("two that are ready", &mut going, &ready);
        let living = cloud.states().into_iter().find(|(_, state)| state == "running");
        cloud.terminate(&living.unwrap().0);
    }
    let of = place.loads(&mut going);
    let is_told = |_: &Going| {
        let told = Run::open(&of).unwrap().events().unwrap();
        told.iter().any(|event| event.text.contains("of the budget of 0.35 USD are spent"))
    };
    until("the budget", &mut going, &is_told);
    place.plimsoll(&["stop", place.run().to_str().unwrap()]).ended_with(0);
    ended(going, &cloud).ran();
    assert_eq!((cloud.living(), cloud.states().len()), (0, 3), "no fourth was ordered");
    let analysis = place.plimsoll(&["analyse", place.run().to_str().unwrap(), "--json"]);
    let analysis = analysis.json();
    let limited = analysis["cells"][0]["limited"].to_string();
    assert!(limited.contains("budget of 0.35 USD"), "{limited}");
    let warnings = analysis["warnings"].to_string();
    assert!(warnings.contains("had not all that their policies asked for"), "{warnings}");
    let decisions = Run::open(&cell_of(&place)).unwrap().decisions().unwrap();
    let by = decisions.iter().filter_map(|of| of.limited_by.as_deref());
    assert!(by.clone().any(|by| by == "budget"), "{:?}", by.collect::<Vec<_>>());
}

#[test]
fn credentials_are_told_by_name_and_shown_nowhere() {
    let Some(moto) = moto() else { return };
    let place = Place::new();
    let cloud = Cloud::start(&place, &moto, Kind::New);
    let whole = plan(&cloud.endpoint(), "");
    files(&place, &whole);
    let without = |more: &[(&str, &str)]| {
        let mut command = place.command(PLIMSOLL, &["run", "plan.toml", "--new"]);
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        command.env("AWS_EC2_METADATA_DISABLED", "true").env("HOME", place.path("home"));
        command.env_remove("XDG_STATE_HOME").env_remove("AWS_PROFILE");
        command.envs(more.iter().copied());
        place.start(command)
    };
    let none = without(&[]).wait().ended_with(2);
    none.says(&["AWS_ACCESS_KEY_ID is not set", "~/.aws/credentials"]);
    without(&[("AWS_ACCESS_KEY_ID", "AKIDTEST")]).wait().ended_with(2).says(&["SECRET_ACCESS_KEY"]);
    // One that the cloud does not know; one that has expired; a clock that is wrong.
    for (code, part) in [("AuthFailure", "look at the credentials"), ("ExpiredToken", "renew the")]
    {
        cloud.will("RunInstances", &[Fault::Refused(code); 4]);
        let done = run(&place, &cloud).ended_with(4);
        done.says(&[code, part]);
        cloud.books().faults.clear();
    }
    cloud.will("RunInstances", &[Fault::Refused("RequestExpired"); 4]);
    cloud.books().skew_s = 3600;
    let skewed = run(&place, &cloud).ended_with(4);
    skewed.says(&["the clock of this host is 3", "s behind the cloud's"]);
    (cloud.books().skew_s, cloud.books().faults) = (0, Vec::new());
    assert_eq!((cloud.living(), cloud.states().len(), beds(&place).len()), (0, 0, 0));
    // A profile of the file.
    std::fs::create_dir_all(place.path("home/.aws")).unwrap();
    let keys = format!("[study]\naws_access_key_id = AKIDFILE\naws_secret_access_key = {SECRET}\n");
    place.write("home/.aws/credentials", keys);
    files(&place, &plan(&cloud.endpoint(), "profile = 'other'"));
    without(&[]).wait().ended_with(2).says(&["find the profile `other`"]);
    files(&place, &plan(&cloud.endpoint(), "profile = 'study'"));
    ended(without(&[]), &cloud).ran();
    assert!(!is_in(&place.path("runs"), SECRET));
    // A plan has none.
    files(&place, &plan(&cloud.endpoint(), &format!("secret_access_key = '{SECRET}'")));
    let refused = begin(&place, &["check", "plan.toml"]).wait().ended_with(2);
    refused.says(&["secret_access_key", "credentials stand in no plan"]);
    assert!(!refused.err.contains(SECRET), "{}", refused.err);
    // Nor does it send them in the open.
    files(&place, &plan("http://cloud.example/", ""));
    let open = begin(&place, &["check", "plan.toml"]).wait().ended_with(2);
    open.says(&["plain http is taken only on loopback"]);
}

#[test]
fn what_needs_commands_on_an_instance_is_refused_by_name() {
    let place = Place::weighing(Weight::WAITS);
    let whole = plan("http://127.0.0.1:9/", "");
    files(&place, &whole.replace("recipe = 'server'", "recipe = 'nginx'"));
    let refused = begin(&place, &["check", "plan.toml"]).wait().ended_with(2);
    refused.says(&["`start`", "of the role `web`", "runs no commands"]);
    files(&place, &whole.replace("count = 2", "count = 2\ncpu = '20%'"));
    begin(&place, &["check", "plan.toml"]).wait().ended_with(2).says(&["role.web.cpu"]);
    let (_, roles) = whole.split_once("[role.web]").unwrap();
    files(&place, &format!("[testbed]\nprovider = 'process'\n[role.web]{roles}"));
    begin(&place, &["check", "plan.toml"]).wait().ended_with(2).says(&["has no `start`"]);
    files(&place, &whole);
    let up = begin(&place, &["testbed", "up", "plan.toml"]).wait().ended_with(2);
    up.says(&["leave rented instances standing"]);
    assert!(events_of_none(&place));
}

/// Nothing was run.
fn events_of_none(place: &Place) -> bool {
    place.runs("runs").iter().all(|run| events(run, "testbed").is_empty())
}
