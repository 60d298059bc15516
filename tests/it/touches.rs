//! What a plan would execute, read, take and reach is in what `check` says of it.

use crate::place::Place;
use plimsoll_testing::Weight;

const PLAN: &str = "[target]\nurl = 'http://shop.invalid:8080/'\nmethod = 'POST'\n\
    body_file = 'OUTSIDE'\nrestart = 'echo MARK'\nbasic_env = 'LOGIN'\n\
    headers = { X-A = '{{env.MY_TOKEN}}' }\nthrough = ['http://proxy.invalid:3128']\n\
    [load]\nrate = '10/s'\nfor = '1s'\n[search]\nrestarts = 1\n[measure]\nslo = 'p99<100ms'\n\
    [collect]\nagents = { web1 = '10.0.0.9:5555' }\n";

#[test]
fn a_plan_of_somebody_else_says_what_it_does() {
    let place = Place::weighing(Weight::WAITS);
    place.write("private", "a secret of mine");
    std::fs::create_dir(place.path("given")).unwrap();
    let outside = place.path("private").display().to_string();
    place.write("given/plan.toml", PLAN.replace("OUTSIDE", &outside));
    let check = |more: &[&str]| {
        let words = [&["check", "given/plan.toml"], more].concat();
        let mut command = place.command(crate::program::PLIMSOLL, &words);
        command.env("MY_TOKEN", "tok3n").env("LOGIN", "me:pa55");
        place.start(command).wait().ended_with(0)
    };
    let done = check(&[]);
    done.prints(&["executes    sh -c `echo MARK`, to restart the server"]);
    done.prints(&[&format!("reads       {outside}, outside of the plan's folder")]);
    done.prints(&["takes       the environment variable LOGIN", "environment variable MY_TOKEN"]);
    done.prints(&["http://shop.invalid:8080", "http://proxy.invalid:3128"]);
    done.prints(&["10.0.0.9:5555, the agent of web1"]);
    for secret in ["tok3n", "pa55"] {
        assert!(!done.out.contains(secret), "{secret}: {}", done.out);
    }
    let touches = &check(&["--json"]).json()["touches"];
    assert_eq!(touches["variables"], serde_json::json!(["LOGIN", "MY_TOKEN"]));
    assert_eq!(touches["reads"][0]["is_outside"], true, "{touches}");
}

#[test]
fn servers_of_a_plan_are_told_with_their_recipes_texts_and_environment() {
    let place = Place::weighing(Weight::WAITS);
    std::fs::create_dir(place.path("recipes")).unwrap();
    place.write(
        "recipes/nginx.toml",
        "about = 'another'\nport = 80\nstart = ['sh', '{{folder}}/go']\n\
         check = { http = '/' }\nstop = { signal = 'QUIT', within_s = 5 }\n\
         [[write]]\npath = 'go'\ntext = '''\n#!/bin/sh\necho MARK-OF-A-SCRIPT\n'''\n",
    );
    place.write(
        "ssh_config",
        "Host *\n  ProxyCommand nc %h %p\nMatch host a exec \"touch x\"\n  User b\n",
    );
    place.write(
        "plan.toml",
        "[testbed]\nprovider = 'process'\n[role.web]\nrecipe = 'nginx'\n\
         environment = { LD_PRELOAD = '/tmp/x.so', KEY = { env = 'DEPLOY_KEY' } }\n\
         [target]\nurl = 'http://{{role.web.address}}/'\n[load]\nrate = '10/s'\nfor = '1s'\n",
    );
    let check = |words: &[&str]| {
        let mut command = place.command(crate::program::PLIMSOLL, words);
        command.env("DEPLOY_KEY", "k3y-of-mine");
        place.start(command).wait().ended_with(0)
    };
    let done = check(&["check", "plan.toml"]);
    done.prints(&["role.web: LD_PRELOAD = /tmp/x.so", "KEY = { env = \"DEPLOY_KEY\" }"]);
    done.prints(&["recipes/nginx.toml, in the place of the program's own"]);
    done.prints(&["  | echo MARK-OF-A-SCRIPT", "the environment variable DEPLOY_KEY"]);
    assert!(!done.out.contains("k3y-of-mine"), "{}", done.out);
    let hosts = "provider = 'ssh'\nssh_config = 'ssh_config'\nhosts = { a = '10.0.0.5' }";
    let text = std::fs::read_to_string(place.path("plan.toml")).unwrap();
    place.write("plan.toml", text.replace("provider = 'process'", hosts));
    let done = check(&["check", "plan.toml"]);
    done.prints(&["ssh, by ssh_config: ProxyCommand nc %h %p"]);
    done.prints(&["ssh, by ssh_config: Match host a exec \"touch x\"", "10.0.0.5, the host a"]);
}

#[test]
fn a_project_that_was_moved_or_copied_goes_on() {
    let place = Place::weighing(Weight::COMPUTES);
    std::fs::create_dir(place.path("a")).unwrap();
    place.write(
        "a/p.toml",
        "name = 'm'\n[experiment]\nreplications = 60\n[factor]\n'load.rate' = ['100/s', '200/s']\n\
         [target]\nurl = 'http://127.0.0.1:1/'\n[load]\nrate = '100/s'\nfor = '5s'\n\
         [instance]\nservice = 'exp:2ms'\n",
    );
    let run = |folder: &str, more: &[&str]| {
        let words = [&["run", "p.toml", "--simulated", "--json"], more].concat();
        let mut command = place.command(crate::program::PLIMSOLL, &words);
        command.current_dir(place.path(folder));
        place.start(command).wait()
    };
    // How many cells there is time for hangs on the host: some, and not all.
    let mut budgets = (0..20).map(|power| format!("{}ms", 5 << power));
    let is_begun = |budget: String| {
        run("a", &["--budget", &budget]).ended_with(4);
        !place.runs("a/runs").is_empty()
    };
    assert!(budgets.any(is_begun));
    place.start(place.command("cp", &["-r", "a", "b"])).wait().ended_with(0);
    std::fs::rename(place.path("a"), place.path("c")).unwrap();
    for folder in ["b", "c"] {
        let done = run(folder, &[]).ended_with(0);
        done.says(&["going on with", "its plan was"]);
        assert_eq!(done.json()["experiment"]["cells_done"], 120, "{folder}");
        assert_eq!(place.runs(&format!("{folder}/runs")).len(), 1, "{folder}");
    }
}
