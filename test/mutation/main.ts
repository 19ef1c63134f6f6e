/**
 * `npm run mutants`: plants small faults in the compiled core, one at a time, and runs the unit
 * tests that run the place. Prints the faults that no test noticed, and the score. A sample, drawn
 * from a seed, so that a run can be repeated; not part of `npm test`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { drawn, type Fault, faultsOf, isEquivalent, type Outcome, scores } from "./draw.js";
import { MeasuredTests } from "./measured-tests.js";
import { Copy, dist, type TestFile, testFilesIn, testsOf } from "./run-mutation.js";

/** The rooms that decide what is admitted, counted, charged and kept. */
const core = [
  "limiterd/budgets",
  "limiterd/counters",
  "limiterd/handlers",
  "limiterd/handlers/admin",
  "limiterd/keys",
  "limiterd/lifecycle",
  "limiterd/lists",
  "limiterd/rules",
  "limiterd/store",
  "limiterd/store/lmdb",
  "limiterd/usage",
  "proxy/limiter",
  "proxy/limiter/client",
  "proxy/limiter/spool",
  "proxy/routing",
  "proxy/usage",
  "shared/domain",
  "shared/wire",
];

const { values } = parseArgs({
  options: {
    room: { type: "string", multiple: true, default: core },
    file: { type: "string", multiple: true },
    at: { type: "string", multiple: true },
    percent: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: String(availableParallelism()) },
    "room-tests-only": { type: "boolean", default: false },
  },
});

const wanted = values.file?.map((file) => file.replace(/\.ts$/, ".js"));
const faults = values.room
  .flatMap(faultsIn)
  .filter(({ file }) => wanted === undefined || wanted.some((name) => file.endsWith(name)));
const planted =
  values.at === undefined
    ? drawn(faults, Number(values.seed), Number(values.percent) / 100)
    : faults.filter(({ file, line }) => values.at!.some((at) => `${file}:${line}`.endsWith(at)));
const copies = Array.from({ length: Math.max(1, Number(values.jobs)) }, () => new Copy());
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("exit", () => {
  for (const copy of copies) copy.remove();
});
const measured = new MeasuredTests(copies[0]!.dist);
const tests: TestFile[] = [];
await atOnce(testFiles(), async (file, copy) => {
  const test = await measured.get(file, copy);
  if (test === null) console.log(`${file} fails without any fault: it is left out`);
  else tests.push(test);
});
console.log(`${tests.length} test files pass; ${planted.length} of ${faults.length} faults drawn`);
const tried: { file: string; outcome: Outcome; text: string }[] = [];
await atOnce(planted, async (fault, copy) => {
  const outcome = isEquivalent(fault) ? "equivalent" : await outcomeOf(fault, copy);
  const text = `${outcome.padEnd(10)} ${fault.file}:${fault.line} ${fault.what}: ${fault.lineText}`;
  tried.push({ file: fault.file, outcome, text });
  console.log(`${tried.length}/${planted.length} ${text}`);
});
tried.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0));
const unnoticed = tried.filter(({ outcome }) => outcome === "survived" || outcome === "not run");
console.log(`\nUnnoticed, seed ${values.seed}:`);
for (const { text } of unnoticed) console.log(`  ${text}`);
console.log();
for (const line of scores(tried)) console.log(line);

/** One item after the other in each copy. */
async function atOnce<T>(
  items: readonly T[],
  run: (item: T, copy: Copy) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const runLeft = async (copy: Copy): Promise<void> => {
    for (const item of left) await run(item, copy);
  };
  await Promise.all(copies.map(runLeft));
}

async function outcomeOf({ file, text, start, end, put }: Fault, copy: Copy): Promise<Outcome> {
  const answering = testsOf(tests, { file, start });
  if (answering.length === 0) return "not run";
  copy.put(file, text.slice(0, start) + put + text.slice(end));
  const survived = await copy.passes(answering, file);
  copy.put(file, text);
  return survived ? "survived" : "noticed";
}

function testFiles(): string[] {
  const folders = planted.map(({ file }) =>
    values["room-tests-only"] ? dirname(file) : file.split("/")[0]!,
  );
  return [...new Set([...new Set(folders)].flatMap(testFilesIn))];
}

function faultsIn(room: string): Fault[] {
  return readdirSync(join(dist, room))
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => faultsOf(`${room}/${name}`, readFileSync(join(dist, room, name), "utf8")));
}
