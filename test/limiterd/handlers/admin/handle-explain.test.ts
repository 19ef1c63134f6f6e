/** What `explain` says of a refused request, by its id. */
import t from "tap";
import { candidatesMax } from "../../../../shared/bounds.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  ask,
  askFor,
  pathRule,
  refusal,
  startDaemon,
  submit,
  target,
} from "../../in-memory-daemon.js";

const rule = pathRule("/team", 60, { requests: 1 });

t.test("a refusal is described with what the request was", async (t) => {
  const daemon = startDaemon([rule]);
  const peer = daemon.proxy("p1");
  askFor(peer, 2, "/team/a");
  askFor(peer, 3, "/team/a");
  peer.send({ kind: "refusal", id: 3, requestId: "req_3", model: "gpt-4o" });
  submit(peer, 4, "/team/b");
  peer.send({ kind: "refusal", id: 4, requestId: "req_4", model: "" });
  const explained = async (id: string) =>
    (await ask(daemon, "explain", { request_id: id }))["refusal"] as Record<string, unknown>;
  const plain = await explained("req_3");
  t.match(plain, { request_id: "req_3", user_path: "/team/a", model: "gpt-4o" });
  t.same(plain["targets"], ["openai/gpt-4o"]);
  for (const absent of ["key", "submission", "targets_left_out"]) t.notOk(absent in plain, absent);
  t.match(await explained("req_4"), { user_path: "/team/b", model: null, submission: true });
});

t.test("what can't be explained is said by its field", async (t) => {
  const daemon = startDaemon([rule]);
  const fails = (body: unknown): Promise<unknown> => refusal(ask(daemon, "explain", body));
  t.match(await fails("x"), { status: 400, param: "body" });
  for (const id of [5, null, ["req_1"]])
    t.match(await fails({ request_id: id }), {
      status: 400,
      param: "request_id",
      message: /request_id must be a text, not /,
    });
  t.match(await fails({ request_id: "req_9" }), {
    status: 404,
    param: "request_id",
    message: /no refusal of a request "req_9" is known/,
  });
});

t.test("what would be asked is explained, with the rules that hold now", async (t) => {
  const daemon = startDaemon([rule]);
  const asked = { user_path: "/team/a", targets: [target] };
  const explanation = await ask(daemon, "explain", asked);
  t.match(
    explanation,
    exactly({
      user_path: "/team/a",
      verdict: { admitted: true },
      rules: [{ max_requests: 1 }],
    }),
  );
  t.notOk("key" in explanation);
  const off = startDaemon([rule], { store: daemon.store.crash(), rateLimitsEnabled: false });
  t.match(await ask(off, "explain", asked), { verdict: { admitted: true }, rules: { length: 0 } });
});

t.test("targets are one to as many as a route has, each with provider and model", async (t) => {
  const daemon = startDaemon([rule]);
  const explain = (targets: unknown): Promise<unknown> =>
    ask(daemon, "explain", { user_path: "/team/a", targets });
  for (const count of [1, candidatesMax])
    t.match(await explain(Array.from({ length: count }, () => target)), { user_path: "/team/a" });
  for (const targets of [
    undefined,
    [],
    { length: 1, 0: target },
    Array.from({ length: candidatesMax + 1 }, () => target),
    [target, { provider: "openai" }],
    ["openai/gpt-4o"],
  ])
    t.match(await refusal(explain(targets)), { status: 400, param: "targets" });
});
