import t from "tap";
import {
  type FlagName,
  flagOptions,
  flagsAsArguments,
  readConfiguration,
} from "../../../bin/session/configuration.js";
import type { Config } from "../../../shared/config/config.js";
import { flagName } from "../../../shared/config/settings/setting.js";
import { settings } from "../../../shared/config/settings/settings.js";
import { sessionForTests } from "../command-session.js";

/** A value of each flag, and what becomes of it. */
const given: readonly (readonly [
  Exclude<FlagName, "config">,
  string,
  (config: Config) => unknown,
])[] = [
  ["host", "127.0.0.9", ({ server }) => server.host],
  ["port", "9", ({ server }) => String(server.port)],
  ["socket", "/run/given.sock", ({ limiter }) => limiter.socket],
  ["dataDir", "/var/lib/given", ({ limiter }) => limiter.dataDir],
  ["logLevel", "error", ({ logLevel }) => logLevel],
];

t.test("every flag of the settings can be typed, and every flag is a setting's", async (t) => {
  const ofSettings = Object.values(settings).flatMap(({ flag }) => (flag === null ? [] : [flag]));
  const declared = Object.keys(flagOptions).filter((name) => name !== "config");
  t.same(declared.sort(), [...ofSettings].sort());
  for (const flag of ofSettings)
    t.ok(flagOptions[flag][0].startsWith(`${flagName(flag)} <`), flagName(flag));
  t.same(given.map(([name]) => name).sort(), declared, "and is tried below");
});

t.test("every flag reaches the configuration, and the processes that `up` starts", async (t) => {
  for (const [name, value, read] of given) {
    const flags = { [name]: value };
    t.same(flagsAsArguments(flags), [`${flagName(name)}=${value}`]);
    const loaded = readConfiguration(sessionForTests().session, flags);
    t.equal(loaded.ok && read(loaded.config), value, name);
  }
});
