//! From expressions to programs: types are found out, casts put in, equal parts shared.
//!
//! Takes time linear in the size of the expressions, however deep they are or often parts are shared. Values that
//! are written out are given the type that is wanted of them where that is exact; nothing else is computed here.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use arrow_schema::{DataType, TimeUnit};

use super::identity;
use super::program::{ExprId, ExprOp, PhysicalExpr, Program};
use crate::error::PlanError;
use crate::expr::{BinaryOp, Expr, ExprRef, Scalar, UnaryOp, deeper};
use crate::logical::Schema;
use crate::types::{Arg, Typed, fold_cast, literal, typed};

/// What makes the next character of a LIKE pattern stand for itself, unless said otherwise.
const ESCAPE: char = '\\';
const DAY_NANOS: i64 = 86_400_000_000_000;

/// The program that computes `exprs` over the columns of `schema`, one root each. The type and nullability of
/// each root are those of [`crate::types::infer`].
///
/// # Errors
///
/// Types that do not go together, columns that are not there, and aggregates, window functions or wildcards, which
/// are no business of one row.
pub fn compile(exprs: &[Expr], schema: &Schema) -> Result<Program, PlanError> {
    let mut compiler = Compiler {
        schema,
        program: Program::default(),
        interned: HashMap::new(),
        shared: HashMap::new(),
    };
    for expr in exprs {
        let root = compiler.root(expr)?;
        compiler.program.roots.push(root);
    }
    Ok(compiler.program)
}

struct Compiler<'a> {
    schema: &'a Schema,
    program: Program,
    /// Expressions of the program by hash.
    interned: HashMap<u64, Vec<ExprId>>,
    /// Parts that are referred to several times, by address.
    shared: HashMap<usize, ExprId>,
}

/// A part of an expression before its type is settled.
enum Part<'e> {
    /// A value that is written out, which becomes an expression when its type is known.
    Literal(&'e Scalar),
    Node(ExprId),
}

impl Compiler<'_> {
    fn root(&mut self, expr: &Expr) -> Result<ExprId, PlanError> {
        match literal(expr) {
            Some(value) => Ok(self.literal(value.clone())),
            None => self.expr(expr),
        }
    }

    fn part<'e>(&mut self, part: &'e ExprRef) -> Result<Part<'e>, PlanError> {
        if let Some(value) = literal(part) {
            return Ok(Part::Literal(value));
        }
        let shared = part.is_shared() && !part.is_leaf();
        if shared && let Some(id) = self.shared.get(&part.address()) {
            return Ok(Part::Node(*id));
        }
        let id = deeper(|| self.expr(part))?;
        if shared {
            self.shared.insert(part.address(), id);
        }
        Ok(Part::Node(id))
    }

    fn expr(&mut self, expr: &Expr) -> Result<ExprId, PlanError> {
        if let Expr::Alias { expr, .. } = expr {
            return deeper(|| self.root(expr));
        }
        let children = expr.children();
        let mut parts = Vec::with_capacity(children.len());
        for child in children {
            parts.push(self.part(child)?);
        }
        let args: Vec<Arg<'_>> = parts.iter().map(|part| self.arg(part)).collect();
        let types = typed(expr, &args, self.schema)?;
        match expr {
            Expr::InList { negated, .. } => Ok(self.in_list(&parts, types, *negated)),
            Expr::Cast { to, lenient, .. } => Ok(self.cast_to(&parts[0], to, *lenient)),
            _ => self.operation(expr, &parts, types),
        }
    }

    fn arg<'e>(&self, part: &Part<'e>) -> Arg<'e> {
        match part {
            Part::Literal(value) => Arg {
                data_type: value.data_type(),
                nullable: value.is_null(),
                literal: Some(value),
            },
            Part::Node(id) => {
                let node = self.node(*id);
                Arg { data_type: node.data_type.clone(), nullable: node.nullable, literal: None }
            }
        }
    }

    /// Any expression whose parts become arguments as they are.
    fn operation(
        &mut self,
        expr: &Expr,
        parts: &[Part<'_>],
        types: Typed,
    ) -> Result<ExprId, PlanError> {
        let mut args = Vec::with_capacity(parts.len());
        for (part, to) in parts.iter().zip(&types.args) {
            args.push(self.cast_to(part, to, false));
        }
        let op = match expr {
            Expr::Field(position) => ExprOp::Column(*position),
            Expr::Column(name) => ExprOp::Column(self.schema.find(name)? as u32),
            Expr::Literal(value) => ExprOp::Literal(value.clone()),
            Expr::Unary { op, .. } => ExprOp::Unary(*op, args[0]),
            Expr::Binary { op, .. } => self.binary(*op, args[0], args[1]),
            Expr::And(_) | Expr::Or(_) if args.len() == 1 => return Ok(args[0]),
            Expr::And(_) if args.is_empty() => ExprOp::Literal(Scalar::Boolean(true)),
            Expr::Or(_) if args.is_empty() => ExprOp::Literal(Scalar::Boolean(false)),
            Expr::And(_) => ExprOp::And(args),
            Expr::Or(_) => ExprOp::Or(args),
            Expr::Case { branches, .. } => {
                let (pairs, otherwise) = args.split_at(2 * branches.len());
                let pair = |pair: &[ExprId]| (pair[0], pair[1]);
                let branches = pairs.chunks_exact(2).map(pair).collect();
                ExprOp::Case { branches, otherwise: otherwise.first().copied() }
            }
            Expr::Like { escape, ignore_case, negated, .. } => ExprOp::Like {
                expr: args[0],
                pattern: args[1],
                escape: escape.unwrap_or(ESCAPE),
                ignore_case: *ignore_case,
                negated: *negated,
            },
            Expr::Call { function, .. } => ExprOp::Call(*function, args),
            Expr::Udf { udf, .. } => {
                let node = PhysicalExpr {
                    op: ExprOp::Udf(udf.clone(), args),
                    data_type: types.result,
                    nullable: types.nullable,
                };
                return Ok(if udf.deterministic { self.intern(node) } else { self.push(node) });
            }
            _ => return Err(self.not_of_one_row(expr)),
        };
        Ok(self.intern(PhysicalExpr { op, data_type: types.result, nullable: types.nullable }))
    }

    /// Dates and timestamps come first in what is added to them.
    fn binary(&self, op: BinaryOp, left: ExprId, right: ExprId) -> ExprOp {
        let time =
            |id| matches!(self.node(id).data_type, DataType::Date32 | DataType::Timestamp(..));
        if op == BinaryOp::Add && time(right) && !time(left) {
            return ExprOp::Binary(op, right, left);
        }
        ExprOp::Binary(op, left, right)
    }

    /// Constants become a set; what is none is compared by itself.
    fn in_list(&mut self, parts: &[Part<'_>], types: Typed, negated: bool) -> ExprId {
        let Some((value, list)) = parts.split_first() else {
            return self.literal(Scalar::Boolean(negated));
        };
        let wanted = types.args.first().cloned().unwrap_or(DataType::Null);
        let expr = self.cast_to(value, &wanted, false);
        let (mut set, mut has_null, mut others) = (Vec::new(), false, Vec::new());
        for part in list {
            match part {
                Part::Literal(value) if value.is_null() => has_null = true,
                Part::Literal(value) => match fold_cast(value, &wanted) {
                    Some(value) => set.push(value),
                    None => others.push(part),
                },
                Part::Node(_) => others.push(part),
            }
        }
        if list.is_empty() {
            return self.literal(Scalar::Boolean(negated));
        }
        if others.is_empty() {
            let op = ExprOp::InSet { expr, set, has_null, negated };
            return self.truth(op, types.nullable);
        }
        let mut terms = Vec::with_capacity(others.len() + 1);
        if has_null || !set.is_empty() {
            let nullable = has_null || self.node(expr).nullable;
            terms.push(self.truth(ExprOp::InSet { expr, set, has_null, negated: false }, nullable));
        }
        for other in others {
            let other = self.cast_to(other, &wanted, false);
            let nullable = self.node(expr).nullable || self.node(other).nullable;
            terms.push(self.truth(ExprOp::Binary(BinaryOp::Eq, expr, other), nullable));
        }
        let any = match terms[..] {
            [only] => only,
            _ => self.truth(ExprOp::Or(terms), types.nullable),
        };
        if negated { self.truth(ExprOp::Unary(UnaryOp::Not, any), types.nullable) } else { any }
    }

    fn truth(&mut self, op: ExprOp, nullable: bool) -> ExprId {
        self.intern(PhysicalExpr { op, data_type: DataType::Boolean, nullable })
    }

    fn cast_to(&mut self, part: &Part<'_>, to: &DataType, lenient: bool) -> ExprId {
        let expr = match part {
            Part::Node(id) => *id,
            Part::Literal(value) => match fold_cast(value, to) {
                Some(value) => return self.literal(value),
                None => self.literal(span(value, to)),
            },
        };
        let node = self.node(expr);
        if node.data_type == *to {
            return expr;
        }
        let nullable = node.nullable || lenient;
        let op = ExprOp::Cast { expr, lenient };
        self.intern(PhysicalExpr { op, data_type: to.clone(), nullable })
    }

    fn literal(&mut self, value: Scalar) -> ExprId {
        let (data_type, nullable) = (value.data_type(), value.is_null());
        self.intern(PhysicalExpr { op: ExprOp::Literal(value), data_type, nullable })
    }

    /// The place of an equal expression, or a new one.
    fn intern(&mut self, node: PhysicalExpr) -> ExprId {
        let hash = identity::hash(&node);
        let same = |id: &&ExprId| identity::same(self.node(**id), &node);
        if let Some(id) = self.interned.get(&hash).and_then(|ids| ids.iter().find(same)) {
            return *id;
        }
        let id = self.push(node);
        self.interned.entry(hash).or_default().push(id);
        id
    }

    fn push(&mut self, node: PhysicalExpr) -> ExprId {
        self.program.nodes.push(node);
        ExprId(self.program.nodes.len() as u32 - 1)
    }

    fn node(&self, id: ExprId) -> &PhysicalExpr {
        &self.program.nodes[id.0 as usize]
    }

    fn not_of_one_row(&self, expr: &Expr) -> PlanError {
        let (expr, place) = (expr.to_sql(self.schema), "an expression of one row".to_owned());
        if expr.contains(" OVER (") {
            PlanError::WindowNotAllowed { expr, place }
        } else {
            PlanError::AggregateNotAllowed { expr, place }
        }
    }
}

/// An interval that becomes a duration has its days as hours; months have no length, and are refused when it is
/// cast.
fn span(value: &Scalar, to: &DataType) -> Scalar {
    match value {
        Scalar::Interval { months: 0, days, nanos }
            if *to == DataType::Duration(TimeUnit::Microsecond) =>
        {
            let whole =
                i64::from(*days).checked_mul(DAY_NANOS).and_then(|days| days.checked_add(*nanos));
            whole.map_or(value.clone(), |nanos| Scalar::Interval { months: 0, days: 0, nanos })
        }
        other => other.clone(),
    }
}
