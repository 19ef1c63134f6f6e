/**
 * Reports of trouble from outside, through real processes: each is a case of `outside/`, with what
 * clients and providers need.
 */
import t from "tap";
import { startOutsideGateway } from "./outside/gateway.js";
import { reports } from "./outside/reports.js";

const gateway = await startOutsideGateway();

for (const one of reports)
  t.test(`${one.kind}: ${one.id}: ${one.right}`, async (t) => {
    const seen = await gateway.play(one);
    t.same(seen.refused, [], "the provider takes what it gets");
    t.equal(seen.status, one.status ?? 200, seen.text.slice(0, 300));
    const body = seen.sent.at(-1)?.body ?? {};
    if (one.sends !== undefined) t.match(body, one.sends);
    for (const name of one.lacks ?? []) t.notOk(name in body, `without ${name}`);
    if (one.dropped !== undefined)
      t.match(seen.headers.get("x-sluice-dropped") ?? "", one.dropped, "it says so");
    if (one.receives !== undefined) t.match(seen.body, one.receives);
    one.check?.(t, seen);
  });
