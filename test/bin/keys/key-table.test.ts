import t from "tap";
import { oldSecretsText, renderKeys } from "../../../bin/keys/key-table.js";

t.test("the list shows the properties of the keys, or that there is none", async (t) => {
  t.equal(renderKeys([]), "no keys");
  const key = {
    id: "key_7",
    name: null,
    user_path: null,
    labels: [],
    models: null,
    redacted_value: "sk-sluice-abcd…",
    status: "expired",
    active: false,
    created_at: "2026-01-01T00:00:00Z",
    expires_at: "2026-02-01T00:00:00Z",
    deactivated_at: null,
    last_used_at: null,
  };
  t.equal(
    renderKeys([
      key,
      {
        ...key,
        id: "key_6",
        name: "CI",
        user_path: "/team",
        labels: ["a", "b"],
        models: ["gpt-4o", "fast"],
        expires_at: null,
        status: "active",
        last_used_at: "2026-01-02T03:04:05Z",
      },
    ]),
    [
      "ID     NAME  PATH            LABELS  MODELS        KEY              STATUS   EXPIRES               LAST USED             CREATED",
      "key_7  -     (the caller's)  -       (any)         sk-sluice-abcd…  expired  2026-02-01T00:00:00Z  never                 2026-01-01T00:00:00Z",
      "key_6  CI    /team           a, b    gpt-4o, fast  sk-sluice-abcd…  active   never                 2026-01-02T03:04:05Z  2026-01-01T00:00:00Z",
    ].join("\n"),
  );
});

t.test("old secrets that still work are named below the table", async (t) => {
  const old = { redacted_value: "sk-sluice-abcd…", expires_at: "2026-02-01T00:00:00Z" };
  const key = { id: "key_7", old_secrets: [{ ...old, last_used_at: null }] };
  t.equal(
    renderKeys([{ id: "key_8", old_secrets: [] }, key])
      .split("\n")
      .slice(3)
      .join("\n"),
    "key_7 was rotated: sk-sluice-abcd… works until 2026-02-01T00:00:00Z, last used never",
  );
  t.match(
    oldSecretsText({ old_secrets: [{ ...old, last_used_at: "2026-01-05T00:00:00Z" }] }),
    /last used 2026-01-05T00:00:00Z$/,
  );
  t.equal(oldSecretsText({ old_secrets: [] }), "no old secret works any more");
});
