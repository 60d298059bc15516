//! Secrets are used, and appear in nothing that is printed.

use plimsoll_plan::{Auth, Plan, Setting};

const LOAD: &str = "[load]\nusers = 1\nfor = '1s'\n";

fn plan(target: &str) -> Plan {
    crate::parse(&format!("[target]\n{target}\n{LOAD}"), "p.toml").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn no_print_shows_a_secret() {
    for target in [
        "url = 'http://h/'\nbasic = 'me:hunter2'",
        "url = 'http://h/'\nbearer = 'hunter2'",
        "url = 'http://me:hunter2@h/'",
        "url = 'http://h/'\nheaders = { Authorization = 'Bearer hunter2' }",
        "url = 'http://h/'\nheaders = { Cookie = ['a=hunter2', 'b=hunter2'], X-Api-Key = 'hunter2' }",
    ] {
        let plan = plan(target);
        let (printed, debug) = (plan.to_toml(), format!("{plan:?} {plan:#?}"));
        assert!(!printed.contains("hunter2"), "{printed}");
        assert!(!debug.contains("hunter2"), "{debug}");
        assert!(printed.contains("…redacted…"), "{printed}");
        assert_eq!(plan.redacted(), Vec::<String>::new());
        let again = crate::parse(&printed, "p.toml").unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert!(!again.redacted().is_empty());
        assert_eq!(again.to_toml(), printed);
    }
}

#[test]
fn a_secret_is_there_to_be_used() {
    let plan = plan("url = 'http://h/'\nbearer = 'abc'");
    let Some(Auth::Bearer(token)) = plan.target.auth else { panic!() };
    assert_eq!(token.reveal(), Some("abc"));
    let again = crate::parse_with(
        "[target]\nurl = 'http://h/'\nbearer = '…redacted…'\n[load]\nusers = 1\nfor = '1s'\n",
        "p.toml",
        &[Setting::new("target.bearer", "abc", "--bearer")],
    );
    assert_eq!(again.unwrap().redacted(), Vec::<String>::new());
}

#[test]
fn no_fault_shows_a_secret() {
    // What is wrong: the secret itself, its key, its line, the text around it.
    for target in [
        "url = 'http://h/'\nbasic = 'hunter2'",
        "url = 'http://h/'\nbearer = 'hunter2 hunter2'",
        "url = 'http://h/'\nbasc = 'me:hunter2'",
        "url = 'http://h/'\npassword = 'hunter2'",
        "url = 'http://h/'\nbearer = ['hunter2']",
        "url = 'http://h/'\nbearer = { token = 'hunter2' }",
        "url = 'http://h/'\nbasic_env = 'me:hunter2'",
        "url = 'http://me:hunter2@h:0/'",
        "url = 'http://me:hunter2@/'",
        "url = 'http://h/'\nhost = 'http://me:hunter2@h/'\nhost2 = 'http://me:hunter2@h/'",
        "url = 'http://h/'\nheaders = { Authorization = 'Bearer {{hunter2}}', 'A B' = '1' }",
        "url = 'http://h/'\nheaders = { Authorization = \"Bearer hunter2\\n\" }",
        "url = 'http://h/'\nheaders = 'Authorization: hunter2'",
        "url = 'http://h/'\nbearer = 'hunter2\n",
        "url = 'http://h/'\nbearer = hunter2 hunter2",
        "url = 'http://h/'\nbearer = \"\"\"hunter2\nhunter2\n\"\"\" x",
        "url = 'http://me:hunter2@h/",
        "url 'http://me:hunter2@h/'",
        "url = 'http://h/'\nbasc 'me:hunter2'",
        "url = 'http://h/'\n'http://me:hunter2@h/' = 5 6",
        "url = 'http://h/'\nheaders = { Cookie = 'hunter2', A = }",
        "url = 'http://h/'\nurls = { password = 'hunter2' }",
    ] {
        let text = format!("[target]\n{target}\n{LOAD}");
        let errors = match crate::parse(&text, "p.toml") {
            Err(errors) => errors,
            Ok(plan) => panic!("{target} is right: {plan:?}"),
        };
        let said = format!("{errors} {errors:?}");
        assert!(!said.contains("hunter2"), "{target}:\n{errors}");
    }
}

#[test]
fn no_fault_of_a_flag_shows_a_secret() {
    for (key, value) in [
        ("target.basic", "hunter2"),
        ("target.bearer", "hunter2 hunter2"),
        ("target.bearr", "hunter2"),
        ("target.headers", "Authorization hunter2"),
        ("target.headers", "Authorization: {{hunter2"),
        ("target.headers", "Cook ie: hunter2"),
        ("target.headers.Authorization", "{{hunter2"),
        ("target.url", "http://me:hunter2@h:0/"),
        ("target.bearer_env", "hunter2-"),
        ("target.bearer.x", "hunter2"),
        ("bearer", "hunter2"),
    ] {
        let setting = Setting::new(key, value, "--flag");
        let said =
            format!("{setting:?} {}", crate::assemble(std::slice::from_ref(&setting)).unwrap_err());
        assert!(!said.contains("hunter2"), "{key}:\n{said}");
    }
}
