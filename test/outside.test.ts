/**
 * Reports of trouble from outside, through real processes: each is a case of `outside/`, with what
 * clients and providers need.
 */
import t from "tap";
import { cases } from "./outside/cases.js";
import { startOutsideGateway } from "./outside/gateway.js";
import { logOf, readLog, writeLog } from "./outside/log.js";

const gateway = await startOutsideGateway(t);

for (const one of cases)
  t.test(`${one.kind}: ${one.id}: ${one.right}`, { todo: one.result === "open" }, async (t) => {
    const seen = await gateway.play(one);
    if (one.status === undefined) t.same(seen.refused, [], "the provider takes what it gets");
    t.equal(seen.status, one.status ?? 200, seen.text.slice(0, 300));
    const body = seen.sent.at(-1)?.body ?? {};
    if (one.sends !== undefined) t.match(body, one.sends);
    for (const name of one.lacks ?? []) t.notOk(name in body, `without ${name}`);
    if (one.dropped !== undefined)
      t.match(seen.headers.get("x-sluice-dropped") ?? "", one.dropped, "it says so");
    if (one.receives !== undefined) t.match(seen.body, one.receives);
    one.check?.(t, seen);
  });

t.test("the log has the cases as they are", async (t) => {
  const log = logOf(cases);
  if (process.env["OUTSIDE_LOG"] === "write") writeLog(log);
  t.equal(readLog(), log, "npm run heavy -- outside writes it");
});
