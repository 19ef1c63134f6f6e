/**
 * One budget over two hosts, in whole processes on a real engine: spent on both, exceeded on both,
 * after restarts, with an engine that has lost everything, and after a reset.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { type ClusterHost, startHost, untilSo } from "../cluster-host.js";

const skip = engineProgram === null && noEngine;
const amount = 10;
// The question of a test has few tokens: each answer costs about a dollar.
const yaml = `prices: { simulator/sim-fast: { input: 0, output: 30000 } }
budgets: { user_paths: [{ path: /team, limits: [{ period_seconds: ${agesSeconds}, amount: ${amount} }] }] }
`;

interface Budget {
  readonly spent: number;
  readonly exceeded: boolean;
  readonly other_hosts?: { readonly spent: number; readonly age_seconds: number | null };
}

async function budgetOn(host: ClusterHost): Promise<Budget> {
  const { body } = await host.admin("GET", "budgets");
  return (body as { readonly budgets: readonly Budget[] }).budgets[0]!;
}

const rounded = (usd: number): number => Math.round(usd * 1e9) / 1e9;

t.test("one budget, spent on two hosts", { skip }, async (t) => {
  const engine = await startEngine(t);
  const [a, b] = [await startHost(t, engine, { yaml }), await startHost(t, engine, { yaml })];
  const all = [a, b];
  let ownA = 0;
  const spentIs = (wanted: number) => async (): Promise<boolean> => {
    const found = await Promise.all(all.map(budgetOn));
    return found.every(({ spent }) => rounded(spent) === rounded(wanted));
  };
  let total = 0;
  /** What is admitted until then is spent. */
  const refuses = (host: ClusterHost) => async (): Promise<boolean> => {
    const { status } = await host.chat("/team/app");
    if (status === 200) total += each;
    return status === 429;
  };

  // What one request costs, as the host that answered it tells.
  t.equal((await a.chat("/team/app")).status, 200);
  await untilSo(async () => (await budgetOn(a)).spent > 0, "it is charged");
  const each = (await budgetOn(a)).spent;
  t.ok(each > amount / 20 && each < amount / 3, `a request costs ${each} dollars`);
  ownA += each;
  const toHalf = Math.floor(amount / each / 2);
  for (let i = 1; i < toHalf; i++) {
    t.equal((await a.chat("/team/app")).status, 200);
    ownA += each;
  }
  const knownMs = await untilSo(spentIs(ownA), "the other host knows what this one has spent");
  t.comment(`${knownMs.toFixed(0)} ms until both hosts list it`);
  t.match((await budgetOn(b)).other_hosts, { spent: Number, age_seconds: Number });

  let ownB = 0;
  for (;;) {
    const answer = await b.chat("/team/app");
    if (answer.status !== 200) {
      t.match(answer, { status: 429, body: { error: { code: "budget_exceeded" } } });
      break;
    }
    ownB += each;
    if (ownA + ownB > 2 * amount) throw new Error("the budget doesn't end");
  }
  total = ownA + ownB;
  // One after the other on one host, which knew all of the other's: at most one request beyond.
  t.ok(total >= amount && total < amount + 2 * each, `${total} dollars of ${amount}`);
  await untilSo(refuses(a), "the other host refuses too");
  // Within the second in which it hears of the other's spend.
  await untilSo(spentIs(total), "and both list the same");

  await a.restartDaemon();
  await untilSo(async () => (await a.chat("/else")).status === 200, "it is back");
  await untilSo(refuses(a), "a killed daemon refuses again when it has heard of the other's");
  await b.restartDaemon();
  await untilSo(refuses(b), "and so does the other");
  await untilSo(spentIs(total), "nothing is counted twice, or lost");

  await engine.cli("FLUSHALL");
  for (const host of all) t.equal((await host.chat("/team/app")).status, 429, "emptied");
  await untilSo(
    async () => String(await engine.cli("KEYS", "*spend*")).includes("spend"),
    "the engine is told again",
  );
  await untilSo(spentIs(total), "as much as before");
  await engine.kill();
  await engine.restart();
  const fresh = await startHost(t, engine, { yaml });
  await untilSo(refuses(fresh), "a host that is new knows it from an engine that was empty");

  const reset = await a.admin("POST", "budgets/reset-one", {
    user_path: "/team",
    period_seconds: agesSeconds,
  });
  t.equal(reset.status, 200, JSON.stringify(reset.body));
  for (const host of [...all, fresh])
    await untilSo(async () => (await budgetOn(host)).spent === 0, "the reset is known");
  t.equal((await b.chat("/team/app")).status, 200);
  await untilSo(spentIs(each), "it begins with what is spent after it");
  // Sums are published each second.
  const used = async (): Promise<number> => {
    const { status, body } = await a.admin("GET", "usage?user_path=/team");
    if (status !== 200) return -1;
    const { usage, hosts } = body as {
      readonly usage: { readonly total_cost: number };
      readonly hosts: { readonly complete: boolean; readonly count: number };
    };
    return hosts.complete && hosts.count === 3 ? rounded(usage.total_cost) : -1;
  };
  const isAll = async (): Promise<boolean> => (await used()) === rounded(total + each);
  await untilSo(isAll, "usage counts all of it, once");
});
