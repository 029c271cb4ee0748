//! Plans from decisions.

mod exprs;

use exprs::{columns, condition, expr, kinds_of, literal};

use crate::choices::Choices;
use crate::expr::{Arith, Expr, Node};
use crate::plan::{Call, Frame, Function, JoinKind, Key, Plan, SetOp, Strategy, Window, WindowFn};
use crate::value::{KINDS, Kind, Type, Value};

/// Columns that a plan may have before most of them are left out.
const COLUMNS_MAX: usize = 24;

/// A whole plan.
pub(crate) fn plan(choices: &mut Choices<'_>) -> Plan {
    let times = choices.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 40, 150]);
    let depth = 1 + choices.of(4);
    let plan = Generate { choices, times }.plan(depth);
    match choices.of(3) {
        0 => plan,
        _ => sorted(plan, choices),
    }
}

struct Generate<'a, 'b> {
    choices: &'a mut Choices<'b>,
    /// How often the rows of tables are there.
    times: usize,
}

impl Generate<'_, '_> {
    fn plan(&mut self, depth: usize) -> Plan {
        if depth == 0 {
            let pieces = 1 + self.choices.of(4);
            return Plan::Source { table: self.choices.of(2), pieces, times: self.times };
        }
        let alternative = self.choices.of(16);
        let input = match (alternative, self.plan(depth - 1)) {
            (5..=7, input) => return self.join(input, depth),
            (8, input) => return self.set(input, depth),
            (9, input) => return self.not_in(input, depth),
            (_, input) if input.types().len() > COLUMNS_MAX => narrower(input, self.choices),
            (_, input) => input,
        };
        let choices = &mut *self.choices;
        match alternative {
            0 => input,
            1 | 2 => {
                let condition = condition(choices, &input.types(), 3);
                Plan::Filter(Box::new(input), condition)
            }
            3 | 4 => select(input, choices),
            10 => Plan::Distinct(Box::new(narrower(input, choices))),
            11 => limit(input, choices),
            12 => sorted(input, choices),
            13 => window(input, choices),
            _ => aggregate(input, choices),
        }
    }

    /// Another plan, as a second input.
    fn other(&mut self, depth: usize) -> Plan {
        let depth = self.choices.of(depth);
        let times = if self.times > 1 { self.choices.pick(&[1, self.times]) } else { 1 };
        Generate { choices: &mut *self.choices, times }.plan(depth)
    }

    fn join(&mut self, left: Plan, depth: usize) -> Plan {
        let right = self.other(depth);
        let choices = &mut *self.choices;
        let (left, right) = (few(left, choices), few(right, choices));
        let (of_left, of_right) = (left.types(), right.types());
        use JoinKind::{Anti, Cross, Full, Inner, Left, Right, Semi};
        let kind = choices.pick(&[Inner, Inner, Left, Right, Full, Semi, Anti, Cross]);
        let strategy = choices.pick(&[
            Strategy::Any,
            Strategy::Any,
            Strategy::Hash,
            Strategy::Broadcast,
            Strategy::Merge,
        ]);
        let (mut on, mut residual) = (Vec::new(), None);
        if kind != Cross {
            for _ in 0..choices.pick(&[1, 1, 1, 2, 0]) {
                let kind = choices.pick(&kinds_of(&of_left));
                let depth = choices.pick(&[0, 0, 0, 1]);
                on.push((
                    expr(choices, &of_left, kind, depth),
                    expr(choices, &of_right, kind, depth),
                ));
            }
            if on.is_empty() || choices.rarely(3) {
                residual = Some(condition(choices, &[of_left, of_right].concat(), 2));
            }
        }
        let (left, right) = (Box::new(left), Box::new(right));
        Plan::Join { left, right, kind, on, residual, strategy }
    }

    fn not_in(&mut self, input: Plan, depth: usize) -> Plan {
        let others = self.other(depth);
        let choices = &mut *self.choices;
        let kind = choices.pick(&KINDS);
        let value = expr(choices, &input.types(), kind, 1);
        let other = exprs::of_type(choices, &others.types(), value.ty, 1);
        let others = Box::new(Plan::Select(Box::new(others), vec![other]));
        Plan::NotIn { input: Box::new(input), value, others }
    }

    fn set(&mut self, left: Plan, depth: usize) -> Plan {
        let right = self.other(depth);
        let choices = &mut *self.choices;
        let left = narrower(left, choices);
        let (types, of_right) = (left.types(), right.types());
        let columns = types.iter().map(|ty| exprs::of_type(choices, &of_right, *ty, 1)).collect();
        let right = Plan::Select(Box::new(right), columns);
        use SetOp::{Except, ExceptAll, Intersect, IntersectAll, Union, UnionDistinct};
        let op = choices.pick(&[Union, UnionDistinct, Intersect, IntersectAll, Except, ExceptAll]);
        Plan::Set(op, Box::new(left), Box::new(right))
    }
}

/// So few columns that joins stay small.
fn few(input: Plan, choices: &mut Choices<'_>) -> Plan {
    if input.types().len() > 6 { narrower(input, choices) } else { input }
}

/// Some of the columns.
fn narrower(input: Plan, choices: &mut Choices<'_>) -> Plan {
    let types = input.types();
    let count = 1 + choices.of(4);
    let columns = (0..count).map(|_| {
        let at = choices.of(types.len());
        Expr::new(types[at], Node::Column(at))
    });
    let columns = columns.collect();
    Plan::Select(Box::new(input), columns)
}

fn select(input: Plan, choices: &mut Choices<'_>) -> Plan {
    let types = input.types();
    let count = 1 + choices.of(4);
    let column = |_| {
        let kind = choices.pick(&KINDS);
        expr(choices, &types, kind, 3)
    };
    let columns = (0..count).map(column).collect();
    Plan::Select(Box::new(input), columns)
}

fn key(choices: &mut Choices<'_>, types: &[Type]) -> Key {
    let kind = choices.pick(&KINDS);
    let depth = choices.pick(&[0, 0, 0, 2]);
    let expr = expr(choices, types, kind, depth);
    Key { expr, descending: choices.of(2) == 1, nulls_first: choices.of(2) == 0 }
}

/// Keys after which rows in one place are equal.
fn total(mut keys: Vec<Key>, types: &[Type]) -> Vec<Key> {
    let all = columns(types).map(|expr| Key { expr, descending: false, nulls_first: true });
    keys.extend(all);
    keys
}

fn sorted(input: Plan, choices: &mut Choices<'_>) -> Plan {
    let types = input.types();
    let keys: Vec<Key> = (0..1 + choices.of(2)).map(|_| key(choices, &types)).collect();
    // The sort is stable.
    let stable = input.is_ordered() && choices.of(2) == 1;
    let keys = if stable { keys } else { total(keys, &types) };
    Plan::Sort(Box::new(input), keys)
}

fn limit(input: Plan, choices: &mut Choices<'_>) -> Plan {
    let input =
        if input.is_ordered() && choices.of(2) == 1 { input } else { sorted(input, choices) };
    let skip = choices.pick(&[0, 0, 1, 3, 20]);
    let fetch = choices.pick(&[Some(3), Some(10), Some(0), Some(100), None]);
    Plan::Limit { input: Box::new(input), skip, fetch }
}

fn call(choices: &mut Choices<'_>, types: &[Type]) -> Call {
    use Function::{All, Any, Avg, Count, CountRows, List, Max, Min, Set, Sum};
    let function = choices.pick(&[CountRows, Count, Sum, Avg, Min, Max, List, Set, All, Any]);
    let kinds: &[Kind] = match function {
        Sum | Avg => &[Kind::Int, Kind::Long, Kind::Double, Kind::Dec],
        All | Any => &[Kind::Bool],
        _ => &KINDS,
    };
    let (kind, depth) = (choices.pick(kinds), choices.pick(&[0, 0, 2]));
    let mut args = vec![expr(choices, types, kind, depth)];
    let distinct = matches!(function, Count | Sum | Avg) && choices.rarely(3);
    match function {
        CountRows => args.clear(),
        Count if distinct && choices.rarely(3) => {
            let kind = choices.pick(kinds);
            args.push(expr(choices, types, kind, 0));
        }
        Avg if args[0].ty.digits().0 > 30 => args = vec![literal(Type::Int, Value::Int(1))],
        List | Set => args = args.into_iter().map(written).collect(),
        _ => {}
    }
    let filter = choices.rarely(4).then(|| condition(choices, types, 1));
    Call { function, args, distinct, filter }
}

/// What is to be written: of the zeros, the positive one.
fn written(value: Expr) -> Expr {
    match value.ty {
        Type::Double => {
            Expr::arith(Arith::Add, false, value, literal(Type::Double, Value::Double(0.0)))
        }
        _ => value,
    }
}

fn aggregate(input: Plan, choices: &mut Choices<'_>) -> Plan {
    let types = input.types();
    let keys = (0..choices.pick(&[1, 1, 2, 3, 0])).map(|_| {
        let kind = choices.pick(&KINDS);
        let depth = choices.pick(&[0, 0, 0, 1]);
        expr(choices, &types, kind, depth)
    });
    let keys = keys.collect();
    let calls = (0..1 + choices.of(3)).map(|_| call(choices, &types)).collect();
    Plan::Aggregate { input: Box::new(input), keys, calls }
}

fn window(input: Plan, choices: &mut Choices<'_>) -> Plan {
    let types = input.types();
    let windows = (0..1 + choices.of(2)).map(|_| one_window(choices, &types)).collect();
    Plan::Window(Box::new(input), windows)
}

fn one_window(choices: &mut Choices<'_>, types: &[Type]) -> Window {
    let partition = (0..choices.of(3)).map(|_| key(choices, types).expr).collect();
    let order: Vec<Key> = (0..1 + choices.of(2)).map(|_| key(choices, types)).collect();
    // Where the place among peers matters, there are none.
    let at_peers = choices.of(8);
    let (function, order) = match at_peers {
        0 => (WindowFn::RowNumber, total(order, types)),
        1 => (WindowFn::Rank, order),
        2 => (WindowFn::DenseRank, order),
        3 | 4 => {
            let kind = choices.pick(&KINDS);
            let (of, by) = (expr(choices, types, kind, 1), choices.pick(&[1, 0, 2, 10]));
            let function =
                if at_peers == 3 { WindowFn::Lag(of, by) } else { WindowFn::Lead(of, by) };
            (function, total(order, types))
        }
        _ => {
            let call = plain(call(choices, types));
            let (frame, order) = frame(choices, order, types);
            (WindowFn::Aggregate(call, frame), order)
        }
    };
    Window { function, partition, order }
}

/// Aggregates over windows have neither DISTINCT nor a filter.
fn plain(call: Call) -> Call {
    Call { distinct: false, filter: None, args: call.args.into_iter().take(1).collect(), ..call }
}

fn frame(choices: &mut Choices<'_>, order: Vec<Key>, types: &[Type]) -> (Frame, Vec<Key>) {
    let mut bounds = || {
        let (a, b) = (
            choices.pick(&[None, Some(-1), Some(0), Some(-3), Some(1)]),
            choices.pick(&[Some(0), None, Some(2), Some(-1), Some(20)]),
        );
        if a.is_some() && b.is_some() && a > b { (b, a) } else { (a, b) }
    };
    let (start, end) = bounds();
    match choices.of(4) {
        0 => (Frame::Default, order),
        1 => (Frame::Default, Vec::new()),
        2 => (Frame::Rows(start, end), total(order, types)),
        _ => (Frame::Groups(start, end), order),
    }
}
