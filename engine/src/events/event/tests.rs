use super::super::Record;
use super::*;

const TASK: TaskId =
    TaskId { job: JobId(1), stage: StageId(4), stage_attempt: 1, partition: 17, attempt: 2 };

const TASK_JSON: &str =
    r#""task":{"job":1,"stage":4,"stage_attempt":1,"partition":17,"attempt":2}"#;

/// Every variant with the line it must be written as, `TASK` standing for [`TASK_JSON`].
fn golden() -> Vec<(Event, &'static str)> {
    let job = JobId(1);
    let stage = StageId(4);
    vec![
        (
            Event::ApplicationStarted {
                format_version: FORMAT_VERSION,
                name: "wordcount".into(),
                build_id: "a1b2".into(),
                settings: BTreeMap::from([("master".into(), "local[2]".into())]),
            },
            r#""event":"application_started","format_version":1,"name":"wordcount","build_id":"a1b2","settings":{"master":"local[2]"}"#,
        ),
        (Event::ApplicationEnded, r#""event":"application_ended""#),
        (
            Event::JobSubmitted { job, name: "collect".into(), stages: vec![StageId(3), stage] },
            r#""event":"job_submitted","job":1,"name":"collect","stages":[3,4]"#,
        ),
        (Event::JobFinished { job, wall_ms: 12 }, r#""event":"job_finished","job":1,"wall_ms":12"#),
        (
            Event::JobFailed { job, kind: FailureKind::Disk, message: "a \"quoted\"\nline".into() },
            r#""event":"job_failed","job":1,"kind":"disk","message":"a \"quoted\"\nline""#,
        ),
        (Event::JobCancelled { job }, r#""event":"job_cancelled","job":1"#),
        (
            Event::StageStarted {
                stage,
                stage_attempt: 1,
                name: "map, filter".into(),
                partitions: 20,
                skipped_partitions: 3,
            },
            r#""event":"stage_started","stage":4,"stage_attempt":1,"name":"map, filter","partitions":20,"skipped_partitions":3"#,
        ),
        (
            Event::StageFinished {
                stage,
                stage_attempt: 1,
                name: "map, filter".into(),
                partitions: 20,
                skipped_partitions: 3,
            },
            r#""event":"stage_finished","stage":4,"stage_attempt":1,"name":"map, filter","partitions":20,"skipped_partitions":3"#,
        ),
        (
            Event::StageAborted { stage, stage_attempt: 1 },
            r#""event":"stage_aborted","stage":4,"stage_attempt":1"#,
        ),
        (
            Event::TaskStarted { task: TASK, executor: 9 },
            r#""event":"task_started",TASK,"executor":9"#,
        ),
        (
            Event::TaskFinished {
                task: TASK,
                executor: 9,
                metrics: TaskMetrics {
                    wall_ms: 1,
                    cpu_ms: 2,
                    rows_in: 3,
                    rows_out: 4,
                    bytes_in: 5,
                    bytes_out: 6,
                    memory_peak_bytes: 7,
                    spilled_bytes: u64::MAX,
                    spill_cause: Some(SpillCause::Refused),
                    records_skipped: 10,
                },
            },
            r#""event":"task_finished",TASK,"executor":9,"metrics":{"wall_ms":1,"cpu_ms":2,"rows_in":3,"rows_out":4,"bytes_in":5,"bytes_out":6,"memory_peak_bytes":7,"spilled_bytes":18446744073709551615,"spill_cause":"refused","records_skipped":10}"#,
        ),
        (
            Event::TaskFailed {
                task: TASK,
                executor: 9,
                kind: FailureKind::FetchFailed,
                message: "block gone".into(),
            },
            r#""event":"task_failed",TASK,"executor":9,"kind":"fetch_failed","message":"block gone""#,
        ),
        (
            Event::TaskCancelled { task: TASK, executor: 9 },
            r#""event":"task_cancelled",TASK,"executor":9"#,
        ),
        (
            Event::TaskSpeculated { task: TASK, running_ms: 900, median_ms: 100 },
            r#""event":"task_speculated",TASK,"running_ms":900,"median_ms":100"#,
        ),
        (
            Event::ExecutorJoined {
                executor: 9,
                incarnation: 2,
                host: "localhost".into(),
                slots: 8,
                memory_bytes: 1024,
            },
            r#""event":"executor_joined","executor":9,"incarnation":2,"host":"localhost","slots":8,"memory_bytes":1024"#,
        ),
        (
            Event::ExecutorLost { executor: 9, incarnation: 2, reason: "no heartbeat".into() },
            r#""event":"executor_lost","executor":9,"incarnation":2,"reason":"no heartbeat""#,
        ),
        (
            Event::ConnectionRefused { peer: "10.0.0.9:40000".into(), why: "secret".into() },
            r#""event":"connection_refused","peer":"10.0.0.9:40000","why":"secret""#,
        ),
        (
            Event::JournalOpened {
                path: "/j/app.journal".into(),
                outputs: 3,
                results: 1,
                refused: Some("another build".into()),
            },
            r#""event":"journal_opened","path":"/j/app.journal","outputs":3,"results":1,"refused":"another build""#,
        ),
        (
            Event::StageResumed {
                job: JobId(3),
                stage: StageId(5),
                name: "range".into(),
                partitions: 8,
                resumed_partitions: 6,
            },
            r#""event":"stage_resumed","job":3,"stage":5,"name":"range","partitions":8,"resumed_partitions":6"#,
        ),
        (
            Event::Spill {
                task: Some(TASK),
                cause: SpillCause::Measured,
                memory_bytes: 100,
                disk_bytes: 40,
            },
            r#""event":"spill",TASK,"cause":"measured","memory_bytes":100,"disk_bytes":40"#,
        ),
        (
            Event::BlockPersisted {
                node: NodeId(5),
                partition: 6,
                level: StorageLevelUsed::Memory,
                bytes: 70,
            },
            r#""event":"block_persisted","node":5,"partition":6,"level":"memory","bytes":70"#,
        ),
        (
            Event::BlockEvicted {
                node: NodeId(5),
                partition: 6,
                level: StorageLevelUsed::Disk,
                bytes: 70,
            },
            r#""event":"block_evicted","node":5,"partition":6,"level":"disk","bytes":70"#,
        ),
        (
            Event::DiskDirFailed {
                executor: 9,
                path: "/data/1".into(),
                message: "input/output error".into(),
            },
            r#""event":"disk_dir_failed","executor":9,"path":"/data/1","message":"input/output error""#,
        ),
        (
            Event::PlanAdapted {
                exchange: stage,
                rule: AdaptiveRule::Coalesce,
                partitions: 200,
                read_as: 4,
                bytes: 99,
            },
            r#""event":"plan_adapted","exchange":4,"rule":"coalesce","partitions":200,"read_as":4,"bytes":99"#,
        ),
        (
            Event::OutputCommitted { path: "/out".into(), files: 2, rows: 10, bytes: 99 },
            r#""event":"output_committed","path":"/out","files":2,"rows":10,"bytes":99"#,
        ),
    ]
}

#[test]
fn every_variant_is_written_as_agreed_and_read_back() {
    for (event, fields) in golden() {
        let record = Record { time_ms: 1_700_000_000_123, event };
        let line =
            format!(r#"{{"time_ms":1700000000123,{}}}"#, fields.replacen("TASK", TASK_JSON, 1));
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }
}

#[test]
fn the_golden_list_is_complete() {
    let named: std::collections::BTreeSet<String> = golden()
        .iter()
        .map(|(event, _)| serde_json::to_value(event).unwrap()["event"].to_string())
        .collect();
    // serde lists the variants it knows when it meets one that it does not.
    let refusal = serde_json::from_str::<Event>(r#"{"event":"?"}"#).unwrap_err().to_string();
    let known = refusal.split('`').skip(3).step_by(2).map(|name| format!("\"{name}\"")).collect();
    assert_eq!(named, known, "{refusal}");
}

#[test]
fn a_reader_of_this_version_survives_fields_added_later() {
    let line = r#"{"time_ms":1,"event":"job_cancelled","job":1,"why":"impatience"}"#;
    let record: Record = serde_json::from_str(line).unwrap();
    assert_eq!(record.event, Event::JobCancelled { job: JobId(1) });
    let metrics: TaskMetrics = serde_json::from_str(r#"{"rows_in":3}"#).unwrap();
    assert_eq!(metrics, TaskMetrics { rows_in: 3, ..TaskMetrics::default() });
}

#[test]
fn the_ends_of_jobs_and_of_the_application_end_work() {
    let ends = golden().into_iter().filter(|(event, _)| event.ends_work()).count();
    assert_eq!(ends, 4);
}
