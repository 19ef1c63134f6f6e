/** GET /admin/usage by what callers are known by: keys, labels, and the models they name. */
import t from "tap";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";

const byMaster = { authorization: "Bearer master-key-of-the-test" };
const site = makeSite(
  t,
  `
server: { master_key: master-key-of-the-test }
providers:
  sim: { type: simulator, models: [small] }
virtual_models:
  fast: { targets: [{ model: sim/small }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

t.test("usage is split by key, label and requested model", async (t) => {
  const call = async (model: string, key: object): Promise<void> => {
    const { body } = await admin(url, "POST /auth-keys", { user_path: "/team", ...key }, byMaster);
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${String(body["value"])}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] }),
    });
    t.equal(response.status, 200);
    await response.text();
  };
  await call("fast", { name: "CI", labels: ["ci", "nightly"] });
  await call("sim/small", { name: "app", labels: ["ci"] });
  const groupsBy = async (by: string): Promise<Record<string, unknown>> => {
    const { status, body } = await admin(url, `GET /usage?by=${by}`, undefined, byMaster);
    t.equal(status, 200, by);
    const groups = body["groups"] as { key: string; requests: number }[];
    return Object.fromEntries(groups.map(({ key, requests }) => [key, requests]));
  };
  const keys = await until(
    () => groupsBy("key"),
    (groups) => Object.keys(groups).length === 2,
  );
  t.same(keys, { key_1: 1, key_2: 1 });
  t.same(await groupsBy("label"), { ci: 2, nightly: 1 });
  t.same(await groupsBy("requested_model"), { fast: 1, "sim/small": 1 });
});
