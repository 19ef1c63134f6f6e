/**
 * Loaded into the proxy with `--import`: keeps the longest time, in ms of CPU time of its thread,
 * between two ticks of a timer in the file that `SLUICE_TURNS_FILE` names. No turn of the event
 * loop was longer. CPU time, because a busy machine doesn't change it.
 */
import { readFileSync, writeFileSync } from "node:fs";

const file = process.env["SLUICE_TURNS_FILE"];

function loopMs(): number {
  const stat = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1");
  return Number(stat.split(" ")[0]) / 1e6;
}

if (file !== undefined && process.argv[1]?.endsWith("sluice-proxy.js") === true) {
  let before = loopMs();
  let longest = 0;
  setInterval(() => {
    const now = loopMs();
    // What it took to start isn't counted.
    if (now - before > longest && process.uptime() > 5) {
      longest = now - before;
      writeFileSync(file, String(longest));
    }
    before = now;
  }, 10).unref();
}
