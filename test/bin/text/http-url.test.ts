import t from "tap";
import { healthUrl } from "../../../bin/text/http-url.js";
import { accepted } from "../../shared/config/resolve-sample.js";

t.test("the health of a proxy is asked at its port without TLS, if it has one", async (t) => {
  const tls = "tls: { cert_file: /a.crt, key_file: /a.key }";
  for (const [text, url] of [
    ["server: { port: 81 }", "http://127.0.0.1:81"],
    [
      "server: { host: '::', port: 81, master_key: a-long-master-key-of-32-characters }",
      "http://[::1]:81",
    ],
    [`server: { port: 81, ${tls} }`, "https://127.0.0.1:81"],
    [`server: { port: 81, ${tls} }\nmetrics: { port: 82 }`, "http://127.0.0.1:82"],
    [`server: { port: 81, ${tls} }\nmetrics: { port: 0 }`, "https://127.0.0.1:81"],
    ["server: { port: 0 }", null],
    ["server: { port: 0 }\nmetrics: { port: 82 }", "http://127.0.0.1:82"],
  ] as const)
    t.equal(healthUrl(accepted(text).config), url, text);
});
