import t from "tap";
import type { AuditPage } from "../../../shared/api/audit-entry.js";
import type { MarkedSettings } from "../../../shared/wire/settings-report.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

const listen = (port: number): MarkedSettings[0] => ["setting server.port", `"${port}"`, ""];
const provider = (retries: number, mark = "abcd"): MarkedSettings[0] => [
  "provider p",
  JSON.stringify({ retries }),
  mark,
];

const report = (daemon: TestDaemon, startedUpMs: number, ...settings: MarkedSettings) =>
  ask(daemon, "configuration.report", {
    started_up_ms: startedUpMs,
    file: "/etc/sluice.yaml",
    settings,
  });

async function audited(daemon: TestDaemon): Promise<AuditPage["entries"]> {
  const page = (await ask(daemon, "audit.list", {})) as unknown as AuditPage;
  return page.entries.filter(({ subject }) => subject !== "daemon");
}

t.test(
  "a change of the proxies' settings has one entry, however many proxies report it",
  async (t) => {
    const daemon = startDaemon([]);
    await report(daemon, 10, listen(80), provider(1));
    t.same(await audited(daemon), [], "the first report has nothing to compare with");
    await report(daemon, 11, listen(80), provider(1));
    t.same(await audited(daemon), [], "unchanged");
    for (const startedUpMs of [20, 21, 20])
      await report(daemon, startedUpMs, listen(80), provider(2));
    t.match(
      await audited(daemon),
      exactly([
        {
          who: "configuration",
          from: "/etc/sluice.yaml",
          operation: "configuration.apply",
          subject: "provider p",
          before: { retries: 1 },
          after: { retries: 2 },
          request_id: null,
        },
      ]),
    );
    await report(daemon, 15, listen(80), provider(1));
    t.equal((await audited(daemon)).length, 1, "a proxy that started before");
    await report(daemon, 30, listen(80), provider(2, "efgh"));
    t.match((await audited(daemon))[0], { after: { retries: 2, secret: "changed" } });
    await report(daemon, 31, listen(80));
    t.match((await audited(daemon))[0], { subject: "provider p", after: null });
  },
);

t.test("the next daemon compares with what the store has", async (t) => {
  const before = startDaemon([]);
  await report(before, 10, listen(80));
  await before.commit();
  const { store } = before;
  const daemon = startDaemon([], { store: store.crash() });
  await report(daemon, 5, listen(70));
  t.same(await audited(daemon), [], "the same boot: this proxy started before");
  await report(daemon, 11, listen(81));
  t.match(await audited(daemon), exactly([{ before: "80", after: "81" }]));
});

t.test("a setting that a flag replaces is compared with no proxy's", async (t) => {
  const daemon = startDaemon([]);
  const flagged = ["setting server.port", "null", ""] as const;
  await report(daemon, 1, flagged, provider(1));
  await report(daemon, 2, listen(80), provider(1));
  await report(daemon, 3, flagged, provider(1));
  await report(daemon, 4, listen(80), provider(1));
  t.match(await audited(daemon), exactly([{ before: null, after: "80" }]));
});

t.test("entries of which only the number is reported aren't recorded as removed", async (t) => {
  const daemon = startDaemon([]);
  const every = ["every price", JSON.stringify({ entries: 5_000 }), "abcd"] as const;
  const price = ["price a/b", "{}", ""] as const;
  await report(daemon, 1, listen(80), price);
  await report(daemon, 2, listen(80), every);
  t.match(await audited(daemon), exactly([{ subject: "every price", after: { entries: 5_000 } }]));
  await report(daemon, 3, listen(80), price);
  t.match((await audited(daemon))[0], { subject: "every price", after: null });
  t.equal((await audited(daemon)).length, 2);
});

t.test("what no report has written is compared with nothing", async (t) => {
  for (const value of [["x"], ["boot", 1, [["a", "{", ""]]], ["boot", -1, []]]) {
    const daemon = startDaemon([]);
    await daemon.state.writer.write([
      { table: "settings", key: "configuration of proxies", value },
    ]);
    await report(daemon, 1, listen(80));
    t.same(await audited(daemon), []);
  }
});

t.test("a report that breaks the form is refused", async (t) => {
  const daemon = startDaemon([]);
  const good = { started_up_ms: 1, file: null, settings: [] };
  for (const [field, value] of [
    ["started_up_ms", -1],
    ["started_up_ms", "1"],
    ["file", 7],
    ["file", "x".repeat(5_000)],
    ["settings", null],
    ["settings", [["a", "{", ""]]],
    ["settings", [["a", "1"]]],
    ["settings", [listen(80), listen(81)]],
  ] as const)
    t.match(
      await ask(daemon, "configuration.report", { ...good, [field]: value }).catch(
        (error: unknown) => error,
      ),
      { failure: { status: 400, param: field } },
    );
});
