import t from "tap";
import { makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { startDaemon, type TestDaemon, type TestPeer } from "../in-memory-daemon.js";
import { admit, authorize, call, issue } from "./key-fixture.js";

interface Rotated {
  readonly answer: FromDaemon;
  readonly hash: string;
  readonly redacted: string;
}

async function rotate(
  daemon: TestDaemon,
  peer: TestPeer,
  named: object,
  rotation: object = {},
): Promise<Rotated> {
  const { hash, redacted } = makeManagedKey();
  const body = { ...named, new_hash: hash, redacted_value: redacted, rotation };
  return { answer: await call(daemon, peer, "keys.rotate", body), hash, redacted };
}

function accepted(peer: TestPeer, ...hashes: readonly string[]): readonly boolean[] {
  return hashes.map((hash) => authorize(peer, 500, hash).kind === "authorized");
}

t.test(
  "both secrets of a rotated key work until the overlap ends, on the key's path and labels, also after a crash",
  async (t) => {
    const daemon = startDaemon([]);
    const peer = daemon.proxy("p1");
    const key = await issue(daemon, peer, { user_path: "/team", labels: ["eu"] });
    daemon.nowMs += 999;
    const rotated = await rotate(daemon, peer, { id: "key_1" }, { overlap_seconds: 60 });
    t.match(
      rotated.answer,
      exactly({
        kind: "answer",
        body: {
          id: "key_1",
          user_path: "/team",
          labels: ["eu"],
          redacted_value: rotated.redacted,
          old_secrets: [{ redacted_value: key.redacted, expires_at: "2026-01-01T00:01:00Z" }],
        },
      }),
    );
    t.match(admit(peer, 2, key.hash), { key: { userPath: "/team", keyId: "key_1" } });
    t.match(admit(peer, 3, rotated.hash), { key: { userPath: "/team", keyId: "key_1" } });
    daemon.nowMs += 58_000;
    t.same(accepted(peer, key.hash, rotated.hash), [true, true]);
    const reborn = startDaemon([], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    t.equal(reborn.state.keys.find(key.hash)?.id, "key_1");
    t.equal(reborn.state.keys.find(rotated.hash)?.id, "key_1");
    daemon.nowMs += 1001;
    t.same(accepted(peer, key.hash, rotated.hash), [false, true]);
    t.match(authorize(peer, 4, key.hash), {
      kind: "denied",
      ended: { keyId: "key_1", expiredAtMs: daemon.nowMs - (daemon.nowMs % 1000) },
    });
    t.match(
      await call(daemon, peer, "keys.list", {}),
      exactly({
        body: { keys: [{ id: "key_1", old_secrets: { length: 0 } }] },
      }),
    );
  },
);

t.test(
  "which secret was used last is shown, so that an overlap can be ended in time",
  async (t) => {
    const daemon = startDaemon([]);
    const peer = daemon.proxy("p1");
    const key = await issue(daemon, peer);
    const { hash } = await rotate(daemon, peer, { key_hash: key.hash });
    daemon.nowMs += 5000;
    accepted(peer, hash);
    const listed = (last: string, old: string | null): object => ({
      body: { keys: [{ last_used_at: last, old_secrets: [{ last_used_at: old }] }] },
    });
    const list = (): Promise<FromDaemon> => call(daemon, peer, "keys.list", {});
    t.match(await list(), listed("2026-01-01T00:00:05Z", null));
    daemon.nowMs += 1000;
    accepted(peer, key.hash);
    t.match(await list(), listed("2026-01-01T00:00:06Z", "2026-01-01T00:00:06Z"));
  },
);

t.test(
  "a later overlap shortens the earlier ones, none ends them all, and more old secrets than two are refused",
  async (t) => {
    const daemon = startDaemon([]);
    const peer = daemon.proxy("p1");
    const first = await issue(daemon, peer);
    const second = await rotate(daemon, peer, { id: "key_1" }, { overlap_seconds: 3600 });
    const third = await rotate(daemon, peer, { id: "key_1" }, { overlap_seconds: 60 });
    const all = [first.hash, second.hash, third.hash];
    t.same(accepted(peer, ...all), [true, true, true]);
    t.match((await rotate(daemon, peer, { id: "key_1" })).answer, {
      kind: "failed",
      failure: { status: 400, param: "overlap_seconds", message: /has 2 old secrets/ },
    });
    t.same(accepted(peer, ...all), [true, true, true], "nothing is done");
    daemon.nowMs += 60_000;
    t.same(accepted(peer, ...all), [false, false, true]);
    const fourth = await rotate(daemon, peer, { id: "key_1" }, { overlap_seconds: 60 });
    const last = await rotate(daemon, peer, { id: "key_1" }, { overlap_seconds: 0 });
    t.same(accepted(peer, ...all, fourth.hash, last.hash), [false, false, false, false, true]);
    t.equal(daemon.state.keys.find(third.hash)?.id, "key_1", "no file makes a key of it again");
  },
);

t.test(
  "a deactivation or a deletion ends the old secrets too, and any of them names the key",
  async (t) => {
    for (const op of ["keys.deactivate", "keys.delete"] as const) {
      const daemon = startDaemon([]);
      const peer = daemon.proxy("p1");
      const key = await issue(daemon, peer);
      const rotated = await rotate(daemon, peer, { id: "key_1" });
      t.match(await call(daemon, peer, op, { key_hash: key.hash }), { body: { id: "key_1" } });
      t.same(accepted(peer, key.hash, rotated.hash), [false, false], op);
      const reborn = startDaemon([], { store: daemon.store.crash() });
      const after = [key.hash, rotated.hash].map((hash) => reborn.state.keys.find(hash)?.id);
      t.same(after, op === "keys.delete" ? [undefined, undefined] : ["key_1", "key_1"]);
      t.match((await rotate(daemon, peer, { id: "key_1" })).answer, {
        kind: "failed",
        failure: { status: op === "keys.delete" ? 404 : 400 },
      });
    }
  },
);

t.test("no key is rotated while its new secret could be lost", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer);
  daemon.store.broken = true;
  await call(daemon, peer, "keys.deactivate", { id: "key_9" });
  daemon.state.denials.put({
    claim: "jti",
    value: "a",
    issuer: null,
    expiresAtMs: null,
    deniedAtMs: 0,
  });
  await call(daemon, peer, "jwts.allow", { jti: "a" });
  const { answer, hash } = await rotate(daemon, peer, { id: key.id });
  t.match(answer, {
    kind: "failed",
    failure: {
      status: 503,
      message: "no key is rotated: the store can't be written (the disk is broken)",
    },
  });
  t.same(accepted(peer, key.hash, hash), [true, false]);
});

t.test("what isn't a rotation is refused and changes nothing", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer);
  await issue(daemon, peer, { expires_at: "2026-01-01T00:00:01Z" });
  const { hash, redacted } = makeManagedKey();
  const good = { id: "key_1", new_hash: hash, redacted_value: redacted, rotation: {} };
  for (const [body, param] of [
    [{ ...good, new_hash: key.hash }, "new_hash"],
    [{ ...good, new_hash: "x" }, "new_hash"],
    [{ ...good, redacted_value: "x" }, "new_hash"],
    [{ ...good, rotation: null }, "body"],
    [{ ...good, rotation: { overlap: 5 } }, "overlap"],
    [{ ...good, rotation: { overlap_seconds: -1 } }, "overlap_seconds"],
    [{ ...good, rotation: { overlap_seconds: 1.5 } }, "overlap_seconds"],
    [{ ...good, rotation: { overlap_seconds: 2 ** 50 } }, "overlap_seconds"],
    [{ ...good, id: "key_9" }, "id"],
    [{ ...good, id: undefined }, "id"],
  ] as const)
    t.match(await call(daemon, peer, "keys.rotate", body), {
      kind: "failed",
      failure: { type: /invalid_request_error|not_found_error/, param },
    });
  daemon.nowMs += 1000;
  t.match(await call(daemon, peer, "keys.rotate", { ...good, id: "key_2" }), {
    failure: { status: 400, message: "key_2 is expired: issue another key in its place" },
  });
  daemon.store.broken = true;
  void daemon.state.writer.tryWrite([]);
  await daemon.commit();
  t.match(await call(daemon, peer, "keys.rotate", good), {
    failure: { status: 503, message: /^no key is rotated: the store can't be written/ },
  });
  t.same(accepted(peer, key.hash, hash), [true, false]);
});
