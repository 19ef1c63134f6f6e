/** What a proxy knows of the end of the one before it. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { LastStop } from "../../proxy/last-stop.js";

const directory = mkdtempSync(join(tmpdir(), "sluice-stop-"));
t.teardown(() => rmSync(directory, { recursive: true }));
const filesOf = (place: string): string[] =>
  readdirSync(place).filter((name) => name.startsWith("running-"));

t.test("nothing is known before the first end, then how it was, for the next start", async (t) => {
  const place = join(directory, "first");
  const first = new LastStop(place);
  await first.begin(9_000);
  t.equal(await first.read(), null);
  await first.end({ atMs: 1_000, drained: true });
  const second = new LastStop(place);
  await second.begin(9_000);
  t.same(await second.read(), { atMs: 1_000, drained: true });
  await second.end({ atMs: 2_000, drained: false });
  t.same(await new LastStop(place).read(), { atMs: 2_000, drained: false });
  t.same(filesOf(place), []);
});

t.test("a killed proxy is noticed, even if another process has its process id now", async (t) => {
  const place = join(directory, "killed");
  const before = new LastStop(place);
  await before.begin(9_000);
  await before.end({ atMs: 1_000, drained: true });
  const { pid } = spawnSync("true");
  // Gone; this process, as in a container; one that began at another time.
  for (const name of [`running-${pid}-5`, `running-${process.pid}-1`, "running-1-1"]) {
    writeFileSync(join(place, name), "");
    const next = new LastStop(place);
    await next.begin(9_000);
    t.same(await next.read(), { atMs: 9_000, drained: false }, name);
    await next.end({ atMs: 3_000, drained: true });
    t.same(filesOf(place), []);
  }
});

t.test(
  "one that runs on while its successor has begun isn't dead, and tells it of its end",
  async (t) => {
    const place = join(directory, "reload");
    const first = new LastStop(place);
    await first.begin(9_000);
    await first.end({ atMs: 5_000, drained: true });
    // It lives, and isn't this process.
    writeFileSync(join(place, `running-${process.ppid}-${ticksOf(process.ppid)}`), "");
    const successor = new LastStop(place);
    await successor.begin(9_000);
    t.same(await successor.read(), { atMs: 5_000, drained: true });
    writeFileSync(join(place, "last-stop.json"), '{"at_ms":6000,"drained":false}');
    t.same(await successor.read(), { atMs: 6_000, drained: false });
  },
);

function ticksOf(pid: number): string {
  const { stdout } = spawnSync("cut", ["-d", " ", "-f", "22", `/proc/${pid}/stat`]);
  return stdout.toString().trim();
}

t.test("a file that makes no sense says nothing", async (t) => {
  const place = join(directory, "odd");
  const stop = new LastStop(place);
  await stop.begin(9_000);
  for (const text of ["", "{", "[]", '{"at_ms":-1,"drained":true}', '{"at_ms":1,"drained":1}']) {
    writeFileSync(join(place, "last-stop.json"), text);
    t.equal(await stop.read(), null, text);
  }
});
