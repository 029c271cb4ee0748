//! What a macro benchmark prints: a table for people, or one JSON object for programs.

use std::fmt::Write;

use serde_json::{Map, Value};

/// Figures in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    /// Key, label, value.
    figures: Vec<(&'static str, &'static str, Value)>,
}

impl Report {
    /// A report without figures.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), figures: Vec::new() }
    }

    /// Adds a figure: `key` names it in JSON, `label`, with the unit, in the table.
    pub fn add(&mut self, key: &'static str, label: &'static str, value: impl Into<Value>) {
        self.figures.push((key, label, value.into()));
    }

    /// The table, or the JSON object on one line.
    #[must_use]
    pub fn render(&self, json: bool) -> String {
        if json { self.json() } else { self.table() }
    }

    fn json(&self) -> String {
        let mut object = Map::new();
        object.insert("benchmark".to_owned(), Value::from(self.title.as_str()));
        for (key, _, value) in &self.figures {
            object.insert((*key).to_owned(), value.clone());
        }
        format!("{}\n", Value::Object(object))
    }

    fn table(&self) -> String {
        let width = self.figures.iter().map(|(_, label, _)| label.len()).max().unwrap_or(0);
        let mut text = format!("{}\n", self.title);
        for (_, label, value) in &self.figures {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  {label:width$}  {:>12}", shown(value));
        }
        text
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            let digits = if number.abs() < 10.0 { 3 } else { 1 };
            format!("{number:.digits$}")
        }
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// Bytes as MiB.
#[must_use]
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_every_figure() {
        let mut report = Report::new("a benchmark");
        report.add("wall_s", "wall, s", 12.34567);
        report.add("files", "files", 7);
        report.add("ratio", "ratio", 0.25);
        let table =
            ["a benchmark", "  wall, s          12.3", "  files               7"].join("\n");
        assert!(report.render(false).starts_with(&table), "{}", report.render(false));
        let json: Value = serde_json::from_str(&report.render(true)).unwrap();
        assert_eq!(json["wall_s"], 12.34567);
        assert_eq!((&json["files"], &json["benchmark"]), (&7.into(), &"a benchmark".into()));
        assert_eq!(report.render(true).lines().count(), 1);
    }
}
