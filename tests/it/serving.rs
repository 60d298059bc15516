//! `plimsoll serve`: runs by a browser, who may ask, and what cannot be reached.

use crate::place::Place;
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_testing::installed;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

const TOKEN: &str = "a long random word";

/// Starts a server of the place's runs at a port of the system's choice; with its address.
fn start(place: &Place, arguments: &[&str]) -> (Going, String) {
    let all = [&["serve", "--runs", "runs", "--listen", "127.0.0.1:0"], arguments].concat();
    let server = place.start(place.command(PLIMSOLL, &all));
    let address = wait_for("the server listens", || {
        let line = server.out();
        let url = line.lines().next()?.strip_prefix("listening on ")?.to_owned();
        Some(url.split("//").nth(1)?.trim_end_matches('/').to_owned())
    });
    (server, address)
}

/// What is answered to some bytes, up to the end of the connection.
fn ask(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // A connection that is cut with bytes unread is reset; what came before counts.
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// The status, the head and the body of a request.
fn get(address: &str, what: &str, headers: &str) -> (u16, String, Vec<u8>) {
    let host =
        if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    let answer = ask(address, format!("{what} HTTP/1.1\r\n{host}{headers}\r\n").as_bytes());
    let end = answer.windows(4).position(|of| of == b"\r\n\r\n").unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|of| of.parse().ok()).unwrap_or(0);
    (status, head, answer.get(end + 4..).unwrap_or_default().to_vec())
}

/// A simulated run of a pool in the folder for runs; its name.
fn run(place: &Place) -> String {
    let plan = "name = 'a short day'\n[load]\nrate = '20/s'\nfor = '10m'\narrivals = 'poisson'\n\
                [pool]\nmax = 3\n[instance]\nservice = 'exp:70ms'\nlimit = 10\n[policy.all]\n\
                kind = 'fixed'\n";
    let plan = place.write("plan.toml", plan);
    place.plimsoll(&["simulate", plan.to_str().unwrap()]).ended_with(0);
    place.run().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn runs_are_listed_with_their_files_and_their_pages() {
    let place = Place::new();
    let name = run(&place);
    let (_server, address) = start(&place, &[]);
    let (status, head, body) = get(&address, "GET /", "");
    let list = String::from_utf8(body).unwrap();
    assert!(status == 200 && list.contains(&name) && list.contains("a short day"), "{list}");
    assert!(head.contains("nosniff") && head.contains("default-src 'none'"), "{head}");
    let (_, _, body) = get(&address, "GET /runs.json", "");
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(json["runs"][0]["id"], name.as_str());
    let (status, _, body) = get(&address, &format!("GET /{name}/report"), "");
    let page = String::from_utf8(body).unwrap();
    assert!(status == 200 && page.contains("Instances against demand"), "{page}");
    // Every file that is listed is answered as it is, and no other.
    let (_, _, body) = get(&address, &format!("GET /{name}/files.json"), "");
    let files: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let files = files["files"].as_array().unwrap();
    for one in ["plan.toml", "run.sqlite", "latency.hlog"] {
        assert!(files.iter().any(|file| file["path"] == one), "{one} in {files:?}");
    }
    for file in files {
        let path = file["path"].as_str().unwrap();
        let (status, head, body) = get(&address, &format!("GET /{name}/files/{path}"), "");
        assert_eq!(status, 200, "{path}");
        assert_eq!(
            body,
            std::fs::read(place.path("runs").join(&name).join(path)).unwrap(),
            "{path}"
        );
        assert!(!head.contains("text/html"), "{path}: {head}");
        let (_, asked, none) = get(&address, &format!("HEAD /{name}/files/{path}"), "");
        assert!(none.is_empty() && asked.contains(&format!("content-length: {}", body.len())));
    }
    for (what, status) in [
        (format!("POST /{name}/"), 405),
        (format!("DELETE /{name}/files/plan.toml"), 405),
        (format!("GET /{name}/files/../{name}/plan.toml"), 404),
        (format!("GET /{name}/files/%2e%2e/%2e%2e/plan.toml"), 404),
        ("GET /../plan.toml".to_owned(), 404),
        ("GET /none/".to_owned(), 404),
    ] {
        assert_eq!(get(&address, &what, "").0, status, "{what}");
    }
    let (status, ..) = get(&address, "GET /", "Host: harbour.example\r\n");
    assert_eq!(status, 421, "a page elsewhere has no business here");
}

#[test]
fn links_lead_nowhere() {
    let place = Place::new();
    let name = run(&place);
    place.write("secret.txt", "the secret of another folder");
    let folder = place.path("runs").join(&name);
    symlink(place.path("secret.txt"), folder.join("link.txt")).unwrap();
    symlink(place.path("."), place.path("runs/elsewhere")).unwrap();
    let other = place.another();
    let far = run(&other);
    symlink(other.path("runs").join(&far), place.path("runs/zz-link")).unwrap();
    std::fs::create_dir(place.path("runs/zz-hollow")).unwrap();
    let database = other.path("runs").join(&far).join("run.sqlite");
    symlink(database, place.path("runs/zz-hollow/run.sqlite")).unwrap();
    let (_server, address) = start(&place, &[]);
    for path in [
        format!("/{name}/files/link.txt"),
        "/elsewhere/".to_owned(),
        "/elsewhere/files/secret.txt".to_owned(),
    ] {
        let (status, _, body) = get(&address, &format!("GET {path}"), "");
        assert!(status == 404 && !String::from_utf8_lossy(&body).contains("secret of"), "{path}");
    }
    assert_eq!(get(&address, &format!("GET /{name}/report"), "").0, 403, "with a link no page");
    for list in ["GET /", "GET /runs.json"] {
        let (status, _, body) = get(&address, list, "");
        let body = String::from_utf8_lossy(&body);
        assert!(status == 200 && body.contains(&name), "{body}");
        assert!(!body.contains("zz-") && !body.contains(&far), "{body}");
        assert!(!body.contains("cannot be read"), "{body}");
    }
}

#[test]
fn beyond_this_host_a_token_and_encryption_are_asked_for() {
    let place = Place::new();
    run(&place);
    let token = place.write("token", format!("{TOKEN}\n"));
    let open = |mode| std::fs::set_permissions(&token, std::fs::Permissions::from_mode(mode));
    open(0o644).unwrap();
    let serve = |more: &[&str]| place.plimsoll(&[&["serve", "--runs", "runs"], more].concat());
    let anywhere = ["--listen", "0.0.0.0:0"];
    serve(&anywhere).ended_with(2).says(&["give a token"]);
    serve(&["--token-file", "token"]).ended_with(2).says(&["others can read it"]);
    open(0o600).unwrap();
    let with = [&anywhere[..], &["--token-file", "token"]].concat();
    serve(&with).ended_with(2).says(&["unencrypted", "--plain"]);
    place.plimsoll(&["serve", "--runs", "nowhere"]).ended_with(2).says(&["no such folder"]);
    let (_server, address) = start(&place, &["--token-file", "token"]);
    for (headers, status) in [
        (String::new(), 401),
        ("Authorization: Basic bWU6d3Jvbmc=\r\n".to_owned(), 401),
        ("Authorization: Basic not base64\r\n".to_owned(), 401),
        // me:a long random word
        ("Authorization: Basic bWU6YSBsb25nIHJhbmRvbSB3b3Jk\r\n".to_owned(), 200),
        (format!("Authorization: Bearer {TOKEN}\r\n"), 200),
        (format!("Authorization: Bearer {TOKEN}s\r\n"), 401),
    ] {
        let (found, head, body) = get(&address, "GET /runs.json", &headers);
        assert_eq!(found, status, "{headers}");
        let text = String::from_utf8_lossy(&body);
        assert!(found == 200 || head.contains("www-authenticate: basic"), "{head}");
        assert!(found == 200 || !text.contains("runs\""), "{text}");
    }
    let in_url = format!("GET /runs.json?token={}", TOKEN.replace(' ', "+"));
    assert_eq!(get(&address, &in_url, "").0, 401, "a token in a URL is none");
}

#[test]
fn it_serves_encrypted() {
    if ["openssl", "curl"].iter().any(|program| installed("it_serves_encrypted", program).is_none())
    {
        return;
    }
    let place = Place::new();
    let name = run(&place);
    let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out \
                cert.pem -days 30 -subj /CN=harbour.example -addext subjectAltName=IP:127.0.0.1";
    let made = place.command("openssl", &make.split(' ').collect::<Vec<_>>()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (_server, address) = start(&place, &["--cert", "cert.pem", "--key", "key.pem"]);
    let url = format!("https://{address}/{name}/files/run.sqlite");
    let asked = place.command("curl", &["-sf", "--cacert", "cert.pem", &url]).output().unwrap();
    let file = place.path("runs").join(&name).join("run.sqlite");
    assert_eq!(asked.stdout, std::fs::read(file).unwrap(), "{:?}", asked.status);
    // In plain text it is not answered.
    assert_eq!(get(&address, "GET /", "").0, 0);
    place
        .plimsoll(&["serve", "--runs", "runs", "--cert", "key.pem", "--key", "cert.pem"])
        .ended_with(2);
}
