//! Each row of "What fails" in `docs/pools.md`, and each fault that was found, in one order.

use std::sync::{Arc, Mutex};

use plimsoll_elastic::policy::Bound;
use plimsoll_testbed::balance::{Ill, State};

use super::super::time::Time;
use super::balancer::{Manner, NOT_TAKEN};
use super::servers::{Ask, POOR, REFUSED};
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
fn who_answers_wrongly_is_drained_and_who_has_ended_is_known_at_once() {
    with_pools("const:0s", 3, |world| {
        let ground = world.ground;
        ground.board.judges("web-1", State::Out, Some(Ill::Wrong(Some(503))));
        world.waits(1);
        assert_eq!(world.told_times("failed: web-1 answered its health checks with 503"), 1);
        assert_eq!(world.asking(is_launch).len(), 1);
        // It ends what it has before it is ended.
        assert!(world.asking(|ask| ask == Ask::End(1)).is_empty());
        let draining: Vec<u64> = ground.board.table().draining.keys().copied().collect();
        assert_eq!(draining.len(), 1);
        ground.board.drained(draining[0]);
        world.settles();
        assert_eq!(world.asking(|ask| ask == Ask::End(1)).len(), 1);
        world.lasts(1);
        // No check has told of it so far.
        let mut stock = ground.works.stock();
        stock.are_seen = true;
        stock.ended_alone.insert(2);
        drop(stock);
        world.lasts(1);
        let told = "failed: web-2 ended by itself, with exit code 1; it may have lost";
        assert_eq!(world.told_times(told), 1, "{:?}", world.texts());
        assert_eq!(world.names().len(), 3, "{:?}", world.texts());
        assert_eq!(world.yard.life().churn.replaced, 2);
    });
}

#[test]
fn where_more_than_half_fail_together_none_is_ended_whose_process_runs() {
    for ill in [Ill::Wrong(Some(500)), Ill::Wrong(None), Ill::Late, Ill::Gone] {
        with_pools("const:0s", 3, |world| {
            let ground = world.ground;
            ground.works.stock().are_seen = true;
            let judges = |names: &[&str], state, ill| {
                names.iter().for_each(|name| ground.board.judges(name, state, ill));
            };
            // One is out, another about to be.
            judges(&["web-1"], State::Out, Some(ill));
            judges(&["web-2"], State::In, Some(ill));
            world.lasts(3);
            judges(&["web-1", "web-2", "web-3"], State::Out, Some(ill));
            world.lasts(9);
            assert_eq!(world.told_times("fail their health checks together"), 1);
            assert_eq!(world.names(), ["web-1", "web-2", "web-3"]);
            assert_eq!(world.yard.life().churn.replaced, 0);
            // One of them ends.
            ground.works.stock().ended_alone.insert(3);
            world.lasts(2);
            assert_eq!(world.names(), ["web-1", "web-2", "web-4"]);
            judges(&["web-1", "web-2"], State::In, None);
            world.lasts(2);
            // A single one is replaced, and the next that fail together are told again.
            judges(&["web-1"], State::Out, Some(ill));
            world.lasts(2);
            assert_eq!(world.names(), ["web-2", "web-4", "web-5"], "{:?}", world.texts());
            judges(&["web-2", "web-4"], State::In, Some(ill));
            world.lasts(2);
            assert_eq!(world.told_times("fail their health checks together"), 2);
            assert_eq!(world.names(), ["web-2", "web-4", "web-5"], "{:?}", world.texts());
        });
    }
}

#[test]
fn who_is_ready_and_fails_again_and_again_is_replaced_ever_more_rarely() {
    with_pools("const:0s", 1, |world| {
        let until_ns = world.ground.time.now() + 200 * SECOND;
        while world.ground.time.now() < until_ns {
            for name in world.names() {
                world.fails(&name);
            }
            world.lasts(1);
        }
        // At once, and then 1, 2, 4 … 60 s later: one a second were 200.
        let replaced = world.yard.life().churn.replaced;
        assert!((7..=10).contains(&replaced), "{replaced}: {:?}", world.texts());
        assert_eq!(world.told_times("another comes after 16 s"), 1, "{:?}", world.texts());
        // What grows is not held up for long, and who stays is one of two.
        world.wants(2);
        world.lasts(70);
        assert_eq!(world.names().len(), 2, "{:?}", world.texts());
    });
}

#[test]
fn who_is_not_taken_by_a_balancer_that_is_gone_has_not_failed() {
    with_pools("const:0s", 1, |world| {
        let ground = world.ground;
        world.wants(3);
        world.waits(5);
        ground.board.dies();
        world.says(is_launch, true);
        world.settles();
        world.lasts(5);
        assert_eq!(world.yard.life().churn.start_failures, 0, "{:?}", world.texts());
        assert_eq!((world.names().len(), ground.works.stock().started), (3, 3));
    });
}

#[test]
fn what_the_budget_has_no_room_for_limits_decisions_and_is_said_once() {
    with_pools("const:0s", 1, |world| {
        world.ground.works.stock().is_poor = true;
        world.wants(3);
        for _ in 0..30 {
            world.waits(1);
            if !world.asking(is_launch).is_empty() {
                world.says(is_launch, false);
                world.settles();
            }
        }
        let limits: Vec<_> = world.decided.iter().filter_map(|of| of.limited_by).collect();
        assert!(limits.contains(&Bound::Budget) && !limits.contains(&Bound::Provider));
        let told = world.yard.life().limited().unwrap();
        let refused = world.ground.works.stock().refused;
        let count = format!("its budget limited it: {refused} starts");
        assert!(told.starts_with(&count) && told.ends_with(POOR), "{told}");
        // It has room again.
        world.ground.works.stock().is_poor = false;
        world.lasts(65);
        assert_eq!((world.names().len(), world.yard.life().is_spent), (3, false));
    });
}

#[test]
fn nothing_is_counted_decided_or_replaced_when_the_load_has_ended() {
    for end_s in [15, 17] {
        with_pools("const:0s", 1, |world| {
            let ground = world.ground;
            world.yard.lasts_until(end_s * SECOND);
            world.wants(2);
            world.lasts(end_s + 20);
            let ticks: Vec<f64> = ground.ticks.lock().unwrap().iter().map(|of| of.at_s).collect();
            let last = ticks.last().copied().unwrap();
            assert!((last - end_s as f64).abs() < 1e-6, "{ticks:?}");
            // The policy decides every 5 s, and not at the end.
            let decided = world.decided.len();
            assert_eq!(decided as u64, (end_s - 1) / 5);
            world.fails("web-1");
            world.wants(4);
            world.lasts(30);
            assert_eq!((world.decided.len(), world.names().len()), (decided, 2));
            assert_eq!(world.yard.life().churn.replaced, 0);
            assert!(!world.has_steered(), "it waits until all is over");
        });
    }
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
        assert_eq!(refused.limited_by, Some(Bound::Provider));
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
