//! What waits for clients, and in which order they are told.

use super::*;

fn broadcast(game: u64, pool: u64, seq: u64) -> Event {
    let text = format!("{{\"seq\":{seq},\"pool\":{pool},\"skipped\":0,\"shares\":[1]}}");
    Event::Distribution(Arc::new(Broadcast::new(game, pool, seq, &text).unwrap()))
}

fn hub() -> Hub {
    Hub::new(7, Arc::new(Metrics::default()))
}

/// The numbers and skips of all distributions that wait for a client.
fn waiting(client: &Client) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    while let Some(next) = client.next() {
        let Next::Delivery(text) = next else { panic!("{next:?}") };
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        all.push((value["seq"].as_u64().unwrap(), value["skipped"].as_u64().unwrap()));
    }
    all
}

#[test]
fn the_latest_wins_and_says_what_was_left_out() {
    let hub = hub();
    let client = hub.join();
    assert_eq!(hub.subscribe(&client, 1, 4), 4);
    hub.tell(&broadcast(1, 10, 4));
    assert_eq!(waiting(&client), [], "it was there before the client came");
    hub.tell(&broadcast(1, 10, 5));
    assert_eq!(waiting(&client), [(5, 0)]);
    for seq in 6..=9 {
        hub.tell(&broadcast(1, 10, seq));
    }
    assert_eq!(waiting(&client), [(9, 3)]);
    // What came before another pool's is told by that pool's, which is sent next.
    hub.tell(&broadcast(1, 10, 10));
    hub.tell(&broadcast(1, 11, 11));
    hub.tell(&broadcast(1, 10, 12));
    assert_eq!(waiting(&client), [(11, 1), (12, 0)]);
    // What was lost on the way from Redis is told as well.
    hub.tell(&broadcast(1, 10, 15));
    assert_eq!(waiting(&client), [(15, 2)]);
}

#[test]
fn nothing_that_is_not_said_is_missing_whatever_comes_and_goes() {
    let hub = hub();
    let client = hub.join();
    hub.subscribe(&client, 1, 0);
    hub.subscribe(&client, 2, 0);
    let mut random = Seeded::new(3);
    let (mut seqs, mut seen) = ([0_u64; 3], [0_u64; 3]);
    for _ in 0..5_000 {
        let game = 1 + random.below(2);
        let at = usize::try_from(game).unwrap();
        seqs[at] += 1;
        hub.tell(&broadcast(game, game * 1_000 + random.below(200), seqs[at]));
        for _ in 0..random.below(3) {
            let Some(Next::Delivery(text)) = client.next() else { break };
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let at = if value["pool"].as_u64().unwrap() < 2_000 { 1 } else { 2 };
            let seq = value["seq"].as_u64().unwrap();
            assert_eq!(seq, seen[at] + 1 + value["skipped"].as_u64().unwrap());
            seen[at] = seq;
        }
        assert!(locked(&client.outbox).waiting.len() <= MAX_WAITING + 1);
    }
}

#[test]
fn all_have_all_wherever_it_begins() {
    let (hub, mut game) = (hub(), Game::default());
    // Numbers with gaps, as clients come and go.
    for number in [3, 4, 9, 12] {
        let client = hub.join();
        game.subscribers.insert(number, Subscriber { client, has: 0 });
    }
    for seq in 1..=20 {
        let Event::Distribution(one) = broadcast(1, 1, seq) else { unreachable!() };
        game.distribute(&one, seq - 1);
        for subscriber in game.subscribers.values() {
            assert_eq!((subscriber.has, waiting(&subscriber.client)), (seq, vec![(seq, 0)]));
        }
    }
}

#[test]
fn who_does_not_read_what_must_not_be_left_out_has_to_go() {
    let hub = hub();
    let client = hub.join();
    hub.subscribe(&client, 1, 0);
    client.is(5);
    let payouts = Arc::new(BTreeMap::from([(5, 70)]));
    let resolved = Event::Resolved { game: 1, pool: 3, outcome: Some(1), payouts };
    hub.tell(&resolved);
    let text = r#"{"op":"resolved","pool":3,"outcome":1,"payout":70}"#;
    assert_eq!(client.next(), Some(Next::Text(text.into())));
    for _ in 0..=MAX_WAITING {
        hub.tell(&resolved);
    }
    assert_eq!(client.next(), Some(Next::TooSlow));
}

#[test]
fn who_has_left_is_told_nothing_and_redis_may_begin_anew() {
    let hub = hub();
    let (stays, leaves) = (hub.join(), hub.join());
    for client in [&stays, &leaves] {
        hub.subscribe(client, 1, 50);
    }
    hub.leave(&leaves, &[1]);
    hub.tell(&broadcast(1, 10, 51));
    assert_eq!((waiting(&stays), waiting(&leaves)), (vec![(51, 0)], vec![]));
    hub.tell(&broadcast(1, 10, 1));
    assert_eq!(waiting(&stays), [(1, 0)]);
}
