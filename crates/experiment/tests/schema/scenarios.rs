//! The schema of scenarios.

use crate::judge::{as_json, wrong};
use plimsoll_plan::{Environment, WrittenScenario, read_scenario, scenario_schema};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the reader says of a text; nothing where it takes it. Files that it names have two columns.
fn refused(text: &str) -> String {
    let open = |_: &Path| Ok(b"user,password\na,b\n".to_vec());
    let written = WrittenScenario {
        text,
        origin: "scenario.toml",
        environment: Environment::StandIn,
        places: None,
        open: &open,
    };
    read_scenario(&written).err().map(|errors| errors.to_string()).unwrap_or_default()
}

/// Whether the reader says that keys do not stand there.
fn is_refused_for_keys(text: &str) -> bool {
    let said = refused(text);
    said.contains("unknown key") || said.contains("exclude each other")
}

/// All files below a folder whose names end so.
fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let mut folders = vec![root().join(folder)];
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.to_str() {
                _ if entry.is_dir() => folders.push(entry),
                Some(name) if name.ends_with(end) => all.push(entry),
                _ => {}
            }
        }
    }
    all.sort();
    all
}

/// The scenarios of a page: here-documents and blocks of TOML that have a step; of the pages about
/// scenarios also those that show a part of one, each with a step.
fn of_page(text: &str, is_about_scenarios: bool) -> Vec<String> {
    let (mut all, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = lines.next() {
        let end = match line.split_once("<<") {
            Some((_, word)) => word.trim_matches(['\'', '"', '-', ' ']).to_owned(),
            None if line.trim_end() == "```toml" => "```".to_owned(),
            None => continue,
        };
        let inside: Vec<&str> = lines.by_ref().take_while(|line| line.trim_end() != end).collect();
        let inside = inside.join("\n") + "\n";
        if inside.lines().any(|line| line.starts_with("[[step]]")) {
            all.push(inside);
        } else if is_about_scenarios && end == "```" {
            let step = "[[step]]\nget = '/'\n";
            let is_of_step = inside.starts_with("take.");
            all.push(if is_of_step { format!("{step}{inside}") } else { inside + step });
        }
    }
    all
}

#[test]
fn every_scenario_that_is_shipped_is_right_by_the_schema() {
    let schema = scenario_schema();
    let mut seen = 0;
    for folder in ["examples", "crates", "apps", "recipes"] {
        for path in files(folder, ".toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let is_scenario = text.lines().any(|line| line.starts_with("[[step]]"));
            // The wrong one of the tests is wrong, and a template is none before it is filled in.
            let is_other = path.ends_with("scenario/wrong.toml") || text.contains("@TARGET@");
            if is_scenario && !is_other {
                seen += 1;
                let found = wrong(&schema, &as_json(&text));
                assert!(found.is_empty(), "{}:\n{}", path.display(), found.join("\n"));
            }
        }
    }
    assert!(seen >= 8, "only {seen} scenarios");
}

#[test]
fn every_scenario_of_the_manual_is_right_by_the_schema() {
    let schema = scenario_schema();
    let mut seen = 0;
    for path in files("docs", ".md") {
        let is_about = ["scenarios.md", "websocket.md"].iter().any(|name| path.ends_with(name));
        for text in of_page(&std::fs::read_to_string(&path).unwrap(), is_about) {
            seen += 1;
            let found = wrong(&schema, &as_json(&text));
            assert!(found.is_empty(), "{}:\n{text}\n{}", path.display(), found.join("\n"));
        }
    }
    assert!(seen >= 8, "only {seen} scenarios");
}

#[test]
fn what_the_schema_is_for_is_wrong_by_it() {
    let schema = scenario_schema();
    let step = |keys: &str| format!("[[step]]\n{keys}\n");
    let connected = |keys: &str| format!("[[step]]\nconnect = '/ws'\n{}", step(keys));
    for text in [
        String::new(),
        "step = []\n".to_owned(),
        "stepp = 1\n".to_owned() + &step("get = '/'"),
        "on_failure = 'stop'\n".to_owned() + &step("get = '/'"),
        "follow = 101\n".to_owned() + &step("get = '/'"),
        "[vars]\nuser = 'x'\n".to_owned() + &step("get = '/'"),
        "[vars]\n'a b' = 'x'\n".to_owned() + &step("get = '/'"),
        "[data.accounts]\nfiel = 'a.csv'\n".to_owned() + &step("get = '/'"),
        "[data.accounts]\nfile = 'a.csv'\neach = 'run'\n".to_owned() + &step("get = '/'"),
        "[scenario.pay]\nstep = []\n".to_owned() + &step("get = '/'"),
        step("gte = '/'"),
        step("name = 'a'"),
        step("get = ''"),
        step("get = ['/']"),
        step("get = '/'\nthink = '1s'"),
        step("think = '1s'\nname = 'a'"),
        step("loop = 2"),
        step("loop = true\nsteps = [ { get = '/' } ]"),
        step("loop = 2\nsteps = [ { get = '/', nam = 'a' } ]"),
        step("loop = 2\nsteps = []"),
        step("choose = [ { steps = [ { get = '/' } ] } ]"),
        step("choose = [ { weight = 0, steps = [ { get = '/' } ] } ]"),
        step("if = { var = 'user' }\nthen = [ { get = '/' } ]"),
        step("if = { var = 'user', set = true, is = 'a' }\nthen = [ { get = '/' } ]"),
        step("post = '/'\nbody = 'a'\njson = { a = 1 }"),
        step("post = '/'\nmultipart = { a = { fil = 'a' } }"),
        step("get = '/'\nkeep = true"),
        step("get = '/'\ncheck = { stauts = 200 }"),
        step("get = '/'\ncheck.json = { 'a.b' = 1 }"),
        step("get = '/'\ncheck.json = { '/a' = { min = 1, least = 2 } }"),
        step("get = '/'\ntake.a = { json = 'id' }"),
        step("get = '/'\ntake.a = { json = '/id', css = 'p' }"),
        step("get = '/'\ntake.a = { default = 'x' }"),
        step("get = '/'\ntake.a = { json = '/id', attribute = 'x' }"),
        step("get = '/'\ntake.user = { json = '/id' }"),
        step("connect = '/ws'\ncompress = 'on'"),
        step("connect = '/ws'\nas = 'a b'"),
        connected("expect = { jsn = {} }"),
        connected("expect = { contains = 'a' }\nbinary = true"),
        connected("send = 'a'\nbinary = 'hex'"),
        connected("subscribe = 'a'"),
        connected("close = 1002"),
        connected("close = false"),
        connected("close = true") + "[[on_message]]\nbinary = true\n",
        connected("close = true") + "[[on_message]]\nbroadcast = { published = '/at' }\n",
        connected("close = true") + "[clock]\nsend = 'a'\nanswer = { contains = 'b' }\n",
    ] {
        assert!(!refused(&text).is_empty(), "the reader takes it:\n{text}");
        assert!(!wrong(&schema, &as_json(&text)).is_empty(), "right by the schema:\n{text}");
    }
}

/// A value that a key of a step takes, whatever verb it stands beside.
fn example(key: &str) -> &'static str {
    match key {
        "get" | "post" | "put" | "patch" | "delete" | "head" | "connect" => "'/'",
        "think" => "'1s'",
        "loop" => "2",
        "choose" => "[ { weight = 1, steps = [ { get = '/' } ] } ]",
        "if" => "{ var = 'user', set = true }",
        "steps" | "then" | "else" => "[ { get = '/' } ]",
        "call" => "'pay'",
        "close" | "binary" | "reconnect" => "true",
        "headers" | "query" | "form" | "multipart" => "{ a = 'b' }",
        "json" => "{ a = 1 }",
        "take" => "{ a = { json = '/id' } }",
        "check" | "expect" => "{ contains = 'a' }",
        "follow" => "1",
        "keep" => "'1kB'",
        "compress" => "'off'",
        "on_failure" => "'go on'",
        "group" | "name" | "body" | "body_file" | "as" | "protocols" | "on" | "key" | "send"
        | "subscribe" => "'a'",
        other => panic!("no example of {other}"),
    }
}

#[test]
fn beside_each_verb_the_schema_refuses_the_keys_that_the_reader_refuses() {
    let schema = scenario_schema();
    let step = &schema["definitions"]["step"];
    let keys: Vec<&String> = step["properties"].as_object().unwrap().keys().collect();
    let verbs = step["anyOf"].as_array().unwrap().iter();
    let verbs: Vec<&str> = verbs.map(|way| way["required"][0].as_str().unwrap()).collect();
    assert_eq!((keys.len(), verbs.len()), (40, 17), "{keys:?}");
    for verb in verbs {
        let needed: &[&str] = match verb {
            "loop" | "group" => &["steps"],
            "if" => &["then"],
            "subscribe" => &["expect"],
            _ => &[],
        };
        for key in keys.iter().map(|key| key.as_str()) {
            let mut text = String::from("[[step]]\n");
            let mut given = vec![verb];
            given.extend(needed);
            given.extend(Some(key).filter(|key| !given.contains(key)));
            given.iter().for_each(|key| text += &format!("{key} = {}\n", example(key)));
            let (by_reader, found) = (is_refused_for_keys(&text), wrong(&schema, &as_json(&text)));
            assert_eq!(!found.is_empty(), by_reader, "{text}{}\n{found:?}", refused(&text));
        }
    }
}

#[test]
fn every_key_is_described() {
    fn look(schema: &Json, path: &str, seen: &mut usize) {
        for (name, of) in schema["properties"].as_object().into_iter().flatten() {
            *seen += 1;
            let about = of["description"].as_str().unwrap_or("");
            assert!(about.ends_with(['.', ')']), "{path}.{name}: {of}");
        }
        let inner = schema.as_object().into_iter().flatten().map(|(_, of)| of);
        inner.chain(schema.as_array().into_iter().flatten()).for_each(|of| look(of, path, seen));
    }
    let mut seen = 0;
    look(&scenario_schema(), "", &mut seen);
    assert!(seen >= 100, "only {seen} keys");
}
