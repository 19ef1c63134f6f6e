/** Starts on a disk that is full, with real processes on a tiny file system in memory. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { run } from "../../bin/command-session.js";
import { agesSeconds } from "../../support/ages.js";
import { chat, ruleNow, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  replyCompletion,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const directory = mkdtempSync(join(tmpdir(), "sluice-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", directory]);
t.teardown(() => {
  if (mounted.status === 0) spawnSync("umount", ["-l", directory]);
  rmSync(directory, { recursive: true, force: true });
});

const filler = join(directory, "filler");

/** Writes until nothing more finds room. */
function fillDisk(): void {
  for (;;)
    try {
      writeFileSync(filler, Buffer.alloc(4096), { flag: "a" });
    } catch {
      return;
    }
}

t.test(
  "a daemon that starts on a full disk serves, says so, and has lost nothing when there is room again",
  { skip: mounted.status === 0 ? false : "needs the right to mount a file system" },
  async (t) => {
    const upstream = await startScriptedUpstream();
    t.teardown(() => upstream.close());
    upstream.answer = (call) => replyCompletion(call, 10);
    const site = makeSite(
      t,
      `providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }
limiter: { deadline_ms: 30000 }
rate_limits: { user_paths: [ { path: /team, limits: [ { period_seconds: ${agesSeconds}, max_requests: 5, max_tokens: 10000 } ] } ] }
`,
      { SLUICE_DATA_DIR: directory },
    );
    let daemon = await site.startDaemon();
    const proxy = await site.startProxy();
    const request = async (): Promise<number> => {
      const response = await chat(proxy.ready, { path: "/team" });
      await response.text();
      return response.status;
    };
    const storeFailing = async (): Promise<unknown> =>
      (
        (await (await fetch(`${proxy.ready}/health`)).json()) as {
          limiter: Record<string, unknown>;
        }
      ).limiter["store_failing"];
    t.equal(await request(), 200);
    fillDisk();
    // The second start finds a disk that knows nothing of the first.
    for (const _ of ["first", "second"]) {
      await daemon.kill("SIGKILL");
      // What only the dead one still held has become room.
      fillDisk();
      daemon = await site.startDaemon();
      t.equal(await request(), 200);
      // Pages that the store has already may have room for a while.
      const reason = await until(
        async () => {
          await (await chat(proxy.ready, { path: "/other" })).text();
          return await storeFailing();
        },
        (failing) => failing !== null,
      );
      t.equal(reason, "no space left on device");
      await daemon.printed(/no space left on device","msg":"the store can't be written/);
    }
    rmSync(filler);
    await until(storeFailing, (reason) => reason === null);
    t.equal(await request(), 200);
    await daemon.kill("SIGTERM");
    daemon = await site.startDaemon();
    t.match(await ruleNow(proxy.ready, "/team", agesSeconds), {
      requests_used: 4,
      tokens_used: 40,
    });
    const backup = await run(["backup", "-", "--socket", site.socket]);
    t.equal(backup.exitCode, 1);
    t.match(
      backup.err,
      /^error: the backup can't be made: it needs \d+ MiB in .*, 64 of which stay free, and there /,
    );
    t.same([await request(), await request()], [200, 429], "the cap is met exactly");
  },
);
