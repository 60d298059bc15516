//! A registry, an agent beside Debian's Squid, and a client: the program's own commands.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::place::Place;
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_testing::servers::Squid;
use plimsoll_testing::{Weight, free_address, free_port};

/// A registry on a free port, and its address.
pub(crate) fn registry(place: &Place, more: &[&str]) -> (Going, String) {
    let mut command = Command::new(PLIMSOLL);
    command.args(["shoal", "server", "--listen", "127.0.0.1:0", "--threads", "1"]).args(more);
    let going = Going::start(command, &place.path("."), "registry");
    let address = wait_for("the registry's address", || {
        let out = going.out();
        let address = out.lines().next()?.strip_prefix("listening on http://")?;
        Some(address.to_owned())
    });
    (going, address)
}

/// The body of an answer.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

pub(crate) fn caches(address: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(&get(address, "/v1/caches")).unwrap();
    list["caches"].as_array().unwrap().clone()
}

/// A Squid that everybody may use; `None`, said by name, where there is none.
fn squid(test: &str) -> Option<Squid> {
    let settings = |_: &_| "http_access allow all\ncache_mem 8 MB\naccess_log none\n".to_owned();
    Squid::own(test, settings)
}

/// Says what a cache's agent says.
fn announced(address: &str, host: &str, port: u16) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let body = format!(
        "{{\"uuid\": \"{host}\", \"hostname\": \"{host}.example\", \"cache_port\": {port}, \
         \"private_ip\": \"127.0.0.1\", \"timestamp\": {}, \"load\": 0}}",
        now.as_secs_f64()
    );
    request(address, "POST", "/v1/heartbeat", &body);
}

fn state(address: &str, host: &str) -> Option<Value> {
    let host = format!("{host}.example");
    Some(caches(address).iter().find(|cache| cache["host"] == *host)?["state"].clone())
}

#[test]
fn only_what_delivers_is_given_where_only_that_is_wanted() {
    let name = "only_what_delivers_is_given_where_only_that_is_wanted";
    let Some(mut squid) = squid(name) else { return };
    let place = Place::new();
    let port = squid.port();
    let dead = free_port();
    // The object: what another registry says to whoever asks.
    let (_origin, source) = registry(&place, &[]);
    let url = format!("http://{source}/proxy.pac");
    let ports = format!("{port},{dead}");
    let told = [
        "--verified-only",
        "--verify",
        &url,
        "--verify-text",
        "FindProxyForURL",
        "--verify-private",
        "127.0.0.0/8",
        "--verify-ports",
        &ports,
        "--verify-every",
        "1s",
    ];
    let (registry, address) = registry(&place, &told);
    announced(&address, "living", port);
    announced(&address, "dead", dead);
    wait_for("both to be known", || {
        let states = [state(&address, "living")?, state(&address, "dead")?];
        (states == ["verified", "failing"]).then_some(())
    });
    let given = get(&address, "/nearest");
    assert!(given.contains("living.example") && !given.contains("dead.example"), "{given}");
    assert!(get(&address, "/wpad.dat").contains("PROXY http://living.example"));
    let said = registry.err();
    assert!(said.contains("failing (refused)") && said.contains("verified (good)"), "{said}");
    // It dies as well: nobody is left to be given.
    squid.as_mut().signal(Signal::KILL);
    wait_for("the dead to be found", || (state(&address, "living")? == "failing").then_some(()));
    assert_eq!(get(&address, "/nearest"), "null");
}

#[test]
fn a_client_is_sent_to_a_cache_as_long_as_that_answers() {
    let name = "a_client_is_sent_to_a_cache_as_long_as_that_answers";
    let Some(mut squid) = squid(name) else { return };
    let place = Place::new();
    let (registry, address) = registry(&place, &["--external-ip", "192.0.2.7"]);
    let port = squid.port();
    let mut command = Command::new(PLIMSOLL);
    command.args(["shoal", "agent", "--server", &format!("http://{address}")]);
    command.args(["--port", &port.to_string(), "--hostname", "squid.example"]);
    command.args(["--external-ip", "192.0.2.7", "--cloud", "home"]);
    let mut agent = Going::start(command, &place.path("."), "agent");

    let listed = wait_for("the cache to be listed", || caches(&address).first().cloned());
    assert_eq!(listed["port"], port);
    assert_eq!((&listed["host"], &listed["cloud"]), (&"squid.example".into(), &"home".into()));
    let server = format!("http://{address}");
    let asked = Command::new(PLIMSOLL)
        .args(["shoal", "client", "--server", &server, "--object", "none", "--json"])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert!(told["value"].as_str().unwrap().contains(&format!(":{port}")), "{told}");

    // It listens on loopback alone, and is announced elsewhere: that is told, once.
    wait_for("the warning", || agent.err().contains("nobody reaches it at ").then_some(()));
    assert!(agent.err().contains(&format!(":{port}, which is announced;")), "{}", agent.err());
    assert_eq!(agent.err().matches("warning: the cache listens").count(), 1, "{}", agent.err());

    // The cache dies beside its living agent: after two probes it is not listed any more.
    squid.as_mut().signal(Signal::KILL);
    wait_for("the dead cache to go", || caches(&address).is_empty().then_some(()));
    assert!(!agent.has_ended(), "{}", agent.err());
    agent.signal(Signal::TERM);
    wait_for("the agent to end", || agent.has_ended().then_some(()));
    drop(registry);
}

#[test]
fn an_operators_word_is_kept_over_a_restart() {
    let place = Place::weighing(Weight::WAITS);
    let state = place.path("state");
    let socket = place.path("operator.sock");
    let by = ["--operator-socket", socket.to_str().unwrap(), "--external-ip", "192.0.2.1"];
    let more = [&["--state", state.to_str().unwrap()][..], &by].concat();
    let announce = |address: &str| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let body = format!(
            "{{\"uuid\": \"one\", \"hostname\": \"a.example\", \"cache_port\": 3128, \
             \"public_ip\": \"192.0.2.1\", \"timestamp\": {}, \"load\": 0}}",
            now.as_secs_f64()
        );
        request(address, "POST", "/v1/heartbeat", &body);
        wait_for("the cache", || caches(address).first().cloned())
    };
    let (mut first, address) = registry(&place, &more);
    let id = announce(&address)["id"].as_str().unwrap().to_owned();
    order(&socket, "PUT", &format!("/v1/caches/{id}/state"), "{\"state\":\"banned\"}");
    assert_eq!(caches(&address)[0]["state"], "banned");
    first.signal(Signal::KILL);
    wait_for("the registry to end", || first.has_ended().then_some(()));
    drop(first);
    let (_second, address) = registry(&place, &more);
    let again = announce(&address);
    assert_eq!((&again["state"], &again["id"]), (&"banned".into(), &id.into()));
    assert_eq!(get(&address, "/nearest"), "null");
}

fn request(address: &str, method: &str, path: &str, body: &str) {
    ask(TcpStream::connect(address).unwrap(), method, path, body);
}

/// By the operator's socket.
fn order(socket: &Path, method: &str, path: &str, body: &str) {
    ask(std::os::unix::net::UnixStream::connect(socket).unwrap(), method, path, body);
}

fn ask(mut stream: impl std::io::Read + std::io::Write, method: &str, path: &str, body: &str) {
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
}

const LIST: [&str; 2] = ["--verify", "http://origin.example/cvmfs/r/.cvmfswhitelist"];

#[test]
fn what_cannot_be_served_ends_with_one_clear_error() {
    let place = Place::weighing(Weight::WAITS);
    let (_registry, address) = registry(&place, &[]);
    let broken = place.path("broken.mmdb");
    std::fs::write(&broken, "no database").unwrap();
    let sites = place.path("sites");
    std::fs::write(&sites, "192.0.2.0/24 192.0.2.1\nnonsense 192.0.2.1\n").unwrap();
    let chain = place.path("chain.pem");
    std::fs::write(&chain, "no certificate").unwrap();
    let chain = chain.to_str().unwrap();
    let key =
        place.write("key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    let key = key.to_str().unwrap();
    let none = place.write("none", "# none\n");
    let none = none.to_str().unwrap();
    let cases: [(&[&str], i32, &str); 20] = [
        (&["--auth", "required"], 2, "need --keys"),
        (&["--auth", "optional", "--keys", none], 2, "it holds no key"),
        (&["--listen", "127.0.0.1"], 2, "--listen 127.0.0.1: not HOST:PORT"),
        (&["--listen", "localhost:http"], 2, "--listen localhost:http: not a port"),
        (&["--amqp", "amqp://broker//"], 2, "%2f"),
        (&["--tls-cert", key, "--tls-key", key], 2, "other way round"),
        (&["--operator-socket", chain], 4, "chain.pem"),
        (&["--external-ip", "127.0.0.1"], 2, "--external-ip: others cannot reach 127.0.0.1"),
        (&["--listen", &address], 4, "cannot listen on 127.0.0.1:"),
        (&["--geo", broken.to_str().unwrap()], 2, "broken.mmdb"),
        (&["--sites", sites.to_str().unwrap()], 2, "line 2"),
        (&["--trust", "everyone"], 2, "everyone"),
        (&["--ttl", "soon"], 2, "--ttl"),
        (&["--verify", "http://origin.example/file"], 2, "--verify"),
        (&["--verify", "https://origin.example/r/.cvmfswhitelist"], 2, "https"),
        (&["--tls-cert", chain, "--tls-key", "nowhere.pem"], 2, "chain.pem"),
        (&["--tls-cert", chain], 2, "--tls-key"),
        (&["--peer", "https://r.example", "--peer-ca", chain], 2, "chain.pem"),
        (&[&LIST[..], &["--verify-private", "0.0.0.0/0"]].concat(), 2, "0.0.0.0/0"),
        (&[&LIST[..], &["--verify-every", "1ms"]].concat(), 2, "--verify-every"),
    ];
    for (more, code, text) in cases {
        let mut command = Command::new(PLIMSOLL);
        command.args(["shoal", "server", "--for", "1s"]).args(more);
        if more[0] != "--listen" {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let ended = command.output().unwrap();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{more:?}: {err}");
        assert!(err.contains(text), "{more:?}: {err}");
        assert!(err.lines().count() <= 6 && !err.contains("panicked"), "{more:?}: {err}");
    }
}

/// The head of an answer, in lower case, and its body.
fn page(address: &str, target: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

#[test]
fn the_page_is_a_table_that_needs_no_script() {
    let place = Place::weighing(Weight::WAITS);
    let (_registry, address) = registry(&place, &["--trust", "127.0.0.0/8"]);
    let (head, empty) = page(&address, "/");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(head.contains("content-security-policy: default-src 'self'"), "{head}");
    assert!(empty.contains("plimsoll shoal agent --server http://x<"), "{empty}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    for (host, load) in [("a", 10), ("b", 90_000), ("c", 50_000)] {
        let body = format!(
            "{{\"uuid\": \"secret-{host}\", \"hostname\": \"{host}.example\", \
             \"cache_port\": 3128, \"public_ip\": \"192.0.2.{}\", \"timestamp\": {}, \
             \"load\": {load}, \"cloud\": \"cloud-{host}\"}}",
            load % 7,
            now.as_secs_f64()
        );
        request(&address, "POST", "/v1/heartbeat", &body);
    }
    wait_for("three caches", || (caches(&address).len() == 3).then_some(()));
    let (_, by_load) = page(&address, "/?sort=load");
    let at = ["b", "c", "a"].map(|host| by_load.find(&format!(">{host}.example<")).unwrap());
    assert!(at.is_sorted(), "{by_load}");
    assert!(!by_load.contains("secret-"), "{by_load}");
    // What the table's own links say is what it then shows.
    let (_, link) = by_load.split_once("<a id=\"sort-host\" href=\"").unwrap();
    let (_, by_host) = page(&address, link.split('"').next().unwrap());
    let at = ["a", "b", "c"].map(|host| by_host.find(&format!(">{host}.example<")).unwrap());
    assert!(at.is_sorted(), "{by_host}");
    let (_, one) = page(&address, "/?host=&cloud=cloud-b&load_min=&load_max=");
    assert!(one.contains(">b.example<") && !one.contains(">a.example<"), "{one}");
    assert!(page(&address, "/?state=ill").0.starts_with("http/1.1 400"));
}

#[test]
fn a_hang_up_opens_the_log_again_and_ends_nothing() {
    let place = Place::weighing(Weight::WAITS);
    let (log, state) = (place.path("access.log"), place.path("state"));
    let keys = place.write("keys", "one the-secret-of-key-one\n");
    let told = [
        "--access-log",
        log.to_str().unwrap(),
        "--state",
        state.to_str().unwrap(),
        "--auth",
        "optional",
        "--keys",
        keys.to_str().unwrap(),
    ];
    let (mut registry, address) = registry(&place, &told);
    let lines = |path: &Path| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
    get(&address, "/nearest/1");
    wait_for("a line", || (lines(&log) == 1).then_some(()));
    // As logrotate does it: moved away, and then the server is told.
    let old = place.path("access.log.1");
    std::fs::rename(&log, &old).unwrap();
    std::fs::write(&keys, "").unwrap();
    registry.signal(Signal::HUP);
    wait_for("the new file", || log.exists().then_some(()));
    get(&address, "/nearest/2");
    wait_for("a line in it", || (lines(&log) == 1).then_some(()));
    assert_eq!(lines(&old), 1);
    wait_for("the empty list to be told of", || {
        registry.err().contains("--keys: what was read before stays in force").then_some(())
    });
    assert!(get(&address, "/v1/health").contains("{\"file\":\"keys\",\"read\":false}"));
    assert!(!registry.has_ended());
    // Another server does not share its folder.
    let second =
        place.plimsoll(&["shoal", "server", "--listen", "127.0.0.1:0", "--state", "state"]);
    let second = second.ended_with(4);
    assert!(second.err.contains("another server keeps its state in"), "{}", second.err);
    registry.signal(Signal::TERM);
    wait_for("its end", || registry.has_ended().then_some(()));
}

#[test]
fn a_name_or_a_port_alone_can_be_listened_at() {
    let place = Place::weighing(Weight::WAITS);
    for listen in ["localhost:0", ":0"] {
        let mut command = Command::new(PLIMSOLL);
        command.args(["shoal", "server", "--listen", listen, "--threads", "1"]);
        let going = Going::start(command, &place.path("."), "named");
        let port = wait_for("its port", || {
            let out = going.out();
            let at = out.lines().next()?.strip_prefix("listening on http://")?.to_owned();
            at.rsplit_once(':')?.1.parse::<u16>().ok()
        });
        assert!(get(&format!("127.0.0.1:{port}"), "/v1/health").contains("\"status\":\"ok\""));
    }
}

#[test]
fn a_peer_in_the_open_is_warned_of_and_one_that_fails_is_named() {
    let place = Place::weighing(Weight::WAITS);
    let dead = format!("http://{}", free_address());
    let told = ["--peer", "http://registry.example:1", "--peer", &dead];
    let (going, _) = registry(&place, &told);
    wait_for("the failure to be named", || {
        going.err().contains(&format!("peer {dead}: connect to 127.0.0.1")).then_some(())
    });
    let said = going.err();
    assert!(said.contains("warning: --peer http://registry.example:1:"), "{said}");
    assert!(!said.contains(&format!("warning: --peer {dead}")), "{said}");
}
