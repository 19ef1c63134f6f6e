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
    let look = (): void => {};
    let isStopped = false;
    const stop = releaseWhenIdle({
      cpuMs: () => cpuMs,
      heap: () => heap,
      collect: () => void collected++,
      every(ms, run) {
        t.equal(ms, 4_000);
        look = run;
        return () => {
          isStopped = true;
        };
      },
    });
    for (const [spentMs, takenMib, usedMib, times] of [
      [39, 28, 20, 1],
      [40, 28, 20, 0],
      [0, 27, 20, 0],
      [0, 56, 48, 1],
      [0, 100, 49, 0],
    ] as const) {
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
