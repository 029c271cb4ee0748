//! Grouping sets: each row is given once for every set, with NULL for the keys that are not in it, and groups are told
//! apart by the number of their set. No row gives no group, for the empty set either.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::DataType;

use super::super::built::{Built, Spread};
use super::super::{Planner, compile, project};
use crate::error::PlanError;
use crate::expr::{BinaryOp, Expr, ExprRef, Scalar};
use crate::logical::{Field, GroupingSets, Schema};
use crate::optimizer::exprs;
use crate::physical::plan::Op;
use crate::types::infer;

/// By what rows are grouped.
pub(super) enum Grouping {
    /// By all keys.
    One,
    /// By each of these sets of keys.
    Many(Vec<BTreeSet<usize>>),
}

impl Grouping {
    pub(super) fn new(keys: &[Expr], sets: &GroupingSets) -> Self {
        let count = keys.len();
        Self::Many(match sets {
            GroupingSets::Plain => return Self::One,
            GroupingSets::Rollup => (0..=count).rev().map(|end| (0..end).collect()).collect(),
            GroupingSets::Cube => (0..1_u64 << count.min(20))
                .map(|rolled_up| {
                    let is_in = |key: &usize| rolled_up >> (count - 1 - key) & 1 == 0;
                    (0..count).filter(is_in).collect()
                })
                .collect(),
            GroupingSets::Sets(sets) => {
                sets.iter().map(|set| set.iter().copied().collect()).collect()
            }
        })
    }

    /// How many keys there are after expansion, of `keys` that the program has given.
    pub(super) fn keys(&self, keys: usize) -> usize {
        match self {
            Self::One => keys,
            Self::Many(_) => keys + 2,
        }
    }

    /// `grouping_id` over the grouped columns: the bits of `args`, or of all keys where there are none, the first one
    /// highest; set where the key is rolled up.
    pub(super) fn id(&self, keys: &[Expr], args: &[ExprRef]) -> Expr {
        let literal = |value: i64| Expr::Literal(Scalar::Int64(value));
        if matches!(self, Self::One) {
            return literal(0);
        }
        let id = Expr::Field(keys.len() as u32);
        if args.is_empty() {
            return id;
        }
        let binary = |op, left: Expr, right: Expr| Expr::Binary {
            op,
            left: left.into(),
            right: right.into(),
        };
        args.iter().fold(literal(0), |bits, arg| {
            let place = keys.iter().position(|key| key == exprs::unalias(arg)).unwrap_or(0);
            let shift = Expr::Literal(Scalar::Int32((keys.len() - 1 - place) as i32));
            let bit = binary(BinaryOp::ShiftRight, id.clone(), shift);
            let bit = binary(BinaryOp::BitAnd, bit, literal(1));
            let moved = binary(BinaryOp::ShiftLeft, bits, Expr::Literal(Scalar::Int32(1)));
            binary(BinaryOp::BitOr, moved, bit)
        })
    }
}

impl Planner<'_> {
    /// Gives each row once for every set. What comes back beside: the keys and aggregates over the expanded columns.
    pub(super) fn expand(
        &mut self,
        input: &Built,
        keys: &[Expr],
        sets: &[BTreeSet<usize>],
        calls: &[Expr],
    ) -> Result<(Built, Vec<Expr>, Vec<Expr>), PlanError> {
        let used: BTreeSet<u32> = calls.iter().flat_map(exprs::fields).collect();
        let used: Vec<u32> = used.into_iter().collect();
        let types = keys
            .iter()
            .map(|key| Ok(infer(key, &input.schema)?.0))
            .collect::<Result<Vec<DataType>, PlanError>>()?;
        let projections = sets
            .iter()
            .enumerate()
            .map(|(number, set)| {
                let mut columns: Vec<Expr> = keys
                    .iter()
                    .enumerate()
                    .map(|(at, key)| match set.contains(&at) {
                        true => key.clone(),
                        false => Expr::Literal(Scalar::Null(types[at].clone())),
                    })
                    .collect();
                columns.push(Expr::Literal(Scalar::Int64(rolled_up(set, keys.len()))));
                columns.push(Expr::Literal(Scalar::Int64(number as i64)));
                columns.extend(used.iter().copied().map(Expr::Field));
                compile(&columns, &input.schema)
            })
            .collect::<Result<Vec<_>, PlanError>>()?;
        let schema = expanded_schema(keys, &types, &used, &input.schema);
        let schema = match projections.first() {
            // What some sets give as NULL may be NULL; the other columns are as they are.
            Some(program) => {
                let mut given = project::given(program, &schema);
                given.fields[..keys.len()].iter_mut().for_each(|key| key.nullable = true);
                given
            }
            None => schema,
        };
        let rows = input.rows.map(|rows| rows.saturating_mul(sets.len() as u64));
        let id = self.operators.push(Op::Expand { input: input.id, projections }, &schema, rows);
        let first = keys.len() + 2;
        let place =
            |index: u32| (first + used.iter().position(|used| *used == index).unwrap_or(0)) as u32;
        let calls = calls.iter().map(|call| exprs::remap(call, place)).collect();
        let keys = (0..first as u32).map(Expr::Field).collect();
        let spread = Spread::of(input.spread.partitions);
        let built = Built {
            id,
            schema: Arc::new(schema),
            spread,
            rows,
            width: None,
            scanned: input.scanned,
        };
        Ok((built, keys, calls))
    }
}

/// The keys that are not in the set, as bits, the first one highest.
fn rolled_up(set: &BTreeSet<usize>, keys: usize) -> i64 {
    (0..keys).fold(0, |bits, key| bits << 1 | i64::from(!set.contains(&key)))
}

fn expanded_schema(keys: &[Expr], types: &[DataType], used: &[u32], input: &Schema) -> Schema {
    let field = |name: Arc<str>, data_type: DataType| Field {
        qualifier: None,
        name,
        data_type,
        nullable: true,
    };
    let mut fields: Vec<Field> = keys
        .iter()
        .zip(types)
        .map(|(key, data_type)| {
            let known = exprs::as_field(key).and_then(|index| input.fields.get(index as usize));
            let name = known.map_or_else(|| key.to_sql(input).into(), |known| known.name.clone());
            field(name, data_type.clone())
        })
        .collect();
    fields.push(field("grouping_id".into(), DataType::Int64));
    fields.push(field("grouping_set".into(), DataType::Int64));
    fields.extend(used.iter().map(|index| input.fields[*index as usize].clone()));
    Schema { fields }
}
