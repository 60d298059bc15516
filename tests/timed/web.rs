//! How much of a core the page of a run takes.

use crate::place::Place;
use crate::program::Going;
use crate::web::{events, get, load, parsed, path_of};
use plimsoll_testing::Weight;
use std::time::Duration;

/// CPU time of the threads that serve a page, in ticks of a hundredth of a second (proc(5)).
fn ticks_of_pages(going: &Going) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", going.id())).unwrap();
    let stat = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("stat")).ok();
    let used = tasks.filter_map(|task| stat(task.unwrap())).filter_map(|stat| {
        let (name, rest) = stat.rsplit_once(')').unwrap();
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let of = |at: usize| fields[at].parse::<u64>().unwrap();
        name.ends_with("(web").then(|| of(11) + of(12))
    });
    used.sum()
}

#[test]
fn drawing_takes_little_of_a_core_and_nothing_where_nobody_looks() {
    let place = Place::weighing(Weight::ALONE);
    let target = place.calm();
    let flags = ["--rate", "20/s", "--for", "17s", "--web"];
    let (going, address) = load(&place, &target, &flags);
    std::thread::sleep(Duration::from_secs(4));
    let unseen = ticks_of_pages(&going);
    assert!(unseen <= 1, "{unseen} ticks without anybody");
    let page = get(&address, "/").unwrap();
    let streams = [events(&address, &path_of(&page)), events(&address, &path_of(&page))];
    let before = ticks_of_pages(&going);
    std::thread::sleep(Duration::from_secs(10));
    let used = ticks_of_pages(&going) - before;
    println!("two streams of a page took {used} hundredths of a second of 10 s");
    // 2% of 10 s are 20; one drawing may just have begun, and ticks are whole.
    assert!(used <= 26, "{used}");
    going.wait().ran();
    for stream in streams {
        assert!(parsed(&stream.join().unwrap()).iter().any(|(name, _)| name == "drawn"));
    }
}
