use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use millstream_planner::ids::{JobId, StageId};

use super::super::{Event, EventBus, TaskId};
use super::*;

fn task_started(partition: u32) -> Event {
    let task = TaskId { job: JobId(1), stage: StageId(7), stage_attempt: 0, partition, attempt: 0 };
    Event::TaskStarted { task, executor: 1 }
}

fn read(path: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A file that waits at its first write until a gate opens.
struct Gated {
    gate: Receiver<()>,
    file: File,
}

impl Write for Gated {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let _ = self.gate.recv();
        self.file.write(buf)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[test]
fn a_log_under_load_keeps_every_record_in_the_order_of_its_thread() {
    const THREADS: u32 = 4;
    const EACH: u32 = 10_000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let bus = EventBus::new(vec![Box::new(JsonLog::create(&path).unwrap())]);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let bus = &bus;
            scope.spawn(move || (0..EACH).for_each(|i| bus.emit(task_started(thread * EACH + i))));
        }
    });
    drop(bus);

    let mut next = [0; THREADS as usize];
    for record in read(&path) {
        let Event::TaskStarted { task, .. } = record.event else { panic!("{record:?}") };
        let thread = (task.partition / EACH) as usize;
        assert_eq!(task.partition % EACH, next[thread], "order of thread {thread}");
        next[thread] += 1;
    }
    assert_eq!(next, [EACH; THREADS as usize], "every record is there");
}

#[test]
fn a_full_queue_makes_the_emitter_wait_and_drops_nothing() {
    // More than the queue and the writer's buffer hold, so that the emitter has to wait.
    let count = u32::try_from(QUEUE_RECORDS + BUFFER_BYTES / 50 + 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let (open, gate) = channel::bounded::<()>(0);
    let out = Gated { gate, file: File::create(&path).unwrap() };
    let log = JsonLog::start(path.clone(), out, |_, error| panic!("{error}")).unwrap();
    let queue = log.queue.clone();
    let bus = EventBus::new(vec![Box::new(log)]);
    let emitted = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&emitted);
    let emitter = thread::spawn(move || {
        for partition in 0..count {
            bus.emit(task_started(partition));
            counted.fetch_add(1, Ordering::Release);
        }
    });
    // The writer stands at its first write, so that the queue fills up.
    let give_up = Instant::now() + Duration::from_secs(30);
    while !queue.is_full() {
        assert!(Instant::now() < give_up, "the queue has no bound, or drops");
        thread::yield_now();
    }
    assert!(emitted.load(Ordering::Acquire) < count as usize, "the emitter waits");
    drop(open);
    emitter.join().unwrap();

    let partitions: Vec<u32> = read(&path)
        .iter()
        .map(|record| match &record.event {
            Event::TaskStarted { task, .. } => task.partition,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(partitions.into_iter().eq(0..count));
}

/// Notes how many lines it held at each flush.
#[derive(Default)]
struct FlushNotes {
    lines: usize,
    flushed_at: Vec<usize>,
}

impl Write for FlushNotes {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.lines += buf.iter().filter(|byte| **byte == b'\n').count();
        Ok(buf.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.flushed_at.push(self.lines);
        Ok(())
    }
}

#[test]
fn is_flushed_at_the_end_of_each_job_and_at_the_end() {
    let (queue, records) = channel::unbounded();
    let finished = Event::JobFinished { job: JobId(3), wall_ms: 12 };
    for event in [task_started(0), finished, task_started(1), task_started(2)] {
        queue.send(Some(Record { time_ms: 1, event })).unwrap();
    }
    queue.send(None).unwrap();
    let mut out = FlushNotes::default();
    write_all(records, &mut out).unwrap();
    assert_eq!(out.flushed_at, [2, 4]);
}

#[test]
fn an_idle_log_is_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let log = JsonLog::create(&path).unwrap();
    log.on_event(&Record { time_ms: 1, event: task_started(0) });
    let give_up = Instant::now() + Duration::from_secs(30);
    while std::fs::metadata(&path).unwrap().len() == 0 {
        assert!(Instant::now() < give_up, "not flushed");
        thread::yield_now();
    }
    assert_eq!(read(&path).len(), 1);
    log.close();
}

#[test]
fn a_file_that_cannot_be_created_is_named_with_advice() {
    let error = JsonLog::create("/nonexistent/dir/events.jsonl").unwrap_err();
    assert!(matches!(error, JsonLogError::Create { .. }));
    let text = error.to_string();
    assert!(text.contains("/nonexistent/dir/events.jsonl"), "{text}");
    assert!(text.contains("Name a file in a directory that exists"), "{text}");
}

#[test]
fn a_full_disk_warns_once_and_never_blocks_the_application() {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&warnings);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let log = JsonLog::start(PathBuf::from("/dev/full"), full, move |path, error| {
        sink.lock().push((path.to_path_buf(), error.kind()));
    })
    .unwrap();
    let bus = EventBus::new(vec![Box::new(log)]);
    for partition in 0..50_000 {
        bus.emit(task_started(partition));
    }
    drop(bus);
    let expected = (PathBuf::from("/dev/full"), io::ErrorKind::StorageFull);
    assert_eq!(*warnings.lock(), [expected]);
}

#[test]
fn events_after_the_close_are_ignored_and_a_second_close_is_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let log = JsonLog::create(&path).unwrap();
    let record = Record { time_ms: 1, event: Event::ApplicationEnded };
    log.on_event(&record);
    log.close();
    log.on_event(&record);
    log.close();
    assert_eq!(read(&path), [record]);
}
