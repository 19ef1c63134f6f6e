/**
 * `npm run heavy -- damage`: damages a thousand real stores at random and starts each. It serves
 * exactly what was there, or is refused with its path, what is wrong and what to do: it never
 * serves less, never ends the process, never hangs. The last draws are starts of the daemon itself.
 * `--seed N` draws the same again, `--first I --stores 1` one of them; a store with a finding is
 * kept, since no two are the same to the byte.
 */
import { hash, randomInt } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openLmdbStore } from "../../limiterd/store/lmdb/open-lmdb-store.js";
import { markClosed, markInUse } from "../../limiterd/store/lmdb/store-mark.js";
import { createRandom, type Random } from "../sim/random.js";
import { contentOf, makeWorkedStore } from "../support/worked-store.js";
import { damages } from "./damage-file.js";
import { Loader, type Outcome } from "./loader.js";
import { startDaemonOn, untouchedContent } from "./start-daemon.js";

const { values: flags } = parseArgs({
  options: {
    seed: { type: "string" },
    stores: { type: "string", default: "1000" },
    daemons: { type: "string", default: "36" },
    first: { type: "string", default: "0" },
  },
});
const seed = Number(flags.seed ?? randomInt(2 ** 31));
const first = Number(flags.first);
const stores = Number(flags.stores);
const daemons = flags.first === "0" ? Number(flags.daemons) : 0;

interface Whole {
  readonly bytes: Buffer;
  /** Of all that is in it, and of what a daemon leaves as it was. */
  readonly digests: readonly string[];
}

const directory = mkdtempSync(join(tmpdir(), "sluice-damage-"));
const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function makeWhole(requests: number): Promise<Whole> {
  const dataDir = join(directory, `whole-${requests}`);
  const random = createRandom(seed + requests);
  const file = await makeWorkedStore(dataDir, { requests, random });
  const bytes = readFileSync(file);
  const store = await openLmdbStore(dataDir);
  const digests = [contentOf(store), untouchedContent(store)].map((it) => hash("sha256", it));
  await store.close();
  return { bytes, digests };
}

interface Draw {
  readonly dataDir: string;
  readonly kind: string;
  readonly whole: Whole;
}

/** The damaged store of this number, with a mark as its owner left it, or as of a copy. */
function draw(wholes: readonly Whole[], n: number): Draw {
  const random: Random = createRandom(seed ^ Math.imul(n + 1, 0x9e3779b1));
  const whole = random.pick(wholes);
  const kind = random.pick(Object.keys(damages));
  const dataDir = join(directory, `store-${n}`);
  const file = join(dataDir, "limiterd.mdb");
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(file, damages[kind]!(Buffer.from(whole.bytes), random));
  // The rot of a disk leaves no trace beside it; a copy has no mark.
  if (random.chance(0.5)) {
    markInUse(file, true);
    markClosed(file);
  }
  return { dataDir, kind, whole };
}

/** Why it isn't as it should be; null: it is. */
function flawOf({ dataDir, whole }: Draw, outcome: Outcome): string | null {
  switch (outcome.kind) {
    case "served":
      return whole.digests.includes(outcome.digest) ? null : "it served something else";
    case "ended":
      return `the process ended by ${outcome.by}`;
    case "refused": {
      const isNamed =
        outcome.name === "StoreUnreadableError" &&
        outcome.message.startsWith(join(dataDir, "limiterd.mdb")) &&
        /restore a backup/i.test(outcome.message);
      return isNamed ? null : `it was refused with ${outcome.name}: ${outcome.message}`;
    }
  }
}

const counts = new Map<string, { served: number; refused: number }>();
let found = 0;

function note(n: number, drawn: Draw, outcome: Outcome): void {
  const flaw = flawOf(drawn, outcome);
  const count = counts.get(drawn.kind) ?? { served: 0, refused: 0 };
  counts.set(drawn.kind, count);
  if (outcome.kind === "served") count.served++;
  else count.refused++;
  if (flaw === null) return rmSync(drawn.dataDir, { recursive: true });
  found++;
  print(`store ${n} of seed ${seed}, ${drawn.kind}: ${flaw}; it is kept as ${drawn.dataDir}`);
}

/** Takes the next number until there is none. */
async function work(
  numbers: Iterator<number>,
  load: (drawn: Draw) => Promise<Outcome>,
): Promise<void> {
  for (let next = numbers.next(); next.done !== true; next = numbers.next()) {
    const drawn = draw(wholes, next.value);
    note(next.value, drawn, await load(drawn));
  }
}

print(`seed ${seed}`);
const begunMs = performance.now();
const wholes: Whole[] = [];
for (const requests of [0, 3, 30, 120, 400, 1200]) wholes.push(await makeWhole(requests));
const pages = wholes.map(({ bytes }) => bytes.length / 4096);
print(`${wholes.length} whole stores of ${Math.min(...pages)} to ${Math.max(...pages)} pages`);

const numbers = Array.from({ length: stores }, (_, n) => first + n).values();
const loaders = Array.from({ length: availableParallelism() }, () => new Loader());
await Promise.all(loaders.map((loader) => work(numbers, ({ dataDir }) => loader.load(dataDir))));
for (const loader of loaders) loader.close();
const starts = Array.from({ length: daemons }, (_, n) => first + stores + n).values();
await Promise.all(loaders.map(() => work(starts, ({ dataDir }) => startDaemonOn(dataDir))));
if (found === 0) rmSync(directory, { recursive: true });
for (const [kind, { served, refused }] of counts)
  print(`${kind}: ${served} served whole, ${refused} refused`);
print(
  `${stores} stores and ${daemons} starts of the daemon in ${Math.round((performance.now() - begunMs) / 1000)} s: ${found} findings`,
);
process.exitCode = found === 0 ? 0 : 1;
