//! What a controller that was killed has left and another one takes over, and what a pool came to
//! in the end.

use std::sync::mpsc::channel;

use plimsoll_elastic::books::{Books, Terms};
use plimsoll_testbed::balance::{Lost, State};
use plimsoll_testbed::balancers::Member;
use plimsoll_workload::pool::{BillingUnit, ChargeFrom};

use super::super::books::Clients;
use super::super::counting::Counting;
use super::super::time::Time;
use super::balancer::Manner;
use super::servers::Ask;
use super::world::{Ground, SECOND, with_world};

fn member(name: &str, state: State) -> Member {
    Member { name: name.to_owned(), state, active: Some(0), answered: 0, failed: 0, ill: None }
}

#[test]
fn what_a_killed_controller_has_left_is_adopted_and_what_was_leaving_is_ended() {
    for (wanted, stay) in [(2, vec!["web-1", "web-3"]), (3, vec!["web-1", "web-3", "web-4"])] {
        let ground = Ground::new(Manner::Listed, "const:0s");
        let left = ground.works.leaves(4);
        {
            // One serves, one was leaving, one is gone, and two were not given to it yet.
            let mut table = ground.board.table();
            table.members = vec![
                member("web-1", State::In),
                member("web-2", State::Draining),
                member("web-9", State::In),
            ];
            table.counted.lost = Lost { instance_failed: 5, no_slot: 2, ..Lost::default() };
        }
        let yard = ground.yard(&ground.works);
        with_world(&ground, &yard, |mut world| {
            let yard = world.yard;
            world.does(move || yard.adopt(left).unwrap());
            world.obeys();
            assert_eq!(world.names(), ["web-1", "web-3", "web-4"]);
            assert_eq!(ground.board.names(), world.names());
            assert_eq!(ground.works.stock().ended.keys().collect::<Vec<_>>(), [&2]);
            world.begins(wanted);
            assert_eq!((world.names(), ground.board.names()), (stay.map_names(), stay.map_names()));
            let churn = yard.life().churn;
            assert_eq!((churn.adopted, churn.replaced, churn.start_failures), (3, 0, 0));
            // What was lost before is not lost again.
            ground.board.serves(4);
            world.lasts(10);
            let lost = yard.lost(Some(&ground.board.table().told));
            assert_eq!((lost.instance_failed, lost.no_slot), (2, 2));
            world.ends();
            assert_eq!(ground.works.stock().faults, Vec::<String>::new());
        });
    }
}

trait Names {
    fn map_names(&self) -> Vec<String>;
}

impl Names for Vec<&str> {
    fn map_names(&self) -> Vec<String> {
        self.iter().map(|name| (*name).to_owned()).collect()
    }
}

/// What clients counted, where the steering is ended by `close`.
fn clients<'a>(
    ground: &'a Ground,
    yard: &'a super::super::yard::Yard<'a>,
    close: super::super::books::Close<'a>,
) -> Clients<'a> {
    Clients {
        model: &ground.model,
        terms: terms(ground),
        yard,
        balancer: &*ground.board,
        events: channel().1,
        decisions: channel().1,
        kind: "fixed",
        duration_ns: SECOND,
        close: Some(close),
        counting: Counting::default(),
        fault: None,
    }
}

/// Gives a thread the turn as long as it could go on.
fn only(ground: &Ground, thread: u64) {
    while ground.time.ready().contains(&thread) {
        ground.time.turn(thread);
    }
}

fn terms(ground: &Ground) -> Terms<'_> {
    Terms { demand: &ground.model.demand, slo: None, cores: 2, prices: &ground.setup().prices }
}

#[test]
fn what_was_lost_is_counted_once_where_the_balancer_is_made_anew_in_the_last_moment() {
    let ground = Ground::new(Manner::Listed, "const:0s");
    let yard = ground.yard(&ground.works);
    with_world(&ground, &yard, |mut world| {
        world.begins(1);
        ground.board.serves(6);
        world.lasts(1);
        let (yard, steers) = (world.yard, world.steering());
        let mut clients = clients(
            &ground,
            yard,
            Box::new(|| {
                ground.board.dies();
                ground.time.passes(SECOND);
                only(&ground, steers);
                let again = ground.works.asked();
                assert_eq!(again, [(steers, Ask::Again)]);
                ground.works.says(steers, true);
                only(&ground, steers);
                yard.ends();
                only(&ground, steers);
                ground.steered.lock().unwrap().take().unwrap()
            }),
        );
        let (seen, books) = clients.closes();
        assert!(books.is_ok());
        let lost = yard.lost(Some(&seen.unwrap().lost));
        assert_eq!((lost.instance_failed, lost.no_slot), (3, 3));
        drop(clients);
        world.ends();
    });
}

#[test]
fn a_balancer_that_fails_as_the_load_ends_has_lost_what_it_has_told() {
    let ground = Ground::new(Manner::Listed, "const:0s");
    let yard = ground.yard(&ground.works);
    with_world(&ground, &yard, |mut world| {
        world.begins(1);
        ground.board.serves(6);
        world.lasts(1);
        ground.board.dies();
        let (yard, steers) = (world.yard, world.steering());
        let mut clients = clients(
            &ground,
            yard,
            Box::new(|| {
                yard.ends();
                only(&ground, steers);
                ground.steered.lock().unwrap().take().unwrap()
            }),
        );
        let (seen, books) = clients.closes();
        assert!(seen.is_err() && books.is_ok());
        assert_eq!(yard.lost(None).instance_failed, 3);
        drop(clients);
        world.ends();
    });
}

#[test]
fn instances_are_charged_for_their_lives_and_wasted_is_what_takes_no_requests() {
    for from in [ChargeFrom::Launch, ChargeFrom::Running] {
        let mut ground = Ground::new(Manner::Listed, "const:20s");
        let prices = &mut ground.model.setup.prices;
        (prices.from, prices.unit) = (from, BillingUnit::Second);
        let yard = ground.yard(&ground.works);
        with_world(&ground, &yard, |mut world| {
            world.begins(1);
            let zero_ns = ground.time.now();
            // At 5 s another is asked for, which boots for 20 s and fails at 85 s; the one in its
            // place boots, too.
            world.wants(2);
            world.lasts(84);
            assert_eq!(world.names(), ["web-1", "web-2"]);
            world.fails("web-2");
            world.lasts(36);
            let end_ns = ground.time.now() - zero_ns;
            let books = Books::default();
            let life = yard.life();
            let outcome = books.close(&terms(&ground), &life.pool, end_ns, &[]);
            drop(life);
            let figure = |name: &str| {
                let all = outcome.figures();
                let of = all.iter().find(|(of, _)| of.name == name);
                of.unwrap_or_else(|| panic!("{name}")).1
            };
            let seconds = 3600.0 * figure("instance_hours");
            let wasted = figure("wasted_instance_s");
            let (charged, waste) = match from {
                // 120, 80 and 35 s; of these 20 s each are waited for.
                ChargeFrom::Launch => (120.0 + 80.0 + 35.0, 40.0),
                ChargeFrom::Running => (120.0 + 60.0 + 15.0, 0.0),
            };
            // What is looked at once a second, and charged by begun ones.
            assert!((seconds - charged).abs() <= 5.0, "{seconds} {charged}");
            assert!((wasted - waste).abs() <= 4.0, "{wasted} {waste}");
            world.ends();
        });
    }
}
