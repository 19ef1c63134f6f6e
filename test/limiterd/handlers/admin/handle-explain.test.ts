/** What `explain` says of a refused request, by its id. */
import t from "tap";
import { ask, askFor, pathRule, refusal, startDaemon, submit } from "../../in-memory-daemon.js";

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
