import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import { keyStatus } from "../../../limiterd/keys/key-ring.js";
import { keysMax, periodSecondsMax } from "../../../shared/bounds.js";
import { makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { counts, leaseOf, pathRule, settleOf, startDaemon, target } from "../in-memory-daemon.js";
import { admit, ask, authorize, call, issue, team } from "./key-fixture.js";

const deactivated = { keyId: "key_1", expiredAtMs: null };

t.test("an issued key is in memory immediately, and answered when it is on the disk", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const { hash, redacted } = makeManagedKey();
  ask(peer, "keys.issue", { key_hash: hash, redacted_value: redacted, key: {} });
  t.match(
    peer.received.at(-1),
    { kind: "event", name: "keys_exist", value: true },
    "no answer yet",
  );
  t.match(startDaemon([], { store: daemon.store.crash() }).state.keys.size, 0);
  await daemon.commit();
  t.match(peer.received.at(-1), { kind: "answer" });
  t.equal(startDaemon([], { store: daemon.store.crash() }).state.keys.find(hash)?.id, "key_1");
});

t.test(
  "a deactivated key is denied in the very step of its deactivation, on every connection, before the disk knows",
  async (t) => {
    const daemon = startDaemon([]);
    const first = daemon.proxy("p1");
    const second = daemon.proxy("p2");
    const key = await issue(daemon, first, { user_path: "/team" });
    t.match(admit(second, 2, key.hash), { kind: "admitted" });
    daemon.store.broken = true;
    const received = first.received.length;
    ask(first, "keys.deactivate", { id: key.id });
    t.same(admit(second, 3, key.hash), { kind: "denied", id: 3, ended: deactivated });
    t.same(authorize(second, 4, key.hash), { kind: "denied", id: 4, ended: deactivated });
    t.equal(first.received.length, received, "not answered before the commit");
    await daemon.commit();
    t.match(
      first.received.slice(received),
      exactly([
        { kind: "event", name: "store_failing", value: "the disk is broken" },
        {
          kind: "failed",
          failure: {
            status: 503,
            message:
              /^the change is made but not written: the store can't be written \(the disk is broken\)/,
          },
        },
      ]),
    );
    ask(first, "keys.issue", {
      key_hash: makeManagedKey().hash,
      redacted_value: makeManagedKey().redacted,
      key: {},
    });
    t.match(first.received.at(-1), {
      kind: "failed",
      failure: {
        status: 503,
        message: "no key is issued: the store can't be written (the disk is broken)",
      },
    });
    t.equal(daemon.state.keys.size, 1, "a key whose value nobody would get isn't made");
    daemon.store.broken = false;
    await daemon.commit();
    const reborn = startDaemon([], { store: daemon.store.crash() });
    const peer = reborn.proxy("p3");
    endReconnectGrace(reborn.state);
    t.same(admit(peer, 2, key.hash), { kind: "denied", id: 2, ended: deactivated });
  },
);

t.test("what runs when its key is deactivated runs on and is settled on its path", async (t) => {
  const daemon = startDaemon([team]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer, { user_path: "/team" });
  const answer = admit(peer, 2, key.hash) as Extract<FromDaemon, { kind: "admitted" }>;
  await call(daemon, peer, "keys.deactivate", { key_hash: key.hash });
  peer.send(settleOf(leaseOf(answer, answer.key!.userPath), 1, 0));
  t.same(counts(daemon, team), { requests: 1, tokens: 0, inFlight: 0 });
});

t.test("a list has nothing in it that opens anything, newest first, page by page", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer, { name: "CI", user_path: "/team", labels: ["a", "b"] });
  for (let i = 0; i < 1200; i++) {
    const { hash, redacted } = makeManagedKey();
    ask(peer, "keys.issue", { key_hash: hash, redacted_value: redacted, key: {} });
  }
  await daemon.commit();
  admit(peer, 2, key.hash);
  const ids: string[] = [];
  let next: string | null = null;
  let pages = 0;
  let last: unknown;
  do {
    const answer = (await call(
      daemon,
      peer,
      "keys.list",
      next === null ? {} : { after: next },
    )) as Extract<FromDaemon, { kind: "answer" }>;
    const body = answer.body as { keys: { id: string }[]; next: string | null };
    ids.push(...body.keys.map(({ id }) => id));
    last = body.keys.at(-1);
    next = body.next;
    pages++;
  } while (next !== null);
  t.equal(pages, 7);
  t.same(
    ids,
    Array.from({ length: 1201 }, (_, i) => `key_${1201 - i}`),
  );
  t.same(last, {
    id: "key_1",
    name: "CI",
    user_path: "/team",
    labels: ["a", "b"],
    models: null,
    redacted_value: key.redacted,
    status: "active",
    active: true,
    created_at: "2026-01-01T00:00:00Z",
    expires_at: null,
    deactivated_at: null,
    last_used_at: "2026-01-01T00:00:00Z",
    old_secrets: [],
  });
  t.notMatch(JSON.stringify(last), key.value.slice(14));
  t.notMatch(JSON.stringify(last), key.hash);
});

t.test(
  "what doesn't describe a new key, and unknown ids, are refused without repeating what was sent",
  async (t) => {
    const daemon = startDaemon([]);
    const peer = daemon.proxy("p1");
    const key = await issue(daemon, peer);
    const made = makeManagedKey();
    const good = { key_hash: made.hash, redacted_value: made.redacted, key: {} };
    for (const body of [
      null,
      {},
      { ...good, key_hash: made.value },
      { ...good, key_hash: "x" },
      { ...good, redacted_value: made.value },
      { ...good, key_hash: key.hash },
      { ...good, key: null },
      { ...good, key: { path: "/" } },
      { ...good, expires_in_seconds: 0 },
      { ...good, expires_in_seconds: 1.5 },
      { ...good, expires_in_seconds: 2 ** 50 },
      { ...good, expires_in_seconds: periodSecondsMax + 1 },
      { ...good, expires_in_seconds: 5, key: { expires_at: "2030-01-01T00:00:00Z" } },
    ]) {
      const answer = await call(daemon, peer, "keys.issue", body);
      t.match(
        answer,
        { kind: "failed", failure: { status: 400, type: "invalid_request_error" } },
        JSON.stringify(body),
      );
      t.notMatch(JSON.stringify(answer), made.value.slice(14));
    }
    for (const body of [
      null,
      {},
      { id: "key_2" },
      { id: 1 },
      { id: key.value },
      { id: key.hash },
      { key_hash: made.hash },
      { key_hash: key.value },
    ]) {
      const answer = await call(daemon, peer, "keys.deactivate", body);
      t.match(
        answer,
        {
          kind: "failed",
          failure: { status: 404, type: "not_found_error", code: null, param: "id" },
        },
        JSON.stringify(body),
      );
      t.notMatch(JSON.stringify(answer), key.value.slice(14));
    }
    t.match(await call(daemon, peer, "keys.list", { after: "seven" }), {
      kind: "failed",
      failure: { param: "after" },
    });
    t.equal(daemon.state.keys.size, 1);
    t.equal(keyStatus(daemon.state.keys.find(key.hash)!, daemon.nowMs), "active");
  },
);

t.test("keys are listed by time without use, and by the time until they expire", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  endReconnectGrace(daemon.state);
  const until = (seconds: number) => new Date(daemon.nowMs + seconds * 1000).toISOString();
  const used = await issue(daemon, peer);
  await issue(daemon, peer, { expires_at: until(3600) });
  await issue(daemon, peer, { expires_at: until(7200) });
  const ended = await issue(daemon, peer, { expires_at: until(1800) });
  await call(daemon, peer, "keys.deactivate", { id: ended.id });
  daemon.nowMs += 60_000;
  admit(peer, 2, used.hash);
  daemon.nowMs += 60_000;
  await issue(daemon, peer);
  const listed = async (filter: object): Promise<readonly string[]> => {
    const answer = await call(daemon, peer, "keys.list", filter);
    if (answer.kind !== "answer") throw new Error(JSON.stringify(answer));
    return (answer.body as { keys: { id: string }[] }).keys.map(({ id }) => id);
  };
  t.same(await listed({ unused_seconds: 61 }), ["key_4", "key_3", "key_2"], "not the used one");
  t.same(await listed({ unused_seconds: 59 }), ["key_4", "key_3", "key_2", "key_1"]);
  t.same(await listed({ unused_seconds: 121 }), [], "from its issue, if it was never used");
  t.same(await listed({ expires_seconds: 3600 }), ["key_2"], "active ones");
  t.same(await listed({ expires_seconds: 7200, unused_seconds: 61 }), ["key_3", "key_2"]);
  t.same(await listed({ expires_seconds: null, status: "deactivated" }), ["key_4"]);
  for (const param of ["unused_seconds", "expires_seconds"])
    for (const wrong of [0, -1, 1.5, "30d"])
      t.match(await call(daemon, peer, "keys.list", { [param]: wrong }), {
        failure: {
          status: 400,
          message: `${param} must be a number of seconds from 1, not ${JSON.stringify(wrong)}`,
          param,
        },
      });
});

t.test("bounds of a new key: how long it lives, and how many there are", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  daemon.nowMs += 999;
  for (const seconds of [1, periodSecondsMax]) {
    const made = makeManagedKey();
    const answer = await call(daemon, peer, "keys.issue", {
      key_hash: made.hash,
      redacted_value: made.redacted,
      expires_in_seconds: seconds,
      key: {},
    });
    t.match(answer, { kind: "answer" });
    const { expiresAtMs } = daemon.state.keys.find(made.hash)!;
    t.equal(expiresAtMs, daemon.nowMs - 999 + seconds * 1000, "in whole seconds");
  }
  for (const [size, kind] of [
    [keysMax - 1, "answer"],
    [keysMax, "failed"],
  ] as const) {
    Object.defineProperty(daemon.state.keys, "size", { value: size, configurable: true });
    const { hash, redacted: redacted_value } = makeManagedKey();
    const body = { key_hash: hash, redacted_value, key: {} };
    t.match(await call(daemon, peer, "keys.issue", body), { kind }, `beside ${size}`);
    t.equal(daemon.state.keys.find(hash) !== undefined, kind === "answer");
  }
  t.match(peer.received.at(-1), {
    failure: {
      status: 400,
      message: `no key can be issued: there are ${keysMax}, the most allowed`,
    },
  });
});

t.test("a second deactivation changes nothing: the first moment stays", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  await issue(daemon, peer);
  await call(daemon, peer, "keys.deactivate", { id: "key_1" });
  daemon.nowMs += 5000;
  t.match(await call(daemon, peer, "keys.deactivate", { id: "key_1" }), { kind: "answer" });
  t.match(
    await call(daemon, peer, "keys.list", {}),
    exactly({
      body: {
        keys: [{ status: "deactivated", active: false, deactivated_at: "2026-01-01T00:00:00Z" }],
      },
    }),
  );
});

t.test("an explanation resolves a key to its path, and names the key of a refusal", async (t) => {
  const one = pathRule("/team", 60, { requests: 1 });
  const daemon = startDaemon([one]);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer, { user_path: "/team/app" });
  const free = await issue(daemon, peer);
  for (const named of [{ id: key.id }, { key_hash: key.hash }])
    t.match(
      await call(daemon, peer, "explain", { user_path: "/", key: named, targets: [target] }),
      exactly({
        kind: "answer",
        body: {
          key: "key_1",
          user_path: "/team/app",
          verdict: { admitted: true },
          rules: [{ subject: "/team" }],
        },
      }),
    );
  t.match(
    await call(daemon, peer, "explain", {
      user_path: "/x",
      key: { id: free.id },
      targets: [target],
    }),
    { body: { key: "key_2", user_path: "/x" } },
  );
  t.match(
    await call(daemon, peer, "explain", {
      user_path: "/",
      key: { id: "key_9" },
      targets: [target],
    }),
    { kind: "failed", failure: { status: 404, param: "key" } },
  );
  admit(peer, 2, key.hash);
  t.match(admit(peer, 3, key.hash), {
    kind: "refused",
    subject: "/team",
    key: { userPath: "/team/app", keyId: "key_1" },
  });
  peer.send({ kind: "refusal", id: 3, requestId: "req_1", model: "m" });
  t.match(await call(daemon, peer, "explain", { request_id: "req_1" }), {
    body: { refusal: { user_path: "/team/app", key: "key_1" } },
  });
  await call(daemon, peer, "keys.deactivate", { id: key.id });
  t.match(
    await call(daemon, peer, "explain", { user_path: "/", key: { id: key.id }, targets: [target] }),
    {
      kind: "failed",
      failure: {
        status: 400,
        param: "key",
        message: "the key key_1 is deactivated: its requests are answered with 401",
      },
    },
  );
});

t.test(
  "a deleted key is denied immediately and not listed; its id isn't reused, its labels are charged and the gateway stays closed, also after a crash",
  async (t) => {
    let daemon = startDaemon([]);
    let peer = daemon.proxy("p1");
    const first = await issue(daemon, peer, { user_path: "/team", name: "n", labels: ["prod"] });
    const second = await issue(daemon, peer, {});
    t.match(await call(daemon, peer, "keys.delete", { id: "key_2" }), { body: { id: "key_2" } });
    t.match(await call(daemon, peer, "keys.delete", { key_hash: first.hash }), {
      body: { id: "key_1" },
    });
    for (const life of ["the same", "the next"]) {
      t.match(await call(daemon, peer, "keys.list", { after: null }), {
        body: { keys: { length: 0 }, next: null },
      });
      t.equal(daemon.state.keys.size, 2, life);
      t.match(await call(daemon, peer, "status", null), { body: { keys: 0 } });
      for (const [id, hash] of [first.hash, second.hash, "none"].entries())
        t.match(admit(peer, 10 + id, hash), { kind: "denied" }, `${life} ${id}`);
      for (const op of ["keys.delete", "keys.deactivate"] as const)
        for (const key of [{ id: "key_1" }, { key_hash: first.hash }])
          t.match(await call(daemon, peer, op, key), {
            kind: "failed",
            failure: { status: 404, param: "id" },
          });
      t.same(daemon.state.keys.byNumber(1)?.labels, ["prod"]);
      t.match(daemon.state.keys.byNumber(1), {
        hash: "",
        redacted: "",
        name: null,
        userPath: null,
      });
      daemon = startDaemon([], { store: daemon.store.crash() });
      peer = daemon.proxy("p1");
    }
    t.match(await issue(daemon, peer, {}), { id: "key_3" });
  },
);

t.test(
  "proxies learn whether imported keys exist, on their connection and by events",
  async (t) => {
    const daemon = startDaemon([]);
    const peer = daemon.proxy("p1");
    const imported = (): readonly unknown[] =>
      peer.received.flatMap((message) =>
        message.kind === "event" && message.name === "imported_keys_exist" ? [message.value] : [],
      );
    await issue(daemon, peer);
    t.match(daemon.proxy("p2").received[0], { kind: "welcome", importedKeysExist: undefined });
    const { hash } = makeManagedKey();
    const answer = await call(daemon, peer, "keys.issue", {
      key_hash: hash,
      redacted_value: "…",
      key: { user_path: "/team" },
    });
    t.match(answer, { kind: "answer", body: { id: "key_2", redacted_value: "…" } });
    t.match(admit(peer, 7, hash), { kind: "admitted" });
    t.same(imported(), [true]);
    t.match(daemon.proxy("p3").received[0], { kind: "welcome", importedKeysExist: true });
    const restarted = startDaemon([], { store: daemon.store.crash() });
    t.equal(restarted.state.keys.importedCount, 1);
    const made = makeManagedKey();
    await call(daemon, peer, "keys.rotate", {
      id: "key_2",
      new_hash: made.hash,
      redacted_value: made.redacted,
      rotation: {},
    });
    t.equal(daemon.state.keys.importedCount, 1, "its old secret works");
    await call(daemon, peer, "keys.delete", { id: "key_2" });
    t.same(imported(), [true, false]);
    t.equal(daemon.state.keys.importedCount, 0);
  },
);
