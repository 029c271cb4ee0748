//! What is said of the aggregates and window functions in an expression.

use super::{
    AggregateFn, Expr, ExprRef, ScalarFn, UnaryOp, WindowFn, WindowSpec, any, rewrite, when,
};

impl Expr {
    /// Its aggregates and window functions over a window; what is not in them is of the current row.
    ///
    /// ```
    /// use millstream_planner::expr::{col, functions_api::{rank, sum}, window};
    ///
    /// let by_store = window().partition_by(["store"]);
    /// let share = (col("sales") / sum("sales")).over(by_store.clone());
    /// let place = rank().over(by_store.order_by([col("sales").desc()]));
    /// ```
    #[must_use]
    pub fn over(self, window: WindowSpec) -> Self {
        rewrite(&self, &mut |part| match part {
            Self::Window { function, args, ignore_nulls, .. } => Some(Self::Window {
                function: *function,
                args: args.clone(),
                window: window.clone(),
                ignore_nulls: *ignore_nulls,
            }),
            Self::Aggregate { function, args, distinct, filter } => {
                Some(windowed(*function, args, *distinct, filter.as_ref(), &window))
            }
            _ => None,
        })
    }

    /// Its aggregates over the rows for which a condition holds. What has no aggregate is NULL in other rows.
    ///
    /// ```
    /// use millstream_planner::expr::{col, functions_api::count_star};
    ///
    /// let late = count_star().filter(col("received").gt(col("promised")));
    /// ```
    #[must_use]
    pub fn filter(self, condition: impl Into<Expr>) -> Self {
        let condition: ExprRef = condition.into().into();
        if !any(&self, |part| matches!(part, Self::Aggregate { .. })) {
            return when((*condition).clone(), self).into();
        }
        self.aggregates(|_, _, filter| {
            let both = filter.take().map_or_else(
                || condition.clone(),
                |before| (*before).clone().and((*condition).clone()).into(),
            );
            *filter = Some(both);
        })
    }

    /// Its aggregates over each different value once.
    ///
    /// ```
    /// use millstream_planner::expr::functions_api::count;
    ///
    /// let customers = count("customer").distinct();
    /// ```
    #[must_use]
    pub fn distinct(self) -> Self {
        self.aggregates(|_, distinct, _| *distinct = true)
    }

    /// Passes over NULLs in the first and last value, and in the window functions `lag`, `lead` and `nth_value`.
    #[must_use]
    pub fn ignore_nulls(self) -> Self {
        rewrite(&self, &mut |part| match part {
            Self::Window { function, args, window, .. } => Some(Self::Window {
                function: *function,
                args: args.clone(),
                window: window.clone(),
                ignore_nulls: true,
            }),
            Self::Aggregate { function: AggregateFn::First | AggregateFn::Last, args, .. } => {
                Some(part.clone().filter((*args[0]).clone().is_not_null()))
            }
            _ => None,
        })
    }

    /// The expression with something changed in its aggregates: whether they are distinct, and their filters.
    fn aggregates(self, change: impl Fn(AggregateFn, &mut bool, &mut Option<ExprRef>)) -> Self {
        rewrite(&self, &mut |part| match part {
            Self::Aggregate { function, args, distinct, filter } => {
                let (mut distinct, mut filter) = (*distinct, filter.clone());
                change(*function, &mut distinct, &mut filter);
                Some(Self::Aggregate { function: *function, args: args.clone(), distinct, filter })
            }
            _ => None,
        })
    }
}

/// An aggregate as a window function. These have neither filter nor DISTINCT: a filter becomes a case where NULLs are
/// passed over anyway, `count(distinct x)` the length of the set. What has no such form keeps the aggregate as its
/// argument, which is refused when a plan is built.
fn windowed(
    function: AggregateFn,
    args: &[ExprRef],
    distinct: bool,
    filter: Option<&ExprRef>,
    window: &WindowSpec,
) -> Expr {
    use AggregateFn as F;
    let over = |function, args, ignore_nulls| Expr::Window {
        function,
        args,
        window: window.clone(),
        ignore_nulls,
    };
    let not_null = |condition: &ExprRef| match &**condition {
        Expr::Unary { op: UnaryOp::IsNotNull, expr } => args.first() == Some(expr),
        _ => false,
    };
    match (function, filter) {
        (F::First | F::Last, _) if !distinct && filter.is_none_or(not_null) => {
            let function =
                if function == F::First { WindowFn::FirstValue } else { WindowFn::LastValue };
            return over(function, args.to_vec(), filter.is_some());
        }
        (F::First | F::Last | F::GroupingId, Some(_)) => {}
        (F::Count, _) if distinct && args.len() == 1 => {
            let set = over(WindowFn::Aggregate(F::CollectSet), cases(args, filter), false);
            let length = Expr::Call { function: ScalarFn::ListLength, args: vec![set.into()] };
            return length.cast(arrow_schema::DataType::Int64);
        }
        _ if !distinct || matches!(function, F::Min | F::Max) => {
            return over(WindowFn::Aggregate(function), cases(args, filter), false);
        }
        _ => {}
    }
    let aggregate =
        Expr::Aggregate { function, args: args.to_vec(), distinct, filter: filter.cloned() };
    over(WindowFn::Aggregate(function), vec![aggregate.into()], false)
}

/// The arguments, NULL where the filter does not hold.
fn cases(args: &[ExprRef], filter: Option<&ExprRef>) -> Vec<ExprRef> {
    let Some(filter) = filter else { return args.to_vec() };
    let case = |value: Expr| ExprRef::from(Expr::from(when((**filter).clone(), value)));
    if args.is_empty() {
        return vec![case(Expr::from(1))];
    }
    args.iter().map(|arg| case((**arg).clone())).collect()
}
