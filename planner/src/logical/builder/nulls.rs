//! Filling and dropping NULLs.

use arrow_schema::DataType;

use super::super::{Field, PlanRef};
use super::resolve::{Resolver, cast};
use super::rows::filter;
use super::select::columns_of;
use crate::error::PlanError;
use crate::expr::{Expr, ExprRef, Scalar, ScalarFn, UnaryOp, type_name};
use crate::types::coerce::normal;

/// All columns, with a value in the place of NULL: in those given, or, where none are, in all of the kind of the
/// value (numbers, strings, ...). Columns keep their types; the value is cast to them.
///
/// # Errors
///
/// Unknown or ambiguous columns, and given columns of another kind.
pub fn fill_null(input: PlanRef, value: Scalar, columns: Vec<Expr>) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "`fill_null`");
    let value_type = value.data_type();
    let mut filled = Vec::with_capacity(columns.len());
    for column in &columns {
        let at = resolver.column(column)?;
        let field = &input.schema().fields[at];
        if !alike(&field.data_type, &value_type) {
            return Err(PlanError::Invalid(format!(
                "cannot fill column `{}`, which is {}, with {value}, which is {}",
                field.name,
                type_name(&field.data_type),
                type_name(&value_type)
            )));
        }
        filled.push(at);
    }
    if columns.is_empty() {
        let fits = |(_, field): &(usize, &Field)| alike(&field.data_type, &value_type);
        filled = input.schema().fields.iter().enumerate().filter(fits).map(|(at, _)| at).collect();
    }
    let mut output = resolver.named(&[Expr::Wildcard { qualifier: None }])?;
    for at in filled {
        let data_type = &input.schema().fields[at].data_type;
        let value = cast(Expr::Literal(value.clone()), &value_type, data_type);
        let args = vec![Expr::Field(at as u32).into(), value.into()];
        let whole = Expr::Call { function: ScalarFn::Coalesce, args };
        // Of a dictionary the values' type is given else.
        output[at].expr = cast(whole, &normal(data_type), data_type);
    }
    columns_of(input, output, "`fill_null`")
}

/// The rows without a NULL in the given columns (all where none are given); with `all`, without those in which all of
/// them are NULL.
///
/// # Errors
///
/// Unknown or ambiguous columns.
pub fn drop_nulls(input: PlanRef, columns: Vec<Expr>, all: bool) -> Result<PlanRef, PlanError> {
    let resolver = Resolver::new(input.schema(), "`drop_nulls`");
    let mut positions =
        columns.iter().map(|column| resolver.column(column)).collect::<Result<Vec<_>, _>>()?;
    if columns.is_empty() {
        positions = (0..input.schema().len()).collect();
    }
    let present = |at: usize| {
        let expr = Expr::Field(at as u32).into();
        ExprRef::from(Expr::Unary { op: UnaryOp::IsNotNull, expr })
    };
    let terms = positions.into_iter().map(present).collect();
    filter(input, if all { Expr::Or(terms) } else { Expr::And(terms) })
}

/// Whether a column can take a value: numbers with numbers, else of one type.
fn alike(column: &DataType, value: &DataType) -> bool {
    let (column, value) = (normal(column), normal(value));
    column == value || column.is_numeric() && value.is_numeric()
}
