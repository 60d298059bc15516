//! Scenarios as they are written: what is said of wrong ones, as committed text, and what right
//! ones come to.
//!
//! `tests/scenario/wrong.txt` is made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-plan
//! wrong_scenarios`, and read as a diff.

use std::io;
use std::path::Path;

use plimsoll_plan::{Environment, PlanErrors, WrittenScenario, read_scenario};
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::{Next, Now, Scenario, User};

fn open(path: &Path) -> io::Result<Vec<u8>> {
    match path.to_str() {
        Some("accounts.csv") => Ok(b"user,password\nann,1\nbob,2\n".to_vec()),
        Some("broken.csv") => Ok(b"a,b\n1,2\n3\n".to_vec()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    }
}

fn read(text: &str) -> Result<Scenario, PlanErrors> {
    let environment = Environment::Unread;
    let (origin, open) = ("s.toml", &open);
    read_scenario(&WrittenScenario { text, origin, environment, places: None, open })
}

#[test]
fn wrong_scenarios_are_told_with_a_caret() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenario");
    let all = std::fs::read_to_string(folder.join("wrong.toml")).unwrap();
    let mut said = String::new();
    let mut count = 0;
    for part in all.split("#### ").skip(1) {
        let (title, text) = part.split_once('\n').unwrap();
        let errors = match read(text) {
            Ok(_) => panic!("{title}: it is a right scenario"),
            Err(errors) => errors.to_string(),
        };
        assert!(!errors.contains("hunter2"), "{title}:\n{errors}");
        said.push_str(&format!("#### {title}\n{errors}\n\n"));
        count += 1;
    }
    assert!(count >= 20, "{count}");
    let golden = folder.join("wrong.txt");
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(&golden, &said).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(said, expected, "PLIMSOLL_BLESS=1 cargo test -p plimsoll-plan wrong_scenarios");
}

/// What the first request of a user says: its line, its headers and its body.
fn first(text: &str, number: u64) -> String {
    let scenario = read(text).unwrap().at(&Url::parse("http://shop.example/").unwrap(), 1);
    let mut user = User::new(&scenario, number, 0).unwrap();
    let now = Now { ns: 0, unix_ns: 0 };
    let next = user.next(&scenario, now, &mut Vec::new());
    assert!(matches!(next, Next::Ask(_)), "{next:?}");
    let message = user.message();
    let body = message.body.as_deref().unwrap_or(b"(none)");
    format!(
        "{} {} of {}\n{}\n{}",
        message.method,
        message.target,
        message.origin,
        String::from_utf8_lossy(&message.head).replace('\r', ""),
        String::from_utf8_lossy(body)
    )
}

#[test]
fn a_request_is_put_together_from_its_keys() {
    let text = r#"
[data.accounts]
file = "accounts.csv"
[vars]
n = 5
[[step]]
post = "/a?x=1"
query = { q = "a b&{{accounts.user}}", list = ["1", 2] }
headers = { "X-N" = "{{n}}", Accept = ["a", "b"] }
json = { user = "{{accounts.user}}", n = "{{n}}", list = [1, 0.5, true], deep = { k = "{{n}}!" } }
"#;
    assert_eq!(
        first(text, 3),
        "POST /a?x=1&q=a%20b%26bob&list=1&list=2 of 0\n\
         X-N: 5\nAccept: a\nAccept: b\ncontent-type: application/json\n\n\
         {\"user\":\"bob\",\"n\":5,\"list\":[1,0.5,true],\"deep\":{\"k\":\"5!\"}}"
    );
    let form = "[[step]]\npost = \"/\"\nform = { b = \"x y\", a = \"ü&{{user}}\" }\n";
    assert_eq!(
        first(form, 7),
        "POST / of 0\ncontent-type: application/x-www-form-urlencoded\n\nb=x+y&a=%C3%BC%267"
    );
    let parts = "[[step]]\npost = \"/\"\n[step.multipart]\na = \"{{user}}\"\n\
                 f = { file = \"accounts.csv\", type = \"text/csv\" }\n";
    let said = first(parts, 7);
    assert!(said.contains("form-data; name=\"a\"\r\n\r\n7\r\n--plimsoll-"), "{said}");
    assert!(
        said.contains("filename=\"accounts.csv\"\r\ncontent-type: text/csv\r\n\r\nuser,"),
        "{said}"
    );
}

#[test]
fn a_variable_of_the_round_before_is_set() {
    let text = r#"
[[step]]
loop = 3
steps = [
    { if = { var = "next", set = true }, then = [ { get = "{{next}}" } ], else = [
        { get = "/" },
    ] },
    { get = "/list", take = { next = { css = "a", attribute = "href" } } },
]
"#;
    read(text).unwrap();
}

#[test]
fn steps_may_stand_in_tables_of_their_own() {
    let text = "[[step]]\ngroup = \"checkout\"\n[[step.steps]]\nname = \"buy\"\npost = \"/buy\"\n\
                [[step.steps]]\nname = \"pay\"\npost = \"/pay\"\n";
    let names: Vec<_> = read(text).unwrap().names().iter().map(|of| of.name.clone()).collect();
    assert_eq!(names, ["checkout", "buy", "pay"]);
}

#[test]
fn a_host_that_is_listed_is_asked() {
    let text = "hosts = [\"api.example\"]\n[[step]]\nget = \"https://api.example/x?y=1\"\n";
    let scenario = read(text).unwrap().at(&Url::parse("http://shop.example/").unwrap(), 1);
    let said = first(text, 0);
    assert!(said.starts_with("GET /x?y=1 of 2\n"), "{said}");
    assert_eq!(scenario.origins()[2].to_string(), "https://api.example/");
}

#[test]
fn redirects_are_followed_by_all_steps_where_the_top_says_so() {
    let text = "follow = 5\n[[step]]\nget = \"/\"\n[[step]]\nget = \"/b\"\nfollow = 0\n";
    let scenario = read(text).unwrap();
    let follows: Vec<u32> = scenario.asks().map(|ask| ask.follow).collect();
    assert_eq!(follows, [5, 0]);
    let wrong = read("follow = 101\n[[step]]\nget = \"/\"\n").unwrap_err();
    assert!(wrong.to_string().contains("from 0 to 100"), "{wrong}");
}

#[test]
fn a_time_alone_is_a_constant_time_to_think() {
    let thinks = |time: &str| {
        let text = format!("[[step]]\nget = \"/\"\n[[step]]\nthink = \"{time}\"\n");
        format!("{:?}", read(&text).unwrap())
    };
    assert_eq!(thinks("1s"), thinks("const:1s"));
    let both = "[[step]]\nthink = \"1s\"\nget = \"/\"\n";
    let error = read(both).unwrap_err().to_string();
    assert!(error.contains("write [[step]] get = \"/\", then [[step]] think = \"1s\""), "{error}");
    // As the hint says.
    read("[[step]]\nget = \"/\"\n[[step]]\nthink = \"1s\"\n").unwrap();
}
