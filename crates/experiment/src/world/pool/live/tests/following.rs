//! Instances that somebody else starts and ends, in any order of announced, withdrawn, moved,
//! unwell and well again, of lists that cannot be had, and of balancers that fail: in 256 seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use plimsoll_monitor::announce::Announced;
use plimsoll_runs::Event;
use plimsoll_testbed::balance::State;
use plimsoll_testbed::balancers::Member;
use plimsoll_workload::random::Stream;

use super::super::follow::Followed;
use super::super::life::EVENT;
use super::super::tells::Tells;
use super::super::time::Time;
use super::balancer::Manner;
use super::servers::Ask;
use super::world::{Ground, SECOND, World};
use crate::control::{Control, News, Wish};
use crate::replay::read;

const SEEDS: u64 = 256;
const STEPS: usize = 400;

/// Tells of nothing, and goes on.
struct Silent;

impl Control for Silent {
    fn tell(&self, _: News<'_>) {}

    fn wish(&self) -> Wish {
        Wish::Continue
    }
}

/// Who is announced, and who of them is well.
#[derive(Default)]
struct Announcements {
    living: BTreeMap<String, SocketAddr>,
    ill: BTreeSet<SocketAddr>,
    /// Nobody tells any more; this was told last.
    fault: Option<(String, BTreeMap<String, SocketAddr>)>,
}

#[derive(Default)]
struct Names(Mutex<Announcements>);

impl Names {
    fn told(&self) -> MutexGuard<'_, Announcements> {
        self.0.lock().unwrap()
    }

    /// One is announced, at a port.
    fn comes(&self, name: &str, port: u16) {
        self.told().living.insert(name.to_owned(), ([127, 0, 0, 1], port).into());
    }

    fn goes(&self, name: &str) {
        self.told().living.remove(name);
    }
}

impl Tells for Names {
    fn living(&self) -> Vec<Announced> {
        let told = self.told();
        let living = told.fault.as_ref().map_or(&told.living, |(_, before)| before);
        let of = |(name, address): (&String, &SocketAddr)| Announced {
            name: name.clone(),
            address: *address,
        };
        living.iter().map(of).collect()
    }

    fn fault(&self) -> Option<String> {
        self.told().fault.as_ref().map(|(why, _)| why.clone())
    }

    fn settles(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn way_in(&self) -> String {
        "each says who it is".to_owned()
    }

    fn words(&self) -> (String, String) {
        ("is announced".to_owned(), "it is not announced any more".to_owned())
    }
}

/// A pool that follows who is announced. `is_adopted`: another process has begun it.
fn with_followed(
    ground: &Ground,
    names: &Names,
    is_adopted: bool,
    with: impl FnOnce(&mut World<'_, '_, '_>),
) {
    let asks = |address: SocketAddr| {
        ground.time.yields();
        !names.told().ill.contains(&address)
    };
    let followed = Followed::new(names, (&ground.works, is_adopted), "web", &asks);
    let yard = ground.yard(&followed).followed();
    std::thread::scope(|scope| {
        let mut world = World::new(ground, &yard, scope);
        let (yard, followed) = (&yard, &followed);
        world.wants(3);
        world.does(move || yard.adopt(followed.standing(yard)).unwrap());
        world.lasts(3);
        world.does(move || followed.run(scope, yard, &Silent));
        world.steers();
        world.settles();
        with(&mut world);
        world.ends();
        at_the_end(&world);
    });
}

/// The states of each instance in a lawful order, and none after its end.
fn lawful(told: &[Event]) {
    let next = |before: &str| match before {
        "" => &["running", "adopted", "draining"][..],
        "adopted" => &["ready"],
        "running" => &["configuring", "terminated"],
        "configuring" | "waits" => &["waits", "ready", "terminated"],
        "ready" => &["out", "draining"],
        "out" => &["configuring", "terminated"],
        "draining" | "was not drained" => &["was not drained", "terminated"],
        _ => &[],
    };
    let mut last: BTreeMap<u32, &str> = BTreeMap::new();
    for of in told.iter().filter(|of| of.kind == EVENT) {
        let (number, state) = read(&of.text).unwrap();
        let before = last.insert(number, state).unwrap_or_default();
        assert!(next(before).contains(&state), "{} after `{before}`", of.text);
    }
}

fn at_the_end(world: &World<'_, '_, '_>) {
    lawful(&world.told);
    let life = world.yard.life();
    let churn = life.churn;
    assert_eq!((churn.start_failures, churn.replaced, life.owed), (0, 0, 0));
    assert!(world.decided.iter().all(|of| of.done == 0), "nothing is started or ended");
    assert_eq!(world.ground.works.stock().started, 0);
    assert!(world.ground.works.stock().ended.is_empty());
    assert_eq!(world.ground.board.table().faults, Vec::<String>::new(), "{:#?}", world.texts());
}

/// The names that the balancer has are those that the pool has, and these are they.
fn are_in(world: &World<'_, '_, '_>, names: &[&str]) {
    assert_eq!(world.names(), names, "{:#?}", world.texts());
    assert_eq!(world.ground.board.names(), names, "{:#?}", world.texts());
}

#[test]
fn who_is_announced_and_well_is_in_and_who_is_gone_is_out_within_a_look() {
    let (ground, names) = (Ground::new(Manner::Listed, "const:0s"), Names::default());
    with_followed(&ground, &names, false, |world| {
        names.comes("web-a", 1);
        names.comes("web-b", 2);
        names.told().ill.insert(([127, 0, 0, 1], 2).into());
        world.lasts(1);
        are_in(world, &["web-a"]);
        names.told().ill.clear();
        world.lasts(1);
        are_in(world, &["web-a", "web-b"]);
        // At another address it is another one.
        names.comes("web-b", 3);
        names.goes("web-a");
        ground.time.passes(SECOND / 5);
        world.obeys();
        assert_eq!(world.told_times("draining: web-a: it is not announced any more"), 1);
        assert_eq!(world.told_times("draining: web-b: it is not announced any more"), 1);
        world.lasts(1);
        are_in(world, &["web-b"]);
        assert_eq!(world.told_times("instance 3 running: web-b at 127.0.0.1:3"), 1);
        let decided = world.decided.last();
        assert!(decided.is_none());
        world.lasts(5);
        let decided = world.decided.last().unwrap();
        assert_eq!((decided.from, decided.to, decided.done), (1, 3, 0), "{decided:?}");
        assert_eq!(decided.limited_by, Some(plimsoll_elastic::policy::Bound::Provider));
    });
}

#[test]
fn where_nobody_tells_the_pool_stays_as_it_is_and_who_is_ill_is_out_nevertheless() {
    let (ground, names) = (Ground::new(Manner::Listed, "const:0s"), Names::default());
    with_followed(&ground, &names, false, |world| {
        names.comes("web-a", 1);
        names.comes("web-b", 2);
        world.lasts(1);
        let before = names.told().living.clone();
        names.told().fault = Some(("the cloud is busy".to_owned(), before));
        names.goes("web-a");
        world.lasts(6);
        are_in(world, &["web-a", "web-b"]);
        assert!(world.decided.last().unwrap().reason.contains("the cloud is busy"));
        world.fails("web-b");
        names.told().ill.insert(([127, 0, 0, 1], 2).into());
        world.lasts(2);
        are_in(world, &["web-a"]);
        names.told().fault = None;
        world.lasts(1);
        are_in(world, &[]);
        let told: Vec<&Event> = world.told.iter().filter(|of| of.kind == "follow").collect();
        assert_eq!(told.len(), 2, "as it begins and ends: {told:?}");
        names.told().ill.clear();
    });
}

#[test]
fn who_is_well_again_is_the_same_one_though_the_balancer_fails_as_it_comes_back() {
    let (ground, names) = (Ground::new(Manner::Listed, "const:0s"), Names::default());
    with_followed(&ground, &names, false, |world| {
        names.comes("web-a", 1);
        world.lasts(1);
        world.fails("web-a");
        names.told().ill.insert(([127, 0, 0, 1], 1).into());
        world.lasts(1);
        are_in(world, &[]);
        // It is well when the balancer is gone, which nobody has seen so far.
        names.told().ill.clear();
        ground.board.dies();
        ground.time.passes(SECOND / 5);
        world.settles();
        assert_eq!(world.told_times("instance 1 waits: "), 1, "{:#?}", world.texts());
        world.lasts(3);
        are_in(world, &["web-a"]);
        assert_eq!(world.yard.life().pool.instances().len(), 1, "{:#?}", world.texts());
        let of = world.yard.life().pool.instances()[0];
        assert_eq!(of.ended_ns, None);
        assert!(of.out_ns >= SECOND, "{of:?}");
    });
}

#[test]
fn who_comes_again_while_it_drains_waits_until_its_place_is_free() {
    let (ground, names) = (Ground::new(Manner::Listed, "const:0s"), Names::default());
    with_followed(&ground, &names, false, |world| {
        names.comes("web-a", 1);
        world.lasts(1);
        names.goes("web-a");
        world.waits(1);
        names.comes("web-a", 1);
        // Its last requests take their time.
        world.waits(20);
        are_in(world, &[]);
        assert_eq!(world.yard.life().pool.instances().len(), 1, "{:#?}", world.texts());
        world.lasts(1);
        are_in(world, &["web-a"]);
        assert_eq!(world.yard.life().pool.instances().len(), 2, "{:#?}", world.texts());
    });
}

#[test]
fn a_followed_pool_is_adopted_with_those_that_are_still_announced() {
    let (ground, names) = (Ground::new(Manner::Listed, "const:0s"), Names::default());
    names.comes("web-a", 1);
    names.comes("web-b", 2);
    let member = |name: &str| Member {
        name: name.to_owned(),
        state: State::In,
        active: Some(0),
        answered: 0,
        failed: 0,
        ill: None,
    };
    ground.board.table().members = vec![member("web-a"), member("web-z")];
    with_followed(&ground, &names, true, |world| {
        are_in(world, &["web-a", "web-b"]);
        assert_eq!(world.yard.life().churn.adopted, 2);
        world.lasts(2);
        assert_eq!(world.yard.life().pool.instances().len(), 2);
    });
}

/// One thing happens of those that can.
fn happens(world: &World<'_, '_, '_>, names: &Names, chance: &mut Stream) {
    let ground = world.ground;
    let mut below = |most: u16| u16::try_from(chance.below(most.into())).unwrap();
    let name = ["web-a", "web-b", "web-c", "web-d"][usize::from(below(4))];
    match below(40) {
        0..20 => {
            let ready = ground.time.ready();
            if let Some(count) = u16::try_from(ready.len()).ok().filter(|count| *count > 0) {
                ground.time.turn(ready[usize::from(below(count))]);
            }
        }
        20..26 => ground.time.passes(u64::from(below(400)) * 1_000_000),
        26..28 => {
            let next_ns = ground.time.next_ns().unwrap_or(0);
            ground.time.passes(next_ns.saturating_sub(ground.time.now()));
        }
        28..30 => names.comes(name, 1 + below(6)),
        30 => names.goes(name),
        31 => drop(names.told().ill.insert(([127, 0, 0, 1], 1 + below(6)).into())),
        32 => names.told().ill.clear(),
        33 => world.fails(name),
        34 => {
            let mut told = names.told();
            told.fault = match told.fault {
                None => Some(("the cloud is busy".to_owned(), told.living.clone())),
                Some(_) => None,
            };
        }
        35 if below(4) == 0 => {
            if !world.yard.life().is_reviving {
                ground.board.dies();
            }
        }
        36 => ground.wish.store(below(8).into(), Ordering::Relaxed),
        37 => ground.board.serves(below(4).into()),
        _ => {
            let asked = ground.works.asked();
            asked.iter().for_each(|(thread, ask)| {
                assert_eq!(*ask, Ask::Again);
                ground.works.says(*thread, true);
            });
            let draining: Vec<u64> = ground.board.table().draining.keys().copied().collect();
            if let Some(thread) = draining.first() {
                ground.board.drained(*thread);
            }
        }
    }
}

#[test]
fn whoever_comes_and_goes_in_whichever_order_those_are_in_that_are_announced_and_well() {
    let (mut out, mut revived, mut well) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut chance = Stream::named(seed, "followed");
        let manner = [Manner::Listed, Manner::Reloaded][usize::from(chance.below(2) == 0)];
        let (ground, names) = (Ground::new(manner, "const:0s"), Names::default());
        with_followed(&ground, &names, false, |world| {
            for _ in 0..STEPS {
                happens(world, &names, &mut chance);
            }
            world.listens();
            lawful(&world.told);
            out += world.told_times(" out: ");
            revived += world.yard.revivals();
            if chance.below(4) == 0 || world.has_steered() {
                return;
            }
            // All are well, and told of: those are in that live, and each lives once.
            names.told().ill.clear();
            names.told().fault = None;
            world.lasts(60);
            if world.has_steered() {
                // The balancer had failed again as it was made anew, which ends a cell.
                return;
            }
            well += 1;
            let living: Vec<String> = names.told().living.keys().cloned().collect();
            let living: Vec<&str> = living.iter().map(String::as_str).collect();
            are_in(world, &living);
            let alive = world.yard.life().pool.alive().count();
            assert_eq!(alive, living.len(), "seed {seed}: {:#?}", world.texts());
            let table = ground.board.table();
            let lost = table.told_before.plus(&table.told);
            assert_eq!(world.yard.lost(Some(&table.told)), lost, "seed {seed}");
        });
    }
    assert!(out > 100 && revived > 50 && well > SEEDS / 2, "{out} {revived} {well}");
}
