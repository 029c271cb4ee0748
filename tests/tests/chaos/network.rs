//! Executors on hosts of their own, as far as the network can tell: network namespaces on one switch,
//! with cables that are cut and healed, packets that are dropped, and a connection that is slow.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millstream::events::Event;
use millstream::{Context, Error};
use millstream_tests::executors::wait_for_end;
use millstream_tests::gate::Gate;
use millstream_tests::watch::Watch;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::cluster::{self, Executor, driver, free_port, joined};
use super::signals::{is_single_and_complete, save};
use super::{is_root, say, scatter, skip, succeeds};

const PORT: u16 = 7077;

/// Hosts on one switch. Host 0 is the driver's.
struct Net {
    name: String,
    hosts: usize,
}

impl Net {
    fn new(hosts: usize) -> Result<Self, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if !is_root() {
            return Err("only root may make network namespaces".to_owned());
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let net = Self { name: format!("ms{}-{number}", std::process::id()), hosts };
        net.build().map(|()| net)
    }

    fn build(&self) -> Result<(), String> {
        let switch = self.switch();
        ip(&format!("netns add {switch}"))?;
        ip(&format!("-n {switch} link add br0 type bridge"))?;
        ip(&format!("-n {switch} link set br0 up"))?;
        for host in 0..self.hosts {
            let ns = self.host(host);
            ip(&format!("netns add {ns}"))?;
            ip(&format!("-n {switch} link add p{host} type veth peer name eth0 netns {ns}"))?;
            ip(&format!("-n {switch} link set p{host} master br0 up"))?;
            ip(&format!("-n {ns} addr add {}/24 dev eth0", address(host)))?;
            ip(&format!("-n {ns} link set lo up"))?;
            ip(&format!("-n {ns} link set eth0 up"))?;
        }
        Ok(())
    }

    fn switch(&self) -> String {
        format!("{}-sw", self.name)
    }

    fn host(&self, host: usize) -> String {
        format!("{}-h{host}", self.name)
    }

    /// Pulls the cable of a host, or plugs it in.
    fn cable(&self, host: usize, state: &str) {
        ip(&format!("-n {} link set p{host} {state}", self.switch())).unwrap();
    }

    /// Starts or stops dropping packets at a host.
    fn drops(&self, host: usize, action: &str, rule: &str) -> bool {
        let ns = self.host(host);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &ns, "iptables", action]);
        succeeds(command.args(rule.split(' ')))
    }

    /// Packets that the rules of a host have dropped.
    fn dropped(&self, host: usize) -> u64 {
        let args = ["netns", "exec", &self.host(host), "iptables", "-nvxL"];
        let output = Command::new("ip").args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let count = |line: &str| line.split_whitespace().next()?.parse::<u64>().ok();
        text.lines().filter(|line| line.contains("DROP")).filter_map(count).sum()
    }

    /// Calls `f` on a thread of a host; what it starts is there too.
    fn on<T: Send>(&self, host: usize, f: impl FnOnce() -> T + Send) -> T {
        let path = format!("/var/run/netns/{}", self.host(host));
        std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                let namespace = std::fs::File::open(path).unwrap();
                let kind = LinkNameSpaceType::Network;
                move_into_link_name_space(namespace.as_fd(), Some(kind)).unwrap();
                f()
            });
            there.join().unwrap()
        })
    }

    fn executor(&self, host: usize, dir: &Path) -> Executor {
        let program = std::env::current_exe().unwrap();
        let (ns, addr) = (self.host(host), format!("{}:{PORT}", address(0)));
        let before = ["ip", "netns", "exec", &ns];
        Executor(cluster::executor(before, &program, &addr, dir).spawn().unwrap())
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for host in 0..self.hosts {
            let _ = ip(&format!("netns del {}", self.host(host)));
        }
        let _ = ip(&format!("netns del {}", self.switch()));
    }
}

fn address(host: usize) -> String {
    format!("10.77.0.{}", host + 1)
}

fn ip(args: &str) -> Result<(), String> {
    let output = Command::new("ip").args(args.split(' ')).output();
    let output = output.map_err(|error| format!("ip cannot be run: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {args}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A driver on host 0 with an executor on each other host.
struct Cluster {
    context: Context,
    watch: Arc<Watch>,
    executors: Vec<Executor>,
    dir: tempfile::TempDir,
}

impl Cluster {
    fn start(net: &Net) -> Self {
        let (watch, dir) = (Watch::new(), tempfile::tempdir().unwrap());
        let addr = format!("{}:{PORT}", address(0));
        let context = net.on(0, || driver(&addr, &watch).speculation(false).build().unwrap());
        let executors: Vec<Executor> =
            (1..net.hosts).map(|host| net.executor(host, dir.path())).collect();
        joined(&watch, executors.len());
        Self { context, watch, executors, dir }
    }

    /// The host of the executor that came to a point.
    fn host_at(&self, gate: &Gate) -> usize {
        let pid = gate.arrived("task");
        1 + self.executors.iter().position(|executor| executor.pid() == pid).unwrap()
    }

    fn wait_for_loss(&self) {
        self.watch.wait_for("loss", |event| matches!(event, Event::ExecutorLost { .. }));
    }

    /// Runs a job that writes files, cuts off the executor of one of its tasks, waits until the rest
    /// has done its work, and heals the cut.
    fn save_through(&self, cut: impl FnOnce(usize), heal: impl FnOnce(usize)) {
        let (gate, out) = (Gate::new(self.dir.path()), self.dir.path().join("out"));
        let joins = self.executors.len();
        std::thread::scope(|scope| {
            let job = scope.spawn(|| save(&self.context, &gate, &out));
            let host = self.host_at(&gate);
            cut(host);
            self.wait_for_loss();
            gate.open("go");
            let again = |event: &Event| matches!(event, Event::TaskFinished { task, .. } if task.partition == 3);
            self.watch.wait_for("second attempt", again);
            heal(host);
            // It finds its driver again, in a life under a new name.
            joined(&self.watch, joins + 1);
            gate.open("finish");
            job.join().unwrap().unwrap();
        });
        is_single_and_complete(&out);
    }
}

/// A net, or a line that says why there is none.
fn net(scenario: &str, hosts: usize) -> Option<Net> {
    Net::new(hosts).map_err(|why| skip(scenario, &why)).ok()
}

fn filtering(net: &Net, scenario: &str) -> bool {
    let there = net.drops(0, "-L", "INPUT");
    if !there {
        skip(scenario, "iptables is not installed, or the kernel has no filter");
    }
    there
}

#[test]
fn an_executor_that_is_cut_off_is_done_without_and_comes_back() {
    let Some(net) = net("a cut cable", 4) else { return };
    Cluster::start(&net).save_through(|host| net.cable(host, "down"), |host| net.cable(host, "up"));
}

#[test]
fn a_cut_in_one_direction_is_a_cut() {
    const NAME: &str = "a cut in one direction";
    let Some(net) = net(NAME, 4) else { return };
    if !filtering(&net, NAME) {
        return;
    }
    // The driver hears the executor, which does not hear the driver.
    let rule = format!("INPUT -s {} -j DROP", address(0));
    let cluster = Cluster::start(&net);
    cluster.save_through(
        |host| assert!(net.drops(host, "-A", &rule)),
        |host| {
            assert!(net.dropped(host) > 0);
            assert!(net.drops(host, "-D", &rule));
        },
    );
}

/// A job with a shuffle whose answer is known.
fn shuffled(context: &Context) -> Result<u64, Error> {
    let rows = context.range(0..40_000, 8).map(|n| (scatter(n as u64) % 1_000, n as u64));
    let sums = rows.with_partitions(6).group_by_key().map_values(|group| group.len() as u64);
    Ok(sums.values().reduce(|a, b| a + b)?.unwrap_or(0))
}

#[test]
fn lost_packets_lose_no_rows() {
    const NAME: &str = "lost packets";
    let Some(net) = net(NAME, 4) else { return };
    if !filtering(&net, NAME) {
        return;
    }
    let cluster = Cluster::start(&net);
    let rule = "INPUT -p tcp -m statistic --mode random --probability 0.1 -j DROP";
    assert!((0..4).all(|host| net.drops(host, "-A", rule)));
    for _ in 0..3 {
        assert_eq!(shuffled(&cluster.context).unwrap(), 40_000);
    }
    let dropped: u64 = (0..4).map(|host| net.dropped(host)).sum();
    say(&format!("{dropped} packets were dropped"));
    assert!(dropped > 0);
}

#[test]
fn an_executor_cut_off_between_map_and_reduce_is_recomputed() {
    let Some(net) = net("a cut between map and reduce", 4) else { return };
    let cluster = Cluster::start(&net);
    let rows = cluster.context.range(0..40_000, 8).map(|n| (scatter(n as u64) % 1_000, n as u64));
    let spread = rows.partition_by(6);
    assert_eq!(spread.count().unwrap(), 40_000);
    net.cable(2, "down");
    let mut values = spread.values().collect().unwrap();
    values.sort_unstable();
    assert!(values == (0..40_000).collect::<Vec<u64>>());
    cluster.wait_for_loss();
    assert!(cluster.watch.count(|event| matches!(event, Event::ExecutorLost { .. })) >= 1);
    net.cable(2, "up");
    joined(&cluster.watch, 4);
}

#[test]
fn an_executor_whose_driver_is_gone_looks_for_it_no_more_than_it_is_told() {
    let Some(net) = net("a driver that ends", 2) else { return };
    let Cluster { context, mut executors, .. } = Cluster::start(&net);
    assert_eq!(shuffled(&context).unwrap(), 40_000);
    drop(context);
    let executor = executors.pop().unwrap();
    wait_for_end(executor.pid());
}

/// Passes connections on, each piece of data after a delay.
fn delaying_proxy(to: String, delay: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(here), Ok(there)) = (stream, TcpStream::connect(&to)) else { continue };
            let (back_from, back_to) = (there.try_clone().unwrap(), here.try_clone().unwrap());
            std::thread::spawn(move || pass_on(here, there, delay));
            std::thread::spawn(move || pass_on(back_from, back_to, delay));
        }
    });
    port
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let mut piece = [0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut piece) {
        std::thread::sleep(delay);
        if to.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn a_slow_line_to_the_driver_is_slow_and_no_more() {
    const DELAY: Duration = Duration::from_millis(60);
    let (dir, watch) = (tempfile::tempdir().unwrap(), Watch::new());
    let addr = format!("127.0.0.1:{}", free_port());
    let context = driver(&addr, &watch).build().unwrap();
    let far = format!("127.0.0.1:{}", delaying_proxy(addr.clone(), DELAY));
    let _executors = [cluster::start(&far, dir.path()), cluster::start(&addr, dir.path())];
    joined(&watch, 2);
    let start = std::time::Instant::now();
    assert_eq!(shuffled(&context).unwrap(), 40_000);
    assert!(start.elapsed() > DELAY * 2, "the line was slow");
    assert_eq!(watch.count(|event| matches!(event, Event::ExecutorLost { .. })), 0);
}
