import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startLimiterd } from "../../limiterd/main.js";
import { loadConfig } from "../../shared/config/load-config.js";
import { createLog } from "../../shared/log.js";
import { wireVersion } from "../../shared/version.js";
import { createFrameReader, encodeFrame } from "../../shared/wire/codec.js";

t.test(
  "a stopping daemon takes no more questions: what it counted now would be on disk, and its verdict might not arrive",
  async (t) => {
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
    const daemon = await startLimiterd({
      config: loaded.config,
      log: createLog("limiterd", "silent"),
    });
    const socket = net.connect({ path: loaded.config.limiter.socket });
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
    socket.write(encodeFrame(["admit", 2, "/team", "authenticated", ["openai", "gpt-4o"], false]));
    await welcomed;
    socket.write(encodeFrame(["admit", 3, "/team", "authenticated", ["openai", "gpt-4o"], false]));
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
