import t from "tap";
import { accepted, refused } from "../resolve-sample.js";

const files = "cert_file: /a.crt, key_file: /a.key";

t.test("settings of TLS that don't fit together are refused with what is missing", async (t) => {
  const ca = `${files}, client_ca_file: /ca.crt`;
  for (const [tls, problem] of [
    ["cert_file: /a.crt", /server\.tls\.cert_file needs server\.tls\.key_file/],
    ["key_file: /a.key", /server\.tls\.key_file needs server\.tls\.cert_file/],
    ["client_ca_file: /ca.crt", /server\.tls\.client_ca_file needs server\.tls\.cert_file/],
    [`${files}, client_id: "a://{b}", user_path: "/{b}"`, /client_id needs .*client_ca_file/],
    [`${ca}, client_id: "a://{b}"`, /client_id needs server\.tls\.user_path/],
    [`${ca}, user_path: "/{b}"`, /user_path needs server\.tls\.client_id/],
    [`${ca}, client_id: "a://{b}/{b}", user_path: "/{b}"`, /client_id must enclose each part/],
    [`${ca}, client_id: "a://{b", user_path: "/b"`, /client_id must enclose each part/],
    [`${ca}, client_id: "a://{b}", user_path: "/{c}"`, /user_path has \{c\}, which .*client_id/],
    [`${ca}, client_id: "a://{b}", user_path: "{b}"`, /user_path must be a path such as/],
    [`${ca}, client_id: "a://{b}", user_path: "/../{b}"`, /user_path .*as .* does/],
  ] as const)
    t.match(refused(`server: { tls: { ${tls} } }`).join("\n"), problem, tls);
});

t.test("TLS with the callers that certificates identify closes a gateway", async (t) => {
  const { config } = accepted(
    `server: { tls: { ${files}, client_ca_file: ./ca.crt, client_id: "a://{b}", user_path: "/{b}" } }`,
  );
  t.same(config.server.tls, {
    certFile: "/a.crt",
    keyFile: "/a.key",
    clientCaFile: "/srv/ca.crt",
    clients: { id: "a://{b}", userPath: "/{b}" },
  });
  t.equal(accepted("server: { port: 1 }").config.server.tls, null);
});
