//! The types of one operation from those of its parts.

use arrow_schema::DataType;

use super::arithmetic;
use super::coerce::{can_cast, common_of, common_type, is_hashable, is_orderable, normal};
use super::functions::{aggregate, scalar};
use super::literal::fold_cast;
use super::window::window;
use crate::error::PlanError;
use crate::expr::{BinaryOp, Expr, Scalar, UnaryOp, type_name};
use crate::logical::Schema;

/// What is known of a part.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Arg<'a> {
    pub(crate) data_type: DataType,
    pub(crate) nullable: bool,
    /// Its value, if it is written there.
    pub(crate) literal: Option<&'a Scalar>,
}

/// The types of an operation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Typed {
    /// What the parts are cast to, in the order of [`Expr::children`].
    pub(crate) args: Vec<DataType>,
    pub(crate) result: DataType,
    pub(crate) nullable: bool,
}

/// The types of `expr`, whose parts ([`Expr::children`]) are `args`.
pub(crate) fn typed(expr: &Expr, args: &[Arg<'_>], schema: &Schema) -> Result<Typed, PlanError> {
    let site = Site { expr, schema };
    let any_null = args.iter().any(|arg| arg.nullable);
    match expr {
        Expr::Column(_) | Expr::Field(_) | Expr::Wildcard { .. } | Expr::Literal(_) => leaf(site),
        Expr::Alias { .. } => Ok(same(args)),
        Expr::Unary { op, .. } => unary(*op, args, site),
        Expr::Binary { op, .. } => binary(*op, args, site),
        Expr::And(_) => all_boolean("each side of AND", args, site),
        Expr::Or(_) => all_boolean("each side of OR", args, site),
        Expr::Case { branches, otherwise } => case(branches.len(), otherwise.is_some(), args, site),
        Expr::Cast { to, lenient, .. } => cast(to, *lenient, args, site),
        Expr::InList { .. } => in_list(args, site),
        Expr::Like { .. } => {
            let strings = [string("LIKE", 1, args, site)?, string("LIKE", 2, args, site)?];
            Ok(Typed { args: strings.to_vec(), result: DataType::Boolean, nullable: any_null })
        }
        Expr::Call { function, .. } => scalar(*function, args, site),
        Expr::Udf { udf, .. } => {
            if udf.args.len() != args.len() {
                return Err(site.count(&udf.name, &udf.args.len().to_string(), args.len()));
            }
            for (position, (arg, wanted)) in args.iter().zip(&udf.args).enumerate() {
                if !can_cast(&arg.data_type, wanted) {
                    return Err(site.argument(&udf.name, position, &type_name(wanted), arg));
                }
            }
            Ok(Typed { args: udf.args.clone(), result: udf.result.clone(), nullable: true })
        }
        Expr::Aggregate { function, args: given, distinct, .. } => {
            let (args, filter) = args.split_at(given.len());
            if let Some(condition) = filter.first() {
                boolean("the filter of an aggregate", given.len(), condition, site)?;
            }
            let mut typed = aggregate(*function, args, *distinct, site)?;
            typed.args.extend(filter.iter().map(|_| DataType::Boolean));
            Ok(typed)
        }
        Expr::Window { function, args: given, window: spec, .. } => {
            let (args, keys) = args.split_at(given.len());
            let mut typed = window(*function, spec, args, keys, site)?;
            typed.args.extend(keys.iter().map(|key| key.data_type.clone()));
            Ok(typed)
        }
    }
}

/// Where a rule is applied, for messages.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) expr: &'a Expr,
    pub(super) schema: &'a Schema,
}

impl Site<'_> {
    pub(super) fn sql(self) -> String {
        self.expr.to_sql(self.schema)
    }

    /// `position` counts from 0.
    pub(super) fn argument(
        self,
        function: &str,
        position: usize,
        expected: &str,
        arg: &Arg<'_>,
    ) -> PlanError {
        PlanError::ArgumentType {
            function: function.to_owned(),
            position: position + 1,
            expected: expected.to_owned(),
            actual: type_name(&arg.data_type),
            expr: self.sql(),
            hint: "cast it with `.cast(..)`".to_owned(),
        }
    }

    pub(super) fn count(self, function: &str, expected: &str, actual: usize) -> PlanError {
        let noun = if expected == "1" { "argument" } else { "arguments" };
        PlanError::ArgumentCount {
            function: function.to_owned(),
            expected: format!("{expected} {noun}"),
            actual,
            expr: self.sql(),
        }
    }

    pub(super) fn invalid(self, reason: impl Into<String>) -> PlanError {
        PlanError::InvalidArgument { reason: reason.into(), expr: self.sql() }
    }

    pub(super) fn mismatch(
        self,
        verb: &str,
        left: &Arg<'_>,
        right: &Arg<'_>,
        hint: &str,
    ) -> PlanError {
        let types = (&left.data_type, &right.data_type);
        PlanError::mismatch(verb, types, (self.expr, self.schema), hint)
    }
}

fn leaf(site: Site<'_>) -> Result<Typed, PlanError> {
    let (result, nullable) = match site.expr {
        Expr::Literal(value) => (value.data_type(), value.is_null()),
        Expr::Field(position) => {
            let field =
                site.schema.fields.get(*position as usize).ok_or_else(|| {
                    PlanError::Invalid(format!("the input has no column {position}"))
                })?;
            (field.data_type.clone(), field.nullable)
        }
        Expr::Column(name) => {
            let field = &site.schema.fields[site.schema.find(name)?];
            (field.data_type.clone(), field.nullable)
        }
        _ => {
            return Err(PlanError::WildcardNotAllowed {
                expr: site.sql(),
                place: "an expression".to_owned(),
            });
        }
    };
    Ok(Typed { args: Vec::new(), result, nullable })
}

fn same(args: &[Arg<'_>]) -> Typed {
    let (data_type, nullable) =
        args.first().map_or((DataType::Null, true), |arg| (arg.data_type.clone(), arg.nullable));
    Typed { args: vec![data_type.clone()], result: data_type, nullable }
}

fn unary(op: UnaryOp, args: &[Arg<'_>], site: Site<'_>) -> Result<Typed, PlanError> {
    let arg = &args[0];
    let typed =
        |arg: DataType, result: DataType, nullable| Typed { args: vec![arg], result, nullable };
    Ok(match op {
        UnaryOp::Not => {
            boolean("what NOT is applied to", 0, arg, site)?;
            typed(DataType::Boolean, DataType::Boolean, arg.nullable)
        }
        UnaryOp::Negate => {
            let result = arithmetic::negated(arg, site)?;
            typed(result.clone(), result, arg.nullable)
        }
        UnaryOp::IsNull | UnaryOp::IsNotNull => {
            typed(arg.data_type.clone(), DataType::Boolean, false)
        }
        UnaryOp::IsNan => {
            let float = match normal(&arg.data_type) {
                DataType::Float32 => DataType::Float32,
                DataType::Null => DataType::Float64,
                number if number.is_numeric() => DataType::Float64,
                _ => return Err(site.argument("is_nan", 0, "a number", arg)),
            };
            typed(float, DataType::Boolean, arg.nullable)
        }
    })
}

fn binary(op: BinaryOp, args: &[Arg<'_>], site: Site<'_>) -> Result<Typed, PlanError> {
    let (left, right) = (&args[0], &args[1]);
    if !op.is_comparison() {
        return arithmetic::binary(op, left, right, site);
    }
    let common = compared(left, right).ok_or_else(|| {
        site.mismatch("compare", left, right, "cast one of them with `.cast(..)`")
    })?;
    let equality = matches!(op, BinaryOp::Eq | BinaryOp::NotEq | BinaryOp::NullSafeEq);
    if !(is_orderable(&common) || equality && is_hashable(&common)) {
        return Err(site.mismatch("compare", left, right, "values of this type have no order"));
    }
    let nullable = op != BinaryOp::NullSafeEq && (left.nullable || right.nullable);
    Ok(Typed { args: vec![common.clone(), common], result: DataType::Boolean, nullable })
}

/// The type in which two values are compared: that of the other where one is written out and exact in it, so that
/// columns are compared as they are; else their common type.
pub(super) fn compared(left: &Arg<'_>, right: &Arg<'_>) -> Option<DataType> {
    let exact = |literal: Option<&Scalar>, other: &Arg<'_>| {
        let other = normal(&other.data_type);
        literal.and_then(|value| fold_compared(value, &other)).map(|_| other)
    };
    exact(right.literal, left)
        .or_else(|| exact(left.literal, right))
        .or_else(|| common_type(&left.data_type, &right.data_type))
}

/// The value in the type of what it is compared with, if every comparison comes out the same there.
fn fold_compared(value: &Scalar, other: &DataType) -> Option<Scalar> {
    let number = value.data_type().is_numeric() && other.is_numeric();
    let same = normal(&value.data_type()) == *other;
    if number || same { fold_cast(value, other) } else { None }
}

/// Part `position` of the expression must be a truth value.
fn boolean(place: &str, position: usize, arg: &Arg<'_>, site: Site<'_>) -> Result<(), PlanError> {
    if matches!(arg.data_type, DataType::Boolean | DataType::Null) {
        return Ok(());
    }
    let part = site.expr.children().get(position).map(|part| part.to_sql(site.schema));
    Err(PlanError::NotBoolean {
        place: place.to_owned(),
        expr: part.unwrap_or_default(),
        actual: type_name(&arg.data_type),
    })
}

fn all_boolean(place: &str, args: &[Arg<'_>], site: Site<'_>) -> Result<Typed, PlanError> {
    for (position, arg) in args.iter().enumerate() {
        boolean(place, position, arg, site)?;
    }
    let nullable = args.iter().any(|arg| arg.nullable);
    Ok(Typed { args: vec![DataType::Boolean; args.len()], result: DataType::Boolean, nullable })
}

/// Conditions and values by turns, then the value if none holds.
fn case(
    branches: usize,
    otherwise: bool,
    args: &[Arg<'_>],
    site: Site<'_>,
) -> Result<Typed, PlanError> {
    let (pairs, last) = args.split_at(2 * branches);
    for (branch, pair) in pairs.chunks_exact(2).enumerate() {
        boolean("the condition of `when`", 2 * branch, &pair[0], site)?;
    }
    let values = || pairs.iter().skip(1).step_by(2).chain(last);
    let result = common(values(), "CASE", site)?;
    let mut types = Vec::with_capacity(args.len());
    for _ in 0..branches {
        types.extend([DataType::Boolean, result.clone()]);
    }
    types.extend(last.iter().map(|_| result.clone()));
    let nullable = !otherwise || values().any(|arg| arg.nullable);
    Ok(Typed { args: types, result, nullable })
}

/// The common type of the results of a CASE, the arguments of `coalesce` and the like.
pub(super) fn common<'a, 'b: 'a>(
    args: impl Iterator<Item = &'a Arg<'b>> + Clone,
    name: &str,
    site: Site<'_>,
) -> Result<DataType, PlanError> {
    if let Some(common) = common_of(args.clone().map(|arg| &arg.data_type)) {
        return Ok(common);
    }
    let mut sofar: Option<Arg<'b>> = None;
    for arg in args {
        let Some(before) = &sofar else {
            sofar = Some(arg.clone());
            continue;
        };
        match common_type(&before.data_type, &arg.data_type) {
            Some(data_type) => sofar = Some(Arg { data_type, nullable: true, literal: None }),
            None => {
                let verb = format!("mix in {name}");
                return Err(site.mismatch(&verb, before, arg, "cast one of them with `.cast(..)`"));
            }
        }
    }
    Ok(DataType::Null)
}

fn cast(
    to: &DataType,
    lenient: bool,
    args: &[Arg<'_>],
    site: Site<'_>,
) -> Result<Typed, PlanError> {
    let from = &args[0];
    if !can_cast(&from.data_type, to) {
        return Err(PlanError::InvalidCast {
            from: type_name(&from.data_type),
            to: type_name(to),
            expr: site.sql(),
        });
    }
    let lossless = normal(&from.data_type) == normal(to);
    let nullable = from.nullable || lenient && !lossless;
    Ok(Typed { args: vec![from.data_type.clone()], result: to.clone(), nullable })
}

fn in_list(args: &[Arg<'_>], site: Site<'_>) -> Result<Typed, PlanError> {
    let (value, list) = (&args[0], &args[1..]);
    let wanted = normal(&value.data_type);
    let fits = |arg: &Arg<'_>| {
        arg.data_type == wanted
            || arg.literal.is_some_and(|literal| fold_compared(literal, &wanted).is_some())
    };
    let common = if list.iter().all(fits) { wanted } else { common(args.iter(), "IN", site)? };
    if !is_hashable(&common) {
        return Err(site.argument("IN", 0, "a value that can be compared", value));
    }
    // Nothing is one of none.
    let nullable = !list.is_empty() && args.iter().any(|arg| arg.nullable);
    Ok(Typed { args: vec![common; args.len()], result: DataType::Boolean, nullable })
}

/// `position` counts from 1.
fn string(
    name: &str,
    position: usize,
    args: &[Arg<'_>],
    site: Site<'_>,
) -> Result<DataType, PlanError> {
    let arg = &args[position - 1];
    match normal(&arg.data_type) {
        DataType::Utf8View | DataType::Null => Ok(DataType::Utf8View),
        _ => Err(site.argument(name, position - 1, "a string", arg)),
    }
}
