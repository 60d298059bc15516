//! What users of a scenario do: the same whatever the others do, think times and choices that are
//! distributed as the file says, cookies, redirects, checks and what is taken.

use plimsoll_plan::{Environment, WrittenScenario, read_scenario};
use plimsoll_units::hash::fnv_1a;
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::take::Headers;
use plimsoll_workload::scenario::{
    Came, End, FailureKind, GroupEnd, Held, Next, Now, Received, Scenario, User,
};

fn scenario(text: &str, seed: u64) -> Scenario {
    let open: &dyn Fn(&std::path::Path) -> std::io::Result<Vec<u8>> =
        &|_| Ok(b"user,password\nann,1\nbob,2\ncy,3\n".to_vec());
    let environment = Environment::Unread;
    let written = WrittenScenario { text, origin: "s.toml", environment, places: None, open };
    let read = read_scenario(&written).unwrap_or_else(|errors| panic!("{errors}"));
    read.at(&Url::parse("http://shop.example/").unwrap(), seed)
}

fn at(ns: u64) -> Now {
    Now { ns, unix_ns: 1_764_201_600_000_000_000 + ns }
}

/// Status, headers and body.
type Answer = (u16, Vec<(&'static str, String)>, String);

/// A user whose clock is his own.
struct Driven {
    user: User,
    ns: u64,
    sent: Vec<String>,
    thought: Vec<u64>,
    groups: Vec<GroupEnd>,
    came: Vec<Came>,
    ended: Option<End>,
}

impl Driven {
    fn new(scenario: &Scenario, number: u64) -> Self {
        let user = User::new(scenario, number, 0).unwrap();
        let (sent, thought, groups, came) = Default::default();
        Self { user, ns: 0, sent, thought, groups, came, ended: None }
    }

    /// Goes on by one request or think time; every answer takes `delay_ns`.
    fn step(
        &mut self,
        scenario: &Scenario,
        delay_ns: u64,
        answer: &dyn Fn(&str) -> Answer,
    ) -> bool {
        match self.user.next(scenario, at(self.ns), &mut self.groups) {
            next @ (Next::Say { .. } | Next::Close { .. }) => panic!("{next:?} over HTTP"),
            Next::Think { until_ns } => {
                self.thought.push(until_ns - self.ns);
                self.ns = until_ns;
            }
            Next::Unsent { failure, .. } => self.came.push(Came::Failed(failure)),
            Next::Done(end) => {
                self.ended = Some(end);
                return false;
            }
            Next::Ask(sending) => {
                let message = self.user.message();
                let line = format!("{} {}", message.method, message.target);
                let head = String::from_utf8(message.head.clone()).unwrap();
                let body = message.body.as_deref().unwrap_or_default();
                let body = String::from_utf8_lossy(body);
                self.sent.push(format!("{line}\n{head}{body}"));
                let (status, headers, body) = answer(&line);
                let headers: Vec<(&[u8], &[u8])> = headers
                    .iter()
                    .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
                    .collect();
                self.ns += delay_ns;
                let received = Received {
                    status,
                    headers: Headers(&headers),
                    body: body.as_bytes(),
                    is_whole: body.len() as u64 <= sending.keep,
                };
                let mut room = Vec::new();
                let came =
                    self.user.answered(scenario, &received, delay_ns, at(self.ns), &mut room);
                self.came.push(came);
            }
        }
        true
    }

    fn all(&mut self, scenario: &Scenario, answer: &dyn Fn(&str) -> Answered) {
        while self.step(scenario, 1_000_000, answer) {}
    }
}

type Answered = (u16, Vec<(&'static str, String)>, String);

fn fine(_: &str) -> Answered {
    (200, Vec::new(), String::new())
}

const SHOP: &str = r#"
[data.accounts]
file = "accounts.csv"
[data.words]
file = "words.csv"
each = "step"
order = "random"
[[step]]
get = "/?u={{accounts.user}}&n={{random:1..1000000}}"
[[step]]
loop = "2..6"
steps = [
    { think = "exp:2s" },
    { choose = [
        { weight = 70, steps = [
{ post = "/buy", json = { id = "{{uuid}}", w = "{{words.user}}", n = "{{counter}}{{loop}}" } },
        ] },
        { weight = 30, steps = [
            { get = "/look/{{random:1..9}}" }, { think = "uniform:1s..3s" },
        ] },
    ] },
]
"#;

/// One hash over all that each user sent.
fn hashes(order: &[u64], delay_ns: &dyn Fn(u64) -> u64) -> Vec<u64> {
    let scenario = scenario(SHOP, 7);
    let mut users: Vec<Driven> =
        order.iter().map(|number| Driven::new(&scenario, *number)).collect();
    let mut left = true;
    while left {
        left = false;
        for user in &mut users {
            let delay = delay_ns(user.user.number() + user.sent.len() as u64);
            left |= user.step(&scenario, delay, &fine);
        }
    }
    let mut all: Vec<(u64, u64)> = users
        .iter()
        .map(|user| (user.user.number(), fnv_1a(user.sent.join("\n").as_bytes())))
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(_, hash)| hash).collect()
}

#[test]
fn what_a_user_sends_hangs_on_no_other_user_and_on_no_clock() {
    let forth: Vec<u64> = (0..1000).collect();
    let back: Vec<u64> = (0..1000).rev().collect();
    let one = hashes(&forth, &|_| 1_000_000);
    assert_eq!(one, hashes(&back, &|_| 1_000_000));
    assert_eq!(one, hashes(&forth, &|n| n * 7_919 % 50_000_000));
    let mut distinct = one.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 1000, "each sends something of his own");
    let other = scenario(SHOP, 8);
    let mut user = Driven::new(&other, 0);
    user.all(&other, &fine);
    assert_ne!(fnv_1a(user.sent.join("\n").as_bytes()), one[0], "another seed, other draws");
}

/// All that a scenario of `steps` thinks, over so many users.
fn thoughts(steps: &str, users: u64) -> Vec<f64> {
    let scenario = scenario(steps, 3);
    let mut all = Vec::new();
    for number in 0..users {
        let mut user = Driven::new(&scenario, number);
        user.all(&scenario, &fine);
        all.extend(user.thought.iter().map(|ns| *ns as f64 / 1e9));
    }
    all
}

/// The greatest distance between the distribution of a sample and what it should be.
fn distance(mut sample: Vec<f64>, expected: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let of = |(at, x): (usize, &f64)| {
        let (below, wanted) = (at as f64 / n, expected(*x));
        (wanted - below).abs().max((below + 1.0 / n - wanted).abs())
    };
    sample.iter().enumerate().map(of).fold(0.0, f64::max)
}

/// Kolmogorov and Smirnov: beyond 1.63/√n a sample of n is one of a hundred. The seed is fixed.
#[test]
fn think_times_are_distributed_as_the_file_says() {
    let steps = |think: &str| {
        format!("[[step]]\nloop = 10\nsteps = [ {{ think = \"{think}\" }}, {{ get = \"/\" }} ]\n")
    };
    let exponential = thoughts(&steps("exp:2s"), 2400);
    assert_eq!(exponential.len(), 24_000);
    let most = 1.63 / (24_000_f64).sqrt();
    let found = distance(exponential, |x| 1.0 - (-x / 2.0).exp());
    assert!(found < most, "{found} ≥ {most}");
    let uniform = thoughts(&steps("uniform:1s..3s"), 2400);
    let found = distance(uniform, |x| ((x - 1.0) / 2.0).clamp(0.0, 1.0));
    assert!(found < most, "{found} ≥ {most}");
}

#[test]
fn choices_are_made_by_their_weights() {
    let text = r#"[[step]]
loop = 20
steps = [ { choose = [
    { weight = 60, steps = [ { get = "/a" } ] },
    { weight = 30, steps = [ { get = "/b" } ] },
    { weight = 10, steps = [ { get = "/c" } ] },
] } ]
"#;
    let scenario = scenario(text, 5);
    let mut counts = [0_u32; 3];
    for number in 0..1000 {
        let mut user = Driven::new(&scenario, number);
        user.all(&scenario, &fine);
        for sent in &user.sent {
            counts[usize::from(sent.as_bytes()[5] - b'a')] += 1;
        }
    }
    assert_eq!(counts.iter().sum::<u32>(), 20_000);
    let expected = [12_000.0, 6_000.0, 2_000.0];
    let parts = counts.iter().zip(expected);
    let chi: f64 = parts.map(|(n, wanted)| (f64::from(*n) - wanted).powi(2) / wanted).sum();
    // Of two degrees of freedom: one sample of a hundred is beyond.
    assert!(chi < 9.21, "{chi} {counts:?}");
}

#[test]
fn a_token_is_taken_and_sent_with_its_cookie() {
    let text = r#"
[[step]]
get = "/"
take.token = { css = "input[name=token]", attribute = "value" }
check = { status = 200, contains = "form" }
[[step]]
name = "log in"
post = "/login"
form = { token = "{{token}}" }
follow = 3
check = { contains = "Welcome" }
[[step]]
get = "/item/{{id or \"none\"}}"
take = { id = { json = "/id" } }
[[step]]
put = "/item"
json = { id = "{{id}}" }
"#;
    let scenario = scenario(text, 1);
    let mut user = Driven::new(&scenario, 0);
    user.all(&scenario, &|line| match line {
        "GET /" => {
            let page = "<form><input name=token value='a b&c'></form>";
            (200, vec![("Set-Cookie", "sid=1; Path=/".to_owned())], page.to_owned())
        }
        "POST /login" => (303, vec![("Location", "home?x=1".to_owned())], String::new()),
        "GET /home?x=1" => {
            (200, vec![("Set-Cookie", "sid=2; Path=/".to_owned())], "Welcome".into())
        }
        "GET /item/none" => (200, Vec::new(), "{\"id\":17}".to_owned()),
        _ => (204, Vec::new(), String::new()),
    });
    assert_eq!(user.ended, Some(End::Finished), "{:?}", user.came);
    assert_eq!(user.came[1], Came::Redirected);
    let sent: Vec<&str> = user.sent.iter().map(String::as_str).collect();
    assert!(sent[1].ends_with("cookie: sid=1\r\ntoken=a+b%26c"), "{}", sent[1]);
    assert_eq!(sent[2], "GET /home?x=1\ncookie: sid=1\r\n");
    assert!(sent[4].starts_with("PUT /item\n") && sent[4].ends_with("{\"id\":17}"), "{}", sent[4]);
    assert!(sent[4].contains("cookie: sid=2\r\n"), "{}", sent[4]);
    assert_eq!(user.user.variable(1), &Held::Json("17".into()));
}

#[test]
fn what_does_not_hold_ends_the_user_by_its_kind() {
    let kind = |steps: &str, answer: &dyn Fn(&str) -> Answered| {
        let scenario = scenario(steps, 1);
        let mut user = Driven::new(&scenario, 0);
        user.all(&scenario, answer);
        assert_eq!(user.ended, Some(End::Failed));
        match user.came.pop() {
            Some(Came::Failed(failure)) => (failure.kind, failure.what),
            other => panic!("{other:?}"),
        }
    };
    let is = |steps: &str, answer: &dyn Fn(&str) -> Answered, wanted: FailureKind, word: &str| {
        let (found, what) = kind(steps, answer);
        assert!(found == wanted && what.contains(word), "{found:?}: {what}");
    };
    let page =
        |status: u16, body: &'static str| move |_: &str| (status, Vec::new(), body.to_owned());
    let step = |keys: &str| format!("[[step]]\nget = \"/\"\n{keys}\n");
    is(&step(""), &page(500, ""), FailureKind::Check, "2xx, found 500");
    is(&step("check = { contains = \"x\" }"), &page(200, "y"), FailureKind::Check, "`x`");
    is(
        &step("check = { json = { \"/n\" = { min = 3 } } }"),
        &page(200, "{\"n\":2}"),
        FailureKind::Check,
        "at least 3 at /n, found 2",
    );
    is(&step("check = { time = \"<1ms\" }"), &page(200, ""), FailureKind::Check, "below");
    is(&step("take.a = { regex = \"b\" }"), &page(200, "c"), FailureKind::Take, "`a`");
    is(
        &step("keep = \"4B\"\ntake.a = { regex = \"c\" }"),
        &page(200, "ccccc"),
        FailureKind::Take,
        "at most 4 bytes",
    );
    let empty = format!("{}[[step]]\nget = \"/{{{{a}}}}\"\n", step("take.a = { json = \"/a\" }"));
    is(&empty, &page(200, "{\"a\":\"\"}"), FailureKind::Variable, "`a`");
    let line = format!(
        "{}[[step]]\nget = \"/x\"\nheaders = {{ X = \"{{{{a}}}}\" }}\n",
        step("take.a = { json = \"/a\" }")
    );
    is(&line, &page(200, "{\"a\":\"b\\r\\nX: y\"}"), FailureKind::Variable, "control characters");
    let elsewhere =
        |_: &str| (302, vec![("Location", "http://evil.example/".to_owned())], String::new());
    is(&step("follow = 1"), &elsewhere, FailureKind::Redirect, "evil.example");
    let again = |_: &str| (302, vec![("Location", "/".to_owned())], String::new());
    is(&step("follow = 2"), &again, FailureKind::Redirect, "at most 2");
}

#[test]
fn groups_have_the_sum_of_their_steps_and_their_duration() {
    let text = "on_failure = \"go on\"\n[[step]]\ngroup = \"g\"\nsteps = [ { get = \"/a\" }, \
                { think = \"const:1s\" }, { get = \"/b\" } ]\n";
    let scenario = scenario(text, 1);
    let mut user = Driven::new(&scenario, 0);
    user.all(&scenario, &fine);
    let [group] = user.groups[..] else { panic!("{:?}", user.groups) };
    assert_eq!((group.response_ns, group.is_good), (2_000_000, true));
    assert_eq!(group.done_ns - group.first_due_ns, 1_002_000_000);
    let mut user = Driven::new(&scenario, 0);
    let second_fails =
        |line: &str| (if line.ends_with('b') { 500 } else { 200 }, vec![], String::new());
    user.all(&scenario, &second_fails);
    assert_eq!(user.ended, Some(End::Finished), "it goes on");
    assert!(!user.groups[0].is_good);
    assert_eq!(user.groups[0].response_ns, 2_000_000, "what fails takes its time too");
}

/// Whatever ends a step, the groups around it have taken so long: a redirect that leads elsewhere,
/// something that is not found, an answer that does not come.
#[test]
fn what_fails_is_in_the_time_of_its_groups() {
    let inner = "{ group = \"inner\", steps = [ { get = \"/a\", follow = 1, \
                 take.x = { regex = \"x\" } }, { get = \"/b\" } ] }";
    let text = format!("on_failure = \"go on\"\n[[step]]\ngroup = \"g\"\nsteps = [ {inner} ]\n");
    let scenario = scenario(&text, 1);
    let elsewhere = |line: &str| match line {
        "GET /a" => (302, vec![("Location", "http://evil.example/".to_owned())], String::new()),
        _ => (200, Vec::new(), String::new()),
    };
    for answer in [&fine as &dyn Fn(&str) -> Answered, &elsewhere] {
        let mut user = Driven::new(&scenario, 0);
        user.all(&scenario, answer);
        let times: Vec<_> = user.groups.iter().map(|group| group.response_ns).collect();
        assert_eq!(times, [2_000_000, 2_000_000]);
    }
    // The first answer does not come in half a second.
    let mut user = Driven::new(&scenario, 0);
    assert!(matches!(user.user.next(&scenario, at(0), &mut user.groups), Next::Ask(_)));
    user.ns = 500_000_000;
    user.user.broke(&scenario, at(user.ns));
    user.all(&scenario, &fine);
    let times: Vec<_> = user.groups.iter().map(|group| group.response_ns).collect();
    assert_eq!(times, [501_000_000, 501_000_000]);
}

/// A link means what it means on the page from which it was taken (RFC 3986, section 5.2), which
/// need not be the last; and what the page says of that (`<base href>`).
#[test]
fn a_link_is_told_from_its_page() {
    let text = r#"
hosts = ["http://api.example"]
[[step]]
get = "/c/list"
follow = 1
take.rel = { css = "a.rel", attribute = "href" }
take.query = { css = "a.query", attribute = "href" }
take.up = { regex = 'up=(\S+)' }
[[step]]
get = "/other/page"
[[step]]
get = "{{rel}}"
[[step]]
get = "{{query}}"
[[step]]
get = "{{up}}"
[[step]]
get = "/based"
take.rel = { css = "a.rel", attribute = "href" }
take.up = { regex = 'up=(\S+)' }
[[step]]
get = "{{rel}}"
[[step]]
get = "{{up}}"
[[step]]
get = "http://api.example/v1/list"
take.rel = { json = "/next" }
[[step]]
get = "{{rel}}"
"#;
    let scenario = scenario(text, 1);
    // Blanks around it, and line breaks within it, are no part of an address.
    let links =
        "<a class=rel href=' ec\nho?x\t '>a</a><a class=query href='?page=2'>b</a> up=../up";
    let answer = |line: &str| {
        let body = match line {
            "GET /c/list" => {
                return (302, vec![("Location", "/c/d/list".to_owned())], String::new());
            }
            "GET /c/d/list" => links.to_owned(),
            "GET /based" => format!("<BASE href='/far/away/'>{links}"),
            "GET /v1/list" => r#"{"next": "/v1/list?page=2"}"#.to_owned(),
            _ => String::new(),
        };
        (200, Vec::new(), body)
    };
    let mut user = Driven::new(&scenario, 0);
    let mut origins = Vec::new();
    while user.step(&scenario, 1_000_000, &answer) {
        origins.push(user.user.message().origin);
    }
    let lines: Vec<_> = user.sent.iter().map(|sent| sent.lines().next().unwrap()).collect();
    let asked = [
        "GET /c/list",
        "GET /c/d/list",
        "GET /other/page",
        "GET /c/d/echo?x",
        "GET /c/d/list?page=2",
        "GET /c/up",
        "GET /based",
        "GET /far/away/echo?x",
        "GET /up",
        "GET /v1/list",
        "GET /v1/list?page=2",
    ];
    assert_eq!((lines, user.ended), (asked.to_vec(), Some(End::Finished)));
    assert_eq!(origins[9..], [1, 1], "of the server that has it");
}

/// `null` is nothing: it is not taken, and is not there.
#[test]
fn null_is_nothing() {
    let text = r#"
[[step]]
get = "/a"
take.next = { json = "/next", default = "" }
check.json = { "/next" = { exists = false } }
[[step]]
if = { var = "next", set = true }
then = [ { get = "/page?c={{next}}" } ]
"#;
    let scenario = scenario(text, 1);
    let mut user = Driven::new(&scenario, 0);
    user.all(&scenario, &|_: &str| (200, Vec::new(), "{\"next\": null}".to_owned()));
    assert_eq!((user.sent.len(), user.ended), (1, Some(End::Finished)), "{:?}", user.came);
}

/// Whole numbers are compared as they are written, however large.
#[test]
fn numbers_that_differ_are_not_the_same() {
    let held = |wanted: &str, body: &'static str| {
        let text = format!("[[step]]\nget = \"/\"\ncheck.json = {{ \"/id\" = {wanted} }}\n");
        let scenario = scenario(&text, 1);
        let mut user = Driven::new(&scenario, 0);
        user.all(&scenario, &|_: &str| (200, Vec::new(), body.to_owned()));
        user.ended == Some(End::Finished)
    };
    assert!(held("9007199254740993", r#"{"id": 9007199254740993}"#));
    assert!(held("42", r#"{"id": 42.0}"#));
    assert!(!held("9007199254740993", r#"{"id": 9007199254740992}"#));
    assert!(!held("9223372036854775807", r#"{"id": 9223372036854775808}"#));
}

#[test]
fn rows_are_handed_out_by_users_and_steps() {
    let text = "[data.once]\nfile = \"a.csv\"\norder = \"once\"\n[data.s]\nfile = \"b.csv\"\n\
                each = \"step\"\n[[step]]\nget = \"/{{once.user}}/{{s.user}}\"\n\
                [[step]]\nget = \"/x/{{s.user}}{{s.password}}\"\n";
    let scenario = scenario(text, 1);
    let mut user = Driven::new(&scenario, 1);
    user.all(&scenario, &fine);
    let lines: Vec<_> = user.sent.iter().map(|sent| sent.lines().next().unwrap()).collect();
    assert_eq!(lines, ["GET /bob/bob", "GET /x/cy3"]);
    assert!(User::new(&scenario, 3, 0).is_none(), "three rows, three users");
    assert_eq!(scenario.most_users(), Some(3));
}

#[test]
fn a_loop_without_steps_that_wait_lets_others_go_on() {
    let text = r#"[vars]
a = 1
[[step]]
loop = "until the end"
steps = [ { if = { var = "a", is = "2" }, then = [ { get = "/" } ] } ]
"#;
    let scenario = scenario(text, 1);
    let mut user = User::new(&scenario, 0, 5).unwrap();
    let next = user.next(&scenario, at(9), &mut Vec::new());
    assert_eq!(next, Next::Think { until_ns: 9 });
}
