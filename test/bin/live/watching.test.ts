/**
 * The commands that look again and again, before a daemon with any number of events between two
 * looks: each is shown once, in order, or the gap is said; a daemon that is away is waited for.
 */
import t from "tap";
import { stoppedFailure } from "../../../bin/session/command-failure.js";
import { parseListQuery } from "../../../limiterd/lists/list-query.js";
import { listRefusals, refusalChoices } from "../../../limiterd/lists/list-refusals.js";
import { RecentRefusals } from "../../../limiterd/rules/recent-refusals.js";
import { run } from "../command-session.js";
import { type FakeDaemonOptions, startFakeDaemon } from "../fake-daemon.js";

const longPath = "/".padEnd(1000, "p");

/** A daemon's rings, with events as fast as they are made. */
function ringsOf(path: string): {
  readonly answers: NonNullable<FakeDaemonOptions["answers"]>;
  refuse(count: number, atMs: number): void;
  record(count: number, atMs: number): void;
} {
  const refusals = new RecentRefusals();
  const records: object[] = [];
  let events = 0;
  return {
    answers: {
      "refusals.list": (body) => {
        const query = parseListQuery(body, refusalChoices);
        if (!query.ok) throw new Error(query.failure.message);
        return listRefusals(refusals, query.value, 0, null);
      },
      "usage.records": (body) => {
        const { limit, after } = body as { readonly limit: number; readonly after?: string };
        const from = after === undefined ? records.length : Number(after.split(".")[0]);
        const shown = records.slice(Math.max(0, from - limit), from).reverse();
        return { records: shown, next: from > limit ? `${from - limit}.0` : null };
      },
      status: () => ({ admitted: records.length, refused: events, store: { failing: null } }),
    },
    refuse(count, atMs) {
      for (let i = 0; i < count; i++) {
        const userPath = `${path}-${++events}`;
        refusals.add({
          atMs,
          proxyId: "p",
          admitId: events,
          userPath,
          keyId: "",
          targets: [{ provider: "openai", model: "m".repeat(200) }],
          submission: false,
          breach: {
            dimension: "requests",
            scope: "user_path",
            subject: userPath,
            periodSeconds: 60,
            cap: 1,
            waitSeconds: 1,
          },
        });
      }
    },
    record(count, atMs) {
      for (let i = 0; i < count; i++)
        records.push({
          id: `${records.length}.0`,
          time: new Date(atMs).toISOString(),
          request_id: "r".repeat(128),
          user_path: path,
          key_id: null,
          provider: "openai",
          model: "m",
          requested_model: null,
          status: 200,
          input_tokens: 1,
          output_tokens: 1,
          total_cost: null,
          latency_ms: 5,
        });
    },
  };
}

t.test(
  "of any number of events between two looks, each is shown once, or the gap is said",
  async (t) => {
    for (const before of [0, 200, 201, 1_500]) {
      for (const burst of [0, 1, 201, 1_999, 11_000]) {
        const rings = ringsOf(burst === 201 ? longPath : "/team");
        // All in one moment, and the burst begins in that moment.
        rings.refuse(before, 1_000);
        rings.record(before, 1_000);
        const daemon = await startFakeDaemon(t, { answers: rings.answers });
        let looks = 0;
        const { out, err, exitCode } = await run(["tail", "--json", "--socket", daemon.socket], {
          async pause() {
            if (++looks === 4) throw stoppedFailure();
            if (looks > 2) return;
            rings.refuse(burst, 1_000 * looks);
            rings.record(burst, 1_000 * looks);
          },
        });
        const name = `${before} before, ${burst} between`;
        t.equal(exitCode, 130, `${name}: ${err}`);
        const shown = out === "" ? [] : out.split("\n");
        const times = shown.map((line) => {
          const { time, refused_at: at } = JSON.parse(line) as Record<string, string>;
          return time ?? at!;
        });
        t.ok(
          times.every((time, i) => i === 0 || times[i - 1]! <= time),
          `${name}: in order`,
        );
        t.equal(
          new Set(shown.map((line) => line.replace(/"admitted_at".*/, ""))).size,
          shown.length,
          name,
        );
        if (before + burst <= 2_000) {
          t.equal(shown.length, 4 * burst, name);
          t.equal(err, "", name);
        } else t.match(err, /^not all are shown/m, name);
      }
    }
  },
);

t.test("a daemon that restarts is waited for, and its later events are shown", async (t) => {
  for (const argv of [
    ["tail"],
    ["limits", "list", "--watch"],
    ["budgets", "list", "--watch", "--json"],
  ]) {
    let isAway = false;
    const rings = ringsOf("/team");
    const answers = { ...rings.answers };
    const list = (name: string) => () =>
      isAway
        ? ("hang-up" as const)
        : { [name]: [], server_time: "2026-01-01T00:00:00.000Z", next: null };
    const daemon = await startFakeDaemon(t, {
      answers: {
        ...answers,
        "rate-limits.list": list("rate_limits"),
        "budgets.list": list("budgets"),
        "usage.records": (body) => (isAway ? "hang-up" : answers["usage.records"]!(body)),
      },
    });
    let looks = 0;
    const { out, err, exitCode } = await run([...argv, "--socket", daemon.socket], {
      async pause() {
        looks++;
        isAway = looks === 2 || looks === 3;
        if (looks === 4) rings.refuse(3, 5_000);
        if (looks === 6) throw stoppedFailure();
      },
    });
    t.equal(exitCode, 130, err);
    t.match(err, /^waiting for the daemon: .*\nthe daemon answers again$/, argv.join(" "));
    t.equal(
      out.split("\n").filter((line) => /429 {2}refused/.test(line)).length,
      argv[0] === "tail" ? 3 : 0,
    );
  }
});

t.test("a daemon that is away at the first look ends them", async (t) => {
  for (const argv of [["tail"], ["limits", "list", "--watch"], ["top", "--json"]])
    t.match(await run([...argv, "--socket", "/nowhere/sluice.sock"]), { exitCode: 69 });
});
