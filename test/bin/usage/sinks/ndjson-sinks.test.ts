/** An output file on a disk that is full: nothing of it is lost or doubled. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { CursorFile } from "../../../../bin/usage/follow/cursor-file.js";
import type { Batch } from "../../../../bin/usage/follow/sink.js";
import { fileSink } from "../../../../bin/usage/sinks/ndjson-sinks.js";
import { usageRecord } from "../../../shared/export/usage-records.js";

const disk = mkdtempSync(join(tmpdir(), "sluice-follow-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]);
t.teardown(() => {
  if (mounted.status === 0) spawnSync("umount", [disk]);
  rmSync(disk, { recursive: true, force: true });
});

const batchOf = (from: number, count: number): Batch => ({
  after: from === 0 ? null : `s/${from}`,
  next: `s/${from + count}`,
  storeId: "s",
  host: "h",
  records: Array.from({ length: count }, (_, i) => usageRecord({ id: `${from + i}.0` })),
  missedCommits: 0,
});

t.test(
  "a full disk is tried again, and each record is in the file once",
  { skip: mounted.status === 0 ? false : "needs root, to mount a small disk" },
  async (t) => {
    for (const cursorOn of [disk, t.testdir()]) {
      const [file, filler] = [join(disk, "usage.ndjson"), join(disk, "filler")];
      const sink = fileSink(file, new CursorFile(join(cursorOn, "cursor")));
      await sink.open([]);
      t.equal(await sink.take(batchOf(0, 100)), "taken");
      const used = Math.ceil(statSync(file).size / 4096) * 4096;
      writeFileSync(filler, Buffer.alloc(256 * 1024 - used - 12 * 1024));
      for (let tries = 0; tries < 3; tries++) {
        await t.rejects(sink.take(batchOf(100, 100)), { name: "SinkError", isPassing: true });
        await sink.close();
        t.equal((await sink.open([])).cursor, "s/100");
      }
      rmSync(filler);
      t.equal(await sink.take(batchOf(100, 100)), "taken");
      await sink.close();
      const ids = readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { readonly id: string }).id);
      t.same(
        ids,
        Array.from({ length: 200 }, (_, i) => `${i}.0`),
      );
      rmSync(file);
    }
  },
);
