//! Draws samples as bars and takes them away again. Counts nothing itself.

use indicatif::{
    HumanBytes, HumanCount, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle,
};
use millstream_planner::ids::StageId;

use super::board::StageSample;

const TEMPLATE: &str = "{prefix:28!} [{bar:24}] {pos}/{len} {wide_msg}";

pub(super) struct View {
    screen: MultiProgress,
    bars: Vec<(StageId, ProgressBar)>,
    style: ProgressStyle,
}

impl View {
    pub(super) fn on(target: ProgressDrawTarget) -> Self {
        let style = ProgressStyle::with_template(TEMPLATE)
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        Self { screen: MultiProgress::with_draw_target(target), bars: Vec::new(), style }
    }

    /// Shows a bar for each sample and no others.
    pub(super) fn draw(&mut self, samples: &[StageSample]) {
        self.bars.retain(|(stage, bar)| {
            let stays = samples.iter().any(|sample| sample.stage == *stage);
            if !stays {
                remove(&self.screen, bar);
            }
            stays
        });
        for sample in samples {
            let bar = self.bar(sample.stage);
            bar.set_prefix(sample.name.clone());
            bar.set_length(sample.partitions);
            bar.set_position(sample.done);
            bar.set_message(describe(sample));
        }
    }

    /// Leaves the terminal as it was.
    pub(super) fn clear(&mut self) {
        self.draw(&[]);
    }

    fn bar(&mut self, stage: StageId) -> ProgressBar {
        if let Some((_, bar)) = self.bars.iter().find(|(shown, _)| *shown == stage) {
            return bar.clone();
        }
        let bar = self.screen.add(ProgressBar::new(0).with_style(self.style.clone()));
        self.bars.push((stage, bar.clone()));
        bar
    }
}

fn remove(screen: &MultiProgress, bar: &ProgressBar) {
    bar.finish_and_clear();
    screen.remove(bar);
}

/// The text behind a bar: `8 running, 1,234,567 rows/s, 12.00 MiB spilled`.
fn describe(sample: &StageSample) -> String {
    let mut text = format!("{} running", sample.running);
    if let Some(rate) = rate(sample) {
        text.push_str(", ");
        text.push_str(&rate);
    }
    if sample.spilled_bytes > 0 {
        text.push_str(&format!(", {} spilled", HumanBytes(sample.spilled_bytes)));
    }
    text
}

/// Rows a second where rows are counted, else bytes; of the tasks that have finished.
fn rate(sample: &StageSample) -> Option<String> {
    if sample.rows > 0 {
        Some(format!("{} rows/s", HumanCount(per_second(sample.rows, sample)?)))
    } else if sample.bytes > 0 {
        Some(format!("{}/s", HumanBytes(per_second(sample.bytes, sample)?)))
    } else {
        None
    }
}

fn per_second(amount: u64, sample: &StageSample) -> Option<u64> {
    let per_second = (u128::from(amount) * 1000).checked_div(sample.elapsed.as_millis())?;
    u64::try_from(per_second).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample() -> StageSample {
        StageSample {
            stage: StageId(1),
            name: "map".into(),
            partitions: 10,
            done: 4,
            running: 2,
            rows: 0,
            bytes: 0,
            spilled_bytes: 0,
            elapsed: Duration::from_secs(2),
        }
    }

    #[test]
    fn describes_what_is_known_and_no_more() {
        assert_eq!(describe(&sample()), "2 running");
        let rows = StageSample { rows: 2_469_134, bytes: 9, ..sample() };
        assert_eq!(describe(&rows), "2 running, 1,234,567 rows/s");
        let bytes = StageSample { bytes: 4 << 20, spilled_bytes: 12 << 20, ..sample() };
        assert_eq!(describe(&bytes), "2 running, 2.00 MiB/s, 12.00 MiB spilled");
        let at_once = StageSample { rows: 5, elapsed: Duration::ZERO, ..sample() };
        assert_eq!(describe(&at_once), "2 running");
    }

    #[test]
    fn the_template_is_valid() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
