import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { KeptConfiguration } from "../../../../shared/config/kept/kept-configuration.js";
import { loadConfig } from "../../../../shared/config/load-config.js";

const reader = () => ({ program: Buffer.from("program"), runtime: "v20.19.0" });

function ruleLines(count: number, cap: number): string {
  return Array.from(
    { length: count },
    (_, i) =>
      `    - { path: /team/app-${i}, per_child: true, limits: [{ period: minute, max_requests: ${cap} }] }\n`,
  ).join("");
}

/** A directory with a configuration; `start` reads it as a daemon does, and keeps it. */
function place(t: Test, count = 4000) {
  const directory = t.testdir({ data: {} });
  const file = join(directory, "sluice.yaml");
  const text = (cap: number, entitlements = "[quota_templates]"): string =>
    [
      `limiter: { data_dir: ${join(directory, "data")} }`,
      `entitlements: ${entitlements}`,
      `rate_limits:\n  user_paths:\n${ruleLines(count, cap)}`,
    ].join("\n");
  return {
    text,
    write: (written: string) => writeFileSync(file, written),
    async start(env: Record<string, string> = {}) {
      const kept = new KeptConfiguration("limiterd", reader);
      const found: boolean[] = [];
      const find = kept.find.bind(kept);
      kept.find = (...args) => {
        const parsed = find(...args);
        found.push(parsed !== null);
        return parsed;
      };
      const result = loadConfig({ file, env, cwd: directory, uid: 1000, kept });
      if (result.ok) await kept.write(result.config);
      return { found: found[0], result };
    },
    anew: (env: Record<string, string> = {}) =>
      loadConfig({ file, env, cwd: directory, uid: 1000 }),
  };
}

t.test("the second start with the same file finds what the first one has parsed", async (t) => {
  const { write, text, start, anew } = place(t);
  write(text(1));
  t.equal((await start()).found, false);
  const second = await start();
  t.equal(second.found, true);
  t.same(second.result, anew());
});

t.test("a file of which one byte has changed is parsed", async (t) => {
  const { write, text, start, anew } = place(t);
  write(text(1));
  await start();
  write(text(2));
  const second = await start();
  t.equal(second.found, false);
  t.same(second.result, anew());
  t.equal((await start()).found, true);
});

t.test("of what is no longer valid the problems have their places", async (t) => {
  const { write, text, start, anew } = place(t, 4000);
  write(text(1, "${WHAT}"));
  const env = { WHAT: "quota_templates" };
  await start(env);
  t.equal((await start(env)).found, true);
  const without = await start({ WHAT: " " });
  t.same(without.result, anew({ WHAT: " " }));
  t.notOk(without.result.ok);
});

t.test("a small file is parsed faster than it is looked for", async (t) => {
  const { write, text, start } = place(t, 10);
  write(text(1));
  await start();
  t.equal((await start()).found, false);
});

t.test("a program that isn't in one file keeps nothing", async (t) => {
  const kept = new KeptConfiguration("limiterd");
  const file = Buffer.alloc(300 * 1024, "#");
  kept.note(file, { document: null, rules: [], declaredAt: [], budgetsAt: [] });
  await kept.write({ limiter: { dataDir: "/nowhere" } as never });
  t.equal(kept.find(file, { flags: {}, env: {}, cwd: "/", fileDirectory: "/", uid: 0 }), null);
});
