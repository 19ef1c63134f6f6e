/**
 * `npm run heavy -- mutants`: plants small faults in the compiled core, one at a time, and runs the
 * unit tests that run the place. Prints the faults that no test noticed, and the score. A sample,
 * drawn from a seed, so that a run can be repeated; not part of `npm test`.
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
const tests = new Map<string, TestFile>();
const tried: { file: string; outcome: Outcome; text: string }[] = [];
console.log(`${planted.length} of ${faults.length} faults drawn`);
// The tests of other rooms are measured and run only for what the room's own don't notice.
await measure(planted.map(({ file }) => dirname(file)));
const left: Fault[] = [];
await atOnce(planted, async (fault, copy) => {
  if (isEquivalent(fault)) tell(fault, "equivalent");
  else if (await isNoticed(fault, copy, testsOfRoom(fault))) tell(fault, "noticed");
  else {
    left.push(fault);
    console.log(`  not noticed in its room: ${shown(fault)}`);
  }
});
const roomTestsOnly = values["room-tests-only"];
if (!roomTestsOnly) await measure(left.map(({ file }) => file.split("/")[0]!));
await atOnce(left, async (fault, copy) => {
  const near = testsOfRoom(fault);
  const far = testsOf([...tests.values()], fault).filter((test) => !near.includes(test));
  if (near.length === 0 && (roomTestsOnly || far.length === 0)) tell(fault, "not run");
  else if (!roomTestsOnly && (await isNoticed(fault, copy, far))) tell(fault, "noticed");
  else tell(fault, "survived");
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

/** Measures the test files below these folders of `test/`, each once. */
async function measure(folders: readonly string[]): Promise<void> {
  const files = new Set([...new Set(folders)].flatMap(testFilesIn));
  await atOnce(
    [...files].filter((file) => !tests.has(file)),
    async (file, copy) => {
      const test = await measured.get(file, copy);
      if (test === null) console.log(`${file} fails without any fault: it is left out`);
      else tests.set(file, test);
    },
  );
  console.log(`${tests.size} test files pass without any fault`);
}

function testsOfRoom(fault: Fault): TestFile[] {
  const room = `test/${dirname(fault.file)}/`;
  return testsOf([...tests.values()], fault).filter(({ file }) => file.startsWith(room));
}

/** Whether one of these tests fails. */
async function isNoticed(
  { file, text, start, end, put }: Fault,
  copy: Copy,
  some: readonly TestFile[],
): Promise<boolean> {
  copy.put(file, text.slice(0, start) + put + text.slice(end));
  const passes = await copy.passes(some, file);
  copy.put(file, text);
  return !passes;
}

function shown({ file, line, what, nth, lineText }: Fault): string {
  return `${file}:${line} ${what}${nth === 1 ? "" : ` (${nth})`}: ${lineText}`;
}

function tell(fault: Fault, outcome: Outcome): void {
  const text = `${outcome.padEnd(10)} ${shown(fault)}`;
  tried.push({ file: fault.file, outcome, text });
  console.log(`${tried.length}/${planted.length} ${text}`);
}

function faultsIn(room: string): Fault[] {
  return readdirSync(join(dist, room))
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => faultsOf(`${room}/${name}`, readFileSync(join(dist, room, name), "utf8")));
}
