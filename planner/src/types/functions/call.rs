//! Arguments against the kinds a function takes.

use arrow_schema::{DataType, TimeUnit};

use super::super::coerce::{can_cast, is_hashable, is_orderable, normal};
use super::super::rules::{Arg, Site, Typed, common};
use crate::error::PlanError;
use crate::expr::Scalar;

/// A call to be typed.
#[derive(Clone, Copy)]
pub(in super::super) struct Call<'a> {
    pub(in super::super) name: &'a str,
    pub(in super::super) args: &'a [Arg<'a>],
    pub(in super::super) site: Site<'a>,
}

/// What a function takes as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Kind {
    /// Anything.
    Any,
    /// What can be ordered.
    Ordered,
    /// What can be told apart.
    Hashed,
    /// A number, as it is.
    Number,
    /// A number, as a double.
    Double,
    /// An integer, as it is.
    Integer,
    /// An integer, as an `int`.
    Int,
    /// An integer, as a `bigint`.
    Long,
    Boolean,
    String,
    /// Anything that can be written, as a string.
    Written,
    Binary,
    /// A string or bytes, as they are.
    Bytes,
    /// A date; of a timestamp, its day.
    Date,
    /// A timestamp; of a date, its midnight.
    Timestamp,
    /// A date or timestamp, as it is.
    Time,
    /// A calendar interval.
    Interval,
    List,
    Map,
    Struct,
}

impl Kind {
    /// The type an argument is cast to, if it is of this kind.
    fn accept(self, arg: &Arg<'_>) -> Option<DataType> {
        let given = normal(&arg.data_type);
        let null = given == DataType::Null;
        let of = |fits: bool| fits.then(|| given.clone());
        let as_type = |fits: bool, data_type: DataType| (fits || null).then_some(data_type);
        let text = given == DataType::Utf8View;
        let date_text = text && arg.literal.is_some();
        match self {
            Self::Any => Some(given),
            Self::Ordered => of(is_orderable(&given)),
            Self::Hashed => of(is_hashable(&given)),
            Self::Number if null => Some(DataType::Float64),
            Self::Number => of(given.is_numeric()),
            Self::Double => as_type(given.is_numeric(), DataType::Float64),
            Self::Integer if null => Some(DataType::Int32),
            Self::Integer => of(given.is_integer()),
            Self::Int => as_type(given.is_integer(), DataType::Int32),
            Self::Long => as_type(given.is_integer(), DataType::Int64),
            Self::Boolean => as_type(given == DataType::Boolean, DataType::Boolean),
            Self::String => as_type(text, DataType::Utf8View),
            Self::Written => can_cast(&given, &DataType::Utf8View).then_some(DataType::Utf8View),
            Self::Binary => as_type(text || given == DataType::BinaryView, DataType::BinaryView),
            Self::Bytes if null => Some(DataType::Utf8View),
            Self::Bytes => of(text || given == DataType::BinaryView),
            Self::Date => as_type(is_time(&given) || date_text, DataType::Date32),
            Self::Timestamp => match &given {
                DataType::Timestamp(..) => Some(given),
                other => as_type(*other == DataType::Date32 || date_text, timestamp()),
            },
            Self::Time if null || date_text => Some(timestamp()),
            Self::Time => of(is_time(&given)),
            Self::Interval => of(matches!(given, DataType::Interval(_))),
            Self::List => of(matches!(given, DataType::List(_))),
            Self::Map => of(matches!(given, DataType::Map(..))),
            Self::Struct => of(matches!(given, DataType::Struct(_))),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Ordered => "a value that can be ordered",
            Self::Hashed => "a value that can be compared",
            Self::Number | Self::Double => "a number",
            Self::Integer | Self::Int | Self::Long => "an integer",
            Self::Boolean => "a boolean",
            Self::String => "a string",
            Self::Written => "a value that can be written as a string",
            Self::Binary | Self::Bytes => "a string or binary",
            Self::Date | Self::Timestamp | Self::Time => "a date or timestamp",
            Self::Interval => "an interval",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Struct => "a struct",
        }
    }
}

/// A timestamp without zone.
pub(in super::super) fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Timestamp(..))
}

/// Arguments that have been checked; what is given is said next.
pub(in super::super) struct Taken<'a> {
    call: Call<'a>,
    pub(in super::super) types: Vec<DataType>,
}

impl<'a> Call<'a> {
    /// Takes exactly these.
    pub(in super::super) fn takes(&self, kinds: &[Kind]) -> Result<Taken<'a>, PlanError> {
        self.takes_from(kinds.len(), kinds)
    }

    /// Takes these, of which those after the first `required` may be left out.
    pub(in super::super) fn takes_from(
        &self,
        required: usize,
        kinds: &[Kind],
    ) -> Result<Taken<'a>, PlanError> {
        if !(required..=kinds.len()).contains(&self.args.len()) {
            let expected = if required == kinds.len() {
                required.to_string()
            } else {
                format!("{required} to {}", kinds.len())
            };
            return Err(self.site.count(self.name, &expected, self.args.len()));
        }
        self.accept(|position| kinds[position])
    }

    /// Takes these, then any number of `rest`.
    pub(in super::super) fn takes_many(
        &self,
        kinds: &[Kind],
        rest: Kind,
    ) -> Result<Taken<'a>, PlanError> {
        if self.args.len() < kinds.len() {
            let expected = format!("at least {}", kinds.len());
            return Err(self.site.count(self.name, &expected, self.args.len()));
        }
        self.accept(|position| kinds.get(position).copied().unwrap_or(rest))
    }

    /// Takes values of one common type, `least` of them at least.
    pub(in super::super) fn takes_common(&self, least: usize) -> Result<Taken<'a>, PlanError> {
        if self.args.len() < least {
            return Err(self.site.count(self.name, &format!("at least {least}"), self.args.len()));
        }
        let common = common(self.args.iter(), self.name, self.site)?;
        Ok(Taken { call: *self, types: vec![common; self.args.len()] })
    }

    fn accept(&self, kind: impl Fn(usize) -> Kind) -> Result<Taken<'a>, PlanError> {
        let accept = |(position, arg): (usize, &Arg<'_>)| {
            let kind = kind(position);
            kind.accept(arg)
                .ok_or_else(|| self.site.argument(self.name, position, kind.words(), arg))
        };
        let types = self.args.iter().enumerate().map(accept).collect::<Result<_, _>>()?;
        Ok(Taken { call: *self, types })
    }

    /// The value of an argument that must be written out. `position` counts from 0.
    pub(in super::super) fn constant(&self, position: usize) -> Result<&'a Scalar, PlanError> {
        self.args.get(position).and_then(|arg| arg.literal).ok_or_else(|| {
            let reason = format!("argument {} of {} must be a constant", position + 1, self.name);
            self.site.invalid(reason)
        })
    }

    pub(in super::super) fn any_nullable(&self) -> bool {
        self.args.iter().any(|arg| arg.nullable)
    }
}

impl Taken<'_> {
    /// Gives this type; NULL if an argument is.
    pub(in super::super) fn gives(self, result: DataType) -> Typed {
        let nullable = self.call.any_nullable();
        Typed { args: self.types, result, nullable }
    }

    /// Gives this type, or NULL.
    pub(in super::super) fn gives_or_null(self, result: DataType) -> Typed {
        Typed { args: self.types, result, nullable: true }
    }

    /// Gives this type, NULL only if all arguments are.
    pub(in super::super) fn gives_unless_all_null(self, result: DataType) -> Typed {
        let nullable = self.call.args.iter().all(|arg| arg.nullable);
        Typed { args: self.types, result, nullable }
    }

    /// Gives this type, never NULL.
    pub(in super::super) fn gives_always(self, result: DataType) -> Typed {
        Typed { args: self.types, result, nullable: false }
    }

    /// Gives the type of its first argument.
    pub(in super::super) fn gives_first(self) -> Typed {
        let result = self.first();
        self.gives(result)
    }

    /// The type of its first argument.
    pub(in super::super) fn first(&self) -> DataType {
        self.types.first().cloned().unwrap_or(DataType::Null)
    }
}
