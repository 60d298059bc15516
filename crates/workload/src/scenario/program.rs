//! A scenario as a flat list of operations, through which a user goes by a number.

use super::exchange::Say;
use super::step::{Ask, Condition, OnFailure, Rounds, Step, Verb};
use crate::distribution::Distribution;

/// One operation. Numbers of operations are places in the list.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Sends a request and awaits its answer.
    Ask(Box<Ask>),
    /// Sends a message over a WebSocket, awaits some, or both.
    Say(Box<Say>),
    /// Closes a WebSocket.
    Close {
        channel: u16,
        code: u16,
    },
    /// Waits.
    Think {
        time: Distribution,
        place: u32,
    },
    /// Begins a loop, whose body follows; `end` is behind it.
    Loop {
        rounds: Rounds,
        place: u32,
        end: u32,
    },
    /// Ends a round of the innermost loop, whose body begins at `body`.
    Round {
        body: u32,
    },
    /// Goes to one of several places, by weights that are summed up.
    Choose {
        sums: Box<[f64]>,
        places: Box<[u32]>,
        place: u32,
    },
    /// Goes on where a condition holds, else at `otherwise`.
    If {
        condition: Box<Condition>,
        otherwise: u32,
    },
    Jump(u32),
    /// Begins a group.
    Group {
        name: u16,
    },
    EndGroup,
    /// Goes through the steps of another scenario of the file.
    Call(u32),
    Return,
    End,
}

/// The operations of a scenario.
#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
}

impl Program {
    /// What the steps ask for, in the file's order.
    pub(super) fn asks(&self) -> impl Iterator<Item = &Ask> {
        self.ops.iter().filter_map(|op| match op {
            Op::Ask(ask) => Some(&**ask),
            _ => None,
        })
    }

    /// The operations of the steps and, behind them, those of what they call.
    pub(super) fn of(steps: Vec<Step>, called: Vec<Vec<Step>>) -> Self {
        let mut program = Self::default();
        program.steps(steps);
        program.ops.push(Op::End);
        let mut begins = Vec::new();
        for steps in called {
            begins.push(program.here());
            program.steps(steps);
            program.ops.push(Op::Return);
        }
        for op in &mut program.ops {
            if let Op::Call(number) = op {
                *number = begins.get(*number as usize).copied().unwrap_or(0);
            }
        }
        program
    }

    /// The number of the next operation.
    fn here(&self) -> u32 {
        u32::try_from(self.ops.len()).unwrap_or(u32::MAX)
    }

    fn steps(&mut self, steps: Vec<Step>) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: Step) {
        match step.verb {
            Verb::Ask(ask) => self.ops.push(Op::Ask(ask)),
            Verb::Say(say) => self.ops.push(Op::Say(say)),
            Verb::Close { channel, code } => self.ops.push(Op::Close { channel, code }),
            Verb::Think { time, place } => self.ops.push(Op::Think { time, place }),
            Verb::Call(number) => self.ops.push(Op::Call(number)),
            Verb::Group { name, steps } => {
                self.ops.push(Op::Group { name });
                self.steps(steps);
                self.ops.push(Op::EndGroup);
            }
            Verb::Loop { rounds, place, steps } => {
                let begin = self.ops.len();
                self.ops.push(Op::Loop { rounds, place, end: 0 });
                let body = self.here();
                self.steps(steps);
                self.ops.push(Op::Round { body });
                self.ops[begin] = Op::Loop { rounds, place, end: self.here() };
            }
            Verb::Choose { ways, place } => self.choose(ways, place),
            Verb::If { condition, then, otherwise } => {
                let begin = self.ops.len();
                let condition = Box::new(condition);
                self.ops.push(Op::If { condition: condition.clone(), otherwise: 0 });
                self.steps(then);
                let over = self.ops.len();
                self.ops.push(Op::Jump(0));
                self.ops[begin] = Op::If { condition, otherwise: self.here() };
                self.steps(otherwise);
                self.ops[over] = Op::Jump(self.here());
            }
        }
    }

    fn choose(&mut self, ways: Vec<(f64, Vec<Step>)>, place: u32) {
        let begin = self.ops.len();
        self.ops.push(Op::End);
        let (mut sum, mut sums, mut places, mut overs) = (0.0, Vec::new(), Vec::new(), Vec::new());
        for (weight, steps) in ways {
            sum += weight;
            sums.push(sum);
            places.push(self.here());
            self.steps(steps);
            overs.push(self.ops.len());
            self.ops.push(Op::Jump(0));
        }
        let end = self.here();
        for over in overs {
            self.ops[over] = Op::Jump(end);
        }
        self.ops[begin] = Op::Choose { sums: sums.into(), places: places.into(), place };
    }
}

impl OnFailure {
    /// The word for it in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        plimsoll_units::Words::word(self)
    }
}
