import t from "tap";
import type { Change } from "../../../limiterd/store/store.js";
import { keyUseWrittenMs } from "../../../shared/domain/credential-bounds.js";
import { newKey } from "../../../shared/domain/key-secret.js";
import { wind } from "../clockwork.js";
import { startDaemon, type TestDaemon } from "../in-memory-daemon.js";
import { admit, authorize, call, issue } from "../keys/key-fixture.js";

const tickMs = 1000;

/** A daemon that ticks, and the keys that it has written since the last look. */
function ticking(): { daemon: TestDaemon; tick: () => Promise<readonly unknown[]> } {
  const daemon = startDaemon([]);
  let written: unknown[] = [];
  const commit = daemon.store.commit.bind(daemon.store);
  daemon.store.commit = (changes: readonly Change[]) => {
    written.push(...changes.filter(({ table }) => table === "keys").map(({ key }) => key));
    return commit(changes);
  };
  const { ring } = wind(daemon, 0);
  return {
    daemon,
    async tick() {
      written = [];
      ring(tickMs);
      await daemon.commit();
      return written;
    },
  };
}

/** The seconds since the start of 2026 at which each key was last used. */
function lastUses({ state }: TestDaemon): Readonly<Record<string, number | null>> {
  const began = Date.UTC(2026, 0, 1);
  return Object.fromEntries(
    state.keys
      .newest(10, 10)
      .map(({ id, lastUsedAtMs: at }) => [id, at === null ? null : (at - began) / 1000]),
  );
}

t.test(
  "a key's last use is shown at once, and written at most once in five minutes, with no request",
  async (t) => {
    const { daemon, tick } = ticking();
    const peer = daemon.proxy("p1");
    const key = await issue(daemon, peer);
    await issue(daemon, peer);
    t.same(await tick(), [], "nothing was used");
    for (let i = 0; i < 100; i++) admit(peer, 10 + i, key.hash);
    t.same(lastUses(daemon), { key_1: 0, key_2: null });
    t.same(await tick(), [1]);
    for (let second = 1; second < keyUseWrittenMs / 1000; second += 60) {
      daemon.nowMs += 60_000;
      if (second < 240) authorize(peer, 500 + second, key.hash);
      t.same(await tick(), [], `after ${second + 59} s`);
    }
    t.same(lastUses(daemon), { key_1: 240, key_2: null });
    authorize(peer, 900, key.hash);
    t.same(await tick(), [1], "five minutes later");
    const reborn = startDaemon([], { store: daemon.store.crash() });
    t.same(lastUses(reborn), { key_1: 300, key_2: null });
    daemon.nowMs -= 3_600_000;
    authorize(peer, 901, key.hash);
    t.same(await tick(), [1], "a clock that was set back is followed");
  },
);

t.test("a refused key isn't used, and a deleted one isn't written back", async (t) => {
  const { daemon, tick } = ticking();
  const peer = daemon.proxy("p1");
  const gone = await issue(daemon, peer);
  const expired = await issue(daemon, peer, { expires_at: "2026-01-01T00:00:01Z" });
  admit(peer, 2, newKey().hash);
  daemon.nowMs += 1000;
  admit(peer, 3, expired.hash);
  admit(peer, 4, gone.hash);
  await call(daemon, peer, "keys.delete", { id: gone.id });
  t.same(await tick(), []);
  t.same(lastUses(daemon), { key_2: null });
  t.equal(startDaemon([], { store: daemon.store.crash() }).state.keys.find(gone.hash), undefined);
});

t.test("a store that fails is handed nothing, and a stop writes what waits", async (t) => {
  const daemon = startDaemon([]);
  const clockwork = wind(daemon, 1000);
  const peer = daemon.proxy("p1");
  const key = await issue(daemon, peer);
  daemon.store.broken = true;
  void daemon.state.writer.tryWrite([]);
  await daemon.commit();
  admit(peer, 2, key.hash);
  clockwork.ring(tickMs);
  daemon.store.broken = false;
  await daemon.commit();
  t.same(lastUses(startDaemon([], { store: daemon.store.crash() })), { key_1: null });
  t.equal(await clockwork.timers.stop(), true);
  t.same(lastUses(startDaemon([], { store: daemon.store.crash() })), {
    key_1: 0,
  });
});
