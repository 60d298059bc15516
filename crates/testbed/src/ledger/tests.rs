//! What is read of ledgers, whole and cut.

use super::*;
use crate::thing::mark;
use plimsoll_units::failure::Failure as _;
use std::fs::OpenOptions;
use std::io::Write as _;

fn folder(path: &Path) -> Thing {
    Thing::Folder { path: path.to_owned() }
}

#[test]
fn what_is_left_is_told_and_taken_down_where_it_is_ours() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    let ledger = Ledger::create(&root, "e1").unwrap();
    let (ours, others, gone) =
        (place.path().join("ours"), place.path().join("others"), place.path().join("gone"));
    for (path, bed) in [(&ours, "e1"), (&others, "e2")] {
        mark(&OwnFolder::make_new(path).unwrap(), bed).unwrap();
    }
    let id = ledger.will_make(&folder(&gone)).unwrap();
    ledger.will_make(&folder(&others)).unwrap();
    ledger.will_make(&folder(&ours)).unwrap();
    ledger.is_gone(id).unwrap();

    let found = Ledger::all(&root).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_held);
    assert_eq!(found[0].things, [folder(&ours), folder(&others)]);
    let refused =
        Ledger::take_down(&root, "e1", false, &crate::down::Means::default()).unwrap_err();
    assert!(refused.to_string().contains("goes on"), "{refused}");
    drop(ledger);
    assert!(!Ledger::all(&root).unwrap()[0].is_held);
    assert_eq!(
        Ledger::take_down(&root, "e1", false, &crate::down::Means::default()).unwrap(),
        [folder(&ours)]
    );
    assert!(!ours.exists() && others.exists());
    assert!(Ledger::all(&root).unwrap().is_empty());
}

#[test]
fn a_line_that_was_cut_is_the_end() {
    let place = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(place.path(), "e1").unwrap();
    ledger.will_make(&folder(Path::new("/a"))).unwrap();
    drop(ledger);
    let path = place.path().join("e1").join(FILE);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"id\": 2, \"made\": {\"what\"").unwrap();
    assert_eq!(Ledger::all(place.path()).unwrap()[0].things, [folder(Path::new("/a"))]);
}

/// A full disk, or an earlier version, has cut lines, and others were written behind them.
#[test]
fn a_line_that_was_cut_in_the_midst_is_told_and_is_no_end() {
    let cut = "{\"id\": 2, \"made\": {\"what\"";
    for (ended, numbers) in [(format!("{cut}\n"), vec![2]), (format!("{cut}\n{cut}\n"), vec![2, 3])]
    {
        let place = tempfile::tempdir().unwrap();
        let ledger = Ledger::create(place.path(), "e1").unwrap();
        ledger.will_make(&folder(Path::new("/a"))).unwrap();
        let path = place.path().join("e1").join(FILE);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(ended.as_bytes()).unwrap();
        let gone = ledger.will_make(&folder(Path::new("/b"))).unwrap();
        ledger.will_make(&folder(Path::new("/c"))).unwrap();
        ledger.is_gone(gone).unwrap();
        drop(ledger);
        let expected = [folder(Path::new("/c")), folder(Path::new("/a"))];
        let found = Ledger::all(place.path()).unwrap().remove(0);
        assert_eq!((found.things, found.cut), (expected.to_vec(), numbers.clone()));
        // Who goes on with it, and who takes it down, sees the same.
        let held = Ledger::hold(place.path(), "e1").unwrap().unwrap();
        let things: Vec<Thing> = held.things.iter().map(|(thing, _)| thing.clone()).rev().collect();
        assert_eq!(things, expected);
        assert_eq!(held.ledger.will_make(&folder(Path::new("/d"))).unwrap(), 4);
        drop(held);
        Ledger::take_down(place.path(), "e1", false, &crate::down::Means::default()).unwrap();
        assert!(Ledger::all(place.path()).unwrap().is_empty());
    }
}

/// What could not be written whole leaves nothing, and what follows is read.
#[test]
fn what_could_not_be_written_down_leaves_nothing() {
    let mut full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    assert!(append(&mut full, &Line { id: 1, ..Line::default() }).is_err());
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ledger");
    let line = |id| Line { id, made: Some(folder(Path::new("/a"))), ..Line::default() };
    let whole = |file: &mut File| (1..=3).try_for_each(|id| append(file, &line(id)));
    let new = || {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).open(&path).unwrap()
    };
    whole(&mut new()).unwrap();
    let text = fs::read(&path).unwrap();
    // Cut anywhere, as by a disk that was full: the next line stands whole behind whole ones.
    for cut in 0..=text.len() {
        fs::write(&path, &text[..cut]).unwrap();
        append(&mut new(), &line(9)).unwrap();
        let contents = read(&File::open(&path).unwrap());
        assert!(contents.things.contains_key(&9) && contents.cut.is_empty(), "{cut}");
        let lines = text[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(contents.things.len(), lines + 1, "{cut}");
    }
    // A line that is longer than what is read at once.
    let long = "x".repeat(10_000);
    fs::write(&path, [&text[..], b"{\"id\": 4, ", long.as_bytes()].concat()).unwrap();
    append(&mut new(), &line(9)).unwrap();
    assert_eq!(read(&File::open(&path).unwrap()).things.len(), 4);
}

/// What a later version has written is undone by that: the ledger stays, and says so.
#[test]
fn a_line_of_a_later_version_keeps_its_ledger() {
    let place = tempfile::tempdir().unwrap();
    drop(Ledger::create(place.path(), "e1").unwrap());
    let path = place.path().join("e1").join(FILE);
    fs::write(&path, "{\"id\":1,\"made\":{\"what\":\"moon\",\"path\":\"/a\"}}\n").unwrap();
    let down = || {
        Ledger::take_down(place.path(), "e1", false, &crate::down::Means::default()).unwrap_err()
    };
    let told = down();
    assert!(told.to_string().contains("in line 1: a later version"), "{told}");
    assert_eq!(told.kind(), plimsoll_units::failure::Kind::Incomplete);
    assert!(path.exists());
    down();
}

/// Who goes on with a ledger, cut or not, writes what is read, under numbers of its own.
#[test]
fn a_ledger_that_is_gone_on_with_is_read_as_a_whole() {
    let whole = {
        let place = tempfile::tempdir().unwrap();
        let ledger = Ledger::create(place.path(), "e1").unwrap();
        ledger.will_make(&folder(Path::new("/a"))).unwrap();
        let gone = ledger.will_make(&folder(Path::new("/b"))).unwrap();
        ledger.is_gone(gone).unwrap();
        ledger.stands(&Stood { frame: "f".to_owned(), instances: Vec::new() }).unwrap();
        fs::read(place.path().join("e1").join(FILE)).unwrap()
    };
    let is_end = |at: &usize| *at == 0 || whole[*at - 1] == b'\n';
    for cut in 0..=whole.len() {
        let place = tempfile::tempdir().unwrap();
        drop(Ledger::create(place.path(), "e1").unwrap());
        fs::write(place.path().join("e1").join(FILE), &whole[..cut]).unwrap();
        let before = Ledger::all(place.path()).unwrap().remove(0);
        let held = Ledger::hold(place.path(), "e1").unwrap().unwrap();
        assert!(Ledger::hold(place.path(), "e1").unwrap().is_none(), "it is held");
        assert_eq!(held.stood, before.stood, "{cut}");
        let c = held.ledger.will_make(&folder(Path::new("/c"))).unwrap();
        held.ledger.will_make(&folder(Path::new("/d"))).unwrap();
        held.ledger.is_gone(c).unwrap();
        let rest: Vec<Thing> = held.things.into_iter().map(|(thing, _)| thing).rev().collect();
        assert_eq!(rest, before.things, "{cut}");
        let after = Ledger::all(place.path()).unwrap().remove(0);
        let expected = [vec![folder(Path::new("/d"))], rest].concat();
        assert_eq!((after.things, after.stood), (expected, before.stood), "{cut}");
        let kept = (0..=cut).rev().find(is_end).unwrap();
        let text = fs::read(place.path().join("e1").join(FILE)).unwrap();
        assert_eq!(text[..kept], whole[..kept], "{cut}");
    }
}
