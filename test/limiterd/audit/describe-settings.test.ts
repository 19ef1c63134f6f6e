import t from "tap";
import { describeSettings, shownSettings } from "../../../limiterd/audit/describe-settings.js";
import { resolveConfig } from "../../../shared/config/resolve/resolve-config.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";

function settingsOf(text: string) {
  const file = { path: "/etc/sluice/sluice.yaml", text };
  const built = resolveConfig({ file, flags: {}, env: {}, cwd: "/", uid: 0 });
  if (!built.ok) throw new Error(built.problems.map(({ message }) => message).join("\n"));
  return shownSettings(built.config);
}

const alert = (secret: string, at = "[0.8]") =>
  `alerts: [{ url: "https://hooks.example/T0/hunter2", at: ${at}, secret: ${secret} }]\n`;

t.test("a start records which settings differ from those of the start before", async (t) => {
  const store = createMemoryStore();
  const start = async (text: string) => {
    const { auditedChanges, changes } = describeSettings(store, settingsOf(text));
    await store.commit(changes);
    return auditedChanges;
  };
  t.same(
    await start(
      `usage: { retention_days: 30 }\n${alert("whsec_aHVudGVyM2h1bnRlcjNodW50ZXIzaHVudGVyMw==")}`,
    ),
    [],
  );
  t.same(
    await start(
      `usage: { retention_days: 30 }\n${alert("whsec_aHVudGVyM2h1bnRlcjNodW50ZXIzaHVudGVyMw==")}`,
    ),
    [],
    "unchanged",
  );
  const changed = await start(
    `usage: { retention_days: 90 }\n${alert("whsec_aHVudGVyNGh1bnRlcjRodW50ZXI0aHVudGVyNA==")}log_level: warn\n`,
  );
  t.match(changed[0], { before: "30 days", after: "90 days" });
  t.match(
    changed.map(({ subject }) => subject),
    exactly(["setting usage.retention_days", "setting log_level", /^alert /]),
  );
  t.match(changed[2]?.after, { url: "https://hooks.example", secret: "changed" });
  t.notMatch(JSON.stringify([changed, store.get("settings", "configuration")]), /hunter|aHVud/);
  t.match(
    await start("usage: { retention_days: 90 }\n"),
    exactly([
      { subject: "setting log_level", before: "warn", after: "info" },
      { subject: /^alert /, after: null },
    ]),
  );
});

t.test("what no start has written is compared with nothing", async (t) => {
  for (const value of [["x"], [["a", "{", ""]], [["a", "1"]]]) {
    const store = createMemoryStore();
    await store.commit([{ table: "settings", key: "configuration", value }]);
    const { auditedChanges, changes } = describeSettings(store, settingsOf(""));
    t.same(auditedChanges, []);
    t.equal(changes.length, 1);
  }
});
