/**
 * `npm run mutants`: plants small faults in the compiled core, one at a time, and runs the unit
 * tests that answer for the file. Prints the faults that no test noticed. A sample, drawn from a
 * seed, so that a run can be repeated; not part of `npm test`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../sim/random.js";
import { equivalents } from "./equivalents.js";
import { type Mutation, mutationsOf } from "./mutations.js";
import { Copy, dist, testsFor } from "./run-mutation.js";

/** The rooms that decide what is admitted, counted, charged and kept. */
const core = [
  "limiterd/budgets",
  "limiterd/counters",
  "limiterd/handlers",
  "limiterd/keys",
  "limiterd/lifecycle",
  "limiterd/rules",
  "limiterd/store",
  "limiterd/usage",
  "proxy/limiter",
  "proxy/routing",
  "proxy/usage",
  "shared/domain",
  "shared/wire",
];

const { values } = parseArgs({
  options: {
    room: { type: "string", multiple: true, default: core },
    sample: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    "timeout-seconds": { type: "string", default: "120" },
  },
});

interface Planted extends Mutation {
  readonly file: string;
  readonly text: string;
}

const timeoutMs = Number(values["timeout-seconds"]) * 1000;
const random = createRandom(Number(values.seed));
const drawn = drawnFrom(values.room.flatMap(mutationsIn), Number(values.sample));
const survivors: Planted[] = [];
let killed = 0;
const copy = new Copy();
process.once("SIGINT", () => process.exit(130));
process.once("exit", () => copy.remove());
const tests = [...new Set(drawn.flatMap(({ file }) => testsFor(file)))];
for (const test of tests) {
  if (!(await copy.passes([test], timeoutMs))) throw new Error(`${test} fails without any fault`);
}
for (const [i, planted] of drawn.entries()) {
  const { file, text, start, end, put } = planted;
  copy.put(file, text.slice(0, start) + put + text.slice(end));
  const survived = await copy.passes(testsFor(file), timeoutMs);
  copy.put(file, text);
  if (survived) survivors.push(planted);
  else killed++;
  const mark = survived ? "SURVIVED" : "killed";
  console.log(
    `${i + 1}/${drawn.length} ${mark} ${file}:${planted.line} ${planted.what}: ${lineOf(planted)}`,
  );
}
const share = drawn.length === 0 ? 100 : (100 * killed) / drawn.length;
console.log(
  `\n${killed} of ${drawn.length} faults noticed (${share.toFixed(1)} %), seed ${values.seed}`,
);
for (const planted of survivors)
  console.log(`  ${planted.file}:${planted.line} ${planted.what}: ${lineOf(planted)}`);

function mutationsIn(room: string): Planted[] {
  return readdirSync(join(dist, room))
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => {
      const file = `${room}/${name}`;
      const text = readFileSync(join(dist, file), "utf8");
      return mutationsOf(text).map((mutation) => ({ ...mutation, file, text }));
    })
    .filter((planted) => !isEquivalent(planted));
}

function isEquivalent(planted: Planted): boolean {
  const source = planted.file.replace(/\.js$/, ".ts");
  return equivalents.some(
    ({ file, line, what }) => file === source && what === planted.what && line === lineOf(planted),
  );
}

function lineOf({ text, line }: Planted): string {
  return text.split("\n")[line - 1]!.trim();
}

/** Some of a list, each as likely as any other, in the list's order. */
function drawnFrom<T>(all: readonly T[], count: number): T[] {
  return all
    .map((each, place) => ({ each, place, lot: random.next() }))
    .sort((a, b) => a.lot - b.lot)
    .slice(0, count)
    .sort((a, b) => a.place - b.place)
    .map(({ each }) => each);
}
