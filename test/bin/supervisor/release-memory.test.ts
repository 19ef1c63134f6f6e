import t from "tap";
import {
  collectGarbage,
  heapSize,
  processCpuMs,
  releaseWhenIdle,
} from "../../../bin/supervisor/release-memory.js";

const mib = 1024 * 1024;

t.test(
  "garbage is collected when a service is idle and has much space that it doesn't use",
  (t) => {
    let cpuMs = 1_000;
    let heap = { takenBytes: 0, usedBytes: 0 };
    let collected = 0;
    let keptMib = 0;
    let look = (): void => {};
    let isStopped = false;
    const stop = releaseWhenIdle({
      cpuMs: () => cpuMs,
      heap: () => heap,
      collect() {
        collected++;
        heap = { takenBytes: heap.usedBytes + keptMib * mib, usedBytes: heap.usedBytes };
      },
      every(ms, run) {
        t.equal(ms, 30_000);
        look = run;
        return () => {
          isStopped = true;
        };
      },
    });
    for (const [spentMs, takenMib, usedMib, kept, times] of [
      [299, 28, 20, 0, 1],
      [300, 28, 20, 0, 0],
      [0, 27, 20, 0, 0],
      [0, 56, 48, 0, 1],
      [0, 100, 49, 0, 0],
      // 12 MiB stay unused: they aren't worth another collection, 20 are.
      [0, 40, 20, 12, 1],
      [0, 39, 20, 12, 0],
      [0, 40, 20, 12, 1],
    ] as const) {
      keptMib = kept;
      cpuMs += spentMs;
      heap = { takenBytes: takenMib * mib, usedBytes: usedMib * mib };
      collected = 0;
      look();
      t.equal(collected, times, `${spentMs} ms, ${takenMib} MiB, ${usedMib} MiB`);
    }
    stop();
    t.ok(isStopped);
    t.end();
  },
);

t.test("a collection frees what nothing refers to", async (t) => {
  const unused = new WeakRef({});
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  t.equal(unused.deref(), undefined);
  const { takenBytes, usedBytes } = heapSize();
  t.ok(takenBytes >= usedBytes && usedBytes > 0);
  t.ok(processCpuMs() > 0);
});
