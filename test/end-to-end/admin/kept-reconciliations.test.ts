/**
 * Results of `sluice reconcile --keep` through real processes: handed over by the socket and by the
 * admin API, listed, in the audit log, and there after kill -9.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { AuditPage } from "../../../shared/api/audit-entry.js";
import type { ReconciliationPage } from "../../../shared/api/reconciliation-item.js";
import { dayMs, dayOf } from "../../../shared/time.js";
import { run } from "../../bin/command-session.js";
import { until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

const site = makeSite(
  t,
  `
limiter: { deadline_ms: 30000 }
providers: { sim: { type: simulator } }
`,
);
const daemon = await site.startDaemon();
const { ready: url } = await site.startProxy();
const nowMs = Date.now();
const yesterday = dayOf(nowMs - dayMs);
const bill = join(site.directory, "bill.csv");
writeFileSync(bill, `date,model,amount\n${yesterday},sim-fast,1.25\n`);

async function kept(query = ""): Promise<ReconciliationPage> {
  const answer = await fetch(`${url}/admin/reconciliations${query}`);
  t.equal(answer.headers.get("cache-control"), "no-store");
  return (await answer.json()) as ReconciliationPage;
}

t.test("a result is handed over, listed and audited; without --keep it isn't", async (t) => {
  const args = ["reconcile", "--provider", "sim", "--bill", bill, "--days", "1"];
  const here = ["--config", site.configFile, "--socket", site.socket];
  t.equal((await run([...args, ...here], { nowMs })).exitCode, 0);
  t.same((await kept()).reconciliations, []);
  const bySocket = await run([...args, "--keep", "--fail-above", "1%", ...here], { nowMs });
  t.equal(bySocket.exitCode, 4, "it is kept although the gap is too large");
  const byUrl = await run([...args, "--keep", "--url", url], { nowMs });
  t.equal(byUrl.exitCode, 0, byUrl.err);
  const { reconciliations } = await kept();
  const result = {
    ...{ provider: "sim", source: "exported", start_date: yesterday, end_date: yesterday },
    ...{ recorded_usd: "0", billed_usd: "1.25", gap_percent: 100 },
    causes: { past_sluice: "1.25" },
    models: exactly([{ model: "sim-fast", billed_usd: "1.25", causes: { past_sluice: "1.25" } }]),
  };
  t.match(reconciliations, exactly([result, result]));
  t.same((await kept("?provider=other")).reconciliations, []);
  const [newest, older] = reconciliations;
  const page = await kept("?limit=1");
  t.same([page.reconciliations, page.next], [[newest], newest!.id]);
  t.same((await kept(`?limit=1&after=${page.next}`)).reconciliations, [older]);

  const audit = await fetch(`${url}/admin/audit?operation=reconciliations`);
  const { entries } = (await audit.json()) as AuditPage;
  const subject = `bill of sim, ${yesterday} to ${yesterday}`;
  t.match(
    entries,
    exactly([
      { subject, from: "127.0.0.1", after: { gap_percent: 100 } },
      { subject, from: "socket" },
    ]),
  );
});

t.test("a wrong result is refused, and named", async (t) => {
  const post = async (body: unknown): Promise<readonly unknown[]> => {
    const answer = await fetch(`${url}/admin/reconciliations`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const { message, param } = (await answer.json()) as { message: string; param?: string };
    return [answer.status, param, message];
  };
  t.match(
    await post({ provider: 1 }),
    exactly([400, "provider", /^provider must be a text without control characters, not 1$/]),
  );
  t.match(await post({ days: [] }), exactly([400, "days", /^unknown field days/]));
  t.equal((await post({ provider: "x".repeat(20_000) }))[0], 413);
  t.equal((await kept()).reconciliations.length, 2);
});

t.test("kept results outlive the daemon", async (t) => {
  const before = (await kept()).reconciliations;
  await daemon.kill("SIGKILL");
  await site.startDaemon();
  await until(
    () => fetch(`${url}/admin/reconciliations`),
    ({ ok }) => ok,
  );
  t.same((await kept()).reconciliations, before);
});
