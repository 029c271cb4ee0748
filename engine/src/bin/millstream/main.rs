//! The `millstream` command-line tool; see [`millstream::tool`].

fn main() -> std::process::ExitCode {
    millstream::tool::main()
}
