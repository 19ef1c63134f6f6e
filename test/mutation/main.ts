/**
 * `npm run mutants`: plants small faults in the compiled core, one at a time, and runs the unit
 * tests that run the place. Prints the faults that no test noticed. A sample, drawn from a
 * seed, so that a run can be repeated; not part of `npm test`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../sim/random.js";
import { equivalents } from "./equivalents.js";
import { type Mutation, mutationsOf } from "./mutations.js";
import { Copy, dist, type TestFile, testFilesIn, testsOf } from "./run-mutation.js";

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
    file: { type: "string", multiple: true },
    sample: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    "room-tests-only": { type: "boolean", default: false },
  },
});

interface Planted extends Mutation {
  readonly file: string;
  readonly text: string;
}

const measureTimeoutMs = 300_000;
const random = createRandom(Number(values.seed));
const wanted = values.file?.map((file) => file.replace(/\.ts$/, ".js"));
const all = values.room
  .flatMap(mutationsIn)
  .filter(({ file }) => wanted === undefined || wanted.some((name) => file.endsWith(name)));
const drawn = drawnFrom(all, Number(values.sample));
const copy = new Copy();
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("exit", () => copy.remove());
const folders = new Set(
  drawn.map(({ file }) => (values["room-tests-only"] ? dirname(file) : file.split("/")[0]!)),
);
const tests: TestFile[] = [];
for (const file of new Set([...folders].flatMap(testFilesIn)))
  tests.push(await copy.measure(file, measureTimeoutMs));
console.log(`${tests.length} test files pass; ${drawn.length} of ${all.length} faults are planted`);
const survivors: Planted[] = [];
const rooms = new Map<string, { drawn: number; noticed: number }>();
for (const [i, planted] of drawn.entries()) {
  const { file, text, start, end, put } = planted;
  const answering = testsOf(tests, planted);
  copy.put(file, text.slice(0, start) + put + text.slice(end));
  const survived = answering.length === 0 || (await copy.passes(answering, file));
  copy.put(file, text);
  const score = rooms.get(dirname(file)) ?? { drawn: 0, noticed: 0 };
  rooms.set(dirname(file), score);
  score.drawn++;
  if (survived) survivors.push(planted);
  else score.noticed++;
  const mark = answering.length === 0 ? "NOT RUN" : survived ? "SURVIVED" : "noticed";
  console.log(`${i + 1}/${drawn.length} ${mark} ${asText(planted)}`);
}
console.log(`\nUnnoticed, seed ${values.seed}:`);
for (const planted of survivors) console.log(`  ${asText(planted)}`);
console.log();
for (const [room, score] of rooms) console.log(scoreText(room, score));
console.log(scoreText("all", { drawn: drawn.length, noticed: drawn.length - survivors.length }));

function scoreText(name: string, score: { drawn: number; noticed: number }): string {
  const share = score.drawn === 0 ? 100 : (100 * score.noticed) / score.drawn;
  return `${name}: ${score.noticed} of ${score.drawn} faults noticed (${share.toFixed(1)} %)`;
}

function asText(planted: Planted): string {
  return `${planted.file}:${planted.line} ${planted.what}: ${lineOf(planted)}`;
}

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
