import t from "tap";
import { proxyNameVariable, takeProxyName } from "../../../shared/supervision/proxy-name.js";

t.test("a proxy takes the name that its supervisor gave it, once", async (t) => {
  for (const name of ["proxy", "proxy-1", "proxy-64"]) {
    const env = { ...proxyNameVariable(name) };
    t.equal(takeProxyName(env), name);
    t.equal(takeProxyName(env), null);
  }
  for (const name of ["", "proxy-", "x", "proxy-1 ", "proxy-12345"])
    t.equal(takeProxyName(proxyNameVariable(name)), null, name);
  t.equal(takeProxyName({}), null);
});
