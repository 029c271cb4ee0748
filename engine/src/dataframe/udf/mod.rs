//! Functions of the user's in expressions: closures over the values of a row, or over whole columns.
//!
//! As closures of an `Rdd`, they travel by the identity of their code and so capture nothing; state is handed over openly.

mod values;

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use millstream_planner::expr::{Expr, Udf as UdfSpec};
use serde::{Deserialize, Serialize};

pub use values::{UdfArg, UdfClosure, UdfResult};

use super::names::IntoColumns;
use crate::closure::{CodeError, CodeId, Entry, Params, assert_zero_sized, conjure};
use crate::error::Error;
use crate::rdd::{Data, Portable};

/// What a function of the user's is compiled to.
pub(crate) type UdfEntry = fn(&Params, &[ArrayRef], usize) -> Result<ArrayRef, String>;

/// A function that can be called in expressions.
#[derive(Clone, Debug)]
pub struct Udf {
    spec: UdfSpec,
}

impl Udf {
    /// The function of these columns, or values.
    #[must_use]
    pub fn call(&self, args: impl IntoColumns) -> Expr {
        let args = args.into_columns().into_iter().map(Into::into).collect();
        Expr::Udf { udf: self.spec.clone(), args }
    }

    /// The same, which may give different results for equal arguments: it reads a clock, random numbers or the outside
    /// world. Recovery then takes care not to mix two runs.
    #[must_use]
    pub fn indeterminate(mut self) -> Self {
        self.spec.deterministic = false;
        self
    }
}

/// A function of the values of a row, of one to four arguments. Where an argument is NULL the result is, unless the
/// closure takes an `Option`. It gives a value, an `Option` for one that may be NULL, or a `Result` whose error fails the
/// job.
///
/// # Errors
/// If the executable cannot be read, by which the code is identified.
///
/// # Example
/// ```
/// # fn main() -> Result<(), millstream::Error> {
/// use millstream::{functions::col, udf};
/// let context = millstream::Context::local("udf")?;
/// let shout = udf("shout", |word: String| format!("{word}!"))?;
/// let words = context.from_rows(["hey".to_owned(), "you".to_owned()].map(|word| (word,)))?;
/// let loud = words.rename_all(["word"]).select([shout.call(["word"])]);
/// assert_eq!(loud.collect_rows::<(String,)>()?, [("hey!".into(),), ("you!".into(),)]);
/// # Ok(())
/// # }
/// ```
pub fn udf<Args, F>(name: &str, f: F) -> Result<Udf, Error>
where
    Args: 'static,
    F: UdfClosure<Args> + Portable,
{
    assert_zero_sized!(F, "udf_columns_with");
    let _ = f;
    made::<OfRow<Args, F>>(name, (), F::arg_types(), F::result_type())
}

/// A function of whole columns: it is given as many values for each argument, and gives as many.
///
/// # Errors
/// As [`udf`].
pub fn udf_columns<F>(
    name: &str,
    args: impl IntoIterator<Item = DataType>,
    result: DataType,
    f: F,
) -> Result<Udf, Error>
where
    F: Fn(&[ArrayRef]) -> Result<ArrayRef, String> + Portable,
{
    assert_zero_sized!(F, "udf_columns_with");
    let _ = f;
    made::<OfColumns<F>>(name, (), args.into_iter().collect(), result)
}

/// [`udf_columns`] that also sees `state`.
///
/// # Errors
/// As [`udf`].
pub fn udf_columns_with<S: Data, F>(
    name: &str,
    state: S,
    args: impl IntoIterator<Item = DataType>,
    result: DataType,
    f: F,
) -> Result<Udf, Error>
where
    F: Fn(&S, &[ArrayRef]) -> Result<ArrayRef, String> + Portable,
{
    assert_zero_sized!(F, "udf_columns_with");
    let _ = f;
    made::<OfColumnsWith<S, F>>(name, state, args.into_iter().collect(), result)
}

/// The code of a kind of function.
trait Code: 'static {
    type State: Data;

    fn call(state: &Self::State, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, String>;
}

fn run<C: Code>(state: &Params, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, String> {
    match state.downcast_ref::<C::State>() {
        Some(state) => C::call(state, args, rows),
        None => Err(format!("its state is no {}", type_name::<C::State>())),
    }
}

struct OfRow<Args, F>(PhantomData<fn() -> (Args, F)>);

impl<Args: 'static, F: UdfClosure<Args> + Portable> Code for OfRow<Args, F> {
    type State = ();

    fn call((): &(), args: &[ArrayRef], rows: usize) -> Result<ArrayRef, String> {
        conjure::<F>().over(args, rows)
    }
}

struct OfColumns<F>(PhantomData<fn() -> F>);

impl<F: Fn(&[ArrayRef]) -> Result<ArrayRef, String> + Portable> Code for OfColumns<F> {
    type State = ();

    fn call((): &(), args: &[ArrayRef], _: usize) -> Result<ArrayRef, String> {
        conjure::<F>()(args)
    }
}

struct OfColumnsWith<S, F>(PhantomData<fn() -> (S, F)>);

impl<S: Data, F> Code for OfColumnsWith<S, F>
where
    F: Fn(&S, &[ArrayRef]) -> Result<ArrayRef, String> + Portable,
{
    type State = S;

    fn call(state: &S, args: &[ArrayRef], _: usize) -> Result<ArrayRef, String> {
        conjure::<F>()(state, args)
    }
}

/// The code of a function as it travels.
#[derive(Serialize, Deserialize)]
struct Sent {
    id: CodeId,
    state: Vec<u8>,
}

fn made<C: Code>(
    name: &str,
    state: C::State,
    args: Vec<DataType>,
    result: DataType,
) -> Result<Udf, Error> {
    let entry: &'static Entry<UdfEntry> =
        const { &Entry::new::<C::State>(type_name::<C>, run::<C> as UdfEntry) };
    let params: Params = Arc::new(state);
    let sent = Sent { id: entry.id()?, state: entry.encode(&params)? };
    let code = postcard::to_stdvec(&sent).map_err(|error| CodeError::Params(error.to_string()))?;
    let code = Arc::from(code);
    Ok(Udf { spec: UdfSpec { name: name.into(), code, args, result, deterministic: true } })
}

/// The function of a plan, from its code as it has travelled.
pub(crate) fn resolve(code: &[u8]) -> Result<(UdfEntry, Params), CodeError> {
    let sent: Sent =
        postcard::from_bytes(code).map_err(|error| CodeError::Params(error.to_string()))?;
    let entry = sent.id.resolve::<UdfEntry>()?;
    Ok((*entry.code(), entry.decode(&sent.state)?))
}
