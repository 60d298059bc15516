//! Secrets of servers under test: handed on by files and environment, and in no file of the run, no
//! argument list, no line of the terminal, whatever the servers say.

use crate::place::Place;
use crate::program::{Done, PLIMSOLL};
use crate::secrets::assert_nowhere;
use plimsoll_runs::Run;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PASSWORD: &str = "pa55-Jr8VwQx2Lk";
const TOKEN: &str = "tok3n-Hy6BnMz4Ts";
const KEY: &str = "k3y-Fd9PqWn1Rb";

/// Runs a command while every argument list of this machine is watched.
fn watched(place: &Place, arguments: &[&str]) -> Done {
    let mut command = place.command(PLIMSOLL, arguments);
    command.env("PLIMSOLL_TEST_PASSWORD", PASSWORD).env("PLIMSOLL_TEST_TOKEN", TOKEN);
    let (is_over, found) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for entry in std::fs::read_dir("/proc").unwrap().flatten() {
                    let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    let line = String::from_utf8_lossy(&line).into_owned();
                    if [PASSWORD, TOKEN, KEY].iter().any(|secret| line.contains(secret)) {
                        found.lock().unwrap().push(line);
                    }
                }
                // tidy: allow(waits, a pause of a loop that looks at processes)
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let done = place.start(command).wait();
        is_over.store(true, Ordering::Relaxed);
        done
    });
    assert_eq!(found.into_inner().unwrap(), Vec::<String>::new(), "an argument list");
    for text in [&done.out, &done.err] {
        for secret in [PASSWORD, TOKEN, KEY] {
            assert!(!text.contains(secret), "{secret} is on the terminal: {text}");
        }
    }
    done
}

/// A place with a file that is a secret.
fn place() -> Place {
    let place = Place::new();
    place.write("key", format!("{KEY}\n"));
    let file = place.path("key");
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::create_dir(place.path("recipes")).unwrap();
    place
}

/// What the test itself wrote is not what is looked for.
fn nothing_is_kept(place: &Place) {
    std::fs::remove_file(place.path("key")).unwrap();
    assert_nowhere(place, &[PASSWORD, TOKEN, KEY]);
}

/// A server that says all that it knows, and is one in the end.
const TALKS: &str = "\
about = 'talks'
packages = []
port = 8080
start = ['sh', '{{folder}}/run']
check = {}
[vars]
password = ''
service = 'const:1ms'
[[write]]
path = 'run'
text = '''
echo password {{vars.password}}, token $TOKEN
cat {{folder}}/tls/key >&2
cat {{folder}}/own
END
'''
[[write]]
path = 'own'
text = { file = 'key' }
";

const PLAN: &str = "\
name = 'secrets'
[testbed]
provider = 'process'
[role.web]
recipe = 'talks'
vars.password = { env = 'PLIMSOLL_TEST_PASSWORD' }
environment = { TOKEN = '{{env.PLIMSOLL_TEST_TOKEN}}' }
files = { 'tls/key' = { file = 'key', secret = true } }
[target]
url = 'http://{{role.web.address}}:{{role.web.port}}/'
headers = { Authorization = 'Bearer {{env.PLIMSOLL_TEST_TOKEN}}' }
[load]
rate = '20/s'
for = '1s'
";

#[test]
fn a_secret_of_a_server_is_in_no_file_of_the_run_and_no_argument() {
    let place = place();
    let serve = "exec {{plimsoll}} target --listen {{address}}:{{port}} --service-time \
                 {{vars.service}}";
    place.write("recipes/talks.toml", TALKS.replace("END", serve));
    place.write("plan.toml", PLAN);
    let check = watched(&place, &["check", "plan.toml"]).ended_with(0);
    assert!(check.out.contains("/run, which holds a secret"), "{}", check.out);
    assert!(check.out.contains("key, which is secret"), "{}", check.out);
    let done = watched(&place, &["run", "plan.toml", "--json"]);
    assert!([Some(0), Some(5)].contains(&done.code()), "{}{}", done.out, done.err);

    let folder = place.run();
    let said = std::fs::read_to_string(folder.join("artifacts/web-1.log")).unwrap();
    assert!(said.contains("password ***, token ***"), "{said}");
    assert_eq!(said.matches("***").count(), 4, "{said}");
    let run = Run::open(&folder).unwrap();
    let events: Vec<String> = run.events().unwrap().into_iter().map(|of| of.text).collect();
    for step in ["web-1: make its place (", "web-1: wait for it (", "web-1: stop it ("] {
        assert!(events.iter().any(|text| text.starts_with(step)), "{step}: {events:?}");
    }
    let plan = std::fs::read_to_string(folder.join("plan.toml")).unwrap();
    assert!(plan.contains("{ env = \"PLIMSOLL_TEST_PASSWORD\" }"), "{plan}");
    assert!(plan.contains("{{env.PLIMSOLL_TEST_TOKEN}}"), "{plan}");
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    // It is repeated from its folder, by the same secrets.
    std::fs::create_dir_all(place.path("again/recipes")).unwrap();
    std::fs::copy(folder.join("plan.toml"), place.path("again/plan.toml")).unwrap();
    let again = watched(&place, &["check", "again/plan.toml"]);
    assert!(again.code() == Some(0), "{}", again.err);
    watched(&place, &["report", folder.to_str().unwrap()]).ended_with(0);
    nothing_is_kept(&place);
}

#[test]
fn a_server_that_says_its_secret_as_it_fails_does_not_give_it_away() {
    for is_experiment in [false, true] {
        let place = place();
        place.write("recipes/talks.toml", TALKS.replace("END", "exit 7"));
        let factor = "[factor]\n\"load.rate\" = ['20/s', '30/s']\n";
        let plan = if is_experiment { format!("{PLAN}{factor}") } else { PLAN.to_owned() };
        place.write("plan.toml", plan);
        let done = watched(&place, &["run", "plan.toml"]).ended_with(4);
        done.says(&["exit code 7", "***"]);
        let folder = place.run();
        let kept = if is_experiment { folder.join("cells/0001.cut-1") } else { folder };
        let said = std::fs::read_to_string(kept.join("artifacts/web-1.log")).unwrap();
        assert!(said.contains("password ***"), "{said}");
        let run = Run::open(&kept).unwrap();
        // Nothing stood, so it is not said to have had an address.
        assert_eq!(run.meta().subject, "web (talks)");
        let events = run.events().unwrap();
        let is_told = |text: &str| text.contains("wait for it: failed") && text.contains("***");
        assert!(events.iter().any(|event| is_told(&event.text)), "{events:?}");
        nothing_is_kept(&place);
    }
}

#[test]
fn a_secret_that_cannot_be_had_or_would_be_shown_is_refused_by_name() {
    let place = place();
    let serve = "exec sleep 1";
    place.write("recipes/talks.toml", TALKS.replace("END", serve));
    place.write("plan.toml", PLAN);
    let unset = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
    unset.says(&["PLIMSOLL_TEST_TOKEN", "to be set"]);
    std::fs::set_permissions(place.path("key"), PermissionsExt::from_mode(0o640)).unwrap();
    watched(&place, &["check", "plan.toml"]).ended_with(2).says(&["can be read by others"]);
    std::fs::set_permissions(place.path("key"), PermissionsExt::from_mode(0o600)).unwrap();
    let shown = TALKS.replace("'{{folder}}/run'", "'-c', 'x {{vars.password|upper}}'");
    place.write("recipes/talks.toml", shown);
    let refused = watched(&place, &["check", "plan.toml"]).ended_with(2);
    refused.says(&["`start` of the role `web`", "vars.password", "would hold a secret"]);
    let level = format!("{PLAN}[factor]\n\"load.rate\" = ['{{{{env.X}}}}', '30/s']\n");
    place.write("plan.toml", level);
    watched(&place, &["check", "plan.toml"]).ended_with(2).says(&["levels without"]);
    place.write("plan.toml", PLAN.replace("'tls/key'", "'../key'"));
    place.write("recipes/talks.toml", TALKS.replace("END", serve));
    watched(&place, &["check", "plan.toml"]).ended_with(2).says(&["leads out of"]);
}
