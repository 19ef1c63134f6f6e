import t from "tap";
import { modelProblem } from "../../../limiterd/keys/identify-caller.js";
import { makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import { exactly } from "../../support/patterns/exactly.js";
import { counts, startDaemon } from "../in-memory-daemon.js";
import { admit, authorize, call, issue, team } from "./key-fixture.js";

t.test(
  "a key's request is on the key's path, whatever path it names, and the proxy learns of it",
  async (t) => {
    const daemon = startDaemon([team]);
    const peer = daemon.proxy("p1");
    const key = await issue(daemon, peer, { user_path: "/team/app" });
    t.match(admit(peer, 2, key.hash, "/other"), {
      kind: "admitted",
      key: { userPath: "/team/app", keyId: "key_1" },
    });
    t.equal(counts(daemon, team).requests, 1);
    t.match(authorize(peer, 3, key.hash), {
      kind: "authorized",
      userPath: "/team/app",
      keyId: "key_1",
    });
    t.equal(counts(daemon, team).requests, 1, "nothing is counted by asking");
  },
);

t.test("a key that is bound to no path calls on the path that its caller names", async (t) => {
  const daemon = startDaemon([team]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer);
  t.match(admit(peer, 2, key.hash, "/team/x"), {
    kind: "admitted",
    key: { userPath: "/team/x", keyId: "key_1" },
  });
  t.match(authorize(peer, 3, key.hash), { kind: "authorized", userPath: "", keyId: "key_1" });
});

t.test("an unknown key is denied and leaves no trace but a count", async (t) => {
  const daemon = startDaemon([team]);
  const peer = daemon.proxy("p1");
  t.same(admit(peer, 2, makeManagedKey().hash), { kind: "denied", id: 2, ended: null });
  t.same(authorize(peer, 3, makeManagedKey().hash), { kind: "denied", id: 3, ended: null });
  t.equal(peer.state.leases.size, 0);
  t.same(counts(daemon, team), { requests: 0, tokens: 0, inFlight: 0 });
  t.equal(daemon.state.counts.denied, 2);
});

t.test(
  "a key expires by the daemon's clock, to the millisecond, and a lifetime counts from its whole second",
  async (t) => {
    const daemon = startDaemon([]);
    const peer = daemon.proxy("p1");
    const key = await issue(daemon, peer, {
      expires_at: new Date(daemon.nowMs + 60_000).toISOString(),
    });
    const { hash, redacted } = makeManagedKey();
    daemon.nowMs += 999;
    t.match(
      await call(daemon, peer, "keys.issue", {
        key_hash: hash,
        redacted_value: redacted,
        expires_in_seconds: 60,
        key: {},
      }),
      {
        kind: "answer",
        body: {
          expires_at: new Date(daemon.nowMs - 999 + 60_000).toISOString().replace(".000Z", "Z"),
        },
      },
    );
    daemon.nowMs += 59_000;
    t.match(admit(peer, 2, key.hash), { kind: "admitted" });
    daemon.nowMs += 1;
    const expiredAtMs = daemon.nowMs;
    t.same(admit(peer, 3, key.hash), {
      kind: "denied",
      id: 3,
      ended: { keyId: "key_1", expiredAtMs },
    });
    t.match(admit(peer, 4, hash), { kind: "denied", ended: { keyId: "key_2", expiredAtMs } });
    t.match(
      await call(daemon, peer, "keys.list", {}),
      exactly({
        body: {
          keys: [
            { id: "key_2", status: "expired", active: false },
            { id: "key_1", status: "expired", active: false },
          ],
        },
      }),
    );
    await call(daemon, peer, "keys.deactivate", { id: "key_1" });
    t.same(
      admit(peer, 5, key.hash),
      { kind: "denied", id: 5, ended: { keyId: "key_1", expiredAtMs: null } },
      "what ended it is that it was deactivated",
    );
  },
);

t.test(
  "callers without credentials are accepted until the first key, which is announced to every proxy, and never again",
  async (t) => {
    const daemon = startDaemon([team]);
    const first = daemon.proxy("p1");
    const second = daemon.proxy("p2");
    t.match(first.received[0], { kind: "welcome", keysExist: false });
    t.match(admit(second, 2, "none", "/team"), { kind: "admitted", key: null });
    t.match(authorize(second, 3, "none"), { kind: "authorized", userPath: "", keyId: "" });
    const key = await issue(daemon, first);
    t.same(second.received.at(-1), { kind: "event", name: "keys_exist", value: true });
    await issue(daemon, first);
    t.equal(second.received.filter(({ kind }) => kind === "event").length, 1, "told once");
    t.same(admit(second, 4, "none"), { kind: "denied", id: 4, ended: null });
    t.match(
      admit(second, 5, "authenticated"),
      { kind: "admitted" },
      "who is authenticated still is",
    );
    await call(daemon, first, "keys.deactivate", { id: key.id });
    await call(daemon, first, "keys.deactivate", { id: "key_2" });
    t.same(
      authorize(second, 6, "none"),
      { kind: "denied", id: 6, ended: null },
      "without an active key too",
    );
    t.match(daemon.proxy("p3").received[0], { kind: "welcome", keysExist: true });
  },
);

t.test("keys are judged while rate limits are off", async (t) => {
  const daemon = startDaemon([]);
  Object.assign(daemon.state.settings, { rateLimitsEnabled: false });
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer, { user_path: "/team" });
  t.match(admit(peer, 2, key.hash), {
    kind: "admitted",
    key: { userPath: "/team", keyId: "key_1" },
  });
  t.same(admit(peer, 3, makeManagedKey().hash), { kind: "denied", id: 3, ended: null });
});

t.test("a key for some models allows what has one of their names", async (t) => {
  const target = (provider: string, model: string) => ({ provider, model });
  const plain = target("openai", "gpt-4o");
  const slashed = target("openai", "groq/llama");
  const allows = (
    models: readonly string[] | null,
    asked: Parameters<typeof modelProblem>[1],
  ): boolean => modelProblem({ id: "key_1", models, role: null }, asked) === null;
  t.equal(modelProblem(null, { targets: [] }), null, "a caller without a key");
  for (const [models, asked, allowed] of [
    [null, { targets: [plain] }, true],
    [[], { targets: [plain] }, false],
    [["gpt-4o"], { targets: [plain] }, true],
    [["openai/gpt-4o"], { targets: [plain] }, true],
    [["openai/*"], { targets: [plain, slashed] }, true],
    [["gpt-4o"], { targets: [plain, target("azure", "gpt-4")] }, false],
    [["groq/*"], { targets: [slashed] }, false],
    [["groq/llama"], { targets: [slashed] }, false],
    [["*"], { targets: [target("openai", "")] }, false],
    [["*"], { targets: [] }, true],
    [["fast"], { targets: [plain], modelNames: ["fast"] }, true],
    [["gpt-4o"], { targets: [plain], modelNames: ["fast"] }, false],
    [["*"], { targets: [plain], modelNames: [] }, false],
  ] as const)
    t.equal(allows(models, asked), allowed, JSON.stringify([models, asked]));
});
