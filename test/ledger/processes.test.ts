/**
 * The published error through real processes (docs/reference/usage-record.md, "Unknown usage").
 * LEDGER_SEED and LEDGER_HISTORIES choose others than the short form.
 */
import t from "tap";
import { problemOf } from "./check-history.js";
import { playReal } from "./real-play.js";

const first = Number(process.env["LEDGER_SEED"] ?? 1);
const count = Number(process.env["LEDGER_HISTORIES"] ?? 90);
const perRound = 30;

t.setTimeout(60_000 + 500 * count);

t.test(
  `${count} histories from seed ${first}: what is charged agrees with the providers' ledgers, whatever is killed`,
  async (t) => {
    const seeds = Array.from({ length: count }, (_, i) => first + i);
    const histories = await playReal(t, { seeds, killEach: perRound });
    const problems = histories.flatMap(
      ({ seed, ask: { path }, charges, isInKilled, ...history }) => {
        const entries = history.entries.map(({ label, bill }) => `${label}: ${bill}`);
        const problem = problemOf({ ...history, records: charges }, !isInKilled);
        return problem === null ? [] : [JSON.stringify({ problem, seed, path, entries, charges })];
      },
    );
    t.same(problems, []);
    const killed = histories.filter(({ isInKilled }) => isInKilled).length;
    const billed = histories.filter(({ entries }) => entries.length > 0).length;
    t.comment(`${billed} reached a provider, ${killed} ran in a killed proxy`);
    t.ok(billed > count / 2);
    t.ok(killed > 0 && killed < count / 4);
  },
);
