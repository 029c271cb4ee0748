#!/usr/bin/env bash
# Runs the engine's example and the hand-written yardstick in turn (A B A B), so that both meet the same
# machine, and prints the median wall time of each and their ratio.
#
#   benches/compare.sh wordcount TEXT_FILE [ROUNDS]
#   benches/compare.sh pagerank EDGE_FILE [ROUNDS]
#
# Arguments of the engine alone, such as "--memory 64m", go into ENGINE_ARGS. Needs bash, awk and GNU date.
set -euo pipefail

if [[ $# -lt 2 || $# -gt 3 || ! -r ${2:-} ]]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
job=$1 input=$2 rounds=${3:-5}
root=$(dirname "$(dirname "$(readlink -f "$0")")")
input=$(readlink -f "$input")
cd "$root"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
read -ra engine_args <<<"${ENGINE_ARGS:-}"

case $job in
wordcount)
    engine=(target/release/examples/wordcount --quiet --top 10 --output "$scratch/engine" "${engine_args[@]}" "$input")
    yardstick=(target/release/yardstick-wordcount --top 10 --output "$scratch/yardstick" "$input")
    ;;
pagerank)
    engine=(target/release/examples/pagerank --quiet "${engine_args[@]}" "$input")
    yardstick=(target/release/yardstick-pagerank "$input")
    ;;
*)
    echo "error: \`$job\` is not wordcount or pagerank" >&2
    exit 2
    ;;
esac

cargo build --release --package millstream-examples --example "$job"
cargo build --release --package millstream-benches --bin "yardstick-$job"
printf 'engine:    %s\nyardstick: %s\n' "${engine[*]}" "${yardstick[*]}"

# Seconds that a command takes, appended to the file named first; its outputs are made anew.
timed() {
    local times=$1 start end
    shift
    rm -rf "$scratch/engine" "$scratch/yardstick"
    start=$(date +%s%N)
    "$@" >/dev/null
    end=$(date +%s%N)
    awk -v ns=$((end - start)) 'BEGIN { printf "%.3f\n", ns / 1e9 }' >>"$times"
}

median() {
    sort -n "$1" | awk '{ t[NR] = $1 } END { m = int((NR + 1) / 2); print NR % 2 ? t[m] : (t[m] + t[m + 1]) / 2 }'
}

# One round of each fills the page cache and is not counted.
timed /dev/null "${engine[@]}"
timed /dev/null "${yardstick[@]}"
for _ in $(seq "$rounds"); do
    timed "$scratch/a" "${engine[@]}"
    timed "$scratch/b" "${yardstick[@]}"
done
echo "engine:    $(tr '\n' ' ' <"$scratch/a")"
echo "yardstick: $(tr '\n' ' ' <"$scratch/b")"
awk -v a="$(median "$scratch/a")" -v b="$(median "$scratch/b")" \
    'BEGIN { printf "medians: engine %.3f s, yardstick %.3f s, ratio %.2f\n", a, b, a / b }'
