//! Heartbeats and goodbyes gone wrong: texts of agents, mutated by a seed, and what must hold of
//! whatever is believed nevertheless, judged without the parser. Used by the tests and by
//! `examples/mutate_heartbeats.rs`.

use std::net::{IpAddr, Ipv6Addr};

use plimsoll_shoal::heartbeat::{
    Echo, Goodbye, Heartbeat, MAX_BYTES, Number, Refusal, goodbye_body, parse, parse_goodbye,
};
use plimsoll_workload::random::Stream;
use serde_json::Value;

/// What agents say, every field among it, and what is at the edge of being said.
const SEEDS: [&str; 7] = [
    r#"{"uuid": "0a1b", "hostname": "a.example", "cache_port": 3128, "cache_type": "squid", "verified": false, "max_load": 1125000, "upstream": "both", "private_ip": "10.1.2.3", "external_ip": "192.0.2.10", "timestamp": 1795161784.3958414, "load": 0.0}"#,
    r#"{"uuid": "0a1c", "hostname": "b.example", "squid_port": "3128", "verified": true, "max_load": "250000", "private_ip": null, "public_ip": "2001:db8::7", "timestamp": 1795162592, "load": 7}"#,
    r#"{"uuid": "0a1d", "hostname": "c", "cache_port": 65535, "cache_type": "varnish", "upstream": "cvmfs", "public_ip": "::ffff:192.0.2.1", "private_ip": "", "max_load": 1e-05, "interval": 30, "cloud": "cloud_a.1", "version": "1.2.3 (x86)", "latitude": 48.4, "longitude": -123, "timestamp": 1795161784.5, "load": 1000000000}"#,
    r#"{"uuid":"0-1","hostname":"D-9.example","squid_port":1,"cache_port":2,"upstream":"frontier","external_ip":"192.0.2.3","load":1e-7,"timestamp":0,"extra":{"a":[{"b":1}],"c":null},"more":[[1,2]]}"#,
    r#"{"\u0075uid": "esc", "hostname": "\u0061.example", "cache_port": "08080", "cloud": null, "public_ip": "192.0.2.9", "timestamp": 1.8e9, "load": 12.5, "note": "\ud83d\ude00 \"\\\/"}"#,
    r#"{"uuid": "0a1e", "timestamp": 1795161784.25, "goodbye": true}"#,
    r#" { "uuid" : "x" , "hostname" : "e" , "cache_port" : 80 , "private_ip" : "fd00::1" , "timestamp" : 1 , "load" : 0 , "interval" : 3600.0 , "max_load" : 0 } "#,
];

/// What values become.
const VALUES: [&str; 56] = [
    "12.5",
    "30",
    "3600",
    "80",
    "48.25",
    "1795161784.75",
    "\"a-1\"",
    "\"192.0.2.5\"",
    "\"10.0.0.5\"",
    "\"2001:db8::5\"",
    "\"varnish\"",
    "\"both\"",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-0.0",
    "-1",
    "1",
    "65535",
    "65536",
    "3128.0",
    "1e9",
    "1000000001",
    "1e12",
    "1e308",
    "1e400",
    "-1e400",
    "1e-400",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "NaN",
    "Infinity",
    "-Infinity",
    "0x10",
    "01",
    "1.",
    "[]",
    "{}",
    "[[[]]]",
    "[[[[]]]]",
    "{\"a\":{\"b\":{}}}",
    "{\"a\":1,\"a\":1}",
    "\"\"",
    "\"3128\"",
    "\"+80\"",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\\u0000\"",
    "\"a\\u002eb\"",
    "\"\u{fc}\"",
    "\"127.0.0.1\"",
    "\"::ffff:10.0.0.1\"",
    "\"fe80::1%eth0\"",
];

/// Names that mean something, and some that do not.
const NAMES: [&str; 22] = [
    "uuid",
    "hostname",
    "cache_port",
    "squid_port",
    "cache_type",
    "verified",
    "max_load",
    "upstream",
    "private_ip",
    "public_ip",
    "external_ip",
    "timestamp",
    "load",
    "interval",
    "cloud",
    "version",
    "latitude",
    "longitude",
    "goodbye",
    "global_access",
    "\\u006coad",
    "",
];

/// The heartbeats of the real agents that were recorded, as they were on the wire: none, said by
/// the name of the test, where they are not.
pub(crate) fn recorded_bodies_for(test: &str) -> Vec<String> {
    let file = "reference/shoal-fixtures/agent_heartbeats_recorded.json";
    let Some(path) = plimsoll_testing::shared(test, file) else { return Vec::new() };
    let agents: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let messages = agents.as_object().unwrap().values().flat_map(|list| list.as_array().unwrap());
    messages.map(|message| message["body_raw"].as_str().unwrap().to_owned()).collect()
}

/// The same, for what is mutated.
pub(crate) fn recorded_bodies() -> Vec<String> {
    recorded_bodies_for("mutants of what was recorded")
}

/// What is mutated. With the recorded messages in it, a seed means another mutant.
pub(crate) fn corpus() -> Vec<Vec<u8>> {
    let own = SEEDS.iter().map(|text| (*text).to_owned());
    own.chain([goodbye_body("0a1f", 1e9)])
        .chain(recorded_bodies())
        .map(String::into_bytes)
        .collect()
}

/// The text of a seed: one of the corpus, mutated one to six times.
pub(crate) fn mutant(corpus: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut random = Stream::numbered(0x5ea1, seed);
    let mut text = pick(corpus, &mut random).clone();
    let most = 1 + random.below(6);
    for _ in 0..=random.below(most) {
        let other: &Vec<u8> = pick(corpus, &mut random);
        if random.below(5) == 0 {
            mutate_bytes(&mut text, other, &mut random);
        } else {
            mutate_json(&mut text, other, &mut random);
        }
    }
    text
}

fn index(below: usize, random: &mut Stream) -> usize {
    usize::try_from(random.below(below as u64)).unwrap()
}

fn pick<'a, T>(list: &'a [T], random: &mut Stream) -> &'a T {
    &list[index(list.len(), random)]
}

fn mutate_bytes(text: &mut Vec<u8>, other: &[u8], random: &mut Stream) {
    let at = index(text.len() + 1, random);
    let end = (at + index(40, random)).min(text.len());
    match random.below(7) {
        0 if at < text.len() => text[at] ^= 1 << random.below(8),
        1 if at < text.len() => text[at] = random.next_u64().to_le_bytes()[0],
        2 => drop(text.drain(at..end)),
        3 => {
            let again = text[at..end].repeat(1 + index(4, random));
            drop(text.splice(at..at, again));
        }
        4 => text.truncate(at),
        5 => {
            let from = index(other.len() + 1, random);
            text.truncate(at);
            text.extend_from_slice(&other[from..]);
        }
        _ => text.insert(at, *pick(b"\"\\{}[]:, \t\n\0\xff\xc3-+.eE", random)),
    }
}

/// The fields of a text: where each begins, and where its value begins and ends. Rough, since the
/// text may be anything: a value ends at a comma or brace outside strings and brackets.
fn fields(text: &[u8]) -> Vec<(usize, usize, usize)> {
    let (mut found, mut field, mut value, mut level) = (Vec::new(), 1, None, 0_i32);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => level += 1,
            b':' if level == 1 && value.is_none() => value = Some(at + 1),
            b',' | b'}' if level == 1 => {
                found.extend(value.take().map(|value| (field, value, at)));
                field = at + 1;
                level -= i32::from(*byte == b'}');
            }
            b']' | b'}' => level -= 1,
            _ => {}
        }
    }
    found
}

fn put(text: &mut Vec<u8>, from: usize, to: usize, new: &[u8]) {
    drop(text.splice(from..to, new.iter().copied()));
}

fn mutate_json(text: &mut Vec<u8>, other: &[u8], random: &mut Stream) {
    let (ours, theirs) = (fields(text), fields(other));
    if ours.is_empty() || theirs.is_empty() {
        return mutate_bytes(text, other, random);
    }
    let (field, value, end) = *pick(&ours, random);
    let (their_field, their_value, their_end) = *pick(&theirs, random);
    match random.below(10) {
        0 | 1 => put(text, value, end, pick(&VALUES, random).as_bytes()),
        2 => put(text, value, end, &other[their_value..their_end]),
        // A field of another text, its name perhaps there already.
        3 => put(text, field, field, &[&other[their_field..their_end], b","].concat()),
        4 => {
            let again = [&text[field..end], b","].concat();
            put(text, field, field, &again);
        }
        5 => put(text, field, value - 1, format!("\"{}\"", pick(&NAMES, random)).as_bytes()),
        6 => {
            let name = pick(&NAMES, random);
            put(text, field, field, format!("\"{name}\":{},", pick(&VALUES, random)).as_bytes());
        }
        7 => {
            let levels = 1 + index(5, random);
            put(text, end, end, &b"]".repeat(levels));
            put(text, value, value, &b"[".repeat(levels));
        }
        8 => {
            let length = *pick(&[1, 5, 33, 64, 65, 253, 254, 8200], random);
            let letter = *pick(b"a1.- :", random);
            let long = char::from(letter).to_string().repeat(length);
            put(text, value, end, format!("\"{long}\"").as_bytes());
        }
        _ => {
            let number = random.normal() * 10_f64.powf(random.uniform() * 30.0 - 10.0);
            put(text, value, end, format!("{number:e}").as_bytes());
        }
    }
}

/// What became of a text: the reason of its refusal, or how it was believed.
///
/// # Errors
///
/// What of it did not hold.
pub(crate) fn judge(body: &[u8]) -> Result<&'static str, String> {
    let goodbye = parse_goodbye(body);
    if let Ok(goodbye) = &goodbye {
        let fields = read(body)?;
        believable_goodbye(&fields, goodbye).ok_or_else(|| format!("believed: {goodbye:?}"))?;
    }
    match (parse(body), goodbye) {
        (Ok(_), Ok(_)) => Err("both a heartbeat and a goodbye".into()),
        (Ok(beat), Err(_)) => {
            let fields = read(body)?;
            believable(&fields, &beat).ok_or_else(|| format!("believed: {beat:?}"))?;
            let again = parse(beat.to_json().as_bytes());
            if again.as_ref() != Ok(&beat) {
                return Err(format!("{beat:?} is written as {again:?}"));
            }
            Ok("(heartbeat)")
        }
        (Err(refusal), Ok(_)) => refused(body, &refusal).map(|_| "(goodbye)"),
        (Err(refusal), Err(other)) => {
            refused(body, &other)?;
            refused(body, &refusal)
        }
    }
}

fn refused(body: &[u8], refusal: &Refusal) -> Result<&'static str, String> {
    let reason = refusal.reason();
    let known = ["malformed", "too_long", "missing", "type", "range"].contains(&reason);
    let says = refusal.to_string();
    // What it says goes into a log: it repeats nothing of the text, so it stays short.
    let sober = says.len() < 120 && !says.contains(char::is_control);
    if known && sober && (reason == "too_long") == (body.len() > MAX_BYTES) {
        Ok(reason)
    } else {
        Err(format!("{} bytes refused: {says:.300}", body.len()))
    }
}

/// A text that was believed, by another reader.
fn read(body: &[u8]) -> Result<Value, String> {
    if body.len() > 8192 {
        return Err(format!("believed {} bytes", body.len()));
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if !value.is_object() || levels(&value) > 4 {
        return Err("believed no object, or one too deep".into());
    }
    // That reader keeps the last of two fields of one name.
    if pairs(&value) != colons(body) {
        return Err("believed a name that is there twice".into());
    }
    Ok(value)
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(levels).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

fn pairs(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.iter().map(pairs).sum(),
        Value::Object(map) => map.len() + map.values().map(pairs).sum::<usize>(),
        _ => 0,
    }
}

/// Colons outside strings of a text that is JSON: one for each name.
fn colons(body: &[u8]) -> usize {
    let (mut quoted, mut escaped, mut count) = (false, false, 0);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b':' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

fn spelled(text: &str, most: usize, marks: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    !text.is_empty() && text.len() <= most && text.chars().all(allowed)
}

fn holds(condition: bool) -> Option<()> {
    condition.then_some(())
}

fn believable_goodbye(fields: &Value, goodbye: &Goodbye) -> Option<()> {
    holds(spelled(&goodbye.uuid, 64, "-") && fields["uuid"] == *goodbye.uuid)?;
    holds(fields["timestamp"].as_f64() == Some(goodbye.timestamp) && goodbye.timestamp >= 0.0)?;
    holds(fields["goodbye"] == true && fields["load"].is_null())
}

/// Each field is within its bounds and is what the text says.
fn believable(fields: &Value, beat: &Heartbeat) -> Option<()> {
    holds(spelled(&beat.uuid, 64, "-") && fields["uuid"] == *beat.uuid)?;
    holds(spelled(&beat.hostname, 253, "-.") && fields["hostname"] == *beat.hostname)?;
    let port = Some(&fields["cache_port"]).filter(|port| !port.is_null());
    holds(port_is(port.unwrap_or(&fields["squid_port"]), &beat.port))?;
    holds(fields["cache_type"].as_str().unwrap_or("squid") == beat.kind.name())?;
    holds(fields["upstream"].as_str().unwrap_or("both") == beat.upstream.name())?;
    address_is(&fields["public_ip"], beat.public_ip)?;
    address_is(&fields["private_ip"], beat.private_ip)?;
    address_is(&fields["external_ip"], beat.external_ip)?;
    holds(beat.public_ip.is_none_or(others_reach) && beat.external_ip.is_none_or(others_reach))?;
    holds(beat.public_ip.or(beat.private_ip).or(beat.external_ip).is_some())?;
    holds(fields["timestamp"].as_f64() == Some(beat.timestamp) && beat.timestamp >= 0.0)?;
    let (load, value) = (&fields["load"], beat.load.value());
    holds(load.as_f64() == Some(value) && (0.0..=1e9).contains(&value))?;
    holds(matches!(beat.load, Number::Int(_)) == load.is_u64())?;
    max_load_is(&fields["max_load"], beat.max_load.as_ref())?;
    holds(fields["verified"].as_bool().unwrap_or(false) == beat.verified)?;
    holds(fields["interval"].as_f64() == beat.interval_s)?;
    holds(beat.interval_s.is_none_or(|seconds| (1.0..=3600.0).contains(&seconds)))?;
    name_is(&fields["cloud"], beat.cloud.as_deref(), |text| spelled(text, 64, "._-"))?;
    let printable = |text: &str| text.len() <= 64 && text.chars().all(|c| (' '..='~').contains(&c));
    name_is(&fields["version"], beat.version.as_deref(), printable)?;
    let angles = (fields["latitude"].as_f64(), fields["longitude"].as_f64());
    holds(angles == (beat.coordinates.map(|c| c.0), beat.coordinates.map(|c| c.1)))?;
    holds(beat.coordinates.is_none_or(|(lat, lon)| lat.abs() <= 90.0 && lon.abs() <= 180.0))
}

fn others_reach(address: IpAddr) -> bool {
    let nobody = address.is_loopback() || address.is_unspecified() || address.is_multicast();
    !nobody
        && match address {
            IpAddr::V4(v4) => !v4.is_link_local() && (1..240).contains(&v4.octets()[0]),
            IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 != 0xfe80,
        }
}

fn port_is(written: &Value, port: &Echo<u16>) -> bool {
    let number = match written {
        Value::String(text) if text.chars().all(|c| c.is_ascii_digit()) => text.parse().ok(),
        _ => written.as_u64(),
    };
    port.value > 0 && number == Some(u64::from(port.value)) && *port.text == *written.to_string()
}

fn address_is(written: &Value, address: Option<IpAddr>) -> Option<()> {
    let Some(address) = address else {
        return holds(written.is_null() || written == "");
    };
    let wide = |address| match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    let mapped = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    let said: IpAddr = written.as_str()?.parse().ok()?;
    // What `::192.0.2.1` means is `192.0.2.1`.
    let compatible = |v6: Ipv6Addr| v6.to_ipv4().map_or(v6, |v4| v4.to_ipv6_mapped());
    holds(!mapped && (wide(said) == wide(address) || compatible(wide(said)) == wide(address)))
}

fn max_load_is(written: &Value, most: Option<&Echo<f64>>) -> Option<()> {
    let Some(most) = most else { return holds(written.is_null() || written == "") };
    holds((0.0..=1e12).contains(&most.value))?;
    match written {
        Value::String(text) => {
            holds(text.parse() == Ok(most.value) && *most.text == *written.to_string())
        }
        _ => holds(written.as_f64() == Some(most.value) && most.text.parse() == Ok(most.value)),
    }
}

fn name_is(written: &Value, name: Option<&str>, allowed: impl Fn(&str) -> bool) -> Option<()> {
    match name {
        None => holds(written.is_null() || written == ""),
        Some(name) => holds(written == name && allowed(name)),
    }
}
