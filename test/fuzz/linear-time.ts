/**
 * Whether work grows with the size of what is worked on, and no faster. The CPU time of an input is
 * compared with that of one four times as large; a ratio depends neither on the machine nor on what
 * else it does, beyond what several attempts even out.
 */
import { must } from "./fuzz-target.js";

/** Four times the bytes: linear work takes four times as long, quadratic sixteen times. */
const factor = 4;
const ratioMax = 9;
/** Shorter times are noise, and not harmful. */
const noticeableMs = 60;
const attempts = 4;

/** `work` with a size in bytes; called several times for each size. */
export async function mustBeLinear(
  what: () => string,
  bytes: number,
  work: (bytes: number) => Promise<void>,
): Promise<void> {
  let ratio = 0;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const largeMs = await cpuMs(() => work(bytes * factor));
    if (largeMs < noticeableMs) return;
    const smallMs = await cpuMs(() => work(bytes));
    ratio = largeMs / Math.max(smallMs, 1);
    if (ratio <= ratioMax) return;
  }
  must(
    false,
    () => `${bytes * factor} bytes take ${Math.round(ratio)} times as long as ${bytes}: ${what()}`,
  );
}

async function cpuMs(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
