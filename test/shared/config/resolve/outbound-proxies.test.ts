import t from "tap";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted, refused } from "../resolve-sample.js";

/** The proxy of a provider at this address. */
function proxyOf(baseUrl: string, env: Record<string, string>, more = ""): string | null {
  const text = `providers: { x: { base_url: "${baseUrl}"${more} } }\n`;
  return accepted(text, { env }).config.providers[0]!.proxy;
}

t.test("a provider's own proxy comes first, then the variable of its scheme", async (t) => {
  const env = { HTTP_PROXY: "http://h:1", HTTPS_PROXY: "http://u:p@s:2" };
  t.equal(proxyOf("http://a.test", env), "http://h:1/");
  t.equal(proxyOf("https://a.test", env), "http://u:p@s:2/");
  t.equal(proxyOf("https://a.test", env, ', proxy: "https://own:3"'), "https://own:3/");
  t.equal(proxyOf("https://a.test", env, ", proxy: none"), null);
  t.equal(proxyOf("http://127.0.0.1:1", env, ', proxy: "http://own:3"'), "http://own:3/");
  t.equal(proxyOf("https://a.test", {}), null);
  t.equal(proxyOf("https://a.test", { https_proxy: "s:2" }), "http://s:2/");
  t.equal(proxyOf("http://a.test", { HTTPS_PROXY: "http://s:2" }), null);
  t.equal(accepted(null, { env }).config.providers[0]!.proxy, null, "the simulator has no address");
});

t.test("NO_PROXY and loopback are reached directly", async (t) => {
  const table: readonly (readonly [noProxy: string, host: string, direct: boolean])[] = [
    ["", "a.test", false],
    ["*", "a.test", true],
    ["a.test", "a.test", true],
    ["A.Test", "a.test", true],
    ["a.test", "b.a.test", true],
    ["a.test", "ba.test", false],
    [".a.test", "a.test", true],
    [".a.test", "b.a.test", true],
    ["*.a.test", "b.a.test", true],
    ["x, a.test ,y", "a.test", true],
    ["x a.test", "a.test", true],
    ["a.test:8080", "a.test", false],
    ["a.test:8080", "a.test:8080", true],
    ["a.test:80", "a.test", true],
    ["10.0.0.0/8", "10.9.8.7", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.1.2.3/32", "10.1.2.3", true],
    ["0.0.0.0/0", "10.1.2.3", true],
    ["10.0.0.0/99", "10.1.2.3", false],
    ["10.0.0.0/8", "a.test", false],
    ["2001:db8::1", "[2001:db8::1]", true],
    ["[2001:db8::1]", "[2001:db8::1]", true],
    ["", "127.0.0.1:11434", true],
    ["", "127.9.9.9", true],
    ["", "localhost", true],
    ["", "[::1]", true],
  ];
  for (const [noProxy, host, direct] of table) {
    const env = { HTTP_PROXY: "http://h:1", NO_PROXY: noProxy };
    t.equal(proxyOf(`http://${host}`, env), direct ? null : "http://h:1/", `${noProxy} ${host}`);
  }
  t.equal(proxyOf("http://a.test", { HTTP_PROXY: "h:1", no_proxy: "a.test" }), null);
});

t.test(
  "an issuer's keys are fetched the same way, and certificates have a whole path",
  async (t) => {
    const text =
      'jwt: [{ issuer: i, audience: a, jwks_url: "https://i.test/keys", user_path: sub }]\nproviders: { x: { base_url: "https://a.test", ca_file: ca.pem } }\n';
    const { config } = accepted(text, { env: { HTTPS_PROXY: "http://s:2" } });
    t.match(config.jwtIssuers[0]!.keys, { kind: "url", proxy: "http://s:2/" });
    t.match(config.providers[0]!.caFile, /^\/.*ca\.pem$/);
  },
);

t.test("what is no proxy is refused, and never quoted with its password", async (t) => {
  for (const wrong of ["socks5://h:1", "http://h:1/path", "http://u:%zz@h:1", "http://h?x"]) {
    const problems = refused("", { env: { HTTPS_PROXY: wrong } });
    t.match(problems, exactly([/HTTPS_PROXY must be an http or https URL of a proxy/]), wrong);
    t.notMatch(JSON.stringify(problems), /%zz/);
  }
});
