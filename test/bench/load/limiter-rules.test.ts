import t from "tap";
import {
  matchingRules,
  ruleCount,
  tenantCount,
  tenantPath,
  userPathsConfig,
} from "./limiter-rules.js";

t.test(
  "the configuration holds 10,000 rules, of which five match every tenant's admission",
  async (t) => {
    const entries = userPathsConfig();
    t.equal(
      entries.reduce((sum, { limits }) => sum + limits.length, 0),
      ruleCount,
    );
    const limitsOf = new Map(entries.map(({ path, limits }) => [path, limits.length]));
    for (let tenant = 0; tenant < tenantCount; tenant++) {
      const path = tenantPath(tenant);
      const matching = ["/", path.slice(0, path.lastIndexOf("/")), path].reduce(
        (sum, prefix) => sum + (limitsOf.get(prefix) ?? 0),
        0,
      );
      if (matching !== 5 || matchingRules(tenant).length !== 5)
        t.fail(`${path} matches ${matching} rules`);
    }
  },
);
