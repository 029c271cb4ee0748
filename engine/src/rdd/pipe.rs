//! Sending rows through a program.

use std::fmt::Display;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::marker::PhantomData;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, Select, Sender, bounded};

use super::stream::{BoxStream, CHUNK_ROWS, from_fn};
use super::{Data, Layout, Node, Operation, Rdd};
use crate::executor::{Task, TaskError};

impl<T: Data + Display> Rdd<T> {
    /// The lines that a program prints when it is given the rows of a partition as lines. It is
    /// started once a partition, with its arguments as they are (no shell), and fails the task if it
    /// exits with another code than 0.
    ///
    /// # Example
    /// ```
    /// # fn main() -> Result<(), millstream::Error> {
    /// let context = millstream::Context::local("pipe")?;
    /// let shouted = context.parallelize(["a", "b"].map(String::from), 2).pipe(["tr", "a-z", "A-Z"]);
    /// assert_eq!(shouted.collect()?, ["A", "B"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn pipe(&self, command: impl IntoIterator<Item = impl Into<String>>) -> Rdd<String> {
        let command: Vec<String> = command.into_iter().map(Into::into).collect();
        self.then::<Pipe<T>>("pipe", Layout::default(), command)
    }
}

/// How long a task waits for its program before it looks whether it has been cancelled.
const PATIENCE: Duration = Duration::from_millis(50);

struct Pipe<T>(PhantomData<fn() -> T>);

impl<T: Data + Display> Operation for Pipe<T> {
    type Params = Vec<String>;
    type Out = String;

    fn open(
        command: Arc<Vec<String>>,
        node: &Node,
        task: &Task,
        partition: u32,
    ) -> Result<BoxStream<String>, TaskError> {
        let mut rows = task.open_parent::<T>(node, 0, partition)?;
        let mut program = Program::start(&command)?;
        let mut waiting: Option<Vec<u8>> = None;
        let task = Task::clone(task);
        Ok(from_fn(move || {
            loop {
                task.check()?;
                if waiting.is_none() && program.input.is_some() {
                    match rows.next_chunk()? {
                        Some(chunk) => waiting = Some(lines(&chunk)?),
                        // Dropping the sender ends the program's input.
                        None => program.input = None,
                    }
                }
                match program.exchange(&mut waiting)? {
                    Exchange::Nothing => {}
                    Exchange::Lines(lines) => return Ok(Some(lines)),
                    Exchange::Ended => return program.finish().map(|()| None),
                }
            }
        }))
    }
}

fn lines<T: Display>(rows: &[T]) -> Result<Vec<u8>, TaskError> {
    let mut text = Vec::new();
    for row in rows {
        writeln!(text, "{row}").map_err(|error| TaskError::internal(error.to_string()))?;
    }
    Ok(text)
}

/// A running program, with a thread for each end of it: either may wait for the other, and the task
/// must not wait for both.
struct Program {
    name: String,
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<std::io::Result<Vec<String>>>,
    ended: bool,
}

enum Exchange {
    /// The program has taken a block of input, or has done nothing for a while.
    Nothing,
    /// The program has printed lines.
    Lines(Vec<String>),
    /// The program has closed its output.
    Ended,
}

impl Program {
    fn start(command: &[String]) -> Result<Self, TaskError> {
        let (name, arguments) =
            command.split_first().ok_or_else(|| TaskError::user("pipe: no program was given"))?;
        let failed =
            |error: std::io::Error| TaskError::user(format!("pipe: cannot start {name}: {error}"));
        let mut child = Command::new(name)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(TaskError::internal("a program was started without its pipes"));
        };
        let (input, blocks) = bounded(1);
        let (lines, output) = bounded(4);
        let spawn = std::thread::Builder::new;
        spawn().name("pipe-in".to_owned()).spawn(move || feed(stdin, &blocks)).map_err(failed)?;
        spawn().name("pipe-out".to_owned()).spawn(move || drain(stdout, &lines)).map_err(failed)?;
        let name = name.clone();
        Ok(Self { name, child, input: Some(input), output, ended: false })
    }

    /// Waits until the program takes the waiting block or gives lines, but not for long.
    fn exchange(&mut self, waiting: &mut Option<Vec<u8>>) -> Result<Exchange, TaskError> {
        let mut select = Select::new();
        let printed = select.recv(&self.output);
        if waiting.is_some()
            && let Some(input) = &self.input
        {
            select.send(input);
        }
        let Ok(ready) = select.select_timeout(PATIENCE) else { return Ok(Exchange::Nothing) };
        if ready.index() == printed {
            return match ready.recv(&self.output) {
                Ok(Ok(lines)) => Ok(Exchange::Lines(lines)),
                Ok(Err(error)) => {
                    Err(TaskError::user(format!("pipe: reading from {}: {error}", self.name)))
                }
                Err(_) => Ok(Exchange::Ended),
            };
        }
        if let (Some(input), Some(block)) = (&self.input, waiting.take()) {
            // A program that stops reading early, as `head` does, is no failure: the rest of the
            // input is not wanted.
            let _ = ready.send(input, block);
        }
        Ok(Exchange::Nothing)
    }

    fn finish(&mut self) -> Result<(), TaskError> {
        self.input = None;
        self.ended = true;
        let status = self.child.wait().map_err(|error| {
            TaskError::user(format!("pipe: waiting for {}: {error}", self.name))
        })?;
        match status.success() {
            true => Ok(()),
            false => Err(TaskError::user(format!("pipe: {} ended with {status}", self.name))),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.ended {
            // The task was cancelled or wants no more rows.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn feed(stdin: ChildStdin, blocks: &Receiver<Vec<u8>>) {
    let mut stdin = BufWriter::new(stdin);
    for block in blocks {
        if stdin.write_all(&block).is_err() {
            return;
        }
    }
    // The program may have gone; its exit code says whether that is a failure.
    let _ = stdin.flush();
}

fn drain(stdout: ChildStdout, lines: &Sender<std::io::Result<Vec<String>>>) {
    let mut chunk = Vec::new();
    for line in BufReader::new(stdout).lines() {
        match line {
            Ok(line) => chunk.push(line),
            Err(error) => {
                let _ = lines.send(Err(error));
                return;
            }
        }
        if chunk.len() == CHUNK_ROWS && lines.send(Ok(std::mem::take(&mut chunk))).is_err() {
            return;
        }
    }
    if !chunk.is_empty() {
        let _ = lines.send(Ok(chunk));
    }
}
