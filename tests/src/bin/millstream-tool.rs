//! The command-line tool, for tests, which find the binaries of their own package.

fn main() -> std::process::ExitCode {
    millstream::tool::main()
}
