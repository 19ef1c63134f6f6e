import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startLimiterd } from "../../limiterd/main.js";
import { writtenChange } from "../../limiterd/store/epochs.js";
import { openLmdbStore } from "../../limiterd/store/lmdb/open-lmdb-store.js";
import type { Config } from "../../shared/config/config.js";
import { loadConfig } from "../../shared/config/load-config.js";
import { createLog } from "../../shared/log.js";
import { wireVersion } from "../../shared/version.js";
import { createFrameReader, encodeFrame } from "../../shared/wire/codec.js";

function configIn(t: Test): Config {
  const directory = mkdtempSync(join(tmpdir(), "sluice-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "sluice.yaml");
  writeFileSync(
    file,
    "rate_limits: { user_paths: [{ path: /team, limits: [{ period: day, max_requests: 10 }] }] }\n",
  );
  const loaded = loadConfig({
    file,
    env: { SLUICE_SOCKET: join(directory, "limiterd.sock"), SLUICE_DATA_DIR: directory },
    cwd: directory,
    uid: 0,
  });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("\n"));
  return loaded.config;
}

t.test("a window that is damaged ends the daemon when it is read, after the start", async (t) => {
  const config = configIn(t);
  const options = { config, log: createLog("limiterd", "silent") };
  await (await startLimiterd(options)).stop();
  const store = await openLmdbStore(config.limiter.dataDir);
  const key = "user_path\n/team\n86400\n";
  await store.commit([{ table: "windows", key, value: ["damaged"] }, writtenChange(1)]);
  await store.close();
  const daemon = await startLimiterd(options);
  t.match(await daemon.broken, {
    name: "StoreUnreadableError",
    message: /the entry "user_path\\n\/team\\n86400\\n" of windows is not what it should be/,
  });
  await daemon.stop();
});

t.test(
  "a stopping daemon takes no more questions: what it counted now would be on disk, and its verdict might not arrive",
  async (t) => {
    const config = configIn(t);
    const daemon = await startLimiterd({ config, log: createLog("limiterd", "silent") });
    const socket = net.connect({ path: config.limiter.socket });
    const frames: unknown[][] = [];
    const reader = createFrameReader(65_536);
    const welcomed = new Promise<void>((resolve) => {
      socket.on("data", (bytes) => {
        reader.feed(bytes, (frame) => frames.push(frame as unknown[]));
        if (frames.length === 2) resolve();
      });
    });
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.write(encodeFrame(["hello", 1, wireVersion, "proxy", "one", [], false]));
    socket.write(
      encodeFrame(["admit", 2, "/team", "authenticated", [["openai", "gpt-4o"]], false, 0]),
    );
    await welcomed;
    socket.write(
      encodeFrame(["admit", 3, "/team", "authenticated", [["openai", "gpt-4o"]], false, 0]),
    );
    await daemon.stop();
    await closed;
    t.same(
      frames.map(([kind, id]) => [kind, id]),
      [
        ["welcome", 1],
        ["admitted", 2],
      ],
    );
  },
);
