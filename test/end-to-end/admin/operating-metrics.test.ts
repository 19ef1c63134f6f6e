/** What the metrics of a real `sluice up` tell of reloads, of the configuration and of its ends. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  type Program,
  runProgram,
  startProgram,
  temporaryDirectory,
  whenReplaced,
} from "../../bin/program-run.js";
import { parseMetrics, type Sample } from "../../support/parse-metrics.js";
import { programPath } from "../../support/processes/program-path.js";

const sluice = programPath("sluice");
const directory = temporaryDirectory(t);
const file = join(directory, "sluice.yaml");
const configure = (text: string): void => writeFileSync(file, text);
const paths = ["--socket", join(directory, "l.sock")];

async function start(): Promise<{ readonly up: Program; readonly url: string }> {
  const argv = ["up", "--port=0", ...paths, "--data-dir", join(directory, "data")];
  const up = startProgram(t, sluice, argv, { cwd: directory });
  return { up, url: (await up.line(/^ready: /)).replace(/^ready: +/, "") };
}

const reload = (): ReturnType<typeof runProgram> =>
  runProgram(t, sluice, ["reload", ...paths], { cwd: directory });

/** The samples of the metrics that are asked for, by their names. */
async function scrape(url: string): Promise<(name: string) => readonly Sample[]> {
  // Not the connection to a proxy that a reload has replaced.
  const answer = await fetch(`${url}/metrics`, { headers: { connection: "close" } });
  const families = parseMetrics(await answer.text());
  return (name) => families.get(name)?.samples ?? [];
}

const reloaded = "sluice_config_last_reload_successful";
const hashes = (samples: readonly Sample[]): unknown => samples[0]?.labels["hash"];

t.test("metrics show a failed reload, a successful one, a stop and a kill", async (t) => {
  configure("server: { drain_grace_seconds: 0 }");
  const first = await start();
  const before = await scrape(first.url);
  t.equal(before(reloaded)[0]?.value, 1);
  t.same(before("sluice_last_stop_drained"), [], "nothing has ended here yet");

  configure("server: { drain_grace_seconds: soon }");
  t.equal((await reload()).exitCode, 78);
  const failed = await scrape(first.url);
  t.equal(failed(reloaded)[0]?.value, 0);
  t.equal(hashes(failed("sluice_config_info")), hashes(before("sluice_config_info")));

  configure("server: { drain_grace_seconds: 0, stalled_client_seconds: 30 }");
  const done = await reload();
  t.equal(done.exitCode, 0, done.err);
  await whenReplaced(first.up);
  const after = await scrape(first.url);
  t.equal(after(reloaded).at(-1)?.value, 1);
  t.not(hashes(after("sluice_config_info").slice(-1)), hashes(before("sluice_config_info")));

  first.up.child.kill("SIGTERM");
  await first.up.ended;
  const second = await start();
  t.equal((await scrape(second.url))("sluice_last_stop_drained")[0]?.value, 1);
  // Its processes write to the directory, which goes with the test, until they have ended.
  second.up.child.kill("SIGTERM");
  await second.up.ended;
});
