//! Aggregates of the interpreter.

use crate::expr::all_of;
use crate::numbers::{as_double, cast, power, rounded_quotient};
use crate::plan::{Call, Function};
use crate::value::{Answer, NoAnswer, Row, Type, Value, exact_sum, same_row};

/// An aggregate of rows.
pub(crate) fn aggregate(call: &Call, rows: &[&Row]) -> Answer<Value> {
    let mut args: Vec<Row> = Vec::new();
    for row in rows {
        if let Some(filter) = &call.filter
            && !filter.of(row)?.is_true()
        {
            continue;
        }
        let arg = all_of(&call.args, row)?;
        let known = call.distinct && args.iter().any(|known| same_row(known, &arg));
        if !arg.iter().any(Value::is_null) && !known {
            args.push(arg);
        }
    }
    match call.function {
        Function::Count | Function::CountRows => return Ok(Value::Long(args.len() as i64)),
        _ => {}
    }
    let ty = call.args[0].ty;
    let values: Vec<Value> = args.into_iter().map(|mut arg| arg.remove(0)).collect();
    match call.function {
        Function::List | Function::Set => {
            return joined(values, ty, call.function == Function::Set);
        }
        _ if values.is_empty() => return Ok(Value::Null),
        _ => {}
    }
    Ok(match call.function {
        Function::Sum => sum(&values, call.ty())?,
        Function::Avg => avg(&values, ty, call.ty())?,
        Function::Min => {
            values.into_iter().reduce(|a, b| if b.order(&a).is_lt() { b } else { a }).unwrap()
        }
        Function::Max => {
            values.into_iter().reduce(|a, b| if b.order(&a).is_gt() { b } else { a }).unwrap()
        }
        Function::All => Value::Bool(values.iter().all(Value::is_true)),
        _ => Value::Bool(values.iter().any(Value::is_true)),
    })
}

fn exact(value: &Value) -> i128 {
    match value {
        Value::Int(value) => (*value).into(),
        Value::Long(value) => (*value).into(),
        Value::Dec(value) => *value,
        other => panic!("{other:?} has no exact sum"),
    }
}

fn sum(values: &[Value], result: Type) -> Answer<Value> {
    let total = || values.iter().map(exact).try_fold(0i128, i128::checked_add).ok_or(NoAnswer);
    Ok(match result {
        Type::Double => Value::Double(exact_sum(&doubles(values))),
        Type::Long => Value::Long(total()?.try_into().map_err(|_| NoAnswer)?),
        _ => {
            let total = total()?;
            let fits = total.abs() < power(result.digits().0)?;
            Value::Dec(fits.then_some(total).ok_or(NoAnswer)?)
        }
    })
}

fn doubles(values: &[Value]) -> Vec<f64> {
    values.iter().map(|value| as_double(value, Type::Double)).collect()
}

fn avg(values: &[Value], of: Type, result: Type) -> Answer<Value> {
    let count = values.len();
    if of == Type::Double {
        return Ok(Value::Double(exact_sum(&doubles(values)) / count as f64));
    }
    let total: i128 = values.iter().map(exact).sum();
    Ok(match result {
        Type::Double => Value::Double(total as f64 / count as f64),
        _ => {
            let up = power(result.digits().1 - of.digits().1)?;
            Value::Dec(rounded_quotient(total.checked_mul(up).ok_or(NoAnswer)?, count as i128))
        }
    })
}

/// As `list_join(list_sort(collect_list(cast(x as string))), "|")`.
fn joined(values: Vec<Value>, ty: Type, different: bool) -> Answer<Value> {
    let mut texts = Vec::new();
    for value in values {
        match cast(&value, ty, Type::Str)? {
            Value::Str(text) => texts.push(text),
            other => panic!("{other:?} is no text"),
        }
    }
    texts.sort();
    if different {
        texts.dedup();
    }
    Ok(Value::Str(texts.join("|")))
}
