import { execFileSync, spawn } from "node:child_process";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readInput } from "../../../bin/limits/read-input.js";

t.test("a file is read to its end, in UTF-8", async (t) => {
  const cwd = t.testdir({ limits: "a\u00e9".repeat(100_000), dir: {}, empty: "" });
  t.equal(readInput("limits", cwd).text, "a\u00e9".repeat(100_000));
  t.same(readInput("empty", cwd), { name: "empty", text: "" });
  writeFileSync(join(cwd, "binary"), Buffer.from([0xff, 0xfe]));
  const table: readonly (readonly [file: string, why: string])[] = [
    ["nothing", "there is no such file"],
    ["dir", "it is a directory"],
    ["binary", "it isn't UTF-8 text"],
  ];
  for (const [file, why] of table)
    t.throws(() => readInput(file, cwd), { message: new RegExp(`${file} can't be read: ${why}`) });
});

t.test("what is larger than 16 MiB, or never ends, is refused once so much was read", async (t) => {
  const cwd = t.testdir({ large: "" });
  truncateSync(join(cwd, "large"), 16 * 1024 * 1024 + 1);
  const larger = /can't be read: it is larger than 16777216 bytes/;
  t.throws(() => readInput("large", cwd), { message: larger });
  t.throws(() => readInput("/dev/zero", cwd), { message: larger });
  execFileSync("mkfifo", [join(cwd, "pipe")]);
  const writer = spawn("sh", ["-c", 'exec cat /dev/zero > "$0"', join(cwd, "pipe")]);
  t.throws(() => readInput("pipe", cwd), { message: larger });
  await new Promise((resolve) => writer.once("exit", resolve));
});
