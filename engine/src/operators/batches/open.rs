//! From the plan of a stage to a running pipeline.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use millstream_planner::expr::deeper;
use millstream_planner::physical::{JoinStrategy, Op, OpId, Operator, PhysicalPlan, Scan};
use serde::{Deserialize, Serialize};

use super::rowwise::{Coalesce, Expand, Explode, Filter, Limit, Project, Sample};
use super::{AsBatches, Batch, BatchStream, BoxBatches, aggregate, batch_of, join, sort, window};
use crate::executor::{Metrics, TableKey, Task, TaskError};
use crate::io::files::FileTable;
use crate::rdd::Node;

/// What a stage runs, as it travels.
#[derive(Serialize, Deserialize)]
pub(crate) struct StagePlan {
    pub(crate) plan: PhysicalPlan,
    /// What the scans of the plan read, by their number.
    pub(crate) tables: Vec<StageTable>,
}

/// What a scan reads.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum StageTable {
    /// Files.
    Files(Arc<FileTable>),
    /// Batches of the node at this place among the inputs: a table in memory, or persisted.
    Node(u32),
    /// Nothing: the stage does not scan it.
    Elsewhere,
}

/// A running stage: where its operators find what they read.
pub(crate) struct Opener<'a> {
    pub(crate) stage: &'a StagePlan,
    pub(crate) node: &'a Node,
    pub(crate) task: &'a Task,
}

impl Opener<'_> {
    /// The rows of one partition of the stage's result.
    pub(crate) fn open_root(&self, partition: u32) -> Result<BoxBatches, TaskError> {
        match self.stage.plan.root() {
            Some(root) => self.open(root, partition),
            None => Err(TaskError::internal("a stage without operators")),
        }
    }

    fn operator(&self, id: OpId) -> Result<&Operator, TaskError> {
        let plan = &self.stage.plan;
        plan.get(id).ok_or_else(|| TaskError::internal(format!("a plan without operator {}", id.0)))
    }

    fn schema(&self, id: OpId) -> Result<SchemaRef, TaskError> {
        Ok(Arc::clone(&self.operator(id)?.schema))
    }

    /// The rows of one partition of an operator.
    fn open(&self, id: OpId, partition: u32) -> Result<BoxBatches, TaskError> {
        deeper(|| self.open_operator(id, self.operator(id)?, partition))
    }

    fn open_operator(
        &self,
        id: OpId,
        operator: &Operator,
        partition: u32,
    ) -> Result<BoxBatches, TaskError> {
        let schema = Arc::clone(&operator.schema);
        Ok(match &operator.op {
            Op::Scan(scan) => self.scan(scan, schema, partition)?,
            Op::OneRow => one_row(schema),
            Op::Input { index, broadcast, .. } => {
                self.input(*index, schema, if *broadcast { 0 } else { partition })?
            }
            Op::Filter { input, predicate } => {
                Box::new(Filter::new(self.open(*input, partition)?, predicate, partition)?)
            }
            Op::Project { input, columns } => {
                Box::new(Project::new(self.open(*input, partition)?, columns, schema, partition)?)
            }
            Op::Expand { input, projections } => Box::new(Expand::new(
                self.open(*input, partition)?,
                projections,
                schema,
                partition,
            )?),
            Op::Aggregate(spec) => {
                let (input, columns) =
                    (self.open(spec.input, partition)?, self.schema(spec.input)?);
                aggregate::open(spec, schema, columns, input, self.task)?
            }
            Op::Join(spec) => {
                let left = self.open(spec.left, partition)?;
                let right = match spec.strategy {
                    JoinStrategy::Broadcast => self.shared(spec.right, id, partition)?,
                    _ => join::Build::Stream(self.open(spec.right, partition)?),
                };
                let (of_left, of_right) = (self.schema(spec.left)?, self.schema(spec.right)?);
                join::open(spec, schema, left, of_left, right, of_right, self.task)?
            }
            Op::Sort { input, keys, options, fetch } => {
                sort::open(keys, options, *fetch, schema, self.open(*input, partition)?, self.task)?
            }
            Op::Limit { input, skip, fetch } => {
                Box::new(Limit::new(self.open(*input, partition)?, *skip, *fetch))
            }
            Op::Window(spec) => {
                window::open(spec, schema, self.open(spec.input, partition)?, self.task)?
            }
            Op::Union { inputs } => self.union(inputs, schema, partition)?,
            Op::Explode { input, column, outer, position } => {
                let input = self.open(*input, partition)?;
                Box::new(Explode::new(self.task, input, schema, *column, *outer, *position))
            }
            Op::Sample { input, fraction, seed } => {
                Box::new(Sample::new(self.open(*input, partition)?, *fraction, *seed, partition))
            }
            Op::Exchange { .. } => return Err(TaskError::internal("an exchange inside a stage")),
        })
    }

    fn scan(
        &self,
        scan: &Scan,
        schema: SchemaRef,
        partition: u32,
    ) -> Result<BoxBatches, TaskError> {
        let rows = match self.stage.tables.get(scan.table as usize) {
            Some(StageTable::Files(files)) => {
                let predicate = scan.predicate.as_ref();
                files.scan(partition, &scan.projection, predicate, scan.fetch, self.task)?
            }
            Some(StageTable::Node(index)) => {
                let columns: Vec<usize> = scan.projection.iter().map(|at| *at as usize).collect();
                let mut rows = self.read(*index, partition)?;
                let narrow: BoxBatches = Box::new(move || {
                    let Some(batch) = rows.next()? else { return Ok(None) };
                    let columns = columns.iter().map(|at| Arc::clone(batch.column(*at))).collect();
                    Ok(Some(batch_of(&schema, columns, batch.num_rows())?))
                });
                let filtered: BoxBatches = match &scan.predicate {
                    Some(predicate) => Box::new(Filter::new(narrow, predicate, partition)?),
                    None => narrow,
                };
                Box::new(Limit::new(filtered, 0, scan.fetch))
            }
            _ => return Err(TaskError::internal("a scan of no table")),
        };
        Ok(Box::new(Counted { task: Rc::clone(self.task), input: rows }))
    }

    fn read(&self, index: u32, partition: u32) -> Result<BoxBatches, TaskError> {
        let records = self.task.open_parent::<Batch>(self.node, index as usize, partition)?;
        Ok(Box::new(AsBatches::new(records)))
    }

    fn input(
        &self,
        index: u32,
        schema: SchemaRef,
        partition: u32,
    ) -> Result<BoxBatches, TaskError> {
        Ok(Box::new(Coalesce::new(self.read(index, partition)?, schema)))
    }

    /// The build side of a broadcast join. Where it is a stage as it is, tasks of one executor share the table.
    fn shared(&self, id: OpId, join: OpId, partition: u32) -> Result<join::Build, TaskError> {
        let Op::Input { index, broadcast: true, .. } = self.operator(id)?.op else {
            return Ok(join::Build::Stream(self.open(id, partition)?));
        };
        let exchange = self.node.parent(index as usize);
        let Some((exchange, (shuffle, _))) =
            // Where it was written in partitions, what reads them all as one lies between.
            exchange.and_then(|node| Some((node, node.shuffle(0).or_else(|| node.parent(0)?.shuffle(0))?)))
        else {
            return Ok(join::Build::Stream(self.open(id, partition)?));
        };
        let (task, exchange) = (Rc::clone(self.task), Arc::clone(exchange));
        let load = move || -> Result<BoxBatches, TaskError> {
            Ok(Box::new(AsBatches::new(task.open::<Batch>(&exchange, 0)?)))
        };
        let key = TableKey { shuffle, node: self.node.id, operator: join.0 };
        Ok(join::Build::Shared { key, load: Box::new(load) })
    }

    /// The partition of a union is one of one of its inputs.
    fn union(
        &self,
        inputs: &[OpId],
        schema: SchemaRef,
        partition: u32,
    ) -> Result<BoxBatches, TaskError> {
        let mut left = partition;
        for input in inputs {
            let partitions = self.partitions(*input)?;
            if left < partitions {
                let mut rows = self.open(*input, left)?;
                // Names are those of the first input.
                return Ok(Box::new(move || {
                    let Some(batch) = rows.next()? else { return Ok(None) };
                    let columns = batch.columns().to_vec();
                    Ok(Some(batch_of(&schema, columns, batch.num_rows())?))
                }));
            }
            left -= partitions;
        }
        Err(TaskError::internal(format!("a union without partition {partition}")))
    }

    /// The partitions of an operator.
    fn partitions(&self, id: OpId) -> Result<u32, TaskError> {
        deeper(|| match &self.operator(id)?.op {
            Op::Scan(scan) => Ok(scan.partitions),
            Op::OneRow => Ok(1),
            Op::Input { partitions, .. } => Ok(*partitions),
            Op::Union { inputs } => inputs.iter().map(|input| self.partitions(*input)).sum(),
            other => match other.inputs().first() {
                Some(input) => self.partitions(*input),
                None => Ok(1),
            },
        })
    }
}

fn one_row(schema: SchemaRef) -> BoxBatches {
    let mut given = false;
    Box::new(move || {
        let first = !std::mem::replace(&mut given, true);
        first.then(|| batch_of(&schema, Vec::new(), 1)).transpose().map_err(TaskError::from)
    })
}

/// Counts the rows that a scan gives, and lets its task be stopped.
struct Counted {
    task: Task,
    input: BoxBatches,
}

impl BatchStream for Counted {
    fn next(&mut self) -> Result<Option<RecordBatch>, TaskError> {
        self.task.check()?;
        let batch = self.input.next()?;
        let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
        Metrics::add(&self.task.metrics.rows_in, rows as u64);
        Ok(batch)
    }
}
