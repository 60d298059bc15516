//! Whatever is asked for: what is not in a folder's list is not answered.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use plimsoll_workload::random::Stream;

use super::*;

/// What stands in files that nobody may see.
const SECRET: &str = "the-secret-of-another-folder";
/// What stands in those that are served.
const SHOWN: &str = "what is shown of";

/// A root with two folders of runs beside what is none, and links in all directions.
fn root() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let at = |path: &str| place.path().join(path);
    for folder in ["outside", "root/day/artifacts", "root/week/cells/0001", "root/other"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for file in ["outside/run.sqlite", "outside/secret.txt", "root/other/secret.txt", "root/loose"]
    {
        fs::write(at(file), SECRET).unwrap();
    }
    for file in [
        "day/run.sqlite",
        "day/plan.toml",
        "day/artifacts/answer 1.html",
        "day/artifacts/a%2fb",
        "week/experiment.sqlite",
        "week/cells/0001/run.sqlite",
        "week/cells/0001/summary.json",
    ] {
        fs::write(at("root").join(file), format!("{SHOWN} {file}")).unwrap();
    }
    symlink("../../outside/secret.txt", at("root/day/link")).unwrap();
    symlink("../../../outside", at("root/day/artifacts/folder")).unwrap();
    symlink("../outside", at("root/linked")).unwrap();
    symlink("/", at("root/slash")).unwrap();
    place
}

/// The status and the body of an answer.
fn read(answer: Answer) -> (u16, String) {
    let mut bytes = Vec::new();
    match answer.body {
        Body::Bytes(of) => bytes = of,
        Body::File(file, length) => {
            file.take(length).read_to_end(&mut bytes).unwrap();
        }
        Body::Parts(_) => panic!("what is stored comes as a whole"),
    }
    (answer.status, String::from_utf8_lossy(&bytes).into_owned())
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(of, _)| *of == name).map(|(_, value)| value.as_str())
}

#[test]
fn files_are_answered_by_the_list_of_their_folder() {
    let place = root();
    let served = Served::new(&place.path().join("root"), Access::default());
    for (path, status, says) in [
        ("/day/", 200, "answer%201.html"),
        ("/day/files/plan.toml", 200, "what is shown of day/plan.toml"),
        ("/day/files/artifacts/answer%201.html", 200, "shown of day/artifacts/answer 1.html"),
        ("/day/files/artifacts/a%252fb", 200, "shown of day/artifacts/a%2fb"),
        ("/week/files/cells/0001/summary.json", 200, "summary.json"),
        ("/day/files.json", 200, "\"plan.toml\""),
        ("/day/files/artifacts/a%2fb", 404, "no such"),
        ("/day/files/artifacts/../plan.toml", 404, "no such"),
        ("/day/files/link", 404, "no such"),
        ("/day/files/artifacts/folder/secret.txt", 404, "no such"),
        ("/day/report", 403, "a link"),
        ("/linked/", 404, "no such"),
        ("/linked/files/secret.txt", 404, "no such"),
        ("/slash/files/etc/passwd", 404, "no such"),
        ("/other/", 404, "no such"),
        ("/other/files/secret.txt", 404, "no such"),
        ("/loose", 404, "no such"),
        ("/../outside/files/secret.txt", 404, "no such"),
        ("/%2e%2e/files/outside/secret.txt", 404, "no such"),
        ("/day%2f..%2f..%2foutside/files/secret.txt", 404, "no such"),
        ("/day/files/%00", 404, "no such"),
        ("/%ff", 400, "no text"),
        ("/%2", 400, "no text"),
        ("", 400, "no text"),
    ] {
        let answer = served.answer(path);
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"), "{path}");
        assert!(header(&answer, "content-security-policy").unwrap().contains("default-src 'none'"));
        let (found, text) = read(answer);
        assert!(found == status && text.contains(says), "{path}: {found} {text}");
    }
}

#[test]
fn what_was_captured_is_text_and_databases_are_saved() {
    let place = root();
    let served = Served::new(&place.path().join("root"), Access::default());
    let captured = served.answer("/day/files/artifacts/answer%201.html");
    assert_eq!(captured.content_type, "text/plain; charset=utf-8");
    assert!(header(&captured, "content-security-policy").unwrap().contains("sandbox"));
    let saved = served.answer("/day/files/run.sqlite");
    assert_eq!(saved.content_type, "application/octet-stream");
    let told = header(&saved, "content-disposition").unwrap();
    assert_eq!(told, "attachment; filename=\"run.sqlite\"");
}

/// Parts that paths are made of, and that are put into others.
const WORDS: [&str; 30] = [
    "/",
    "..",
    ".",
    "%2e",
    "%2E%2e",
    "%2f",
    "%5c",
    "\\",
    "%00",
    "%c0%ae",
    "%252e",
    "//",
    "/./",
    "/../",
    "day",
    "week",
    "other",
    "linked",
    "slash",
    "link",
    "folder",
    "outside",
    "secret.txt",
    "files",
    "report",
    "cells",
    "0001",
    "plan.toml",
    "run.sqlite",
    "artifacts",
];

/// A path, changed at some places.
fn mutated(stream: &mut Stream, path: &str) -> String {
    let mut bytes = path.as_bytes().to_vec();
    for _ in 0..=stream.below(4) {
        let at = usize::try_from(stream.below(bytes.len() as u64 + 1)).unwrap();
        match stream.below(4) {
            0 => drop(bytes.splice(at..at, [u8::try_from(stream.below(95) + 32).unwrap()])),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            _ => {
                let word = WORDS[usize::try_from(stream.below(WORDS.len() as u64)).unwrap()];
                drop(bytes.splice(at..at, word.bytes()));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Requests, each made of others: none is answered by what is not in a list.
#[test]
fn no_request_leaves_its_folder() {
    let place = root();
    let served = Served::new(&place.path().join("root"), Access::default());
    let mut stream = Stream::named(1, "paths");
    let mut paths: Vec<String> = [
        "/",
        "/runs.json",
        "/day/",
        "/day/files.json",
        "/day/files/plan.toml",
        "/day/files/link",
        "/day/files/artifacts/folder/secret.txt",
        "/week/cells/0001/report",
        "/linked/files/secret.txt",
        "/../outside/secret.txt",
        "/%2e%2e/outside/files/secret.txt",
        "/other/files/secret.txt",
    ]
    .map(str::to_owned)
    .to_vec();
    let (mut found, mut files) = (0, 0);
    for _ in 0..100_000 {
        let from = usize::try_from(stream.below(paths.len() as u64)).unwrap();
        let path = mutated(&mut stream, &paths[from]);
        let answer = served.answer(&path);
        let is_file = matches!(answer.body, Body::File(..));
        let (status, text) = read(answer);
        assert!(!text.contains(SECRET), "{path}: {text}");
        assert!(!is_file || text.starts_with(SHOWN), "{path}: {text}");
        found += u32::from(status == 200);
        files += u32::from(is_file);
        // What was answered is the beginning of others.
        if status == 200 && paths.len() < 500 {
            paths.push(path);
        }
    }
    assert!(found > 0 && files > 0, "{found} answers, {files} files");
}
