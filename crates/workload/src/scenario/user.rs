//! One user: a place in a scenario, with what he holds.

mod answers;
mod messages;
mod returns;

pub use messages::{Counted, Heard};

use messages::Exchange;
use returns::{Kept, Subscription};

use super::cookies::Jar;
use super::data::{Each, RowOrder};
use super::draws::Draws;
use super::frame::{ENDLESS, Frame};
use super::message::{Message, Page};
use super::outcome::{End, GroupEnd, Next, Now, Sending};
use super::program::Op;
use super::step::{Ask, Condition, OnFailure, Rounds, Test};
use super::text::{Held, Text, Values};
use super::{Scenario, text};

/// How many operations a user goes through before he lets others go on.
const MOST_OPS: u32 = 10_000;
/// The deepest nesting of loops, groups and calls.
const MOST_FRAMES: usize = 1000;
const NS_PER_S: f64 = 1e9;

/// What a user awaits.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    /// The operation.
    op: u32,
    /// How many redirects he has followed.
    redirects: u32,
    /// Whether the next request of it is to be sent yet.
    is_pending: bool,
}

/// A user.
#[derive(Debug, Clone)]
pub struct User {
    number: u64,
    at: u32,
    counter: u32,
    due_ns: u64,
    variables: Box<[Held]>,
    /// Where links were taken from, by the variables that hold them.
    pages: Vec<(u16, Page)>,
    visits: Box<[u32]>,
    rows: Box<[u32]>,
    frames: Vec<Frame>,
    jar: Jar,
    message: Message,
    asked: Option<Awaited>,
    /// What a step of his says over a WebSocket, and what a rule has answered last.
    said: Vec<u8>,
    reply: Vec<u8>,
    says_binary: bool,
    replies_binary: bool,
    exchange: Option<Box<Exchange>>,
    /// Connections and keys of broadcasts that he has subscribed to.
    subscribed: Vec<(u16, u64)>,
    /// Why a broadcast that was heard last says nothing that can be counted.
    unreadable: Option<String>,
    /// WebSockets that he opens again where they are lost, and what he has subscribed to on them.
    kept: Vec<Kept>,
    subscriptions: Vec<Subscription>,
    ended: Option<End>,
}

impl User {
    /// The user of that number, who arrives then; `None` where the rows that are handed out once
    /// are used up.
    #[must_use]
    pub fn new(scenario: &Scenario, number: u64, arrival_ns: u64) -> Option<Self> {
        if scenario.most_users().is_some_and(|most| number >= most) {
            return None;
        }
        let mut user = Self {
            number,
            at: 0,
            counter: 0,
            due_ns: arrival_ns,
            variables: scenario.variables.iter().map(|(_, held)| held.clone()).collect(),
            pages: Vec::new(),
            visits: vec![0; scenario.places as usize].into(),
            rows: vec![0; scenario.data.len()].into(),
            frames: Vec::new(),
            jar: Jar::default(),
            message: Message::default(),
            asked: None,
            said: Vec::new(),
            reply: Vec::new(),
            says_binary: false,
            replies_binary: false,
            exchange: None,
            subscribed: Vec::new(),
            unreadable: None,
            kept: Vec::new(),
            subscriptions: Vec::new(),
            ended: None,
        };
        for (at, data) in scenario.data.iter().enumerate() {
            // The first step of a file with a row for each takes the row after this one.
            let before = if data.each == Each::Step { data.rows() as u64 - 1 } else { 0 };
            user.draw_row(scenario, at, before);
        }
        Some(user)
    }

    /// His number, from 0 in the order of arrival.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The label under which his figures are told, as he arrives: empty where it comes to nothing;
    /// `None` where users have none.
    pub fn label(&mut self, scenario: &Scenario, now: Now) -> Option<String> {
        let label = rendered(scenario.label.as_ref()?, &mut self.values(scenario, now));
        Some(label.map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default())
    }

    /// What he sends, after [`Next::Ask`].
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// What a variable of his holds.
    #[must_use]
    pub fn variable(&self, number: u16) -> &Held {
        static NOTHING: Held = Held::Nothing;
        self.variables.get(usize::from(number)).unwrap_or(&NOTHING)
    }

    /// Takes a row of a data file: in order the one that is `step` after that of his number.
    fn draw_row(&mut self, scenario: &Scenario, at: usize, step: u64) {
        let data = &scenario.data[at];
        let rows = data.rows() as u64;
        let row = match data.order {
            RowOrder::InOrder | RowOrder::Once => self.number.wrapping_add(step) % rows,
            RowOrder::Random => self.draws(scenario).between(data.place, 0, rows - 1),
        };
        self.rows[at] = u32::try_from(row).unwrap_or(0);
    }

    fn draws<'a>(&'a mut self, scenario: &Scenario) -> Draws<'a> {
        Draws { key: scenario.key, user: self.number, visits: &mut self.visits }
    }

    fn values<'a>(&'a mut self, scenario: &'a Scenario, now: Now) -> Values<'a> {
        let round = self.frames.iter().rev().find_map(|frame| match frame {
            Frame::Loop { round, .. } => Some(*round),
            Frame::Group { .. } | Frame::Call { .. } => None,
        });
        Values {
            variables: &self.variables,
            data: &scenario.data,
            rows: &self.rows,
            counter: u64::from(self.counter),
            round: u64::from(round.unwrap_or(0)),
            unix_ns: now.unix_ns,
            sent: None,
            draws: Draws { key: scenario.key, user: self.number, visits: &mut self.visits },
            traceparents: scenario.traced.as_ref().map(|traced| &traced.by),
            traceparent: None,
        }
    }

    /// What he does next. Groups that end with it are appended to `groups`.
    pub fn next(&mut self, scenario: &Scenario, now: Now, groups: &mut Vec<GroupEnd>) -> Next {
        if let Some(asked) = &mut self.asked
            && std::mem::take(&mut asked.is_pending)
        {
            return self.send_again(scenario, now);
        }
        for _ in 0..MOST_OPS {
            if let Some(end) = self.ended {
                self.leave_groups(groups);
                return Next::Done(end);
            }
            let at = self.at;
            self.at += 1;
            match &scenario.program.ops[at as usize] {
                Op::Ask(ask) => return self.send(at, ask, scenario, now),
                Op::Say(say) => return self.say(at, say, scenario, now),
                Op::Close { channel, code } => {
                    self.lets_go(*channel);
                    return Next::Close { channel: *channel, code: *code };
                }
                Op::Think { time, place } => {
                    let seconds = time.sample(&mut self.draws(scenario).stream(*place));
                    self.due_ns = self.due_ns.saturating_add(nanoseconds(seconds));
                    if self.due_ns > now.ns {
                        return Next::Think { until_ns: self.due_ns };
                    }
                }
                Op::End => self.ended = Some(End::Finished),
                Op::EndGroup => {
                    let group = self.frames.pop();
                    groups.extend(group.and_then(|of| of.ended(self.due_ns)));
                }
                op => self.go(op, scenario, now),
            }
        }
        // He goes round without a word: others are to have their turn.
        Next::Think { until_ns: now.ns.max(self.due_ns) }
    }

    /// Goes on by an operation that only says where.
    fn go(&mut self, op: &Op, scenario: &Scenario, now: Now) {
        if self.frames.len() >= MOST_FRAMES {
            self.ended = Some(End::Failed);
            return;
        }
        match op {
            Op::Jump(to) => self.at = *to,
            Op::Call(to) => {
                self.frames.push(Frame::Call { back: self.at });
                self.at = *to;
            }
            Op::Return => {
                if let Some(Frame::Call { back }) = self.frames.pop() {
                    self.at = back;
                }
            }
            Op::Group { name } => {
                let (name, first_due_ns) = (*name, None);
                self.frames.push(Frame::Group {
                    name,
                    first_due_ns,
                    response_ns: 0,
                    is_good: true,
                });
            }
            Op::Loop { rounds, place, end } => {
                let left = match *rounds {
                    Rounds::Times(times) => times,
                    Rounds::UntilTheEnd => ENDLESS,
                    Rounds::Between(low, high) => {
                        let drawn = self.draws(scenario).between(*place, low.into(), high.into());
                        u32::try_from(drawn).unwrap_or(high)
                    }
                };
                match left {
                    0 => self.at = *end,
                    left => self.frames.push(Frame::Loop { left, round: 0 }),
                }
            }
            Op::Round { body } => match self.frames.last_mut() {
                Some(Frame::Loop { left, round }) if *left > 1 => {
                    *left -= u32::from(*left != ENDLESS);
                    *round = round.wrapping_add(1);
                    self.at = *body;
                }
                _ => {
                    self.frames.pop();
                }
            },
            Op::Choose { sums, places, place } => {
                let all = sums.last().copied().unwrap_or(0.0);
                let drawn = self.draws(scenario).stream(*place).uniform() * all;
                let way = sums.partition_point(|sum| *sum <= drawn).min(places.len() - 1);
                self.at = places[way];
            }
            Op::If { condition, otherwise } => {
                if !self.holds(condition, scenario, now) {
                    self.at = *otherwise;
                }
            }
            Op::Ask(_)
            | Op::Say(_)
            | Op::Close { .. }
            | Op::Think { .. }
            | Op::End
            | Op::EndGroup => {}
        }
    }

    fn holds(&mut self, condition: &Condition, scenario: &Scenario, now: Now) -> bool {
        let mut values = self.values(scenario, now);
        let (found, _) = text::look(&condition.value, &mut values);
        match &condition.test {
            Test::Set(is_set) => found.is_some() == *is_set,
            Test::Matches(regex) => found.is_some_and(|found| regex.is_match(found.as_bytes())),
            Test::Is(wanted) => {
                let wanted = rendered(wanted, &mut values);
                found.is_some_and(|found| wanted.is_some_and(|wanted| wanted == found.as_bytes()))
            }
        }
    }

    /// Sends what a step asks for.
    fn send(&mut self, op: u32, ask: &Ask, scenario: &Scenario, now: Now) -> Next {
        self.begins_step(&ask.stepwise, scenario);
        if let Some(upgrade) = &ask.upgrade {
            self.lets_go(upgrade.channel);
        }
        let mut message = std::mem::take(&mut self.message);
        let pages = std::mem::take(&mut self.pages);
        let page = ask.target.first_variable().and_then(|of| page_of(&pages, of));
        let written = message.write(ask, scenario, &mut self.values(scenario, now), page);
        self.pages = pages;
        self.message = message;
        self.counter += u32::from(ask.counts);
        let sending = Sending {
            due_ns: self.due_ns,
            step: op,
            name: ask.name,
            is_redirect: false,
            keep: if ask.needs_body() { ask.keep } else { 0 },
        };
        match written {
            Ok(()) => {
                self.asked = Some(Awaited { op, redirects: 0, is_pending: false });
                self.add_cookies(scenario, now);
                Next::Ask(sending)
            }
            Err(failure) => {
                self.due_ns = self.due_ns.max(now.ns);
                self.has_failed(ask.on_failure);
                Next::Unsent { sending, failure }
            }
        }
    }

    /// A step begins, which has something of these data files in it.
    fn begins_step(&mut self, stepwise: &[u16], scenario: &Scenario) {
        for &data in stepwise {
            self.next_row(scenario, usize::from(data));
        }
        for frame in &mut self.frames {
            if let Frame::Group { first_due_ns, .. } = frame {
                first_due_ns.get_or_insert(self.due_ns);
            }
        }
    }

    /// Moves on to the next row of a data file that has one for each step.
    fn next_row(&mut self, scenario: &Scenario, at: usize) {
        let data = &scenario.data[at];
        debug_assert_eq!(data.each, Each::Step);
        match data.order {
            RowOrder::Random => self.draw_row(scenario, at, 0),
            RowOrder::InOrder | RowOrder::Once => {
                let next = (u64::from(self.rows[at]) + 1) % data.rows() as u64;
                self.rows[at] = u32::try_from(next).unwrap_or(0);
            }
        }
    }

    fn send_again(&mut self, scenario: &Scenario, now: Now) -> Next {
        let asked = self.asked.and_then(|asked| Some((asked.op, scenario.ask(asked.op)?)));
        let Some((step, ask)) = asked else { return Next::Think { until_ns: now.ns } };
        let (name, keep) = (ask.name, if ask.needs_body() { ask.keep } else { 0 });
        let sending = Sending { due_ns: self.due_ns, step, name, is_redirect: true, keep };
        self.add_cookies(scenario, now);
        Next::Ask(sending)
    }

    fn add_cookies(&mut self, scenario: &Scenario, now: Now) {
        if let Some(origin) = scenario.origins.get(usize::from(self.message.origin)) {
            self.message.add_cookies(&self.jar, origin, now);
        }
    }

    /// What he had sent was not answered.
    pub fn broke(&mut self, scenario: &Scenario, now: Now) {
        self.has_taken(now.ns.saturating_sub(self.due_ns));
        self.due_ns = now.ns;
        let asked = self.asked.take().map(|asked| asked.op);
        let op = asked.or_else(|| self.exchange.take().map(|exchange| exchange.op));
        self.has_failed(op.map_or(OnFailure::EndUser, |op| scenario.on_failure(op)));
    }

    /// A step has taken so long, whatever has come of it: so have the groups that it is of.
    fn has_taken(&mut self, took_ns: u64) {
        for frame in &mut self.frames {
            if let Frame::Group { response_ns, .. } = frame {
                *response_ns = response_ns.saturating_add(took_ns);
            }
        }
    }

    fn has_failed(&mut self, on_failure: OnFailure) {
        for frame in &mut self.frames {
            if let Frame::Group { is_good, .. } = frame {
                *is_good = false;
            }
        }
        match on_failure {
            OnFailure::GoOn => {}
            OnFailure::EndUser => self.ended = Some(End::Failed),
            OnFailure::EndRun => self.ended = Some(End::EndRun),
        }
    }

    /// Ends the groups that he leaves as he ends.
    fn leave_groups(&mut self, groups: &mut Vec<GroupEnd>) {
        let due_ns = self.due_ns;
        groups.extend(self.frames.drain(..).rev().filter_map(|frame| frame.ended(due_ns)));
    }
}

/// The page from which a variable was taken last.
fn page_of(pages: &[(u16, Page)], variable: u16) -> Option<&Page> {
    pages.iter().find(|(of, _)| *of == variable).map(|(_, page)| page)
}

fn rendered(text: &Text, values: &mut Values<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    text.render(values, &mut out).ok().map(|()| out)
}

/// A think time in nanoseconds.
fn nanoseconds(seconds: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a think time is a positive number of seconds; casts saturate"
    )]
    let ns = (seconds * NS_PER_S) as u64;
    ns
}
