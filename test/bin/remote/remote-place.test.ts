import t from "tap";
import { chooseRemote, isInTheClear } from "../../../bin/remote/remote-place.js";

const elsewhere = (url: string): object => ({ ok: true, place: { url, keyFile: null } });

t.test("a flag, else the variable, names a gateway elsewhere", async (t) => {
  const env = { SLUICE_URL: "https://by-variable" };
  for (const [name, flags, expected] of [
    ["neither", {}, elsewhere("https://by-variable")],
    ["the flag is stronger", { url: "http://a:1/" }, elsewhere("http://a:1")],
    ["below a path", { url: "https://a/sluice//" }, elsewhere("https://a/sluice")],
    ["the socket of this host", { socket: "/x.sock" }, { ok: true, place: null }],
    ["the configuration of this host", { config: "x.yaml" }, { ok: true, place: null }],
    ["flag and configuration", { url: "http://a", config: "x" }, elsewhere("http://a")],
  ] as const)
    t.match(chooseRemote(flags, env), expected, name);
  t.match(chooseRemote({}, {}), { ok: true, place: null });
  t.match(chooseRemote({}, { SLUICE_URL: " " }), { ok: true, place: null });
});

t.test("what can't be the address of a gateway is refused, and no password is shown", async (t) => {
  for (const [flags, message] of [
    [{ url: "" }, /^--url must be the address of a gateway, .*, not ""$/],
    [{ url: "gateway:8080" }, /not "gateway:8080"/],
    [{ url: "http://a/v1/" }, /without the path of an endpoint/],
    [{ url: "http://a/?x=1" }, /without a query/],
    [{ url: "http://me:hunter2@a" }, /without a key in it: put that into SLUICE_API_KEY/],
    [{ url: "ftp://me:hunter2@a" }, /"…@a"/],
    [{ url: "http://a", socket: "/x" }, /can't be combined with --socket/],
    [{ keyFile: "x" }, /give --url too/],
  ] as const) {
    const chosen = chooseRemote(flags, {});
    t.match(chosen, { ok: false, message });
    t.notMatch(JSON.stringify(chosen), "hunter2");
  }
  t.match(chooseRemote({}, { SLUICE_URL: "x" }), { ok: false, message: /^SLUICE_URL must be/ });
});

t.test("a key crosses a network in the clear without TLS, but for loopback", async (t) => {
  for (const url of ["http://10.0.0.1", "http://gateway:8080", "http://[::2]:1"])
    t.equal(isInTheClear(url), true, url);
  for (const url of ["https://gateway", "http://localhost:1", "http://127.0.0.1", "http://[::1]:1"])
    t.equal(isInTheClear(url), false, url);
});
