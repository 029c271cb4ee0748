//! Types of whole expressions.

use std::collections::HashMap;

use arrow_schema::DataType;

use super::rules::{Arg, typed};
use crate::error::PlanError;
use crate::expr::{Expr, ExprRef, Scalar, deeper};
use crate::logical::Schema;

/// The type of an expression over the columns of `schema`, and whether it may be NULL. Columns may be referred to by
/// name or by position. Takes time linear in the size of the expression, however deep it is or often parts are
/// shared.
///
/// # Errors
///
/// Columns that are not there, and types that do not go together.
pub fn infer(expr: &Expr, schema: &Schema) -> Result<(DataType, bool), PlanError> {
    Infer { schema, shared: HashMap::new() }.expr(expr)
}

/// An aggregate or window function with its arguments as its code takes them.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The arguments, cast where they have other types.
    pub args: Vec<Expr>,
    /// Their types.
    pub arg_types: Vec<DataType>,
    /// The type of the result.
    pub result: DataType,
    /// Whether the result may be NULL.
    pub nullable: bool,
}

/// The arguments of an [`Expr::Aggregate`] or [`Expr::Window`] as its code takes them, and what it gives.
///
/// # Errors
///
/// As [`infer`]; and any other expression.
pub fn coerce_call(expr: &Expr, schema: &Schema) -> Result<Call, PlanError> {
    let (Expr::Aggregate { args, .. } | Expr::Window { args, .. }) = expr else {
        let shown = expr.to_sql(schema);
        return Err(PlanError::Invalid(format!("`{shown}` is no aggregate or window function")));
    };
    let mut infer = Infer { schema, shared: HashMap::new() };
    let parts = infer.parts(expr)?;
    let types = typed(expr, &parts, schema)?;
    let cast = |((arg, part), to): ((&ExprRef, &Arg<'_>), &DataType)| {
        if part.data_type == *to {
            (**arg).clone()
        } else {
            Expr::Cast { expr: arg.clone(), to: to.clone(), lenient: false }
        }
    };
    let cast_args = args.iter().zip(&parts).zip(&types.args).map(cast).collect();
    let arg_types = types.args.into_iter().take(args.len()).collect();
    Ok(Call { args: cast_args, arg_types, result: types.result, nullable: types.nullable })
}

struct Infer<'a> {
    schema: &'a Schema,
    /// The types of parts that are referred to several times, by address.
    shared: HashMap<usize, (DataType, bool)>,
}

impl Infer<'_> {
    fn expr(&mut self, expr: &Expr) -> Result<(DataType, bool), PlanError> {
        let parts = self.parts(expr)?;
        let typed = typed(expr, &parts, self.schema)?;
        Ok((typed.result, typed.nullable))
    }

    fn parts<'e>(&mut self, expr: &'e Expr) -> Result<Vec<Arg<'e>>, PlanError> {
        expr.children().into_iter().map(|child| self.part(child)).collect()
    }

    fn part<'e>(&mut self, part: &'e ExprRef) -> Result<Arg<'e>, PlanError> {
        let shared = part.is_shared() && !part.is_leaf();
        let known = if shared { self.shared.get(&part.address()) } else { None };
        let (data_type, nullable) = match known {
            Some(known) => known.clone(),
            None => deeper(|| self.expr(part))?,
        };
        if shared {
            self.shared.insert(part.address(), (data_type.clone(), nullable));
        }
        Ok(Arg { data_type, nullable, literal: literal(part) })
    }
}

/// The value of an expression that is nothing else, under any aliases.
pub(crate) fn literal(mut expr: &Expr) -> Option<&Scalar> {
    loop {
        match expr {
            Expr::Literal(value) => return Some(value),
            Expr::Alias { expr: inner, .. } => expr = inner,
            _ => return None,
        }
    }
}
