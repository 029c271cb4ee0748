//! TPC-H: its queries as frames, its tables, and its answers.

mod answers;
pub mod queries;

use std::path::Path;

use millstream::{Context, DataFrame, Error};
use millstream_examples::tpch::path_of;

pub use answers::{Answers, Difference};

/// The tables of a scale.
pub struct Tables {
    scale: f64,
    frames: Vec<(&'static str, DataFrame)>,
}

impl Tables {
    /// The tables in a directory, as `millstream_examples::tpch` makes them.
    ///
    /// # Errors
    /// If a table is not there or cannot be read.
    pub fn open(context: &Context, dir: &Path, scale: f64) -> Result<Self, Error> {
        let open = |table: &'static str| {
            let path = path_of(dir, table).unwrap_or_else(|| dir.join(table));
            Ok((table, context.read().parquet(path.display().to_string())?))
        };
        let frames = millstream_examples::tpch::TABLES.into_iter().map(open);
        Ok(Self { scale, frames: frames.collect::<Result<_, Error>>()? })
    }

    /// The scale factor.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    fn table(&self, name: &str) -> DataFrame {
        let found = self.frames.iter().find(|(table, _)| *table == name);
        match found {
            Some((_, frame)) => frame.clone(),
            // All tables were opened.
            None => unreachable!("no table {name}"),
        }
    }

    /// What was ordered.
    #[must_use]
    pub fn lineitem(&self) -> DataFrame {
        self.table("lineitem")
    }

    /// Orders.
    #[must_use]
    pub fn orders(&self) -> DataFrame {
        self.table("orders")
    }

    /// Which supplier has which part.
    #[must_use]
    pub fn partsupp(&self) -> DataFrame {
        self.table("partsupp")
    }

    /// Parts.
    #[must_use]
    pub fn part(&self) -> DataFrame {
        self.table("part")
    }

    /// Customers.
    #[must_use]
    pub fn customer(&self) -> DataFrame {
        self.table("customer")
    }

    /// Suppliers.
    #[must_use]
    pub fn supplier(&self) -> DataFrame {
        self.table("supplier")
    }

    /// Nations.
    #[must_use]
    pub fn nation(&self) -> DataFrame {
        self.table("nation")
    }

    /// Regions.
    #[must_use]
    pub fn region(&self) -> DataFrame {
        self.table("region")
    }
}
