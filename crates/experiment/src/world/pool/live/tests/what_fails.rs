//! Each row of "What fails" in `docs/pools.md`, and each fault that was found, in one order.

use std::sync::{Arc, Mutex};

use super::super::time::Time;
use super::balancer::{Manner, NOT_TAKEN};
use super::servers::{Ask, REFUSED};
use super::world::{Ground, SECOND, World, with_world};

/// A pool of so many instances that stand, for each manner of a balancer.
fn with_pools(boot: &str, count: u32, with: impl Fn(&mut World<'_, '_, '_>)) {
    for manner in [Manner::Listed, Manner::Reloaded] {
        let ground = Ground::new(manner, boot);
        let yard = ground.yard(&ground.works);
        with_world(&ground, &yard, |mut world| {
            world.begins(count);
            with(&mut world);
            world.ends();
            let stock = ground.works.stock();
            assert_eq!(stock.faults, Vec::<String>::new());
            assert_eq!(ground.board.table().faults, Vec::<String>::new());
        });
    }
}

fn is_launch(ask: Ask) -> bool {
    ask == Ask::Launch
}

#[test]
fn an_instance_that_fails_is_ended_and_another_one_launched_in_its_place_at_once() {
    with_pools("const:0s", 2, |world| {
        let (ground, yard) = (world.ground, world.yard);
        assert_eq!(world.names(), ["web-1", "web-2"]);
        ground.board.serves(3);
        world.fails("web-1");
        // The policy decides every 5 s; the look before that finds it.
        world.waits(1);
        assert_eq!(world.decided.len(), 0);
        assert_eq!(ground.board.names(), ["web-2"]);
        assert_eq!(world.asking(is_launch).len(), 1);
        assert_eq!(world.asking(|ask| ask == Ask::End(1)).len(), 1);
        let told = "instance 1 failed: web-1 answered no health check in time; it may have lost ";
        assert_eq!(world.told_times(told), 1, "{:?}", world.texts());
        // Ten came since the look but one before, which is a second to three ago.
        let told = world.texts().into_iter().find_map(|text| {
            let lost = text.strip_prefix(told)?.split_once(' ')?.0.parse::<f64>().ok()?;
            Some(lost)
        });
        assert!(told.is_some_and(|lost| (13.0..=40.0).contains(&lost)), "{:?}", world.texts());
        world.lasts(1);
        assert_eq!(world.names(), ["web-2", "web-3"]);
        assert_eq!(ground.board.names(), ["web-2", "web-3"]);
        let churn = yard.life().churn;
        assert_eq!((churn.replaced, churn.start_failures), (1, 0));
    });
}

#[test]
fn an_instance_whose_host_is_gone_is_replaced_though_it_answers() {
    with_pools("const:0s", 2, |world| {
        world.ground.works.stock().away.insert(2);
        world.waits(1);
        assert_eq!(world.told_times("instance 2 failed: web-2: reach the host of web-2"), 1);
        assert_eq!(world.asking(is_launch).len(), 1);
        // What it has it answers; then it is ended as far as it can be.
        let draining: Vec<u64> = world.ground.board.table().draining.keys().copied().collect();
        assert_eq!(draining.len(), 1);
        assert!(world.asking(|ask| ask == Ask::End(2)).is_empty());
        world.ground.board.drained(draining[0]);
        world.settles();
        world.says(|ask| ask == Ask::End(2), false);
        world.lasts(1);
        assert_eq!(world.told_times("instance 2 could not be ended"), 1);
        assert_eq!(world.names(), ["web-1", "web-3"]);
        assert_eq!(world.yard.life().churn.replaced, 1);
    });
}

#[test]
fn a_start_that_fails_is_tried_again_after_ever_longer_a_single_one_at_a_time() {
    with_pools("const:0s", 1, |world| {
        let ground = world.ground;
        world.wants(4);
        world.waits(5);
        // Those that are wanted are asked for together; all are refused.
        assert_eq!(world.asking(is_launch).len(), 3);
        world.says(is_launch, false);
        world.settles();
        let (mut last_ns, mut pauses) = (ground.time.now(), Vec::new());
        while pauses.len() < 8 {
            world.waits(1);
            if world.asking(is_launch).is_empty() {
                continue;
            }
            pauses.push((ground.time.now() - last_ns) / SECOND);
            assert_eq!(world.asking(is_launch).len(), 1, "one at a time");
            world.waits(2);
            assert_eq!(world.asking(is_launch).len(), 1, "as long as it is not known");
            world.says(is_launch, false);
            world.settles();
            last_ns = ground.time.now();
        }
        // It is looked once a second.
        for (pause, least) in pauses.iter().zip([1, 2, 4, 8, 16, 32, 60, 60]) {
            assert!((least..least + 2).contains(pause), "{pauses:?}");
        }
        let churn = world.yard.life().churn;
        assert_eq!((churn.start_failures, churn.replaced), (3 + 8, 0));
        assert_eq!(world.told_times(REFUSED), 3 + 8);
        let refused = world.decided.last().unwrap();
        // The one that is tried is one of them.
        assert_eq!((refused.from, refused.to, refused.done), (2, 4, 0), "{refused:?}");
        assert_eq!(refused.limited_by, Some(plimsoll_elastic::policy::Bound::Provider));
        // When one comes to stand, the others follow at once.
        world.lasts(63);
        assert_eq!(world.names().len(), 4, "{:?}", world.texts());
    });
}

#[test]
fn a_balancer_that_takes_no_instance_is_not_stormed_with_them() {
    with_pools("const:0s", 1, |world| {
        world.ground.board.table().refuses = true;
        world.wants(2);
        world.lasts(100);
        let (started, failures) =
            (world.ground.works.stock().started, world.yard.life().churn.start_failures);
        // At 5 s, and 1, 2, 4 … s later.
        assert_eq!((started, failures), (1 + 7, 7), "{:?}", world.texts());
        assert_eq!(world.told_times(NOT_TAKEN), 7);
        world.ground.board.table().refuses = false;
        world.lasts(61);
        assert_eq!(world.names().len(), 2, "{:?}", world.texts());
    });
}

#[test]
fn a_beginning_in_which_an_instance_does_not_come_to_stand_is_an_error() {
    for refuses in [false, true] {
        let ground = Ground::new(Manner::Listed, "const:0s");
        ground.board.table().refuses = refuses;
        let yard = ground.yard(&ground.works);
        with_world(&ground, &yard, |mut world| {
            let yard = world.yard;
            let begun = Arc::new(Mutex::new(None));
            let tells = Arc::clone(&begun);
            world.does(move || *tells.lock().unwrap() = Some(yard.begin(2)));
            world.settles();
            let first = world.asking(is_launch)[0];
            ground.works.says(first, refuses);
            world.obeys();
            let error = begun.lock().unwrap().take().unwrap().unwrap_err();
            let why = if refuses { NOT_TAKEN } else { REFUSED };
            assert!(error.to_string().contains(why), "{error}");
            world.ends();
        });
    }
}

#[test]
fn a_balancer_that_obeys_no_order_is_made_anew_with_those_that_are_ready() {
    with_pools("const:0s", 2, |world| {
        let ground = world.ground;
        ground.board.serves(7);
        world.waits(1);
        // What was lost since the last look nobody tells any more.
        ground.board.serves(4);
        ground.board.dies();
        world.waits(1);
        assert_eq!(world.asking(|ask| ask == Ask::Again).len(), 1);
        world.lasts(1);
        assert_eq!(ground.board.names(), ["web-1", "web-2"]);
        assert_eq!(world.told_times("balancer-1 failed: it obeys no order"), 1);
        assert_eq!(world.told_times("balancer-1 is there again"), 1);
        assert!(world.told.iter().any(|of| of.text.ends_with("with 2 instances")));
        // What it had told is carried over, and counted once.
        let lost = || {
            let of = world.yard.lost(Some(&ground.board.table().told));
            of.instance_failed + of.no_slot
        };
        assert_eq!(lost(), 7);
        ground.board.serves(2);
        world.looks();
        assert_eq!(lost(), 9);
    });
    let ground = Ground::new(Manner::Listed, "const:0s");
    let yard = ground.yard(&ground.works);
    with_world(&ground, &yard, |mut world| {
        // One that does not come to stand is an error.
        world.begins(1);
        ground.board.dies();
        world.waits(1);
        world.says(|ask| ask == Ask::Again, false);
        world.lasts(1);
        assert!(ground.steered.lock().unwrap().as_ref().unwrap().is_err());
        world.ends();
    });
}

/// One more instance is about to be given to the balancer, or was just given to it.
fn comes(world: &mut World<'_, '_, '_>, is_given: bool) -> u64 {
    world.wants(2);
    world.waits(5);
    let thread = world.asking(is_launch)[0];
    world.ground.works.says(thread, true);
    let is_in = |world: &World<'_, '_, '_>| world.ground.board.names().len() == 2;
    // Its turns: it hears that it stands, and waits before its order is obeyed, and then after it.
    world.ground.time.turn(thread);
    if is_given {
        world.ground.time.turn(thread);
    }
    assert_eq!((is_in(world), world.names().len()), (is_given, 1));
    thread
}

#[test]
fn who_comes_in_while_the_balancer_is_made_anew_is_in_the_new_one_once() {
    for is_given in [false, true] {
        for at in 0..4 {
            with_pools("const:0s", 1, |world| {
                let ground = world.ground;
                let thread = comes(world, is_given);
                ground.board.dies();
                let goes_on = |now: usize| now == at && world.only(thread);
                goes_on(0);
                world.looks();
                goes_on(1);
                world.says(|ask| ask == Ask::Again, true);
                let steers = world.steering();
                // It stands, and is not told yet that it has nobody.
                ground.time.turn(steers);
                goes_on(2);
                world.only(steers);
                goes_on(3);
                world.lasts(70);
                assert_eq!(world.names().len(), 2, "{:?}", world.texts());
                assert_eq!(ground.board.names(), world.names(), "{:?}", world.texts());
            });
        }
    }
}

#[test]
fn who_leaves_while_the_balancer_is_made_anew_is_not_in_the_new_one() {
    for at in 0..4 {
        with_pools("const:0s", 2, |world| {
            let ground = world.ground;
            world.wants(1);
            for _ in 0..4 {
                world.looks();
            }
            let before = ground.time.ready();
            world.looks();
            let leaves = ground.time.ready();
            assert_eq!((before.len(), leaves.len()), (0, 1), "{:?}", world.names());
            ground.board.dies();
            let goes_on = |now: usize| {
                if now >= at {
                    world.only(leaves[0]);
                }
            };
            goes_on(0);
            world.looks();
            goes_on(1);
            world.says(|ask| ask == Ask::Again, true);
            let steers = world.steering();
            ground.time.turn(steers);
            goes_on(2);
            world.only(steers);
            goes_on(3);
            world.lasts(10);
            assert_eq!((world.names(), ground.board.names().len()), (ground.board.names(), 1));
            assert_eq!(world.told_times("terminated"), 1, "{:?}", world.texts());
        });
    }
}

#[test]
fn nothing_is_launched_after_the_end() {
    with_pools("const:0s", 1, |world| {
        world.wants(4);
        for _ in 0..5 {
            world.looks();
        }
        assert_eq!(world.ground.time.ready().len(), 3, "three are about to be started");
        world.yard.ends();
        world.settles();
        assert!(world.asking(is_launch).is_empty());
        assert_eq!(world.told_times("terminated"), 3, "{:?}", world.texts());
    });
}

#[test]
fn one_that_boots_and_is_not_wanted_any_more_is_ended_at_once() {
    with_pools("const:60s", 1, |world| {
        world.wants(2);
        world.lasts(6);
        assert_eq!(world.names(), ["web-1"]);
        assert_eq!(world.told_times("running: web-2"), 1);
        world.wants(1);
        world.lasts(5);
        assert_eq!(world.told_times("instance 2 draining"), 1, "{:?}", world.texts());
        assert_eq!(world.told_times("instance 2 terminated"), 1, "{:?}", world.texts());
    });
}

#[test]
fn what_is_launched_as_the_pool_grows_replaces_nobody() {
    with_pools("const:0s", 3, |world| {
        world.wants(4);
        world.waits(5);
        for _ in 0..3 {
            world.says(is_launch, false);
            world.settles();
            while world.asking(is_launch).is_empty() {
                world.waits(1);
            }
        }
        // The one is tried that shows whether starts are refused still. Two fail, and one of them
        // is wanted.
        world.fails("web-1");
        world.fails("web-2");
        world.wants(3);
        world.waits(5);
        let owed = |world: &World<'_, '_, '_>| {
            let life = world.yard.life();
            (life.owed, life.churn.replaced)
        };
        assert_eq!(owed(world), (1, 0), "{:?}", world.texts());
        world.wants(5);
        world.waits(5);
        assert_eq!(owed(world), (1, 0), "{:?}", world.texts());
        world.lasts(10);
        assert_eq!(world.names().len(), 5);
        assert_eq!(owed(world), (0, 1), "{:?}", world.texts());
    });
}
