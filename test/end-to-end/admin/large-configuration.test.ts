/**
 * What the programs keep of a large configuration file (docs/storage.md): it makes their next start
 * faster, and changes nothing else, whatever is done to it.
 */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ruleNow, until } from "../../support/client.js";
import { makeSite, type Part } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";

const master = "master-key-of-this-test";
const secret = "literal-secret-of-this-test";

function configuration(cap: number): string {
  const rules = Array.from(
    { length: 4000 },
    (_, i) =>
      `    - { path: /team/app-${i}, limits: [{ period: minute, max_requests: ${cap} }] }\n`,
  );
  const gone = Array.from(
    { length: 120 },
    (_, i) => `    - { name: gone-${i}, limits: [{ period: minute, max_requests: 1 }] }\n`,
  );
  return `
providers: { test: { type: openai, base_url: "http://127.0.0.1:9/v1", api_key: ${secret}, models: [m] } }
rate_limits:
  providers:
${gone.join("")}  user_paths:
${rules.join("")}`;
}

const skip = !programPath("sluice-limiterd").includes("programs") && "the programs aren't built";
t.test(
  "a large configuration is kept by both programs, sealed, and decides nothing",
  { skip },
  async (t) => {
    const site = makeSite(t, configuration(7), { SLUICE_MASTER_KEY: master });
    const files = ["data", "data/spool"].map((directory) =>
      join(site.directory, directory, "configuration.kept"),
    );
    const start = async (): Promise<{ readonly parts: readonly Part[]; readonly cap: unknown }> => {
      const daemon = await site.startDaemon();
      const proxy = await site.startProxy();
      const authorization = { authorization: `Bearer ${master}` };
      const rule = await ruleNow(proxy.ready, "/team/app-0", 60, authorization);
      return { parts: [proxy, daemon], cap: rule["max_requests"] };
    };
    const stop = async ({ parts }: Awaited<ReturnType<typeof start>>): Promise<void> => {
      for (const part of parts) await part.kill("SIGTERM");
    };
    const state = (file: string): string => {
      const status = statSync(file, { throwIfNoEntry: false });
      return status === undefined ? "" : `${status.ino} ${status.size}`;
    };
    const changed = (before: readonly string[]): Promise<unknown> =>
      until(
        async () => files.map(state),
        (now) => now.every((one, i) => one !== "" && one !== before[i]),
      );

    const first = await start();
    for (const { output } of first.parts)
      t.same(
        [/no such provider is configured/g, /20 further warnings: sluice config check/g].map(
          (warning) => output().match(warning)?.length,
        ),
        [100, 1],
      );
    t.equal(first.cap, 7);
    await changed(files.map(() => ""));
    await stop(first);
    for (const file of files) {
      t.equal(statSync(file).mode & 0o777, 0o600);
      const bytes = readFileSync(file, "latin1");
      for (const text of [master, secret, "team/app", "providers"]) t.notMatch(bytes, text);
    }
    const kept = files.map(state);

    const second = await start();
    t.equal(second.cap, 7);
    await stop(second);
    t.same(files.map(state), kept, "it is as it was");

    // Another configuration: what was kept is of no use, and another one takes its place.
    writeFileSync(site.configFile, configuration(8));
    const third = await start();
    t.equal(third.cap, 8);
    await changed(kept);
    await stop(third);

    const sealed = files.map((file) => readFileSync(file));
    for (const [i, file] of files.entries()) {
      sealed[i]![sealed[i]!.length >> 1]! ^= 1;
      writeFileSync(file, sealed[i]!);
    }
    const damaged = files.map(state);
    const fourth = await start();
    t.equal(fourth.cap, 8);
    await changed(damaged);
    await stop(fourth);
  },
);
