import t from "tap";
import { parseDestination } from "../../../../bin/usage/follow/destination.js";

t.test("destinations, and what is said of TLS", async (t) => {
  const table = [
    ["ndjson", { kind: "ndjson", file: null }],
    ["postgres://db.example/usage", { tls: "checked", url: "postgres://db.example/usage" }],
    ["postgresql://127.0.0.1:5433/usage", { kind: "postgres", tls: "none" }],
    ["postgres:///usage?host=/run/postgresql", { tls: "none" }],
    ["postgres://db/usage?sslmode=disable", { tls: "none", url: "postgres://db/usage" }],
    ["postgres://db/usage?sslmode=require", { tls: "unchecked" }],
    [
      "postgres://u:secret@db/usage?sslmode=verify-full&sslrootcert=/ca.pem",
      { tls: "checked", caFile: "/ca.pem", displayUrl: "postgres://db/usage" },
    ],
    [
      "https://collector.example/in?x=1",
      { kind: "https", displayUrl: "https://collector.example/in" },
    ],
    ["http://127.0.0.1:9000/in", { kind: "https" }],
  ] as const;
  for (const [to, value] of table) t.match(parseDestination(to, null), { ok: true, value }, to);
  t.match(parseDestination("ndjson", "x"), { value: { file: "x" } });
});

t.test("a wrong destination is refused without a password in the sentence", async (t) => {
  const table = [
    ["", /^--to is required/],
    ["mysql://u:secret@db/usage", /must be postgres/],
    ["postgres://db", /must name a database/],
    ["postgres://db/usage?sslmode=maybe", /sslmode of --to must be one of/],
    ["http://collector.example/in", /must be an https/],
    ["https://u:secret@collector.example/in", /--secret-file/],
  ] as const;
  for (const [to, message] of table) {
    const parsed = parseDestination(to, null);
    t.match(parsed, { ok: false, message }, to);
    t.notMatch(JSON.stringify(parsed), /secret@/, to);
  }
  t.match(parseDestination("https://a/b", "file"), { message: /--output is for/ });
});
