//! What built-in functions take and give, one family a file.

mod aggregate;
mod call;
mod lists;
mod math;
mod strings;
mod times;

pub(super) use aggregate::aggregate;
pub(super) use call::{Call, Kind};

use super::rules::{Arg, Site, Typed};
use crate::error::PlanError;
use crate::expr::ScalarFn;

/// The types of a call of a function of one row.
pub(super) fn scalar(
    function: ScalarFn,
    args: &[Arg<'_>],
    site: Site<'_>,
) -> Result<Typed, PlanError> {
    let call = Call { name: function.name(), args, site };
    let families = [math::typed, strings::typed, times::typed, lists::typed];
    let found = families.iter().find_map(|family| family(function, &call));
    found.unwrap_or_else(|| Err(site.invalid(format!("{} is no function", function.name()))))
}
