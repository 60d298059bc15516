//! Secrets are sent, and kept nowhere: not in the plan, the database, the logs, the report, nor in
//! what is printed.

use crate::place::Place;
use crate::program::PLIMSOLL;
use crate::recording::Recording;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_testing::Weight;
use std::path::{Path, PathBuf};

const TOKEN: &str = "tok3n-Zq8RkWv2";
const PASSWORD: &str = "pa55-Lm4TzXc9";

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Fails where a secret, or the header made of it, stands in any file of the test's folder, the
/// output of the processes included.
#[track_caller]
pub(crate) fn assert_nowhere(place: &Place, secrets: &[&str]) {
    let mut found = Vec::new();
    files(&place.path(""), &mut found);
    assert!(found.iter().any(|path| path.ends_with("run.sqlite")), "no run: {found:?}");
    for path in found {
        let bytes = std::fs::read(&path).unwrap();
        for secret in secrets {
            let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!is_there, "{secret} is in {}", path.display());
        }
    }
}

/// Flags, environment variables, and the header that they mean.
type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);

#[test]
fn authentication_is_sent_and_never_kept() {
    let encoded = STANDARD.encode(format!("ann:{PASSWORD}"));
    let (basic, bearer) = (format!("Basic {encoded}"), format!("Bearer {TOKEN}"));
    let pair = format!("ann:{PASSWORD}");
    let header = format!("Authorization: {bearer}");
    let cases: [Case<'_>; 5] = [
        (&["--basic", &pair], &[], &basic),
        (&["--bearer", TOKEN], &[], &bearer),
        (&["--basic-env", "PLIMSOLL_TEST_PAIR"], &[("PLIMSOLL_TEST_PAIR", &pair)], &basic),
        (&["--bearer-env", "PLIMSOLL_TEST_TOKEN"], &[("PLIMSOLL_TEST_TOKEN", TOKEN)], &bearer),
        (&["-H", &header], &[], &bearer),
    ];
    let encoded = encoded.as_str();
    std::thread::scope(|scope| {
        for (arguments, variables, wanted) in cases {
            scope.spawn(move || {
                let place = Place::new();
                let server = Recording::start();
                assert_sent(&place, &server, &server.url(), arguments, variables, wanted);
                assert_nowhere(&place, &[TOKEN, PASSWORD, encoded]);
            });
        }
    });
    // A password in the URL.
    let place = Place::new();
    let server = Recording::start();
    let url = format!("http://ann:{PASSWORD}@{}/", server.address());
    assert_sent(&place, &server, &url, &[], &[], &basic);
    assert_nowhere(&place, &[PASSWORD, encoded]);
}

fn assert_sent(
    place: &Place,
    server: &Recording,
    url: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
    wanted: &str,
) {
    let mut command = place.command(PLIMSOLL, &["load", url, "--rate", "10/s", "--for", "1s"]);
    command.args(arguments).args(["--samples", "--report", "page.html"]);
    command.envs(variables.iter().copied());
    let done = place.start(command).wait().ran();
    let asked = server.asked();
    assert_eq!(asked.len(), 10, "{arguments:?}: {}", done.err);
    for one in &asked {
        assert_eq!(one.header("authorization"), Some(wanted), "{arguments:?}");
    }
    let run = place.run();
    let run = run.to_str().unwrap();
    place.plimsoll(&["report", run]).ended_with(0);
    place.plimsoll(&["export", run, "--format", "json", "-o", "run.json"]).ended_with(0);
    place.plimsoll(&["runs", "list"]).ended_with(0);
    let mut print = place.command(PLIMSOLL, &["load", url, "--rate", "10/s", "--for", "1s"]);
    print.args(arguments).arg("--print-plan");
    place.start(print).wait().ended_with(0);
}

#[test]
fn mistakes_beside_a_secret_do_not_show_it() {
    let place = Place::weighing(Weight::WAITS);
    let wrong = ["http://127.0.0.1:1/", "--rate", "5", "--for", "1s", "--bearer", TOKEN];
    let done = place.load(&wrong).ended_with(2);
    assert!(!done.err.contains(TOKEN), "{}", done.err);
    place.write(
        "plan.toml",
        format!("[target]\nurl = \"http://127.0.0.1:1/\"\nbearr = \"{TOKEN}\"\n[load]\nrate = \"5/s\"\nfor = \"1s\"\n"),
    );
    let done = place.load(&["plan.toml"]).ended_with(2);
    done.says(&["plan.toml:3:1: unknown key `bearr`", "hint: did you mean `bearer`?"]);
    assert!(!done.err.contains(TOKEN), "{}", done.err);
    let url = format!("http://ann:{PASSWORD}@127.0.0.1:port/");
    let done = place.load(&[&url, "--rate", "5/s", "--for", "1s"]).ended_with(2);
    assert!(!done.err.contains(PASSWORD), "{}", done.err);
}

#[test]
fn a_variable_of_the_environment_is_filled_in_and_kept_by_its_name() {
    for command in ["load", "run"] {
        let place = Place::new();
        let server = Recording::start();
        place.write(
            "plan.toml",
            format!(
                "[target]\nurl = '{}'\nbearer = '{{{{env.PLIMSOLL_TEST_TOKEN}}}}'\n\
                 headers = {{ X-Run = 'of {{{{ env.PLIMSOLL_TEST_WORD }}}}' }}\n\
                 [load]\nrate = '{{{{env.PLIMSOLL_TEST_RATE}}}}'\nfor = '1s'\n",
                server.url()
            ),
        );
        let with = |arguments: &[&str]| {
            let mut command = place.command(PLIMSOLL, arguments);
            command.env("PLIMSOLL_TEST_TOKEN", TOKEN).env("PLIMSOLL_TEST_WORD", PASSWORD);
            command.env("PLIMSOLL_TEST_RATE", "5/s");
            place.start(command).wait()
        };
        let done = with(&[command, "plan.toml"]).ran();
        assert!(!done.out.contains(PASSWORD) && !done.err.contains(PASSWORD), "{}", done.out);
        let asked = server.asked();
        assert_eq!(asked.len(), 5);
        let wanted = (format!("Bearer {TOKEN}"), format!("of {PASSWORD}"));
        let sent = (asked[0].header("authorization"), asked[0].header("x-run"));
        assert_eq!(sent, (Some(wanted.0.as_str()), Some(wanted.1.as_str())));
        // The run is repeated by its own plan, with the same variables.
        let kept = place.run().join("plan.toml");
        let text = std::fs::read_to_string(&kept).unwrap();
        assert!(text.contains("{{env.PLIMSOLL_TEST_RATE}}"), "{text}");
        with(&["load", kept.to_str().unwrap()]).ran();
        assert_eq!(server.asked().len(), 10);
        place.plimsoll(&["report", place.run().to_str().unwrap()]).ended_with(0);
        let unset = place.plimsoll(&[command, "plan.toml"]).ended_with(2);
        unset.says(&["plan.toml:3:10", "PLIMSOLL_TEST_TOKEN"]);
        assert_nowhere(&place, &[TOKEN, PASSWORD]);
    }
}

#[test]
fn secrets_of_any_name_and_of_well_known_shapes_are_not_kept() {
    let place = Place::new();
    let server = Recording::start();
    let url = format!("{}x?page=2&access_token=LEAK0001&X-Amz-Signature=LEAK0002", server.url());
    let headers = [
        "Ocp-Apim-Subscription-Key: LEAK0003",
        "X-Session-Id: LEAK0004",
        "Passphrase: LEAK0005",
        "X-Plain: ghp_LEAK0006aaaaaaaa",
        "X-Tenant: harbour",
    ];
    let headers = headers.iter().flat_map(|header| ["-H", header]);
    let body = "user=ann&password=LEAK0007";
    let load: Vec<&str> = [&url[..], "--users", "1", "-n", "1", "-X", "POST", "--body", body]
        .into_iter()
        .chain(headers)
        .collect();
    place.load(&load).ran();
    let asked = server.asked();
    assert!(asked[0].line().contains("access_token=LEAK0001"), "{}", asked[0].line());
    assert_eq!(asked[0].header("passphrase"), Some("LEAK0005"));
    assert_nowhere(&place, &["LEAK000"]);
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    assert!(plan.contains("page=2") && plan.contains("harbour"), "{plan}");
    let again = place.plimsoll(&["load", place.run().join("plan.toml").to_str().unwrap()]);
    again.ended_with(2).says(&["target.url", "target.body", "target.headers.Passphrase"]);
}
