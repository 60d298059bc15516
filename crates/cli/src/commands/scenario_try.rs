//! `plimsoll scenario try`: one user's way through a scenario, shown step by step.

use crate::exit::Exit;
use crate::files::input;
use crate::place::{environment, key, unix_ns};
use crate::scenario_args::Try;
use crate::terminal::error::{Result, read};
use crate::terminal::{pretty, print};
use plimsoll_experiment::plans;
use plimsoll_experiment::prepare::scenario::read as read_file;
use plimsoll_experiment::prepare::tls::dialled;
use plimsoll_experiment::walk::{Ending, Exchange, Said, Walk, Walked};
use plimsoll_net::http::client::{Answer, Dial};
use plimsoll_plan::{Environment, Http, Setting, Target, Written};
use plimsoll_units::secret::hidden;
use plimsoll_units::{ParseError, Words as _, count, duration, show_duration, show_size, truncate};
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::unpack::unpack;
use plimsoll_workload::traceparent::Traceparents;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// So much of a body is shown, bytes.
const MOST_SHOWN: usize = 2000;
/// What is not shown.
const MASK: &str = "…";
/// Headers whose values are not shown.
const SECRETS: [&str; 5] =
    ["authorization", "proxy-authorization", "x-api-key", "x-auth-token", "www-authenticate"];

/// Runs the command.
pub(crate) fn run(args: &Try) -> Result<Exit> {
    let (file, server) = in_order(args);
    let url = read("the server", &server, Url::parse)?;
    let number = read("--user", &args.user, count)?;
    let seed = read("--seed", &args.seed, |text| {
        let wrong = || ParseError::new("a whole number", text, 0, text.len());
        text.trim().parse::<u64>().map_err(|_| wrong())
    })?;
    let timeout = read("--timeout", &args.timeout, duration)?;
    let http = read("--http", &args.http, |text| {
        Http::of_word(text).ok_or_else(|| ParseError::new("1.1, 2 or auto", text, 0, text.len()))
    })?;
    let scenario = read_file(&file, Environment::Of(environment), None)?;
    // Who looks at one user wants to find what he did: servers are asked to record all of it.
    let traceparents = Traceparents::new(key(), 1.0);
    let scenario = scenario.with_an_end().traced(traceparents, false).at(&url, seed);
    // A WebSocket is opened over HTTP/1.1.
    let http = if scenario.channels() > 0 && http == Http::Auto { Http::One } else { http };
    let is_secure = scenario.origins().iter().any(|server| server.scheme.is_secure);
    let settings = args.tls.settings();
    let dial: Box<dyn Dial> = match is_secure || !settings.is_empty() {
        true => Box::new(dialled(&target((&file, &server), settings)?, offered(http))?),
        false => Box::new(plimsoll_net::http::client::Plain),
    };
    let walk = Walk { scenario: &scenario, number, dial: &*dial, http, timeout, now_ns: unix_ns };
    let (mut steps, mut failed, mut asked) = (Vec::new(), 0_u32, 0_u32);
    let ending = walk.all(&mut |walked: Walked| {
        let (is_asked, has_failed) = match &walked {
            Walked::Asked(of) => (true, of.failure.is_some() || of.answer.is_err()),
            Walked::Said(of) => (true, of.failure.is_some()),
            Walked::Unsent { .. } => (false, true),
            Walked::Thought(_) | Walked::Closed(_) => (false, false),
        };
        asked += u32::from(is_asked);
        failed += u32::from(has_failed);
        if args.json {
            steps.push(masked_json(document(&walked)));
            return Ok(());
        }
        print(&masked(&text(&walked)))
    })?;
    let said = match ending {
        Ending::Finished => "finished",
        Ending::Failed => "failed",
        Ending::TooLong => "too long",
        Ending::Nobody => "nobody",
    };
    if args.json {
        let document = json!({
            "schema": 1,
            "warnings": [],
            "scenario": file.display().to_string(),
            "url": url.to_string(),
            "user": number,
            "ended": said,
            "requests": asked,
            "failed": failed,
            "steps": steps,
        });
        print(&pretty(&document)?)?;
    } else {
        print(&last(ending, asked, failed))?;
    }
    Ok(if ending == Ending::Finished && failed == 0 { Exit::Held } else { Exit::Incomplete })
}

/// The scenario and the server, in whichever order they were typed: `load` has the server first.
fn in_order(args: &Try) -> (PathBuf, String) {
    let typed = args.scenario.display().to_string();
    if typed.contains("://") && !args.url.contains("://") {
        let Ok(file) = input(&args.url);
        return (file, typed);
    }
    (args.scenario.clone(), args.url.clone())
}

/// The server as the plan of a load would have it, with the flags of TLS.
fn target((file, server): (&Path, &str), flags: Vec<Setting>) -> Result<Target> {
    let of = |key: &str, value: &str, origin: &str| Setting::new(key, value, origin);
    let own = vec![
        of("target.url", server, "the server"),
        of("target.scenario", &file.display().to_string(), "the scenario"),
        of("load.users", "1", "one user"),
        of("load.for", "1s", "one user"),
    ];
    Ok(plans::read(&Written::flags(&[own, flags].concat()))?.target)
}

/// What is offered to a server by TLS (RFC 7301).
fn offered(http: Http) -> &'static [&'static [u8]] {
    match http {
        Http::One => &[b"http/1.1"],
        Http::Two => &[b"h2"],
        Http::Auto => &[b"h2", b"http/1.1"],
    }
}

/// The last line.
fn last(ending: Ending, asked: u32, failed: u32) -> String {
    let steps = match failed {
        0 => "all held".to_owned(),
        1 => "1 step failed".to_owned(),
        n => format!("{n} steps failed"),
    };
    match ending {
        Ending::Finished => format!("finished: {asked} requests, {steps}\n"),
        Ending::Failed => format!("the user ended with a step that failed: {asked} requests\n"),
        Ending::TooLong => format!("ended after {asked} requests: a user sends no more here\n"),
        Ending::Nobody => "there is no such user: the rows of a data file are used up\n".to_owned(),
    }
}

/// A text without what is secret.
fn masked(text: &str) -> String {
    match hidden(text) {
        std::borrow::Cow::Borrowed(text) => text.to_owned(),
        std::borrow::Cow::Owned(text) => text.replace("***", MASK),
    }
}

/// The texts of a document without what is secret.
fn masked_json(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(masked(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(masked_json).collect()),
        Value::Object(entries) => {
            Value::Object(entries.into_iter().map(|(key, of)| (key, masked_json(of))).collect())
        }
        other => other,
    }
}

/// A header as it is shown: of cookies the names, of secrets nothing.
fn header(name: &str, value: &str) -> String {
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "cookie" => {
            let pairs = value.split(';').map(|pair| pair.split('=').next().unwrap_or("").trim());
            pairs.map(|name| format!("{name}={MASK}")).collect::<Vec<_>>().join("; ")
        }
        "set-cookie" => {
            let (pair, rest) = value.split_once(';').map_or((value, ""), |(a, b)| (a, b));
            let name = pair.split('=').next().unwrap_or("").trim();
            let rest = if rest.is_empty() { String::new() } else { format!(";{rest}") };
            format!("{name}={MASK}{rest}")
        }
        name if SECRETS.contains(&name) => MASK.to_owned(),
        _ => value.to_owned(),
    }
}

/// The headers that were sent.
fn sent(asked: &Exchange) -> Vec<(String, String)> {
    let lines = String::from_utf8_lossy(&asked.message.head).into_owned();
    let pairs = lines.lines().filter_map(|line| line.split_once(": "));
    pairs.map(|(name, value)| (name.to_owned(), header(name, value))).collect()
}

/// The headers that came back.
fn received(answer: &Answer) -> Vec<(String, String)> {
    answer.headers.iter().map(|(name, value)| (name.clone(), header(name, value))).collect()
}

/// A body as it is shown: text, cut; of other bytes how many there are.
fn body(bytes: &[u8], packed: &str) -> String {
    let mut room = Vec::new();
    let bytes = unpack(packed.as_bytes(), bytes, 64 << 20, &mut room).unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return format!("({} that are no text)", show_size(bytes.len() as u64));
    };
    match text.len() > MOST_SHOWN {
        true => {
            format!("{}… ({} in all)", truncate(text, MOST_SHOWN), show_size(text.len() as u64))
        }
        false => text.to_owned(),
    }
}

fn answer_body(answer: &Answer) -> String {
    body(&answer.body, answer.header("content-encoding").unwrap_or(""))
}

fn text(walked: &Walked) -> String {
    match walked {
        Walked::Thought(ns) => {
            format!("thinks {}, which is not waited for\n\n", show_duration(*ns))
        }
        Walked::Unsent { name, failure } => {
            format!("{name}\n  failed, {}: {}\n\n", failure.kind.name(), failure.what)
        }
        Walked::Asked(asked) => asked_text(asked),
        Walked::Said(said) => said_text(said),
        Walked::Closed(code) => format!("closes with code {code}\n\n"),
    }
}

fn asked_text(asked: &Exchange) -> String {
    let name = match asked.is_redirect {
        true => format!("{}, redirected", asked.name),
        false => asked.name.clone(),
    };
    let mut out = format!("{name}\n  > {} {}\n", asked.message.method, asked.url);
    let mut lines = |mark: &str, headers: Vec<(String, String)>, body: String| {
        for (name, value) in headers {
            out.push_str(&format!("  {mark} {name}: {value}\n"));
        }
        for line in body.lines() {
            out.push_str(&format!("  {mark} {line}\n"));
        }
    };
    let sent_body = asked.message.body.as_deref().map(|bytes| body(bytes, ""));
    lines(">", sent(asked), sent_body.unwrap_or_default());
    match &asked.answer {
        Ok(answer) => {
            let status = format!("{} in {}", answer.status, show_duration(asked.response_ns));
            lines("<", Vec::new(), status);
            lines("<", received(answer), answer_body(answer));
        }
        Err(why) => out.push_str(&format!("  no answer: {why}\n")),
    }
    for (name, value) in &asked.taken {
        out.push_str(&format!("  {name} = {}\n", truncate(value, MOST_SHOWN)));
    }
    if let Some(failure) = &asked.failure {
        out.push_str(&format!("  failed, {}: {}\n", failure.kind.name(), failure.what));
    }
    out.push('\n');
    out
}

fn said_text(said: &Said) -> String {
    let mut out = format!("{}\n", said.name);
    if let Some(sent) = &said.sent {
        out.push_str(&format!("  > {}\n", truncate(sent, MOST_SHOWN)));
    }
    for came in &said.came {
        out.push_str(&format!("  < {} ({})\n", truncate(&came.text, MOST_SHOWN), came.what));
    }
    for (name, value) in &said.taken {
        out.push_str(&format!("  {name} = {}\n", truncate(value, MOST_SHOWN)));
    }
    if let Some(failure) = &said.failure {
        out.push_str(&format!("  failed, {}: {}\n", failure.kind.name(), failure.what));
    }
    out.push('\n');
    out
}

fn said_document(said: &Said) -> Value {
    let came = said.came.iter().map(|came| json!({ "text": came.text, "for": came.what }));
    let failure = said.failure.as_ref();
    let failure = failure.map(|of| json!({ "kind": of.kind.name(), "what": of.what }));
    json!({
        "kind": "messages",
        "name": said.name,
        "sent": said.sent,
        "received": came.collect::<Vec<_>>(),
        "taken": said.taken.iter().cloned().collect::<BTreeMap<_, _>>(),
        "failure": failure,
    })
}

fn document(walked: &Walked) -> Value {
    match walked {
        Walked::Thought(ns) => json!({ "kind": "think", "think_s": *ns as f64 / 1e9 }),
        Walked::Unsent { name, failure } => json!({
            "kind": "unsent",
            "name": name,
            "failure": { "kind": failure.kind.name(), "what": failure.what },
        }),
        Walked::Asked(asked) => asked_document(asked),
        Walked::Said(said) => said_document(said),
        Walked::Closed(code) => json!({ "kind": "close", "code": code }),
    }
}

fn asked_document(asked: &Exchange) -> Value {
    let pairs = |headers: Vec<(String, String)>| -> Vec<Value> {
        headers.into_iter().map(|(name, value)| json!([name, value])).collect()
    };
    let answer = match &asked.answer {
        Ok(answer) => json!({
            "status": answer.status,
            "headers": pairs(received(answer)),
            "body": answer_body(answer),
            "bytes": answer.body.len(),
        }),
        Err(_) => Value::Null,
    };
    let taken: serde_json::Map<String, Value> =
        asked.taken.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let failure = match (&asked.failure, &asked.answer) {
        (Some(failure), _) => json!({ "kind": failure.kind.name(), "what": failure.what }),
        (None, Err(why)) => json!({ "kind": "no answer", "what": why }),
        (None, Ok(_)) => Value::Null,
    };
    json!({
        "kind": "request",
        "name": asked.name,
        "is_redirect": asked.is_redirect,
        "method": asked.message.method,
        "url": asked.url,
        "headers": pairs(sent(asked)),
        "body": asked.message.body.as_deref().map(|bytes| body(bytes, "")),
        "answer": answer,
        "response_us": asked.response_ns as f64 / 1e3,
        "taken": taken,
        "failure": failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_and_secrets_are_not_shown() {
        assert_eq!(header("Cookie", "a=1; sid=xyz"), "a=…; sid=…");
        assert_eq!(header("Set-Cookie", "sid=xyz; Path=/; HttpOnly"), "sid=…; Path=/; HttpOnly");
        assert_eq!(header("Authorization", "Bearer xyz"), "…");
        assert_eq!(header("Content-Type", "text/html"), "text/html");
    }

    #[test]
    fn bodies_are_cut() {
        let long = "x".repeat(3000);
        let said = body(long.as_bytes(), "");
        assert!(said.starts_with(&"x".repeat(2000)) && said.ends_with("in all)"), "{said}");
        assert_eq!(body(&[0xff, 0xfe], ""), "(2 B that are no text)");
        assert_eq!(body(b"short", ""), "short");
    }
}
