//! An analysis for people: figures to the left, in columns, so that they stay aligned whatever the operators are like;
//! the operators to the right. A bar shows where the time went.

use std::fmt;
use std::time::Duration;

use millstream_shuffle::store::human::Human;

use super::{Analysis, OperatorFigures, StageFigures};

/// The longest bar.
const BAR_CHARS: usize = 8;

impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work: Duration = self.stages.iter().map(StageFigures::time).sum();
        let tasks: usize = self.stages.iter().map(|stage| stage.tasks).sum();
        let operators = || self.stages.iter().flat_map(|stage| stage.lines());
        let spilled: u64 = operators().map(|operator| operator.spilled_bytes).sum();
        write!(f, "{}: {} of work in {tasks} tasks", time(self.wall), time(work))?;
        if spilled > 0 {
            write!(f, ", {} spilled", Human(spilled))?;
        }
        writeln!(f)?;
        let hottest = operators().map(|operator| operator.time).max().unwrap_or_default();
        let scale = Scale { work, hottest };
        for stage in &self.stages {
            writeln!(f)?;
            stage.write(f, scale)?;
        }
        Ok(())
    }
}

/// What times are compared with.
#[derive(Clone, Copy)]
struct Scale {
    work: Duration,
    hottest: Duration,
}

impl StageFigures {
    fn lines(&self) -> impl Iterator<Item = &OperatorFigures> {
        std::iter::once(&self.output).chain(&self.operators)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, scale: Scale) -> fmt::Result {
        writeln!(f, "stage {}: {}", self.number, self.title)?;
        write!(f, "  {} of work", time(self.time()))?;
        match self.tasks {
            0 => write!(f, ", no task ran")?,
            1 => {}
            _ => {
                let (median, max) = (time(self.task_median), time(self.task_max));
                write!(f, "; a task took {median} in the median, {max} at most")?;
            }
        }
        if self.memory_peak > 0 {
            write!(f, "; {} of memory at most in one", Human(self.memory_peak))?;
        }
        if !self.sampling.is_zero() {
            write!(f, "; {} more to find the bounds of ranges", time(self.sampling))?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "  {:>9} {:>4} {:<BAR_CHARS$} {:>11} {:>8} {:>10} {:>10}  operator",
            "time", "", "", "rows", "batches", "bytes", "memory"
        )?;
        self.lines().try_for_each(|operator| operator.write(f, scale))
    }
}

impl OperatorFigures {
    fn write(&self, f: &mut fmt::Formatter<'_>, scale: Scale) -> fmt::Result {
        // Nobody opened it.
        let idle = self.time.is_zero() && self.rows == 0;
        if self.name.is_empty() || idle {
            let blank = "";
            return writeln!(f, "  {blank:>width$}  {}", self.text, width = 66);
        }
        let share = ratio(self.time, scale.work);
        let bar = "#".repeat((ratio(self.time, scale.hottest) * BAR_CHARS as f64).round() as usize);
        write!(
            f,
            "  {:>9} {:>3.0}% {bar:<BAR_CHARS$} {:>11} {:>8} {:>10} {:>10}  {}",
            time(self.time),
            share * 100.0,
            grouped(self.rows),
            some(self.batches, grouped),
            some(self.bytes, |bytes| Human(bytes).to_string()),
            some(self.memory_peak, |bytes| Human(bytes).to_string()),
            self.text
        )?;
        if self.spilled_bytes > 0 {
            let cause = self.spill_cause.map_or("", |cause| cause.name());
            write!(f, "  [spilled {}: {cause}]", Human(self.spilled_bytes))?;
        }
        if self.time == scale.hottest && !self.time.is_zero() {
            write!(f, "  <- most of the time")?;
        }
        writeln!(f)
    }
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

/// Nothing for nothing.
fn some(n: u64, show: impl Fn(u64) -> String) -> String {
    if n == 0 { String::new() } else { show(n) }
}

/// `1,234,567`
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Three digits or so, in the unit that reads best.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        0.0..0.001 => format!("{:.0} us", seconds * 1e6),
        0.001..1.0 => format!("{:.1} ms", seconds * 1e3),
        1.0..100.0 => format!("{seconds:.2} s"),
        _ => format!("{seconds:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use millstream_shuffle::budget::SpillCause;

    use super::*;

    fn operator(text: &str, name: &'static str, rows: u64, millis: u64) -> OperatorFigures {
        OperatorFigures {
            text: text.to_owned(),
            name,
            rows,
            batches: rows.div_ceil(8192),
            bytes: rows * 8,
            time: Duration::from_millis(millis),
            memory_peak: 0,
            spilled_bytes: 0,
            spill_cause: None,
        }
    }

    #[test]
    fn figures_stand_in_columns_before_the_operators() {
        let sort = OperatorFigures {
            memory_peak: 3 << 20,
            spilled_bytes: 40 << 20,
            spill_cause: Some(SpillCause::Refused),
            ..operator("Sort [id]", "sort", 1_000_000, 1500)
        };
        let stage = StageFigures {
            number: 0,
            title: "4 tasks, result".to_owned(),
            tasks: 4,
            task_median: Duration::from_millis(480),
            task_max: Duration::from_millis(700),
            memory_peak: 4 << 20,
            sampling: Duration::ZERO,
            output: operator("Result", "result", 1_000_000, 0),
            operators: vec![
                sort,
                operator("Scan range [id], 4 partitions", "scan", 1_000_000, 500),
            ],
        };
        let analysis = Analysis { wall: Duration::from_millis(710), stages: vec![stage] };
        let known = "\
710.0 ms: 2.00 s of work in 4 tasks, 40.0 MiB spilled

stage 0: 4 tasks, result
  2.00 s of work; a task took 480.0 ms in the median, 700.0 ms at most; 4.0 MiB of memory at most in one
       time                      rows  batches      bytes     memory  operator
       0 us   0%            1,000,000      123    7.6 MiB             Result
     1.50 s  75% ########   1,000,000      123    7.6 MiB    3.0 MiB  Sort [id]  [spilled 40.0 MiB: refused]  <- most of the time
   500.0 ms  25% ###        1,000,000      123    7.6 MiB             Scan range [id], 4 partitions
";
        assert_eq!(analysis.to_string(), known);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
