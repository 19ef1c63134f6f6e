/**
 * `npm run heavy -- test:node24`: the tests of `npm test` on the Node that the artefacts bring.
 * What follows goes to tap, such as one test file.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "./run.js";
import { unpackNode } from "./unpack-node.js";

const directory = mkdtempSync(join(tmpdir(), "sluice-node-"));
process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
// Some tests start programs as other users.
chmodSync(directory, 0o755);
unpackNode(directory);
const bin = join(directory, "bin");
const tests = spawn(
  join(bin, "node"),
  [join(repository, "node_modules/.bin/tap"), ...process.argv.slice(2)],
  // Programs that tests start by their names, such as npm, run on it, too.
  {
    cwd: repository,
    env: {
      ...process.env,
      PATH: `${bin}:${process.env["PATH"]}`,
      SLUICE_TEST_BUILT_BY: process.version,
    },
    stdio: "inherit",
  },
);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => tests.kill(signal));
const [code] = (await once(tests, "exit")) as [number | null];
process.exitCode = code ?? 1;
