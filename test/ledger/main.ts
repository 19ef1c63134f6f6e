/**
 * `npm run heavy -- ledger`: histories by seed, 250 to a seed, and those that break the published
 * error (docs/reference/usage-record.md).
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { describeHistory, problemOf } from "./check-history.js";
import { createLedger } from "./play.js";

const historiesPerSeed = 250;

const { values: flags } = parseArgs({
  options: {
    from: { type: "string" },
    seeds: { type: "string", default: "400" },
    json: { type: "boolean" },
    "until-caught": { type: "boolean" },
  },
});
const from = Number(flags.from ?? randomInt(2 ** 31));
const ledger = createLedger();
const found = new Map<string, number>();
let caught = 0;
let done = 0;
let first = "";
for (; done < Number(flags.seeds) && !(flags["until-caught"] && caught > 0); done++) {
  const seed = from + done;
  let isCaught = false;
  for (let i = 0; i < historiesPerSeed; i++) {
    const played = await ledger.play((seed * historiesPerSeed + i) >>> 0);
    const problem = problemOf(played);
    if (problem === null) continue;
    isCaught = true;
    first ||= problem;
    const kind = `${problem.replace(/\d+/g, "N")} | ${played.entries.map(({ label }) => label).join("; ")}`;
    const count = found.get(kind) ?? 0;
    found.set(kind, count + 1);
    if (!flags.json && count === 0 && found.size <= 5)
      process.stdout.write(`seed ${seed}, history ${i}: ${problem}\n${describeHistory(played)}\n`);
  }
  if (isCaught) caught++;
}
if (flags.json) process.stdout.write(JSON.stringify({ seeds: done, caught, first }));
else {
  for (const [kind, count] of [...found].sort((a, b) => b[1] - a[1]).slice(0, 40))
    process.stdout.write(`${count} x ${kind}\n`);
  process.stdout.write(
    `${done * historiesPerSeed} histories from seed ${from}: ${caught} of ${done} seeds break the published error\n`,
  );
}
process.exitCode = caught > 0 ? 1 : 0;
