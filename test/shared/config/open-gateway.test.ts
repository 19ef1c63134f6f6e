import t from "tap";
import { isLoopback, openBeyondLoopback } from "../../../shared/config/open-gateway.js";
import { accepted } from "./resolve-sample.js";

t.test(
  "an address is loopback if only this host can reach it; names aren't looked up",
  async (t) => {
    for (const host of [
      "localhost",
      "127.0.0.1",
      "127.1.2.3",
      "::1",
      "0:0:0:0:0:0:0:1",
      "::ffff:127.0.0.1",
      "::ffff:7f01:1",
    ])
      t.equal(isLoopback(host), true, host);
    for (const host of [
      "0.0.0.0",
      "::",
      "10.0.0.1",
      "127.0.0.1.example.com",
      "127.example",
      "127.1",
      "127.0.0.999",
      "example.com",
      "::ffff:10.0.0.1",
      "fe80::1",
      "::1%lo",
      "127.0.0.0.1",
      "",
      "2130706433",
    ])
      t.equal(isLoopback(host), false, host);
  },
);

t.test("an open gateway listens beyond loopback only if that is allowed", async (t) => {
  const said = (text: string, env: Record<string, string> = {}): string | null =>
    openBeyondLoopback(accepted(text, { env }).config);
  const issuer = "jwt: [{ issuer: a, audience: x, jwks_file: f, user_path: p }]";
  t.match(
    said("server: { host: 0.0.0.0 }"),
    /^server\.host 0\.0\.0\.0 is not loopback and no master key is set: /,
  );
  t.equal(said("server: { host: 127.0.0.1 }"), null);
  t.equal(said("server: { host: 0.0.0.0 }", { SLUICE_MASTER_KEY: "mk" }), null);
  t.equal(said("server: { host: 0.0.0.0, allow_open: true }"), null);
  t.equal(said(`server: { host: 0.0.0.0 }\n${issuer}`), null);
  t.match(
    said("server: { admin: { host: 0.0.0.0, port: 8081 } }"),
    /^server\.admin\.host 0\.0\.0\.0 is not loopback/,
  );
  t.equal(said("server: { admin: { host: 0.0.0.0 } }"), null, "it has no port");
  t.equal(said("server: { admin: { port: 8081 } }"), null);
});
