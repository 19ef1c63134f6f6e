import t from "tap";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { startDaemon, type TestPeer, target } from "../in-memory-daemon.js";
import { admit, authorize, call, issue, team } from "./key-fixture.js";

/** As a proxy that tells what is asked for. */
function asked(
  peer: TestPeer,
  id: number,
  credential: string,
  names: readonly string[],
): FromDaemon {
  const of = { userPath: "/", credential, targets: [target], submission: false };
  t.ok(peer.send({ kind: "admit", id, ...of, read: peer.state.granted, modelNames: names }));
  return peer.received.at(-1)!;
}

t.test(
  "a key for some models is admitted for those alone, and a refusal counts nowhere",
  async (t) => {
    const daemon = startDaemon([team]);
    const peer = daemon.proxy("p1");
    const key = await issue(daemon, peer, { user_path: "/team", models: ["OpenAI/*", "fast"] });
    t.match(asked(peer, 2, key.hash, ["openai/gpt-4o", "gpt-4o"]), { kind: "admitted" });
    t.match(asked(peer, 3, key.hash, ["fast"]), { kind: "admitted" });
    const before = daemon.state.counts.admitted;
    for (const names of [["groq/llama", "llama"], ["slow"], []])
      t.match(asked(peer, 10 + names.length, key.hash, names), {
        kind: "failed",
        failure: {
          status: 403,
          type: "permission_error",
          code: "model_not_allowed",
          param: "model",
          message: /^key_1 may .*openai\/\*, fast$/,
        },
      });
    t.equal(daemon.state.counts.admitted, before);
    t.match(
      authorize(peer, 20, key.hash),
      exactly({
        kind: "authorized",
        keyId: "key_1",
        models: ["openai/*", "fast"],
      }),
    );
    const free = await issue(daemon, peer);
    t.match(asked(peer, 21, free.hash, ["groq/llama"]), { kind: "admitted" });
    t.equal((authorize(peer, 22, free.hash) as { models?: unknown }).models, undefined);
  },
);

t.test("where a proxy tells no names, each target must be allowed", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const name = `${target.provider}/${target.model}`;
  for (const [models, kind] of [
    [[name], "admitted"],
    [[target.model], "admitted"],
    [["other"], "failed"],
  ] as const) {
    const key = await issue(daemon, peer, { models });
    t.match(admit(peer, 100 + peer.received.length, key.hash), { kind }, String(models));
  }
  const key = await issue(daemon, peer, { models: [name] });
  const of = { kind: "admit", userPath: "/", credential: key.hash, submission: false } as const;
  peer.send({ read: 0, ...of, id: 500, targets: [target, { provider: "x", model: "y" }] });
  t.match(peer.received.at(-1), { kind: "failed" });
  peer.send({ read: 0, ...of, id: 501, targets: [{ provider: target.provider, model: "" }] });
  t.match(peer.received.at(-1), { kind: "failed" }, "one without a model");
});

t.test("a key's models outlive the daemon, and a rotation keeps or changes them", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer, { models: ["a", "b"] });
  const restarted = (): ReturnType<typeof startDaemon> =>
    startDaemon([], { store: daemon.store.crash() });
  t.same(restarted().state.keys.find(key.hash)?.models, ["a", "b"]);
  const rotate = (secret: string, rotation: object): Promise<FromDaemon> =>
    call(daemon, peer, "keys.rotate", {
      id: key.id,
      new_hash: secret.repeat(43),
      redacted_value: "sk-sluice-aaaa…",
      rotation,
    });
  t.match(await rotate("a", {}), exactly({ body: { models: ["a", "b"] } }));
  t.match(await rotate("b", { models: ["c"] }), exactly({ body: { models: ["c"] } }));
  t.same(restarted().state.keys.find("b".repeat(43))?.models, ["c"]);
  for (const models of [[], ["a*b"], "c", [7]])
    t.match(await rotate("c", { models }), { kind: "failed", failure: { status: 400 } });
  t.match(await rotate("c", { models: null, overlap_seconds: 0 }), { body: { models: null } });
  t.equal(restarted().state.keys.find("c".repeat(43))?.models, null);
});

t.test("a key for some models that is deactivated comes back after a restart", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer, { models: ["a"] });
  await call(daemon, peer, "keys.deactivate", { id: key.id });
  const restored = startDaemon([], { store: daemon.store.crash() }).state.keys.find(key.hash)!;
  t.equal(restored.deactivatedAtMs, daemon.state.keys.find(key.hash)!.deactivatedAtMs);
  t.same(restored.models, ["a"]);
});

t.test("a question about a request by a key says that its model is refused", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer, { models: ["fast"] });
  const explain = (names: readonly string[]): Promise<FromDaemon> =>
    call(daemon, peer, "explain", {
      user_path: "/",
      key: { id: key.id },
      targets: [target],
      model_names: names,
    });
  t.match(await explain(["fast"]), { kind: "answer" });
  t.match(await explain(["slow"]), {
    kind: "failed",
    failure: { message: /^key_1 may not use the model "slow".*answered with 403$/ },
  });
});
