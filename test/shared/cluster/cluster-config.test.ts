import t from "tap";
import { exactly } from "../../support/patterns/exactly.js";
import { accepted, refused } from "../config/resolve-sample.js";

const cluster = (text: string, env = {}) =>
  accepted(`cluster: { ${text} }\n`, { env }).config.cluster;

t.test("without an address nothing is shared", async (t) => {
  t.equal(accepted(null).config.cluster, null);
  t.equal(cluster("name: a, failure_mode: open, password: p"), null);
});

t.test("where the engine is, and how it is entered", async (t) => {
  t.same(cluster("url: 'valkeys://u:p@a:1', name: west, ca_file: ca.pem"), {
    name: "west",
    addresses: [{ host: "a", port: 1 }],
    tls: true,
    caFile: "/srv/ca.pem",
    credentials: { username: "u", password: "p" },
    passwordFile: null,
    sentinel: null,
    failureMode: "closed",
  });
  t.match(
    cluster("url: [valkey://a, valkey://b], username: u, password_file: pw"),
    exactly({
      addresses: [{ host: "a" }, { host: "b" }],
      credentials: { username: "u", password: null },
      passwordFile: "/srv/pw",
    }),
  );
  t.match(
    cluster("url: 'valkey://:s@a:26379', sentinel_master: m, password: p", {
      SLUICE_CLUSTER_FAILURE_MODE: "local",
    }),
    {
      credentials: { username: null, password: "p" },
      sentinel: { master: "m", credentials: { username: null, password: "s" }, passwordFile: null },
      failureMode: "local",
    },
  );
  t.match(cluster("url: 'valkey://u@a:26379', sentinel_master: m, sentinel_password_file: s"), {
    sentinel: { credentials: { username: "u", password: null }, passwordFile: "/srv/s" },
  });
});

t.test("what doesn't fit together is said, without a password", async (t) => {
  for (const [text, problem] of [
    [
      "url: [valkey://a, valkeys://b]",
      "cluster.url must have addresses that are all encrypted, or none of them",
    ],
    [
      "url: ['valkey://:p@a', valkey://b]",
      "cluster.url must have the same user and password in each address, or in none",
    ],
    [
      "url: 'valkey://:p@a', password: q",
      "cluster.url must be without user and password when cluster.username, cluster.password or cluster.password_file has them",
    ],
    [
      "url: valkey://a, ca_file: /ca",
      "cluster.ca_file is for addresses that begin with valkeys:// or rediss://",
    ],
    [
      "url: valkey://a, sentinel_password_file: f",
      "cluster.sentinel_password_file is for Sentinels: cluster.sentinel_master isn't set",
    ],
    [
      "url: 'valkey://:p@a', sentinel_master: m, sentinel_password_file: f",
      "cluster.url must be without a password when cluster.sentinel_password_file has the Sentinels'",
    ],
    [
      "password: p, password_file: f",
      "cluster.password and cluster.password_file are both set: keep one of them",
    ],
    [
      "name: 'a b'",
      'cluster.name must be 1 to 64 letters, digits, dots, dashes and underscores, not "a b"',
    ],
  ] as const)
    t.same(refused(`cluster: { ${text} }\n`), [problem], text);
  for (const secret of ["http://:geheim@a", "valkey://a/0?password=geheim", "valkey://a#geheim"]) {
    const wrong = refused(`cluster: { url: '${secret}' }\n`);
    t.equal(wrong.length, 1);
    t.match(wrong[0], /^cluster\.url must be valkey:\/\/ or valkeys:\/\/ addresses/);
    t.notMatch(wrong[0], /geheim/);
  }
});

t.test("a password is not among the settings for people", async (t) => {
  const text = "cluster: { url: 'valkey://:geheim@a' }\n";
  const shown = accepted(text).config.settings.find(({ path }) => path === "cluster.url");
  t.notMatch(JSON.stringify(shown), /geheim/);
  const { config } = accepted("cluster: { url: valkey://a, password: geheim }\n");
  t.notMatch(JSON.stringify(config.settings), /geheim/);
});
